"""Counting words: the table of words.py with a count and a first place in every slot.

Slot: key low, key high, count, and where the word first occurred. For a long word the last is a place in the arena,
where eight bytes of that offset and then the word itself lie.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import I64, U64, I64s, Int, U8s, U32s, U64s, helper, inlined, kernel, load64, pointer
from subwords.kernels.table.keys import BLOCK, LENGTH, SLOT, differs, make_keys, same_bytes

DONE, NEED_SLOTS, NEED_ARENA = range(3)
WORD, USED, BYTES = range(3)  # fields of `state`
ZERO, ONE = U64(0), U64(1)
HEADER = 8  # bytes before a long word in the arena


class Counts(NamedTuple):
    """The table of one thread."""

    slots: object
    mask: object
    seeds: object
    arena: object
    load: object
    room: object
    state: object


@helper
def find_count(table, text, at, length, low, high, slot):
    """The slot of the key, or the free slot where it belongs."""
    slots = table.slots
    while slots[slot * SLOT + 1] != ZERO:
        if differs(slots, slot * SLOT, low, high) == ZERO:
            if high & LENGTH != ZERO:
                return slot
            if same_bytes(table.arena, I64(slots[slot * SLOT + 3]) + HEADER, text, at, length):
                return slot
        slot = I64(U64(slot + 1) & table.mask)
    return slot


@helper
def write_header(arena, at, value):
    """Write `value` as eight bytes."""
    for k in range(HEADER):
        arena[at + k] = value >> U64(8 * k) & U64(0xFF)


@helper
def add_new(table, text, at, length, low, high, slot, place, weight):
    """Put a new word into the free slot: DONE, or what must grow first."""
    state = table.state
    if state[USED] >= table.load:
        return NEED_SLOTS
    base = slot * SLOT
    value = U64(place)
    if high & LENGTH == ZERO:
        if state[BYTES] + HEADER + length > table.room:
            return NEED_ARENA
        value = U64(state[BYTES])
        write_header(table.arena, state[BYTES], U64(place))
        for k in range(length):
            table.arena[state[BYTES] + HEADER + k] = text[at + k]
        state[BYTES] += HEADER + length
    table.slots[base], table.slots[base + 1] = low, high
    table.slots[base + 2], table.slots[base + 3] = weight, value
    state[USED] += 1
    return DONE


@helper
def lower_place(table, base, place):
    """Let a word have occurred first at `place`, if that is earlier."""
    if table.slots[base + 1] & LENGTH != ZERO:
        table.slots[base + 3] = min(table.slots[base + 3], place)
    elif place < load64(table.arena, I64(table.slots[base + 3])):
        write_header(table.arena, I64(table.slots[base + 3]), place)


@inlined
def count_run(slots, mask, keys, k, stop):
    """Count words as long as they are inline and in the table; how far it came."""
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        while differs(slots, slot * SLOT, low, high) != ZERO:
            if slots[slot * SLOT + 1] == ZERO:
                return k
            slot = I64(U64(slot + 1) & mask)
        if high & LENGTH == ZERO:
            return k
        slots[slot * SLOT + 2] += ONE
        k += 3
    return k


@helper
def open_counts(slots, seeds, arena, state):
    """The table's pointers and limits."""
    count = len(slots) // SLOT
    return Counts(
        pointer(slots), U64(count - 1), pointer(seeds), pointer(arena), count // 16 * 13, len(arena), pointer(state)
    )


