"""Many texts in one call: where their UTF-8 is, and lists of their ids; see `fastpath.py`."""

from __future__ import annotations

from subwords.kernels.fastpath import (
    BYTES_DATA,
    BYTES_SIZE,
    BYTES_TYPE,
    GC_OFF,
    GC_ON,
    INT_NEW,
    LIST_APPEND,
    LIST_NEW,
    RELEASE,
    SIZES,
    TYPE,
    address_kernel,
    api_of,
    call_at,
    data_of,
    has_mark,
    id_at,
    item,
    load_at,
    new_reference,
    nothing,
    set_item,
    store_at,
    utf8_of,
)
from subwords.kernels.jit import I64, Int, helper

__all__ = ["make_lists", "read_texts", "release_ints"]

MOST = 1 << 40  # bytes of one text

# ------------------------------------------------------------------ reading addresses

TEXTS, ADDRESSES, LENGTHS, OWNERS, UNMARKED = range(1, 6)  # of the tuple that `read_texts` takes


@address_kernel
def read_texts(carried: Int, request: Int) -> Int:
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


# ------------------------------------------------------------------ lists

IDS, OFFSETS, PART, INTS = range(4)  # of the tuple that `make_lists` takes


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


@address_kernel
def make_lists(carried: Int, request: Int) -> Int:
    """The lists of the ids of some texts.

    The request is a tuple of arrays: ids, offsets, the first and the last text, and for each id its int or 0.
    The garbage collector is off during the call, where it took three quarters of the time; the GIL is held, so no other
    thread is affected.
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


@address_kernel
def release_ints(carried: Int, ints: Int) -> Int:
    """Release the ints of an array of addresses, which the caller drops then."""
    data, n = data_of(ints), load_at(load_at(ints + SIZES))
    for k in range(n):
        if load_at(data + 8 * k) != 0:
            call_at(api_of(carried, RELEASE), load_at(data + 8 * k))
            store_at(data + 8 * k, 0)
    return nothing(carried)
