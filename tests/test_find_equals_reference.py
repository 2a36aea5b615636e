"""Finding many strings: the kernel, the finders and the naive search agree; time is linear (D4)."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import MOST_IN_REGEX, AddedTokens, Pass, StringSearch, TrieFinder
from inside import kernels_layout as layout
from subwords import AddedToken
from subwords.reference.text import find_longest

LETTERS = st.text("abé😀\udcff", max_size=40)


@given(st.lists(st.text("abé😀", min_size=1, max_size=5), min_size=1, max_size=9, unique=True), LETTERS)
def test_any_strings_and_text(strings: list[str], text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    naive = find_longest(data, [string.encode() for string in strings])
    shown = [strings[number] for _, number in naive]
    for finder in (StringSearch(strings), TrieFinder(strings)):
        ranges = [*finder.ranges(text)]
        assert [text[start:stop] for start, stop in ranges] == shown
        assert [len(text[:start].encode("utf-8", "surrogateescape")) for start, _ in ranges] == [at for at, _ in naive]
        assert finder.occurs(text) == bool(naive)


FLAGS = st.fixed_dictionaries({flag: st.booleans() for flag in ("lstrip", "rstrip", "single_word")})
CONTENTS = st.lists(st.text("ab é\u2003<", min_size=1, max_size=4), min_size=1, max_size=6, unique=True)
PARTS = st.text("ab é\u2003<\n😀_\udcff\udce2\udc80", max_size=40)


@given(CONTENTS, st.lists(FLAGS, min_size=6, max_size=6), st.lists(PARTS, max_size=5), st.sampled_from(["", "b" * 99]))
def test_tokens_of_any_flags(contents: list[str], flags: list[dict[str, bool]], parts: list[str], more: str) -> None:
    tokens = {text: AddedToken(text, 7 * i, **flags[i]) for i, text in enumerate(contents)}
    found, texts = Pass(tokens), [more + part + more + part for part in parts]
    data = [text.encode("utf-8", "surrogateescape") for text in texts]
    sizes = np.array([*map(len, data)], np.int64)
    given = layout.TextPlaces(
        np.cumsum(sizes) - sizes, sizes, np.arange(len(sizes)) % 2
    )  # an id 0 after every other text
    cut, ends = found.in_bytes.cut(np.frombuffer(b"".join(data), np.uint8), given)
    rows = [*zip(cut.begins.tolist(), (cut.begins + cut.sizes).tolist(), cut.after.tolist(), strict=True)]
    for i, text in enumerate(texts):
        shown = list[str | int]()
        for begin, stop, after in rows[ends[i - 1] if i else 0 : ends[i]]:
            piece = b"".join(data)[begin:stop].decode("utf-8", "surrogateescape")
            shown += ([piece] if piece else []) + ([after - 1] if after else [])
        assert shown == found.cut(text) + [0] * (i % 2)


def test_both_routes_of_added_tokens_agree() -> None:
    def added(more: int) -> AddedTokens:
        rest = [AddedToken(f"<|{i}|>", 10 + i) for i in range(more)]
        return AddedTokens([AddedToken("<|a|>", 0, lstrip=True), AddedToken("é", 1, single_word=True), *rest])

    few, many = added(9), added(MOST_IN_REGEX + 9)
    for text in ("x  <|a|> é é1 <|3|><|", "éé é", "", "<|8|>\n<|a|>"):
        assert few.finder("allow").literal.cut(text) == many.finder("allow").literal.cut(text)


def test_twenty_thousand_tokens_take_time_linear_in_the_text() -> None:
    tokens = ["<" + "a" * 49 + f"{number:05}>" for number in range(20_000)]
    tok = subwords.train(["ab <a> ab"], vocab_size=258).with_tokens(tokens)
    hard = "<" + "a" * 49  # the start of every token
    assert tok.encode(tokens[7] + "b" + tokens[19_999], special="allow") == [258 + 7, 65, 258 + 19_999]
    times = []
    for size in (1000, 8000):
        text = hard * size
        best = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            tok.added_tokens.finder("allow").literal.cut(text)
            best = min(best, time.perf_counter() - started)
        times.append(best)
    print("seconds", times)
    assert times[1] < 8 * 6 * times[0]  # quadratic time would be 64 times as long
    assert times[1] < 2  # 400,000 characters
