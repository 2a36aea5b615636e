"""Decoders of a tokenizer.json: what is read, written and refused; texts of vocabularies are those of HF."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders

import subwords
from decoding import peer_decoder
from inside import (
    _JOINED,
    ByteDecoder,
    ByteFallback,
    Decoder,
    DecoderSequence,
    Fuse,
    Metaspace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    WordPieceDecoder,
    decode_tokens,
    from_decoder,
    to_decoder,
)
from inside import decoder_Replace as Replace
from inside import decoder_Strip as Strip
from inside import json_node_Node as Node
from small_data import file_of
from subwords import FormatError

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
LLAMA = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


def read_as(value: Any) -> Decoder:
    return from_decoder(Node("a.json", "decoder", value))


def test_cleanup_stays_within_a_token() -> None:
    decoder = WordPieceDecoder()
    assert decode_tokens(decoder, ["it", "'", "s", "do", "not", ",", "."]) == "it ' s do not,."
    assert decode_tokens(decoder, ["a", "do not", "n't", "'s"]) == "a don'tn't's"
    assert decode_tokens(decoder, [" .", "##", "##a ."]) == ".a."


def test_vocabulary_of_bert_is_decoded_as_in_hf(data: Path) -> None:
    vocab, path = (file_of(data, f"bert/bert-base-uncased-{file}") for file in ("vocab.txt", "tokenizer.json"))
    tok = subwords.load(vocab).with_(decoder=WordPieceDecoder())
    ref = tokenizers.Tokenizer.from_file(str(path))
    rng = np.random.default_rng(5)
    for ids in (np.arange(tok.vocab_size), rng.permutation(tok.vocab_size), rng.integers(0, tok.vocab_size, 100_000)):
        for skip in (False, True):
            assert tok.decode(ids, skip_special_tokens=skip) == ref.decode(ids.tolist(), skip_special_tokens=skip)


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        (None, SpaceDecoder()),
        ({"type": "WordPiece", "prefix": "▁", "cleanup": False}, WordPieceDecoder("▁", cleanup=False)),
        (BYTE_LEVEL, ByteDecoder()),
        ({"type": "Fuse"}, ByteDecoder(byte_level=False)),
        (LLAMA, DecoderSequence((Replace("▁", " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)))),
        (METASPACE, Metaspace()),
    ],
)
def test_decoders_are_read_and_written(value: Any, ref: Decoder) -> None:
    assert read_as(value) == ref
    assert to_decoder(ref) == value
    for _ in range(3 if value else 0):
        value = {"type": "Sequence", "decoders": [value]}
        assert read_as(value) == ref


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Fuse", "decoder: expected an object"),
        ({"type": "Words"}, 'decoder: "Words" is not supported; expected BPEDecoder, ByteLevel, WordPiece, .*'),
        ({}, "decoder: an object is not supported; expected BPEDecoder, ByteLevel, WordPiece, .*"),
        ({"type": "BPEDecoder"}, "decoder.suffix: expected a string, not null"),
        ({"type": "CTC"}, "decoder.pad_token: expected a string, not null"),
        ({"type": "CTC", "pad_token": "", "word_delimiter_token": 1}, "decoder.word_delimiter_token: expected a str"),
        ({"type": "CTC", "pad_token": "", "word_delimiter_token": "|"}, "decoder.cleanup: expected true or false"),
        ({"type": "WordPiece", "cleanup": True}, "decoder.prefix: expected a string, not null"),
        ({"type": "WordPiece", "prefix": "##"}, "decoder.cleanup: expected true or false, not null"),
        ({"type": "WordPiece", "prefix": "\ud800", "cleanup": True}, "without lone surrogates"),
        ({"type": "Sequence"}, "decoder.decoders: expected an array"),
        ({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Words"}]}, r'decoders\[1\]: "Words" is not '),
        ({"type": "Metaspace"}, "decoder.replacement: expected a string, not null"),
        ({"type": "Metaspace", "replacement": "ab"}, "decoder.replacement: expected one character"),
        (METASPACE | {"prepend_scheme": "last"}, "decoder.prepend_scheme: expected 'always' or 'first' or 'never'"),
        ({"type": "Metaspace", "replacement": "_", "add_prefix_space": False}, 'expected "never" where'),
        ({"type": "Strip", "content": "", "start": 0, "stop": 0}, "decoder.content: expected one character"),
        ({"type": "Strip", "content": " ", "start": -1, "stop": 0}, "decoder.start: expected an integer from 0"),
        ({"type": "Replace", "pattern": "a", "content": ""}, "decoder.pattern: expected an object"),
        ({"type": "Replace", "pattern": {"Regex": "("}, "content": ""}, "decoder.pattern.Regex: expected a regex"),
        ({"type": "Replace", "pattern": {"String": "a"}}, "decoder.content: expected a string, not null"),
    ],
)
def test_damaged_decoder_is_named_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=f"^a.json: .*{message}"):
        read_as(value)


def test_what_is_written_without_a_decoder_joins_bytes() -> None:
    assert {byte_level: to_decoder(ByteDecoder(byte_level)) for byte_level in (True, False)} == _JOINED


def test_strip_at_the_end_as_in_hf() -> None:
    """Where HF does not fail: it does for tokens shorter than what is dropped."""
    rng = random.Random(19)
    ref, got = decoders.Strip("a", 1, 2), Strip("a", 1, 2)
    for _ in range(500):
        tokens = ["".join(rng.choices("ab▁", k=3)) + "bb" + "".join(rng.choices("ab", k=2)) for _ in range(4)]
        assert decode_tokens(got, tokens) == ref.decode(tokens)
    assert decode_tokens(got, ["", "a", "aa", "aaa"]) == ""


def test_whole_tokens_whatever_is_in_them() -> None:
    """Signs of every dialect stand for themselves, in what is written and in what HF reads."""
    rng = random.Random(19)
    signs = [*"\\.+*?()|[]{}^$#&-~<>/ \n\tab▁é😀", "\\A", "\\z", "(?:", "|)"]
    for _ in range(60):
        tokens = tuple({"".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 4))})
        decoder = ReplaceTokens(tokens, rng.choice(["", "é"]))
        node = to_decoder(decoder)
        assert read_as(node) == decoder
        peer = peer_decoder(node)
        for token in [*tokens, *("".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(20))]:
            assert decode_tokens(decoder, [token, "x"]) == peer.decode([token, "x"]), (tokens, token)
    assert isinstance(read_as({"type": "Replace", "pattern": {"Regex": r"\A(?:a.)\z"}, "content": ""}), Replace)


def test_sequences_too_deep() -> None:
    value: dict[str, Any] = {"type": "Fuse"}
    for _ in range(300):
        value = {"type": "Sequence", "decoders": [value, {"type": "Fuse"}]}
    with pytest.raises(FormatError, match="at most 100 nested sequences"):
        read_as(value)


def test_sentencepiece_as_steps() -> None:
    """Whatever comes first: several U+2581, unknown pieces, control pieces."""
    rng = random.Random(19)
    for byte_fallback, first, leading, surface in product([False, True], [False, True], [False, True], [" ⁇ ", "?"]):
        names = frozenset(["<unk>"]), frozenset(["<s>", "</s>"])
        decoder = SentencePieceDecoder(*names, surface, byte_fallback, drops_first=first, drops_leading=leading)
        peer = peer_decoder(to_decoder(decoder))
        for _ in range(200):
            tokens = rng.choices(["▁b", "c", "▁", "é", "中", "<0x41>", "<unk>", "<s>"], k=rng.randrange(7))
            assert decode_tokens(decoder, tokens) == peer.decode(tokens)
