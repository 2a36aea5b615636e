"""Many texts in one call: where they are, read with the GIL, and their ids, made without it; see `door.py`.

Threads share nothing but the addresses of the texts. Each copies some texts at a time into a buffer that stays in its
cache, one after another, as the kernels of normalizers and splitters expect them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.door import (
    BYTES_DATA,
    BYTES_SIZE,
    BYTES_TYPE,
    DATA,
    GC_OFF,
    GC_ON,
    INT_NEW,
    LIST_APPEND,
    LIST_NEW,
    RELEASE,
    SIZES,
    TYPE,
    address_of,
    api_of,
    call_at,
    copy_bytes,
    data_of,
    door,
    has_mark,
    id_at,
    item,
    load_at,
    new_reference,
    nothing,
    set_item,
    store_at,
    store_byte_at,
    utf8_of,
)
from subwords.kernels.door_encode import Plan
from subwords.kernels.jit import I64, Int, helper, inlined
from subwords.kernels.layout import AT_OUT, DONE, PROGRESS, Normalized

__all__ = ["ManyStage", "ManyWork", "encode_many", "lists_door", "plan_of", "read_door", "release_door"]

MOST = 1 << 40  # bytes of one text

# ------------------------------------------------------------------ reading addresses

TEXTS, ADDRESSES, LENGTHS, OWNERS, UNMARKED = range(1, 6)  # of the tuple that `read_door` takes


@door
def read_door(carried: Int, request: Int) -> Int:
    """Write the address and the length of the UTF-8 of each text of a tuple; how many there are before another thing.

    The request is a tuple: the number of texts (an array), the texts, two arrays, a list for the bytes that are made,
    and whether bytes and texts with U+2581 are another thing (an array).
    """
    texts, owners = item(request, TEXTS), item(request, OWNERS)
    n, marks = load_at(data_of(item(request, 0))), load_at(data_of(item(request, UNMARKED)))
    addresses, lengths, i = data_of(item(request, ADDRESSES)), data_of(item(request, LENGTHS)), I64(0)
    while i < n:
        text = item(texts, i)
        if marks == 0 and load_at(text + TYPE) == api_of(carried, BYTES_TYPE):
            address, owner = call_at(api_of(carried, BYTES_DATA), text), I64(0)
            store_at(lengths + 8 * i, call_at(api_of(carried, BYTES_SIZE), text))
        else:
            address, owner = utf8_of(carried, text, MOST, lengths + 8 * i)
        if owner != 0:
            failed = call_at(api_of(carried, LIST_APPEND), owners, owner) & 1
            call_at(api_of(carried, RELEASE), owner)
            if failed != 0:
                return I64(0)
        if address == 0 or (marks != 0 and owner != 0 and has_mark(address, load_at(lengths + 8 * i))):
            break
        store_at(addresses + 8 * i, address)
        i += 1
    return call_at(api_of(carried, INT_NEW), i)


# ------------------------------------------------------------------ encoding

# Fields of a plan, which belongs to one thread. The texts NEXT to LAST - 1 remain; ADDRESSES_AT and LENGTHS_AT are
# those of all texts, OFFSETS_AT is where the number of ids up to the end of text NEXT goes. FILLED_IDS: in `out`.
# After a return: texts up to UPTO are in the buffer, SIZE bytes, with WORDS. STATUS: of the encoding kernel, or 0.
SPLIT_MANY, TABLES_TAKEN, KEEP, ENCODE, PREFIXED, STAGES, WORKSPACE, OUT = range(8)
NEXT, LAST, ADDRESSES_AT, LENGTHS_AT, OFFSETS_AT, UPTO, SIZE, WORDS, STATUS, FILLED_IDS = range(8, 18)
ARRAY, BOUNDS, ENDS_ARRAY, HEADER = 18, 24, 30, 6  # arrays made up: a header and its length
FIRST_STAGE = 36
STAGE, SCRATCHES, FOURTH, STAGE_ROW = range(4)
PLAN_FIELDS = FIRST_STAGE + 4 * STAGE_ROW
BUFFER = 60000  # bytes of texts at once: all their words have room
MOST_TEXTS = 1024


class ManyWork(NamedTuple):
    """What encoding many texts works with."""

    buffer: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    tables: Any
    tail: Any
    ends: NDArray[np.uint32]
    text_ends: NDArray[np.int64]
    drops: Any
    kept_text: Any
    kept_ends: Any
    stages: tuple[Any, ...]  # of `ManyStage`


TEXT, TEXT_BOUNDS, TABLES, TAIL, WORD_ENDS, TEXT_ENDS, DROPS, KEPT_TEXT, KEPT_ENDS, WORKING = range(10)


class ManyStage(NamedTuple):
    """What a stage of the normalizer works with."""

    tables: Any
    scratch: Any
    out: Normalized
    progress: NDArray[np.int64]


STAGE_TABLES, STAGE_SCRATCH, STAGE_OUT, STAGE_PROGRESS = range(4)


@inlined
def get(plan, k):
    """A field of a plan."""
    return load_at(plan + 8 * k)


@inlined
def put(plan, k, value):
    """Set a field of a plan."""
    store_at(plan + 8 * k, value)


@inlined
def point_to(plan, array, address, size):
    """Make one of the plan's arrays that of `size` elements at an address; returns it."""
    header = plan + 8 * array
    store_at(header + DATA, address)
    store_at(header + SIZES, header + 8 * (HEADER - 1))
    store_at(header + 8 * (HEADER - 1), size)
    return header


