"""The words of WordPiece training in an arena, and a merge in one of them.

A word in the arena (uint32) is a header and its symbols. The header is WORD_LENGTH, the number of symbols now; the
word's count in two halves, WEIGHT_LOW and WEIGHT_HIGH; and FIRST_LENGTH, the number of symbols before any merge.
Merging closes gaps in place, so the next word begins FIRST_LENGTH symbols after the header. The place of a word is that
of its header. Unlike the words of BPE, whose tokens know how many symbols they cover: here two tokens of different
lengths may have the same string (B5).
"""

from __future__ import annotations

from subwords.kernels.bpe.index import HALF, LOW, add_pair, may_merge, symbol_at
from subwords.kernels.jit import I64, U64, I32s, I64s, Int, U8s, U32s, U64s, helper, inlined, kernel, pointer
from subwords.kernels.layout import CODE_POINTS, DONE, NEED_PAIRS
from subwords.kernels.train_layout import (
    ARENA_AT,
    BUFFER_ROW,
    FIRST_LENGTH,
    IN_WORD,
    LAST_LEFT,
    LEFT,
    LEFT_WORDS,
    NEIGHBOUR,
    PAIR_PLACE,
    PAIR_ROW,
    PAIR_WORDS,
    PAIRS_USED,
    RIGHT,
    TOKEN_ROW,
    WEIGHT_HIGH,
    WEIGHT_LOW,
    WORD_HEADER,
    WORD_LENGTH,
)

ONE = U64(1)


@kernel
def fill_arena(data: U8s, offsets: I64s, counts: U64s, ids: I32s, arena: U32s) -> Int:
    """Write the words as symbols; the number of elements of the arena used.

    ids: see `bpe.index.fill_symbols`. Words of one symbol are left out: they contain no pair.
    """
    p, o, c, d, a = pointer(data), pointer(offsets), pointer(counts), pointer(ids), pointer(arena)
    used, later = 0, CODE_POINTS if len(ids) > CODE_POINTS else 0
    for word in range(len(counts)):
        i, stop, n = o[word], o[word + 1], 0
        while i <= stop:
            symbol, step = symbol_at(p, i, stop, d, len(ids), 0 if i == o[word] else later)
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


@kernel
def count_word_pairs(arena: U32s, used: Int, pairs: U64s, tokens: I64s, longest: Int, counters: I64s) -> Int:
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
                at = add_pair(p, mask, U64(a[k]) << HALF | U64(a[k + 1]), weight, st)
                if p[at + PAIR_PLACE] != U64(word):  # postings have no place yet: this is the last word seen
                    p[at + PAIR_PLACE] = U64(word)
                    p[at + PAIR_WORDS] += ONE
        st[ARENA_AT] += WORD_HEADER + I64(a[word + FIRST_LENGTH])
    return DONE


@inlined
def note(t, neighbour, side, word, weight, filled):
    """Count a new pair with this neighbour, and note the word once; the new number of entries of that side."""
    row = TOKEN_ROW * neighbour
    t.tokens[row + side] += I64(weight)
    if t.tokens[row + LAST_LEFT + side] != word:
        t.tokens[row + LAST_LEFT + side] = word
        t.tokens[row + LEFT_WORDS + side] += 1
        at = BUFFER_ROW * (filled if side == LEFT else t.buffer_size - 1 - filled)
        t.buffer[at + NEIGHBOUR], t.buffer[at + IN_WORD] = neighbour, word
        return filled + 1
    return filled


@helper
def merge_word(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word, left to right, and note the new pairs; the new numbers of buffer entries."""
    arena, n = t.arena, I64(t.arena[word + WORD_LENGTH])
    weight, base = weight_at(arena, word), word + WORD_HEADER
    read, write, after = 0, 0, False
    while read < n:
        symbol = I64(arena[base + read])
        if symbol == left and read + 1 < n and arena[base + read + 1] == right:
            if write > 0:
                lefts = note(t, I64(arena[base + write - 1]), LEFT, word, weight, lefts)
            arena[base + write] = merged
            read += 2
            after = True
        else:
            if after:
                rights = note(t, symbol, RIGHT, word, weight, rights)
            arena[base + write] = symbol
            read += 1
            after = False
        write += 1
    arena[word + WORD_LENGTH] = write
    return lefts, rights
