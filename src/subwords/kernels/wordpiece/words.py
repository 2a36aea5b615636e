"""The words of WordPiece training in an arena, and a merge in one of them.

A word in the arena (uint32) is a header and its symbols. The header is HEADER.length, the number of symbols now; the
word's count in two halves, HEADER.weight_low and HEADER.weight_high; and HEADER.first_length, the number of symbols
before any merge. Merging closes gaps in place, so the next word begins HEADER.first_length symbols after the header.
The place of a word is that of its header. Unlike the words of BPE, whose tokens know how many symbols they cover: here
two tokens of different lengths may have the same string (B5).
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.index import HALF, LOW, add_pair, may_merge, symbol_at
from subwords.kernels.jit import I64, U64, I32s, I64s, Int, U8s, U32s, U64s, helper, inlined, kernel, pointer

ONE = U64(1)


@kernel
def fill_arena(data: U8s, offsets: I64s, counts: U64s, ids: I32s, arena: U32s) -> Int:
    """Write the words as symbols; the number of elements of the arena used.

    ids: see `bpe.index.fill_symbols`. Words of one symbol are left out: they contain no pair.
    """
    p, o, c, d, a = pointer(data), pointer(offsets), pointer(counts), pointer(ids), pointer(arena)
    used, later = 0, layout.CODE_POINTS if len(ids) > layout.CODE_POINTS else 0
    for word in range(len(counts)):
        i, stop, n = o[word], o[word + 1], 0
        while i <= stop:
            symbol, step = symbol_at(p, i, stop, d, len(ids), 0 if i == o[word] else later)
            if symbol >= 0:
                a[used + layout.HEADER.width + n] = symbol
                n += 1
            else:
                if n > 1:
                    a[used + layout.HEADER.length], a[used + layout.HEADER.first_length] = n, n
                    a[used + layout.HEADER.weight_low], a[used + layout.HEADER.weight_high] = (
                        c[word] & LOW,
                        c[word] >> HALF,
                    )
                    used += layout.HEADER.width + n
                n = 0
            i += step
    return used


@inlined
def weight_at(arena, word):
    """The weight of the word at this place."""
    return U64(arena[word + layout.HEADER.weight_low]) | U64(arena[word + layout.HEADER.weight_high]) << HALF


@kernel
def count_word_pairs(arena: U32s, used: Int, pairs: U64s, tokens: I64s, longest: Int, counters: I64s) -> Int:
    """Count all pairs from the word at counters[TALLY.arena_at] on: DONE, or NEED_PAIRS if the table is half full."""
    a, p, t, st = pointer(arena), pointer(pairs), pointer(tokens), pointer(counters)
    mask, room = U64(len(pairs) // layout.PAIR.width - 1), len(pairs) // layout.PAIR.width // 2
    while st[layout.TALLY.arena_at] < used:
        word = I64(st[layout.TALLY.arena_at])
        n = I64(a[word + layout.HEADER.length])
        if st[layout.TALLY.pairs_used] + n > room:
            return layout.NEED_PAIRS
        weight = weight_at(a, word)
        for k in range(word + layout.HEADER.width, word + layout.HEADER.width + n - 1):
            if may_merge(t, I64(a[k]), I64(a[k + 1]), longest):
                at = add_pair(p, mask, U64(a[k]) << HALF | U64(a[k + 1]), weight, st)
                if p[at + layout.PAIR.place] != U64(word):  # postings have no place yet: this is the last word seen
                    p[at + layout.PAIR.place] = U64(word)
                    p[at + layout.PAIR.words] += ONE
        st[layout.TALLY.arena_at] += layout.HEADER.width + I64(a[word + layout.HEADER.first_length])
    return layout.DONE


@inlined
def note(t, neighbour, side, word, weight, filled):
    """Count a new pair with this neighbour, and note the word once; the new number of entries of that side."""
    row = layout.TOKEN.width * neighbour
    t.tokens[row + side] += I64(weight)
    if t.tokens[row + layout.TOKEN.last_left + side] != word:
        t.tokens[row + layout.TOKEN.last_left + side] = word
        t.tokens[row + layout.TOKEN.left_words + side] += 1
        at = layout.BUFFER.width * (filled if side == layout.TOKEN.left else t.buffer_size - 1 - filled)
        t.buffer[at + layout.BUFFER.neighbour], t.buffer[at + layout.BUFFER.in_word] = neighbour, word
        return filled + 1
    return filled


@helper
def merge_word(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word, left to right, and note the new pairs; the new numbers of buffer entries."""
    arena, n = t.arena, I64(t.arena[word + layout.HEADER.length])
    weight, base = weight_at(arena, word), word + layout.HEADER.width
    read, write, after = 0, 0, False
    while read < n:
        symbol = I64(arena[base + read])
        if symbol == left and read + 1 < n and arena[base + read + 1] == right:
            if write > 0:
                lefts = note(t, I64(arena[base + write - 1]), layout.TOKEN.left, word, weight, lefts)
            arena[base + write] = merged
            read += 2
            after = True
        else:
            if after:
                rights = note(t, symbol, layout.TOKEN.right, word, weight, rights)
            arena[base + write] = symbol
            read += 1
            after = False
        write += 1
    arena[word + layout.HEADER.length] = write
    return lefts, rights
