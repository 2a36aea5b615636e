"""BPE training (B1-B5): words in one arena, live pairs in one table, and exact pruning.

The layout of words, pairs and tokens is in index.py. Postings and heap entries become stale; they are checked when
used.

Pruning: a pair's count never rises after the merge that made its symbols. So a pair that arises with a count below
`threshold` cannot be the best pair while the best pair's count is `threshold` or more: it gets no entry, no postings
and no place in the heap. When the heap is empty, the threshold is lowered and the words are read again.
"""

from __future__ import annotations

from subwords.kernels.bpe.index import FREE, HALF, LOW, ONE, ZERO, may_merge, pair_slot, weight_at
from subwords.kernels.bpe.pair_heap import Training, entry_at, pop, push, string_length
from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, pointer
from subwords.kernels.layout import DONE, EXHAUSTED, NEED_PAIRS, NEED_STRINGS, PAUSED
from subwords.kernels.train_layout import (
    BUFFER_ROW,
    HEAP_ROW,
    HEAP_SIZE,
    IN_WORD,
    LAST_LEFT,
    LEFT,
    LEFT_WORDS,
    MAX_LENGTH,
    MERGE_ROW,
    MERGES,
    NEIGHBOUR,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_PLACE,
    PAIR_ROW,
    PAIR_WORDS,
    PAIRS_USED,
    PAUSE,
    POSTINGS_USED,
    PREFIX_BYTES,
    RIGHT,
    SPAN,
    SPECIALS,
    STRING,
    STRINGS_USED,
    THRESHOLD,
    TIE,
    TIE_FIRST,
    TOKEN_ROW,
    TOKENS,
    VOCAB_SIZE,
    WORD_HEADER,
    WORD_LENGTH,
    MergeTraining,
)


@helper
def first_position(t, at):
    """Where the pair of this entry first occurs now, in first symbols; drops the postings of words that lost it."""
    pairs, left, right = t.pairs, I64(t.pairs[at + PAIR_KEY] >> HALF), I64(t.pairs[at + PAIR_KEY] & LOW)
    while pairs[at + PAIR_WORDS] != ZERO:
        word = I64(t.postings[I64(pairs[at + PAIR_PLACE])])
        k = word + WORD_HEADER
        position = k
        for k in range(word + WORD_HEADER, word + WORD_HEADER + I64(t.arena[word + WORD_LENGTH]) - 1):
            if t.arena[k] == left and t.arena[k + 1] == right:
                return U64(position)
            position += t.tokens[TOKEN_ROW * I64(t.arena[k]) + SPAN]
        pairs[at + PAIR_PLACE] += ONE
        pairs[at + PAIR_WORDS] -= ONE
    return FREE


@helper
def tie_of(t, at):
    """What decides between pairs of equal count; the smaller value wins."""
    if t.settings[TIE] == TIE_FIRST:
        return first_position(t, at)
    return t.pairs[at + PAIR_KEY]


@helper
def best(t):
    """The table entry of the pair to merge next, or -1 when no live pair is left."""
    counters, heap = t.counters, t.heap
    while counters[HEAP_SIZE] > 0:
        count, tie, key = entry_at(heap, I64(0))
        at = pair_slot(t.pairs, t.mask, key)
        if t.pairs[at + PAIR_KEY] == key and t.pairs[at + PAIR_COUNT] >= U64(t.settings[THRESHOLD]):
            now = tie_of(t, at)
            if t.pairs[at + PAIR_COUNT] == count and now == tie:
                return at
            pop(t)
            # Counts only fall and first positions only rise: a stale entry came early.
            push(t, t.pairs[at + PAIR_COUNT], now, key)
        else:
            pop(t)
    return -1


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


@helper
def take_count(t, left, right, weight):
    """Lower a pair's count, if it is in the table."""
    at = pair_slot(t.pairs, t.mask, U64(left) << HALF | U64(right))
    if t.pairs[at + PAIR_KEY] != FREE:
        t.pairs[at + PAIR_COUNT] -= weight


