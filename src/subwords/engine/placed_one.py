"""One short text to ids with their places: what `placed.py` does, with as little Python as possible."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.encode.encoder import POOL
from subwords.encode.segmenter import NO_KINDS
from subwords.engine.placed import NO_CHARS, NOWHERE, Placement, Placer, Unknown, begins, named_unknown
from subwords.errors import InputError
from subwords.kernels import layout
from subwords.kernels.layout import IdWords, Origins, Placed, Source
from subwords.kernels.named import count_characters, place_ids
from subwords.split.routes import NO_OFFSETS, SplitBuffers, TracedChunk, WordChunk

if TYPE_CHECKING:
    from subwords.engine.added_tokens import Pass
    from subwords.engine.trimmed import Trimmer
    from subwords.normalize.stages import Origin

__all__ = ["OnePlacer"]


FEW = 64  # unknown ids; texts with more go the way of many texts


class _Room(NamedTuple):
    """Small arrays of a call: bounds of the text and of its ids, the number of words; the rest is of `place_ids`."""

    bounds: NDArray[np.int64]
    offsets: NDArray[np.int64]
    words: NDArray[np.int64]
    start: NDArray[np.int64]
    odd: NDArray[np.uint8]
    unknown: NDArray[np.int64]
    buffers: SplitBuffers  # for the words that are shown, if others are encoded


def _room() -> _Room:
    bounds, offsets, words = np.zeros((3, 2), np.int64)
    start = np.zeros(layout.START.width, np.int64)
    start[layout.START.ends_text] = 1
    return _Room(
        bounds,
        offsets,
        words[:1],
        start,
        np.zeros(1, np.uint8),
        np.zeros(FEW * layout.UNKNOWNS.width, np.int64),
        SplitBuffers(),
    )


class OnePlacer:
    """Encodes short texts, one at a time, with a placer's parts."""

    def __init__(self, placer: Placer) -> None:
        self._encoder = placer.encoder
        self._route = placer.finer.route
        self._unsplit = not placer.splitter.rule
        self._words = None if self._unsplit or placer.finer is placer.splitter else placer.splitter.route
        self._normalizer = placer.normalizer
        self._sizes = placer.sizes
        self._trimmed_sizes = placer.sizes._replace(kinds=NO_KINDS)
        self._sees_start = placer.sees_start
        self._rooms: deque[_Room] = deque(maxlen=POOL)

    def place(self, text: str, added: Pass, trimmer: Trimmer | None) -> Placement | None:
        """Return the ids of a text with their places; None if it is long or odd, or if `added` occurs."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise InputError("expected text without lone surrogates") from None
        size = len(data)
        if size > layout.SHORT_TEXT:
            return None
        try:
            room = self._rooms.pop()
        except IndexError:
            room = _room()
        room.bounds[1] = size
        source = part = np.frombuffer(data, np.uint8)
        origin = NOWHERE
        if self._normalizer is not None:
            part, stops, origin = self._normalizer.traced(source, room.bounds)
            if self._sees_start and not begins(stops, origin, room.bounds):
                return None
        if len(part) > layout.SHORT_TEXT or (added and added.occurs(part.tobytes().decode("utf-8", "surrogateescape"))):
            return None
        chars = NO_CHARS
        if size != len(text):
            chars = np.empty(size + 1, np.int32)
            count_characters.with_gil()(source, chars)
        return self._encoded(room, part, Source(room.bounds, chars), origin, trimmer, source)

    def _encoded(
        self,
        room: _Room,
        part: NDArray[np.uint8],
        source: Source,
        origin: Origin,
        trimmer: Trimmer | None,
        text: NDArray[np.uint8],
    ) -> Placement | None:
        encoder = self._encoder
        state = encoder.take()
        traced = self._route.short_traced(part, state.buffers)
        shown = traced if self._words is None else self._words.short_traced(part, room.buffers)
        if traced is None or shown is None:
            encoder.give(state)
            return None
        chunk = traced.chunk
        words, out = int(chunk.text_ends[0]), state.out
        count = encoder.kernel_with_gil(chunk.text, 0, chunk.ends, words, state.none, 0, out, 0, state.workspace)
        if count < 0:
            count, out = encoder.resume(state, chunk._replace(text_ends=state.none), words, out, -count)
        ids = out[:count].copy()
        byte_spans, numbers = np.empty(2 * count, np.int64), np.empty(count, np.int32)
        spans = np.empty(2 * count, np.int64) if len(source.chars) else NO_OFFSETS
        if shown is not traced:
            traced, words = shown, int(shown.chunk.text_ends[0])
        room.offsets[1], room.words[0], room.odd[0] = count, words, 0
        room.start[layout.START.next_id] = room.start[layout.START.next_unknown] = 0
        if self._unsplit and words:
            room.words[0] = 1
            traced = TracedChunk(WordChunk(part, 0, np.array([len(part)], np.uint32), room.words, True), NO_OFFSETS)
        firsts, lasts = (NO_OFFSETS, NO_OFFSETS) if traced.origin is None else traced.origin
        words_text = part if traced.origin is None else traced.chunk.text
        id_words = IdWords(traced.chunk.ends, traced.begins, room.words, room.offsets[1:], words_text)
        placed = Placed(byte_spans, spans, numbers, room.odd, room.unknown)
        origins = Origins(firsts, lasts, origin.begins, origin.ends)
        sizes = self._sizes if trimmer is None else self._trimmed_sizes
        odd = place_ids.with_gil()(ids, id_words, sizes, origins, source, placed, room.start)
        names, unknown = NO_CHARS, layout.UNKNOWNS.width * int(room.start[layout.START.next_unknown])
        tokens: list[str] = []
        if unknown and not odd:
            names = np.full(count, -1, np.int32)
            named_unknown([Unknown(room.unknown[:unknown], words_text)], names, tokens)
        # Give the state back last: the words belong to it, and another thread may take it at once.
        encoder.give(state)
        if trimmer is not None:
            odd += trimmer.trim(ids, room.offsets, text, room.bounds, placed)
        offsets = room.offsets.copy()
        self._rooms.append(room)
        return None if odd else Placement(ids, offsets, byte_spans, spans, numbers, names, tokens)
