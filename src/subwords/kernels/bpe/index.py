"""What BPE training works on: words in one arena, and a table of the pairs in them.

A word in the arena (uint32) is its length, its weight in two halves, its first length, and its symbols; merging
closes the gaps in place. A pair in the table (uint64) is left << 32 | right, its count, and the place and number of
its postings: the arena positions of the words that held it when it arose, ascending.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I32s, I64s, Int, U8s, U32s, U64s, inlined, kernel, mix, pointer
from subwords.kernels.text.utf8 import decode_at

DONE, NEED_PAIRS, NEED_STRINGS, EXHAUSTED, PAUSED = range(5)
IDS, BYTES = 0, 2  # tie rules (B2) that need no first position; 1 is "first"
FIRST = 1

# Fields of `state` and of `settings`.
USED, HEAP, POSTINGS, TOKENS, MERGES, STRINGS, WORD = range(7)
THRESHOLD, FLOOR, SIZE, TIE, LONGEST, PAUSE, SPECIALS, PREFIX = range(8)
# Fields of `tokens`, eight int64 an id: one cache line.
LEFT, RIGHT, LEFT_WORDS, RIGHT_WORDS, LAST_LEFT, LAST_RIGHT, SPAN, STRING = range(8)

CODES = 0x110000
HEADER = 4
EXTENT = 3
ENTRY = 4
NONE = U64(0xFFFFFFFFFFFFFFFF)
ZERO, ONE, HALF, LOW = U64(0), U64(1), U64(32), U64(0xFFFFFFFF)


@kernel
def symbol_weights(data: U8s, offsets: I64s, counts: U64s, by_character: Int, weights: U64s) -> Int:
    """Add every word's count to the weight of each of its bytes or characters."""
    p, o, c, w = pointer(data), pointer(offsets), pointer(counts), pointer(weights)
    for word in range(len(counts)):
        i = o[word]
        while i < o[word + 1]:
            code, step = I64(p[i]), 1
            if by_character != 0:
                code, step = decode_at(p, i, o[word + 1])
            if code >= 0:
                w[code] += c[word]
            i += step
    return 0


@kernel
def fill_arena(data: U8s, offsets: I64s, counts: U64s, ids: I32s, arena: U32s) -> Int:
    """Write the words as symbols and return how much of the arena is used.

    ids: of 256 bytes; or of all characters; or of all characters where they begin a word, and then of all elsewhere.
    A byte or character without an id parts a word. Words of one symbol are left out: they hold no pair.
    """
    p, o, c, d, a = pointer(data), pointer(offsets), pointer(counts), pointer(ids), pointer(arena)
    used, later = 0, CODES if len(ids) > CODES else 0
    for word in range(len(counts)):
        i, stop, n = o[word], o[word + 1], 0
        while i <= stop:
            code, step = -1, 1
            if i < stop:
                code = I64(p[i])
                if len(ids) > 256:
                    code, step = decode_at(p, i, stop)
            symbol = -1
            if code >= 0:
                symbol = I64(d[code if i == o[word] else later + code])
            if symbol >= 0:
                a[used + HEADER + n] = symbol
                n += 1
            else:
                if n > 1:
                    a[used], a[used + 1], a[used + 2], a[used + EXTENT] = n, c[word] & LOW, c[word] >> HALF, n
                    used += HEADER + n
                n = 0
            i += step
    return used


@inlined
def weight_at(arena, word):
    """The weight of the word at this place."""
    return U64(arena[word + 1]) | U64(arena[word + 2]) << HALF


@inlined
def pair_slot(pairs, mask, key):
    """Where the pair's entry is, or the free entry where it belongs."""
    slot = mix(key, U64(0x9E3779B97F4A7C15)) & mask
    while pairs[I64(slot) * ENTRY] != key and pairs[I64(slot) * ENTRY] != NONE:
        slot = (slot + ONE) & mask
    return I64(slot) * ENTRY


@inlined
def may_merge(tokens, left, right, longest):
    """Whether the pair's token is short enough."""
    return longest == 0 or tokens[8 * left + SPAN] + tokens[8 * right + SPAN] <= longest


@kernel
def count_pairs(arena: U32s, used: Int, pairs: U64s, tokens: I64s, longest: Int, state: I64s) -> Int:
    """Count all pairs from the word at state[WORD] on; NEED_PAIRS when the table is half full."""
    a, p, t, st = pointer(arena), pointer(pairs), pointer(tokens), pointer(state)
    mask, room = U64(len(pairs) // ENTRY - 1), len(pairs) // ENTRY // 2
    while st[WORD] < used:
        word = I64(st[WORD])
        n = I64(a[word])
        if st[USED] + n > room:
            return NEED_PAIRS
        weight = weight_at(a, word)
        for k in range(word + HEADER, word + HEADER + n - 1):
            if may_merge(t, I64(a[k]), I64(a[k + 1]), longest):
                key = U64(a[k]) << HALF | U64(a[k + 1])
                at = pair_slot(p, mask, key)
                if p[at] == NONE:
                    p[at], p[at + 1], p[at + 2], p[at + 3] = key, ZERO, NONE, ZERO
                    st[USED] += 1
                p[at + 1] += weight
                if p[at + 2] != U64(word):  # the place of postings is not needed yet: it holds the last word seen
                    p[at + 2] = U64(word)
                    p[at + 3] += ONE
        st[WORD] += HEADER + I64(a[word + EXTENT])
    return DONE


@kernel
def move_pairs(old: U64s, new: U64s, threshold: Int, fresh: Int, state: I64s) -> Int:
    """Move the live pairs into the empty table `new` and return how many; if fresh, place their postings."""
    source, target, mask = pointer(old), pointer(new), U64(len(new) // ENTRY - 1)
    st, used, place = pointer(state), 0, 0
    for entry in range(len(old) // ENTRY):
        at = entry * ENTRY
        if source[at] != NONE and source[at + 1] >= U64(threshold):
            to = pair_slot(target, mask, source[at])
            for k in range(ENTRY):
                target[to + k] = source[at + k]
            if fresh != 0:
                target[to + 2] = U64(place)
                place += I64(source[at + 3])
                target[to + 3] = ZERO
            used += 1
    st[USED] = used
    if fresh != 0:
        st[POSTINGS] = place
    return used


@kernel
def fill_postings(arena: U32s, used: Int, pairs: U64s, postings: U32s) -> Int:
    """Write the words of every pair of the table, ascending."""
    a, p, q = pointer(arena), pointer(pairs), pointer(postings)
    mask = U64(len(pairs) // ENTRY - 1)
    word = 0
    while word < used:
        n = I64(a[word])
        for k in range(word + HEADER, word + HEADER + n - 1):
            at = pair_slot(p, mask, U64(a[k]) << HALF | U64(a[k + 1]))
            if p[at] != NONE:
                end = I64(p[at + 2] + p[at + 3])
                if p[at + 3] == ZERO or q[end - 1] != word:
                    q[end] = word
                    p[at + 3] += ONE
        word += HEADER + I64(a[word + EXTENT])
    return 0