@helper
def open_pair(t, left, right, side, neighbour):
    """Enter a new pair, with room for its postings, if it reaches the threshold."""
    row = TOKEN_ROW * neighbour
    weight = U64(t.tokens[row + side])
    if weight >= U64(t.settings[THRESHOLD]) and may_merge(t.tokens, left, right, t.settings[MAX_LENGTH]):
        key = U64(left) << HALF | U64(right)
        at = pair_slot(t.pairs, t.mask, key)
        if t.pairs[at + PAIR_KEY] == FREE:
            t.counters[PAIRS_USED] += 1
        t.pairs[at + PAIR_KEY], t.pairs[at + PAIR_COUNT] = key, weight
        t.pairs[at + PAIR_PLACE], t.pairs[at + PAIR_WORDS] = U64(t.counters[POSTINGS_USED]), ZERO
        t.counters[POSTINGS_USED] += t.tokens[row + LEFT_WORDS + side]
        t.tokens[row + LAST_LEFT + side] = at
    else:
        t.tokens[row + LAST_LEFT + side] = -1


@helper
def settle(t, left, right, merged, side, filled):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings and heap entry."""
    step = 1 if side == LEFT else -1
    start = 0 if side == LEFT else t.buffer_size - 1
    for k in range(filled):
        neighbour = I64(t.buffer[BUFFER_ROW * (start + step * k) + NEIGHBOUR])
        row = TOKEN_ROW * neighbour
        if t.tokens[row + LEFT_WORDS + side] > 0:  # its first entry
            weight = U64(t.tokens[row + side])
            if side == RIGHT:
                take_count(t, right, neighbour, weight)
                open_pair(t, merged, neighbour, side, neighbour)
            else:
                # Between two consecutive merged pairs, the pair (right, left) disappeared.
                take_count(t, right if neighbour == merged else neighbour, left, weight)
                open_pair(t, neighbour, merged, side, neighbour)
            t.tokens[row + LEFT_WORDS + side] = -t.tokens[row + LEFT_WORDS + side]
        at = t.tokens[row + LAST_LEFT + side]
        if at >= 0:
            t.postings[I64(t.pairs[at + PAIR_PLACE] + t.pairs[at + PAIR_WORDS])] = t.buffer[
                BUFFER_ROW * (start + step * k) + IN_WORD
            ]
            t.pairs[at + PAIR_WORDS] += ONE
    for k in range(filled):
        row = TOKEN_ROW * I64(t.buffer[BUFFER_ROW * (start + step * k) + NEIGHBOUR])
        at = t.tokens[row + LAST_LEFT + side]
        if at >= 0 and t.tokens[row + LEFT_WORDS + side] < 0:
            push(t, t.pairs[at + PAIR_COUNT], tie_of(t, at), t.pairs[at + PAIR_KEY])
        t.tokens[row + side] = 0
        t.tokens[row + LEFT_WORDS + side] = 0
        t.tokens[row + LAST_LEFT + side] = -1


@helper
def join_strings(t, left, right):
    """Append the merged token's bytes to `strings`, those of the right token without the prefix; where they end."""
    tokens, strings, at = t.tokens, t.strings, I64(t.counters[STRINGS_USED])
    for k in range(tokens[TOKEN_ROW * left + STRING], tokens[TOKEN_ROW * left + TOKEN_ROW + STRING]):
        strings[at] = strings[k]
        at += 1
    for k in range(
        tokens[TOKEN_ROW * right + STRING] + t.settings[PREFIX_BYTES], tokens[TOKEN_ROW * right + TOKEN_ROW + STRING]
    ):
        strings[at] = strings[k]
        at += 1
    return at


