"""Machines, walked by their definition, split as `regex` does; cut texts and joined steps change no word."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from inside import DIGIT, PATTERNS, SIGN, Machine, Outside, Split, compose_machines, machine, unsplit
from inside import kernels_layout as layout
from inside import split_automaton as automata
from inside import splitter_NAMED as NAMED
from patterns import (
    BEHAVIORS,
    INVENTED,
    automaton_of,
    characters_of,
    machine_of,
    machine_or_none,
    numbers_of,
    reference_ends,
    small_patterns,
    string,
    walked,
)
from subwords.reference import pattern as reference

SEED = 6
ALL = {**INVENTED, **PATTERNS}


def check(step: Split, text: str) -> None:
    """The words of a text, and of its parts."""
    found = machine_of(step)
    numbers = numbers_of(found.classes, text)
    assert walked(found, numbers) == reference_ends(text, step), (step, text)
    check_cuts(found, numbers)


def safe_places(found: Machine, numbers: list[int]) -> list[int]:
    safe = found.cuts()
    return [at for at in range(1, len(numbers)) if safe[numbers[at - 1], numbers[at]]]


def check_cuts(found: Machine, numbers: list[int], most: int = 4) -> None:
    """A text cut at places that are safe."""
    whole, places = walked(found, numbers), safe_places(found, numbers)
    for at in places[:: max(1, len(places) // most)]:
        right = [at + end for end in walked(found, numbers[at:])]
        assert walked(found, numbers[:at]) + right == whole, (numbers, at)


@pytest.mark.parametrize("name", ALL)
def test_words_are_those_of_regex(name: str) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    step = Split(ALL[name])
    chars = characters_of(automaton_of(step.pattern).classes, rng)
    for _ in range(100):
        text = string(rng, chars)
        check(step, text)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
def test_words_of_every_behavior(behavior: str, invert: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    monkeypatch.setattr(automata, "MOST_MACHINE_STATES", 300)
    done = 0
    for pattern in (*INVENTED.values(), PATTERNS["o200k"], DIGIT, SIGN, " ", "ab|b", r"\s"):
        step = Split(pattern, behavior, invert)  # type: ignore[arg-type]
        if machine_or_none(step):
            done += 1
            chars = characters_of(machine_of(step).classes, rng)
            for _ in range(4):
                check(step, string(rng, chars))
    assert done > 10


def test_ends_of_matches_alone() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for pattern in (INVENTED["gaps"], INVENTED["any three"], r"\s", "ab|b", r"\w+", DIGIT):
        found = machine(automaton_of(pattern), "ends", last=False)
        chars = characters_of(found.classes, rng)
        for _ in range(30):
            text = string(rng, chars)
            ref = [end for _, end, matches in reference.find(pattern, text) if matches]
            assert walked(found, numbers_of(found.classes, text)) == ref, (pattern, text)


@settings(max_examples=settings.default.max_examples // 4)
@given(small_patterns(), st.sampled_from(BEHAVIORS), st.booleans(), st.integers(0, 2**32))
def test_words_of_any_small_pattern(pattern: str, behavior: str, invert: bool, seed: int) -> None:
    step = Split(pattern, behavior, invert)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automata, "MOST_MACHINE_STATES", 100)
        found = machine_or_none(step)
    assume(found)
    assert found
    rng = random.Random(seed)
    chars = characters_of(found.classes, rng)
    for _ in range(5):
        text = string(rng, chars)
        check(step, text)


@pytest.mark.parametrize("name", ALL)
def test_cuts_of_every_short_string(name: str) -> None:
    step = Split(ALL[name])
    found = machine_of(step)
    rng = random.Random(SEED)
    numbers = range(found.count) if found.count < 8 else rng.sample(range(found.count), 7)
    ends: dict[tuple[int, ...], list[int]] = {}
    for size in range(5):
        for classes in itertools.product(numbers, repeat=size):
            ends[classes] = walked(found, list(classes))
    safe = found.cuts()
    for classes, whole in ends.items():
        for at in range(1, len(classes)):
            if safe[classes[at - 1], classes[at]]:
                assert ends[classes[:at]] + [at + end for end in ends[classes[at:]]] == whole, (classes, at)


def test_text_may_be_cut_in_most_places() -> None:
    # Were no cut known to be safe, every text would still be split rightly, on one thread.
    text = "It's 12 o'clock, he said;\n\n naïve words in 文字 and слово. " * 3
    for name in ("gpt2", "cl100k", "o200k", "llama3", "qwen2", "kimi-k2", "numbers with separators", "camel case"):
        found = machine_of(Split(ALL[name]))
        assert len(safe_places(found, numbers_of(found.classes, text))) > 20, name


@pytest.mark.parametrize("blanks", range(layout.REACH - 3, layout.REACH + 20))
@pytest.mark.parametrize("name", ["far end", "far end of many", "far end in words", "llama3", "cl100k", "bailing"])
def test_ends_that_are_kept_aside(name: str, blanks: int) -> None:
    step = Split(ALL[name])
    for before, run, after in itertools.product(("\n", "a", "a>"), (" ", "-"), ("\n", "b", "", ">", " \n\n b")):
        for text in (before + run * blanks + after, (before + run * blanks + after) * 2):
            check(step, text)


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        (PATTERNS["gpt2"], PATTERNS["r50k"]),
        (PATTERNS["gpt2"], PATTERNS["p50k"]),
        (PATTERNS["gpt2"], f"(?:{PATTERNS['gpt2']})"),
        (PATTERNS["qwen2"], PATTERNS["qwen2"].replace(r"\p{N}|", r"\p{N}{1}|")),
        (PATTERNS["qwen2"], PATTERNS["bailing"]),
        ("a+", "a++"),
        (r"\d|\D", "(?s:.)"),
        (r"\s+(?!\S)|\s", r"\s+$|\s+(?=\s)|\s"),
    ],
)
def test_machines_of_one_meaning_are_equal(pattern: str, same: str) -> None:
    assert machine_of(Split(pattern)).identity == machine_of(Split(same)).identity


def test_machines_of_other_meanings_are_not() -> None:
    found = {machine_of(Split(pattern)).identity for pattern in PATTERNS.values()}
    assert len(found) == len(PATTERNS.keys() - {"gpt-neox", "r50k", "p50k", "bailing"})
    assert machine_of(Split(PATTERNS["cl100k"])).identity != machine_of(Split(PATTERNS["llama3"])).identity
    assert machine_of(Split("a")).identity != machine_of(Split("a", "merged_with_next")).identity


STEPS = {
    "deepseek-v3": NAMED["deepseek-v3"],
    "starcoder": NAMED["starcoder"],
    "digits, llama3": (Split(r"\p{N}"), Split(PATTERNS["llama3"])),
    "letters, camel case": (Split(r"\p{L}+"), Split(INVENTED["camel case"])),
    "spaces, far end": (Split(" ", "merged_with_next"), Split(INVENTED["far end"])),
    "threes, gaps": (Split(INVENTED["any three"]), Split(INVENTED["gaps"])),
    "lines, cl100k": (Split("\n", "merged_with_previous"), Split(PATTERNS["cl100k"])),
    "signs, words": (Split(SIGN, "contiguous"), Split(r"\w+| \w+")),
}


@pytest.mark.parametrize("name", STEPS)
def test_joined_steps(name: str) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    rule = STEPS[name]
    found = machine_of(rule[-1])
    for step in reversed(rule[:-1]):
        found = compose_machines(machine_of(step), found)
    chars = characters_of(found.classes, rng)
    for _ in range(150):
        text = string(rng, chars)
        numbers = numbers_of(found.classes, text)
        assert walked(found, numbers) == list(
            itertools.accumulate(len(piece) for piece, _ in reference.pre_tokenize(text, rule))
        ), text
        check_cuts(found, numbers)


def test_steps_that_save_word_ends_are_not_joined() -> None:
    with pytest.raises(Outside, match="saves word ends"):
        compose_machines(machine_of(Split(PATTERNS["o200k"])), machine_of(Split(r"\p{N}")))


def test_steps_with_too_many_classes_are_not_joined() -> None:
    letters = [chr(0x4E00 + n) for n in range(200)]
    first, second = (
        machine_of(Split("|".join(f"{a}{b}*" for a, b in zip(part[::2], part[1::2], strict=True))))
        for part in (letters[:100], letters[100:])
    )
    with pytest.raises(Outside, match="more than 120 classes"):
        compose_machines(first, second)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"-*>|-|\w", "words depend on characters too far after them"),
        (r'"[^"]*"|\w+|.', "splitting needs more than 3000 states"),
        ("a{1,30}b|a|b", "words depend on characters too far after them"),
    ],
)
def test_what_has_no_machine_is_left_out(pattern: str, why: str) -> None:
    with pytest.raises(Outside, match=why):
        machine(automaton_of(pattern))


def test_text_left_whole() -> None:
    assert walked(unsplit(), [0, 0, 0]) == [3]
    assert walked(unsplit(), []) == []
    assert not unsplit().cuts().any()


def test_places_told_are_within_reach() -> None:
    for pattern in ALL.values():
        found = machine_of(Split(pattern))
        assert int(found.borders.max()) < 1 << (layout.REACH + 1)
        assert found.moves.min() >= 0
        assert found.moves.max() < len(found.moves)
        assert np.unique(found.classes).tolist() == list(range(found.count))
