"""Count tables: words of several threads, documents, and all words in the order of their first places.

Tables with the same seeds have their words in nearly the same order, so a search for the words of one in another, slot
by slot, goes through the memory of both from front to back. A word that an earlier table has too is given to it: its
slot is marked as GIVEN, and skipped.

A row (uint64) is WORD.length, WORD.count, WORD.place and, once the words are in order, WORD.start: where its bytes
begin.
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
    copy64,
    helper,
    inlined,
    kernel,
    load64,
    mix,
    pointer,
    prefetch,
)
from subwords.kernels.layout import CountTable, I64s, U8s, U32s, U64s
from subwords.kernels.table.keys import LENGTH, OWNED, differs, home, make_keys, same_bytes

# ---------------------------------------------------------------------------------------------------------------------
# Counting words: a table of words with a count and a first place in every slot.
#
# A slot has a key (keys.py); SLOT.value_low is the word's count, SLOT.value_high the corpus offset where it first
# occurred. For a long word SLOT.value_high is a place in the arena: there are eight bytes with that offset, and then
# the word's bytes.

HEADER = 8  # bytes before a long word in the arena


class Counts(NamedTuple):
    """The table of one thread."""

    slots: object
    mask: object
    seeds: object
    arena: object
    load: object
    room: object
    counters: object


@helper
def find_count(table, text, at, length, low, high, slot):
    """The slot of the key, or the free slot where it belongs."""
    slots = table.slots
    while slots[slot * layout.SLOT.width + layout.SLOT.key_high] != ZERO:
        if differs(slots, slot * layout.SLOT.width, low, high) == ZERO:
            if high & LENGTH != ZERO:
                return slot
            if same_bytes(
                table.arena, I64(slots[slot * layout.SLOT.width + layout.SLOT.value_high]) + HEADER, text, at, length
            ):
                return slot
        slot = I64(U64(slot + 1) & table.mask)
    return slot


@helper
def write_header(arena, at, value):
    """Write `value` as eight bytes."""
    for k in range(HEADER):
        arena[at + k] = value >> U64(8 * k) & U64(0xFF)


@helper
def copy_word(arena, to, text, at, length, size):
    """Copy text[at : at + length] to the arena; up to 64 bytes after it are overwritten."""
    if at + length + layout.LANES <= size:
        for k in range(0, length, layout.LANES):
            copy64(arena, to + k, text, at + k)
        return
    for k in range(length):
        arena[to + k] = text[at + k]


@helper
def add_new(table, text, size, at, length, low, high, slot, place, weight):
    """Store a new word in the free slot: DONE, or the status of what must grow first."""
    counters = table.counters
    if counters[layout.COUNTER.slots_used] >= table.load:
        return layout.NEED_SLOTS
    base = slot * layout.SLOT.width
    value = U64(place)
    if high & LENGTH == ZERO:
        if counters[layout.COUNTER.bytes_used] + HEADER + length + layout.LANES > table.room:
            return layout.NEED_ARENA
        value = U64(counters[layout.COUNTER.bytes_used])
        write_header(table.arena, counters[layout.COUNTER.bytes_used], U64(place))
        copy_word(table.arena, counters[layout.COUNTER.bytes_used] + HEADER, text, at, length, size)
        counters[layout.COUNTER.bytes_used] += HEADER + length
    table.slots[base + layout.SLOT.key_low], table.slots[base + layout.SLOT.key_high] = low, high
    table.slots[base + layout.SLOT.value_low], table.slots[base + layout.SLOT.value_high] = weight, value
    counters[layout.COUNTER.slots_used] += 1
    return layout.DONE


@helper
def lower_place(table, base, place):
    """Lower the first place of a word to `place`, if that is earlier."""
    if table.slots[base + layout.SLOT.key_high] & LENGTH != ZERO:
        table.slots[base + layout.SLOT.value_high] = min(table.slots[base + layout.SLOT.value_high], place)
    elif place < load64(table.arena, I64(table.slots[base + layout.SLOT.value_high])):
        write_header(table.arena, I64(table.slots[base + layout.SLOT.value_high]), place)


@inlined
def count_run(slots, mask, keys, k, stop):
    """Count words until one is long or not in the table; the next key."""
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        while differs(slots, slot * layout.SLOT.width, low, high) != ZERO:
            if slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
                return k
            slot = I64(U64(slot + 1) & mask)
        if high & LENGTH == ZERO:
            return k
        slots[slot * layout.SLOT.width + layout.SLOT.value_low] += ONE
        k += layout.KEY_ROW
    return k


@inlined
def prefetch_long(table, keys, first):
    """Prefetch what the long words of the block will be compared with."""
    slots = table.slots
    for n in range(I64(keys[layout.ODD_COUNT])):
        k = layout.KEY_ROW * (I64(keys[layout.ODD_WORDS + n]) - first)
        base = I64(keys[k + 2]) * layout.SLOT.width
        if keys[k + 1] & LENGTH == ZERO and slots[base + layout.SLOT.key_high] == keys[k + 1]:
            prefetch(table.arena, I64(slots[base + layout.SLOT.value_high]))


@helper
def count_table_pointers(table):
    """The table's pointers and limits."""
    count = len(table.slots) // layout.SLOT.width
    # A table at most half full: as fast on English, 15 % slower on Chinese.
    return Counts(
        slots=pointer(table.slots),
        mask=U64(count - 1),
        seeds=pointer(table.seeds),
        arena=pointer(table.arena),
        load=count // 16 * 13,
        room=len(table.arena),
        counters=pointer(table.counters),
    )


