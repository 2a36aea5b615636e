"""BPE training (B1-B5): words in one arena, live pairs in one table, and exact pruning.

Words, pairs and postings are as in bpe_index.py. Postings and heap entries go stale and are checked when used.

Pruning. A pair's count never rises after the merge that made its symbols. So a pair that arises with a count below
`threshold` will never be the best one as long as the best one has at least `threshold`: it gets no entry, no postings
and no place in the heap. When the heap runs out the threshold is lowered and the words are read again, once.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.bpe.index import (
    BYTES,
    DONE,
    ENTRY,
    EXHAUSTED,
    FIRST,
    HALF,
    HEADER,
    HEAP,
    LAST_LEFT,
    LEFT,
    LEFT_WORDS,
    LONGEST,
    LOW,
    MERGES,
    NEED_PAIRS,
    NEED_STRINGS,
    NONE,
    ONE,
    PAUSE,
    PAUSED,
    POSTINGS,
    PREFIX,
    RIGHT,
    SIZE,
    SPAN,
    SPECIALS,
    STRING,
    STRINGS,
    THRESHOLD,
    TIE,
    TOKENS,
    USED,
    ZERO,
    may_merge,
    pair_slot,
    weight_at,
)
from subwords.kernels.jit import I64, U64, I32s, I64s, Int, U8s, U32s, U64s, helper, inlined, kernel, pointer


class Training(NamedTuple):
    """Everything the loop works on."""

    arena: object
    pairs: object
    mask: object
    postings: object
    heap: object  # uint64, three an entry: count, tie, pair
    buffer: (
        object  # uint32, two an entry: neighbour and word of a new pair; left ones from the front, right from the back
    )
    buffer_size: object
    tokens: object
    strings: object
    merges: object
    state: object
    settings: object


@inlined
def string_length(t, x):
    """The number of bytes of token x; tokens' strings lie one after the other."""
    return t.tokens[8 * (x + 1) + STRING] - t.tokens[8 * x + STRING]


@helper
def string_order(t, x, y):
    """Negative, zero or positive as token x's bytes come before, equal or follow token y's."""
    i, j = t.tokens[8 * x + STRING], t.tokens[8 * y + STRING]
    m, n = string_length(t, x), string_length(t, y)
    for k in range(min(m, n)):
        if t.strings[i + k] != t.strings[j + k]:
            return I64(t.strings[i + k]) - I64(t.strings[j + k])
    return m - n


@helper
def before(t, count, tie, key, entry):
    """Whether (count, tie, key) is to be merged before this heap entry (B1, B2)."""
    heap = t.heap
    if count != heap[entry]:
        return count > heap[entry]
    if t.settings[TIE] != BYTES:
        return tie < heap[entry + 1]
    other = heap[entry + 2]
    order = string_order(t, I64(key >> HALF), I64(other >> HALF))
    if order == 0:
        order = string_order(t, I64(key & LOW), I64(other & LOW))
    return order < 0


@helper
def push(t, count, tie, key):
    """Add an entry to the heap."""
    heap, at = t.heap, I64(t.state[HEAP])
    t.state[HEAP] += 1
    while at > 0 and before(t, count, tie, key, 3 * ((at - 1) >> 1)):
        parent = (at - 1) >> 1
        for k in range(3):
            heap[3 * at + k] = heap[3 * parent + k]
        at = parent
    heap[3 * at], heap[3 * at + 1], heap[3 * at + 2] = count, tie, key


@helper
def pop(t):
    """Remove the first entry; the caller has read it."""
    t.state[HEAP] -= 1
    heap, size, at = t.heap, I64(t.state[HEAP]), 0
    count, tie, key = heap[3 * size], heap[3 * size + 1], heap[3 * size + 2]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before(t, heap[3 * child + 3], heap[3 * child + 4], heap[3 * child + 5], 3 * child):
            child += 1
        if not before(t, heap[3 * child], heap[3 * child + 1], heap[3 * child + 2], 3 * size):
            break
        for k in range(3):
            heap[3 * at + k] = heap[3 * child + k]
        at = child
    heap[3 * at], heap[3 * at + 1], heap[3 * at + 2] = count, tie, key


@helper
def first_position(t, at):
    """Where the pair of this entry first occurs now, in initial symbols; postings that lost it are dropped."""
    pairs, left, right = t.pairs, I64(t.pairs[at] >> HALF), I64(t.pairs[at] & LOW)
    while pairs[at + 3] != ZERO:
        word = I64(t.postings[I64(pairs[at + 2])])
        k = word + HEADER
        position = k
        for k in range(word + HEADER, word + HEADER + I64(t.arena[word]) - 1):
            if t.arena[k] == left and t.arena[k + 1] == right:
                return U64(position)
            position += t.tokens[8 * I64(t.arena[k]) + SPAN]
        pairs[at + 2] += ONE
        pairs[at + 3] -= ONE
    return NONE


