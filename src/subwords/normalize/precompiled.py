"""HF's Precompiled normalizer as a stage: SentencePiece's charsmap applied grapheme by grapheme."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from subwords.components.normalizer import Precompiled
from subwords.components.precompiled_map import read_charsmap
from subwords.kernels.layout import (
    AT_BYTE,
    CONTROL,
    CR,
    EXTEND,
    FIRST,
    INNER,
    INVALID,
    JOINS_HIGH,
    LANES,
    LAST_CHAR,
    LONGEST,
    LOST,
    MAPPED,
    MAPPED_SECOND,
    OTHER,
    PREPEND,
    RANGES,
    RULE_SETTINGS,
    SAFE_BEHIND,
    SOLID,
    SPACING,
    VALUE_ROW,
    VALUE_SIZE,
    Normalized,
    Rules,
)
from subwords.kernels.normalize.graphemes import grapheme_texts
from subwords.normalize.graphemes import grapheme_classes
from subwords.normalize.sentencepiece import fields_of, ranges_of, replacement
from subwords.normalize.stages import WHOLE, Bytes, Offsets, Part, Result, Stage, written

__all__ = ["GraphemeStage"]


class GraphemeStage(Stage):
    """Replaces graphemes and characters by a charsmap."""

    loses = True

    def __init__(self, step: Precompiled) -> None:
        self._map = read_charsmap(step.charsmap)
        self._kinds = grapheme_classes()
        # The kernel examines characters that join their neighbors, that are replaced, or that any neighbor joins.
        classes = np.full(INVALID + 1, FIRST, np.uint8)
        classes[self._map.single[0]] = MAPPED
        classes[np.isin(self._kinds, [CR, PREPEND])] = MAPPED
        classes[(self._kinds >= EXTEND) & (self._kinds <= SPACING)] = MAPPED_SECOND
        values, pieces, arena = fields_of(self._map, [], b" ")
        longest = int(values[VALUE_SIZE::VALUE_ROW].max(initial=4))
        self.growth = max(1, longest)
        ranges = ranges_of(np.flatnonzero(classes[:128] >= MAPPED_SECOND).tolist())
        settings = np.zeros(RULE_SETTINGS, np.int64)
        settings[[JOINS_HIGH, RANGES, LONGEST]] = True, len(ranges) // 2, longest
        self._rules = Rules(
            classes=classes,
            units=self._map.units,
            values=values,
            arena=arena,
            users=np.zeros(256, np.uint64),
            pieces=pieces,
            settings=settings,
            ranges=ranges,
            kinds=self._kinds,
        )
        self._spare = 8 * LANES + 2 * longest

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Part = WHOLE) -> Result | None:
        """Replace graphemes and characters."""
        if tracked and len(bounds) > 2:
            return self._each(text, bounds)
        stream = np.empty(3 * LANES, np.uint8)
        lost = 0

        def run(out: Normalized, progress: Offsets) -> int:
            nonlocal lost
            if progress[AT_BYTE] == bounds[0]:
                progress[LAST_CHAR] = -1
            status = grapheme_texts(text, bounds, self._rules, stream, out, progress)
            lost = int(progress[LOST])
            return status

        result = written(run, text, bounds, tracked=tracked, spare=self._spare)
        if result is None or not tracked:
            return result
        # HF miscounts characters that become empty at the start of a text.
        return result[0], result[1], _sources(text, result[2], 0 if part.begins else lost)

    def _each(self, text: Bytes, bounds: Offsets) -> Result:
        """Replace in many whole texts, one by one."""
        texts = pairwise(bounds.tolist())
        found = [self.apply(text[a:b], np.array([0, b - a]), tracked=True) for a, b in texts]
        data, ends, sources = zip(*(each for each in found if each is not None), strict=True)
        moved = [np.where(source < 0, -1, source + a) for source, a in zip(sources, bounds.tolist(), strict=False)]
        sizes = np.concatenate([np.zeros(1, np.int64), *(end[1:] for end in ends)])
        return np.concatenate(data), np.cumsum(sizes), np.concatenate(moved)

    def safe(self) -> Bytes:
        """Allow cuts before a character that always begins a grapheme, except after a PREPEND character."""
        kinds = self._kinds
        found = np.where(kinds == PREPEND, 0, SOLID).astype(np.uint8)
        text = self._map.text
        hollow = self._map.begins(np.array([at for at in self._map.values.tolist() if not replacement(text, at)]))
        begins = np.isin(kinds[:INVALID], [OTHER, CR, CONTROL]) & ~hollow
        found[:INVALID][begins] |= SAFE_BEHIND
        return found


def _sources(text: Bytes, takes: Offsets, first: int) -> Offsets:
    """Return the offset of each byte's source character, from the number of characters that each output takes."""
    starts = _char_starts(text)
    heads = np.flatnonzero(takes != INNER)
    weights = takes[heads]
    index = first + np.cumsum(weights) - weights - (weights == 0)
    places = np.where(index >= 0, starts[np.minimum(index, len(starts) - 1)], -1)
    lengths = np.diff(np.append(heads, len(takes)))
    found: Offsets = np.repeat(places, lengths)
    return found


def _char_starts(text: Bytes) -> Offsets:
    from subwords.kernels.normalize.characters import char_spans

    spans = np.empty(2 * len(text), np.int64)
    char_spans(text, spans)
    found: Offsets = np.flatnonzero(spans[: len(text)] == np.arange(len(text)))
    return found
