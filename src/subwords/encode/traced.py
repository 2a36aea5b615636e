"""Words to ids, many texts at once, with a copy of where the words are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.encode.encoder import Encoder
from subwords.kernels import layout
from subwords.split.routes import NO_OFFSETS, SplitBuffers, TracedChunk
from subwords.split.splitter import SplitterEngine
from subwords.support.threads import check_stopped

__all__ = ["Words", "encode_traced", "words_of"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


class Words(NamedTuple):
    """The words of some texts, one after the other: the arrays of a `TracedChunk`, copied."""

    base: int
    ends: NDArray[np.uint32]
    begins: Offsets
    word_ends: Offsets
    complete: bool
    origin: Offsets | None
    text: Bytes | None  # the text of the words, if it has an `origin`


def _kept(traced: TracedChunk) -> Words:
    chunk = traced.chunk
    count = int(chunk.text_ends[-1])
    begins = traced.begins[:count].copy() if len(traced.begins) else NO_OFFSETS
    ends, text = chunk.ends[:count].copy(), None if traced.origin is None else chunk.text
    return Words(chunk.base, ends, begins, chunk.text_ends.copy(), chunk.complete, traced.origin, text)


def encode_traced(
    encoder: Encoder, splitter: SplitterEngine, text: Bytes, bounds: Offsets
) -> tuple[NDArray[np.uint32], Offsets, list[Words]]:
    """Return the ids of the texts text[bounds[i]:bounds[i + 1]], the offsets of the ids of each text, and the words.

    splitter: has the words of the encoder's own one, which may have a normalizer before it.
    """
    state = encoder.take()
    offsets = np.zeros(len(bounds), np.int64)
    words = []
    written, done, short = 0, 1, len(text) <= layout.SHORT_TEXT
    out = state.out if short else np.empty(min(len(text), 1 << 16) + layout.OUT_PADDING, np.uint32)
    if len(text) > 1 << 20:
        state.expect(len(text))
    for traced in _chunks(splitter, text, bounds, state.buffers):
        chunk = traced.chunk
        words.append(_kept(traced))
        written, out = encoder.run(state, chunk, out, written, short=short)
        offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
        done += len(chunk.text_ends) if chunk.complete else 0
        state.counters[layout.COUNTER.begin] = chunk.complete
        check_stopped()
    # Copied before the state is given back: `out` may belong to it, and another thread may take it at once.
    ids = out[:written].copy() if short or written < len(out) // 2 else out[:written]
    encoder.give(state)
    return ids, offsets, words


def words_of(splitter: SplitterEngine, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> list[Words]:
    """Return the words of texts."""
    if not splitter.rule:
        filled = bounds[1:] > bounds[:-1]
        return [Words(0, bounds[1:][filled].astype(np.uint32), NO_OFFSETS, np.cumsum(filled), True, None, None)]
    return [_kept(traced) for traced in _chunks(splitter, text, bounds, buffers)]


def _chunks(splitter: SplitterEngine, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterable[TracedChunk]:
    one = splitter.route.short_traced(text, buffers) if len(bounds) == 2 and len(text) <= layout.SHORT_TEXT else None
    return splitter.route.traced(text, bounds, buffers) if one is None else (one,)
