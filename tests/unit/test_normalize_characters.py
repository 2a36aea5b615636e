"""Tables of characters: what they hold does not depend on the Unicode of the Python that runs."""

from __future__ import annotations

import numpy as np

from inside import combining_classes, compose_pair, compositions, decompositions, lowercase, marks, nonspacing_marks

HANGUL = 11172


def test_sizes_are_those_of_the_pinned_versions() -> None:
    assert len(marks()) == 2097
    assert len(nonspacing_marks()) == 1567
    assert len(lowercase()) == 1488
    assert len(decompositions("NFD")) == len(decompositions("NFC")) == 2060 + HANGUL
    assert len(decompositions("NFKD")) == 5722 + HANGUL
    assert len(compositions()) == 940 + HANGUL


def test_marks_newer_than_unicode_9_have_no_class() -> None:
    classes = combining_classes()
    assert classes[0x301] == 230
    assert classes[0x898] == classes[0x1E2EC] == classes[0x10EFD] == 0
    assert not classes.flags.writeable
    assert np.count_nonzero(classes) < 900


def test_capitals_newer_than_those_of_python_have_small_letters() -> None:
    lower = lowercase()
    assert lower[ord("İ")] == "i\u0307"
    assert lower[0x1C89] == "\u1c8a"
    assert lower[0xA7DC] == "\u019b"
    assert lower[0x16EB8] == "\U00016ed3"


def test_what_composes() -> None:
    assert compose_pair("e", "\u0301") == "é"
    assert compose_pair("\u1100", "\u1161") == "가"
    assert compose_pair("가", "\u11a8") == "각"
    assert compose_pair("\u0308", "\u0301") is None  # an exclusion
    assert compose_pair("\U00011935", "\U00011930") is None  # newer
