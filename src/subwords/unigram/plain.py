"""Unigram in plain Python, for single words."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeVar

__all__ = ["best_path"]

Text = TypeVar("Text", str, bytes)


def best_path(text: Text, score_of: Callable[[Text], float | None], longest: int) -> tuple[list[Text], float]:
    """Return the pieces of the greatest sum of scores and the sum; at a tie, the one with the longer last piece.

    score_of: of a piece of up to `longest` characters or bytes; None if it is not one. ([], -inf) if no pieces join to
    the text.

    >>> best_path("aab", {"a": -1.0, "b": -2.0, "ab": -2.5}.get, 2)
    (['a', 'ab'], -3.5)
    """
    best, last = [0.0] + [-inf] * len(text), [0] * (len(text) + 1)
    for stop in range(1, len(text) + 1):
        for start in range(max(0, stop - longest), stop):
            score = score_of(text[start:stop]) if best[start] > -inf else None
            if score is not None and best[start] + score > best[stop]:
                best[stop], last[stop] = best[start] + score, start
    found, stop = list[Text](), len(text) if best[-1] > -inf else 0
    while stop:
        found.append(text[last[stop] : stop])
        stop = last[stop]
    return found[::-1], best[-1]
