"""BPE training (B1-B5): words as symbols in one array, live pairs in one table, and exact pruning.

The layout of words, pairs and tokens is in index.py. Postings and heap entries become stale; they are checked when
used. A posting is stale if the pair is no longer at its place: no id returns to a place that it has left.

Pruning: a pair's count never rises after the merge that made its symbols. So a pair that arises with a count below
`threshold` cannot be the best pair while the best pair's count is `threshold` or more: it gets no entry, no postings
and no place in the heap. When the heap is empty, the threshold is lowered and the words are read again.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.index import FREE, allowed, hash_of, kinds_of, pair_slot, run_at
from subwords.kernels.bpe.pairs import TrainingPointers, bring_near, entry_at, pop_pair, push_pair, string_length
from subwords.kernels.jit import HALF, I64, LOW, ONE, U64, ZERO, Int, helper, inlined, kernel, pointer, prefetch
from subwords.kernels.layout import MergeTraining

MOST_COUNT = (1 << 63) - 1
NEXT = 2  # entries of the heap below the first one
POSTINGS_AHEAD = 16  # postings whose words are prefetched; as many elements follow the last one


@helper
def first_position(t, at):
    """The first place of the pair of this entry now; drops the postings of places that lost it."""
    pairs, left, right = t.pairs, I64(t.pairs[at + layout.PAIR.key] >> HALF), I64(t.pairs[at + layout.PAIR.key] & LOW)
    span = t.tokens[layout.TOKEN.width * left + layout.TOKEN.span]
    while pairs[at + layout.PAIR.words] != ZERO:
        place = I64(t.postings[I64(pairs[at + layout.PAIR.place])])
        if t.symbols[place] == left and t.symbols[place + span] == right:
            return U64(place)
        # Places ascend, and a lost place is never regained: it is dropped for good.
        pairs[at + layout.PAIR.place] += ONE
        pairs[at + layout.PAIR.words] -= ONE
    return FREE


@helper
def tie_of(t, at):
    """What decides between pairs of equal count; the smaller value wins."""
    if t.settings[layout.TRAIN.tie] == layout.TIE_FIRST:
        return first_position(t, at)
    return t.pairs[at + layout.PAIR.key]


@inlined
def prefetch_next(t):
    """Prefetch the entries of the pairs that may be the best after this one."""
    for k in range(1, min(NEXT + 1, t.counters[layout.TALLY.near])):
        key = t.heap[layout.HEAP.width * k + layout.HEAP.key]
        prefetch(t.pairs, I64(hash_of(key) & t.mask) * layout.PAIR.width)


@inlined
def prefetch_places(t):
    """Prefetch the first postings of those pairs."""
    for k in range(1, min(NEXT + 1, t.counters[layout.TALLY.near])):
        key = t.heap[layout.HEAP.width * k + layout.HEAP.key]
        at = I64(hash_of(key) & t.mask) * layout.PAIR.width
        if t.pairs[at + layout.PAIR.key] == key:
            prefetch(t.postings, I64(t.pairs[at + layout.PAIR.place]))


@helper
def best_entry(t):
    """The table entry of the pair to merge next, or -1 when no live pair is left."""
    counters, heap = t.counters, t.heap
    while counters[layout.TALLY.heap_size] > 0:
        if counters[layout.TALLY.near] == 0:
            bring_near(t)
        count, tie, key = entry_at(heap, I64(0))
        at = pair_slot(t.pairs, t.mask, key)
        if t.pairs[at + layout.PAIR.key] == key and t.pairs[at + layout.PAIR.count] >= U64(
            t.settings[layout.TRAIN.threshold]
        ):
            now = tie_of(t, at)
            if t.pairs[at + layout.PAIR.count] == count and now == tie:
                prefetch_next(t)
                return at
            pop_pair(t)
            # Counts only fall and first positions only rise: a stale entry came early.
            push_pair(t, t.pairs[at + layout.PAIR.count], now, key)
        else:
            pop_pair(t)
    return -1


@inlined
def note_neighbour(t, neighbour, side, weight, touched):
    """Count a new pair with this neighbour; the new number of different neighbours on that side."""
    row = layout.TOKEN.width * neighbour
    if t.tokens[row + layout.TOKEN.left_words + side] == 0:
        t.touched[touched if side == layout.TOKEN.left else t.most_touched - 1 - touched] = neighbour
        touched += 1
    t.tokens[row + side] += I64(weight)
    t.tokens[row + layout.TOKEN.left_words + side] += 1
    return touched


@helper
def merge_places(t, place, number, left, right, merged):
    """Replace the pair at its places, in their order, and note the new pairs.

    The numbers of buffer entries and of different neighbours on the left, then those on the right.
    """
    symbols, tokens, buffer, starts = t.symbols, t.tokens, t.buffer, t.starts
    first = tokens[layout.TOKEN.width * left + layout.TOKEN.span]
    whole = first + tokens[layout.TOKEN.width * right + layout.TOKEN.span]
    run, next_run, weight = I64(0), I64(0), ZERO
    lefts, rights, touched_left, touched_right = I64(0), I64(0), I64(0), I64(0)
    for k in range(place, place + min(number, POSTINGS_AHEAD)):
        prefetch(symbols, I64(t.postings[k]) - 1)
        prefetch(symbols, I64(t.postings[k]) + whole)
    for k in range(place, place + number):
        prefetch(symbols, I64(t.postings[k + POSTINGS_AHEAD]) - 1)
        prefetch(symbols, I64(t.postings[k + POSTINGS_AHEAD]) + whole)
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
        symbols[at + first] = layout.END
        symbols[at], symbols[stop - 1] = merged, merged
        if before != layout.END:
            touched_left = note_neighbour(t, before, layout.TOKEN.left, weight, touched_left)
            row = layout.BUFFER.width * lefts
            buffer[row + layout.BUFFER.neighbour], buffer[row + layout.BUFFER.in_word] = (
                before,
                at - tokens[layout.TOKEN.width * before + layout.TOKEN.span],
            )
            lefts += 1
        # If the pair follows again, its own turn notes the two tokens as neighbours.
        if after != layout.END and not (after == left and symbols[stop + first] == right):
            touched_right = note_neighbour(t, after, layout.TOKEN.right, weight, touched_right)
            row = layout.BUFFER.width * (t.buffer_size - 1 - rights)
            buffer[row + layout.BUFFER.neighbour], buffer[row + layout.BUFFER.in_word] = after, at
            rights += 1
    # New pairs get the room of these postings first: 39 million postings in all took 157 MB, which the system clears.
    t.counters[layout.TALLY.free_at], t.counters[layout.TALLY.free_end] = place, place + number
    return lefts, touched_left, rights, touched_right


@helper
def lower_pair_count(t, left, right, weight):
    """Lower a pair's count, if it is in the table."""
    at = pair_slot(t.pairs, t.mask, U64(left) << HALF | U64(right))
    if t.pairs[at + layout.PAIR.key] != FREE:
        t.pairs[at + layout.PAIR.count] -= weight


