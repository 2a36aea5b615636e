"""The numbers of the teaching documents this package started from, recomputed by their own definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subwords.reference.bpe import (
    GPT2_PATTERN,
    apply_merge,
    byte_to_char,
    count_pairs,
    count_words,
    decode,
    encode,
    train,
)

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "mission_vectors.json").read_text("utf-8"))
CHARACTER, BYTE_LEVEL, TOY = VECTORS["character_bpe"], VECTORS["byte_level_bpe"], VECTORS["toy"]
CHARS = byte_to_char()
SPECIAL = "<|endoftext|>"


def shown(token: bytes) -> str:
    return "".join(CHARS[byte] for byte in token)


def shown_merges(merges: list[tuple[bytes, bytes]]) -> list[list[str]]:
    return [[shown(left), shown(right)] for left, right in merges]


def mission_counts(name: str) -> dict[bytes, int]:
    if name == "character_bpe":
        return count_words(VECTORS["corpus"], GPT2_PATTERN)
    return count_words([sentence + "\n" for sentence in VECTORS["corpus"]], BYTE_LEVEL["pattern"])


def toy_counts() -> dict[bytes, int]:
    return {word.encode(): count for word, count in TOY["word_counts"].items()}


def character_model() -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    counts = mission_counts("character_bpe")
    return train(counts, CHARACTER["vocab_size"], alphabet="corpus", special_tokens=[SPECIAL], tie_break="first")


def byte_level_model() -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    return train(mission_counts("byte_level_bpe"), 256 + BYTE_LEVEL["merge_count"], tie_break="first")


@pytest.mark.parametrize("name", ["character_bpe", "byte_level_bpe"])
def test_word_counts_keep_their_order(name: str) -> None:
    got = [(shown(word), count) for word, count in mission_counts(name).items()]
    assert got == list(VECTORS[name]["word_counts"].items())


def test_first_pairs() -> None:
    words = [([bytes([byte]) for byte in word], count) for word, count in mission_counts("character_bpe").items()]
    ref = CHARACTER["first_pair_counts"]
    got = [[shown(left), shown(right), n] for (left, right), n in count_pairs(words).items()]
    assert got[: len(ref)] == ref
    for word, tokens in CHARACTER["after_first_merge"].items():
        [symbols] = [symbols for symbols, _ in words if shown(b"".join(symbols)) == word]
        assert [shown(token) for token in apply_merge(symbols, (b" ", b"t"))] == tokens


def test_character_bpe_trains() -> None:
    vocab, merges = character_model()
    assert [vocab[0].decode(), *map(shown, vocab[1:])] == CHARACTER["vocab"]
    assert [shown(token) for token in vocab[1 : 1 + len(CHARACTER["alphabet"])]] == CHARACTER["alphabet"]
    assert shown_merges(merges) == CHARACTER["merges"]


def test_character_bpe_encodes() -> None:
    vocab, merges = character_model()
    for text, ref in CHARACTER["encode"].items():
        ids = encode(text, vocab, merges)
        assert [shown(vocab[id_]) for id_ in ids] == ref
        assert decode(ids, vocab) == text.encode()


def test_byte_map() -> None:
    ref = {int(byte): char for byte, char in BYTE_LEVEL["byte_to_char"].items()}
    assert list(CHARS.items()) == list(ref.items())
    assert sorted(CHARS) == list(range(256))
    assert list(CHARS.values()) == sorted(CHARS.values())


def test_byte_level_bpe_trains() -> None:
    vocab, merges = byte_level_model()
    assert vocab[:256] == [bytes([byte]) for byte in CHARS]
    assert [shown(token) for token in vocab[256:]] == BYTE_LEVEL["learned_tokens"]
    assert shown_merges(merges) == BYTE_LEVEL["merges"]


def test_byte_level_bpe_encodes_and_decodes() -> None:
    vocab, merges = byte_level_model()
    for text, ref in BYTE_LEVEL["encode"].items():
        assert encode(text, vocab, merges, pattern=BYTE_LEVEL["pattern"]) == ref
    for ids, text in BYTE_LEVEL["decode"]:
        assert decode(ids, vocab).decode() == text


def test_toy_trains() -> None:
    ref = TOY["bpe"]["merges"]
    vocab, merges = train(toy_counts(), 8 + len(ref), byte_level=False, special_tokens=["[UNK]"], tie_break="first")
    assert [token.decode() for token in vocab[:8]] == ["[UNK]", *"bghnpsu"]
    assert [[left.decode(), right.decode()] for left, right in merges] == ref


def test_toy_encodes() -> None:
    vocab, merges = train(toy_counts(), 8 + 3, byte_level=False, special_tokens=["[UNK]"], tie_break="first")
    assert len(merges) == 3
    for word, ref in TOY["bpe"]["encode"].items():
        got = encode(word, vocab, merges, byte_level=False, unk="[UNK]")
        assert [vocab[id_].decode() for id_ in got] == ref
