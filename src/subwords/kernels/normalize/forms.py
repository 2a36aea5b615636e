"""The normal forms of Unicode, of many texts at once.

Text that a form does not change is found by a table and copied. The rest is processed in stretches, from one character
that STARTS to the next: decomposed, sorted, composed.

An item (int64) is a character of a stretch: the code point, from bit CLASS on its combining class, and from bit WEIGHT
on how many characters of the text it stands for.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import (
    I64,
    ONE,
    U64,
    ZERO,
    Int,
    char_at,
    helper,
    inlined,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import I64s, Items, NormalForm, Normalized, U8s
from subwords.kernels.normalize.characters import keep, output_pointers, valid_starts, width
from subwords.kernels.text.utf8 import decode_at

STRETCH = 4096  # bytes that are copied at once, more or less
CLASS, WEIGHT = 32, 40  # lowest bits in an item


class Forming(NamedTuple):
    """The pointers of a `NormalForm`, and room for one stretch."""

    kinds: object
    classes: object
    entries: object
    chars: object
    pairs: object
    results: object
    count: int  # pairs
    items: object
    spare: object
    room: int  # items


@inlined
def class_of(item):
    """The combining class of an item."""
    return item >> CLASS & 255


@helper
def gather_items(f, p, i, stop):
    """Decompose the characters from p[i] to the next that STARTS: (place, number of items; -1: no room)."""
    begin, n = i, I64(0)
    while i < stop:
        code, length = decode_at(p, i, stop)
        index = code if code >= 0 else layout.INVALID
        if i > begin and f.kinds[index] & layout.STARTS != 0:
            break
        entry = I64(f.entries[index])
        count = max(entry & layout.LONGEST_ENTRY, 1)
        if n + count > f.room:
            return i, I64(-1)
        f.items[n] = code if code >= 0 else layout.INVALID + I64(p[i])
        for k in range(entry & layout.LONGEST_ENTRY):
            f.items[n + k] = I64(f.chars[(entry >> layout.ENTRY_SHIFT) + k])
        for k in range(n, n + count):
            f.items[k] |= I64(f.classes[min(f.items[k], layout.INVALID)]) << CLASS
        # The first item stands for the character; the others of its decomposition weigh 0.
        f.items[n] |= I64(1) << WEIGHT
        n += count
        i += length
    return i, n


@helper
def sort_marks(f, first, stop):
    """Sort items by class, stable, in one pass for each of at most 55 classes."""
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
    """Sort each run of marks by class."""
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
def find_composition(f, first, second):
    """The composition of two characters, or -1."""
    key = U64(first) << U64(layout.PAIR_SHIFT) | U64(second)
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
    """Compose items with the last starter, unless an item of the same or a higher class is between; their number."""
    code_of = (I64(1) << CLASS) - 1
    size, starter, last = I64(0), I64(-1), I64(-1)
    for k in range(n):
        item = f.items[k]
        if starter >= 0 and last < class_of(item):
            code = find_composition(f, f.items[starter] & code_of, item & code_of)
            if code >= 0:
                f.items[starter] = ((f.items[starter] >> WEIGHT) + (item >> WEIGHT)) << WEIGHT | code
                continue
        if class_of(item) == 0:
            # -1: the next item may compose with this one even if it is a starter, too.
            starter, last = size, I64(-1)
        elif starter >= 0:
            last = class_of(item)
        f.items[size] = item
        size += 1
    return size


@helper
def put_code_point(q, j, code):
    """Write a character as UTF-8, or the byte that INVALID + byte stands for, and return its length."""
    if code < 0x80 or code >= layout.INVALID:
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
def write_items(f, w, p, at, n, j):
    """Write items, which stand for the characters from p[at] on; the place after them.

    An item of weight 0 stands for the character before, as in HF, also if marks were sorted.
    """
    before = at
    for k in range(n):
        item = f.items[k]
        weight = item >> WEIGHT
        length = put_code_point(w.text, j, item & ((I64(1) << CLASS) - 1))
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
    """Write the characters from p[i] to the next that STARTS: (place, place in the result, status)."""
    after, n = gather_items(f, p, i, stop)
    if n < 0:
        return i, j, layout.NEED_SCRATCH
    if j + 4 * n > w.room:
        return i, j, layout.NEED_OUT
    order(f, n)
    if f.count > 0:
        n = compose(f, n)
    return after, write_items(f, w, p, i, n, j), layout.DONE


@inlined
def inert(f, p, i, size):
    """The end of a block that the form does not change, and where its last character begins; (i, i) for others."""
    starts, kinds, at = valid_starts(p, i, size), I64(0), i
    if starts == ZERO:
        return i, i
    while starts != ZERO:
        at = i + trailing_zeros(starts)
        starts &= starts - ONE
        kinds |= I64(f.kinds[char_at(p, at)]) ^ layout.STARTS
    return (at + width(p, at), at) if kinds == 0 else (i, i)


@helper
def form_text(f, w, p, i, j, stop):
    """Write a text up to `stop`: (place, place in the result, status).

    text[run:start] stays as it is and is still to be copied; a stretch may begin at `start`.
    """
    run, start, last, slow = i, i, I64(0), i
    while i < stop:
        if start - run >= STRETCH:
            if j + (start - run) + layout.LANES > w.room:
                return run, j, layout.NEED_OUT
            j, run = keep(w, j, p, run, start - run), start
        if i + layout.LANES <= stop and range_mask(p, i, 0x80, 0xFF) == ZERO:
            # The last of these characters may compose with marks after it: a stretch may begin there.
            i, start, last = i + layout.LANES, i + layout.LANES - 1, I64(0)
            continue
        if i >= slow and i + layout.LANES + 3 <= w.limit:
            upto, last_start = inert(f, p, i, min(layout.LANES, stop - i))
            if upto > i:
                i, start, last = upto, last_start, I64(0)
                continue
            # The block has a character that is not inert: it is not tried again at each of its characters.
            slow = i + layout.LANES
        code, length = decode_at(p, i, stop)
        code = code if code >= 0 else I64(layout.INVALID)
        kind, mark = f.kinds[code], I64(f.classes[code])
        if kind & layout.STARTS != 0:
            start, last = i, I64(0)
        # The quick check of UAX 15: such a character stays, unless marks are out of order.
        if kind & layout.CHANGES == 0 and mark >= last:
            i, last = i + length, mark
            continue
        if j + (start - run) + layout.LANES > w.room:
            return run, j, layout.NEED_OUT
        j = keep(w, j, p, run, start - run)
        i, j, status = form_stretch(f, w, p, start, j, stop)
        run, start, last = i, i, I64(0)
        if status != layout.DONE:
            return i, j, status
    if j + (stop - run) + layout.LANES > w.room:
        return run, j, layout.NEED_OUT
    return stop, keep(w, j, p, run, stop - run), layout.DONE


@kernel
def form_texts(text: U8s, bounds: I64s, form: NormalForm, room: Items, out: Normalized, progress: I64s) -> Int:
    """Put text[bounds[t] : bounds[t + 1]] in a normal form: DONE, NEED_OUT, or NEED_SCRATCH if `room` is too small."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    f = Forming(
        kinds=pointer(form.kinds),
        classes=pointer(form.classes),
        entries=pointer(form.entries),
        chars=pointer(form.chars),
        pairs=pointer(form.pairs),
        results=pointer(form.results),
        count=len(form.pairs),
        items=pointer(room.items),
        spare=pointer(room.spare),
        room=len(room.items),
    )
    w = output_pointers(text, out)
    t, i, j, status = s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out], layout.DONE
    while t < len(bounds) - 1 and status == layout.DONE:
        i, j, status = form_text(f, w, p, i, j, b[t + 1])
        if status == layout.DONE:
            t += 1
            ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    return status
