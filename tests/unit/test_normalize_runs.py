"""Runs of characters of one set are replaced as the `regex` package replaces them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inside import PatternStage, run_stage
from inside import normalizer_Replace as Replace

PATTERNS = [r"\s+", " {2,}", "[^a-z]+", "[ é]{3,}", r"(?:\p{L})+", "a++"]
PARTS = st.lists(st.sampled_from([b" ", b"a", "é".encode(), "☃".encode(), "😀".encode(), b"\xff", b"\xe2\x98", b"\n"]))


@pytest.mark.parametrize("pattern", PATTERNS)
@given(
    st.lists(PARTS.map(b"".join), min_size=1, max_size=4),
    st.sampled_from(["", "x", "▁▁", " ", "a"]),
    st.binary(max_size=3),
)
def test_runs(pattern: str, texts: list[bytes], content: str, before: bytes) -> None:
    step = Replace(pattern, content, regex=True)
    stage, plain = run_stage(step), PatternStage(step)
    assert stage is not None
    data = np.frombuffer(before + b"".join(texts), np.uint8)
    bounds = len(before) + np.cumsum([0, *map(len, texts)])
    for tracked in (False, True):
        ref, got = plain.apply(data, bounds, tracked=tracked), stage.apply(data, bounds, tracked=tracked)
        assert ref is not None
        assert got is not None
        assert [part.tolist() for part in got] == [part.tolist() for part in ref]


@pytest.mark.parametrize("pattern", ["a", "a*", "a+b", "a{2,3}", "a+?", "ab+", "(ab)+", "a+|b", r"(?<=a)\s+", r"\bx+"])
def test_other_patterns_are_left_to_the_regex_package(pattern: str) -> None:
    assert run_stage(Replace(pattern, "x", regex=True)) is None
