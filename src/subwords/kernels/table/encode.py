"""Words to ids: a table of words already segmented, and on a miss the `segment` of a model's family.

A call handles words in blocks of BLOCK: first all keys are made and their table lines asked for, then every word is
looked up and its ids written. One loop doing both, word by word, ran at two thirds of the speed.

A slot (see words.py for its key) holds up to INSIDE ids, and their number in the owner's bits. More ids, or a long
word's, lie in the arenas: then these bits say ELSEWHERE, and the slot holds the ids' place and number, and the bytes'
place.

A small table of 8,192 words in front of the large one, to stay in the second cache: 11 % of the words miss it, -25 %.
Making the keys of the next 64 words while the ids of these are written, to hide more of the memory's delay: -6 %.
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
    copy16,
    helper,
    inlined,
    kernel,
    pointer,
    prefetch,
    spliced,
    store64,
)
from subwords.kernels.table.keys import BLOCK, LENGTH, ODD, SLOT, differs, home, make_keys, same_bytes, word_key

# Why a call returned; ONCE, only of a `segment`: done, but these ids hold for this place alone.
DONE, NEED_OUT, NEED_SLOTS, NEED_ARENA, NEED_SCRATCH, UNKNOWN, ONCE = range(7)
# Fields of `state`, which outlives a call. The last four are for families whose ids depend on the words before:
# BEGIN, the next word is a text's first; JOINED, the texts of a call are parts of one; ALONE, words are segmented
# without the table (1), or blocks are small (WARY); SUMMED, the ids that have been summed up.
TEXT, WORD, OUT, USED, IDS, BYTES, POSITION, NEEDED, FAR, BEGIN, JOINED, ALONE, SUMMED = range(13)

ZERO, ONE, HALF, LOW = U64(0), U64(1), U64(32), U64(0xFFFFFFFF)
INSIDE = 4
LONGEST_KEPT = 1 << 20  # bytes; a longer word is segmented anew each time
SLACK = 4  # places behind the ids in `out` that may be overwritten
MIXED = 8  # words of a block with ids in the arena; beyond, the next block's branches would be mispredicted often
WARY = -1
FEW = 16  # words of a small block
UNKNOWN_KEY = ONE << U64(55)  # a length that no word has
NUMBER = U64(60)
ELSEWHERE = U64(15)


class Table(NamedTuple):
    """The words already segmented."""

    slots: object
    mask: object
    seeds: object
    ids: object
    bytes: object
    load: object  # how many slots may be used
    ids_room: object
    bytes_room: object
    state: object


class Family(NamedTuple):
    """What is done by a family of models.

    `segment(model, state, text, at, length, out, count)` writes the ids of a word after `count`: (DONE or ONCE, how
    many), or why it cannot be done now. `settle` (see `settled`) says after every block whether its ids are right;
    otherwise it is encoded again, each word ALONE. `fleeting`: see `never_fleeting`.
    """

    segment: object
    settle: object
    fleeting: object


@helper
def find(table, text, at, length, low, high, slot):
    """The slot of the key, or the free slot where it belongs."""
    slots = table.slots
    while slots[slot * SLOT + 1] != ZERO:
        if differs(slots, slot * SLOT, low, high) == ZERO:
            if high & LENGTH != ZERO:
                return slot
            if same_bytes(table.bytes, I64(slots[slot * SLOT + 3] >> HALF), text, at, length):
                return slot
        slot = I64(U64(slot + 1) & table.mask)
    return slot


@helper
def insert(table, text, at, length, low, high, slot, symbols, n):
    """Remember the n ids of a word in the free slot; the arenas have room."""
    state, base = table.state, slot * SLOT
    table.slots[base] = low
    if n <= INSIDE and high & LENGTH != ZERO:
        values = (ZERO, ZERO)
        for k in range(n):
            shift = U64(32 * (k & 1))
            values = (
                (values[0] | U64(symbols[k]) << shift, ZERO)
                if k < 2
                else (values[0], values[1] | U64(symbols[k]) << shift)
            )
        table.slots[base + 1] = high | U64(n) << NUMBER
        table.slots[base + 2], table.slots[base + 3] = values
    else:
        table.slots[base + 1] = high | ELSEWHERE << NUMBER
        table.slots[base + 2] = U64(state[IDS]) | U64(n) << HALF
        table.slots[base + 3] = U64(state[BYTES]) << HALF
        for k in range(n):
            table.ids[state[IDS] + k] = symbols[k]
        state[IDS] += n
        if high & LENGTH == ZERO:
            for k in range(length):
                table.bytes[state[BYTES] + k] = text[at + k]
            state[BYTES] += length
    state[USED] += 1


@inlined
def emit_far(ids, value, out, count):
    """Write ids from the arena, their place and number in `value`, and nothing after them; the new count."""
    place, n = I64(value & LOW), I64(value >> HALF)
    copy16(out, count, ids, place, n)
    for k in range(16, n, 16):
        copy16(out, count + k, ids, place + k, n - k)
    return count + n


@inlined
def emit_slot(slots, ids, at, out, count):
    """Write the ids of the slot that starts at `at`; the new count. Up to SLACK places after it may be overwritten."""
    n = slots[at + 1] >> NUMBER
    value = slots[at + 2]
    if n != ELSEWHERE:
        store64(out, count, value)
        store64(out, count + 2, slots[at + 3])
        return count + I64(n)
    return emit_far(ids, value, out, count)


@inlined
def emit_run(slots, mask, ids, keys, k, stop, out, count):
    """Write the ids of words as long as they are in the table; how far it came, and how many had theirs in the arena.

    Nearly all words are. The rest is left to `emit_new`, so that this loop's few values stay in registers.
    """
    far = 0
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        while differs(slots, slot * SLOT, low, high) != ZERO:
            if slots[slot * SLOT + 1] == ZERO:
                return k, count, far
            slot = I64(U64(slot + 1) & mask)
        at = slot * SLOT
        n, value = slots[at + 1] >> NUMBER, slots[at + 2]
        if n != ELSEWHERE:
            store64(out, count, value)
            store64(out, count + 2, slots[at + 3])
            count += I64(n)
        else:
            count = emit_far(ids, value, out, count)
            far += 1
        k += 3
    return k, count, far


@inlined
def emit_mixed(slots, mask, keys, k, stop, out, count, gaps, far):
    """The same without the branch for ids in the arena, which nobody could foretell: they leave a gap and a note."""
    while k < stop:
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        while differs(slots, slot * SLOT, low, high) != ZERO:
            if slots[slot * SLOT + 1] == ZERO:
                return k, count, far
            slot = I64(U64(slot + 1) & mask)
        at = slot * SLOT
        n, value = slots[at + 1] >> NUMBER, slots[at + 2]
        store64(out, count, value)
        store64(out, count + 2, slots[at + 3])
        gaps[2 * far], gaps[2 * far + 1] = value, U64(count)
        elsewhere = n == ELSEWHERE
        far += I64(elsewhere)
        count += I64(value >> HALF if elsewhere else n)
        k += 3
    return k, count, far


@helper
def fill_gaps(ids, out, gaps, far):
    """Write the ids that lie in the arena."""
    for g in range(far):
        emit_far(ids, gaps[2 * g], out, I64(gaps[2 * g + 1]))


@helper
def resolve_odd(table, text, start, ends, first, keys):
    """Find the slots of the odd words, most of which are long; one without gets a key that no slot has."""
    slots = table.slots
    for n in range(I64(keys[ODD])):
        k = 3 * (I64(keys[3 * BLOCK + n]) - first)
        at = I64(keys[k + 2]) * SLOT
        prefetch(table.ids, I64(slots[at + 2] & LOW))
        prefetch(table.bytes, I64(slots[at + 3] >> HALF))
    for n in range(I64(keys[ODD])):
        w = I64(keys[3 * BLOCK + n])
        k = 3 * (w - first)
        at = start + (I64(ends[w - 1]) if w > 0 else 0)
        low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
        length = start + I64(ends[w]) - at
        if (
            high & LENGTH != ZERO
            or differs(slots, slot * SLOT, low, high) != ZERO
            or not same_bytes(table.bytes, I64(slots[slot * SLOT + 3] >> HALF), text, at, length)
        ):
            slot = find(table, text, at, length, low, high, slot)
            keys[k + 2] = U64(slot)
            if slots[slot * SLOT + 1] == ZERO:
                keys[k + 1] = UNKNOWN_KEY


@helper
def emit_new(family, model, table, text, at, length, out, count):
    """Write the ids of any word, segmenting and remembering it where the table lacks it: (status, new count)."""
    state, segment = table.state, family.segment
    if family.fleeting(model, text, at):
        status, n = segment(model, state, text, at, length, out, count)
        return (DONE if status == ONCE else status), count + n
    low, high = word_key(text, at, length, table.seeds)
    slot = find(table, text, at, length, low, high, home(low, high, table.seeds, table.mask))
    if table.slots[slot * SLOT + 1] != ZERO and state[ALONE] <= 0:
        return DONE, emit_slot(table.slots, table.ids, slot * SLOT, out, count)
    if state[USED] >= table.load:
        return NEED_SLOTS, count
    kept = length <= LONGEST_KEPT
    if kept and max(state[IDS] + length - table.ids_room, state[BYTES] + length - table.bytes_room) > 0:
        state[NEEDED] = length
        return NEED_ARENA, count
    status, n = segment(model, state, text, at, length, out, count)
    if status == DONE and kept and state[ALONE] <= 0:
        insert(table, text, at, length, low, high, slot, advance(out, count), n)
    return (DONE if status == ONCE else status), count + n


@inlined
def never_fleeting(model, text, at):
    """Whether a word is not worth a look into the table: none."""
    return False


@inlined
def settled(model, state, out, upto):
    """Whether the ids before out[upto] are right: for families whose ids depend on no other word."""
    return True


@helper
def encode_block(family, model, table, text, start, ends, first, last, keys, out):
    """Write the ids of the words first..last; state says how far it came."""
    count, k, far, status = I64(table.state[OUT]), I64(0), I64(0), DONE
    stop = I64(3 * (last - first))
    mixed, gaps = table.state[FAR] > MIXED, advance(keys, 3 * BLOCK)
    alone = table.state[ALONE] > 0
    while status == DONE:
        if alone:
            pass
        elif mixed:
            k, count, far = emit_mixed(table.slots, table.mask, keys, k, stop, out, count, gaps, far)
        else:
            k, count, more = emit_run(table.slots, table.mask, table.ids, keys, k, stop, out, count)
            far += more
        if k == stop:
            break
        w = first + k // 3
        at = start + (I64(ends[w - 1]) if w > 0 else 0)
        status, count = emit_new(family, model, table, text, at, start + I64(ends[w]) - at, out, count)
        if status == DONE:
            k += 3
    if mixed:
        fill_gaps(table.ids, out, gaps, far)
    table.state[WORD], table.state[OUT], table.state[FAR] = first + k // 3, count, far
    return status


@spliced
def next_block(family, model, table, text, size, start, ends, words, keys, out, room):
    """Encode the next words, at most BLOCK of them."""
    st = table.state
    first, begin, fresh = I64(st[WORD]), I64(st[OUT]), st[BEGIN]
    last = min(first + (BLOCK if st[ALONE] == 0 else FEW), words)
    at = I64(ends[first - 1]) if first > 0 else 0
    st[NEEDED] = st[OUT] + I64(ends[last - 1]) - at + SLACK
    if st[NEEDED] > room:
        return NEED_OUT
    make_keys(table.slots, table.mask, table.seeds, text, size, start, ends, first, last, keys)
    if keys[ODD] != ZERO:
        resolve_odd(table, text, start, ends, first, keys)
    status = encode_block(family, model, table, text, start, ends, first, last, keys, out)
    if not family.settle(model, st, out, st[OUT]):
        st[WORD], st[OUT], st[BEGIN], st[SUMMED], st[ALONE] = first, begin, fresh, begin, 1
        return DONE
    return status


@inlined
def opened(slots, seeds, ids, arena, state):
    """The table's pointers and limits."""
    count = len(slots) // SLOT
    return Table(
        slots=pointer(slots),
        mask=U64(count - 1),
        seeds=pointer(seeds),
        ids=pointer(ids),
        bytes=pointer(arena),
        load=count // 2,
        ids_room=len(ids),
        bytes_room=len(arena),
        state=pointer(state),
    )


