"""Sets of characters in patterns: on every code point those of the `regex` package."""

from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from characters import members_in_regex, members_in_tiktoken, settled, spelled
from inside import INVALID, Chars, case_folds, parse_pattern

# Sets of one character, for which `regex` is asked about every code point.
SETS = (
    *(".", "(?s:.)", "a", "é", r"\s", r"\S", r"\w", r"\W", r"\d", r"\D", r"\n", r"[^\n]", "[a-z]", "[^a-z]", "[]a]"),
    *(r"\p{L}", r"\P{L}", r"\p{^L}", r"\P{^L}", r"\pN", r"\PN", r"\p{Lu}", r"\p{Uppercase_Letter}", r"\p{LC}"),
    *(r"\p{Han}", r"\p{Script=Han}", r"\p{sc=Hani}", r"\p{IsGreek}", r"\p{gc=Sc}", r"\p{Alphabetic}", r"[\p{L}\p{M}]"),
    *(r"[^\r\n\p{L}\p{N}]", r"[^\s\p{L}\p{N}]", r"[\p{L}&&\p{Greek}]", r"[\p{L}&&[^\p{Han}]]", r"[\p{L}--\p{Lu}]"),
    *(r"[^\p{L}&&\P{Lu}]", r"[\w&&\p{ASCII}&&[^\d]]", "[[a-f][^d-z]]", r"[\d\-a-]", r"[\x00-\U0010ffff]", "[+-/]"),
    *(r"[!-/:-~]", "[一-龥぀-ゟ゠-ヿ]", "[ࠀ-一가-퟿]", r"[\u4e00-\u9fff\U00020000-\U0002ffff]", "[(|.,!?…。，،۔]"),
    *(
        "(?i:s)",
        "(?i:K)",
        "(?i:[^k])",
        "(?i:[a-m])",
        "(?i:ß)",
        "(?i:ς)",
        "(?i:[а-я])",
        "(?i:ǅ)",
        r"(?i:[\u0400-\u04ff])",
    ),
    *(r"(?i:[\p{Greek}&&[^σ]])", "(?i:[^[^a-f]])", "(?i)[x-z]", "(?i:(?-i:e))"),
)


def members(pattern: str) -> NDArray[np.bool_]:
    node = parse_pattern(pattern)
    assert isinstance(node, Chars)
    assert node.members.shape == (INVALID + 1,) and not node.members.flags.writeable
    return node.members


def judged_by_regex(fold: bool) -> NDArray[np.bool_]:
    """All settled characters, but for the Turkish i's: only `regex` folds them."""
    judged = settled().copy()
    judged[[0x130, 0x131]] = not fold
    return judged


def same_members(got: NDArray[np.bool_], pattern: str) -> bool:
    ref = members_in_regex(spelled(pattern))
    judged = judged_by_regex(fold="(?i" in pattern)
    return np.array_equal(got[:INVALID][judged], ref[judged])


@pytest.mark.parametrize("pattern", SETS)
def test_set_is_that_of_regex_on_every_character(pattern: str) -> None:
    assert same_members(members(pattern), pattern)


def bracketed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    unions = st.lists(inner, min_size=1, max_size=3).map("".join)
    operands = st.builds(
        lambda operator, parts: operator.join(parts),
        st.sampled_from(["&&", "--", ""]),
        st.lists(unions.map(lambda union: f"[{union}]"), min_size=1, max_size=3),
    )
    return st.builds(lambda sign, body: f"[{sign}{body}]", st.sampled_from(["", "^"]), st.one_of(unions, operands))


SET_ITEMS = st.sampled_from(
    [
        "a",
        "k",
        "é",
        r"\]",
        r"\-",
        "0-9",
        "b-m",
        "A-Z",
        "α-ω",
        r"\s",
        r"\W",
        r"\p{Lu}",
        r"\P{Greek}",
        r"\p{^N}",
        r"\n",
        ".",
    ]
)


# Every tenth character, and all of the first scripts.
SAMPLE = "".join(chr(c) for c in (*range(0x500), *range(0x500, 0x30000, 10)) if not 0xD800 <= c < 0xE000)


@given(
    st.sampled_from(["", "(?i)"]),
    st.recursive(SET_ITEMS, bracketed, max_leaves=7).map(lambda text: text if text[0] == "[" else f"[{text}]"),
)
def test_nested_sets_are_those_of_tiktoken(flags: str, pattern: str) -> None:
    """Not of `regex`, for which [^\\s\\S] is everything."""
    got = members(flags + pattern)
    assert {c for c in SAMPLE if got[ord(c)]} == members_in_tiktoken(flags + pattern, SAMPLE)


def test_ignoring_case_adds_what_regex_adds_to_every_cased_character() -> None:
    judged = judged_by_regex(fold=True)
    cased = [chr(c) for c in case_folds()[:, 0].tolist() if judged[c]]
    text = "".join(cased)
    assert len(cased) > 2900
    for character in cased[::7]:
        got = members(f"(?i:{character})")
        assert {c for c in text if got[ord(c)]} == set(regex.findall(f"(?i:{character})", text)), character


@pytest.mark.parametrize("pattern", [r"\S", r"\W", r"\D", r"\P{L}", r"\p{^L}", "[^a]", r"[^\s\p{L}]", ".", r"[a\W]"])
def test_invalid_byte_is_in_negated_sets(pattern: str) -> None:
    assert members(pattern)[INVALID]


@pytest.mark.parametrize(
    "pattern",
    [r"\s", r"\w", r"\p{C}", r"\p{Cn}", r"\p{Zzzz}", r"\p{Any}", r"[\x00-\U0010FFFF]", "[^\\S]", "(?i:[^\\W])"],
)
def test_invalid_byte_is_in_no_class(pattern: str) -> None:
    assert not members(pattern)[INVALID]


@pytest.mark.parametrize(
    ("pattern", "code"),
    [(r"\x41", 0x41), (r"\x{1f600}", 0x1F600), (r"\u00e9", 0xE9), (r"\u{e9}", 0xE9), (r"\U0001F600", 0x1F600)]
    + [(rf"\{c}", ord(c)) for c in ".*+?()[]{}|^$\\/-'\"&~#=!:,;@%_` "]
    + [
        (r"\a", 7),
        (r"\v", 11),
        (r"\f", 12),
        ("{", 0x7B),
        ("}", 0x7D),
        ("]", 0x5D),
        ("\n", 10),
        ("\U0010ffff", 0x10FFFF),
    ],
)
def test_escape_is_one_character(pattern: str, code: int) -> None:
    assert np.flatnonzero(members(pattern)).tolist() == [code]
    inside = pattern if pattern != "]" else r"\]"
    assert np.flatnonzero(members(f"[{inside}]")).tolist() == [code]
