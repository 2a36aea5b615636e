"""Batches: many texts, in parts for threads; on the fast path by their addresses, without an object for each part."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import string_at
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.engine.encoder import LARGE_TEXT, SPARE_ARRAYS, EncoderState
from subwords.engine.fast_path import text_of_words
from subwords.kernels import layout
from subwords.kernels.named import encode_texts
from subwords.kernels.plan_layout import CUT_TEXT, FIELDS, MANY_BYTES, CallPlan
from subwords.split.routes import NO_OFFSETS, WordChunk, gains_by_cuts
from subwords.support.arrow import (
    NUMBERS,
    ArrowArray,
    ArrowSchema,
    Sizes,
    arrow_arrays,
    check_valid,
    copied,
    copied_spans,
    only_child,
    sizes_of,
)
from subwords.support.errors import InputError
from subwords.support.memory import Spare, memory_at
from subwords.support.names import distinct
from subwords.support.threads import check_stopped, in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from subwords.engine.encoder import Encoder, IdsAndOffsets


Offsets = NDArray[np.int64]

SAMPLED, SAMPLE = 8, 512  # texts of a part that show its script, and bytes of each
LEAST_SAMPLED = 1 << 14  # bytes of texts
PART = 1 << 18  # bytes of short texts per task of a thread
LONE_PART = 1 << 24  # the same of the only thread: with PART, 12 MB of lines took 1.15 times as long
THREAD_TEXT = 1 << 21  # bytes of one text that are worth a thread
LEAST_ROOM = 1 << 20  # bytes for the UTF-8 of texts
BYTES_PER_ID = 2  # of the first guess of a part's ids: growing took a tenth of the time of Russian with BERT
TEXTS_READ, NEEDED = 2, 3  # of the numbers that `read_texts` takes

ROOMS = Spare()  # memory for the UTF-8 of texts, used again
NO_ROOM = np.zeros(0, np.uint8)


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
    """Where the UTF-8 of texts is in memory; `owners` keeps it there.

    after: what comes after the ids of each text, 1 + an id or 0; empty if nothing does. shared: whether other code may
    write there, so that a text is copied before it is read twice.
    """

    addresses: Offsets
    lengths: Offsets
    owners: object
    after: Offsets = NO_OFFSETS
    shared: bool = False


def read_places(texts: Sequence[object], *, marked: bool) -> Places | None:
    """Return where texts are, str or bytes; None if there is anything else among them, or a lone surrogate.

    marked: also None for bytes and for texts with U+2581. The tuple keeps the texts, and none of them can change.
    """
    kept, owners = tuple(texts), list[object]()
    addresses, lengths = np.empty(len(kept), np.int64), np.empty(len(kept), np.int64)
    numbers, room = np.array([len(kept), marked, 0, 0], np.int64), NO_ROOM
    while True:
        _reader()((numbers, kept, addresses, lengths, owners, room))
        if not numbers[NEEDED]:
            break
        room = ROOMS.empty(max(int(numbers[NEEDED]), LEAST_ROOM), np.uint8)
        owners.append(room)
    return Places(addresses, lengths, (kept, owners)) if numbers[TEXTS_READ] == len(kept) else None


@cache
def _reader() -> Callable[[tuple[Any, ...]], None]:
    from subwords.kernels.entry import api, built_in
    from subwords.kernels.named import read_texts

    return built_in(read_texts, (api(),))


def encode_cut(encoder: Encoder, places: Places, upto: Offsets, threads: int) -> IdsAndOffsets:
    """Return the ids of texts that are cut into others, `upto` of them up to the end of each, by the fast path."""
    ids, offsets = encode_places(encoder, places, threads)
    return ids, offsets[np.concatenate([np.zeros(1, np.int64), upto])]


def encode_places(encoder: Encoder, places: Places, threads: int) -> IdsAndOffsets:
    """Return the ids of texts by the fast path, which the encoder must have; the same for every number of threads.

    Row: calls_batch, "encode_batch(100,000 lines) to arrays": a line takes 0.86 us from copies, 0.40 where it is.
    """
    lengths, whole = places.lengths, _Task(places, 0, len(places.lengths))
    total = int(lengths.sum())
    count, tasks, states = min(threads, total // THREAD_TEXT), [whole], list[EncoderState]()
    if count > 1 and encoder.segmenter.apart and int(lengths.max()) >= THREAD_TEXT:
        tasks = _shares(encoder, whole, count)
        states = encoder.crew(len(tasks))
    elif total > (part := PART if threads > 1 else LONE_PART) and len(lengths) > 1:
        ends = np.cumsum(lengths)
        cuts = np.searchsorted(ends, np.arange(part, total, part)) + 1
        bounds = distinct(np.concatenate([[0], cuts, [len(ends)]])).tolist()
        tasks = [_Task(places, *part) for part in pairwise(bounds)]
    if len(tasks) == 1:
        ids, offsets = _encode_task(encoder, whole)
        return ids if len(ids) > 1 << 16 else ids.copy(), offsets
    if states:
        parts = in_threads(lambda each: _run(encoder, *each), zip(states, tasks, strict=False), count)
        encoder.give_crew(states)
    else:
        parts = in_threads(partial(_encode_task, encoder), tasks, min(len(tasks), threads))
    return _joined(tasks, parts, threads)


def _joined(tasks: list[_Task], parts: list[IdsAndOffsets], threads: int) -> IdsAndOffsets:
    """Return the ids of consecutive tasks together."""
    stops = np.cumsum([0, *(len(ids) for ids, _ in parts)])
    found = SPARE_ARRAYS.empty(int(stops[-1]) + layout.OUT_PADDING, np.uint32)[: stops[-1]]

    def copied(number: int) -> None:
        found[stops[number] : stops[number + 1]] = parts[number][0]

    in_threads(copied, range(len(parts)), threads if len(found) > 1 << 20 else 1)
    # The last text of a task may end in the next one.
    ends = [
        offsets[1 : len(offsets) - (not task.ends)] + stop
        for task, (_, offsets), stop in zip(tasks, parts, stops, strict=False)
    ]
    return found, np.concatenate([np.zeros(1, np.int64), *ends])


class _Task(NamedTuple):
    """The texts `first` to `last` - 1; begins, ends: whether the first one begins and the last one ends here."""

    places: Places
    first: int
    last: int
    begins: bool = True
    ends: bool = True


def _shares(encoder: Encoder, task: _Task, count: int) -> list[_Task]:
    """Return about equal parts of texts; a long one is cut where a cut changes no word (S4)."""
    addresses, lengths, owners, after, shared = task.places
    stops = np.cumsum(lengths)
    borders = {(task.first, 0), (task.last, 0)}
    for at in (int(stops[-1]) * k // count for k in range(1, count)):
        number = int(np.searchsorted(stops, at, side="right"))
        address, size = int(addresses[number]), int(lengths[number])
        inside = encoder.splitter.cut(memory_at(address, size), at - int(stops[number]) + size) if size > PART else 0
        borders.add((number, inside))
    tasks = []
    for (first, begin), (last, end) in pairwise(sorted(borders)):
        chosen = slice(first, last + (end > 0))
        parts = Places(addresses[chosen].copy(), lengths[chosen].copy(), owners, after[chosen].copy(), shared)
        if end > 0:
            parts.lengths[-1], parts.after[-1:] = end, 0
        parts.addresses[0] += begin
        parts.lengths[0] -= begin
        tasks.append(_Task(parts, 0, len(parts.lengths), begin == 0, end == 0))
    return tasks


def _encode_task(encoder: Encoder, task: _Task) -> IdsAndOffsets:
    """Return the ids of some texts, and where those of each end."""
    state = encoder.take()
    found = _run(encoder, state, task)
    encoder.give(state)
    return found


def _run(encoder: Encoder, state: EncoderState, task: _Task) -> IdsAndOffsets:
    """Return the same with a state."""
    places, first, last, begins, ends = task
    alone, cuts = last - first == 1, False
    size = int(places.lengths[first] if alone else places.lengths[first:last].sum())
    if size > LARGE_TEXT:
        state.expect(size)
    in_buffer = not alone or size < MANY_BYTES  # what a longer text gains by the kernel, it loses as it is copied
    if in_buffer:  # in a longer text, each part of it decides
        cuts = encoder.segmenter.has_cuts and gains_by_cuts(_sampled(task))
    if cuts or size > (CUT_TEXT if alone else PART):
        state.use_cuts()
    plan, kernel = encoder.plan(state, cuts=cuts), encode_texts.without_gil()
    numbers, offsets = plan.numbers, np.zeros(last - first + 1, np.int64)
    if size > 2 * PART:
        out = np.empty(1 << 16, np.uint32)
    elif len(places.lengths) == 1:
        # One id a byte at most. With many texts, each part would hold such memory: 0.7 of the rate.
        out = SPARE_ARRAYS.empty(size + (1 << 12), np.uint32)
    else:
        out = np.empty(size // BYTES_PER_ID + (1 << 12), np.uint32)
    numbers[FIELDS.next], numbers[FIELDS.last], numbers[FIELDS.filled] = first, last - (not ends), 0
    if in_buffer:
        numbers[FIELDS.addresses], numbers[FIELDS.lengths] = places.addresses.ctypes.data, places.lengths.ctypes.data
        numbers[FIELDS.after] = places.after.ctypes.data if len(places.after) else 0
        offsets_at = offsets.ctypes.data + 8
    while (at := numbers[FIELDS.next]) < last:
        numbers[FIELDS.status], numbers[FIELDS.upto] = 0, at
        if in_buffer and (begins or at > first) and at < numbers[FIELDS.last]:
            numbers[FIELDS.offsets] = offsets_at + 8 * (at - first)
            numbers[FIELDS.out], numbers[FIELDS.workspace] = id(out), id(state.workspace)
            if kernel(id(plan)) == layout.DONE:
                continue
        out = _encode_rest(encoder, state, plan, task, offsets[1 + numbers[FIELDS.next] - first :], out)
        check_stopped()
    written, numbers[FIELDS.after] = numbers[FIELDS.filled], 0
    # Lent memory may be much larger than was asked for: a result should not keep it.
    return out[:written] if written > len(out) // 2 or len(out) <= 4 * PART else out[:written].copy(), offsets


def _encode_rest(
    encoder: Encoder, state: EncoderState, plan: CallPlan, task: _Task, offsets: Offsets, out: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Encode the texts that the kernel did not; return the array of ids, which may be a new one."""
    places, numbers, done = task.places, plan.numbers, 0
    first, upto, written = numbers[FIELDS.next], numbers[FIELDS.upto], numbers[FIELDS.filled]
    before, total = (int(places.lengths[task.first : stop].sum()) for stop in (first, task.last))
    if numbers[FIELDS.status]:
        text_ends = plan.text_ends[1 : upto - first + 1]
        text, ends = text_of_words(plan)
        chunk, status = WordChunk(text, 0, ends, text_ends, True), numbers[FIELDS.status]
        written, out = encoder.resume(state, chunk, numbers[FIELDS.words], out, status, before=before, total=total)
        offsets[: upto - first] = text_ends
    else:
        begins = ends_here = True
        if upto == first:
            begins, ends_here = task.begins or first > task.first, task.ends or first < task.last - 1
            text, upto = memory_at(int(places.addresses[first]), int(places.lengths[first])), first + 1
            if places.shared:
                text = text.copy()
            if encoder.prefixed and begins:
                text = np.concatenate([np.full(1, ord(" "), np.uint8), text])
            bounds = np.array([0, len(text)], np.int64)
        else:
            text, bounds = plan.buffer[: numbers[FIELDS.size]], plan.bounds[: upto - first + 1]
        for chunk in encoder.splitter.texts(text, bounds, state.buffers, begins=begins, ends=ends_here):
            count = len(chunk.text_ends) if chunk.complete else len(chunk.text_ends) - 1
            if len(places.after):
                chunk.text_ends[:count] |= places.after[first + done : first + done + count] << layout.FOLLOWED
            known = total if chunk.text is text else 0
            written, out = encoder.run(state, chunk, out, written, before=before, total=known)
            offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
            done += count
            state.counters[layout.COUNTER.begin] = chunk.complete
            check_stopped()
        state.counters[layout.COUNTER.begin] = 1
    numbers[FIELDS.next], numbers[FIELDS.filled] = upto, written
    return out


