"""Batches: many texts, in parts for threads; on the fast path by their addresses, without an object for each part."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import string_at
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.encode.fast_path import text_of_words
from subwords.kernels import layout
from subwords.kernels.named import encode_texts
from subwords.kernels.plan_layout import FIELDS, CallPlan
from subwords.results.token_batch import TokenBatch
from subwords.split.routes import WordChunk, gains_by_cuts
from subwords.support.light import distinct
from subwords.support.threads import check_stopped, in_threads, thread_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from subwords.encode.encoder import Encoder
    from subwords.encode.state import State

Offsets = NDArray[np.int64]
Encoded = tuple[NDArray[np.uint32], Offsets]

__all__ = ["Places", "encode_places", "group_texts", "read_places"]

SAMPLED, SAMPLE = 8, 512  # texts of a part that show its script, and bytes of each
LEAST_SAMPLED = 1 << 14  # bytes of texts
PART = 1 << 18  # bytes of short texts per task of a thread
BYTES_PER_ID = 3  # of the first guess of a part's ids


def group_texts(texts: list[bytes]) -> list[list[bytes]]:
    """Return consecutive texts of about PART bytes each."""
    parts: list[list[bytes]] = []
    size = PART
    for text in texts:
        if size >= PART:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    return parts


class Places(NamedTuple):
    """Where the UTF-8 of texts is in memory; `owners` keeps it there."""

    addresses: NDArray[np.int64]
    lengths: NDArray[np.int64]
    owners: object


def read_places(texts: Sequence[object], *, marked: bool) -> Places | None:
    """Return where texts are, str or bytes; None if there is anything else among them, or a lone surrogate.

    marked: also None for bytes and for texts with U+2581. The tuple keeps the texts, and none of them can change.
    """
    kept, made = tuple(texts), list[bytes]()
    addresses, lengths = np.empty(len(kept), np.int64), np.empty(len(kept), np.int64)
    count, marks = np.array([len(kept)], np.int64), np.array([marked], np.int64)
    if _reader()((count, kept, addresses, lengths, made, marks)) < len(kept):
        return None
    return Places(addresses, lengths, (kept, made))


@cache
def _reader() -> Callable[[tuple[Any, ...]], int]:
    from subwords.kernels.fastpath import api, built_in
    from subwords.kernels.named import read_texts

    return built_in(read_texts, (api(),))


def encode_places(encoder: Encoder, places: Places, threads: int | None) -> TokenBatch:
    """Return the ids of texts by the fast path, which the encoder must have."""
    ends = np.cumsum(places.lengths)
    total = int(ends[-1]) if len(ends) else 0
    bounds = [0, len(ends)] if len(ends) else [0]
    if total > PART:
        cuts = np.searchsorted(ends, np.arange(PART, total, PART)) + 1
        bounds = distinct(np.concatenate([cuts, bounds])).tolist()
    tasks = [_Task(places, first, last) for first, last in pairwise(bounds)]
    count = min(len(tasks), thread_count(threads))
    encode = partial(_encode_task, encoder)
    if len(tasks) == 1:
        ids, offsets = encode(tasks[0])
        return TokenBatch(ids.copy(), offsets)
    parts = [*map(encode, tasks)] if count <= 1 else in_threads(encode, tasks, count)
    return TokenBatch.join([TokenBatch(*part) for part in parts])


class _Task(NamedTuple):
    places: Places
    first: int
    last: int


def _encode_task(encoder: Encoder, task: _Task) -> Encoded:
    """Return the ids of some texts, and where those of each end."""
    places, first, last = task
    state = encoder.take()
    cuts = encoder.segmenter.has_cuts and gains_by_cuts(_sampled(task))
    if cuts:
        state.use_cuts()
    plan, kernel = encoder.plan(state, cuts=cuts), encode_texts.without_gil()
    numbers, size = plan.numbers, int(places.lengths[first:last].sum())
    offsets, out = np.zeros(last - first + 1, np.int64), np.empty(size // BYTES_PER_ID + (1 << 12), np.uint32)
    numbers[FIELDS.next], numbers[FIELDS.last], numbers[FIELDS.filled] = first, last, 0
    numbers[FIELDS.addresses], numbers[FIELDS.lengths] = places.addresses.ctypes.data, places.lengths.ctypes.data
    offsets_at = offsets.ctypes.data + 8
    while True:
        numbers[FIELDS.offsets] = offsets_at + 8 * (numbers[FIELDS.next] - first)
        numbers[FIELDS.out], numbers[FIELDS.workspace] = id(out), id(state.workspace)
        if kernel(id(plan)) == layout.DONE:
            break
        out = _encode_rest(encoder, state, plan, places, offsets[1 + numbers[FIELDS.next] - first :], out)
        check_stopped()
    written = numbers[FIELDS.filled]
    encoder.give(state)
    return out[:written], offsets


def _encode_rest(
    encoder: Encoder, state: State, plan: CallPlan, places: Places, offsets: Offsets, out: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Encode the texts that the kernel did not; return the array of ids, which may be a new one."""
    numbers, done = plan.numbers, 0
    first, upto, written = numbers[FIELDS.next], numbers[FIELDS.upto], numbers[FIELDS.filled]
    if numbers[FIELDS.status]:
        text_ends = plan.text_ends[1 : upto - first + 1]
        text, ends = text_of_words(plan)
        chunk = WordChunk(text, 0, ends, text_ends, True)
        written, out = encoder.resume(state, chunk, numbers[FIELDS.words], out, numbers[FIELDS.status])
        offsets[: upto - first] = text_ends
    else:
        if upto == first:
            data = string_at(int(places.addresses[first]), int(places.lengths[first]))
            text, upto = np.frombuffer(b" " + data if encoder.prefixed else data, np.uint8), first + 1
            bounds = np.array([0, len(text)], np.int64)
        else:
            text, bounds = plan.buffer[: numbers[FIELDS.size]], plan.bounds[: upto - first + 1]
        for chunk in encoder.splitter.texts(text, bounds, state.buffers):
            written, out = encoder.run(state, chunk, out, written)
            offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
            done += len(chunk.text_ends) if chunk.complete else 0
            state.counters[layout.COUNTER.begin] = chunk.complete
            check_stopped()
    numbers[FIELDS.next], numbers[FIELDS.filled] = upto, written
    return out


def _sampled(task: _Task) -> NDArray[np.uint8]:
    """Return the first bytes of some texts; none of few short ones, which gain nothing."""
    places, first, last = task
    if places.lengths[first:last].sum() < LEAST_SAMPLED:
        return np.zeros(0, np.uint8)
    chosen = range(first, last, max(1, (last - first) // SAMPLED))
    texts = [string_at(int(places.addresses[i]), min(int(places.lengths[i]), SAMPLE)) for i in chosen]
    return np.frombuffer(b"".join(texts), np.uint8)
