"""The words of count tables: those of several tables, in the order of their first places.

Tables with the same seeds have their words in nearly the same order, so a search for the words of one in another, slot
by slot, goes through the memory of both from front to back. A word that an earlier table has too is given to it: its
slot is marked as GIVEN, and skipped.

A row (uint64) is ROW_LENGTH, ROW_COUNT, ROW_PLACE and, once the words are in order, ROW_START: where its bytes begin.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I64s, Int, U8s, U64s, inlined, kernel, load64, mix, pointer, prefetch
from subwords.kernels.layout import KEY_HIGH, KEY_LOW, SLOT_ROW, VALUE_HIGH, VALUE_LOW, CountTable
from subwords.kernels.table.count import HEADER, find_count, lower_place, opened
from subwords.kernels.table.keys import LENGTH, OWNED, home
from subwords.kernels.train_layout import (
    DIGIT_BITS,
    ROW_COUNT,
    ROW_LENGTH,
    ROW_PLACE,
    ROW_START,
    SORT_ROW,
    WORD_ROW,
)

ZERO = U64(0)
GIVEN = U64(1) << U64(63)  # in KEY_HIGH, one of the owner's bits
AHEAD = 8  # rows that are prefetched
TOP = U64(56)  # the bits of a hash above the eight that number a share; tables use the lowest ones


@inlined
def has_word(slots, base):
    """Whether the slot is neither free nor GIVEN."""
    # 0 is free, and GIVEN is the sign bit.
    return I64(slots[base + KEY_HIGH]) > 0


@inlined
def first_place(slots, arena, base):
    """Where the word of the slot first occurred."""
    value = slots[base + VALUE_HIGH]
    return value if slots[base + KEY_HIGH] & LENGTH != ZERO else load64(arena, I64(value))


@kernel
def give_words(counted: CountTable, first: Int, last: Int, known: CountTable) -> Int:
    """Give the words of the slots first..last that `known` has to it; the number of the others.

    Different words of a table may be given at the same time: they change different slots of `known`.
    """
    table, other, kept = opened(counted), opened(known), 0
    s, arena = table.slots, table.arena
    for base in range(first * SLOT_ROW, last * SLOT_ROW, SLOT_ROW):
        if not has_word(s, base):
            continue
        low, high = s[base + KEY_LOW], s[base + KEY_HIGH]
        at, length = I64(0), I64(high)
        if high & LENGTH == ZERO:
            at = I64(s[base + VALUE_HIGH]) + HEADER
        slot = find_count(other, arena, at, length, low, high, home(low, high, other.seeds, other.mask))
        if other.slots[slot * SLOT_ROW + KEY_HIGH] == ZERO:
            kept += 1
            continue
        other.slots[slot * SLOT_ROW + VALUE_LOW] += s[base + VALUE_LOW]
        lower_place(other, slot * SLOT_ROW, first_place(s, arena, base))
        s[base + KEY_HIGH] = high | GIVEN
    return kept


@kernel
def number_of_words(counted: CountTable, first: Int, last: Int) -> Int:
    """The number of words in the slots first..last."""
    s, words = pointer(counted.slots), 0
    for slot in range(first, last):
        words += 1 if has_word(s, slot * SLOT_ROW) else 0
    return words


@kernel
def measure_words(counted: CountTable, first: Int, last: Int, rows: U64s, row: Int) -> Int:
    """Write the rows of the words in the slots first..last, from this row on; the row after."""
    s, a, r = pointer(counted.slots), pointer(counted.arena), pointer(rows)
    for base in range(first * SLOT_ROW, last * SLOT_ROW, SLOT_ROW):
        if has_word(s, base):
            high, at = s[base + KEY_HIGH], row * WORD_ROW
            r[at + ROW_LENGTH] = high >> U64(56) if high & LENGTH != ZERO else high
            r[at + ROW_COUNT], r[at + ROW_PLACE] = s[base + VALUE_LOW], first_place(s, a, base)
            row += 1
    return row


@kernel
def share_words(counted: CountTable, first: Int, last: Int, shares: U8s) -> Int:
    """Write a number from 0 to 255 for each word in the slots first..last, by its hash; how many words there are.

    The same word has the same number in all tables with the same seeds.
    """
    s, seeds, out, n = pointer(counted.slots), pointer(counted.seeds), pointer(shares), 0
    for base in range(first * SLOT_ROW, last * SLOT_ROW, SLOT_ROW):
        if has_word(s, base):
            high = s[base + KEY_HIGH] << OWNED >> OWNED
            out[n] = mix(s[base + KEY_LOW] ^ seeds[0], high ^ seeds[1]) >> TOP
            n += 1
    return n


@kernel
def sort_rows(rows: U64s, count: Int, bits: Int, entries: U64s, spare: U64s, ends: I64s) -> Int:
    """Sort `count` entries (place, row) by their places of this many bits: 1 if the result is in `spare`, else 0.

    A radix sort, the lowest digits first. ends: room for an element per value of a digit. Same as a stable argsort.
    """
    r, source, target, e = pointer(rows), pointer(entries), pointer(spare), pointer(ends)
    digits, swapped, shift = 1 << DIGIT_BITS, 0, 0
    for row in range(count):
        source[SORT_ROW * row], source[SORT_ROW * row + 1] = r[row * WORD_ROW + ROW_PLACE], U64(row)
    while shift < bits:
        for digit in range(digits):
            e[digit] = 0
        for k in range(count):
            e[I64(source[SORT_ROW * k] >> U64(shift) & U64(digits - 1))] += 1
        total = 0
        for digit in range(digits):
            size = e[digit]
            e[digit] = total
            total += size
        for k in range(count):
            digit = I64(source[SORT_ROW * k] >> U64(shift) & U64(digits - 1))
            at = SORT_ROW * e[digit]
            e[digit] += 1
            # Entries of one digit stay in the order of the lower digits: so the last pass leaves all sorted.
            target[at], target[at + 1] = source[SORT_ROW * k], source[SORT_ROW * k + 1]
        source, target = target, source
        swapped = 1 - swapped
        shift += DIGIT_BITS
    return swapped


@kernel
def place_words(rows: U64s, entries: U64s, offsets: I64s, counts: U64s) -> Int:
    """Give the words their starts in the order of the entries; write offsets and counts; the number of bytes."""
    r, order, o, c = pointer(rows), pointer(entries), pointer(offsets), pointer(counts)
    start, last = I64(0), len(counts) - 1
    o[0] = 0
    for k in range(len(counts)):
        prefetch(r, I64(order[SORT_ROW * min(k + AHEAD, last) + 1]) * WORD_ROW)
        at = I64(order[SORT_ROW * k + 1]) * WORD_ROW
        r[at + ROW_START] = U64(start)
        start += I64(r[at + ROW_LENGTH])
        o[k + 1], c[k] = start, r[at + ROW_COUNT]
    return start


@kernel
def write_words(counted: CountTable, first: Int, last: Int, rows: U64s, row: Int, out: U8s) -> Int:
    """Write the bytes of the words in the slots first..last to where their rows say, from this row on."""
    s, a, r, o = pointer(counted.slots), pointer(counted.arena), pointer(rows), pointer(out)
    for base in range(first * SLOT_ROW, last * SLOT_ROW, SLOT_ROW):
        if not has_word(s, base):
            continue
        # `measure_words` visited the same slots in the same order: row by row they agree.
        high, at = s[base + KEY_HIGH], I64(r[row * WORD_ROW + ROW_START])
        row += 1
        if high & LENGTH == ZERO:
            word = I64(s[base + VALUE_HIGH]) + HEADER
            for k in range(I64(high)):
                o[at + k] = a[word + k]
            continue
        half, length = s[base + KEY_LOW], I64(high >> U64(56))
        for k in range(min(length, 8)):
            o[at + k] = half & U64(0xFF)
            half >>= U64(8)
        for k in range(8, length):
            o[at + k] = high & U64(0xFF)
            high >>= U64(8)
    return row
