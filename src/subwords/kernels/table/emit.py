"""The table of words already segmented: finding, storing, and writing the ids of words that it has.

A slot has a key (keys.py) and two values. The owner's bits of SLOT.key_high are the number of ids, and the values hold
up to INSIDE ids of 32 bits. If there are more ids, or if the word is long, the owner's bits are ELSEWHERE: then
SLOT.value_low is the place of the ids in the arena (low half) and their number (high half), and the high half of
SLOT.value_high is the place of a long word's bytes in the other arena.

A RUN is not an entry of the table: `chars` has the ids of each of its characters.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import HALF, I64, LOW, U64, ZERO, copy16, helper, inlined, pointer, prefetch, store64
from subwords.kernels.table.keys import LENGTH, RUN_KEY, UNKNOWN_KEY, begin_of, differs, end_of, same_bytes

INSIDE = 4
IDS_COUNT = U64(60)  # the owner's bits of SLOT.key_high
ELSEWHERE = U64(15)


class TablePointers(NamedTuple):
    """The pointers and limits of a `WordTable`."""

    slots: object
    mask: object
    seeds: object
    ids: object
    bytes: object
    chars: object
    load: object  # slots that may be used
    ids_room: object
    bytes_room: object
    counters: object


@inlined
def table_pointers(table, counters):
    """The table's pointers and limits."""
    count = len(table.slots) // layout.SLOT.width
    return TablePointers(
        slots=pointer(table.slots),
        mask=U64(count - 1),
        seeds=pointer(table.seeds),
        ids=pointer(table.ids),
        bytes=pointer(table.text),
        chars=pointer(table.chars),
        load=count // 2,
        ids_room=len(table.ids),
        bytes_room=len(table.text),
        counters=pointer(counters),
    )


@helper
def find_slot(table, text, at, length, low, high, slot):
    """The slot that holds the key, or the free slot for it."""
    slots = table.slots
    while slots[slot * layout.SLOT.width + layout.SLOT.key_high] != ZERO:
        if differs(slots, slot * layout.SLOT.width, low, high) == ZERO:
            # An inline key is the whole word. The key of a long word is a hash, so its bytes decide.
            if high & LENGTH != ZERO:
                return slot
            if same_bytes(
                table.bytes, I64(slots[slot * layout.SLOT.width + layout.SLOT.value_high] >> HALF), text, at, length
            ):
                return slot
        slot = I64(U64(slot + 1) & table.mask)
    return slot


@helper
def insert(table, text, at, length, low, high, slot, symbols, n):
    """Store a word and its n ids in the free slot; the arenas must have room."""
    counters, base = table.counters, slot * layout.SLOT.width
    table.slots[base + layout.SLOT.key_low] = low
    if n <= INSIDE and high & LENGTH != ZERO:
        values = (ZERO, ZERO)
        for k in range(n):
            shift = U64(32 * (k & 1))
            values = (
                (values[0] | U64(symbols[k]) << shift, ZERO)
                if k < 2
                else (values[0], values[1] | U64(symbols[k]) << shift)
            )
        table.slots[base + layout.SLOT.key_high] = high | U64(n) << IDS_COUNT
        table.slots[base + layout.SLOT.value_low], table.slots[base + layout.SLOT.value_high] = values
    else:
        table.slots[base + layout.SLOT.key_high] = high | ELSEWHERE << IDS_COUNT
        table.slots[base + layout.SLOT.value_low] = U64(counters[layout.COUNTER.ids_used]) | U64(n) << HALF
        table.slots[base + layout.SLOT.value_high] = U64(counters[layout.COUNTER.bytes_used]) << HALF
        for k in range(n):
            table.ids[counters[layout.COUNTER.ids_used] + k] = symbols[k]
        counters[layout.COUNTER.ids_used] += n
        if high & LENGTH == ZERO:
            for k in range(length):
                table.bytes[counters[layout.COUNTER.bytes_used] + k] = text[at + k]
            counters[layout.COUNTER.bytes_used] += length
    counters[layout.COUNTER.slots_used] += 1


@inlined
def emit_far(ids, value, out, count):
    """Write ids from the arena, at the place and of the number in `value`, and nothing after them; the new count."""
    place, n = I64(value & LOW), I64(value >> HALF)
    copy16(out, count, ids, place, n)
    for k in range(16, n, 16):
        copy16(out, count + k, ids, place + k, n - k)
    return count + n


@inlined
def emit_slot(slots, ids, at, out, count):
    """Write the ids of the slot that starts at `at`; the new count. OUT_PADDING more may be overwritten."""
    n = slots[at + layout.SLOT.key_high] >> IDS_COUNT
    value = slots[at + layout.SLOT.value_low]
    if n != ELSEWHERE:
        store64(out, count, value)
        store64(out, count + 2, slots[at + layout.SLOT.value_high])
        return count + I64(n)
    return emit_far(ids, value, out, count)