def _sampled(task: _Task) -> NDArray[np.uint8]:
    """Return the first bytes of some texts; none of few short ones, which gain nothing."""
    places, first, last, *_ = task
    if places.lengths[first:last].sum() < LEAST_SAMPLED:
        return np.zeros(0, np.uint8)
    chosen = range(first, last, max(1, (last - first) // SAMPLED))
    texts = [string_at(int(places.addresses[i]), min(int(places.lengths[i]), SAMPLE)) for i in chosen]
    return np.frombuffer(b"".join(texts), np.uint8)


# ---------------------------------------------------------------------------------------------------------------------
# Arrow arrays of strings, read through Arrow's C interface, without a Python object for each text.
#
# Source: "The Arrow C data interface" and "The Arrow PyCapsule Interface", arrow.apache.org.

VIEWS = b"vu"
KINDS = {b"u": "int32", b"U": "int64", VIEWS: ""}  # the formats of strings, and the type of their offsets
VIEW, MOST_INSIDE = 16, 12  # bytes of a view, and of a string that is inside it

Found = tuple[NDArray[np.int64], NDArray[np.int64]]


@contextmanager
def arrow_places(texts: Any) -> Iterator[Places]:
    """Give where the texts of an array are, as long as the context lasts.

    Raises InputError, with the index, for a missing text, and for other types than strings and dictionaries of them.
    """
    with arrow_arrays(texts) as (schema, arrays):
        sizes = sizes_of(texts, numbered=bool(schema.dictionary))
        found, done = [_places(schema, ArrowArray(), 0, sizes)], 0  # the type is checked even if there is no array
        for array in arrays:
            found.append(_places(schema, array, done, sizes))
            done += array.length
        addresses, lengths = (np.concatenate([np.empty(0, np.int64), *part]) for part in zip(*found, strict=True))
        yield Places(addresses, lengths, texts, shared=True)


def arrow_texts(places: Places) -> list[bytes]:
    """Return the texts as objects."""
    return list(map(ctypes.string_at, places.addresses.tolist(), places.lengths.tolist()))


def _places(schema: ArrowSchema, array: ArrowArray, done: int, sizes: Sizes) -> Found:
    """Return the addresses and lengths of an array's texts; `done` texts were before it."""
    kind = bytes(schema.format or b"")
    if schema.dictionary:
        return _chosen(schema, array, done, kind, sizes)
    if kind == b"+s" and schema.n_children == 1:
        return _only_column(schema, array, done, sizes)
    if kind not in KINDS:
        if kind == b"+s":
            raise InputError('expected a column of texts, not a table: pass one column of it, such as table["text"]')
        raise InputError(f"expected a column of texts (str), not of the type that Arrow writes {kind.decode()!r}")
    first, count = int(array.offset), int(array.length)
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    check_valid(array, first, count, done)
    if kind == VIEWS:
        return _viewed(array, first, count, sizes)
    begins, lengths = copied_spans(array.buffers[1], first, count, np.dtype(KINDS[kind]), sizes, array.buffers[2])
    return (array.buffers[2] or 0) + begins, lengths


def _only_column(schema: ArrowSchema, array: ArrowArray, done: int, sizes: Sizes) -> Found:
    """Return the places of texts in a table of one column."""
    if not array.length:
        return _places(only_child(schema), ArrowArray(), done, sizes)
    check_valid(array, int(array.offset), int(array.length), done)
    held = ArrowArray.from_buffer_copy(only_child(array))
    held.offset, held.length = held.offset + array.offset, array.length
    return _places(only_child(schema), held, done, sizes)


def _chosen(schema: ArrowSchema, array: ArrowArray, done: int, kind: bytes, sizes: Sizes) -> Found:
    """Return the places of texts that are numbers of values, as in a pandas category."""
    held = ArrowArray.from_address(array.dictionary) if array.dictionary else ArrowArray()
    addresses, lengths = _places(ArrowSchema.from_address(schema.dictionary), held, 0, sizes)
    first, count = int(array.offset), int(array.length)
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    check_valid(array, first, count, done)
    numbers = copied(array.buffers[1], first, count, np.dtype(NUMBERS[kind]), sizes)
    if numbers.min() < 0 or numbers.max() >= len(addresses):
        raise InputError(f"damaged Arrow array: expected numbers of values from 0 to {len(addresses) - 1}")
    return addresses[numbers], lengths[numbers]


def _viewed(array: ArrowArray, first: int, count: int, sizes: Sizes) -> Found:
    """Return the places of strings described by 16 bytes each: their length, then themselves or their place."""
    at, last = (array.buffers[1] or 0) + VIEW * first, array.n_buffers - 1
    views = copied(array.buffers[1], 4 * first, 4 * count, np.dtype(np.int32), sizes).reshape(count, 4)
    lengths, buffers = views[:, 0], [array.buffers[k] or 0 for k in range(2, last)]
    inside = lengths <= MOST_INSIDE
    _, number, start = views[~inside, 1:].T
    ends = copied(array.buffers[last], 0, last - 2, np.dtype(np.int64), sizes) if buffers else np.zeros(0, np.int64)
    if (
        (lengths < 0).any()
        or ((number < 0) | (number >= len(ends)) | (start < 0)).any()
        or (start + lengths[~inside] > ends[number]).any()
    ):
        raise InputError("damaged Arrow array: a value is outside its buffers")
    held = np.array([*buffers, 0], np.int64)[np.where(inside, -1, views[:, 2])] + views[:, 3]
    return np.where(inside, at + 4 + VIEW * np.arange(count), held), np.ascontiguousarray(lengths)
