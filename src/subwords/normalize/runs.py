"""Replaces runs of characters of one set, as CLIP's `\\s+`: all at once, without the `regex` package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.components.normalizer import Replace
from subwords.normalize.stages import WHOLE, WIDER, Bytes, Offsets, Part, Result, Stage
from subwords.split.pattern import Chars, Repeat, parse
from subwords.split.sets import INVALID, Members, Outside

__all__ = ["RunStage", "run_stage"]


def run_stage(step: Replace) -> RunStage | None:
    r"""Return the stage for a pattern that matches runs of characters of one set; None for other patterns.

    >>> from subwords.components.normalizer import Replace
    >>> run_stage(Replace(r"\s+", " ", regex=True)) is None, run_stage(Replace(r"a+b", " ", regex=True)) is None
    (False, True)
    """
    try:
        tree = parse(step.pattern)
    except Outside:
        return None
    if not isinstance(tree, Repeat) or not isinstance(tree.item, Chars) or tree.high is not None:
        return None
    if tree.low < 1 or not tree.greedy:
        return None
    return RunStage(tree.item.members, tree.low, step.content.encode())


class RunStage(Stage):
    """Replaces runs of at least `low` characters of a set; the content has the origin of a run's last character."""

    def __init__(self, members: Members, low: int, content: bytes) -> None:
        self._members = members
        self._low = low
        self._content = np.frombuffer(content, np.uint8)
        self.growth = 1 + len(content)
        # A run of one character that is the content stays: most text is so, and finding its runs takes 40 us a line.
        ascii_members = bytes(np.flatnonzero(members[:128]).tolist())
        self._kept = content if low == 1 and len(content) == 1 and content in ascii_members else None
        self._changed = ascii_members.replace(content, b"") if self._kept else b""

    def _stays(self, data: bytes) -> bool:
        """Whether the text is surely unchanged."""
        assert self._kept is not None
        return data.isascii() and self._kept * 2 not in data and len(data.translate(None, self._changed)) == len(data)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Part = WHOLE) -> Result | None:
        """Replace the runs."""
        data, bounds, first = text[bounds[0] : bounds[-1]], bounds - bounds[0], int(bounds[0])
        if self._kept is not None and self._stays(data.tobytes()):
            return data, bounds, np.arange(first, first + len(data)) if tracked else np.empty(0, np.int64)
        begins, ends = self._runs(data, bounds)
        size = len(self._content)
        change = np.zeros(len(data) + 1, np.int8)
        change[begins] += 1
        change[ends] -= 1
        counts = (np.cumsum(change[:-1], dtype=np.int8) == 0).astype(np.int64)
        counts[ends - 1] = size
        source = np.repeat(np.arange(len(data)), counts)
        places = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        out = data[source]
        out[(places[ends - 1][:, None] + np.arange(size)).ravel()] = np.tile(self._content, len(ends))
        return out, places[bounds], source + first if tracked else np.empty(0, np.int64)

    def heads(self, codes: Offsets) -> Offsets:
        """Return the character itself if it is in no run."""
        return np.where(self._members[codes], -1, codes)

    def _runs(self, data: Bytes, bounds: Offsets) -> tuple[Offsets, Offsets]:
        """Return the bytes where the runs begin and end; none crosses the end of a text."""
        codes, places = _characters(data)
        held = np.concatenate([np.zeros(1, np.bool_), self._members[codes], np.zeros(1, np.bool_)])
        apart = np.zeros(len(codes) + 1, np.bool_)
        apart[np.searchsorted(places, bounds)] = True
        begins = np.flatnonzero(held[1:] & (apart | ~held[:-1]))
        ends = np.flatnonzero(held[:-1] & (apart | ~held[1:]))
        kept = ends - begins >= self._low
        return places[begins[kept]], places[ends[kept]]


def _characters(data: Bytes) -> tuple[NDArray[np.integer], Offsets]:
    """Return the code points, INVALID for bytes that are not UTF-8, and where each begins, with the end of the text."""
    if not len(data) or data.max() < WIDER[0]:
        return data, np.arange(len(data) + 1)
    # surrogateescape makes each invalid byte a character of its own (S2).
    string = data.tobytes().decode("utf-8", "surrogateescape")
    codes = np.frombuffer(string.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    sizes = np.searchsorted(WIDER, codes, side="right") + 1
    stray = (codes >= 0xDC80) & (codes <= 0xDCFF)
    codes[stray], sizes[stray] = INVALID, 1
    return codes, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
