"""Finding strings in a text, naively."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["find_longest"]


def find_longest(text: bytes, strings: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the place and the number of the strings in a text: the first, of these the longest, then after its end.

    >>> find_longest(b"xababc", [b"ab", b"abc", b"b"])
    [(1, 0), (3, 1)]
    """
    found, at = [], 0
    while at < len(text):
        matches = [number for number, string in enumerate(strings) if string and text.startswith(string, at)]
        if matches:
            best = max(matches, key=lambda number: len(strings[number]))
            found.append((at, best))
            at += len(strings[best])
        else:
            at += 1
    return found
