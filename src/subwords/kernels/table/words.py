"""The words of count tables: those of several tables, in the order of their first places.

Tables with the same seeds have their words in nearly the same order, so a search for the words of one in another, slot
by slot, goes through the memory of both from front to back. A word that an earlier table has too is given to it: its
slot is marked as GIVEN, and skipped.

A row (uint64) is WORD.length, WORD.count, WORD.place and, once the words are in order, WORD.start: where its bytes
begin.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, I64s, Int, U8s, U64s, inlined, kernel, load64, mix, pointer, prefetch
from subwords.kernels.layout import CountTable
from subwords.kernels.table.count import HEADER, find_count, lower_place, opened
from subwords.kernels.table.keys import LENGTH, OWNED, home

ZERO = U64(0)
GIVEN = U64(1) << U64(63)  # in SLOT.key_high, one of the owner's bits
AHEAD = 8  # rows that are prefetched
TOP = U64(56)  # the bits of a hash above the eight that number a share; tables use the lowest ones


@inlined
def has_word(slots, base):
    """Whether the slot is neither free nor GIVEN."""
    # 0 is free, and GIVEN is the sign bit.
    return I64(slots[base + layout.SLOT.key_high]) > 0


@inlined
def first_place(slots, arena, base):
    """Where the word of the slot first occurred."""
    value = slots[base + layout.SLOT.value_high]
    return value if slots[base + layout.SLOT.key_high] & LENGTH != ZERO else load64(arena, I64(value))


@kernel
def give_words(counted: CountTable, first: Int, last: Int, known: CountTable) -> Int:
    """Give the words of the slots first..last that `known` has to it; the number of the others.

    Different words of a table may be given at the same time: they change different slots of `known`.
    """
    table, other, kept = opened(counted), opened(known), 0
    s, arena = table.slots, table.arena
    for base in range(first * layout.SLOT.width, last * layout.SLOT.width, layout.SLOT.width):
        if not has_word(s, base):
            continue
        low, high = s[base + layout.SLOT.key_low], s[base + layout.SLOT.key_high]
        at, length = I64(0), I64(high)
        if high & LENGTH == ZERO:
            at = I64(s[base + layout.SLOT.value_high]) + HEADER
        slot = find_count(other, arena, at, length, low, high, home(low, high, other.seeds, other.mask))
        if other.slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
            kept += 1
            continue
        other.slots[slot * layout.SLOT.width + layout.SLOT.value_low] += s[base + layout.SLOT.value_low]
        lower_place(other, slot * layout.SLOT.width, first_place(s, arena, base))
        s[base + layout.SLOT.key_high] = high | GIVEN
    return kept


@kernel
def number_of_words(counted: CountTable, first: Int, last: Int) -> Int:
    """The number of words in the slots first..last."""
    s, words = pointer(counted.slots), 0
    for slot in range(first, last):
        words += 1 if has_word(s, slot * layout.SLOT.width) else 0
    return words


@kernel
def measure_words(counted: CountTable, first: Int, last: Int, rows: U64s, row: Int) -> Int:
    """Write the rows of the words in the slots first..last, from this row on; the row after."""
    s, a, r = pointer(counted.slots), pointer(counted.arena), pointer(rows)
    for base in range(first * layout.SLOT.width, last * layout.SLOT.width, layout.SLOT.width):
        if has_word(s, base):
            high, at = s[base + layout.SLOT.key_high], row * layout.WORD.width
            r[at + layout.WORD.length] = high >> U64(56) if high & LENGTH != ZERO else high
            r[at + layout.WORD.count], r[at + layout.WORD.place] = (
                s[base + layout.SLOT.value_low],
                first_place(s, a, base),
            )
            row += 1
    return row


@kernel
def share_words(counted: CountTable, first: Int, last: Int, shares: U8s) -> Int:
    """Write a number from 0 to 255 for each word in the slots first..last, by its hash; how many words there are.

    The same word has the same number in all tables with the same seeds.
    """
    s, seeds, out, n = pointer(counted.slots), pointer(counted.seeds), pointer(shares), 0
    for base in range(first * layout.SLOT.width, last * layout.SLOT.width, layout.SLOT.width):
        if has_word(s, base):
            high = s[base + layout.SLOT.key_high] << OWNED >> OWNED
            out[n] = mix(s[base + layout.SLOT.key_low] ^ seeds[0], high ^ seeds[1]) >> TOP
            n += 1
    return n


@kernel
def sort_rows(rows: U64s, count: Int, bits: Int, entries: U64s, spare: U64s, ends: I64s) -> Int:
    """Sort `count` entries (place, row) by their places of this many bits: 1 if the result is in `spare`, else 0.

    A radix sort, the lowest digits first. ends: room for an element per value of a digit. Same as a stable argsort.
    """
    r, source, target, e = pointer(rows), pointer(entries), pointer(spare), pointer(ends)
    digits, swapped, shift = 1 << layout.DIGIT_BITS, 0, 0
    for row in range(count):
        source[layout.SORT_ROW * row], source[layout.SORT_ROW * row + 1] = (
            r[row * layout.WORD.width + layout.WORD.place],
            U64(row),
        )
    while shift < bits:
        for digit in range(digits):
            e[digit] = 0
        for k in range(count):
            e[I64(source[layout.SORT_ROW * k] >> U64(shift) & U64(digits - 1))] += 1
        total = 0
        for digit in range(digits):
            size = e[digit]
            e[digit] = total
            total += size
        for k in range(count):
            digit = I64(source[layout.SORT_ROW * k] >> U64(shift) & U64(digits - 1))
            at = layout.SORT_ROW * e[digit]
            e[digit] += 1
            # Entries of one digit stay in the order of the lower digits: so the last pass leaves all sorted.
            target[at], target[at + 1] = source[layout.SORT_ROW * k], source[layout.SORT_ROW * k + 1]
        source, target = target, source
        swapped = 1 - swapped
        shift += layout.DIGIT_BITS
    return swapped


@kernel
def place_words(rows: U64s, entries: U64s, offsets: I64s, counts: U64s) -> Int:
    """Give the words their starts in the order of the entries; write offsets and counts; the number of bytes."""
    r, order, o, c = pointer(rows), pointer(entries), pointer(offsets), pointer(counts)
    start, last = I64(0), len(counts) - 1
    o[0] = 0
    for k in range(len(counts)):
        prefetch(r, I64(order[layout.SORT_ROW * min(k + AHEAD, last) + 1]) * layout.WORD.width)
        at = I64(order[layout.SORT_ROW * k + 1]) * layout.WORD.width
        r[at + layout.WORD.start] = U64(start)
        start += I64(r[at + layout.WORD.length])
        o[k + 1], c[k] = start, r[at + layout.WORD.count]
    return start


@kernel
def write_words(counted: CountTable, first: Int, last: Int, rows: U64s, row: Int, out: U8s) -> Int:
    """Write the bytes of the words in the slots first..last to where their rows say, from this row on."""
    s, a, r, o = pointer(counted.slots), pointer(counted.arena), pointer(rows), pointer(out)
    for base in range(first * layout.SLOT.width, last * layout.SLOT.width, layout.SLOT.width):
        if not has_word(s, base):
            continue
        # `measure_words` visited the same slots in the same order: row by row they agree.
        high, at = s[base + layout.SLOT.key_high], I64(r[row * layout.WORD.width + layout.WORD.start])
        row += 1
        if high & LENGTH == ZERO:
            word = I64(s[base + layout.SLOT.value_high]) + HEADER
            for k in range(I64(high)):
                o[at + k] = a[word + k]
            continue
        half, length = s[base + layout.SLOT.key_low], I64(high >> U64(56))
        for k in range(min(length, 8)):
            o[at + k] = half & U64(0xFF)
            half >>= U64(8)
        for k in range(8, length):
            o[at + k] = high & U64(0xFF)
            high >>= U64(8)
    return row
