"""The stages that change the ends of texts: whitespace removed, text inserted before others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from subwords.components.normalizer import Prepend, Strip
from subwords.kernels.named import trim_ends
from subwords.normalize.characters import whitespace
from subwords.normalize.stages import WHOLE, Bytes, Offsets, Position, Result, Stage, sums

__all__ = ["PrependStage", "StripStage"]


class StripStage(Stage):
    """Removes whitespace at the ends of texts."""

    sees_ends = True

    def __init__(self, step: Strip) -> None:
        self._step = step

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Remove the whitespace."""
        begins, stops = np.empty(len(bounds) - 1, np.int64), np.empty(len(bounds) - 1, np.int64)
        trim_ends.by_size(len(text))(text, bounds, whitespace(), begins, stops)
        left, right = self._step.left and part.begins, self._step.right and part.ends
        kept = begins < stops if left or right else np.ones(len(begins), np.bool_)
        if not left:
            begins[kept] = bounds[:-1][kept]
        if not right:
            stops[kept] = bounds[1:][kept]
        change = np.zeros(len(text) + 1, np.int64)
        np.add.at(change, begins, 1)
        np.add.at(change, stops, -1)
        inside = np.cumsum(change[:-1]) > 0
        return text[inside], sums(stops - begins), np.flatnonzero(inside) if tracked else np.empty(0, np.int64)

    def heads(self, codes: Offsets) -> Offsets:
        """Return the character itself, unless it is whitespace."""
        return np.where(whitespace()[codes], -1, codes)


class PrependStage(Stage):
    """Inserts a text before others; it has the origin of their first character."""

    sees_ends = loses = True

    def __init__(self, step: Prepend) -> None:
        self._prefix = np.frombuffer(step.text.encode(), np.uint8)
        self.growth = 1 + len(self._prefix)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Insert the text."""
        if len(bounds) == 2 and bounds[0] < bounds[1] and len(self._prefix) and part.begins:
            return self._before(text, int(bounds[0]), int(bounds[1]), tracked)
        sizes = np.diff(bounds)
        filled = (sizes > 0) | (not part.ends)
        filled &= part.begins
        places = sums(sizes + len(self._prefix) * filled)
        at = (places[:-1][filled][:, None] + np.arange(len(self._prefix))).ravel()
        old = np.ones(int(places[-1]), np.bool_)
        old[at] = False
        out, source = np.empty(len(old), np.uint8), np.empty(len(old) if tracked else 0, np.int64)
        out[old], out[at] = text[bounds[0] : bounds[-1]], np.tile(self._prefix, int(filled.sum()))
        if tracked:
            source[old] = np.arange(bounds[0], bounds[-1])
            source[at] = np.repeat(np.where(sizes > 0, bounds[:-1], -1)[filled], len(self._prefix))
            if not len(self._prefix) and part.begins:  # in HF the first characters then have no origin
                for first in _first_characters(text, bounds):
                    source[first.start - bounds[0] : first.stop - bounds[0]] = -1
        return out, places, source

    def _before(self, text: Bytes, start: int, stop: int, tracked: bool) -> Result:
        """Insert the text before one other text."""
        size = len(self._prefix)
        out = np.concatenate([self._prefix, text[start:stop]])
        source = np.arange(start - size, stop) if tracked else np.empty(0, np.int64)
        source[:size] = start
        return out, np.array([0, len(out)]), source

    def heads(self, codes: Offsets) -> Offsets:
        """Return the character itself."""
        return codes


def _first_characters(text: Bytes, bounds: Offsets) -> Iterator[slice]:
    """Yield the position of the first character of each text that is not empty."""
    for start, stop in pairwise(bounds.tolist()):
        head = text[start : min(start + 4, stop)].tobytes().decode("utf-8", "surrogateescape")[:1]
        if head:
            yield slice(start, start + len(head.encode("utf-8", "surrogateescape")))
