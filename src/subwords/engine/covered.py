"""The places of ids that cover a whole text, one after the other: without splitting it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.components.normalizer import Form, SentencePiece
from subwords.components.space_rule import SPACE
from subwords.components.splitter import Split
from subwords.kernels import layout
from subwords.kernels.named import cover_text
from subwords.split.routes import NO_OFFSETS

if TYPE_CHECKING:
    from subwords.engine.engine import Engine

__all__ = ["Cover", "Places", "cover_of"]

Places = tuple[NDArray[np.int64], NDArray[np.int64]]


class Cover(NamedTuple):
    """sizes: the bytes of a text that each id covers. prefix: what they cover before it, see `cover_text`."""

    sizes: NDArray[np.int32]
    prefix: int
    ascii_only: bool

    def places(self, text: str, around: tuple[int, int], ids: NDArray[np.uint32]) -> Places | None:
        """Return the ranges of ids in bytes and in characters; None if their sizes do not add up.

        text: has no added tokens. around: how many of the ids come before and after those of the text.
        """
        if not text or (self.ascii_only and not text.isascii()) or (self.prefix != layout.NO_PREFIX and SPACE in text):
            return None
        data = np.frombuffer(text.encode(), np.uint8)
        before, stop = around[0], len(ids) - around[1]
        byte_spans = np.zeros(2 * len(ids), np.int64)
        wide = len(data) != len(text)
        spans = np.zeros(2 * len(ids), np.int64) if wide else NO_OFFSETS
        inside, chars = byte_spans, spans
        if before or around[1]:
            ids, inside, chars = ids[before:stop], inside[2 * before : 2 * stop], chars[2 * before : 2 * stop]
        if not cover_text.with_gil()(ids, self.sizes, data, self.prefix, inside, chars):
            return None
        byte_spans.flags.writeable = False
        both = byte_spans.reshape(-1, 2)
        if not wide:
            return both, both
        spans.flags.writeable = False
        return both, spans.reshape(-1, 2)


def cover_of(engine: Engine) -> Cover | None:
    """Return the sizes from which spans follow; None if the ids may not cover the text.

    They do if no splitter drops or inserts text, and no normalizer changes any, but for the spaces of SentencePiece.
    A normal form leaves ASCII as it is. Then ids that leave something out have sizes with a smaller sum.
    """
    if not all(isinstance(step, Split) and step.behavior != "removed" for step in engine.splitter.rule):
        return None
    segmenter, prefix, steps = engine.segmenter, layout.NO_PREFIX, engine.normalizer.steps if engine.normalizer else ()
    forms = all(isinstance(step, Form) for step in steps)  # do not change ASCII
    if not forms:
        plain = engine.plain
        if plain is None or not plain.prefixed:
            return None
        segmenter = plain.segmenter
        prefix = layout.EMPTY_PREFIX if isinstance(steps[0], SentencePiece) else layout.FIRST_PREFIX
    sizes = segmenter.id_sizes
    if sizes is None or np.any(sizes.marks):
        return None
    return Cover(sizes.sizes, prefix, forms and bool(steps))
