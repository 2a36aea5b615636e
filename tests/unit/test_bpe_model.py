"""What a BPE model derives from its tokens."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import subwords
from subwords.machine import BPE, BPESegmenter, Vocab, segmenter_of


def test_alphabet_takes_tokens_of_one_character() -> None:
    # A token that only its first byte makes look like a character is none; the last of equal tokens counts.
    sound = [b"a", "é".encode(), b"ab", "文".encode(), b"", "😀".encode(), b"a", b"b"]
    for tokens in (sound, [*sound, b"\xe9ab", b"\x80", b"\xff"], []):
        model = BPE(
            Vocab(tokens), np.zeros((0, 3), np.int64), byte_level=False, special_ids=frozenset({7} if tokens else ())
        )
        known = {code: int(model.alphabet[code]) for code in np.flatnonzero(model.alphabet >= 0).tolist()}
        assert known == ({ord("a"): 6, ord("é"): 1, ord("文"): 3, ord("😀"): 5} if tokens else {})


# ------------------------------------------------------------------
# What encoders of one model share, and which tokens are looked up as whole words


TEXT = ["banana band ananas ban an"] * 3


def test_encoders_of_one_model_share_a_segmenter() -> None:
    tok = subwords.train(TEXT, vocab_size=270)
    other = subwords.Tokenizer(tok.spec)
    assert segmenter_of(tok.model) is segmenter_of(other.model)
    assert other.encode("banana band") == tok.encode("banana band")


def test_a_segmenter_is_gone_with_its_last_user() -> None:
    tok = subwords.train(TEXT, vocab_size=270)
    assert tok.encode("banana")
    gone = weakref.ref(segmenter_of(tok.model))
    del tok
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("missing", [0, 1, 3])
def test_only_tokens_that_merges_do_not_make_are_whole_words(missing: int) -> None:
    made = subwords.train(TEXT, vocab_size=270).model
    model = replace(made, merges=made.merges[: len(made.merges) - missing], whole_words=True)
    words = BPESegmenter(model).whole_words
    lost = set(made.merges[len(made.merges) - missing :, 2].tolist())
    assert (set() if words is None else set(words.ids.tolist())) == lost
    tok = subwords.Tokenizer(replace(subwords.train(TEXT, vocab_size=270).spec, model=model, splitter=()))
    for token in lost:
        assert tok.encode(made.vocab[token]) == [token]


# ------------------------------------------------------------------
# Where tokens of words with unknown symbols begin and end: as HF tokenizers counts


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def file_of(vocab: list[str], merges: list[list[str]] = [], **fields: Any) -> str:  # noqa: B006
    model = {"type": "BPE", "vocab": {text: i for i, text in enumerate(vocab)}, "merges": merges}
    return json.dumps({"version": "1.0", "pre_tokenizer": fields.pop("before", None), "model": {**model, **fields}})


CASES = {
    "a dropped character": (file_of(["a"]), ["Xa", "aXa", "XX", "éa"]),
    "dropped bytes": (file_of(["Ã", "a", "Ġ"], before=BYTE_LEVEL), ["é", "éa", " éa é", "èé", "\x0b\t"]),
    "dropped bytes among merges": (
        file_of(["Ã", "a", "b", "ab"], [["a", "b"]], before=BYTE_LEVEL),
        ["éab", "abé", "xabx", "ébab"],
    ),
    "an unknown byte": (file_of(["<unk>", "Ã", "a"], before=BYTE_LEVEL, unk_token="<unk>"), ["éa", "aéé"]),
    "unknown characters": (file_of(["<unk>", "a"], unk_token="<unk>"), ["xya", "axy", "日a本"]),
    "fused unknown characters": (file_of(["<unk>", "a"], unk_token="<unk>", fuse_unk=True), ["xya", "axy", "日本a語"]),
    "some bytes only": (file_of(["a", "<0x41>"], byte_fallback=True), ["é", "A", "aéA", "éAa"]),
    "some bytes and an unknown character": (
        file_of(["<unk>", "a", "<0x41>", "<0x42>"], byte_fallback=True, unk_token="<unk>", fuse_unk=True),
        ["éA", "éAéa", "ABé", "éABa"],
    ),
    "merges of an unknown character": (
        file_of(["<unk>", "a", "<unk>a"], [["<unk>", "a"]], unk_token="<unk>"),
        ["xa", "éa", "xxa", "axa"],
    ),
    "merges of bytes": (
        file_of(["a", "<0x41>", "<0x42>", "<0x41><0x42>"], [["<0x41>", "<0x42>"]], byte_fallback=True),
        ["AB", "aABa", "BA"],
    ),
    "a whole word of unknown characters": (file_of(["xy"], ignore_merges=True), ["xy", "xyz"]),
}


@pytest.mark.parametrize("name", CASES)
def test_ids_tokens_and_offsets_are_those_of_hf(tmp_path: Path, name: str) -> None:
    data, texts = CASES[name]
    path = tmp_path / "tok.json"
    path.write_text(data, encoding="utf-8")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_str(data)
    for text in texts:
        got, ref = tok(text), peer.encode(text)
        assert (got.ids.tolist(), list(got.file_tokens)) == (ref.ids, ref.tokens), text
        assert [*map(tuple, got.spans.tolist())] == ref.offsets, text


def test_wordpiece_may_spell_the_unknown_token(tmp_path: Path) -> None:
    model = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##"}
    vocab = {"<unk>": 0, "##s": 1, "a": 2}
    fields = {"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}}
    data = json.dumps({**fields, "model": {**model, "max_input_chars_per_word": 100, "vocab": vocab}})
    path = tmp_path / "tok.json"
    path.write_text(data, encoding="utf-8")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_str(data)
    for text in ("<unk>s", "xyz a <unk>s", "as", "<unk>", "x"):
        got, ref = tok(text), peer.encode(text)
        assert (got.ids.tolist(), [*map(tuple, got.spans.tolist())]) == (ref.ids, ref.offsets), text
