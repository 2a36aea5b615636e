"""Other encodings of a word, as they are defined, and their exact probabilities (E10)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import pairwise, product
from typing import TypeVar

__all__ = ["bpe_dropout", "distribution_of", "longest_match", "segmentations"]

Flip = Callable[[], bool]  # whether this match or merge is skipped
Drawn = TypeVar("Drawn", bound=Hashable)


def segmentations(word: bytes, tokens: Collection[bytes]) -> list[list[bytes]]:
    """Return every way to cut a word into tokens.

    >>> segmentations(b"abc", {b"a", b"ab", b"b", b"c"})
    [[b'ab', b'c'], [b'a', b'b', b'c']]
    """
    found = []
    for cuts in product((False, True), repeat=max(0, len(word) - 1)):
        places = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(word)]
        parts = [word[a:b] for a, b in pairwise(places) if a < b]
        if all(part in tokens for part in parts):
            found.append(parts)
    return found


def longest_match(word: bytes, tokens: Collection[bytes], skips: Flip = lambda: False) -> list[bytes]:
    """Return the longest match from the left, again and again; each match but the shortest may be skipped."""
    found, at = [], 0
    while at < len(word):
        matches = [word[at:end] for end in range(at + 1, len(word) + 1) if word[at:end] in tokens]
        while len(matches) > 1 and skips():
            matches.pop()
        found.append(matches[-1])
        at += len(matches[-1])
    return found


def bpe_dropout(word: Sequence[bytes], ranks: Mapping[tuple[bytes, bytes], int], skips: Flip) -> list[bytes]:
    """Merge the symbols of a word; a merge that is skipped waits until another one is tried.

    A merge is noted when its two symbols become neighbours, and is tried in the order of rank and place. It is tried,
    without effect, also if one of its symbols has been merged into another one since.
    """
    symbols = dict(enumerate(word))

    def neighbour(place: int, step: int) -> int | None:
        at = place + step
        while 0 <= at < len(word) and at not in symbols:
            at += step
        return at if at in symbols else None

    def noted(left: int | None) -> list[tuple[int, int, bytes]]:
        right = None if left is None else neighbour(left, 1)
        if left is None or right is None or (symbols[left], symbols[right]) not in ranks:
            return []
        return [(ranks[symbols[left], symbols[right]], left, symbols[left] + symbols[right])]

    waiting = [merge for place in symbols for merge in noted(place)]
    skipped = list[tuple[int, int, bytes]]()
    while waiting:
        merge = min(waiting)
        waiting.remove(merge)
        if skips():
            skipped.append(merge)
            continue
        waiting += skipped
        skipped = []
        _, left, merged = merge
        right = neighbour(left, 1) if left in symbols else None
        if right is not None and (symbols[left], symbols[right]) in ranks and symbols[left] + symbols[right] == merged:
            symbols[left] = merged
            del symbols[right]
            waiting += [*noted(neighbour(left, -1)), *noted(left)]
    return [symbols[place] for place in sorted(symbols)]


def distribution_of(draw: Callable[[Flip], Drawn], p: float) -> dict[Drawn, float]:
    """Return the probability of each result of `draw`, whose flips are true with probability p: tries all flips.

    >>> distribution_of(lambda flip: [flip(), flip()].count(True), 0.5)
    {0: 0.25, 1: 0.5, 2: 0.25}
    """
    found = dict[Drawn, float]()
    waiting = [list[bool]()]
    while waiting:
        planned = waiting.pop()
        made = list[bool]()

        def flip(planned: list[bool] = planned, made: list[bool] = made) -> bool:
            made.append(planned[len(made)] if len(made) < len(planned) else False)
            return made[-1]

        drawn = draw(flip)
        waiting += [[*made[:k], True] for k in range(len(planned), len(made))]
        share = p ** made.count(True) * (1 - p) ** made.count(False)
        found[drawn] = found.get(drawn, 0.0) + share
    return found
