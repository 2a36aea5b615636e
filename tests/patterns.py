"""Patterns that no tokenizer has, and machines walked by their definition."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import regex
from hypothesis import strategies as st

from characters import settled
from inside import Automaton, Machine, Outside, Repeat, Split, automaton, machine, parse_pattern
from inside import kernels_layout as layout
from subwords.reference import pattern as reference

# Small patterns of every construct; some have no automaton.
PARSED = (
    *("", "a|", "|a", "(?:)", "a(?:|b)c", "(a|ab)(c|bcd)$", "(?:a|ab)(?:c|bcd)?", "(a|b)*abb", "(?:ab|a)*b", "x*"),
    *("(?:ab){2,3}", "(?:ab){2,3}+", "(?:a|ab){2}c", "a{,2}b", "a{2,}b", "a{,}b", "a{0}b", "a{b", "{}a"),
    *("a{1,b}", "a{ 1}", "(?>a|ab)c", "(?>a+)a", "(?>ab|a)b?", "(?>[ab])b", "(?:a?b?)++a", "a?+a", "a*+a", "a++b"),
    *("(?=[ab])[bc]?", "a(?!b|c)", "a(?=b|$)", "a(?!b|$)", "a(?=$)", r"a\z", r"a\Z", "(?!a|[b-d])[a-f]", r"\s+(?=\S)"),
    *("(?i:strasse|[k-m]+)", "(?i)abc", "(?i:a(?-i:b)c)", "(?s).+", "(?s:.)(?-s:.)", ".+", r"\x61\u0062\U00000063"),
    *(
        r"[\x61-\x63]+",
        r"\.\*\(\)\[\]\{\}\|\+\?\\\^\$\-\/\'\ ",
        r"[\n\r\t\f\v\a]+",
        "[-a]+",
        "[a-]+",
        "[]a]+",
        "[^]a]+",
    ),
    *(r"[\w-]+", r"[\d.,]+\d", r"[^\W\d_]+", r"\D+\d", r"(?P<word>\w+)\s", r"(?<word>\w+)\s", "[&|~]+", "]a}", "é+è?"),
    *("a(?i)b|c", "(?:a(?i)b|c)d", "(?x: a b # c\n) d", "a(?#b)+", "(?i-s:a.)(?-i)b", "(" * 99 + "a" + ")" * 99),
    *("(?i:я|σ)+", r"[\p{L}--\p{Lu}]+", "[a-z--[aeiou]]+", "[[a-c][x-z]]+", r"[\w&&[^\d_]]+", r"\pL\PL"),
)

INVENTED = {
    "numbers with separators": r"[+-]?\d+(?:[.,]\d+)*|\p{L}+|[^\s\p{L}\d]|\s+",
    "numbers with few groups": r"\d{1,3}(?:[ ']\d{3}){0,2}|\w+|\W",
    "addresses": r"https?://[^\s<>]+|\w+|[^\w\s]+|\s",
    "camel case": r"\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+|[^\p{L}\p{N}]",
    "identifiers": r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?|[A-Za-z_]\w*|[ \t]+|\r?\n|.",
    "look-aheads": r"a{1,4}(?=b)|b(?!\S)|\w(?=\s|$)|[ab]",
    "negative look-ahead": r"\s+(?!\S)|(?!a)\w+|a",
    "gaps": r"\p{L}{2,}|\d{2}",
    "gaps and ends": r"[a-z]{3}$|\d$|,",
    "far end": r"\s*[\r\n]|\S+|\s+",
    "far end of many": r"\s*[\r\n]+|\s+(?!\S)|\s+| ?\S+",
    "far end in words": r"a(?:-*>)?|-+|[^a-]+",
    "two far ends": r"\s*\n|\s+|[.!]*\?|[^\s.!?]+|[.!?]+",
    "quotations": r'"[^"\n]{0,10}"|\w+|\s+|.',
    "dates": r"\d{4}-\d{2}-\d{2}|\d+|\p{L}+|[^\d\p{L}]",
    "any case": r"(?i:straße|k+|'s)|\p{L}|[^\p{L}]+",
    "possessive": r"\p{L}{2,4}+|\d++|\s?+\S|\s",
    "sets within sets": r"[\p{L}&&[^\p{Han}]]+|\p{Han}{1,2}|[^\p{L}]",
    "any three": r"(?s:.{1,3})",
    "lines": r".+|\n",
    "the shorter first": r"a|ab|abc|b{1,3}c|\s",
    "nested repetitions": r"(?:a{2}b?){1,3}|(?:\d\d)+|.",
    "end of text": r"a{1,4}$|a+|b$|\s++$|\s+(?!\S)|\s|[^a\s]",
}

BEHAVIORS = ("isolated", "contiguous", "merged_with_previous", "merged_with_next")


# ------------------------------------------------------------------ small patterns

_SETS = (
    "a",
    "b",
    "c",
    " ",
    r"\n",
    "[ab]",
    "[^a]",
    r"[^ \n]",
    r"\s",
    r"\S",
    r"\w",
    r"\d",
    r"\p{L}",
    r"[\r\n]",
    ".",
    "(?i:k)",
)
_LOOKS = ("(?:$|a)", r"(?!\S)", "(?=a)", "(?!b)", r"(?=\s|$)", r"(?!\n)")


def _quantified(signs: list[str]) -> st.SearchStrategy[str]:
    return st.builds(str.__add__, st.sampled_from(_SETS), st.sampled_from(signs))


def _groups(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    row = st.lists(parts, min_size=1, max_size=3).map("".join)
    group = st.builds("(?:{}|{}){}".format, row, row, st.sampled_from(["", "?", "*", "+", "{2}", "{1,2}"]))
    return st.one_of(row, group)


def small_patterns() -> st.SearchStrategy[str]:
    """Patterns over few characters; hardly any matches nothing."""
    atoms = _quantified(["", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "?+", "*+", "++", "{1,3}+"])
    part = st.recursive(st.one_of(atoms, atoms, atoms, st.sampled_from(_LOOKS)), _groups, max_leaves=6)
    rest = st.lists(part, max_size=2).map("".join)
    head = _quantified(["", "", "+", "{2}", "{1,3}", "++", "{2,}"])
    before = st.sampled_from(["", "", "", r"(?=\w)", r"(?!\S)"])
    branch = st.one_of(st.builds("{}{}{}".format, before, head, rest), st.builds("{}{}".format, rest, head))
    return st.lists(branch, min_size=1, max_size=4).map("|".join)


# ------------------------------------------------------------------ machines


@lru_cache(16)
def automaton_of(pattern: str) -> Automaton:
    return automaton(parse_pattern(pattern))


@lru_cache(16)
def machine_of(step: Split) -> Machine:
    """The machine of a step that keeps all pieces."""
    node = parse_pattern(step.pattern)
    found = automaton(Repeat(node, 1, None)) if step.behavior == "contiguous" else automaton_of(step.pattern)
    tells = {"merged_with_previous": ["ends", "starts"], "merged_with_next": ["starts", "ends"]}
    return machine(found, tells.get(step.behavior, ["borders"] * 2)[step.invert])


def machine_or_none(step: Split) -> Machine | None:
    try:
        return machine_of(step)
    except Outside:
        return None


def numbers_of(classes: np.typing.NDArray[np.uint8], text: str) -> list[int]:
    """The class of every character; an escaped byte has that of the bytes that are not UTF-8."""
    return [int(classes[0x110000 if "\udc80" <= char <= "\udcff" else ord(char)]) for char in text]


@lru_cache(16)
def _rows(found: Machine) -> list[list[tuple[int, list[int], bool, bool]]]:
    """By state and class: the next state, how far behind words end, and whether a place is kept or told."""
    behind = [
        [[d for d in range(layout.REACH, -1, -1) if borders >> d & 1] for borders in row]
        for row in found.borders.tolist()
    ]
    rows = zip(found.moves.tolist(), behind, found.saves.tolist(), found.emits.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in rows]


def walked(found: Machine, numbers: list[int]) -> list[int]:
    """Where words end, by the machine's definition."""
    rows = _rows(found)
    state, kept, ends = 0, -1, []
    for at, number in enumerate([*numbers, -1]):
        after, behind, keeps, tells = rows[state][number]
        if tells:
            ends.append(kept)
        ends += [at - d for d in behind]
        if keeps:
            kept = at - layout.REACH
        state = after
    return [end for end in ends if end > 0]