@helper
def tie_of(t, at):
    """What decides between pairs of one count, smaller first."""
    if t.settings[TIE] == FIRST:
        return first_position(t, at)
    return t.pairs[at]


@helper
def best(t):
    """The table entry of the pair to merge next, or -1 when no live pair is left."""
    state, heap = t.state, t.heap
    while state[HEAP] > 0:
        count, tie, key = heap[0], heap[1], heap[2]
        at = pair_slot(t.pairs, t.mask, key)
        if t.pairs[at] == key and t.pairs[at + 1] >= U64(t.settings[THRESHOLD]):
            now = tie_of(t, at)
            if t.pairs[at + 1] == count and now == tie:
                return at
            pop(t)
            # Counts only fall and first positions only rise: a stale entry came early.
            push(t, t.pairs[at + 1], now, key)
        else:
            pop(t)
    return -1


@inlined
def note(t, neighbour, side, word, weight, filled):
    """Count a new pair with this neighbour, and remember the word, once; the new fill of that side's buffer."""
    row = 8 * neighbour
    t.tokens[row + side] += I64(weight)
    if t.tokens[row + LAST_LEFT + side] != word:
        t.tokens[row + LAST_LEFT + side] = word
        t.tokens[row + LEFT_WORDS + side] += 1
        at = 2 * filled if side == LEFT else 2 * (t.buffer_size - 1 - filled)
        t.buffer[at], t.buffer[at + 1] = neighbour, word
        return filled + 1
    return filled


