"""BPE of short words: one at a time, or new ones side by side."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.arithmetic import few_lanes, lowest_lane, many_lanes, put_lane, some_lanes, store_lanes, touches
from subwords.kernels.bpe.pairs import (
    NO_MERGE,
    NONE,
    RANK_SHIFT,
    find_rank,
    known_place,
    known_rank,
    pair_key,
    spread_pair,
)
from subwords.kernels.jit import (
    HALF,
    I64,
    LOW,
    ONE,
    U64,
    ZERO,
    advance,
    helper,
    inlined,
    leading_zeros,
    prefetch,
    trailing_zeros,
)
from subwords.kernels.table.emit import insert
from subwords.kernels.table.keys import LENGTH, find_free

# ---------------------------------------------------------------------------------------------------------------------
# BPE of short words: the pairs of a word are lanes of a vector, whose lowest one is the next pair to merge.
#
# Bit k of `alive` says that a symbol begins at position k: neighbours are found by counting zeros, nothing is moved.

FEW_LANES, SOME_LANES, MANY_LANES = (
    16,
    32,
    layout.PAIR_LANES,
)  # lanes: the number of pairs is one less than that of symbols
LANE_SHIFT, LANE = U64(6), U64(63)  # a lane's value is priority << 6 | position
NO_LANE, LINKED_LANE = U64(0xFFFFFFFF), NO_MERGE << LANE_SHIFT
BORDER = (1 << layout.ID_BITS) - 1  # in place of a symbol before and after a word: no symbol has this number


@inlined
def lane_code(priority, k):
    """A lane's value: the lowest one is the next pair to merge, the leftmost of its rank."""
    return priority << LANE_SHIFT | U64(k)


@inlined
def lane_rank(merges, left, right, k):
    """The lane's value for the pair (left, right) at symbol k."""
    rank = find_rank(merges, left, right)
    if rank == NONE:
        return NO_LANE
    if merges.tied != 0 and rank != NO_MERGE:
        merges.ranks[k] = rank
        return lane_code(U64(merges.classes[I64(rank)]), k)
    return lane_code(rank, k)


@helper
def fill_codes(merges, n):
    """Write the lanes of the pairs of n symbols, given their `ranks`."""
    for k in range(n - 1):
        merges.codes[k] = lane_code(merges.ranks[k] >> HALF, k) if merges.ranks[k] != NONE else NO_LANE


@helper
def merge_codes(merges, n):
    """Merge at most SHORT_WORD symbols in place, given their lanes in `codes`; the number left."""
    codes = merges.codes
    for k in range(n - 1, FEW_LANES if n <= FEW_LANES else MANY_LANES):
        codes[k] = NO_LANE
    if n <= FEW_LANES:
        return merge_lanes(merges, n, few_lanes(codes))
    return merge_lanes(merges, n, many_lanes(codes))


@inlined
def result_of(merges, rank):
    """The id that a rank yields."""
    return rank + merges.first_result if merges.first_result >= 0 else I64(merges.results[rank])


@helper
def merge_lanes(merges, n, lanes):
    """Merge n symbols in place; `lanes` holds the value of each pair. The number left."""
    symbols = merges.symbols
    alive = (ONE << U64(n)) - ONE
    best = lowest_lane(lanes)
    while best < LINKED_LANE:
        at = I64(best & LANE)
        rank = I64(best >> LANE_SHIFT)
        if merges.tied != 0:
            rank = I64(merges.ranks[at] & LOW)
        merged = result_of(merges, rank)
        symbols[at] = merged
        above = alive & ~((U64(2) << U64(at)) - ONE)
        gone = trailing_zeros(above)
        alive &= ~(ONE << U64(gone))
        above &= alive
        lanes = put_lane(lanes, gone, NO_LANE)
        value = NO_LANE
        if above != ZERO:
            value = lane_rank(merges, merged, symbols[trailing_zeros(above)], at)
        lanes = put_lane(lanes, at, value)
        below = alive & ((ONE << U64(at)) - ONE)
        if below != ZERO:
            before = 63 - leading_zeros(below)
            lanes = put_lane(lanes, before, lane_rank(merges, symbols[before], merged, before))
        best = lowest_lane(lanes)
    return left_over(symbols, alive, symbols, 0)


@inlined
def left_over(symbols, alive, out, at):
    """Write the symbols that are alive to `out`, from `at` on; their number."""
    count = 0
    while alive != ZERO:
        out[at + count] = symbols[trailing_zeros(alive)]
        count += 1
        alive &= alive - ONE
    return count


