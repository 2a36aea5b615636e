"""Automata match as `regex` does, leftmost branch first, and are as small as they can be."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from inside import (
    DEAD,
    PATTERNS,
    Automaton,
    Outside,
    automaton,
    merged_classes,
    merged_states,
    parse_pattern,
    partition,
)
from inside import split_automaton as automata
from patterns import INVENTED, PARSED, automaton_of, characters_of, compiled, numbers_of, small_patterns, string

SEED = 4
ALL = {**INVENTED, **PATTERNS}


def matched(found: Automaton, numbers: list[int], at: int) -> int:
    """Where the match that begins at a place ends, or -1."""
    state, end = 0, -1
    for place, number in enumerate([*numbers[at:], -1], at):
        if found.matches[state, number]:
            end = place
        if number < 0:
            break
        state = int(found.moves[state, number])
        if state == DEAD:
            break
    return end


def check(pattern: str, found: Automaton, text: str) -> None:
    numbers = numbers_of(found.classes, text)
    for at in range(len(text)):
        match = compiled(pattern).match(text, at)
        assert matched(found, numbers, at) == (match.end() if match else -1), (pattern, text, at)


@pytest.mark.parametrize("pattern", [*ALL.values(), *PARSED])
def test_matches_are_those_of_regex(pattern: str) -> None:
    rng = random.Random(SEED)
    try:
        found = automaton_of(pattern)
    except Outside:
        assert pattern in PARSED
        return
    chars = characters_of(found.classes, rng)
    for _ in range(60):
        check(pattern, found, string(rng, chars))


def test_most_constructs_have_an_automaton() -> None:
    outside = 0
    for pattern in PARSED:
        try:
            automaton_of(pattern)
        except Outside:
            outside += 1
    assert outside < len(PARSED) / 2


@settings(max_examples=settings.default.max_examples // 4)
@given(small_patterns(), st.integers(0, 2**32))
def test_matches_of_any_small_pattern(pattern: str, seed: int) -> None:
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automata, "MOST_STATES", 100)
        try:
            found = automaton_of(pattern)
        except Outside:
            assume(False)
    chars = characters_of(found.classes, rng)
    for _ in range(6):
        check(pattern, found, string(rng, chars))


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        ("a|b", "[ab]"),
        ("aa*", "a+"),
        ("a|ab", "a"),
        ("ab|a", "ab?"),
        ("(?:a|b)(?:a|b)", "[ab]{2}"),
        ("(?i:k)", "[kK\u212a]"),
        ("a(?=b)|a", "a"),
        ("a(?!b)|a(?=b)c?", "a"),
        (r"\p{Nd}", r"\d"),
        (PATTERNS["gpt2"], PATTERNS["gpt2"].replace("'s|'t", "'[st]")),
    ],
)
def test_patterns_that_mean_the_same(pattern: str, same: str) -> None:
    one, other = automaton_of(pattern), automaton_of(same)
    assert np.array_equal(one.classes, other.classes)
    assert np.array_equal(one.matches, other.matches)
    assert np.array_equal(one.moves, other.moves)


@pytest.mark.parametrize(
    ("pattern", "states", "classes"),
    [("a", 2, 2), ("[ab]+", 2, 2), ("abc", 4, 4), ("(?:ab)+", 3, 3), (r"\p{N}{1,3}", 4, 2), (r"\s+(?!\S)|\s", 3, 2)],
)
def test_automata_are_small(pattern: str, states: int, classes: int) -> None:
    assert automaton_of(pattern).moves.shape == (states, classes)
    assert automaton_of(pattern).matches.shape == (states, classes + 1)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a*", "it can match the empty string"),
        ("(?=a)", "it can match the empty string"),
        ("|a", "it can match the empty string"),
        ("(?:ab)++", "a possessive repetition of more than one character"),
        ("(?:a*b?)+c", "a repetition of an item that may be empty"),
        ("(?:(?:a{99}b?){99}c){99}", "repetitions of repetitions"),
        ("(?:a|b)*a(?:a|b){12}", "it needs more than 2000 states"),
        ("|".join(chr(0x4E00 + n) + chr(0x5000 + n) for n in range(99)), "it has more than 120 classes"),
    ],
)
def test_what_is_no_small_automaton_is_left_out(pattern: str, why: str) -> None:
    with pytest.raises(Outside, match=why):
        automaton(parse_pattern(pattern))


def test_invalid_byte_is_in_negated_sets_only() -> None:
    for pattern, ref in (("a", -1), ("[^a]", 1), (r"\S", 1), (r"\P{L}", 1), (r"\p{Any}", -1), (".", 1), (r"\w", -1)):
        found = automaton_of(pattern)
        assert matched(found, numbers_of(found.classes, "\udcff"), 0) == ref, pattern


def test_partition_tells_apart_what_the_sets_do() -> None:
    sets = [np.zeros(0x110001, np.bool_) for _ in range(2)]
    sets[0][97:100] = True
    sets[1][99:101] = True
    classes, members = partition(sets)
    assert classes[[0, 97, 98, 99, 100, 101, 0x110000]].tolist() == [0, 1, 1, 2, 3, 0, 0]
    assert members.tolist() == [[False, True, True, False], [False, False, True, True]]


def test_states_that_nothing_tells_apart_are_one() -> None:
    moves = np.array([[1, 2], [3, DEAD], [3, DEAD], [3, 3]], np.int32)
    assert merged_states(moves, np.array([0, 0, 0, 1])).tolist() == [0, 1, 1, 2]
    assert merged_states(moves, np.array([0, 0, 1, 1])).tolist() == [0, 1, 2, 3]


def test_classes_with_equal_columns_are_one() -> None:
    classes, kept = merged_classes(np.array([2, 0, 1], np.uint8), np.array([[5, 6, 5], [7, 7, 7]]))
    assert classes.tolist() == [0, 0, 1]
    assert kept == [0, 1]
