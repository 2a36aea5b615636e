"""Literal strings as splitters: the compiled route equals the steps."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engines import splitter
from inside import (
    Rule,
    Split,
    SplitBuffers,
    SplitterEngine,
    StepsRoute,
    SymbolsRoute,
    escape,
    literal_strings,
    space_rule,
)

LETTERS = "▁ab<é>\n"


def random_rule(rng: random.Random) -> Rule:
    symbols = ["".join(rng.choices(LETTERS, k=rng.choice([1, 2, 3, 5]))) for _ in range(rng.randint(1, 8))]
    first, *_ = space_rule([], [symbol.encode() for symbol in sorted({*symbols})])
    return first, *space_rule([rng.choice(["▁a", "▁▁", "a▁", "a▁▁"]).encode()])


def words_of(route: Any, texts: list[bytes], room: int = 65536) -> list[list[bytes]]:
    """The words of every text, whatever the chunks they come in."""
    bounds = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    words: list[list[bytes]] = [[]]
    for data, base, ends, upto, complete in route.texts(
        np.frombuffer(b"".join(texts), np.uint8), bounds, SplitBuffers(room)
    ):
        places = [base, *(base + ends[: int(upto[-1])].astype(np.int64)).tolist()]
        found = [data[a:b].tobytes() for a, b in pairwise(places)]
        for first, last in pairwise([0, *upto.tolist()]):
            words[-1] += found[first:last]
            words.append([])
        if not complete:
            words.pop()
    return words[:-1]


def test_same_words_as_step_by_step() -> None:
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(60):
        rule = random_rule(rng)
        texts = ["".join(rng.choices(LETTERS, k=rng.choice([0, 1, 5, 40, 2000]))).encode() for _ in range(12)]
        ours = SplitterEngine(rule)
        ref = words_of(StepsRoute(rule), texts)
        assert words_of(ours, texts) == ref, rule
        assert words_of(ours, texts, 1024) == ref, rule
        for text, words in zip(texts, ref, strict=True):
            word_spans = ours.word_spans(np.frombuffer(text, np.uint8))
            assert [word_spans.text[a:b].tobytes() for a, b in pairwise(word_spans.words.tolist())] == words
            short = ours.route.short_traced(np.frombuffer(text, np.uint8), SplitBuffers())
            assert short is None or int(short.chunk.text_ends[-1]) == len(words)
        assert isinstance(ours.route, SymbolsRoute)


def test_cuts_change_no_word() -> None:
    seed = 6
    print(f"seed {seed}")
    rng = random.Random(seed)
    found = 0
    for _ in range(150):
        ours = SplitterEngine(random_rule(rng))
        text = "".join(rng.choices(LETTERS, k=40)).encode()
        at = rng.randint(0, len(text))
        cut = ours.cut(np.frombuffer(text, np.uint8)[:at], at)
        assert 0 <= cut <= at
        (whole,) = words_of(ours, [text])
        assert [word for part in words_of(ours, [text[:cut], text[cut:]]) for word in part] == whole
        found += cut > 0
    assert found > 50


def test_many_symbols_and_a_long_text() -> None:
    symbols = [f"<unused{n}>" for n in range(6000)] + ["▁" * n for n in range(2, 32)]
    rule = splitter(space_rule([], map(str.encode, symbols)))
    assert isinstance(rule.route, SymbolsRoute)
    assert rule.split("▁a▁▁▁b<unused70>c<unused6000>") == ["▁a", "▁▁▁", "b", "<unused70>", "c<unused6000>"]
    text = "▁word" * 100_000 + "<unused7>" + "▁word" * 100_000
    assert len(rule.split(text)) == 200_001
    data = np.frombuffer(text.encode(), np.uint8)
    assert rule.cut(data, len(data)) > len(data) - 20


@pytest.mark.parametrize(
    ("pattern", "symbols"),
    [
        ("a", ["a"]),
        (r"<s>>|<s>|a\.\|b|\\|x", ["<s>>", "<s>", "a.|b", "\\", "x"]),
        ("a|ab", None),
        ("a|b*", None),
        ("a||b", None),
        ("[ab]", None),
        (r"\s", None),
    ],
)
def test_symbols_of_a_pattern(pattern: str, symbols: list[str] | None) -> None:
    assert literal_strings(Split(pattern)) == symbols
    assert literal_strings(Split(pattern, "removed")) is None
    assert literal_strings(Split(pattern, invert=True)) is None


def test_escaped_symbols_come_back() -> None:
    seed = 7
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(300):
        found = {"".join(rng.choices(r"\|a.[]()*+?{}^$-&#" + "\n", k=rng.randint(1, 4))) for _ in range(5)}
        symbols = sorted(found, key=len, reverse=True)
        assert literal_strings(Split("|".join(map(escape, symbols)))) == symbols
