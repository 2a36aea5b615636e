"""BPE training (B1-B5): words as symbols in one array, live pairs in one table, and exact pruning.

The layout of words, pairs and tokens is in index.py. Postings and heap entries become stale; they are checked when
used. A posting is stale if the pair is no longer at its place: no id returns to a place that it has left.

Pruning: a pair's count never rises after the merge that made its symbols. So a pair that arises with a count below
`threshold` cannot be the best pair while the best pair's count is `threshold` or more: it gets no entry, no postings
and no place in the heap. When the heap is empty, the threshold is lowered and the words are read again.
"""

from __future__ import annotations

from subwords.kernels.bpe.index import FREE, HALF, LOW, ONE, ZERO, allowed, kinds_of, pair_slot, run_at
from subwords.kernels.bpe.pair_heap import Training, entry_at, pop, push, string_length
from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, pointer, prefetch
from subwords.kernels.layout import DONE, EXHAUSTED, MISSING, NEED_PAIRS, NEED_STRINGS, PAUSED
from subwords.kernels.train_layout import (
    BUFFER_ROW,
    COUNT_BITS,
    COUNT_HIGH,
    COUNT_LOW,
    END,
    HEAP_ROW,
    HEAP_SIZE,
    IN_WORD,
    LAST_LEFT,
    LEFT,
    LEFT_WORDS,
    MAX_LENGTH,
    MERGE_LEFT,
    MERGE_RIGHT,
    MERGE_ROW,
    MERGED,
    MERGES,
    NEIGHBOUR,
    NO_PAIR,
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
    RULED,
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
    MergeTraining,
)

AHEAD = 16  # postings whose words are prefetched; as many elements follow the last one


@helper
def first_position(t, at):
    """The first place of the pair of this entry now; drops the postings of places that lost it."""
    pairs, left, right = t.pairs, I64(t.pairs[at + PAIR_KEY] >> HALF), I64(t.pairs[at + PAIR_KEY] & LOW)
    span = t.tokens[TOKEN_ROW * left + SPAN]
    while pairs[at + PAIR_WORDS] != ZERO:
        place = I64(t.postings[I64(pairs[at + PAIR_PLACE])])
        if t.symbols[place] == left and t.symbols[place + span] == right:
            return U64(place)
        # Places ascend, and a lost place is never regained: it is dropped for good.
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
def note(t, neighbour, side, weight, touched):
    """Count a new pair with this neighbour; the new number of different neighbours on that side."""
    row = TOKEN_ROW * neighbour
    if t.tokens[row + LEFT_WORDS + side] == 0:
        t.touched[touched if side == LEFT else t.most_touched - 1 - touched] = neighbour
        touched += 1
    t.tokens[row + side] += I64(weight)
    t.tokens[row + LEFT_WORDS + side] += 1
    return touched


@helper
def merge_places(t, place, number, left, right, merged):
    """Replace the pair at its places, in their order, and note the new pairs.

    The numbers of buffer entries and of different neighbours on the left, then those on the right.
    """
    symbols, tokens, buffer, starts = t.symbols, t.tokens, t.buffer, t.starts
    first = tokens[TOKEN_ROW * left + SPAN]
    whole = first + tokens[TOKEN_ROW * right + SPAN]
    run, next_run, weight = I64(0), I64(0), ZERO
    lefts, rights, touched_left, touched_right = I64(0), I64(0), I64(0), I64(0)
    for k in range(place, place + number):
        prefetch(symbols, I64(t.postings[k + AHEAD]))
        at = I64(t.postings[k])
        # Stale, or taken by the merge just done: in "aaa" the second pair (a, a) is gone after the first.
        if symbols[at] != left or symbols[at + first] != right:
            continue
        if at >= next_run:
            run = run_at(starts, t.runs, run, at)
            next_run, weight = I64(starts[run + 1]), t.weights[run]
        stop = at + whole
        before, after = I64(symbols[at - 1]), I64(symbols[stop])
        # END first: if the right token covers one symbol, this is also the last place, which gets `merged`.
        symbols[at + first] = END
        symbols[at], symbols[stop - 1] = merged, merged
        if before != END:
            touched_left = note(t, before, LEFT, weight, touched_left)
            row = BUFFER_ROW * lefts
            buffer[row + NEIGHBOUR], buffer[row + IN_WORD] = before, at - tokens[TOKEN_ROW * before + SPAN]
            lefts += 1
        # If the pair follows again, its own turn notes the two tokens as neighbours.
        if after != END and not (after == left and symbols[stop + first] == right):
            touched_right = note(t, after, RIGHT, weight, touched_right)
            row = BUFFER_ROW * (t.buffer_size - 1 - rights)
            buffer[row + NEIGHBOUR], buffer[row + IN_WORD] = after, at
            rights += 1
    return lefts, touched_left, rights, touched_right


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
    if weight < U64(t.settings[THRESHOLD]) or (
        t.settings[RULED] != 0
        and not allowed(t.lengths, t.classes, t.joined, t.kinds, t.settings[MAX_LENGTH], left, right)
    ):
        t.tokens[row + side] = MISSING
        return 0
    key = U64(left) << HALF | U64(right)
    at = pair_slot(t.pairs, t.mask, key)
    if t.pairs[at + PAIR_KEY] == FREE:
        t.counters[PAIRS_USED] += 1
    t.pairs[at + PAIR_KEY], t.pairs[at + PAIR_COUNT] = key, weight
    t.pairs[at + PAIR_PLACE] = U64(t.counters[POSTINGS_USED])
    t.pairs[at + PAIR_WORDS] = U64(t.tokens[row + LEFT_WORDS + side])
    # The weight is used up: from here on the field is the place of the next posting.
    t.tokens[row + side] = t.counters[POSTINGS_USED]
    t.counters[POSTINGS_USED] += t.tokens[row + LEFT_WORDS + side]
    t.tokens[row + LAST_LEFT + side] = at
    return 1


