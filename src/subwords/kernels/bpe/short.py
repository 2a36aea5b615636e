"""BPE of short words: the pairs of a word are lanes of a vector, whose lowest one is the next pair to merge.

Bit k of `alive` says that a symbol begins at position k: neighbours are found by counting zeros, nothing is moved.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.pairs import (
    HALF,
    LOW,
    NO_MERGE,
    NONE,
    ONE,
    ZERO,
    find_rank,
    is_half,
    maybe_rank,
)
from subwords.kernels.jit import I64, U64, helper, inlined, leading_zeros, trailing_zeros
from subwords.kernels.lanes import few_lanes, lowest_lane, many_lanes, put_lane, some_lanes

FEW, SOME, MANY = 16, 32, layout.PAIR_LANES  # lanes: the number of pairs is one less than that of symbols
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
    for k in range(n - 1, FEW if n <= FEW else MANY):
        codes[k] = NO_LANE
    if n <= FEW:
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

    The symbols are at positions 1..n, and codes[k] is the lane of the pair at k, from 1 on.
    """
    codes = merges.codes
    codes[0] = NO_LANE
    if n < FEW:
        for k in range(n, FEW):
            codes[k] = NO_LANE
        return merge_known_lanes(merges, n, few_lanes(codes))
    if n < SOME:
        for k in range(n, SOME):
            codes[k] = NO_LANE
        return merge_known_lanes(merges, n, some_lanes(codes))
    for k in range(n, MANY):
        codes[k] = NO_LANE
    return merge_known_lanes(merges, n, many_lanes(codes))


@inlined
def known_lane(known, left, right, k):
    """The lane's value for the pair (left, right) at symbol k, maybe that of another pair; without a branch."""
    rank = maybe_rank(known, left, right)
    # Bits above those of a rank: minus them, the low 32 bits are LINKED_LANE or more.
    return (ZERO - (rank >> known.bits) | lane_code(rank, k)) & LOW


@helper
def merge_known_lanes(merges, n, lanes):
    """Merge the symbols at 1..n; `lanes` holds the value of each pair. A bit for each that is left.

    A BORDER on both sides makes every symbol one between others. A rank is certain only after a look at its halves,
    which nothing waits for. Nor does the lowest of the other lanes wait for the two new ones (+15 % speed). Branches
    for pairs that do not merge: -30 % where they are hard to predict.
    """
    symbols, known = merges.symbols, merges.known
    symbols[0], symbols[n + 1] = BORDER, BORDER
    alive = (U64(4) << U64(n)) - ONE
    best = lowest_lane(lanes)
    while best < LINKED_LANE:
        at, rank = I64(best & LANE), I64(best >> LANE_SHIFT)
        above = alive & ~((U64(2) << U64(at)) - ONE)
        gone = trailing_zeros(above)
        if not is_half(known, rank, I64(symbols[at]), I64(symbols[gone])):
            lanes = put_lane(lanes, at, NO_LANE)
            best = lowest_lane(lanes)
            continue
        merged = result_of(merges, rank)
        symbols[at] = merged
        alive &= ~(ONE << U64(gone))
        before = 63 - leading_zeros(alive & ((ONE << U64(at)) - ONE))
        after = trailing_zeros(above & (above - ONE))
        lanes = put_lane(put_lane(put_lane(lanes, gone, NO_LANE), at, NO_LANE), before, NO_LANE)
        best = lowest_lane(lanes)
        value = known_lane(known, merged, symbols[after], at)
        lanes = put_lane(lanes, at, value)
        best = min(best, value)
        value = known_lane(known, symbols[before], merged, before)
        lanes = put_lane(lanes, before, value)
        best = min(best, value)
    return alive & ((ONE << U64(n + 1)) - U64(2))