@helper
def merge_known(merges, n):
    """Merge at most SHORT_WORD symbols by a perfect table; a bit for each position that begins one.

    The symbols are at 1..n, and codes[k] is the lane of the pair at k, from 1 on. Row: encode_cl100k, "english, 60 MB".
    """
    codes = merges.codes
    codes[0] = NO_LANE
    if n < FEW_LANES:
        for k in range(n, FEW_LANES):
            codes[k] = NO_LANE
        return merge_known_lanes(merges, n, few_lanes(codes))
    if n < SOME_LANES:
        for k in range(n, SOME_LANES):
            codes[k] = NO_LANE
        return merge_known_lanes(merges, n, some_lanes(codes))
    for k in range(n, MANY_LANES):
        codes[k] = NO_LANE
    return merge_known_lanes(merges, n, many_lanes(codes))


@inlined
def known_lane(merges, left, right, k):
    """The lane's value for the pair (left, right) at symbol k."""
    rank = known_rank(merges, left, right)
    return NO_LANE if rank == NONE else lane_code(rank, k)


@helper
def merge_known_lanes(merges, n, lanes):
    """Merge the symbols at 1..n; `lanes` holds the value of each pair. A bit for each that is left.

    A BORDER on both sides makes every symbol one between others. The lowest of the other lanes does not wait for the
    two new ones (+15 % speed). Branches for pairs that do not merge: -30 % where they are hard to predict.
    """
    symbols = merges.symbols
    symbols[0], symbols[n + 1] = BORDER, BORDER
    alive = (U64(4) << U64(n)) - ONE
    best = lowest_lane(lanes)
    while best < LINKED_LANE:
        at, rank = I64(best & LANE), I64(best >> LANE_SHIFT)
        above = alive & ~((U64(2) << U64(at)) - ONE)
        gone = trailing_zeros(above)
        merged = result_of(merges, rank)
        symbols[at] = merged
        alive &= ~(ONE << U64(gone))
        before = 63 - leading_zeros(alive & ((ONE << U64(at)) - ONE))
        after = trailing_zeros(above & (above - ONE))
        lanes = put_lane(put_lane(put_lane(lanes, gone, NO_LANE), at, NO_LANE), before, NO_LANE)
        best = lowest_lane(lanes)
        value = known_lane(merges, merged, symbols[after], at)
        lanes = put_lane(lanes, at, value)
        best = min(best, value)
        value = known_lane(merges, symbols[before], merged, before)
        lanes = put_lane(lanes, before, value)
        best = min(best, value)
    return alive & ((ONE << U64(n + 1)) - U64(2))


# ---------------------------------------------------------------------------------------------------------------------
# New words side by side: most of the time of a new word, which is merged as in `merge_known_lanes`, waits for memory.
# So several are merged in turns, one step of each, and a step fetches what the next one of its word needs. With entries
# of 64 bits and sieves (`pairs.py`): text of new words only, o200k, 473 -> 335 ns a word. Row: requests, "o200k": 1.0
# to 1.1 times as fast.
#
# A row has the 16 lanes of a word, its symbols, and what follows; a word that is its own key has at most INLINE bytes.

ROW_SYMBOLS = 16
# The symbols that are left, the last merged one, the places of its pairs in the table, and the row of keys plus one, or
# 0 if the row is free.
ROW_ALIVE, ROW_AT, ROW_RIGHT, ROW_LEFT, ROW_KEY, ROW_READ = range(34, 40)


@helper
def begin_word(model, keys, k, row):
    """Make a row that of a word, given its key."""
    low, high = keys[k], keys[k + 1]
    length, symbols, before = I64(high >> U64(56) & U64(15)), advance(row, ROW_SYMBOLS), I64(0)
    symbols[0], symbols[length + 1] = BORDER, BORDER
    for j in range(length):
        byte = I64((low if j < 8 else high) >> U64(8 * (j & 7)) & U64(255))
        symbols[j + 1] = model.alphabet[byte]
        row[j] = lane_code(U64(model.first_ranks[before << 8 | byte]), j) & LOW
        before = byte
    row[0] = NO_LANE
    for j in range(length, FEW_LANES):
        row[j] = NO_LANE
    row[ROW_ALIVE] = (U64(4) << U64(length)) - ONE
    row[ROW_AT], row[ROW_RIGHT], row[ROW_LEFT], row[ROW_KEY] = 0, 0, 0, k + 1


@inlined
def fetched_lane(merges, place, left, right, k):
    """The lane's value for the pair (left, right), given its place in the perfect table."""
    entry = merges.pairs[I64(place)]
    return lane_code(entry & NO_MERGE, k) if entry >> RANK_SHIFT == pair_key(left, right) else NO_LANE


@inlined
def fetch_pair(merges, left, right):
    """The place of a pair in the perfect table, which comes into the cache."""
    place = known_place(merges, spread_pair(merges.seed, left, right))
    prefetch(merges.pairs, place)
    return place


