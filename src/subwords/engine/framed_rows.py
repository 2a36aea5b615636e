"""Many texts with places to the rows of encodings: template, truncation and padding, as `framed.py` does for one text.

A row is a list of pieces: ranges of the texts' ids, and inserted ids. One kernel writes all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.components.padding import Padding, Truncation
from subwords.components.template import Slot, Template
from subwords.engine.framed import MOST_TOKENS, combinations
from subwords.engine.placed import NO_ROW, Placement, gathered
from subwords.engine.truncated import pieces_of
from subwords.errors import InputError
from subwords.kernels import layout
from subwords.kernels.layout import Row
from subwords.results.rows import Rows

__all__ = ["RowFrame"]

Offsets = NDArray[np.int64]
_Tokens = tuple[Mapping[int, str], ...]

SPECIAL, ATTENDED = 1, 2  # bits of PIECE.flags


class _Slots(NamedTuple):
    """By row and slot of the template: where the ids begin, and their number. Rows of what is cut off come last."""

    first: Offsets
    sizes: Offsets
    overflow: dict[int, tuple[int, int]]  # by row: the range of the rows that are cut off


class RowFrame:
    """What is done with the ids of texts or pairs: template, truncation, padding."""

    def __init__(
        self, template: Template, truncation: Truncation | None, padding: Padding | None, *, pair: bool
    ) -> None:
        self._truncation = truncation
        self._padding = padding
        self._texts = 1 + pair
        pieces = template.pieces(pair)
        self._added = template.added(pair)
        self._slots = ["AB".index(piece.text) for piece in pieces if isinstance(piece, Slot)]
        self._plain = pieces == (Slot("A"),)
        self.template = template
        self._names: list[str] = []
        self._layout: list[tuple[int, int, int, int, int]] = []  # slot or -1, id, type, flags, number of the name
        slots = 0
        for piece in pieces:
            if isinstance(piece, Slot):
                self._layout.append((slots, 0, piece.type_id, ATTENDED, 0))
                slots += 1
                continue
            for index, token in zip(piece.ids, piece.tokens, strict=True):
                self._layout.append((-1, index, piece.type_id, SPECIAL | ATTENDED, len(self._names)))
                self._names.append(token)
        if padding is not None:
            self._names.append(padding.pad_token)

    def rows(self, found: Placement, *tokens: Mapping[int, str]) -> Rows:
        """Return the encodings. InputError if a text cannot be cut or filled up as asked, or becomes too large."""
        count = (len(found.offsets) - 1) // self._texts
        if self._padding is None and count == 1 and self._truncation is None:
            return self._one(found, tokens)
        if self._padding is None and self._truncation is None and self._plain:
            return _plain(found, tokens)
        slots = self._slots_of(found.offsets, count)
        pieces = self._pieces(slots, len(found.tokens))
        lengths = pieces[:, :, layout.PIECE.size].sum(axis=1)
        if self._padding is not None:
            pieces = self._filled(pieces, lengths, self._padding, slots, count, len(found.tokens))
            lengths = pieces[:, :, layout.PIECE.size].sum(axis=1)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Rows(
            gathered(found, pieces.ravel(), int(bounds[-1])),
            bounds,
            *tokens,
            names=[*found.tokens, *self._names],
            ranges=self._ranges(pieces),
            overflow=slots.overflow,
        )

    def _one(self, found: Placement, tokens: _Tokens) -> Rows:
        """Return the encoding of one text or pair that is neither cut nor filled up: without NumPy, for its speed."""
        if self._plain:
            return _plain(found, tokens)
        offsets, names = found.offsets.tolist(), len(found.tokens)
        pieces: list[int] = []
        ranges = [0, 0] * self._texts
        at = 0
        for slot, index, kind, flags, name in self._layout:
            if slot < 0:
                pieces += -1, 1, index, kind, flags, names + name
                at += 1
                continue
            text = self._slots[slot]
            size = offsets[text + 1] - offsets[text]
            pieces += offsets[text], size, 0, kind, flags, 0
            ranges[2 * text : 2 * text + 2] = at, at + size
            at += size
        row = gathered(found, np.array(pieces, np.int64), at)
        given = [*found.tokens, *self._names]
        return Rows(row, (0, at), *tokens, names=given, ranges=np.array([ranges], np.int64))

    # ------------------------------------------------------------------ truncation

    def _slots_of(self, offsets: Offsets, count: int) -> _Slots:
        first = offsets[:-1].reshape(self._texts, count)
        sizes = np.diff(offsets).reshape(self._texts, count)
        kept = _Slots(first[self._slots].T, sizes[self._slots].T, {})
        if self._truncation is None:
            return kept
        room = self._truncation.max_length - self._added
        long = np.flatnonzero(sizes.sum(axis=0) > room)
        if not len(long) and room >= 0:
            return kept
        return self._cut(kept, first, sizes, long.tolist() if room >= 0 else [0], self._truncation)

    def _cut(self, kept: _Slots, first: Offsets, sizes: Offsets, long: list[int], truncation: Truncation) -> _Slots:
        """Return the slots with those of the `long` rows cut, and with what is cut off."""
        if any(self.template.trims):
            raise InputError("the spans of a piece depend on where it begins")  # the long way does it
        begins, lengths, overflow = kept.first.copy(), kept.sizes.copy(), {}
        more: list[tuple[list[int], list[int]]] = []
        for number in long:
            ranges = pieces_of(sizes[:, number].tolist(), truncation, self._added)
            rows = []
            for chosen in combinations(self._slots, ranges):
                starts = [int(first[text, number]) + a for text, (a, _) in zip(self._slots, chosen, strict=True)]
                rows.append((starts, [b - a for a, b in chosen]))
            begins[number], lengths[number] = rows[0]
            if len(rows) > 1:
                at = len(begins) + len(more)
                overflow[number] = at, at + len(rows) - 1
                more += rows[1:]
        if not more:
            return _Slots(begins, lengths, overflow)
        after = np.array(more, np.int64)
        return _Slots(np.concatenate([begins, after[:, 0]]), np.concatenate([lengths, after[:, 1]]), overflow)

    # ------------------------------------------------------------------ pieces

    def _pieces(self, slots: _Slots, names: int) -> Offsets:
        """Return the pieces of each row, shape (rows, pieces, PIECE.width); `names`: how many the texts have."""
        pieces = np.zeros((len(slots.first), len(self._layout), layout.PIECE.width), np.int64)
        for place, (slot, index, kind, flags, name) in enumerate(self._layout):
            column = pieces[:, place]
            column[:, layout.PIECE.type], column[:, layout.PIECE.flags] = kind, flags
            if slot < 0:
                column[:, layout.PIECE.start], column[:, layout.PIECE.size], column[:, layout.PIECE.id] = -1, 1, index
                column[:, layout.PIECE.name] = names + name
            else:
                column[:, layout.PIECE.start], column[:, layout.PIECE.size] = slots.first[:, slot], slots.sizes[:, slot]
        return pieces

    def _filled(
        self, pieces: Offsets, lengths: Offsets, padding: Padding, slots: _Slots, count: int, names: int
    ) -> Offsets:
        length = padding.length_for(int(lengths[:count].max(initial=0)))
        parts = 1 + max((stop - start for start, stop in slots.overflow.values()), default=0)
        if length * parts > MOST_TOKENS:
            raise InputError("padding makes a text too long")  # the long way says more
        fill = np.zeros((len(pieces), 1, layout.PIECE.width), np.int64)
        fill[:, 0, layout.PIECE.start], fill[:, 0, layout.PIECE.size] = -1, np.maximum(0, length - lengths)
        fill[:, 0, layout.PIECE.id], fill[:, 0, layout.PIECE.type] = padding.pad_id, padding.pad_type_id
        fill[:, 0, layout.PIECE.flags], fill[:, 0, layout.PIECE.name] = SPECIAL, names + len(self._names) - 1
        return np.concatenate([fill, pieces] if padding.direction == "left" else [pieces, fill], axis=1)

    def _ranges(self, pieces: Offsets) -> Offsets:
        """Return where the ids of each text are in its row; the last ones if a text occurs several times, as in HF."""
        found = np.zeros((len(pieces), 2 * self._texts), np.int64)
        ends = np.cumsum(pieces[:, :, layout.PIECE.size], axis=1)
        left = int(self._padding is not None and self._padding.direction == "left")
        for place, (slot, *_) in enumerate(self._layout, left):
            if slot >= 0:
                text = self._slots[slot]
                found[:, 2 * text + 1] = ends[:, place]
                found[:, 2 * text] = ends[:, place] - pieces[:, place, layout.PIECE.size]
        return found


def _plain(found: Placement, tokens: _Tokens) -> Rows:
    found.ids.flags.writeable = found.byte_spans.flags.writeable = False
    if len(found.spans):  # the empty one is shared
        found.spans.flags.writeable = False
    row = Row(found.ids, found.byte_spans, found.spans, found.words, found.names, *NO_ROW[5:])
    return Rows(row, found.offsets, *tokens, names=found.tokens)