@kernel
def count_words(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    place: Int,
    slots: U64s,
    seeds: U64s,
    arena: U8s,
    wide: U64s,
    state: I64s,
) -> Int:
    """Count the words text[start + ends[w - 1] : start + ends[w]] from state[WORD] on, and say why it stopped.

    `place` is the corpus offset of text[start]. Resumable. Same counts, in one order, as `reference.bpe.count_words`.
    """
    p, e, keys = pointer(text), pointer(ends), pointer(wide)
    table = open_counts(slots, seeds, arena, state)
    st = table.state
    while st[WORD] < words:
        first = I64(st[WORD])
        last = min(first + BLOCK, words)
        make_keys(table.slots, table.mask, table.seeds, p, len(text), start, e, first, last, keys)
        k, stop = 0, 3 * (last - first)
        while k < stop:
            k = count_run(table.slots, table.mask, keys, k, stop)
            if k == stop:
                break
            w = first + k // 3
            at = I64(e[w - 1]) if w > 0 else 0
            length = I64(e[w]) - at
            slot = find_count(table, p, start + at, length, keys[k], keys[k + 1], I64(keys[k + 2]))
            if table.slots[slot * SLOT + 1] != ZERO:
                table.slots[slot * SLOT + 2] += ONE
            else:
                status = add_new(table, p, start + at, length, keys[k], keys[k + 1], slot, place + at, ONE)
                if status != DONE:
                    st[WORD] = w
                    return status
            k += 3
        st[WORD] = last
    return DONE


@kernel
def add_words(
    text: U8s,
    ends: I64s,
    weights: U64s,
    places: I64s,
    slots: U64s,
    seeds: U64s,
    arena: U8s,
    wide: U64s,
    state: I64s,
) -> Int:
    """Add words with a count and a place each, text[ends[w - 1] : ends[w]], from state[WORD] on; why it stopped."""
    p, e, keys = pointer(text), pointer(ends), pointer(wide)
    table = open_counts(slots, seeds, arena, state)
    st, weight, place = table.state, pointer(weights), pointer(places)
    while st[WORD] < len(ends):
        w = I64(st[WORD])
        make_keys(table.slots, table.mask, table.seeds, p, len(text), 0, e, w, w + 1, keys)
        at = I64(e[w - 1]) if w > 0 else 0
        length = I64(e[w]) - at
        slot = find_count(table, p, at, length, keys[0], keys[1], I64(keys[2]))
        if table.slots[slot * SLOT + 1] != ZERO:
            table.slots[slot * SLOT + 2] += weight[w]
            lower_place(table, slot * SLOT, U64(place[w]))
        else:
            status = add_new(table, p, at, length, keys[0], keys[1], slot, place[w], weight[w])
            if status != DONE:
                return status
        st[WORD] += 1
    return DONE


@kernel
def measure_words(slots: U64s, arena: U8s, lengths: I64s, weights: U64s, places: I64s) -> Int:
    """Write length, count and place of every word in slot order and return how many there are."""
    s, a = pointer(slots), pointer(arena)
    n, w, f = pointer(lengths), pointer(weights), pointer(places)
    count = 0
    for slot in range(len(slots) // SLOT):
        base = slot * SLOT
        high = s[base + 1]
        if high != ZERO:
            inline = high & LENGTH != ZERO
            n[count] = I64(high >> U64(56)) if inline else I64(high)
            w[count] = s[base + 2]
            f[count] = I64(s[base + 3]) if inline else I64(load64(a, I64(s[base + 3])))
            count += 1
    return count


@kernel
def write_words(slots: U64s, arena: U8s, starts: I64s, out: U8s) -> Int:
    """Write the bytes of every word, in slot order, to out[starts[i]:]."""
    s, a, t, o = pointer(slots), pointer(arena), pointer(starts), pointer(out)
    count = 0
    for slot in range(len(slots) // SLOT):
        base = slot * SLOT
        high = s[base + 1]
        if high == ZERO:
            continue
        at = t[count]
        count += 1
        if high & LENGTH == ZERO:
            for k in range(I64(high)):
                o[at + k] = a[I64(s[base + 3]) + HEADER + k]
            continue
        for k in range(I64(high >> U64(56))):
            half = s[base] if k < 8 else high
            o[at + k] = half >> U64(8 * (k & 7)) & U64(0xFF)
    return count