@inlined
def room_for_postings(t, number):
    """Where so many postings go: in place of those of the pair that is merged, or after all others."""
    counters = t.counters
    place = I64(counters[layout.TALLY.free_at])
    if place + number <= counters[layout.TALLY.free_end]:
        counters[layout.TALLY.free_at] = place + number
    else:
        place = I64(counters[layout.TALLY.postings_used])
        counters[layout.TALLY.postings_used] = place + number
    return place


@helper
def open_pair(t, left, right, side, neighbour):
    """Enter a new pair, with room for its postings, if it reaches the threshold."""
    row = layout.TOKEN.width * neighbour
    weight = U64(t.tokens[row + side])
    if weight < U64(t.settings[layout.TRAIN.threshold]) or (
        t.settings[layout.TRAIN.ruled] != 0
        and not allowed(t.lengths, t.classes, t.joined, t.kinds, t.settings[layout.TRAIN.max_length], left, right)
    ):
        t.tokens[row + side] = layout.MISSING
        return 0
    key = U64(left) << HALF | U64(right)
    at = pair_slot(t.pairs, t.mask, key)
    if t.pairs[at + layout.PAIR.key] == FREE:
        t.counters[layout.TALLY.pairs_used] += 1
    t.pairs[at + layout.PAIR.key], t.pairs[at + layout.PAIR.count] = key, weight
    words = t.tokens[row + layout.TOKEN.left_words + side]
    place = room_for_postings(t, words)
    t.pairs[at + layout.PAIR.place], t.pairs[at + layout.PAIR.words] = U64(place), U64(words)
    # The weight is used up: from here on the field is the place of the next posting.
    t.tokens[row + side] = place
    t.tokens[row + layout.TOKEN.last_left + side] = at
    return 1


@inlined
def prefetch_old(t, left, right, merged, side, neighbour):
    """Prefetch the entry of the pair that a new pair with this neighbour replaces."""
    key = U64(right) << HALF | U64(neighbour)
    if side == layout.TOKEN.left:
        key = U64(right if neighbour == merged else neighbour) << HALF | U64(left)
    prefetch(t.pairs, I64(hash_of(key) & t.mask) * layout.PAIR.width)