@helper
def merge_word(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word, left to right, and note the new pairs; the new fills of the buffers."""
    arena, n = t.arena, I64(t.arena[word])
    weight, base = weight_at(arena, word), word + HEADER
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
    arena[word] = write
    return lefts, rights


@helper
def take_count(t, left, right, weight):
    """Lower a pair's count, if it is live."""
    at = pair_slot(t.pairs, t.mask, U64(left) << HALF | U64(right))
    if t.pairs[at] != NONE:
        t.pairs[at + 1] -= weight


@helper
def open_pair(t, left, right, side, neighbour):
    """Enter a new pair if it is live, with room for its postings."""
    row = 8 * neighbour
    weight = U64(t.tokens[row + side])
    if weight >= U64(t.settings[THRESHOLD]) and may_merge(t.tokens, left, right, t.settings[LONGEST]):
        key = U64(left) << HALF | U64(right)
        at = pair_slot(t.pairs, t.mask, key)
        if t.pairs[at] == NONE:
            t.state[USED] += 1
        t.pairs[at], t.pairs[at + 1] = key, weight
        t.pairs[at + 2], t.pairs[at + 3] = U64(t.state[POSTINGS]), ZERO
        t.state[POSTINGS] += t.tokens[row + LEFT_WORDS + side]
        t.tokens[row + LAST_LEFT + side] = at
    else:
        t.tokens[row + LAST_LEFT + side] = -1


@helper
def settle(t, left, right, merged, side, filled):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings and heap entry."""
    step = 1 if side == LEFT else -1
    start = 0 if side == LEFT else t.buffer_size - 1
    for k in range(filled):
        neighbour = I64(t.buffer[2 * (start + step * k)])
        row = 8 * neighbour
        if t.tokens[row + LEFT_WORDS + side] > 0:  # its first mention
            weight = U64(t.tokens[row + side])
            if side == RIGHT:
                take_count(t, right, neighbour, weight)
                open_pair(t, merged, neighbour, side, neighbour)
            else:
                # Between two merged pairs in a row it was the pair (right, left) that went.
                take_count(t, right if neighbour == merged else neighbour, left, weight)
                open_pair(t, neighbour, merged, side, neighbour)
            t.tokens[row + LEFT_WORDS + side] = -t.tokens[row + LEFT_WORDS + side]
        at = t.tokens[row + LAST_LEFT + side]
        if at >= 0:
            t.postings[I64(t.pairs[at + 2] + t.pairs[at + 3])] = t.buffer[2 * (start + step * k) + 1]
            t.pairs[at + 3] += ONE
    for k in range(filled):
        row = 8 * I64(t.buffer[2 * (start + step * k)])
        at = t.tokens[row + LAST_LEFT + side]
        if at >= 0 and t.tokens[row + LEFT_WORDS + side] < 0:
            push(t, t.pairs[at + 1], tie_of(t, at), t.pairs[at])
        t.tokens[row + side] = 0
        t.tokens[row + LEFT_WORDS + side] = 0
        t.tokens[row + LAST_LEFT + side] = -1


@helper
def join_strings(t, left, right):
    """Write the merged token's bytes after all others, the right one's without their prefix; where they end."""
    tokens, strings, at = t.tokens, t.strings, I64(t.state[STRINGS])
    for k in range(tokens[8 * left + STRING], tokens[8 * left + 8 + STRING]):
        strings[at] = strings[k]
        at += 1
    for k in range(tokens[8 * right + STRING] + t.settings[PREFIX], tokens[8 * right + 8 + STRING]):
        strings[at] = strings[k]
        at += 1
    return at


@helper
def name_token(t, left, right):
    """The id of the merged token: a new one, or that of a special token with the same string (B5)."""
    tokens, strings, state = t.tokens, t.strings, t.state
    start = I64(state[STRINGS])
    at = join_strings(t, left, right)
    span = tokens[8 * left + SPAN] + tokens[8 * right + SPAN]
    for special in range(t.settings[SPECIALS]):
        if string_length(t, special) == at - start:
            k = 0
            while k < at - start and strings[tokens[8 * special + STRING] + k] == strings[start + k]:
                k += 1
            if k == at - start:
                tokens[8 * special + SPAN] = span
                return special
    merged = I64(state[TOKENS])
    tokens[8 * merged + SPAN] = span
    tokens[8 * merged + 8 + STRING] = at
    state[STRINGS] = at
    state[TOKENS] += 1
    return merged


@helper
def merge_pair(t, at):
    """Merge the pair of this table entry everywhere."""
    key = t.pairs[at]
    left, right = I64(key >> HALF), I64(key & LOW)
    merged = name_token(t, left, right)
    row = 3 * I64(t.state[MERGES])
    t.merges[row], t.merges[row + 1], t.merges[row + 2] = left, right, merged
    t.state[MERGES] += 1
    place, number = I64(t.pairs[at + 2]), I64(t.pairs[at + 3])
    lefts, rights = 0, 0
    for k in range(place, place + number):
        lefts, rights = merge_word(t, I64(t.postings[k]), left, right, merged, lefts, rights)
    settle(t, left, right, merged, LEFT, lefts)
    settle(t, left, right, merged, RIGHT, rights)
    t.pairs[at + 1] = ZERO


@kernel
def start_heap(
    arena: U32s,
    pairs: U64s,
    postings: U32s,
    heap: U64s,
    tokens: I64s,
    strings: U8s,
    merges: I32s,
    state: I64s,
    settings: I64s,
) -> Int:
    """Fill the heap with every pair of the table."""
    t = Training(
        pointer(arena), pointer(pairs), U64(len(pairs) // ENTRY - 1), pointer(postings), pointer(heap), pointer(arena),
        0, pointer(tokens), pointer(strings), pointer(merges), pointer(state), pointer(settings),
    )  # fmt: skip
    t.state[HEAP] = 0
    for entry in range(len(pairs) // ENTRY):
        at = entry * ENTRY
        if t.pairs[at] != NONE:
            push(t, t.pairs[at + 1], tie_of(t, at), t.pairs[at])
    return 0


@kernel
def merge_pairs(
    arena: U32s,
    pairs: U64s,
    postings: U32s,
    heap: U64s,
    buffer: U32s,
    tokens: I64s,
    strings: U8s,
    merges: I32s,
    state: I64s,
    settings: I64s,
) -> Int:
    """Merge best pairs until there are enough tokens, and say why it stopped; same result as `reference.bpe.train`.

    EXHAUSTED: no pair has a count of settings[THRESHOLD] or more. PAUSED: settings[PAUSE] merges are done. Otherwise
    resumable after growing what it needs.
    """
    t = Training(
        pointer(arena), pointer(pairs), U64(len(pairs) // ENTRY - 1), pointer(postings), pointer(heap), pointer(buffer),
        len(buffer) // 2, pointer(tokens), pointer(strings), pointer(merges), pointer(state), pointer(settings),
    )  # fmt: skip
    room = len(pairs) // ENTRY // 2
    while t.state[TOKENS] < t.settings[SIZE]:
        at = best(t)
        if at < 0:
            return EXHAUSTED
        left, right = I64(t.pairs[at] >> HALF), I64(t.pairs[at] & LOW)
        most = 2 * t.state[TOKENS] + 2  # a merge makes a pair or two with each token
        if t.state[USED] + most > room or t.state[HEAP] + most > len(heap) // 3:
            return NEED_PAIRS
        if t.state[STRINGS] + string_length(t, left) + string_length(t, right) > len(strings):
            return NEED_STRINGS
        if t.state[MERGES] >= t.settings[PAUSE]:
            return PAUSED
        merge_pair(t, at)
    return DONE
