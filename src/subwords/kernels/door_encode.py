"""The doors of encoding: text to ids, in one call; see `door.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.door import (
    API,
    DATA,
    INT_NEW,
    LIST_GET,
    LIST_SET,
    NO,
    NONE,
    RELEASE,
    SIZES,
    TAKE,
    YES,
    address_of,
    api,
    api_of,
    built_in,
    call_at,
    copy_bytes,
    data_of,
    door,
    has_mark,
    id_at,
    item,
    load_at,
    new_list,
    new_reference,
    nothing,
    store_at,
    store_byte_at,
    utf8_of,
)
from subwords.kernels.jit import I64, Int, Kernel, helper, inlined
from subwords.kernels.layout import AT_OUT, BEGIN, DONE, NEXT_TEXT, NEXT_WORD, PROGRESS, SHORT_TEXT, Normalized

__all__ = ["Door", "Hand", "Kept", "Plan", "StagePlan", "Working", "door_of"]

# Items of what a built-in function carries, after the table of Python's functions: its plan, and the list with the
# slot of a `Hand`.
PLAN, SLOT = API + 1, API + 2
# Fields of a plan. TABLES_TAKEN: 2 if the split kernel takes classes and a tail, 1 for a transducer. KEEP: the kernel
# that drops words, or 0. MOST: bytes of a text. PREFIXED: a space is put before a text. MARKED: a text with U+2581 goes
# the other way. SIZE, ARRAY: a length, and what kernels read of an array object, made up for bytes of this length.
SPLIT, TABLES_TAKEN, KEEP, ENCODE, MOST, COUNTING, PREFIXED, MARKED, STAGES, SIZE, ARRAY = range(11)
FIRST_STAGE = ARRAY + 5
# Fields of a stage of the normalizer: its kernel, whether this takes a scratch, and the fourth number of its progress.
STAGE, SCRATCHES, FOURTH, STAGE_ROW = range(4)
MOST_STAGES = 4
PLAN_SIZE = FIRST_STAGE + MOST_STAGES * STAGE_ROW
ROOM = 40000  # bytes of a normalized text, with those that blocks may overwrite
MOST_NORMALIZED = 1 << 15  # bytes: there is room for their words


class Hand(NamedTuple):
    """What one call works with, all of it owned by a thread's state; the slot holds it between calls."""

    tables: Any  # what the split kernel takes: classes or a transducer
    tail: Any
    ends: Any
    none: Any
    out: Any
    workspace: Any
    counters: Any
    kept: Any  # a `Kept`, or anything
    before: Any  # room for a text and a prefix
    stages: tuple[Any, ...]  # of `Working`
    state: Any


TABLES, TAIL, WORD_ENDS, NO_TEXTS, OUT, WORKSPACE, STATE_COUNTERS, KEPT, BEFORE, WORKING = range(10)


class Kept(NamedTuple):
    """What dropping words works with."""

    text_ends: NDArray[np.int64]
    drops: NDArray[np.uint8]
    text: NDArray[np.uint8]
    ends: NDArray[np.uint32]


KEPT_TEXT_ENDS, KEPT_DROPS, KEPT_TEXT, KEPT_ENDS = range(4)


class Working(NamedTuple):
    """What a stage of the normalizer works with."""

    tables: Any
    scratch: Any
    out: Normalized
    bounds: NDArray[np.int64]
    progress: NDArray[np.int64]


STAGE_TABLES, STAGE_SCRATCH, STAGE_OUT, STAGE_BOUNDS, STAGE_PROGRESS = range(5)


@inlined
def take_hand(carried):
    """Take the hand out of its slot, which has False meanwhile; 0 if it is not there."""
    slot = item(carried, SLOT)
    hand = call_at(api_of(carried, LIST_GET), slot, 0)
    if hand == api_of(carried, NONE) or hand == api_of(carried, NO):
        return I64(0)
    call_at(api_of(carried, TAKE), hand)
    call_at(api_of(carried, LIST_SET), slot, 0, new_reference(carried, api_of(carried, NO)))
    return hand


