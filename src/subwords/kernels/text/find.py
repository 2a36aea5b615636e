"""Searching bytes without holding the GIL."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import U64, I64s, Int, U8s, copy64, helper, kernel, pointer, range_mask, trailing_zeros

ZERO, ONE = U64(0), U64(1)


@helper
def occurs_at(p, i, needle, length):
    """Whether needle[:length] is at p[i]."""
    k = 0
    while k < length and p[i + k] == needle[k]:
        k += 1
    return k == length


@helper
def find_in(p, start, stop, q, length):
    """The first place of q[:length] inside p[start:stop], or -1."""
    second = min(1, length - 1)
    i = start
    while i + length <= stop:
        if i + second + layout.LANES > stop:
            if occurs_at(p, i, q, length):
                return i
            i += 1
            continue
        found = range_mask(p, i, q[0], q[0]) & range_mask(p, i + second, q[second], q[second])
        while found != ZERO:
            k = i + trailing_zeros(found)
            if k + length <= stop and occurs_at(p, k, q, length):
                return k
            found &= found - ONE
        i += layout.LANES
    return -1


@kernel
def find_bytes(text: U8s, start: Int, stop: Int, needle: U8s) -> Int:
    """The first place of a non-empty `needle` inside text[start:stop], or -1; as `bytes.find`."""
    return find_in(pointer(text), start, stop, pointer(needle), len(needle))


@kernel
def cut_out(text: U8s, needle: U8s, out: U8s, ends: I64s) -> Int:
    """Write the text without the places of a non-empty `needle`, and where each of them was; the number of places.

    As `text.split(needle)`: ends[k] is the size of the first k + 1 parts. ends: room for all places. out: room for the
    text and LANES bytes, which are overwritten. `bytes.replace` takes 0.7 to 1.9 ns a byte.
    """
    p, q, o, e, length = pointer(text), pointer(needle), pointer(out), pointer(ends), len(needle)
    at = written = places = 0
    while True:
        found = find_in(p, at, len(text), q, length)
        stop = found if found >= 0 else len(text)
        while at + layout.LANES <= len(text) and at < stop:
            size = min(layout.LANES, stop - at)
            copy64(o, written, p, at)
            at, written = at + size, written + size
        while at < stop:
            o[written] = p[at]
            at, written = at + 1, written + 1
        if found < 0:
            return places
        e[places] = written
        places += 1
        at = found + length


@kernel
def ends_after(text: U8s, byte: Int, ends: I64s) -> Int:
    """Write the place after each byte of this value; their number. ends: room for all."""
    p, e, n, i = pointer(text), pointer(ends), 0, 0
    while i + layout.LANES <= len(text):
        found = range_mask(p, i, byte, byte)
        while found != ZERO:
            e[n] = i + trailing_zeros(found) + 1
            n += 1
            found &= found - ONE
        i += layout.LANES
    while i < len(text):
        if p[i] == byte:
            e[n] = i + 1
            n += 1
        i += 1
    return n