@helper
def move_pair_counts(t, left, right, merged, side, filled, touched):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings and heap entry."""
    tokens, step, live = t.tokens, 1 if side == layout.TOKEN.left else -1, 0
    start, first = (I64(0), I64(0)) if side == layout.TOKEN.left else (t.most_touched - 1, t.buffer_size - 1)
    for k in range(min(touched, POSTINGS_AHEAD)):
        prefetch_old(t, left, right, merged, side, I64(t.touched[start + step * k]))
    for k in range(touched):
        if k + POSTINGS_AHEAD < touched:
            prefetch_old(t, left, right, merged, side, I64(t.touched[start + step * (k + POSTINGS_AHEAD)]))
        neighbour = I64(t.touched[start + step * k])
        weight = U64(tokens[layout.TOKEN.width * neighbour + side])
        if side == layout.TOKEN.right:
            lower_pair_count(t, right, neighbour, weight)
            live += open_pair(t, merged, neighbour, side, neighbour)
        else:
            # Between two consecutive merged pairs, the pair (right, left) disappeared.
            lower_pair_count(t, right if neighbour == merged else neighbour, left, weight)
            live += open_pair(t, neighbour, merged, side, neighbour)
    # In the order of the buffer, which is that of the words: so postings ascend.
    if live > 0:
        for k in range(filled):
            entry = layout.BUFFER.width * (first + step * k)
            row = layout.TOKEN.width * I64(t.buffer[entry + layout.BUFFER.neighbour])
            if tokens[row + side] != layout.MISSING:
                t.postings[tokens[row + side]] = t.buffer[entry + layout.BUFFER.in_word]
                tokens[row + side] += 1
    for k in range(touched):
        row = layout.TOKEN.width * I64(t.touched[start + step * k])
        if tokens[row + side] != layout.MISSING:
            at = tokens[row + layout.TOKEN.last_left + side]
            push_pair(t, t.pairs[at + layout.PAIR.count], tie_of(t, at), t.pairs[at + layout.PAIR.key])
        tokens[row + side] = 0
        tokens[row + layout.TOKEN.left_words + side] = 0


@helper
def join_strings(t, left, right):
    """Append the merged token's bytes to `strings`, those of the right token without the prefix; where they end."""
    tokens, strings, at = t.tokens, t.strings, I64(t.counters[layout.TALLY.strings_used])
    for k in range(
        tokens[layout.TOKEN.width * left + layout.TOKEN.string],
        tokens[layout.TOKEN.width * left + layout.TOKEN.width + layout.TOKEN.string],
    ):
        strings[at] = strings[k]
        at += 1
    for k in range(
        tokens[layout.TOKEN.width * right + layout.TOKEN.string] + t.settings[layout.TRAIN.prefix_bytes],
        tokens[layout.TOKEN.width * right + layout.TOKEN.width + layout.TOKEN.string],
    ):
        strings[at] = strings[k]
        at += 1
    return at


@helper
def is_taken(t, left, right):
    """Whether the merged token would have the string of a token that no merge may make."""
    tokens, strings, start = t.tokens, t.strings, I64(t.counters[layout.TALLY.strings_used])
    if t.takens == 0:
        return False
    size = join_strings(t, left, right) - start
    for number in range(t.takens):
        token = I64(t.taken[number])
        if string_length(t, token) == size:
            k, at = 0, tokens[layout.TOKEN.width * token + layout.TOKEN.string]
            while k < size and strings[at + k] == strings[start + k]:
                k += 1
            if k == size:
                return True
    return False


@helper
def name_token(t, left, right):
    """The id of the merged token: a new one, or that of a special token with the same string (B5)."""
    tokens, strings, counters = t.tokens, t.strings, t.counters
    start = I64(counters[layout.TALLY.strings_used])
    at = join_strings(t, left, right)
    span = (
        tokens[layout.TOKEN.width * left + layout.TOKEN.span] + tokens[layout.TOKEN.width * right + layout.TOKEN.span]
    )
    for special in range(t.settings[layout.TRAIN.specials]):
        if string_length(t, special) == at - start:
            k = 0
            while (
                k < at - start
                and strings[tokens[layout.TOKEN.width * special + layout.TOKEN.string] + k] == strings[start + k]
            ):
                k += 1
            if k == at - start:
                tokens[layout.TOKEN.width * special + layout.TOKEN.span] = span
                return special
    merged = I64(counters[layout.TALLY.tokens])
    tokens[layout.TOKEN.width * merged + layout.TOKEN.span] = span
    tokens[layout.TOKEN.width * merged + layout.TOKEN.width + layout.TOKEN.string] = at
    counters[layout.TALLY.strings_used] = at
    counters[layout.TALLY.tokens] += 1
    return merged


