"""Batches: many texts, in parts for threads; where doors exist, by their addresses, without an object for each part."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import string_at
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import BEGIN, DONE, LANES, PROGRESS, Normalized
from subwords.results.token_batch import TokenBatch
from subwords.split.routes import CHUNK_TEXTS, CHUNK_WORDS, Direct, DirectStage, SplitBuffers, WordChunk, gains_by_cuts
from subwords.support.light import distinct
from subwords.support.threads import check_stopped, in_threads, thread_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from subwords.encode.encoder import Encoder
    from subwords.encode.state import State
    from subwords.kernels.door_batch import ManyStage, ManyWork
    from subwords.kernels.door_encode import Plan

Offsets = NDArray[np.int64]
Encoded = tuple[NDArray[np.uint32], Offsets]

__all__ = ["Batches", "Places", "parts_of", "read_places"]

SAMPLED, SAMPLE = 8, 512  # texts of a part that show its script, and bytes of each
LEAST_SAMPLED = 1 << 14  # bytes of texts
PART = 1 << 18  # bytes of short texts per task of a thread
BYTES_PER_ID = 3  # of the first guess of a part's ids


def parts_of(texts: list[bytes]) -> list[list[bytes]]:
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
    from subwords.kernels.door import api, built_in
    from subwords.kernels.door_batch import read_door

    return built_in(read_door, (api(),))


class Batches:
    """Encodes texts by address, with the states of an encoder; any number of threads may share it."""

    def __init__(self, encoder: Encoder, plan: Plan) -> None:
        from subwords.kernels.door_batch import encode_many

        self.marked = plan.marked
        self._encoder = encoder
        self._plan = plan
        self._kernel = encode_many.ready()

    @classmethod
    def of(cls, encoder: Encoder, *, prefixed: bool = False, marked: bool = False) -> Batches | None:
        """Return what encodes batches by address; None if the encoder cannot. See `short.plan_of`."""
        from subwords.encode.short import plan_of

        plan = plan_of(encoder.segmenter, encoder.splitter, prefixed=prefixed, marked=marked, many=True)
        return None if plan is None else cls(encoder, plan)

    def encode(self, places: Places, threads: int | None) -> TokenBatch:
        """Return the ids of texts."""
        ends = np.cumsum(places.lengths)
        total = int(ends[-1]) if len(ends) else 0
        bounds = [0, len(ends)] if len(ends) else [0]
        if total > PART:
            cuts = np.searchsorted(ends, np.arange(PART, total, PART)) + 1
            bounds = distinct(np.concatenate([cuts, bounds])).tolist()
        tasks = [_Task(places, first, last) for first, last in pairwise(bounds)]
        count = min(len(tasks), thread_count(threads))
        if len(tasks) == 1:
            ids, offsets = self._part(tasks[0])
            return TokenBatch(ids.copy(), offsets)
        return _joined([*map(self._part, tasks)] if count <= 1 else in_threads(self._part, tasks, count))

    def _part(self, task: _Task) -> Encoded:
        """Return the ids of some texts, and where those of each end."""
        from subwords.kernels.door_batch import (
            ADDRESSES_AT,
            FILLED_IDS,
            LAST,
            LENGTHS_AT,
            NEXT,
            OFFSETS_AT,
            OUT,
            WORKSPACE,
        )

        places, first, last = task
        encoder = self._encoder
        state = encoder._take()
        tools = self._tools(state, task)
        plan, work = tools.plan, tools.work
        size = int(places.lengths[first:last].sum())
        offsets, out = np.zeros(last - first + 1, np.int64), np.empty(size // BYTES_PER_ID + (1 << 12), np.uint32)
        plan[NEXT], plan[LAST], plan[FILLED_IDS] = first, last, 0
        plan[ADDRESSES_AT], plan[LENGTHS_AT] = places.addresses.ctypes.data, places.lengths.ctypes.data
        offsets_at = offsets.ctypes.data + 8
        while True:
            plan[OFFSETS_AT] = offsets_at + 8 * (plan[NEXT] - first)
            plan[OUT], plan[WORKSPACE] = id(out), id(state.workspace)
            if self._kernel(id(work), tools.plan_at) == DONE:
                break
            out = self._rest(state, tools, places, offsets[1 + plan[NEXT] - first :], out)
            check_stopped()
        written = plan[FILLED_IDS]
        encoder._give(state)
        return out[:written], offsets

    def _tools(self, state: State, task: _Task) -> _Tools:
        """Return the tools of a state, with safe cuts if the texts gain by them."""
        encoder, (places, first, last) = self._encoder, task
        cuts = encoder.segmenter.has_cuts and gains_by_cuts(_sampled(places, first, last))
        if cuts:
            state.use_cuts()
        if cuts not in state.many:
            direct = encoder.splitter.direct(state.buffers, cuts=cuts)
            assert direct is not None
            plan = self._plan._replace(split=direct.many, tables=len(direct.tables))
            state.many[cuts] = _Tools.of(direct, plan, state.buffers)
        tools: _Tools = state.many[cuts]
        return tools

    def _rest(
        self, state: State, tools: _Tools, places: Places, offsets: Offsets, out: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Encode the texts that the kernel did not; return the array of ids, which may be a new one."""
        from subwords.kernels.door_batch import FILLED_IDS, NEXT, SIZE, STATUS, UPTO, WORDS

        plan, work, encoder = tools.plan, tools.work, self._encoder
        first, upto, written, done = plan[NEXT], plan[UPTO], plan[FILLED_IDS], 0
        if plan[STATUS]:
            ends, text_ends = tools.word_ends, work.text_ends[1 : upto - first + 1]
            chunk = WordChunk(tools.split_text, 0, ends, text_ends, True)
            written, out = encoder._resume(state, chunk, plan[WORDS], out, plan[STATUS])
            offsets[: upto - first] = text_ends
        else:
            if upto == first:
                text, upto = self._long_text(places, first), first + 1
                bounds = np.array([0, len(text)], np.int64)
            else:
                text, bounds = work.buffer[: plan[SIZE]], work.bounds[: upto - first + 1]
            for chunk in encoder.splitter.texts(text, bounds, state.buffers):
                written, out = encoder._run(state, chunk, out, written)
                offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
                done += len(chunk.text_ends) if chunk.complete else 0
                state.counters[BEGIN] = chunk.complete
                check_stopped()
        plan[NEXT], plan[FILLED_IDS] = upto, written
        return out

    def _long_text(self, places: Places, index: int) -> NDArray[np.uint8]:
        text = string_at(int(places.addresses[index]), int(places.lengths[index]))
        return np.frombuffer(b" " + text if self._plan.prefixed else text, np.uint8)