@inlined
def encode_all(family, model, table, text, size, start, ends, words, marks, texts, keys, out, room, filled):
    """Append the ids of words to the `filled` ids in `out`; how many there are then, or minus what is needed.

    Word w is text[start + ends[w - 1] : start + ends[w]]. marks[i], of `texts`, is how many words there are by the
    end of text i, and becomes how many ids; with texts = 0 all words are one text. Give it what it needs and call
    again with state[OUT] as `filled`.
    """
    st = table.state
    st[OUT] = filled
    if st[TEXT] == 0 and st[WORD] == 0:
        st[SUMMED] = filled
    while True:
        last_word = words if texts == 0 else marks[st[TEXT]]
        while st[WORD] < last_word:
            status = next_block(family, model, table, text, size, start, ends, last_word, keys, out, room)
            if status != DONE:
                return -status
        if texts > 0:
            marks[st[TEXT]] = st[OUT]
            st[TEXT] += 1
        if st[JOINED] == 0:
            st[BEGIN] = 1
        if st[TEXT] >= texts:
            break
    st[TEXT], st[WORD] = 0, 0
    return I64(st[OUT])


@kernel
def add_tokens(
    data: U8s,
    ends: I64s,
    values: I32s,
    slots: U64s,
    seeds: U64s,
    ids: I32s,
    arena: U8s,
    wide: U64s,
    state: I64s,
) -> Int:
    """Enter the words data[ends[w - 1] : ends[w]], each as one id, into a table that has room for all."""
    text, e, v, keys = pointer(data), pointer(ends), pointer(values), pointer(wide)
    table = opened(slots, seeds, ids, arena, state)
    for w in range(len(ends)):
        make_keys(table.slots, table.mask, table.seeds, text, len(data), 0, e, w, w + 1, keys)
        at = e[w - 1] if w > 0 else 0
        low, high = keys[0], keys[1]
        slot = find(table, text, at, e[w] - at, low, high, I64(keys[2]))
        if table.slots[slot * SLOT + 1] == ZERO:
            insert(table, text, at, e[w] - at, low, high, slot, advance(v, w), 1)
    return 0
