"""A normalizer followed by a splitter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subwords.normalize.normalizer import Normalizer, NormalizerEngine
from subwords.normalize.stages import Position
from subwords.split.routes import CHUNK_WORDS, SplitBuffers, SplitCall, WordChunk
from subwords.split.splitter import Splitter, SplitterEngine
from subwords.split.word_spans import WordSpans

__all__ = ["Pipeline"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

STRETCH = 1 << 18  # bytes of text normalized at once: the result stays in the L2 cache
NEAR = 1 << 12  # bytes before a position in which `cut` searches
CONTEXT = 2 * NEAR  # bytes before a cut that decide about it, at most


class Pipeline:
    """Normalizes and splits text; has the methods of a SplitterEngine that encoding and counting use."""

    def __init__(self, normalizer: Normalizer, splitter: Splitter) -> None:
        self.normalizer = NormalizerEngine.of(normalizer)
        self.splitter = SplitterEngine.of(splitter)

    context = CONTEXT

    @cached_property
    def growth(self) -> int:
        """The maximum output length as a multiple of the input length."""
        return self.normalizer.growth * self.splitter.growth

    def __reduce__(self) -> tuple[type[Pipeline], tuple[NormalizerEngine, SplitterEngine]]:
        return Pipeline, (self.normalizer, self.splitter)

    def texts(
        self, text: Bytes, bounds: Offsets, buffers: SplitBuffers, *, begins: bool = True, ends: bool = True
    ) -> Iterator[WordChunk]:
        """Normalize and split many texts, a stretch at a time.

        begins, ends: False if the first text is the continuation of another, or the last one continues.
        """
        first, every = 0, len(bounds) - 1
        count = every
        if not (begins and ends) and self.normalizer.sees_ends and every:
            first, count = int(not begins or every == 1), every - (not ends and every > 1)
            if first:
                yield from self._long_text(text[bounds[0] : bounds[1]], buffers, begins, ends or every > 1)
        while first < count:
            last = min(count, int(np.searchsorted(bounds, bounds[first] + STRETCH, side="right")) - 1)
            begin = int(bounds[first])
            if last > first:
                part, stops = self.normalizer.apply(text[begin : int(bounds[last])], bounds[first : last + 1] - begin)
                yield from self.splitter.texts(part, stops, buffers)
            else:
                last = first + 1
                yield from self._long_text(text[begin : int(bounds[last])], buffers)
            first = last
        if count < every:
            yield from self._long_text(text[bounds[-2] : bounds[-1]], buffers, True, False)

    def _long_text(
        self, text: Bytes, buffers: SplitBuffers, begins: bool = True, ends: bool = True
    ) -> Iterator[WordChunk]:
        at, rest = 0, np.empty(0, np.uint8)
        while at < len(text):
            stop = at + self._stretch(text[at:])
            bounds = np.array([0, stop - at], np.int64)
            of = Position(begins and at == 0, ends and stop == len(text))
            part, _ = self.normalizer.apply(text[at:stop], bounds, of)
            part = np.concatenate([rest, part]) if len(rest) else part
            cut = len(part) if stop == len(text) else self.splitter.cut(part, len(part))
            rest, at = part[cut:], stop
            if cut or stop == len(text):
                for chunk in self.splitter.texts(part[:cut], np.array([0, cut], np.int64), buffers):
                    last = stop == len(text)
                    yield chunk if last or not chunk.complete else chunk._replace(complete=False)

    def _stretch(self, text: Bytes) -> int:
        """Return how many bytes of a text to normalize next: up to a safe cut."""
        size = STRETCH
        while size < len(text):
            cut = self.normalizer.cut(text[:size], size)
            if cut:
                return cut
            size *= 4
        return len(text)

    def split_short(self, text: Bytes, buffers: SplitBuffers) -> int | None:
        """Normalize and split a short text in one step; None if it may be too long for a chunk."""
        part, _ = self.normalizer.apply(text, np.array([0, len(text)], np.int64))
        # A step may insert any amount of text, and the buffers of a chunk are limited.
        return self.splitter.split_short(part, buffers) if len(part) < CHUNK_WORDS // 2 else None

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the calls of the normalizer and the splitter, if each stage of them is one."""
        found, stages = self.splitter.fast_path(buffers, cuts=cuts), self.normalizer.fast_path()
        if found is None or stages is None:
            return None
        return found._replace(stages=stages, marked=any(stage.marked for stage in stages))

    def cut(self, text: Bytes, at: int, *, begins: bool = True) -> int:
        """Return a position in text[:at] where a cut changes no word, whatever follows, or 0 (S4).

        begins: False if the text continues another. At most CONTEXT bytes before the position decide about it.
        """
        stop = self.normalizer.cut(text[:at], at)
        begin = self.normalizer.cut(text[: max(0, stop - NEAR)], max(0, stop - NEAR))
        if begin == stop or stop - begin > CONTEXT or (begin == 0 and not begins):
            return 0
        of = Position(begin == 0 and begins, False)
        part, origin = self.normalizer.aligned(text[begin:stop], of)
        cut = self.splitter.cut(part, len(part))
        while cut > 0:
            place = begin + int(origin[0, cut]) if cut < len(part) else stop
            if (place == stop or self._safe(text, place)) and self._becomes(text[begin:place], cut, of):
                return place
            cut = self.splitter.cut(part, cut - 1)
        return 0

    def _becomes(self, text: Bytes, size: int, of: Position) -> bool:
        """Whether the normalized text has this length.

        It differs if the cut is inside the replacement of one character. Origins do not prove it: as in HF, they may
        belong to another character.
        """
        return len(self.normalizer.apply(text, np.array([0, len(text)], np.int64), of)[0]) == size

    def _safe(self, text: Bytes, place: int) -> bool:
        """Whether the normalizer allows a cut before the character at a position."""
        return any(self.normalizer.cut(text, upto) == place for upto in range(place + 1, min(place + 4, len(text)) + 1))

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text, with their origin in it."""
        part, origin = self.normalizer.aligned(text)
        return self.splitter.word_spans(part).within(origin)