@helper
def settle(t, left, right, merged, side, filled, touched):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings and heap entry."""
    tokens, step, live = t.tokens, 1 if side == LEFT else -1, 0
    # Prefetching the entries of the pairs gains nothing.
    start, first = (I64(0), I64(0)) if side == LEFT else (t.most_touched - 1, t.buffer_size - 1)
    for k in range(touched):
        neighbour = I64(t.touched[start + step * k])
        weight = U64(tokens[TOKEN_ROW * neighbour + side])
        if side == RIGHT:
            take_count(t, right, neighbour, weight)
            live += open_pair(t, merged, neighbour, side, neighbour)
        else:
            # Between two consecutive merged pairs, the pair (right, left) disappeared.
            take_count(t, right if neighbour == merged else neighbour, left, weight)
            live += open_pair(t, neighbour, merged, side, neighbour)
    # In the order of the buffer, which is that of the words: so postings ascend.
    if live > 0:
        for k in range(filled):
            entry = BUFFER_ROW * (first + step * k)
            row = TOKEN_ROW * I64(t.buffer[entry + NEIGHBOUR])
            if tokens[row + side] != MISSING:
                t.postings[tokens[row + side]] = t.buffer[entry + IN_WORD]
                tokens[row + side] += 1
    for k in range(touched):
        row = TOKEN_ROW * I64(t.touched[start + step * k])
        if tokens[row + side] != MISSING:
            at = tokens[row + LAST_LEFT + side]
            push(t, t.pairs[at + PAIR_COUNT], tie_of(t, at), t.pairs[at + PAIR_KEY])
        tokens[row + side] = 0
        tokens[row + LEFT_WORDS + side] = 0


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
def is_taken(t, left, right):
    """Whether the merged token would have the string of a token that no merge may make."""
    tokens, strings, start = t.tokens, t.strings, I64(t.counters[STRINGS_USED])
    if t.takens == 0:
        return False
    size = join_strings(t, left, right) - start
    for number in range(t.takens):
        token = I64(t.taken[number])
        if string_length(t, token) == size:
            k, at = 0, tokens[TOKEN_ROW * token + STRING]
            while k < size and strings[at + k] == strings[start + k]:
                k += 1
            if k == size:
                return True
    return False


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
    t.merges[row + MERGE_LEFT], t.merges[row + MERGE_RIGHT], t.merges[row + MERGED] = left, right, merged
    t.merges[row + COUNT_LOW] = I64(t.pairs[at + PAIR_COUNT] & U64((1 << COUNT_BITS) - 1))
    t.merges[row + COUNT_HIGH] = I64(t.pairs[at + PAIR_COUNT] >> U64(COUNT_BITS))
    t.counters[MERGES] += 1
    if t.settings[RULED] != 0:
        t.lengths[merged] = t.lengths[left] + t.lengths[right]
        t.classes[merged] = t.joined[I64(t.classes[left]) * t.kinds + I64(t.classes[right])]
    place, number = I64(t.pairs[at + PAIR_PLACE]), I64(t.pairs[at + PAIR_WORDS])
    lefts, touched_left, rights, touched_right = merge_places(t, place, number, left, right, merged)
    settle(t, left, right, merged, LEFT, lefts, touched_left)
    settle(t, left, right, merged, RIGHT, rights, touched_right)
    t.pairs[at + PAIR_COUNT] = ZERO


@inlined
def opened(training):
    """The pointers of a training."""
    return Training(
        symbols=pointer(training.words.symbols),
        starts=pointer(training.words.starts),
        weights=pointer(training.words.weights),
        runs=len(training.words.weights),
        pairs=pointer(training.pairs),
        mask=U64(len(training.pairs) // PAIR_ROW - 1),
        postings=pointer(training.postings),
        heap=pointer(training.heap),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // BUFFER_ROW,
        touched=pointer(training.touched),
        most_touched=len(training.touched),
        tokens=pointer(training.tokens),
        strings=pointer(training.strings),
        merges=pointer(training.merges),
        lengths=pointer(training.rules.lengths),
        classes=pointer(training.rules.classes),
        joined=pointer(training.rules.joined),
        taken=pointer(training.rules.taken),
        kinds=kinds_of(training.rules),
        takens=len(training.rules.taken),
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
        # All room is checked before the merge: a merge is never left half done, so a call after NEED_... repeats
        # nothing.
        most = 2 * t.counters[TOKENS] + 2  # a merge makes at most two pairs with each token
        if t.counters[PAIRS_USED] + most > room or t.counters[HEAP_SIZE] + most > heap_room:
            return NEED_PAIRS
        if t.counters[STRINGS_USED] + string_length(t, left) + string_length(t, right) > len(training.strings):
            return NEED_STRINGS
        if t.counters[MERGES] >= t.settings[PAUSE]:
            return PAUSED
        if t.settings[RULED] != 0 and is_taken(t, left, right):
            t.pairs[at + PAIR_KEY], t.pairs[at + PAIR_COUNT] = U64(NO_PAIR), ZERO  # as if it had been pruned
        else:
            merge_pair(t, at)
    return DONE
