"""mix: counts of several sources with weights, shares and limits (W7)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from commands import json_of, run
from subwords import InputError, WordCounts
from subwords.machine import mix_factors

EN, DE = subwords.count(["the cat the cat " * 30]), subwords.count(["die Katze"])
SOURCES = {"en": EN, "de": DE}
BOTH: Any = {"en": 480, "de": 9}  # bytes


def bytes_of(counts: WordCounts) -> int:
    return sum(len(word) * number for word, number in counts)


def test_the_sizes_of_the_examples() -> None:
    assert {name: bytes_of(counts) for name, counts in SOURCES.items()} == BOTH


@pytest.mark.parametrize(
    ("options", "factors"),
    [
        ({}, (1, 1)),
        ({"weights": {"en": 3}}, (3, 1)),
        ({"weights": {"en": 0.5}}, (1, 2)),
        ({"weights": {"en": 1.5, "de": 2}}, (3, 4)),
        ({"weights": {"en": 0.001}}, (1, 1000)),
        ({"weights": {"en": 3**0.5}}, (1732, 1000)),
        ({"shares": {"en": 0.5, "de": 0.5}}, (3, 160)),
        ({"shares": {"en": 1, "de": 1}}, (3, 160)),
        ({"exponent": 1}, (1, 1)),
        ({"exponent": 0}, (3, 160)),
        ({"max_bytes": 9}, (3, 160)),
        ({"max_bytes": "240"}, (1, 2)),
        ({"max_bytes": {"en": 120}}, (1, 4)),
        ({"max_bytes": {"de": "1MB"}}, (1, 1)),
        ({"max_bytes": 120, "weights": {"de": 2}}, (1, 8)),
    ],
)
def test_factors(options: Any, factors: tuple[int, int]) -> None:
    assert mix_factors(SOURCES, **options) == dict(zip(SOURCES, factors, strict=True))
    mixed = subwords.WordCounts.mixed(SOURCES, **options)
    assert dict(mixed) == {word: n * factors[0] for word, n in EN} | {word: n * factors[1] for word, n in DE}


@given(st.dictionaries(st.sampled_from("abc"), st.floats(1e-6, 1e6), min_size=1))
def test_ratios_are_close_and_nothing_is_lost(weights: dict[str, float]) -> None:
    sources = dict.fromkeys(weights, EN)
    factors = mix_factors(sources, weights=weights)
    assert min(factors.values()) >= 1
    for a in weights:
        for b in weights:
            ratio = Fraction(weights[a]) / Fraction(weights[b])
            assert abs(Fraction(factors[a], factors[b]) / ratio - 1) < 2e-3


def test_shares_are_the_shares_of_the_text() -> None:
    mixed = subwords.WordCounts.mixed(SOURCES, shares={"en": 0.123, "de": 0.877})
    of_de = sum(len(word) * number for word, number in mixed if word in dict(DE))
    assert abs(of_de / bytes_of(mixed) - 0.877) < 1e-3


def test_documents_stay() -> None:
    sources = {
        name: subwords.count([text, "a"], document_frequencies=True) for name, text in (("x", "a b"), ("y", "b"))
    }
    mixed = subwords.WordCounts.mixed(sources, weights={"x": 5})
    assert mixed.documents is not None
    words = [word for word, _ in mixed]
    assert dict(zip(words, mixed.documents.tolist(), strict=True)) == {b"a": 3, b" b": 1, b"b": 1}
    assert dict(mixed) == {b"a": 11, b" b": 5, b"b": 1}


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        ({}, {}, "expected sources as a dict"),
        ([EN], {}, "expected sources as a dict"),
        ({"en": "a.txt"}, {}, "source 'en': expected word counts, not str"),
        (SOURCES, {"weights": {"fr": 1}}, "weights: 'fr' is not a source; the sources are 'en', 'de'"),
        (SOURCES, {"weights": {"en": 0}}, "weights: expected a number above 0 for 'en', not 0"),
        (SOURCES, {"weights": {"en": float("inf")}}, "weights: expected a number above 0"),
        (SOURCES, {"weights": {"en": "2"}}, "weights: expected a number above 0"),
        (SOURCES, {"weights": [2, 1]}, "expected weights as a dict"),
        (SOURCES, {"shares": {"en": 1}}, "shares: expected a number for each source; 'de' has none"),
        (SOURCES, {"shares": {"en": 1, "de": 1}, "exponent": 1}, "expected one of weights, shares and exponent"),
        (SOURCES, {"shares": {"en": 1, "de": 1}, "max_bytes": 1}, "max_bytes and shares contradict"),
        (SOURCES, {"exponent": 2}, "expected exponent to be a number from 0 to 1, not 2"),
        (SOURCES, {"max_bytes": "much"}, "expected a number of bytes"),
        (SOURCES, {"max_bytes": {"fr": 1}}, "max_bytes: 'fr' is not a source"),
        (SOURCES, {"weights": {"en": 1e18}}, "too many words: 'en' counts"),
        ({"en": EN, "de": subwords.count(["a"], splitter="cl100k")}, {}, "source 'de': expected counts made with"),
    ],
)
def test_errors(sources: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        subwords.WordCounts.mixed(sources, **options)


def test_counts_without_words_are_refused() -> None:
    none = WordCounts(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.uint64), EN.provenance)
    with pytest.raises(InputError, match="source 'x' has no words"):
        subwords.WordCounts.mixed({"x": none})


def test_command(tmp_path: Path) -> None:
    for name, counts in SOURCES.items():
        counts.save(tmp_path / name)
    sources = [f"{name}={tmp_path / name}" for name in SOURCES]
    found = json_of("count", "--mix", *sources, "--weight", "de=2", "-o", tmp_path / "m")
    assert found["factors"] == {"en": 1, "de": 2}
    assert dict(WordCounts.load(tmp_path / "m")) == dict(subwords.WordCounts.mixed(SOURCES, weights={"de": 2}))
    assert run("count", "--mix", *sources, "--max-bytes", "9", "-o", tmp_path / "m").stdout == "en\t3\nde\t160\n"
    assert run("count", "--mix", *sources, "--max-bytes", "de=9", "-q", "-o", tmp_path / "m").stdout == ""
    assert json_of("count", "--mix", *sources, "--exponent", "0", "-o", tmp_path / "m")["factors"] == {
        "en": 3,
        "de": 160,
    }
    shares = ["--share", "en=1", "--share", "de=1"]
    assert json_of("count", "--mix", *sources, *shares, "-o", tmp_path / "m")["factors"] == {"en": 3, "de": 160}
    assert "expected NAME=VALUE" in run("count", "--mix", tmp_path / "en", "-o", tmp_path / "m", code=2).stderr
    assert (
        "expected NAME=NUMBER"
        in run("count", "--mix", *sources, "--share", "en=x", "-o", tmp_path / "m", code=2).stderr
    )
    run("count", "--mix", f"en={tmp_path / 'nothing'}", "-o", tmp_path / "m", code=1)