@inlined
def put_fetched(merges, row):
    """The lanes of a row's word, with those of the pairs of the last merge."""
    symbols, alive, at = advance(row, ROW_SYMBOLS), U64(row[ROW_ALIVE]), I64(row[ROW_AT])
    # Without a last merge: the lanes of symbol 0, and of none before it.
    before = (63 - leading_zeros(alive & ((ONE << U64(at)) - ONE))) & 15
    after = trailing_zeros(alive & ~((U64(2) << U64(at)) - ONE))
    lanes = put_lane(few_lanes(row), at, fetched_lane(merges, row[ROW_RIGHT], symbols[at], symbols[after], at))
    return put_lane(lanes, before, fetched_lane(merges, row[ROW_LEFT], symbols[before], symbols[at], before))


@helper
def merge_once(merges, row):
    """Merge the best pair of a row's word: whether there was one."""
    symbols, alive = advance(row, ROW_SYMBOLS), U64(row[ROW_ALIVE])
    lanes = few_lanes(row) if touches() != 0 else put_fetched(merges, row)
    best = lowest_lane(lanes)
    if best >= LINKED_LANE:
        return False
    at = I64(best & LANE)
    above = alive & ~((U64(2) << U64(at)) - ONE)
    gone, after = trailing_zeros(above), trailing_zeros(above & (above - ONE))
    merged = result_of(merges, I64(best >> LANE_SHIFT))
    symbols[at] = merged
    alive &= ~(ONE << U64(gone))
    before = 63 - leading_zeros(alive & ((ONE << U64(at)) - ONE))
    row[ROW_RIGHT] = fetch_pair(merges, merged, symbols[after])
    row[ROW_LEFT] = fetch_pair(merges, symbols[before], merged)
    store_lanes(row, put_lane(put_lane(put_lane(lanes, gone, NO_LANE), at, NO_LANE), before, NO_LANE))
    row[ROW_ALIVE], row[ROW_AT] = alive, at
    return True


@helper
def end_word(table, keys, row):
    """Store the ids of a row's word, unless an equal word came before it, and free the row."""
    k, alive = I64(row[ROW_KEY]) - 1, U64(row[ROW_ALIVE])
    low, high, slot = keys[k], keys[k + 1], I64(keys[k + 2])
    row[ROW_KEY] = 0
    slot = find_free(table.slots, table.mask, low, high, slot)
    if table.slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
        inner = alive & ((ONE << (U64(63) - U64(leading_zeros(alive)))) - U64(2))  # without both borders
        n = left_over(advance(row, ROW_SYMBOLS), inner, row, 0)
        insert(table, table.bytes, 0, I64(high >> U64(56) & U64(15)), low, high, slot, row, n)


@helper
def segment_side_by_side(model, table, keys, k, stop):
    """Segment and store the short new words among these rows of keys, if the model is for it and there is room."""
    if model.settings[layout.BPE.side] == 0:
        return
    merges, rows, found, count = (
        model.merges,
        model.side,
        advance(model.side, layout.SIDE_WORDS * layout.SIDE_ROW),
        I64(0),
    )
    counters = table.counters
    # The word that the caller is at may not be one of them: a slot and half of the arena are left for it.
    room = min(
        table.load - counters[layout.COUNTER.slots_used] - 1,
        (table.ids_room - counters[layout.COUNTER.ids_used]) // (2 * layout.INLINE),
    )
    while k < stop and count < room:
        found[count] = k
        if keys[k + 1] & LENGTH != ZERO:
            slot = find_free(table.slots, table.mask, keys[k], keys[k + 1], I64(keys[k + 2]))
            count += I64(table.slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO)
        k += layout.KEY_ROW
    begun, left = min(count, I64(layout.SIDE_WORDS)), count
    for s in range(begun):
        begin_word(model, keys, I64(found[s]), advance(rows, layout.SIDE_ROW * s))
    used = begun
    while left > 0:
        if touches() != 0:
            for s in range(used):  # short turns, so that a processor reads many places at once
                row = advance(rows, layout.SIDE_ROW * s)
                row[ROW_READ] = merges.pairs[I64(row[ROW_RIGHT])] ^ merges.pairs[I64(row[ROW_LEFT])]
            for s in range(used):
                put_fetched(merges, advance(rows, layout.SIDE_ROW * s))
        for s in range(used):
            row = advance(rows, layout.SIDE_ROW * s)
            if row[ROW_KEY] != 0 and not merge_once(merges, row):
                end_word(table, keys, row)
                left -= 1
                if begun < count:
                    begin_word(model, keys, I64(found[begun]), row)
                    begun += 1