@inlined
def put_hand(carried, hand):
    """Put the hand back; no other can have come into the slot, which was not free."""
    call_at(api_of(carried, LIST_SET), item(carried, SLOT), 0, hand)


@helper
def restart(hand):
    """Make the counters those of a new text, after a call that stopped halfway."""
    counters = data_of(item(hand, STATE_COUNTERS))
    store_at(counters + 8 * NEXT_TEXT, 0)
    store_at(counters + 8 * NEXT_WORD, 0)
    store_at(counters + 8 * BEGIN, 1)


@inlined
def field(plan, k):
    """A field of a plan."""
    return load_at(plan + 8 * k)


@inlined
def point_to(plan, address, size):
    """Make the plan's array that of `size` bytes at an address; returns it."""
    array = plan + 8 * ARRAY
    store_at(array + DATA, address)
    store_at(array + SIZES, plan + 8 * SIZE)
    store_at(plan + 8 * SIZE, size)
    return array


@helper
def prefixed(hand, address, size):
    """Copy a text after a space: (address, size). The text is not empty."""
    to = data_of(item(hand, BEFORE))
    if size == 0:
        return to, size
    store_byte_at(to, 32)
    copy_bytes(to + 1, address, size)
    return to, size + 1


@helper
def normalized(hand, plan, address, size):
    """Normalize a text by all stages: (address, size); size -1 if one of them cannot."""
    for s in range(field(plan, STAGES)):
        row, work = FIRST_STAGE + STAGE_ROW * s, item(item(hand, WORKING), s)
        array, tables, scratch = point_to(plan, address, size), item(work, STAGE_TABLES), item(work, STAGE_SCRATCH)
        bounds, out, progress = item(work, STAGE_BOUNDS), item(work, STAGE_OUT), item(work, STAGE_PROGRESS)
        store_at(data_of(bounds) + 8, size)
        numbers = data_of(progress)
        for k in range(PROGRESS):
            store_at(numbers + 8 * k, field(plan, row + FOURTH) if k == 3 else 0)
        if field(plan, row + SCRATCHES) != 0:
            status = call_at(field(plan, row + STAGE), array, bounds, tables, scratch, out, progress)
        else:
            status = call_at(field(plan, row + STAGE), array, bounds, tables, out, progress)
        address, size = data_of(item(out, 0)), load_at(numbers + 8 * AT_OUT)
        if status != DONE or size >= MOST_NORMALIZED:
            return address, I64(-1)
    return address, size


@helper
def split_words(hand, plan, array, size):
    """Write the ends of a text's words; their number."""
    split, tables, ends = field(plan, SPLIT), item(hand, TABLES), item(hand, WORD_ENDS)
    if field(plan, TABLES_TAKEN) == 2:
        return call_at(split, array, I64(0), size, tables, item(hand, TAIL), ends)
    return call_at(split, array, I64(0), size, tables, ends)


@helper
def keep_some(hand, plan, array, words):
    """Drop words; the number of those kept, which `plan`'s array is then made to hold."""
    kept = item(hand, KEPT)
    text_ends, text, zero = item(kept, KEPT_TEXT_ENDS), item(kept, KEPT_TEXT), I64(0)
    store_at(data_of(text_ends), words)
    drops, ends = item(kept, KEPT_DROPS), item(kept, KEPT_ENDS)
    words = call_at(field(plan, KEEP), array, zero, item(hand, WORD_ENDS), text_ends, drops, text, ends)
    size = id_at(data_of(ends) + 4 * (words - 1)) if words > 0 else zero
    point_to(plan, data_of(text), size)
    return words


@helper
def ids_of(hand, plan, address, size):
    """Normalize, split and encode text at an address into the hand's `out`: the number of ids, or minus a status."""
    if field(plan, PREFIXED) != 0:
        address, size = prefixed(hand, address, size)
    if field(plan, STAGES) != 0:
        address, size = normalized(hand, plan, address, size)
        if size < 0:
            return I64(-1)
    array, ends, zero = point_to(plan, address, size), item(hand, WORD_ENDS), I64(0)
    words = split_words(hand, plan, array, size)
    if field(plan, KEEP) != 0:
        words, ends = keep_some(hand, plan, array, words), item(item(hand, KEPT), KEPT_ENDS)
    none, out, workspace = item(hand, NO_TEXTS), item(hand, OUT), item(hand, WORKSPACE)
    return call_at(field(plan, ENCODE), array, zero, ends, words, none, zero, out, zero, workspace)


