"""The data of BPE training: words in an arena, a table of their pairs, and the tokens.

A word in the arena (uint32) is a header and its symbols. The header is WORD_LENGTH, the number of symbols now; the
word's count in two halves, WEIGHT_LOW and WEIGHT_HIGH; and FIRST_LENGTH, the number of symbols before any merge.
Merging closes gaps in place, so the next word begins FIRST_LENGTH symbols after the header.

The table of pairs (uint64) is open addressing with linear probing. An entry is PAIR_KEY, left << 32 | right, or NO_KEY
if free; PAIR_COUNT; and the place and number of its postings, PAIR_PLACE and PAIR_WORDS. Postings are the arena
positions of the words that contained the pair when it arose, ascending.

A token's row (int64, a cache line) is SPAN, the number of first symbols it covers; STRING, where its bytes begin in
`strings` (they end where the next token's begin); and, during a merge, for a neighbour on the left and on the right:
the weight of the new pair, the number of its words, and the last word that was noted, or the pair's entry.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I32s, I64s, Int, U8s, U32s, U64s, inlined, kernel, mix, pointer
from subwords.kernels.layout import CODE_POINTS, DONE, NEED_PAIRS
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.train_layout import (
    ARENA_AT,
    FIRST_LENGTH,
    NO_KEY,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_PLACE,
    PAIR_ROW,
    PAIR_WORDS,
    PAIRS_USED,
    POSTINGS_USED,
    SPAN,
    TOKEN_ROW,
    WEIGHT_HIGH,
    WEIGHT_LOW,
    WORD_HEADER,
    WORD_LENGTH,
)

FREE = U64(NO_KEY)
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
    """Write the words as symbols; the number of elements of the arena used.

    ids: of 256 bytes; or of all code points; or of all code points at the start of a word, then of all elsewhere. A
    byte or character without an id splits a word. Words of one symbol are left out: they contain no pair.
    """
    p, o, c, d, a = pointer(data), pointer(offsets), pointer(counts), pointer(ids), pointer(arena)
    used, later = 0, CODE_POINTS if len(ids) > CODE_POINTS else 0
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
                a[used + WORD_HEADER + n] = symbol
                n += 1
            else:
                if n > 1:
                    a[used + WORD_LENGTH], a[used + FIRST_LENGTH] = n, n
                    a[used + WEIGHT_LOW], a[used + WEIGHT_HIGH] = c[word] & LOW, c[word] >> HALF
                    used += WORD_HEADER + n
                n = 0
            i += step
    return used


@inlined
def weight_at(arena, word):
    """The weight of the word at this place."""
    return U64(arena[word + WEIGHT_LOW]) | U64(arena[word + WEIGHT_HIGH]) << HALF


@inlined
def pair_slot(pairs, mask, key):
    """The position of the pair's entry, or of the free entry for it."""
    slot = mix(key, U64(0x9E3779B97F4A7C15)) & mask
    while pairs[I64(slot) * PAIR_ROW + PAIR_KEY] != key and pairs[I64(slot) * PAIR_ROW + PAIR_KEY] != FREE:
        slot = (slot + ONE) & mask
    return I64(slot) * PAIR_ROW


@inlined
def may_merge(tokens, left, right, longest):
    """Whether the pair's token is short enough."""
    return longest == 0 or tokens[TOKEN_ROW * left + SPAN] + tokens[TOKEN_ROW * right + SPAN] <= longest


@kernel
def count_pairs(arena: U32s, used: Int, pairs: U64s, tokens: I64s, longest: Int, counters: I64s) -> Int:
    """Count all pairs from the word at counters[ARENA_AT] on: DONE, or NEED_PAIRS if the table is half full."""
    a, p, t, st = pointer(arena), pointer(pairs), pointer(tokens), pointer(counters)
    mask, room = U64(len(pairs) // PAIR_ROW - 1), len(pairs) // PAIR_ROW // 2
    while st[ARENA_AT] < used:
        word = I64(st[ARENA_AT])
        n = I64(a[word + WORD_LENGTH])
        if st[PAIRS_USED] + n > room:
            return NEED_PAIRS
        weight = weight_at(a, word)
        for k in range(word + WORD_HEADER, word + WORD_HEADER + n - 1):
            if may_merge(t, I64(a[k]), I64(a[k + 1]), longest):
                key = U64(a[k]) << HALF | U64(a[k + 1])
                at = pair_slot(p, mask, key)
                if p[at + PAIR_KEY] == FREE:
                    p[at + PAIR_KEY], p[at + PAIR_COUNT], p[at + PAIR_PLACE], p[at + PAIR_WORDS] = key, ZERO, FREE, ZERO
                    st[PAIRS_USED] += 1
                p[at + PAIR_COUNT] += weight
                if p[at + PAIR_PLACE] != U64(word):  # postings have no place yet: this is the last word seen
                    p[at + PAIR_PLACE] = U64(word)
                    p[at + PAIR_WORDS] += ONE
        st[ARENA_AT] += WORD_HEADER + I64(a[word + FIRST_LENGTH])
    return DONE


@kernel
def move_pairs(old: U64s, new: U64s, threshold: Int, fresh: Int, counters: I64s) -> Int:
    """Move the pairs counted `threshold` or more into the empty table `new`; if fresh, place their postings."""
    source, target, mask = pointer(old), pointer(new), U64(len(new) // PAIR_ROW - 1)
    st, used, place = pointer(counters), 0, 0
    for entry in range(len(old) // PAIR_ROW):
        at = entry * PAIR_ROW
        if source[at + PAIR_KEY] != FREE and source[at + PAIR_COUNT] >= U64(threshold):
            to = pair_slot(target, mask, source[at + PAIR_KEY])
            for k in range(PAIR_ROW):
                target[to + k] = source[at + k]
            if fresh != 0:
                target[to + PAIR_PLACE] = U64(place)
                place += I64(source[at + PAIR_WORDS])
                target[to + PAIR_WORDS] = ZERO
            used += 1
    st[PAIRS_USED] = used
    if fresh != 0:
        st[POSTINGS_USED] = place
    return used


@kernel
def fill_postings(arena: U32s, used: Int, pairs: U64s, postings: U32s) -> Int:
    """Write the postings of every pair of the table."""
    a, p, q = pointer(arena), pointer(pairs), pointer(postings)
    mask = U64(len(pairs) // PAIR_ROW - 1)
    word = 0
    while word < used:
        n = I64(a[word + WORD_LENGTH])
        for k in range(word + WORD_HEADER, word + WORD_HEADER + n - 1):
            at = pair_slot(p, mask, U64(a[k]) << HALF | U64(a[k + 1]))
            if p[at + PAIR_KEY] != FREE:
                end = I64(p[at + PAIR_PLACE] + p[at + PAIR_WORDS])
                if p[at + PAIR_WORDS] == ZERO or q[end - 1] != word:
                    q[end] = word
                    p[at + PAIR_WORDS] += ONE
        word += WORD_HEADER + I64(a[word + FIRST_LENGTH])
    return 0