@inlined
def char_row(text, at):
    """Where the ids of a character of three bytes are. Reads no more: the text may end there."""
    code = (I64(text[at]) & 0xF) << 12 | (I64(text[at + 1]) & 0x3F) << 6 | I64(text[at + 2]) & 0x3F
    return layout.CHAR_ROW * code


@inlined
def emit_chars(chars, text, at, length, out, count):
    """Write the ids of each character of a RUN: (the new count, whether all characters were known)."""
    for i in range(at, at + length, 3):
        row = char_row(text, i)
        last = chars[row + 1]
        if last == ZERO:
            return count, False
        store64(out, count, chars[row])
        store64(out, count + 2, last)
        count += I64(last >> HALF)
    return count, True


@inlined
def emit_known(slots, mask, ids, chars, text, keys, k, stop, out, count, runs):
    """Write the ids of words until one is not in the table: (next key, new count, words with ids in the arena).

    Nearly all words are in the table. `emit_new` handles the others, so that this loop's values stay in registers.
    `runs`, a constant, says whether there may be a RUN.
    """
    far = 0
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        if runs and high == RUN_KEY:
            more, known = emit_chars(chars, text, I64(low), slot, out, count)
            if not known:
                return k, count, far
            count = more
            k += layout.KEY_ROW
            continue
        while differs(slots, slot * layout.SLOT.width, low, high) != ZERO:
            if slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
                return k, count, far
            slot = I64(U64(slot + 1) & mask)
        at = slot * layout.SLOT.width
        n, value = slots[at + layout.SLOT.key_high] >> IDS_COUNT, slots[at + layout.SLOT.value_low]
        if n != ELSEWHERE:
            store64(out, count, value)
            store64(out, count + 2, slots[at + layout.SLOT.value_high])
            count += I64(n)
        else:
            count = emit_far(ids, value, out, count)
            far += 1
        k += layout.KEY_ROW
    return k, count, far


@inlined
def emit_mixed(slots, mask, keys, k, stop, out, count, gaps, far):
    """The same without the unpredictable branch for ids in the arena: `gaps` says where they go later."""
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        while differs(slots, slot * layout.SLOT.width, low, high) != ZERO:
            if slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
                return k, count, far
            slot = I64(U64(slot + 1) & mask)
        at = slot * layout.SLOT.width
        n, value = slots[at + layout.SLOT.key_high] >> IDS_COUNT, slots[at + layout.SLOT.value_low]
        store64(out, count, value)
        store64(out, count + 2, slots[at + layout.SLOT.value_high])
        # Written in any case, and kept only if `far` moves on: no branch.
        gaps[2 * far], gaps[2 * far + 1] = value, U64(count)
        elsewhere = n == ELSEWHERE
        far += I64(elsewhere)
        count += I64(value >> HALF if elsewhere else n)
        k += layout.KEY_ROW
    return k, count, far


@helper
def fill_gaps(ids, out, gaps, far):
    """Copy the ids that `emit_mixed` left out."""
    for g in range(far):
        emit_far(ids, gaps[2 * g], out, I64(gaps[2 * g + 1]))


@helper
def resolve_odd(table, text, start, ends, first, keys):
    """Find the slots of the odd words; a long word without a slot gets a key that no slot has."""
    slots = table.slots
    for n in range(I64(keys[layout.ODD_COUNT])):
        k = layout.KEY_ROW * (I64(keys[layout.ODD_WORDS + n]) - first)
        at = I64(keys[k + 2]) * layout.SLOT.width
        prefetch(table.ids, I64(slots[at + layout.SLOT.value_low] & LOW))
        prefetch(table.bytes, I64(slots[at + layout.SLOT.value_high] >> HALF))
    for n in range(I64(keys[layout.ODD_COUNT])):
        w = I64(keys[layout.ODD_WORDS + n])
        k = layout.KEY_ROW * (w - first)
        at = start + begin_of(ends, w)
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        length = start + end_of(ends, w) - at
        if (
            high & LENGTH != ZERO
            or differs(slots, slot * layout.SLOT.width, low, high) != ZERO
            or not same_bytes(
                table.bytes, I64(slots[slot * layout.SLOT.width + layout.SLOT.value_high] >> HALF), text, at, length
            )
        ):
            slot = find_slot(table, text, at, length, low, high, slot)
            keys[k + 2] = U64(slot)
            if high & LENGTH == ZERO and slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
                keys[k + 1] = UNKNOWN_KEY


@inlined
def emit_words(table, text, keys, k, stop, out, count):
    """Write the ids of words until one is not in the table. The words contain no RUN. See `emit_known`."""
    return emit_known(table.slots, table.mask, table.ids, table.chars, text, keys, k, stop, out, count, False)


@inlined
def emit_runs(table, text, keys, k, stop, out, count):
    """The same if some are."""
    return emit_known(table.slots, table.mask, table.ids, table.chars, text, keys, k, stop, out, count, True)
