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


@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@pytest.mark.parametrize("lines", [["naïve 文字 ĳ it's lowest"], ["文字龜"], ["some words, lower"]])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_long_text_has_the_spans_of_its_lines(name: str, lines: list[str]) -> None:
    """Longer than what one call of a kernel splits, and than the parts in which long texts are split."""
    tok = made(name)
    line = lines[0] + "\n"
    count = 800_000 // len(line)
    twice, long = tok(line * 2), tok(line * count)
    # The first and last line of a text may have other ids, so the second of three is what is repeated.
    thrice = tok(line * 3)
    size = len(thrice) - len(twice)
    before = len(thrice) - 2 * size
    assert len(long) == len(thrice) + (count - 3) * size
    spans, part = long.spans, thrice.spans[before : before + size]
    for k in (1, 2, count // 3, count // 2, count - 2):
        at = before + (k - 1) * size
        assert (spans[at : at + size] == part + (k - 1) * len(line)).all(), k
    assert spans[-1].tolist() == (thrice.spans[-1] + (count - 3) * len(line)).tolist()
