"""Added tokens of all flags, before every normalizer and pre-tokenizer, are found where HF tokenizers finds them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from pipelines import encoded
from seeds import sweep_seed

LONG = 5000  # characters of a text that is not a short one
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
NORMALIZERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    {"type": "Lowercase"},
    {"type": "NFC"},
    {"type": "NFD"},
    {"type": "NFKC"},
    {"type": "NFKD"},
    {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    {"type": "Replace", "pattern": {"Regex": "[aeiou]+"}, "content": ""},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]},
)
METASPACE = {"type": "Metaspace", "replacement": "\u2581"}
PRE_TOKENIZERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"type": "BertPreTokenizer"},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "CharDelimiterSplit", "delimiter": "-"},
    {"type": "Digits", "individual_digits": True},
    {"type": "FixedLength", "length": 3},
    {**METASPACE, "prepend_scheme": "always", "split": True},
    {**METASPACE, "prepend_scheme": "first", "split": True},
    {**METASPACE, "prepend_scheme": "first", "split": False},
    {"type": "Punctuation", "behavior": "MergedWithNext"},
    {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    {"type": "UnicodeScripts"},
    {"type": "Whitespace"},
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {**METASPACE, "prepend_scheme": "first"}]},
)
CHARACTERS = [*map(chr, range(0x21, 0x7F)), *"\u2581\u0120\u00e9\u00c9\u0301\u00c3\u00a9", "<unk>"]


def added_tokens(first: int = 0) -> list[dict[str, Any]]:
    """A token for every combination of flags, in capitals and with an accent: normalizers change it."""
    combinations = itertools.product((False, True), repeat=len(FLAGS))
    return [
        {"id": first + i, "content": f"<\u00c9{i}>", **dict(zip(FLAGS, flags, strict=True))}
        for i, flags in enumerate(combinations)
    ]


def files() -> Iterator[str]:
    for before, splitter in itertools.product(NORMALIZERS, PRE_TOKENIZERS):
        # Of a byte-level model every token is written in the characters that stand for bytes.
        left_out = "\u2581\u0301" if splitter and splitter["type"] == "ByteLevel" else ""
        kept = [text for text in CHARACTERS if not left_out or text not in left_out]
        vocab = {text: i for i, text in enumerate(kept)}
        model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>"}
        top = {"version": "1.0", "normalizer": before, "pre_tokenizer": splitter, "model": model}
        yield json.dumps({**top, "added_tokens": added_tokens(len(kept))})


def texts(rng: random.Random, count: int) -> Iterator[str]:
    """Added tokens as they are, in small letters and decomposed, beside words, signs and whitespace."""
    contents = [token["content"] for token in added_tokens()]
    around = ("", " ", "  ", "\n", "a", "-", "\u0301", "Ab ", " 12 ")
    for _ in range(count):
        parts = []
        for content in rng.sample(contents, rng.randint(1, 5)):
            written = rng.choice((content, content, content.lower(), content.replace("\u00c9", "E\u0301")))
            parts += [rng.choice(around), written]
        yield "".join([*parts, rng.choice(around)])


def check(path: Path, data: str, documents: list[str]) -> None:
    path.write_text(data, encoding="utf-8")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_str(data)
    for text in documents:
        expected = encoded(peer, text)
        if expected is None:
            continue
        ref, _ = expected
        got = tok(text, special="allow")
        assert got.ids.tolist() == ref.ids, (data[:600], text)
        assert list(got.file_tokens) == ref.tokens, (data[:600], text)
        assert [*map(tuple, got.spans.tolist())] == ref.offsets, (data[:600], text)
        assert list(got.word_ids) == ref.word_ids, (data[:600], text)


def check_in_place(path: Path, data: str, documents: list[str]) -> None:
    """Check texts that are cut where they are in memory (D4): many, and a long one."""
    path.write_text(data, encoding="utf-8")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_str(data)
    found = [encoded(peer, text) for text in documents]
    kept = [(text, each[0].ids) for text, each in zip(documents, found, strict=True) if each is not None]
    texts, ids = [text for text, _ in kept], [ids for _, ids in kept]
    assert tok.encode_batch(texts, special="allow").to_lists() == ids, data[:600]
    assert tok.encode_batch([text.encode() for text in texts], special="allow", threads=2).to_lists() == ids, data[:600]
    long = ("".join(documents) * (1 + LONG // sum(map(len, documents)))).strip()
    expected = encoded(peer, long)
    if expected is not None:
        assert tok.encode_to_numpy(long, special="allow").tolist() == expected[0].ids, data[:600]
        assert tok.encode_to_numpy(long.encode(), special="allow").tolist() == expected[0].ids, data[:600]


def test_a_sample_of_the_grid_in_place(tmp_path: Path) -> None:
    for number, data in enumerate(files()):
        if number % 11 == sweep_seed() % 11:
            check_in_place(tmp_path / "tok.json", data, [*texts(random.Random(number), 30)])


def test_a_sample_of_the_grid(tmp_path: Path) -> None:
    for number, data in enumerate(files()):
        if number % 23 == sweep_seed() % 23:
            check(tmp_path / "tok.json", data, [*texts(random.Random(number), 12)])


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(10))
def test_the_whole_grid(tmp_path: Path, part: int) -> None:
    for number, data in islice(enumerate(files()), part, None, 10):
        check(tmp_path / "tok.json", data, [*texts(random.Random(number), 60)])
