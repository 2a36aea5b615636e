"""The doors of encoding: text to ids, in one call; see `door.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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
    data_of,
    door,
    item,
    load_at,
    new_list,
    new_reference,
    nothing,
    store_at,
    utf8_of,
)
from subwords.kernels.jit import I64, Int, Kernel, helper, inlined
from subwords.kernels.layout import BEGIN, NEXT_TEXT, NEXT_WORD

__all__ = ["Door", "Hand", "door_of"]

# Items of what a built-in function carries, after the table of Python's functions: its plan, and the list with the
# slot of a `Hand`.
PLAN, SLOT = API + 1, API + 2
# Fields of a plan. SPLIT_ARGS: 2 for a kernel that takes classes and a tail, 1 for a transducer. MOST: bytes of a text.
# ARRAY: what kernels read of an array object, made up for the bytes of a `str`; SIZE is the length it points to.
SPLIT, SPLIT_ARGS, ENCODE, MOST, COUNTING, SIZE, ARRAY = range(7)
PLAN_SIZE = ARRAY + 5


class Hand(NamedTuple):
    """What one call works with, all of it owned by a thread's state; the slot holds it between calls."""

    tables: Any  # what the split kernel takes: classes or a transducer
    tail: Any
    ends: Any
    none: Any
    out: Any
    workspace: Any
    counters: Any
    state: Any


TABLES, TAIL, ENDS, NO_TEXTS, OUT, WORKSPACE, COUNTERS = range(7)


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
    counters = data_of(item(hand, COUNTERS))
    store_at(counters + 8 * NEXT_TEXT, 0)
    store_at(counters + 8 * NEXT_WORD, 0)
    store_at(counters + 8 * BEGIN, 1)


@helper
def ids_of(hand, plan, address, size):
    """Split and encode text at an address into the hand's `out`: the number of ids, or minus a status."""
    array = plan + 8 * ARRAY
    store_at(array + DATA, address)
    store_at(array + SIZES, plan + 8 * SIZE)
    store_at(plan + 8 * SIZE, size)
    ends = item(hand, ENDS)
    if load_at(plan + 8 * SPLIT_ARGS) == 2:
        words = call_at(load_at(plan + 8 * SPLIT), array, I64(0), size, item(hand, TABLES), item(hand, TAIL), ends)
    else:
        words = call_at(load_at(plan + 8 * SPLIT), array, I64(0), size, item(hand, TABLES), ends)
    return call_at(
        load_at(plan + 8 * ENCODE),
        array,
        I64(0),
        ends,
        words,
        item(hand, NO_TEXTS),
        I64(0),
        item(hand, OUT),
        I64(0),
        item(hand, WORKSPACE),
    )


@door
def encode_door(carried: Int, text: Int) -> Int:
    """The list of a text's ids, or their number if the plan is COUNTING; None if the other way must be taken."""
    hand = take_hand(carried)
    if hand == 0:
        return nothing(carried)
    plan = data_of(item(carried, PLAN))
    address, owner = utf8_of(carried, text, load_at(plan + 8 * MOST), plan + 8 * SIZE)
    count = I64(-1)
    if address != 0:
        count = ids_of(hand, plan, address, load_at(plan + 8 * SIZE))
        if owner != 0:
            call_at(api_of(carried, RELEASE), owner)
    if count >= 0:
        if load_at(plan + 8 * COUNTING) != 0:
            made = call_at(api_of(carried, INT_NEW), count)
        else:
            made = new_list(carried, data_of(item(hand, OUT)), count)
    else:
        restart(hand)
        made = nothing(carried)
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


def door_of(split: Kernel, arguments: int, encode: Kernel, most: int) -> Door:
    """Return the functions that split and encode texts of up to `most` bytes by these kernels."""
    slot: list[Hand | None] = [None]
    plans = [np.zeros(PLAN_SIZE, np.int64) for _ in range(2)]
    for counting, plan in enumerate(plans):
        plan[[SPLIT, SPLIT_ARGS, ENCODE, MOST]] = address_of(split), arguments, address_of(encode), most
        plan[COUNTING] = counting
    carried = [(api(), plan, slot) for plan in plans]
    return Door(
        built_in(encode_door, carried[0]),
        built_in(encode_door, carried[1]),
        built_in(take_door, carried[0], argument=False),
        built_in(put_door, carried[0]),
    )