def reference_ends(text: str, step: Split) -> list[int]:
    found = reference.segments(text, step.pattern, step.behavior, step.invert)
    return [end for start, end, _ in found if start < end]


def compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(reference._for_regex(pattern), regex.V1)


@lru_cache(8)
def _settled_of(classes: bytes) -> list[np.typing.NDArray[np.int32]]:
    numbers = np.frombuffer(classes, np.uint8)
    return [np.flatnonzero((numbers[:-1] == n) & settled()).astype(np.int32) for n in range(int(numbers.max()) + 1)]


def characters_of(classes: np.typing.NDArray[np.uint8], rng: random.Random) -> list[list[str]]:
    """Some characters of every class that has any settled ones, of ASCII and beyond."""
    found = []
    for number, codes in enumerate(_settled_of(classes.tobytes())):
        chars = [chr(int(code)) for code in [*codes[:2], *(rng.choices(codes, k=3) if len(codes) else [])]]
        chars += ["\udcff"] if classes[-1] == number else []
        if chars:
            found.append(chars)
    return found


def string(rng: random.Random, chars: list[list[str]]) -> str:
    """A short string of a few of the classes, often with a run longer than a machine's reach."""
    some = rng.sample(chars, min(len(chars), rng.randint(1, 5)))
    runs = (1, 1, 1, 1, 2, rng.choice([1, 3, 25, 26, 27, 28, 40]))
    return "".join(rng.choice(rng.choice(some)) * rng.choice(runs) for _ in range(rng.choice([1, 2, 4, 8, 20])))