def _sampled(places: Places, first: int, last: int) -> NDArray[np.uint8]:
    """Return the first bytes of some texts; none of few short ones, which gain nothing."""
    if places.lengths[first:last].sum() < LEAST_SAMPLED:
        return np.zeros(0, np.uint8)
    chosen = range(first, last, max(1, (last - first) // SAMPLED))
    texts = [string_at(int(places.addresses[i]), min(int(places.lengths[i]), SAMPLE)) for i in chosen]
    return np.frombuffer(b"".join(texts), np.uint8)


def _joined(parts: list[Encoded]) -> TokenBatch:
    return TokenBatch.join([TokenBatch(*part) for part in parts])


class _Task(NamedTuple):
    places: Places
    first: int
    last: int


class _Tools(NamedTuple):
    """What a thread's state keeps for batches."""

    plan: memoryview  # of int64; NumPy is slower for single numbers
    plan_at: int
    work: ManyWork
    split_text: NDArray[np.uint8]  # the text that words are of, at most
    word_ends: NDArray[np.uint32]

    @classmethod
    def of(cls, direct: Direct, plan: Plan, buffers: SplitBuffers) -> _Tools:
        """Return the tools for a state with these buffers."""
        from subwords.kernels.door_batch import BUFFER, ManyWork, plan_of

        stages = tuple(map(_working, direct.stages))
        drops = direct.drops is not None
        kept = np.empty(BUFFER * (1 + direct.widens) + LANES if drops else 0, np.uint8)
        work = ManyWork(
            buffer=np.empty(BUFFER + LANES, np.uint8),
            bounds=np.zeros(CHUNK_TEXTS + 1, np.int64),
            tables=direct.tables[0],
            tail=direct.tables[-1],
            ends=buffers.ends,
            text_ends=buffers.text_ends,
            drops=direct.drops,
            kept_text=kept,
            kept_ends=np.empty(CHUNK_WORDS + 1 if drops else 0, np.uint32),
            stages=stages,
        )
        text = kept if drops else stages[-1].out.text if stages else work.buffer
        fields = plan_of(plan)
        return cls(memoryview(fields.data), fields.ctypes.data, work, text, work.kept_ends if drops else work.ends)


def _working(stage: DirectStage) -> ManyStage:
    from subwords.kernels.door_batch import BUFFER, ManyStage
    from subwords.kernels.layout import BLOCK_GROWTH

    out = Normalized(
        np.empty(BUFFER + 2 * BLOCK_GROWTH, np.uint8), np.empty(0, np.int64), np.zeros(CHUNK_TEXTS + 1, np.int64)
    )
    return ManyStage(stage.tables, stage.scratch, out, np.zeros(PROGRESS, np.int64))