@helper
def gather(work, plan):
    """Copy the next texts into the buffer, with their bounds; the index after them."""
    to, bounds, i, filled = data_of(item(work, TEXT)), data_of(item(work, TEXT_BOUNDS)), get(plan, NEXT), I64(0)
    addresses, lengths, first = get(plan, ADDRESSES_AT), get(plan, LENGTHS_AT), get(plan, NEXT)
    last = min(get(plan, LAST), first + MOST_TEXTS)
    store_at(bounds, 0)
    while i < last:
        size = load_at(lengths + 8 * i)
        if filled + size + 1 > BUFFER:
            break
        if size > 0 and get(plan, PREFIXED) != 0:
            store_byte_at(to + filled, 32)
            filled += 1
        copy_bytes(to + filled, load_at(addresses + 8 * i), size)
        filled += size
        i += 1
        store_at(bounds + 8 * (i - first), filled)
    put(plan, UPTO, i)
    put(plan, SIZE, filled)
    return i


@helper
def normalize_many(work, plan, address, bounds, texts):
    """Normalize texts by all stages: (address, bounds, whether all went well)."""
    for s in range(get(plan, STAGES)):
        row, stage = FIRST_STAGE + STAGE_ROW * s, item(item(work, WORKING), s)
        array = point_to(plan, ARRAY, address, load_at(bounds + 8 * texts))
        ends = point_to(plan, BOUNDS, bounds, texts + 1)
        out, progress, tables = item(stage, STAGE_OUT), item(stage, STAGE_PROGRESS), item(stage, STAGE_TABLES)
        numbers = data_of(progress)
        for k in range(PROGRESS):
            store_at(numbers + 8 * k, get(plan, row + FOURTH) if k == 3 else 0)
        if get(plan, row + SCRATCHES) != 0:
            status = call_at(get(plan, row + STAGE), array, ends, tables, item(stage, STAGE_SCRATCH), out, progress)
        else:
            status = call_at(get(plan, row + STAGE), array, ends, tables, out, progress)
        address, bounds = data_of(item(out, 0)), data_of(item(out, 2))
        if status != DONE or load_at(numbers + 8 * AT_OUT) > BUFFER:
            return address, bounds, False
    return address, bounds, True


@helper
def split_many(work, plan, address, bounds, texts):
    """Split texts, and drop words: whether all went well; the plan's ARRAY is then the text that the words are of."""
    array = point_to(plan, ARRAY, address, load_at(bounds + 8 * texts))
    ends, words, marks, zero = (
        point_to(plan, BOUNDS, bounds, texts + 1),
        item(work, WORD_ENDS),
        item(work, TEXT_ENDS),
        I64(0),
    )
    if get(plan, TABLES_TAKEN) == 2:
        done = call_at(get(plan, SPLIT_MANY), array, ends, zero, item(work, TABLES), item(work, TAIL), words, marks)
    else:
        done = call_at(get(plan, SPLIT_MANY), array, ends, zero, item(work, TABLES), words, marks)
    if done != texts:
        return False
    number = point_to(plan, ENDS_ARRAY, data_of(marks) + 8, texts)
    if get(plan, KEEP) != 0:
        kept, text = item(work, KEPT_ENDS), item(work, KEPT_TEXT)
        count = call_at(get(plan, KEEP), array, zero, words, number, item(work, DROPS), text, kept)
        point_to(plan, ARRAY, data_of(text), id_at(data_of(kept) + 4 * (count - 1)) if count > 0 else zero)
    put(plan, WORDS, load_at(data_of(marks) + 8 * texts))
    return True


