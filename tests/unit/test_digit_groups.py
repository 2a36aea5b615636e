"""Numbers in groups counted from the end: the same cuts as by regex, in linear time (S5)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import subwords
from commands import json_of, run
from engines import splitter as engine
from inside import splitter_NAMED as NAMED
from splitting import check
from subwords import InputError
from subwords.machine import Split, SplitterEngine

RIGHT = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
PATTERNS = [
    RIGHT,
    r"[0-9]{1,3}(?=(?:[0-9]{3})*(?![0-9]))",
    r"\d{1,2}(?=(?:\d{2})*(?!\d))",
    r"(?=(\d{3})+(?!\d))",
    r"(?=(?:[0-9]{4})+(?![0-9]))",
    r"\d{1,3}(?=(?:\d{3})*\b)",
    next(step.pattern for step in NAMED["tiny-aya"] if isinstance(step, Split)),
]
OTHERS = [  # that look the same
    r"\p{N}{1,3}(?=(?:\p{N}{3})*\b)",  # a number such as ½ is no character of words
    *(r"\d{1,3}(?=(?:\d{2})*(?!\d))", r"\p{N}{1,3}(?=(?:\d{3})*(?!\p{N}))", r"\d{1,3}", f"{RIGHT}|a"),
]
TEXTS = st.lists(st.text("1٣½a_ é\n", max_size=14), min_size=1, max_size=4)


@pytest.mark.parametrize("pattern", [*PATTERNS, *OTHERS])
@given(TEXTS)
def test_the_same_words_as_in_the_textbook(pattern: str, texts: list[str]) -> None:
    made = engine(Split(pattern))
    for text in texts:
        check(made, text)


@given(st.text("12 ab,½", max_size=30))
def test_policies_are_what_they_say(text: str) -> None:
    for digits, pattern in (("1", r"\p{N}"), ("1-2", r"\p{N}{1,2}"), ("1-3", r"\p{N}{1,3}"), ("1-3-right", RIGHT)):
        words = subwords.splitter(r"\p{L}+", digits=digits).split(text)  # type: ignore[arg-type]
        expected = list[str]()
        for part in regex.split(rf"({pattern})", text):
            expected += [part] if regex.fullmatch(r"\p{N}+", part) else regex.split(r"(\p{L}+)", part)
        assert words == [word for word in expected if word]


def test_a_long_number_takes_linear_time() -> None:
    for rule in ("superbpe", "tiny-aya", subwords.splitter("gpt2", digits="1-3-right")):
        found = subwords.splitter(rule)
        found.split("1" * 1000)
        began = time.perf_counter()
        words = found.split("1" * 100_001)
        assert time.perf_counter() - began < 1
        assert words[:2] == ["11", "111"] and len(words) == 33_334


def test_bytes_that_are_no_text_end_a_number() -> None:
    tok = subwords.train(["1234567 " * 9], vocab_size=270, splitter=subwords.splitter("gpt2", digits="1-3-right"))
    assert tok.decode_bytes(tok.encode("12345")) == b"12345"
    counts = subwords.count(["1234567"], splitter=tok.splitter)
    assert dict(counts) == {b"1": 1, b"234": 1, b"567": 1}


@pytest.mark.parametrize("digits", ["1", "1-2", "1-3", "1-3-right"])
def test_files_in_hf(digits: Any, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    text = "In 2024 we sold 1234567 units for 99.95, or ½ of 10000000 x1y22z333w4444"
    rule = subwords.splitter("gpt2", digits=digits)
    tok = subwords.train([text] * 9, vocab_size=300, splitter=rule)
    tok.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode(text).ids == tok.encode(text)
    assert subwords.load(tmp_path / "tokenizer.json").splitter == rule


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("sold 1234567 of 7654321 " * 9)
    for command in (["train", "--vocab-size", 262], ["train", "--algorithm", "unigram", "--vocab-size", 24]):
        run(*command, "--digits", "1-3-right", tmp_path / "text.txt", "-o", tmp_path / "tok.json")
        assert subwords.load(tmp_path / "tok.json").splitter.split("21234") == ["21", "234"]
    run("count", "--digits", "1", tmp_path / "text.txt", "-o", tmp_path / "c")
    assert json_of("train", tmp_path / "c", "--vocab-size", 259, "-o", tmp_path / "tok.json")["tokens"] == 259
    assert "--digits" in run("train", tmp_path / "c", "--digits", "1", "--vocab-size", 9, "-o", "x.json", code=2).stderr


def test_other_policies_are_refused() -> None:
    with pytest.raises(InputError, match="digits"):
        subwords.splitter("gpt2", digits="2")  # type: ignore[arg-type]


def test_a_long_text_is_cut_outside_of_numbers() -> None:
    rule = SplitterEngine.of(subwords.splitter(r"\p{L}+", digits="1-3-right"))
    text = np.frombuffer(b"ab 123456 cd", np.uint8)
    found = {rule.cut(text[:stop], stop) for stop in range(1, len(text) + 1)}
    assert found & {3, 9, 10} and not found & {4, 5, 6, 7, 8}
    counts = subwords.count(["12 3456 ab " * 300_000], splitter=rule)
    assert dict(counts) == {b"12": 300_000, b" ": 900_000, b"3": 300_000, b"456": 300_000, b"ab": 300_000}
