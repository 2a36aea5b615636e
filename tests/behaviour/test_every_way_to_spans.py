"""Every way to encode a text gives the same ids, tokens, spans and words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import subwords
from subwords import Encoding, Text, Tokenizer

LINES = ["A line of some words: low, lower, lowest and it's 2024.", "naïve 文字 ĳ", "  spaces\tand\n lines "] * 9
TEXTS = ["", "low", "  naïve 文字 lowest", "ĳ it's\u0301 \u3000low\n", "<s> unknown 🙂 q"]
NAMES = ("ids", "tokens", "file_tokens", "spans", "byte_spans", "word_ids", "type_ids", "ranges", "overflow")
TOKENIZERS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 320},
    "bpe, nfkc": {"vocab_size": 320, "normalizer": "nfkc"},
    "wordpiece": {"vocab_size": 99, "algorithm": "wordpiece"},
    "unigram": {"vocab_size": 60, "algorithm": "unigram"},
    "wordlevel": {"vocab_size": 30, "algorithm": "wordlevel"},
}
WAYS: dict[str, Callable[[Tokenizer, str], Encoding]] = {
    "again": lambda tok, text: tok(text),
    "a list": lambda tok, text: tok([text])[0],
    "among others": lambda tok, text: tok(["low", text, "naïve<s>"])[1],
    "among many, in threads": lambda tok, text: tok(["low " * 40_000, *[text] * 99, "文字 " * 40_000], threads=2)[7],
    "with policies": lambda tok, text: tok(text, special=set()),
    "trusted parts": lambda tok, text: tok([Text(text)]),
    "cut at more than its length": lambda tok, text: tok(text, truncation=999),
    "from bytes": lambda tok, text: tok([Text(text.encode())]),
}


@cache
def made(name: str) -> Tokenizer:
    return subwords.train(LINES, special_tokens=["<s>", "<unk>", "[UNK]"], **TOKENIZERS[name])


def fields(encoding: Encoding) -> dict[str, Any]:
    values = {name: getattr(encoding, name) for name in NAMES}
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}


@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_way(name: str, way: str) -> None:
    tok = made(name)
    for text in TEXTS:
        expected = fields(tok(text))
        assert fields(WAYS[way](tok, text)) == expected
        assert tok.encode(text) == tok.encode_batch([text])[0].tolist() == expected["ids"]
        assert tok.tokenize(text) == list(expected["tokens"])
