"""Find many strings in a text: by a regex if they are few, by a trie if they are many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_IN_REGEX", "RegexFinder", "TrieFinder", "shortest_within"]

# Strings. 4 MB without any take the regex 2 ms, the trie 28 ms; but the regex may compare every string at every place.
MOST_IN_REGEX = 256
MOST_SHORTEST = 4  # strings that are searched for one by one: 0.05 us each in a line, the regex of Phi-2's tokens 5 us


def shortest_within(strings: Sequence[str]) -> list[str]:
    """Return a few strings such that each text with any of `strings` has one of them; [] if that takes many.

    >>> shortest_within(["aaa", "aa", "..", "baac"])
    ['aa', '..']
    """
    found: list[str] = []
    for string in sorted(strings, key=len):
        if not any(each in string for each in found):
            found.append(string)
        if len(found) > MOST_SHORTEST:
            return []
    return found


class RegexFinder:
    """Finds a few strings; of those that begin first the longest.

    >>> [*RegexFinder(["ab", "abc"]).ranges("xabcab")]
    [(1, 4), (4, 6)]
    """

    def __init__(self, strings: Sequence[str]) -> None:
        self._pattern = re.compile(_alternation([*strings], 2))

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""
        return self._pattern.search(text) is not None

    def ranges(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the strings are, in order, without overlaps."""
        return (match.span() for match in self._pattern.finditer(text))

    @cached_property
    def _capturing(self) -> re.Pattern[str]:
        return re.compile(f"({self._pattern.pattern})")

    def split(self, text: str) -> list[str]:
        """Return the text before each string, the string, and in the end the text after the last one.

        >>> RegexFinder(["ab", "abc"]).split("xabcab")
        ['x', 'abc', '', 'ab', '']
        """
        return self._capturing.split(text)


class TrieFinder:
    """Finds any number of strings in time linear in the text; of those that begin first the longest.

    >>> [*TrieFinder(["ab", "abc"]).ranges("xabcab")]
    [(1, 4), (4, 6)]
    """

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = [string.encode() for string in strings]

    @cached_property
    def _trie(self) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
        from subwords.components.vocab import Vocab
        from subwords.encode.trie import units_of

        units, links, _ = units_of(
            Vocab([string[::-1] for string in self._strings]), np.arange(len(self._strings), dtype=np.int64)
        )
        return units, links, np.array([*map(len, self._strings)], np.int64)

    def _found(self, data: NDArray[np.uint8]) -> tuple[int, NDArray[np.int32]]:
        from subwords.kernels.named import find_longest

        units, links, lengths = self._trie
        found = np.empty(len(data), np.int32)
        return find_longest.by_size(len(data))(data, units, links, lengths, found), found

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""
        count, _ = self._found(np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8))
        return count > 0

    def ranges(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the strings are, in characters, in order, without overlaps."""
        data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
        count, found = self._found(data)
        if not count:
            return
        starts = np.flatnonzero(found >= 0)
        stops = starts + self._trie[2][found[starts]]
        if len(data) != len(text):
            characters = np.concatenate([np.zeros(1, np.int64), np.cumsum(_begins(text, data))])
            starts, stops = characters[starts], characters[stops]
        yield from zip(starts.tolist(), stops.tolist(), strict=True)


def _begins(text: str, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which bytes begin a character of a text; a stray byte is a character."""
    begins: NDArray[np.bool_] = (data & 0xC0) != 0x80
    if int(begins.sum()) != len(text):  # stray bytes
        sizes = np.fromiter((len(character.encode("utf-8", "surrogateescape")) for character in text), np.int64)
        begins = np.zeros(len(data), np.bool_)
        begins[np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)[:-1]])] = True
    return begins


def _alternation(contents: list[str], depth: int) -> str:
    # Longest first, so that the first matching alternative is the longest. Grouped by first character: 25 times as
    # fast for 4000 tokens, three times for 24 runs of spaces.
    if not depth or len(contents) == 1:
        return "|".join(map(re.escape, sorted(contents, key=len, reverse=True)))
    groups: dict[str, list[str]] = {}
    for content in contents:
        groups.setdefault(content[:1], []).append(content[1:])
    end = [""] if groups.pop("", None) else []
    return "|".join([f"{re.escape(first)}(?:{_alternation(rest, depth - 1)})" for first, rest in groups.items()] + end)
