r"""Patterns that cut numbers into groups counted from the end, such as 1234567 into 1, 234 and 567, in linear time.

A regex looks ahead to the end of the number at each place, which takes quadratic or cubic time in a long one. Three
ways of writing it are known, where S is a set of characters and n a number:

- S{1,n}(?=(?:S{n})*(?!S)): the groups are matches;
- S{1,n}(?=(?:S{n})*\b): the same, but only in numbers that no word character follows;
- (?=(S{n})+(?!S)): the places where a group begins; a shorter one at the front stays with what is before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import Split
from subwords.kernels import layout
from subwords.split.pattern import Chars, Outside, parse

__all__ = ["DigitGroups", "borders_of", "digit_groups"]

_SET = r"(?P<s>\\p\{[A-Za-z_]+\}|\\d|\[[^\[\]]+\])"
_WORD_END = r"(?:\\b|\(\?:\(\?<=(?P<w>\[.+\])\)\(\?!(?P=w)\)\|\(\?<!(?P=w)\)\(\?=(?P=w)\)\))"
_GROUPS = re.compile(
    _SET + r"\{1,(?P<n>[1-9])\}\(\?=\(\?:(?P=s)\{(?P=n)\}\)\*(?:\(\?!(?P=s)\)|(?P<b>" + _WORD_END + r"))\)"
)
_PLACES = re.compile(r"\(\?=\((?:\?:)?" + _SET + r"\{(?P<n>[1-9])\}\)\+\(\?!(?P=s)\)\)")


class DigitGroups(NamedTuple):
    """A pattern: the characters of numbers, the size of groups, and the characters that may not follow, if any.

    run: a pattern for numbers. digits, words: bool, by code point. bounded: whether the borders of a number are cuts.
    """

    run: str
    digits: NDArray[np.bool_]
    size: int
    words: NDArray[np.bool_] | None
    bounded: bool


def digit_groups(step: Split) -> DigitGroups | None:
    """Return the groups that a step cuts, None for any other step."""
    if step.behavior != "isolated" or step.invert:
        return None
    groups = _GROUPS.fullmatch(step.pattern)
    found = groups or _PLACES.fullmatch(step.pattern)
    if found is None:
        return None
    words = None
    try:
        digits = _members(found["s"])
        if groups and groups["b"]:
            words = _members(groups["w"] or r"\w")
            if (digits & ~words).any():
                return None
    except Outside:
        return None
    return DigitGroups(f"{found['s']}+", digits, int(found["n"]), words, bounded=groups is not None)


def _members(pattern: str) -> NDArray[np.bool_]:
    node = parse(pattern)
    if not isinstance(node, Chars):
        raise Outside("not one set")
    return node.members


def borders_of(
    text: NDArray[np.uint8], runs: NDArray[np.int64], words: NDArray[np.int64], groups: DigitGroups
) -> NDArray[np.int64]:
    """Return the borders of words after the cuts, ascending.

    runs: where the words of the text begin, and the last one ends, if each number is one word. words: the same
    before the step.

    >>> import numpy as np
    >>> text = np.frombuffer(b"no 1234567", np.uint8)
    >>> found = digit_groups(Split(r"[0-9]{1,3}(?=(?:[0-9]{3})*(?![0-9]))"))
    >>> borders_of(text, np.array([0, 3, 10]), np.array([0, 10]), found).tolist()
    [0, 3, 4, 7, 10]
    """
    cut = np.zeros(len(text) + 1, np.bool_)
    cut[words] = True
    first, last = runs[:-1], runs[1:]
    codes = _first_codes(text, first)
    chosen = groups.digits[codes]
    if groups.words is not None:
        followed = np.append(groups.words[codes[1:]], False) & ~cut[last]
        chosen &= ~followed
    first, last = first[chosen], last[chosen]
    high = np.flatnonzero(text & 0x80)
    plain = np.searchsorted(high, first) == np.searchsorted(high, last)
    for start, stop in zip(first[~plain].tolist(), last[~plain].tolist(), strict=True):
        _cut_characters(text[start:stop].tobytes(), start, groups, cut)
    first, last = first[plain], last[plain]
    if groups.bounded:
        cut[first] = cut[last] = True
    places = last - groups.size
    while len(places):  # one group further from the end in each round, for the numbers that have it
        long = places >= first
        first, places = first[long], places[long]
        cut[places] = True
        places = places - groups.size
    return np.flatnonzero(cut)


def _first_codes(text: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first character of each word; any character for bytes that are not UTF-8."""
    if not len(starts):
        return np.zeros(0, np.int64)
    found = text[starts].astype(np.int64)
    high = np.flatnonzero(found >= 0xC0)
    padded = np.concatenate([text, np.zeros(4, np.uint8)])
    lead, at = found[high], starts[high]
    size = 2 + (lead >= 0xE0).astype(np.int64) + (lead >= 0xF0)
    codes = lead & (0x7F >> size)
    for k in (1, 2, 3):
        codes = np.where(k < size, codes << 6 | (padded[at + k] & 0x3F), codes)
    found[high] = np.minimum(codes, layout.CODE_POINTS)
    found[(found >= 0x80) & (text[starts] < 0xC0)] = layout.CODE_POINTS
    return found


def _cut_characters(number: bytes, start: int, groups: DigitGroups, cut: NDArray[np.bool_]) -> None:
    try:
        characters = number.decode()
    except UnicodeDecodeError:
        return
    ends = np.cumsum([0, *(len(character.encode()) for character in characters)]) + start
    cut[ends[len(characters) % groups.size :: groups.size][:-1]] = True
    if groups.bounded:
        cut[ends[[0, -1]]] = True
