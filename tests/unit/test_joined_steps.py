"""Rules of several steps that run as one machine, with a kernel behind it: the words are those of step by step."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inside import (
    CHUNK_WORDS,
    PATTERNS,
    ByteChars,
    ChangingRoute,
    KindsRoute,
    MachineRoute,
    Prefix,
    Rule,
    Split,
    SplitBuffers,
    SplitRoute,
    SplitterEngine,
    StepsRoute,
    TracedChunk,
    WordChunk,
)
from inside import kernels_layout as layout
from inside import splitter_NAMED as NAMED
from inside import splitter_Replace as Replace
from strategies import byte_texts

RULES: dict[str, tuple[Rule, type[SplitRoute]]] = {
    "clip": (NAMED["clip"], ChangingRoute),
    "bert": (NAMED["bert"], KindsRoute),
    "other signs": ((Split(r"\s", "removed"), Split("[-x]")), ChangingRoute),
    "t5": (NAMED["t5"], ChangingRoute),
    "falcon": (NAMED["falcon"], ChangingRoute),
    "deepseek-coder": (NAMED["deepseek-coder"], MachineRoute),
    "viking": (NAMED["viking"], MachineRoute),
    "late and late": ((Split("abc|a|b+"), Split("b1|ab| <+"), Split(PATTERNS["gpt2"])), MachineRoute),
    "late and dropped": ((Split("abc|[abc]", "removed", invert=True), Split("ab")), ChangingRoute),
    # The second step leaves words of the first that begin with a dropped character.
    "a match with a dropped character": (
        (Split("a b|[ab]", "removed", invert=True), Split("a")),
        StepsRoute,
    ),
    "another prefix": (
        (Split(r"\s+", "removed"), Replace(" ", "-"), Prefix("-"), Split("-", "merged_with_next")),
        ChangingRoute,
    ),
    "spaces stay": (
        (Split("b", "removed"), Replace(" ", "-"), Prefix("-"), Split("-", "merged_with_next")),
        StepsRoute,
    ),
    "numbers first": ((ByteChars(), Split(r"\p{N}", "contiguous"), Split("[0-9][0-9][0-9]")), ChangingRoute),
    "other digits": ((ByteChars(), Split("[2-9]", "contiguous"), Split("[0-9][0-9][0-9]")), StepsRoute),
}
PIECES = (
    "<|startoftext|>,<|endoftext|>,<|start,'s,'re, ,  ,"
    "\n,\t,a,ab,abc,Bc,é,中,12,3,4567,²,½,१,.,!?,-,▁,<,|,\u3000,ア,ò,$,b1,«,—,।,\x85,\U00010100"
)
texts = st.lists(st.sampled_from(PIECES.split(",")), max_size=30).map(lambda parts: "".join(parts).encode())


def words_of(chunks: list[WordChunk]) -> list[list[bytes]]:
    """The words of each text."""
    made: list[list[bytes]] = [[]]
    for text, base, ends, text_ends, complete in chunks:
        data, at, first = text.tobytes()[base:], 0, 0
        for k, upto in enumerate(text_ends.tolist()):
            for end in ends[first:upto].tolist():
                made[-1].append(data[at:end])
                at = end
            first = upto
            if complete or k < len(text_ends) - 1:
                made.append([])
    return made[:-1]


@pytest.mark.parametrize("name", RULES)
def test_route(name: str) -> None:
    rule, kind = RULES[name]
    assert type(SplitterEngine(rule).route) is kind


def copied(chunk: WordChunk) -> WordChunk:
    """A chunk whose arrays are its own."""
    return WordChunk(chunk.text.copy(), chunk.base, chunk.ends.copy(), chunk.text_ends.copy(), chunk.complete)


def check(name: str, batch: list[bytes]) -> None:
    """The words of some texts, one at a time and together."""
    rule, _ = RULES[name]
    made, steps = SplitterEngine(rule).route, StepsRoute(rule)
    data = np.frombuffer(b"".join(batch), np.uint8)
    bounds = np.cumsum([0, *map(len, batch)])
    found = words_of([copied(chunk) for chunk in made.texts(data, bounds, SplitBuffers())])
    assert found == words_of([copied(chunk) for chunk in steps.texts(data, bounds, SplitBuffers())])
    for text, words in zip(batch, found, strict=True):
        array, buffers = np.frombuffer(text, np.uint8), SplitBuffers()
        spans, reference = made.word_spans(array), steps.word_spans(array)
        assert spans.words.tolist() == reference.words.tolist()
        assert spans.origin.tolist() == reference.origin.tolist()
        if len(text) <= layout.SHORT_TEXT and (short := made.short_traced(array, buffers)) is not None:
            assert words_of([short.chunk]) == [words]
        cut = made.cut(array, len(array) // 2)
        parts = np.array([0, cut, len(array)])
        halves = words_of([copied(chunk) for chunk in made.texts(array, parts, SplitBuffers())])
        assert [*chain(*halves)] == words


@given(st.sampled_from([*RULES]), st.lists(texts | byte_texts(), max_size=5))
@example("t5", [b"a", b"", b"b"])
@example("falcon", ["x\u00b2123456ò7".encode(), b"12", b"34"])
def test_words(name: str, batch: list[bytes]) -> None:
    check(name, batch)


def places_of(chunks: Iterable[TracedChunk]) -> list[list[tuple[bytes, list[tuple[int, int]]]]]:
    """The words of each text, and where each of their bytes comes from."""
    made: list[list[tuple[bytes, list[tuple[int, int]]]]] = [[]]
    for (text, base, ends, text_ends, complete), begins, origin in chunks:
        data, at, first = text.tobytes()[base:], 0, 0
        for k, upto in enumerate(text_ends.tolist()):
            for word in range(first, upto):
                end = int(ends[word])
                begin = int(begins[word]) if len(begins) else base + at
                ranges = [(begin + i, begin + i + 1) for i in range(end - at)]
                if origin is not None:
                    ranges = [*zip(*origin[:, at:end].tolist(), strict=True)]
                made[-1].append((data[at:end], ranges))
                at = end
            first = upto
            if complete or k < len(text_ends) - 1:
                made.append([])
    return made[:-1]


def check_places(name: str, batch: list[bytes]) -> None:
    rule, _ = RULES[name]
    made, steps = SplitterEngine(rule).route, StepsRoute(rule)
    data, bounds = np.frombuffer(b"".join(batch), np.uint8), np.cumsum([0, *map(len, batch)])
    expected = places_of(steps.traced(data, bounds, SplitBuffers()))
    assert places_of(made.traced(data, bounds, SplitBuffers())) == expected
    for text in filter(lambda text: len(text) < CHUNK_WORDS, batch):
        array = np.frombuffer(text, np.uint8)
        one = made.short_traced(array, SplitBuffers())
        assert one is None or places_of([one]) == places_of([steps.short_traced(array, SplitBuffers())])


@given(st.sampled_from(["clip", "bert", "t5", "another prefix"]), st.lists(texts | byte_texts(), max_size=5))
@example("t5", [b"a", b"", "\u4e2d b".encode(), b" ", b"\xe4\xb8 a"])
def test_places_of_words(name: str, batch: list[bytes]) -> None:
    check_places(name, batch)


def test_places_of_the_words_of_a_text_of_several_chunks() -> None:
    check_places("t5", ["a \u4e2d ▁ ".encode() * 40_000, b"b c"])


@pytest.mark.parametrize("name", RULES)
def test_words_of_many_texts(name: str) -> None:
    line = "It's 12345 ▁▁a—b <|startoftext|><|startoftex 7890²é\u3000中文, abcab1 -x!?".encode()
    check(name, [line[k:] + line[:k] for k in range(0, len(line), 3)] * 3 + [line * 40])


def test_signs_and_whitespace_at_each_place_of_a_block() -> None:
    odd = ["«", "\u037e", "—", "।", "。", "\U00010100", "\x85", "\u3000", "é", "中", "😀"]
    broken = [b"\xc2", b"\xe2\x80", b"\xe0\xa5", b"\xf0\x90\x84", b"\xa4", b"\xe2\x80a", b"\xf4\x90\x80\x80", b"\xc2 "]
    for first in [*map(str.encode, odd), *broken]:
        for before in range(58, 66):
            for after in (b"", b"b c", "«".encode(), b" " + first + b"d" * 70):
                check("bert", [b"x" * before + first + after, first + after])


def test_a_text_longer_than_what_is_split_at_once() -> None:
    check("bert", ["One, two«three».\u3000Four ".encode() * 20_000, b"", b"a" * 600_000, b"c"])
