"""The fast path of decoding: a list of ids to text, in one call; see `fastpath.py`. Its twin is `Joined.of_array`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.entry import (
    API,
    BYTES_DATA,
    BYTES_NEW,
    CLEAR,
    INT_TYPE,
    INT_VALUE,
    LIST_ITEMS,
    LIST_NEW,
    LIST_SIZE,
    LIST_TYPE,
    RELEASE,
    SIZES,
    TYPE,
    api,
    built_in,
)
from subwords.kernels.fastpath import (
    address_kernel,
)
from subwords.kernels.jit import I64, Int, helper, inlined
from subwords.kernels.objects import (
    api_of,
    call_at,
    copy_at,
    data_of,
    id_at,
    item,
    load_at,
    new_text,
    nothing,
    set_item,
    store_id_at,
)
from subwords.kernels.text.utf8 import FLAGS, run_after

# Items of what the built-in function carries, after the table of Python's functions. SCRATCH: of FEW_IDS ids and
# SHORT_RESULT bytes; no other call uses it at once, because no Python code runs before the text is made or dropped.
SPANS, BYTES, SCRATCH = API + 1, API + 2, API + 3
FEW_IDS, SHORT_RESULT = 1 << 10, 1 << 14


@inlined
def count_of(array):
    """The length of an array."""
    return load_at(load_at(array + SIZES))


@inlined
def room_for(carried, size):
    """New bytes, to be written to; 0 after an exception."""
    return call_at(api_of(carried, BYTES_NEW), I64(0), size)


@inlined
def given_up(carried, room):
    """Release bytes, forget an exception, and return None: the caller uses the general path."""
    if room != 0:
        call_at(api_of(carried, RELEASE), room)
    call_at(api_of(carried, CLEAR))
    return nothing(carried)


@helper
def read_list(carried, ids, n, out):
    """Write the n ids of a list to an address, 32 bits each; the number of their bytes, or -1: use the general path.

    -1 for an item of another type than int, for one out of range, and if a break separates single bytes.
    """
    spans, count = data_of(item(carried, SPANS)), count_of(item(carried, SPANS))
    items, value_of = load_at(ids + LIST_ITEMS), api_of(carried, INT_VALUE)
    kind = api_of(carried, INT_TYPE)
    total, run = I64(0), I64(0)
    for k in range(n):
        number = load_at(items + 8 * k)
        if load_at(number + TYPE) != kind:
            return I64(-1)
        value = call_at(value_of, number)
        if value < 0 or value >= count:
            return I64(-1)
        span = load_at(spans + 8 * value)
        store_id_at(out + 4 * k, value)
        total += span & layout.SPAN_SIZE
        if span & FLAGS != 0 or run != 0:
            run = run_after(run, span)
            if run < 0:
                return I64(-1)
    return total


@helper
def copy_tokens(carried, ids, n, out):
    """Write the bytes of n ids, which are at an address, to another one, and up to LANES bytes more."""
    spans, tokens = data_of(item(carried, SPANS)), data_of(item(carried, BYTES))
    for k in range(n):
        span = load_at(spans + 8 * id_at(ids + 4 * k))
        source, size = tokens + (span >> layout.SPAN_START), span & layout.SPAN_SIZE
        copy_at(out, source)
        for more in range(16, size, 16):
            copy_at(out + more, source + more)
        out += size
    return I64(0)


@helper
def make_text(carried, ids, n, total):
    """The text of n ids at an address, which give `total` bytes; None if it is not UTF-8."""
    if total <= SHORT_RESULT:
        room, out = I64(0), data_of(item(carried, SCRATCH)) + 4 * FEW_IDS
    else:
        room = room_for(carried, total + layout.LANES)
        if room == 0:
            return given_up(carried, room)
        out = call_at(api_of(carried, BYTES_DATA), room)
    copy_tokens(carried, ids, n, out)
    text = new_text(carried, out, total, I64(0))
    if text == 0:
        return given_up(carried, room)
    if room != 0:
        call_at(api_of(carried, RELEASE), room)
    return text


@helper
def text_of(carried, ids):
    """The text of a list of ids; None if it needs the general path."""
    if load_at(ids + TYPE) != api_of(carried, LIST_TYPE):
        return nothing(carried)
    n = call_at(api_of(carried, LIST_SIZE), ids)
    if n <= FEW_IDS:
        room, places = I64(0), data_of(item(carried, SCRATCH))
    else:
        room = room_for(carried, 4 * n)
        if room == 0:
            return given_up(carried, room)
        places = call_at(api_of(carried, BYTES_DATA), room)
    total = read_list(carried, ids, n, places)
    if total < 0:
        return given_up(carried, room)
    text = make_text(carried, places, n, total)
    if room != 0:
        call_at(api_of(carried, RELEASE), room)
    return text


@address_kernel
def decode_ids(carried: Int, ids: Int) -> Int:
    """The text of a list of ids; None if it needs the general path."""
    return text_of(carried, ids)


@address_kernel
def decode_lists(carried: Int, lists: Int) -> Int:
    """The texts of a list of lists of ids, None for those that need the general path; None for anything else."""
    if load_at(lists + TYPE) != api_of(carried, LIST_TYPE):
        return nothing(carried)
    n = call_at(api_of(carried, LIST_SIZE), lists)
    made = call_at(api_of(carried, LIST_NEW), n)
    if made == 0:
        return I64(0)
    for k in range(n):
        # A new list, and an error of the text before, may collect garbage: Python code may then change `lists`.
        if call_at(api_of(carried, LIST_SIZE), lists) != n:
            call_at(api_of(carried, RELEASE), made)
            return nothing(carried)
        set_item(made, k, text_of(carried, load_at(load_at(lists + LIST_ITEMS) + 8 * k)))
    return made


Decodes = Callable[[object], str | None]
DecodesMany = Callable[[object], list[str | None] | None]


def list_decoders(spans: NDArray[np.int64], tokens: NDArray[np.uint8]) -> tuple[Decodes, DecodesMany]:
    """Return the functions that decode a list of ids, and many, whose bytes are these spans of the tokens' bytes."""
    carried = api(), spans, tokens, np.empty(4 * FEW_IDS + SHORT_RESULT + layout.LANES, np.uint8)
    return built_in(decode_ids, carried), built_in(decode_lists, carried)