@door
def encode_many(work: Int, plan: Int) -> Int:
    """Append the ids of the next texts to the FILLED_IDS ones in `out`: DONE, or -1.

    -1: the texts NEXT to UPTO - 1 are in the buffer, but not encoded. If STATUS is not 0, they are split, and encoding
    has begun; see `table.encode.encode_all`. If UPTO is NEXT, the next text is too long for the buffer.
    """
    ends, zero = item(work, KEPT_ENDS) if get(plan, KEEP) != 0 else item(work, WORD_ENDS), I64(0)
    while get(plan, NEXT) < get(plan, LAST):
        put(plan, STATUS, 0)
        first = get(plan, NEXT)
        texts = gather(work, plan) - first
        if texts == 0:
            return I64(-1)
        address, bounds = data_of(item(work, TEXT)), data_of(item(work, TEXT_BOUNDS))
        address, bounds, well = normalize_many(work, plan, address, bounds, texts)
        if not well or not split_many(work, plan, address, bounds, texts):
            return I64(-1)
        array, marks, words = plan + 8 * ARRAY, plan + 8 * ENDS_ARRAY, get(plan, WORDS)
        out, count, workspace = get(plan, OUT), get(plan, FILLED_IDS), get(plan, WORKSPACE)
        count = call_at(get(plan, ENCODE), array, zero, ends, words, marks, texts, out, count, workspace)
        if count < 0:
            put(plan, STATUS, -count)
            return I64(-1)
        put(plan, FILLED_IDS, count)
        copy_bytes(get(plan, OFFSETS_AT), data_of(marks), 8 * texts)
        put(plan, OFFSETS_AT, get(plan, OFFSETS_AT) + 8 * texts)
        put(plan, NEXT, first + texts)
    return zero


def plan_of(made: Plan) -> NDArray[np.int64]:
    """Return a plan for one thread."""
    plan = np.zeros(PLAN_FIELDS, np.int64)
    plan[[SPLIT_MANY, TABLES_TAKEN, ENCODE]] = address_of(made.split), made.tables, address_of(made.encode)
    plan[KEEP] = 0 if made.keep is None else address_of(made.keep)
    plan[[PREFIXED, STAGES]] = made.prefixed, len(made.stages)
    for s, (kernel, scratches, fourth) in enumerate(made.stages):
        row = FIRST_STAGE + STAGE_ROW * s
        plan[row : row + STAGE_ROW] = address_of(kernel), scratches, fourth
    return plan


# ------------------------------------------------------------------ lists

IDS, OFFSETS, PART, INTS = range(4)  # of the tuple that `lists_door` takes


@helper
def shared_int(carried, ints, number):
    """A new reference to the int of an id: made once, and kept in `ints` by id; 0 after an exception."""
    found = load_at(ints + 8 * number)
    if found == 0:
        found = call_at(api_of(carried, INT_NEW), number)
        store_at(ints + 8 * number, found)
        if found == 0:
            return I64(0)
    return new_reference(carried, found)


@helper
def ints_of(carried, ints, ids, n):
    """The list of n ids at an address; 0 after an exception."""
    made = call_at(api_of(carried, LIST_NEW), n)
    if made == 0:
        return I64(0)
    for k in range(n):
        number = shared_int(carried, ints, id_at(ids + 4 * k))
        if number == 0:
            call_at(api_of(carried, RELEASE), made)
            return I64(0)
        set_item(made, k, number)
    return made


@door
def lists_door(carried: Int, request: Int) -> Int:
    """The lists of the ids of some texts.

    The request is a tuple of arrays: ids, offsets, the first and the last text, and for each id its int or 0.
    Garbage is not collected meanwhile: that took three quarters of the time. No other thread runs, so none sees that.
    """
    ids, offsets, part = data_of(item(request, IDS)), data_of(item(request, OFFSETS)), data_of(item(request, PART))
    first, last, ints = load_at(part), load_at(part + 8), data_of(item(request, INTS))
    collects = call_at(api_of(carried, GC_OFF)) & 1
    lists = call_at(api_of(carried, LIST_NEW), last - first)
    i = first
    while i < last and lists != 0:
        begin, stop = load_at(offsets + 8 * i), load_at(offsets + 8 * (i + 1))
        made = ints_of(carried, ints, ids + 4 * begin, stop - begin)
        if made != 0:
            set_item(lists, i - first, made)
        else:
            call_at(api_of(carried, RELEASE), lists)
            lists = I64(0)
        i += 1
    if collects != 0:
        call_at(api_of(carried, GC_ON))
    return lists


@door
def release_door(carried: Int, ints: Int) -> Int:
    """Release the ints of an array of addresses, which the caller drops then."""
    data, n = data_of(ints), load_at(load_at(ints + SIZES))
    for k in range(n):
        if load_at(data + 8 * k) != 0:
            call_at(api_of(carried, RELEASE), load_at(data + 8 * k))
            store_at(data + 8 * k, 0)
    return nothing(carried)