@helper
def merge_pair(t, at):
    """Merge the pair of this table entry everywhere."""
    key = t.pairs[at + layout.PAIR.key]
    left, right = I64(key >> HALF), I64(key & LOW)
    merged = name_token(t, left, right)
    row = layout.MERGE.width * I64(t.counters[layout.TALLY.merges])
    t.merges[row + layout.MERGE.left], t.merges[row + layout.MERGE.right], t.merges[row + layout.MERGE.merged] = (
        left,
        right,
        merged,
    )
    t.merges[row + layout.MERGE.count_low] = I64(t.pairs[at + layout.PAIR.count] & U64((1 << layout.COUNT_BITS) - 1))
    t.merges[row + layout.MERGE.count_high] = I64(t.pairs[at + layout.PAIR.count] >> U64(layout.COUNT_BITS))
    t.counters[layout.TALLY.merges] += 1
    if t.settings[layout.TRAIN.ruled] != 0:
        t.lengths[merged] = t.lengths[left] + t.lengths[right]
        t.classes[merged] = t.joined[I64(t.classes[left]) * t.kinds + I64(t.classes[right])]
    place, number = I64(t.pairs[at + layout.PAIR.place]), I64(t.pairs[at + layout.PAIR.words])
    lefts, touched_left, rights, touched_right = merge_places(t, place, number, left, right, merged)
    prefetch_places(t)
    move_pair_counts(t, left, right, merged, layout.TOKEN.left, lefts, touched_left)
    move_pair_counts(t, left, right, merged, layout.TOKEN.right, rights, touched_right)
    t.pairs[at + layout.PAIR.count] = ZERO


@inlined
def training_pointers(training):
    """The pointers of a training."""
    return TrainingPointers(
        symbols=pointer(training.words.symbols),
        starts=pointer(training.words.starts),
        weights=pointer(training.words.weights),
        runs=len(training.words.weights),
        pairs=pointer(training.pairs),
        mask=U64(len(training.pairs) // layout.PAIR.width - 1),
        postings=pointer(training.postings),
        heap=pointer(training.heap),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // layout.BUFFER.width,
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
    t = training_pointers(training)
    t.counters[layout.TALLY.heap_size], t.counters[layout.TALLY.near] = 0, 0
    t.counters[layout.TALLY.least] = MOST_COUNT  # none comes near before all are known
    for entry in range(len(training.pairs) // layout.PAIR.width):
        at = entry * layout.PAIR.width
        if t.pairs[at + layout.PAIR.key] != FREE:
            push_pair(t, t.pairs[at + layout.PAIR.count], tie_of(t, at), t.pairs[at + layout.PAIR.key])
    return 0


@kernel
def merge_pairs(training: MergeTraining) -> Int:
    """Merge best pairs until there are enough tokens: DONE, or why it stopped. Same result as `reference.bpe.train`.

    EXHAUSTED: no pair's count reaches settings[TRAIN.threshold]. PAUSED: settings[TRAIN.pause] merges are done.
    NEED_...: can be resumed after growing.
    """
    t = training_pointers(training)
    room, heap_room = len(training.pairs) // layout.PAIR.width // 2, len(training.heap) // layout.HEAP.width
    while t.counters[layout.TALLY.tokens] < t.settings[layout.TRAIN.vocab_size]:
        at = best_entry(t)
        if at < 0:
            return layout.EXHAUSTED
        left, right = I64(t.pairs[at + layout.PAIR.key] >> HALF), I64(t.pairs[at + layout.PAIR.key] & LOW)
        # All room is checked before the merge: a merge is never left half done, so a call after NEED_... repeats
        # nothing.
        # A merge makes at most two pairs with each token, and two at each place.
        most = 2 * min(t.counters[layout.TALLY.tokens], I64(t.pairs[at + layout.PAIR.words])) + 2
        t.counters[layout.TALLY.needed] = most
        if t.counters[layout.TALLY.pairs_used] + most > room or t.counters[layout.TALLY.heap_size] + most > heap_room:
            return layout.NEED_PAIRS
        if t.counters[layout.TALLY.strings_used] + string_length(t, left) + string_length(t, right) > len(
            training.strings
        ):
            return layout.NEED_STRINGS
        if t.counters[layout.TALLY.merges] >= t.settings[layout.TRAIN.pause]:
            return layout.PAUSED
        if t.settings[layout.TRAIN.ruled] != 0 and is_taken(t, left, right):
            t.pairs[at + layout.PAIR.key], t.pairs[at + layout.PAIR.count] = (
                U64(layout.REFUSED_PAIR),
                ZERO,
            )  # as if it had been pruned
        else:
            merge_pair(t, at)
    return layout.DONE
