"""HF's Precompiled normalizer as a stage: SentencePiece's charsmap applied grapheme by grapheme."""

from __future__ import annotations

import numpy as np

from subwords.components.normalizer import Precompiled
from subwords.components.precompiled_map import read_charsmap
from subwords.kernels.layout import (
    AT_BYTE,
    CONTROL,
    CR,
    EXTEND,
    FIRST,
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
from subwords.kernels.named import grapheme_sources, grapheme_texts
from subwords.normalize.graphemes import grapheme_classes
from subwords.normalize.sentencepiece import fields_of, ranges_of, replacement
from subwords.normalize.stages import WHOLE, Bytes, Offsets, Part, Result, Stage, written
from subwords.split.routes import StageCall

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
        stream = np.empty(3 * LANES, np.uint8)
        kernel, lost = grapheme_texts.by_size(len(text)), 0

        def run(out: Normalized, progress: Offsets) -> int:
            nonlocal lost
            if progress[AT_BYTE] == bounds[0]:
                progress[LAST_CHAR] = -1
            status = kernel(text, bounds, self._rules, stream, out, progress)
            lost = int(progress[LOST])
            return status

        result = written(run, text, bounds, tracked=tracked, spare=self._spare)
        if result is None or not tracked:
            return result
        # HF miscounts characters that become empty at the start of a text.
        source = np.empty(len(result[2]), np.int64)
        skipped = 0 if part.begins else lost
        grapheme_sources.by_size(len(text))(result[2], result[1], text, bounds, skipped, source)
        return result[0], result[1], source

    def fast_path(self) -> StageCall | None:
        """Return the kernel."""
        return StageCall(grapheme_texts, self._rules, np.empty(3 * LANES, np.uint8), -1)

    def safe(self) -> Bytes:
        """Allow cuts before a character that always begins a grapheme, except after a PREPEND character."""
        kinds = self._kinds
        found = np.where(kinds == PREPEND, 0, SOLID).astype(np.uint8)
        text = self._map.text
        hollow = self._map.begins(np.array([at for at in self._map.values.tolist() if not replacement(text, at)]))
        begins = np.isin(kinds[:INVALID], [OTHER, CR, CONTROL]) & ~hollow
        found[:INVALID][begins] |= SAFE_BEHIND
        return found