@kernel
def count_words(text: U8s, start: Int, ends: U32s, words: Int, place: Int, counted: CountTable) -> Int:
    """Count the words text[start + ends[w - 1] : start + ends[w]] from counters[COUNTER.next_word] on: DONE or NEED_...

    `place` is the corpus offset of text[start]. Can be resumed. Same counts in the same order as
    `reference.bpe.count_words`.
    """
    p, e, keys = pointer(text), pointer(ends), pointer(counted.keys)
    table = count_table_pointers(counted)
    st = table.counters
    while st[layout.COUNTER.next_word] < words:
        first = I64(st[layout.COUNTER.next_word])
        last = min(first + layout.WORD_BLOCK, words)
        make_keys(table.slots, table.mask, table.seeds, p, len(text), start, e, first, last, keys)
        prefetch_long(table, keys, first)
        k, stop = 0, layout.KEY_ROW * (last - first)
        while k < stop:
            k = count_run(table.slots, table.mask, keys, k, stop)
            if k == stop:
                break
            w = first + k // layout.KEY_ROW
            at = I64(e[w - 1]) if w > 0 else 0
            length = I64(e[w]) - at
            slot = find_count(table, p, start + at, length, keys[k], keys[k + 1], I64(keys[k + 2]))
            if table.slots[slot * layout.SLOT.width + layout.SLOT.key_high] != ZERO:
                table.slots[slot * layout.SLOT.width + layout.SLOT.value_low] += ONE
            else:
                status = add_new(table, p, len(text), start + at, length, keys[k], keys[k + 1], slot, place + at, ONE)
                if status != layout.DONE:
                    # The words before w are counted: the next call begins with w.
                    st[layout.COUNTER.next_word] = w
                    return status
            k += layout.KEY_ROW
        st[layout.COUNTER.next_word] = last
    return layout.DONE


@kernel
def add_words(text: U8s, ends: I64s, weights: U64s, places: I64s, counted: CountTable) -> Int:
    """Add words text[ends[w - 1] : ends[w]], from COUNTER.next_word on, with a count and a place each; as above."""
    p, e, keys = pointer(text), pointer(ends), pointer(counted.keys)
    table = count_table_pointers(counted)
    st, weight, place = table.counters, pointer(weights), pointer(places)
    while st[layout.COUNTER.next_word] < len(ends):
        w = I64(st[layout.COUNTER.next_word])
        make_keys(table.slots, table.mask, table.seeds, p, len(text), 0, e, w, w + 1, keys)
        at = I64(e[w - 1]) if w > 0 else 0
        length = I64(e[w]) - at
        slot = find_count(table, p, at, length, keys[0], keys[1], I64(keys[2]))
        if table.slots[slot * layout.SLOT.width + layout.SLOT.key_high] != ZERO:
            table.slots[slot * layout.SLOT.width + layout.SLOT.value_low] += weight[w]
            lower_place(table, slot * layout.SLOT.width, U64(place[w]))
        else:
            status = add_new(table, p, len(text), at, length, keys[0], keys[1], slot, place[w], weight[w])
            if status != layout.DONE:
                return status
        st[layout.COUNTER.next_word] += 1
    return layout.DONE


