"""Words to ids: a table of words already segmented; for a new word the `segment` function of a model's family.

A call handles words in blocks of BLOCK: first it makes all keys and prefetches their slots, then it looks up every
word and writes its ids. One loop that did both, word by word, ran at two thirds of the speed.

A slot has a key (keys.py) and two values. The owner's bits of KEY_HIGH are the number of ids, and the values hold up to
INSIDE ids of 32 bits. If there are more ids, or if the word is long, the owner's bits are ELSEWHERE: then VALUE_LOW is
the place of the ids in the arena (low half) and their number (high half), and the high half of VALUE_HIGH is the place
of a long word's bytes in the other arena.

Tried and dropped: a small table of 8,192 words before the large one, to fit the second cache (11 % of words miss it):
-25 % speed. Making the keys of the next 64 words while the ids of these are written, to hide memory latency: -6 %.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    I32s,
    I64s,
    Int,
    U8s,
    U64s,
    advance,
    char_at,
    copy16,
    helper,
    inlined,
    kernel,
    pointer,
    prefetch,
    spliced,
    store64,
)
from subwords.kernels.layout import (
    ALONE,
    BEGIN,
    BLOCK,
    BYTES_USED,
    CHAR_ROW,
    DONE,
    FAR,
    IDS_USED,
    JOINED,
    KEY_HIGH,
    KEY_LOW,
    KEY_ROW,
    NEED_ARENA,
    NEED_OUT,
    NEED_SLOTS,
    NEEDED,
    NEXT_TEXT,
    NEXT_WORD,
    ODD_COUNT,
    ODD_WORDS,
    ONCE,
    OUT_PADDING,
    RUN,
    SLOT_ROW,
    SLOTS_USED,
    SUMMED,
    VALUE_HIGH,
    VALUE_LOW,
    WRITTEN,
    WordTable,
)
from subwords.kernels.table.keys import (
    LENGTH,
    RUN_KEY,
    UNKNOWN_KEY,
    begin_of,
    differs,
    end_of,
    make_keys,
    make_run_keys,
    same_bytes,
)

ZERO, ONE, HALF, LOW = U64(0), U64(1), U64(32), U64(0xFFFFFFFF)
INSIDE = 4
LONGEST_KEPT = 1 << 20  # bytes of a word; a longer one is not stored
MIXED = 8  # words of a block with ids in the arena; with more, the branch is often mispredicted in the next block
WARY = -1
FEW = 16  # words of a small block
IDS_COUNT = U64(60)  # the owner's bits of KEY_HIGH
ELSEWHERE = U64(15)


class Table(NamedTuple):
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


class Family(NamedTuple):
    """The functions of a family of models.

    `segment(model, counters, text, at, length, out, count)` writes the ids of a word from out[count] on and returns
    (DONE or ONCE, number of ids), or another status. `settle` (see `settled`) says after every block whether its ids
    are right; if not, the block is encoded again with each word ALONE. `fleeting`: see `never_fleeting`.
    """

    segment: object
    settle: object
    fleeting: object


@helper
def find(table, text, at, length, low, high, slot):
    """The slot that holds the key, or the free slot for it."""
    slots = table.slots
    while slots[slot * SLOT_ROW + KEY_HIGH] != ZERO:
        if differs(slots, slot * SLOT_ROW, low, high) == ZERO:
            if high & LENGTH != ZERO:
                return slot
            if same_bytes(table.bytes, I64(slots[slot * SLOT_ROW + VALUE_HIGH] >> HALF), text, at, length):
                return slot
        slot = I64(U64(slot + 1) & table.mask)
    return slot


@helper
def insert(table, text, at, length, low, high, slot, symbols, n):
    """Store a word and its n ids in the free slot; the arenas must have room."""
    counters, base = table.counters, slot * SLOT_ROW
    table.slots[base + KEY_LOW] = low
    if n <= INSIDE and high & LENGTH != ZERO:
        values = (ZERO, ZERO)
        for k in range(n):
            shift = U64(32 * (k & 1))
            values = (
                (values[0] | U64(symbols[k]) << shift, ZERO)
                if k < 2
                else (values[0], values[1] | U64(symbols[k]) << shift)
            )
        table.slots[base + KEY_HIGH] = high | U64(n) << IDS_COUNT
        table.slots[base + VALUE_LOW], table.slots[base + VALUE_HIGH] = values
    else:
        table.slots[base + KEY_HIGH] = high | ELSEWHERE << IDS_COUNT
        table.slots[base + VALUE_LOW] = U64(counters[IDS_USED]) | U64(n) << HALF
        table.slots[base + VALUE_HIGH] = U64(counters[BYTES_USED]) << HALF
        for k in range(n):
            table.ids[counters[IDS_USED] + k] = symbols[k]
        counters[IDS_USED] += n
        if high & LENGTH == ZERO:
            for k in range(length):
                table.bytes[counters[BYTES_USED] + k] = text[at + k]
            counters[BYTES_USED] += length
    counters[SLOTS_USED] += 1


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
    n = slots[at + KEY_HIGH] >> IDS_COUNT
    value = slots[at + VALUE_LOW]
    if n != ELSEWHERE:
        store64(out, count, value)
        store64(out, count + 2, slots[at + VALUE_HIGH])
        return count + I64(n)
    return emit_far(ids, value, out, count)


@inlined
def char_row(text, at):
    """Where the ids of a character of three bytes are."""
    return CHAR_ROW * char_at(text, at)


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
            k += KEY_ROW
            continue
        while differs(slots, slot * SLOT_ROW, low, high) != ZERO:
            if slots[slot * SLOT_ROW + KEY_HIGH] == ZERO:
                return k, count, far
            slot = I64(U64(slot + 1) & mask)
        at = slot * SLOT_ROW
        n, value = slots[at + KEY_HIGH] >> IDS_COUNT, slots[at + VALUE_LOW]
        if n != ELSEWHERE:
            store64(out, count, value)
            store64(out, count + 2, slots[at + VALUE_HIGH])
            count += I64(n)
        else:
            count = emit_far(ids, value, out, count)
            far += 1
        k += KEY_ROW
    return k, count, far


@inlined
def emit_mixed(slots, mask, keys, k, stop, out, count, gaps, far):
    """The same without the unpredictable branch for ids in the arena: `gaps` says where they go later."""
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        while differs(slots, slot * SLOT_ROW, low, high) != ZERO:
            if slots[slot * SLOT_ROW + KEY_HIGH] == ZERO:
                return k, count, far
            slot = I64(U64(slot + 1) & mask)
        at = slot * SLOT_ROW
        n, value = slots[at + KEY_HIGH] >> IDS_COUNT, slots[at + VALUE_LOW]
        store64(out, count, value)
        store64(out, count + 2, slots[at + VALUE_HIGH])
        gaps[2 * far], gaps[2 * far + 1] = value, U64(count)
        elsewhere = n == ELSEWHERE
        far += I64(elsewhere)
        count += I64(value >> HALF if elsewhere else n)
        k += KEY_ROW
    return k, count, far


@helper
def fill_gaps(ids, out, gaps, far):
    """Copy the ids that `emit_mixed` left out."""
    for g in range(far):
        emit_far(ids, gaps[2 * g], out, I64(gaps[2 * g + 1]))


@helper
def resolve_odd(table, text, start, ends, first, keys):
    """Find the slots of the odd words; a word without a slot gets a key that no slot has."""
    slots = table.slots
    for n in range(I64(keys[ODD_COUNT])):
        k = KEY_ROW * (I64(keys[ODD_WORDS + n]) - first)
        at = I64(keys[k + 2]) * SLOT_ROW
        prefetch(table.ids, I64(slots[at + VALUE_LOW] & LOW))
        prefetch(table.bytes, I64(slots[at + VALUE_HIGH] >> HALF))
    for n in range(I64(keys[ODD_COUNT])):
        w = I64(keys[ODD_WORDS + n])
        k = KEY_ROW * (w - first)
        at = start + begin_of(ends, w)
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        length = start + end_of(ends, w) - at
        if (
            high & LENGTH != ZERO
            or differs(slots, slot * SLOT_ROW, low, high) != ZERO
            or not same_bytes(table.bytes, I64(slots[slot * SLOT_ROW + VALUE_HIGH] >> HALF), text, at, length)
        ):
            slot = find(table, text, at, length, low, high, slot)
            keys[k + 2] = U64(slot)
            if slots[slot * SLOT_ROW + KEY_HIGH] == ZERO:
                keys[k + 1] = UNKNOWN_KEY


@helper
def emit_new(family, model, table, text, at, length, key, out, count):
    """Write the ids of any word; segment and store it if it is not in the table: (status, new count).

    key: its row of make_keys.
    """
    counters, segment = table.counters, family.segment
    if family.fleeting(model, text, at):
        status, n = segment(model, counters, text, at, length, out, count)
        return (DONE if status == ONCE else status), count + n
    low, high = key[0], U64(length) if key[1] == UNKNOWN_KEY else key[1]
    slot = find(table, text, at, length, low, high, I64(key[2]))
    if table.slots[slot * SLOT_ROW + KEY_HIGH] != ZERO and counters[ALONE] <= 0:
        return DONE, emit_slot(table.slots, table.ids, slot * SLOT_ROW, out, count)
    if counters[SLOTS_USED] >= table.load:
        return NEED_SLOTS, count
    kept = length <= LONGEST_KEPT
    if kept and max(counters[IDS_USED] + length - table.ids_room, counters[BYTES_USED] + length - table.bytes_room) > 0:
        counters[NEEDED] = length
        return NEED_ARENA, count
    status, n = segment(model, counters, text, at, length, out, count)
    if status == DONE and kept and counters[ALONE] <= 0:
        insert(table, text, at, length, low, high, slot, advance(out, count), n)
    return (DONE if status == ONCE else status), count + n


@helper
def spell_run(family, model, table, text, at, length, out, count):
    """Write the ids of each character of a RUN; segment and store those that are new: (status, new count)."""
    counters, segment = table.counters, family.segment
    for i in range(at, at + length, 3):
        row = char_row(text, i)
        n = I64(table.chars[row + 1] >> HALF)
        if n == 0:
            status, n = segment(model, counters, text, i, I64(3), out, count)
            if status != DONE and status != ONCE:
                return status, count
            for k in range(n, 3):
                out[count + k] = 0
            table.chars[row] = U64(out[count]) | U64(out[count + 1]) << HALF
            table.chars[row + 1] = U64(out[count + 2]) | U64(n) << HALF
        store64(out, count, table.chars[row])
        store64(out, count + 2, table.chars[row + 1])
        count += n
    return DONE, count


@inlined
def never_fleeting(model, text, at):
    """Whether a word is segmented without looking into the table: never."""
    return False


@inlined
def settled(model, counters, out, upto):
    """Whether the ids before out[upto] are right: always, in families whose ids depend on no other word."""
    return True


@inlined
def emit_words(table, text, keys, k, stop, out, count):
    """Write the ids of words, none of which is a RUN, until one is not in the table; see `emit_known`."""
    return emit_known(table.slots, table.mask, table.ids, table.chars, text, keys, k, stop, out, count, False)


@inlined
def emit_runs(table, text, keys, k, stop, out, count):
    """The same if some are."""
    return emit_known(table.slots, table.mask, table.ids, table.chars, text, keys, k, stop, out, count, True)


@helper
def encode_block(family, model, table, text, start, ends, first, last, runs, keys, out):
    """Write the ids of the words first..last; `counters` says how far it came. `runs`: whether there is a RUN."""
    count, k, far, status = I64(table.counters[WRITTEN]), I64(0), I64(0), DONE
    stop = I64(KEY_ROW * (last - first))
    mixed, gaps = table.counters[FAR] > MIXED and not runs, advance(keys, ODD_WORDS)
    alone = table.counters[ALONE] > 0
    while status == DONE:
        if alone:
            pass
        elif mixed:
            k, count, far = emit_mixed(table.slots, table.mask, keys, k, stop, out, count, gaps, far)
        elif runs:
            k, count, more = emit_runs(table, text, keys, k, stop, out, count)
            far += more
        else:
            k, count, more = emit_words(table, text, keys, k, stop, out, count)
            far += more
        if k == stop:
            break
        w = first + k // KEY_ROW
        at = start + begin_of(ends, w)
        length, key = start + end_of(ends, w) - at, advance(keys, k)
        if key[1] == RUN_KEY:
            status, count = spell_run(family, model, table, text, at, length, out, count)
        else:
            status, count = emit_new(family, model, table, text, at, length, key, out, count)
        if status == DONE:
            k += KEY_ROW
    if mixed:
        fill_gaps(table.ids, out, gaps, far)
    table.counters[NEXT_WORD], table.counters[WRITTEN], table.counters[FAR] = first + k // KEY_ROW, count, far
    return status


@inlined
def any_run(ends, first, last):
    """Whether one of the words first..last is a RUN."""
    every = U64(0)
    for w in range(first, last):
        every |= U64(ends[w])
    return every >= U64(RUN)


@spliced
def next_block(family, model, table, text, size, start, ends, words, keys, out, room):
    """Encode the next words, at most BLOCK of them."""
    st = table.counters
    first, begin, fresh = I64(st[NEXT_WORD]), I64(st[WRITTEN]), st[BEGIN]
    last = min(first + (BLOCK if st[ALONE] == 0 else FEW), words)
    st[NEEDED] = st[WRITTEN] + end_of(ends, last - 1) - begin_of(ends, first) + OUT_PADDING
    if st[NEEDED] > room:
        return NEED_OUT
    runs = any_run(ends, first, last)
    if runs:
        make_run_keys(table.slots, table.mask, table.seeds, text, size, start, ends, first, last, keys)
    else:
        make_keys(table.slots, table.mask, table.seeds, text, size, start, ends, first, last, keys)
    if keys[ODD_COUNT] != ZERO:
        resolve_odd(table, text, start, ends, first, keys)
    status = encode_block(family, model, table, text, start, ends, first, last, runs, keys, out)
    if not family.settle(model, st, out, st[WRITTEN]):
        st[NEXT_WORD], st[WRITTEN], st[BEGIN], st[SUMMED], st[ALONE] = first, begin, fresh, begin, 1
        return DONE
    return status


@inlined
def opened(table, counters):
    """The table's pointers and limits."""
    count = len(table.slots) // SLOT_ROW
    return Table(
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


@inlined
def encode_all(family, model, table, text, size, start, ends, words, text_ends, texts, keys, out, room, filled):
    """Append the ids of words to the `filled` ids in `out`; the new number of ids, or minus a status.

    Word w is text[start + ends[w - 1] : start + ends[w]]. text_ends[i], for `texts` texts, is the number of words up to
    the end of text i; it is replaced by the number of ids. With texts = 0 all words are one text. After a status the
    caller makes room and calls again with counters[WRITTEN] as `filled`.
    """
    st = table.counters
    st[WRITTEN] = filled
    if st[NEXT_TEXT] == 0 and st[NEXT_WORD] == 0:
        st[SUMMED] = filled
    while True:
        last_word = words if texts == 0 else text_ends[st[NEXT_TEXT]]
        while st[NEXT_WORD] < last_word:
            status = next_block(family, model, table, text, size, start, ends, last_word, keys, out, room)
            if status != DONE:
                return -status
        if texts > 0:
            text_ends[st[NEXT_TEXT]] = st[WRITTEN]
            st[NEXT_TEXT] += 1
        if st[JOINED] == 0:
            st[BEGIN] = 1
        if st[NEXT_TEXT] >= texts:
            break
    st[NEXT_TEXT], st[NEXT_WORD] = 0, 0
    return I64(st[WRITTEN])


@kernel
def add_tokens(data: U8s, ends: I64s, values: I32s, into: WordTable, wide: U64s, counters: I64s) -> Int:
    """Enter the words data[ends[w - 1] : ends[w]], each as one id, into a table that has room for all."""
    text, e, v, keys = pointer(data), pointer(ends), pointer(values), pointer(wide)
    table = opened(into, counters)
    for w in range(len(ends)):
        make_keys(table.slots, table.mask, table.seeds, text, len(data), 0, e, w, w + 1, keys)
        at = e[w - 1] if w > 0 else 0
        low, high = keys[0], keys[1]
        slot = find(table, text, at, e[w] - at, low, high, I64(keys[2]))
        if table.slots[slot * SLOT_ROW + KEY_HIGH] == ZERO:
            insert(table, text, at, e[w] - at, low, high, slot, advance(v, w), 1)
    return 0