@door
def encode_door(carried: Int, text: Int) -> Int:
    """The list of a text's ids, or their number if the plan is COUNTING; None if the other way must be taken."""
    hand = take_hand(carried)
    if hand == 0:
        return nothing(carried)
    plan = data_of(item(carried, PLAN))
    address, owner = utf8_of(carried, text, field(plan, MOST), plan + 8 * SIZE)
    count, size = I64(-1), field(plan, SIZE)
    if address != 0 and not (field(plan, MARKED) != 0 and owner != 0 and has_mark(address, size)):
        count = ids_of(hand, plan, address, size)
    if owner != 0:
        call_at(api_of(carried, RELEASE), owner)
    if count < 0:
        restart(hand)
        made = nothing(carried)
    elif field(plan, COUNTING) != 0:
        made = call_at(api_of(carried, INT_NEW), count)
    else:
        made = new_list(carried, data_of(item(hand, OUT)), count)
    put_hand(carried, hand)
    return made


@door
def take_door(carried: Int, unused: Int) -> Int:
    """Take the hand out of the slot, or None: Python code may then use it."""
    slot = item(carried, SLOT)
    hand = call_at(api_of(carried, LIST_GET), slot, 0)
    if hand == api_of(carried, NONE) or hand == api_of(carried, NO):
        return nothing(carried)
    call_at(api_of(carried, TAKE), hand)
    call_at(api_of(carried, LIST_SET), slot, 0, nothing(carried))
    return hand


@door
def put_door(carried: Int, hand: Int) -> Int:
    """Put a hand into the slot if that is free: whether it was."""
    slot = item(carried, SLOT)
    if call_at(api_of(carried, LIST_GET), slot, 0) != api_of(carried, NONE):
        return new_reference(carried, api_of(carried, NO))
    call_at(api_of(carried, LIST_SET), slot, 0, new_reference(carried, hand))
    return new_reference(carried, api_of(carried, YES))


class Door(NamedTuple):
    """The built-in functions around one slot."""

    encode: Callable[[object], list[int] | None]
    count_ids: Callable[[object], int | None]
    take: Callable[[], Hand | None]
    put: Callable[[Hand], bool]


class StagePlan(NamedTuple):
    """A stage of a normalizer: its kernel, whether it takes a scratch, and the fourth number of its progress."""

    kernel: Kernel
    scratches: bool
    fourth: int


class Plan(NamedTuple):
    """The kernels that make ids of a text, one after another."""

    stages: tuple[StagePlan, ...]
    split: Kernel
    tables: int  # how many the split kernel takes
    keep: Kernel | None
    encode: Kernel
    prefixed: bool = False
    marked: bool = False


def door_of(made: Plan) -> Door:
    """Return the functions of a plan."""
    slot: list[Hand | None] = [None]
    plans = [np.zeros(PLAN_SIZE, np.int64) for _ in range(2)]
    for counting, plan in enumerate(plans):
        plan[[SPLIT, TABLES_TAKEN, ENCODE]] = address_of(made.split), made.tables, address_of(made.encode)
        plan[KEEP] = 0 if made.keep is None else address_of(made.keep)
        plan[[MOST, COUNTING, PREFIXED, MARKED]] = SHORT_TEXT, counting, made.prefixed, made.marked
        plan[STAGES] = len(made.stages)
        for s, (kernel, scratches, fourth) in enumerate(made.stages):
            row = FIRST_STAGE + STAGE_ROW * s
            plan[row : row + STAGE_ROW] = address_of(kernel), scratches, fourth
    carried = [(api(), plan, slot) for plan in plans]
    return Door(
        built_in(encode_door, carried[0]),
        built_in(encode_door, carried[1]),
        built_in(take_door, carried[0], argument=False),
        built_in(put_door, carried[0]),
    )
