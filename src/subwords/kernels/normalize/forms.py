"""The normal forms of Unicode, of many texts at once.

What a form leaves alone is found by a table and copied. The rest is taken in stretches, from one character that nothing
before it can change to the next: decomposed, sorted, composed.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    Parts,
    U8s,
    U32s,
    U64s,
    char_at,
    helper,
    inlined,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.normalize.characters import CRAMPED, DONE, FULL, INVALID, Output, keep, valid_starts, width
from subwords.kernels.split.pack import LANES
from subwords.kernels.text.utf8 import decode_at

STRETCH = 4096  # bytes that are copied at once, more or less
STARTS, CHANGES = 1, 2  # whether what comes before a character cannot change it; whether a form changes it
CLASS, WEIGHT = 32, 40  # bits of an item below its class, and below its weight
ZERO, ONE = U64(0), U64(1)


class Forming(NamedTuple):
    """A normal form, and room for one stretch of characters."""

    kinds: object  # of code points: STARTS, CHANGES
    classes: object  # of code points: the combining class
    entries: object  # of code points, where the decomposition stands in `codes` and (below) its length; 0: none
    codes: object
    pairs: object  # uint64: what composes, the first character above the second, in order
    results: object  # and what it composes to
    count: int  # of pairs
    items: object  # int64: a character, its class, and how many characters of the text it stands for
    spare: object
    room: int  # items


@inlined
def class_of(item):
    """The combining class of an item."""
    return item >> CLASS & 255


@helper
def gather(f, p, i, stop):
    """Decompose the characters from p[i] on up to the next that starts: (where it came, items; -1 for lack of room)."""
    begin, n = i, I64(0)
    while i < stop:
        code, length = decode_at(p, i, stop)
        index = code if code >= 0 else INVALID
        if i > begin and f.kinds[index] & STARTS != 0:
            break
        entry = I64(f.entries[index])
        count = max(entry & 255, 1)
        if n + count > f.room:
            return i, I64(-1)
        f.items[n] = code if code >= 0 else INVALID + I64(p[i])
        for k in range(entry & 255):
            f.items[n + k] = I64(f.codes[(entry >> 8) + k])
        for k in range(n, n + count):
            f.items[k] |= I64(f.classes[min(f.items[k], INVALID)]) << CLASS
        f.items[n] |= I64(1) << WEIGHT
        n += count
        i += length
    return i, n


@helper
def sort_marks(f, first, stop):
    """Sort items by class and keep the order of equals: once over them for every class, of which there are 55."""
    filled, last = first, I64(0)
    while filled < stop:
        least = I64(256)
        for k in range(first, stop):
            if last < class_of(f.items[k]) < least:
                least = class_of(f.items[k])
        for k in range(first, stop):
            if class_of(f.items[k]) == least:
                f.spare[filled] = f.items[k]
                filled += 1
        last = least
    for k in range(first, stop):
        f.items[k] = f.spare[k]


@helper
def order(f, n):
    """Put marks that follow each other in the order of their classes."""
    k = I64(0)
    while k < n:
        first, last, sorted_ = k, I64(0), True
        while k < n and class_of(f.items[k]) != 0:
            sorted_ &= class_of(f.items[k]) >= last
            last = class_of(f.items[k])
            k += 1
        if not sorted_:
            sort_marks(f, first, k)
        k += 1


@helper
def composed(f, first, second):
    """What two characters compose to, or -1."""
    key = U64(first) << U64(21) | U64(second)
    low, high = I64(0), I64(f.count)
    while low < high:
        middle = (low + high) >> 1
        if f.pairs[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < f.count and f.pairs[low] == key:
        return I64(f.results[low])
    return I64(-1)


@helper
def compose(f, n):
    """Compose items with the last starter, unless one of the same class or a higher one is between; return how many."""
    code_of = (I64(1) << CLASS) - 1
    size, starter, last = I64(0), I64(-1), I64(-1)
    for k in range(n):
        item = f.items[k]
        if starter >= 0 and last < class_of(item):
            code = composed(f, f.items[starter] & code_of, item & code_of)
            if code >= 0:
                f.items[starter] = ((f.items[starter] >> WEIGHT) + (item >> WEIGHT)) << WEIGHT | code
                continue
        if class_of(item) == 0:
            starter, last = size, I64(-1)
        elif starter >= 0:
            last = class_of(item)
        f.items[size] = item
        size += 1
    return size


@helper
def encode_at(q, j, code):
    """Write a character as UTF-8, or the byte that INVALID + byte stands for, and return its length."""
    if code < 0x80 or code >= INVALID:
        q[j] = code & 255
        return 1
    if code < 0x800:
        q[j], q[j + 1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
        return 2
    if code < 0x10000:
        q[j], q[j + 1], q[j + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
        return 3
    q[j], q[j + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
    q[j + 2], q[j + 3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
    return 4


@helper
def emit(f, w, p, at, n, j):
    """Write items, which stand for the characters from p[at] on, and return the place behind.

    One that stands for no character of its own stands for that before: as HF has it, however marks were sorted.
    """
    before = at
    for k in range(n):
        item = f.items[k]
        weight = item >> WEIGHT
        length = encode_at(w.text, j, item & ((I64(1) << CLASS) - 1))
        if w.tracked:
            for b in range(length):
                w.source[j + b] = at if weight > 0 else before
            for _ in range(weight):
                before = at
                _, size = decode_at(p, at, w.limit)
                at += size
        j += length
    return j


@helper
def form_stretch(f, w, p, i, j, stop):
    """Write the characters from p[i] on up to the next that starts: (where it came, to where, status)."""
    after, n = gather(f, p, i, stop)
    if n < 0:
        return i, j, CRAMPED
    if j + 4 * n > w.room:
        return i, j, FULL
    order(f, n)
    if f.count > 0:
        n = compose(f, n)
    return after, emit(f, w, p, i, n, j), DONE


@inlined
def inert(f, p, i, size):
    """Where a block ends that the form leaves alone, and its last character begins; twice i if it is no such block."""
    starts, kinds, at = valid_starts(p, i, size), I64(0), i
    if starts == ZERO:
        return i, i
    while starts != ZERO:
        at = i + trailing_zeros(starts)
        starts &= starts - ONE
        kinds |= I64(f.kinds[char_at(p, at)]) ^ STARTS
    return (at + width(p, at), at) if kinds == 0 else (i, i)


@helper
def form_text(f, w, p, i, j, stop):
    """Write a text up to `stop`: (where it came, to where, status).

    What stays as it is waits until it is known to: text[run:start] is to be copied, and a stretch begins at `start`.
    """
    run, start, last, slow = i, i, I64(0), i
    while i < stop:
        if start - run >= STRETCH:
            if j + (start - run) + LANES > w.room:
                return run, j, FULL
            j, run = keep(w, j, p, run, start - run), start
        if i + LANES <= stop and range_mask(p, i, 0x80, 0xFF) == ZERO:
            i, start, last = i + LANES, i + LANES - 1, I64(0)
            continue
        if i >= slow and i + LANES + 3 <= w.limit:
            upto, last_start = inert(f, p, i, min(LANES, stop - i))
            if upto > i:
                i, start, last = upto, last_start, I64(0)
                continue
            slow = i + LANES
        code, length = decode_at(p, i, stop)
        code = code if code >= 0 else I64(INVALID)
        kind, mark = f.kinds[code], I64(f.classes[code])
        if kind & STARTS != 0:
            start, last = i, I64(0)
        if kind & CHANGES == 0 and mark >= last:
            i, last = i + length, mark
            continue
        if j + (start - run) + LANES > w.room:
            return run, j, FULL
        j = keep(w, j, p, run, start - run)
        i, j, status = form_stretch(f, w, p, start, j, stop)
        run, start, last = i, i, I64(0)
        if status != DONE:
            return i, j, status
    if j + (stop - run) + LANES > w.room:
        return run, j, FULL
    return stop, keep(w, j, p, run, stop - run), DONE


@kernel
def form_texts(
    text: U8s,
    bounds: I64s,
    tables: Parts[U8s, U8s, U32s, U32s, U64s, U32s],
    room: Parts[I64s, I64s],
    out: Parts[U8s, I64s, I64s],
    state: I64s,
) -> Int:
    """Put text[bounds[t] : bounds[t + 1]] in a normal form: DONE, FULL, or CRAMPED where `room` lacks some."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(state), pointer(out[2])
    f = Forming(
        pointer(tables[0]),
        pointer(tables[1]),
        pointer(tables[2]),
        pointer(tables[3]),
        pointer(tables[4]),
        pointer(tables[5]),
        len(tables[4]),
        pointer(room[0]),
        pointer(room[1]),
        len(room[0]),
    )
    w = Output(pointer(out[0]), pointer(out[1]), len(out[1]) > 0, len(out[0]), len(text))
    t, i, j, status = s[0], s[1], s[2], DONE
    while t < len(bounds) - 1 and status == DONE:
        i, j, status = form_text(f, w, p, i, j, b[t + 1])
        if status == DONE:
            t += 1
            ends[t] = j
    s[0], s[1], s[2] = t, i, j
    return status