@helper
def name_token(t, left, right):
    """The id of the merged token: a new one, or that of a special token with the same string (B5)."""
    tokens, strings, counters = t.tokens, t.strings, t.counters
    start = I64(counters[STRINGS_USED])
    at = join_strings(t, left, right)
    span = tokens[TOKEN_ROW * left + SPAN] + tokens[TOKEN_ROW * right + SPAN]
    for special in range(t.settings[SPECIALS]):
        if string_length(t, special) == at - start:
            k = 0
            while k < at - start and strings[tokens[TOKEN_ROW * special + STRING] + k] == strings[start + k]:
                k += 1
            if k == at - start:
                tokens[TOKEN_ROW * special + SPAN] = span
                return special
    merged = I64(counters[TOKENS])
    tokens[TOKEN_ROW * merged + SPAN] = span
    tokens[TOKEN_ROW * merged + TOKEN_ROW + STRING] = at
    counters[STRINGS_USED] = at
    counters[TOKENS] += 1
    return merged


@helper
def merge_pair(t, at):
    """Merge the pair of this table entry everywhere."""
    key = t.pairs[at + PAIR_KEY]
    left, right = I64(key >> HALF), I64(key & LOW)
    merged = name_token(t, left, right)
    row = MERGE_ROW * I64(t.counters[MERGES])
    t.merges[row], t.merges[row + 1], t.merges[row + 2] = left, right, merged
    t.counters[MERGES] += 1
    place, number = I64(t.pairs[at + PAIR_PLACE]), I64(t.pairs[at + PAIR_WORDS])
    lefts, rights = 0, 0
    for k in range(place, place + number):
        lefts, rights = merge_word(t, I64(t.postings[k]), left, right, merged, lefts, rights)
    settle(t, left, right, merged, LEFT, lefts)
    settle(t, left, right, merged, RIGHT, rights)
    t.pairs[at + PAIR_COUNT] = ZERO


@inlined
def opened(training):
    """The pointers of a training."""
    return Training(
        arena=pointer(training.arena),
        pairs=pointer(training.pairs),
        mask=U64(len(training.pairs) // PAIR_ROW - 1),
        postings=pointer(training.postings),
        heap=pointer(training.heap),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // BUFFER_ROW,
        tokens=pointer(training.tokens),
        strings=pointer(training.strings),
        merges=pointer(training.merges),
        counters=pointer(training.counters),
        settings=pointer(training.settings),
    )


@kernel
def start_heap(training: MergeTraining) -> Int:
    """Fill the heap with every pair of the table."""
    t = opened(training)
    t.counters[HEAP_SIZE] = 0
    for entry in range(len(training.pairs) // PAIR_ROW):
        at = entry * PAIR_ROW
        if t.pairs[at + PAIR_KEY] != FREE:
            push(t, t.pairs[at + PAIR_COUNT], tie_of(t, at), t.pairs[at + PAIR_KEY])
    return 0


@kernel
def merge_pairs(training: MergeTraining) -> Int:
    """Merge best pairs until there are enough tokens: DONE, or why it stopped. Same result as `reference.bpe.train`.

    EXHAUSTED: no pair's count reaches settings[THRESHOLD]. PAUSED: settings[PAUSE] merges are done. NEED_...: can be
    resumed after growing.
    """
    t = opened(training)
    room, heap_room = len(training.pairs) // PAIR_ROW // 2, len(training.heap) // HEAP_ROW
    while t.counters[TOKENS] < t.settings[VOCAB_SIZE]:
        at = best(t)
        if at < 0:
            return EXHAUSTED
        left, right = I64(t.pairs[at + PAIR_KEY] >> HALF), I64(t.pairs[at + PAIR_KEY] & LOW)
        most = 2 * t.counters[TOKENS] + 2  # a merge makes at most two pairs with each token
        if t.counters[PAIRS_USED] + most > room or t.counters[HEAP_SIZE] + most > heap_room:
            return NEED_PAIRS
        if t.counters[STRINGS_USED] + string_length(t, left) + string_length(t, right) > len(training.strings):
            return NEED_STRINGS
        if t.counters[MERGES] >= t.settings[PAUSE]:
            return PAUSED
        merge_pair(t, at)
    return DONE
