"""HF's Precompiled normalizer as a stage: SentencePiece's charsmap applied grapheme by grapheme."""

from __future__ import annotations

import numpy as np

from subwords.components.normalizer import Precompiled
from subwords.components.precompiled_map import read_charsmap
from subwords.kernels import layout
from subwords.kernels.layout import Normalized, Rules
from subwords.kernels.named import grapheme_sources, grapheme_texts
from subwords.normalize.graphemes import grapheme_classes
from subwords.normalize.sentencepiece import fields_of, ranges_of, replacement
from subwords.normalize.stages import WHOLE, Bytes, Offsets, Position, Result, Stage, written
from subwords.split.routes import StageCall

__all__ = ["GraphemeStage"]


class GraphemeStage(Stage):
    """Replaces graphemes and characters by a charsmap."""

    loses = True

    def __init__(self, step: Precompiled) -> None:
        self._map = read_charsmap(step.charsmap)
        self._kinds = grapheme_classes()
        # The kernel examines characters that join their neighbors, that are replaced, or that any neighbor joins.
        classes = np.full(layout.INVALID + 1, layout.CHARACTER.first, np.uint8)
        classes[self._map.single[0]] = layout.CHARACTER.mapped
        classes[np.isin(self._kinds, [layout.GRAPHEME.cr, layout.GRAPHEME.prepend])] = layout.CHARACTER.mapped
        classes[(self._kinds >= layout.GRAPHEME.extend) & (self._kinds <= layout.GRAPHEME.spacing)] = (
            layout.CHARACTER.mapped_second
        )
        values, pieces, arena = fields_of(self._map, [], b" ")
        longest = int(values[layout.VALUE.size :: layout.VALUE.width].max(initial=4))
        self.growth = max(1, longest)
        ranges = ranges_of(np.flatnonzero(classes[:128] >= layout.CHARACTER.mapped_second).tolist())
        settings = np.zeros(layout.RULE.width, np.int64)
        settings[[layout.RULE.joins_high, layout.RULE.ranges, layout.RULE.longest]] = True, len(ranges) // 2, longest
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
        self._spare = 8 * layout.LANES + 2 * longest

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace graphemes and characters."""
        stream = np.empty(3 * layout.LANES, np.uint8)
        kernel, lost = grapheme_texts.by_size(len(text)), 0

        def run(out: Normalized, progress: Offsets) -> int:
            nonlocal lost
            if progress[layout.PROGRESS.byte] == bounds[0]:
                progress[layout.GRAPHEMES.last] = -1
            status = kernel(text, bounds, self._rules, stream, out, progress)
            lost = int(progress[layout.GRAPHEMES.lost])
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
        return StageCall(grapheme_texts, self._rules, np.empty(3 * layout.LANES, np.uint8), -1)

    def safe(self) -> Bytes:
        """Allow cuts before a character that always begins a grapheme, except after a GRAPHEME.prepend character."""
        kinds = self._kinds
        found = np.where(kinds == layout.GRAPHEME.prepend, 0, layout.SOLID).astype(np.uint8)
        text = self._map.text
        hollow = self._map.begins(np.array([at for at in self._map.values.tolist() if not replacement(text, at)]))
        begins = (
            np.isin(kinds[: layout.INVALID], [layout.GRAPHEME.other, layout.GRAPHEME.cr, layout.GRAPHEME.control])
            & ~hollow
        )
        found[: layout.INVALID][begins] |= layout.SAFE_BEHIND
        return found