GIVEN = U64(1) << U64(63)  # in SLOT.key_high, one of the owner's bits
ROWS_AHEAD = 8  # rows that are prefetched
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
    table, other, kept = count_table_pointers(counted), count_table_pointers(known), 0
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
        prefetch(r, I64(order[layout.SORT_ROW * min(k + ROWS_AHEAD, last) + 1]) * layout.WORD.width)
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


# ---------------------------------------------------------------------------------------------------------------------
# How many documents each word of a count table is in: a row of marks beside every slot.


@kernel
def mark_words(
    text: U8s, start: Int, ends: U32s, text_ends: I64s, documents: I64s, counted: CountTable, marks: U64s
) -> Int:
    """Count for each word text[start + ends[w - 1] : start + ends[w]] the documents that have it; 0.

    All words are in the table. documents: of each text, ascending from 0.
    """
    p, e, keys, m = pointer(text), pointer(ends), pointer(counted.keys), pointer(marks)
    t_ends, of = pointer(text_ends), pointer(documents)
    table = count_table_pointers(counted)
    first, t, words = I64(0), I64(0), t_ends[len(text_ends) - 1]
    while first < words:
        last = min(first + layout.WORD_BLOCK, words)
        make_keys(table.slots, table.mask, table.seeds, p, len(text), start, e, first, last, keys)
        for w in range(first, last):
            while t_ends[t] <= w:
                t += 1
            at, k = I64(e[w - 1]) if w > 0 else I64(0), layout.KEY_ROW * (w - first)
            length = I64(e[w]) - at
            slot = find_count(table, p, start + at, length, keys[k], keys[k + 1], I64(keys[k + 2]))
            row, document = slot * layout.MARK.width, U64(of[t] + 1)
            if m[row + layout.MARK.last] != document:
                m[row + layout.MARK.last] = document
                m[row + layout.MARK.documents] += ONE
        first = last
    return 0


@kernel
def move_marks(old: U64s, old_marks: U64s, new: U64s, new_marks: U64s, seeds: U64s) -> Int:
    """Copy the marks of all words of table `old` to where `rehash` has put the words in table `new`; 0."""
    p, q, seed = pointer(old), pointer(new), pointer(seeds)
    source, target = pointer(old_marks), pointer(new_marks)
    mask = U64(len(new) // layout.SLOT.width - 1)
    for k in range(len(old) // layout.SLOT.width):
        a = k * layout.SLOT.width
        if p[a + layout.SLOT.key_high] != ZERO:
            slot = home(p[a + layout.SLOT.key_low], p[a + layout.SLOT.key_high] << OWNED >> OWNED, seed, mask)
            b = slot * layout.SLOT.width
            # Long words may share a key, but not the place of their bytes.
            while (
                q[b + layout.SLOT.key_low] != p[a + layout.SLOT.key_low]
                or q[b + layout.SLOT.key_high] != p[a + layout.SLOT.key_high]
                or q[b + layout.SLOT.value_high] != p[a + layout.SLOT.value_high]
            ):
                slot = I64(U64(slot + 1) & mask)
                b = slot * layout.SLOT.width
            target[slot * layout.MARK.width + layout.MARK.last] = source[k * layout.MARK.width + layout.MARK.last]
            target[slot * layout.MARK.width + layout.MARK.documents] = source[
                k * layout.MARK.width + layout.MARK.documents
            ]
    return 0
