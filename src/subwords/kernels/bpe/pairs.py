"""Pairs of symbols: their ranks in two tables, and the heap of pairs in training.

An entry of both is one uint64, left << 43 | right << 22 | rank; NONE marks a free place.

*Open* table: open addressing with linear probing. Rank MOST_RANK: symbols that meet inside a token, but do not merge.

*Perfect* table, for models that know every byte: each pair has its own place, found without a search or a branch. The
first bits of a pair's hash choose a pilot, which moves the pairs of these bits to free places. The pilot of a group has
a sieve: a bit for each of its pairs, by other bits of the hash. Most pairs that are looked up do not merge; the sieve
sends five of six of these to place 0, which is in the cache, since the time of a new word goes to waiting for memory.
Before, an entry of 32 bits had a rank and a part of the hash, and the two symbols were elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import HALF, I64, LOW, ONE, U64, ZERO, Int, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import GroupedPairs, I64s, U32s, U64s

NONE = U64(layout.NO_PAIR)
ID_SHIFT, RANK_SHIFT = U64(layout.ID_BITS), U64(layout.RANK_BITS)
NO_MERGE = U64(layout.MOST_RANK)
SPREAD = U64(0x9E3779B97F4A7C15)
# A pilot: by how much the hash is shifted, and what it is combined with; the sieve of its group is in the bits above.
TURN, TURN_BITS = U64(15), U64(4)
PILOT_BITS = 16
PILOT, MEMBER, LAST_MEMBER = U64((1 << PILOT_BITS) - 1), U64(40), U64(15)  # where a hash has the number of its bit


class PerfectPairs(NamedTuple):
    """The pointers of a perfect table."""

    pilots: object
    shift: object  # of a hash, to the bits that choose its pilot
    exists: object  # whether the table is a perfect one


@inlined
def pair_key(left, right):
    """A pair as one number."""
    return U64(left) << ID_SHIFT | U64(right)


@inlined
def spread_pair(seed, left, right):
    """The hash of a pair."""
    return mix(pair_key(left, right) ^ seed, SPREAD)


@inlined
def sieve_bits(spread):
    """The two bits of a pair in its element of the sieve."""
    return ONE << (spread >> U64(58)) | ONE << (spread >> U64(52) & U64(63))


@inlined
def find_rank(merges, left, right):
    """The rank of the pair (left, right); NO_MERGE if its symbols only meet inside a token, NONE if not even that.

    Nearly all pairs that are looked up do not merge. The sieve, which fits the second cache, answers most of these.
    """
    key = pair_key(left, right)
    spread = mix(key ^ merges.seed, SPREAD)
    bits = sieve_bits(spread)
    if merges.sieve[I64(spread >> HALF & merges.sieve_mask)] & bits != bits:
        return NONE
    slot = spread & merges.mask
    while True:
        entry = merges.pairs[I64(slot)]
        if entry >> RANK_SHIFT == key:
            return entry & NO_MERGE
        if entry == NONE:
            return NONE
        slot = (slot + ONE) & merges.mask


@inlined
def pilot_place(spread, pilot, mask):
    """The place of a pair."""
    return I64((spread >> (pilot & TURN) ^ pilot >> TURN_BITS) & mask)


@inlined
def member_bit(spread):
    """The number of a pair's bit in the pilot of its group."""
    return U64(PILOT_BITS) + (spread >> MEMBER & LAST_MEMBER)


@inlined
def known_place(merges, spread):
    """The place of a pair in a perfect table, or 0 if the sieve rules it out."""
    pilot = U64(merges.known.pilots[I64(spread >> merges.known.shift)])
    here = ZERO - (pilot >> member_bit(spread) & ONE)
    return pilot_place(spread, pilot & PILOT, merges.mask & here)


@inlined
def known_rank(merges, left, right):
    """The rank of the pair (left, right) in a perfect table, or NONE."""
    key = pair_key(left, right)
    entry = merges.pairs[known_place(merges, mix(key ^ merges.seed, SPREAD))]
    return entry & NO_MERGE if entry >> RANK_SHIFT == key else NONE


@inlined
def pair_rank(merges, left, right):
    """Priority and rank of the pair (left, right), as `ranks` has them.

    LINKED or more if the pair does not merge, NONE if its symbols meet inside no token.
    """
    rank = known_rank(merges, left, right) if merges.known.exists else find_rank(merges, left, right)
    if rank == NONE:
        return NONE
    if merges.tied != 0 and rank != NO_MERGE:
        return U64(merges.classes[I64(rank)]) << HALF | rank
    return rank << HALF | rank


@kernel
def fill_pairs(lefts: I64s, rights: I64s, ranks: I64s, seed: Int, table: U64s, bits: U64s) -> Int:
    """Put the pairs into the empty `table` and sieve `bits` (powers of two); if a pair occurs twice, the last stays."""
    left, right, rank, pairs, sieve = pointer(lefts), pointer(rights), pointer(ranks), pointer(table), pointer(bits)
    mask, sieve_mask = U64(len(table) - 1), U64(len(bits) - 1)
    for k in range(len(lefts)):
        key = U64(left[k]) << ID_SHIFT | U64(right[k])
        spread = mix(key ^ U64(seed), SPREAD)
        sieve[I64(spread >> HALF & sieve_mask)] |= sieve_bits(spread)
        slot = spread & mask
        while pairs[I64(slot)] != NONE and pairs[I64(slot)] >> RANK_SHIFT != key:
            slot = (slot + ONE) & mask
        pairs[I64(slot)] = key << RANK_SHIFT | U64(rank[k])
    return 0


@helper
def group_pairs(left, right, rank, count, seed, groups, t):
    """Write hashes and entries of pairs by group, and the numbers of groups that have any, the largest first: how many.

    The pairs of group g are starts[g] to starts[g + 1] - 1, in order.
    """
    shift, size = U64(64), I64(groups)
    while size > 1:
        shift, size = shift - ONE, size >> 1
    for g in range(groups + 1):
        t.starts[g] = 0
    for k in range(count):
        t.starts[I64(spread_pair(seed, left[k], right[k]) >> shift) + 1] += 1
    largest, found = I64(0), I64(0)
    for g in range(groups):
        largest = max(largest, I64(t.starts[g + 1]))
        t.starts[g + 1] += t.starts[g]
        t.order[g] = t.starts[g]
    for k in range(count):
        spread = spread_pair(seed, left[k], right[k])
        at = I64(t.order[I64(spread >> shift)])
        t.order[I64(spread >> shift)] = at + 1
        t.spreads[at], t.entries[at] = spread, pair_key(left[k], right[k]) << RANK_SHIFT | U64(rank[k])
    for size in range(largest, 0, -1):
        for g in range(groups):
            if t.starts[g + 1] - t.starts[g] == size:
                t.order[found] = g
                found += 1
    return found


@helper
def try_pilot(pilot, spread, entry, first, last, pairs, mask):
    """Write the pairs first..last to the places of this pilot: whether all were free; otherwise none is written."""
    k = first
    while k < last and pairs[pilot_place(spread[k], pilot, mask)] == NONE:
        pairs[pilot_place(spread[k], pilot, mask)] = entry[k]
        k += 1
    if k == last:
        return True
    for j in range(first, k):
        pairs[pilot_place(spread[j], pilot, mask)] = NONE
    return False


@helper
def fill_perfect(left, right, rank, count, seed, pilot_of, groups, pairs, mask, t):
    """Make a perfect table of distinct pairs: 1, or 0 if some have no free places with this seed. See `known_rank`."""
    for k in range(I64(mask) + 1):
        pairs[k] = NONE
    for n in range(group_pairs(left, right, rank, count, seed, groups, t)):
        group = t.order[n]
        first, last, pilot = I64(t.starts[group]), I64(t.starts[group + 1]), I64(0)
        while pilot >> PILOT_BITS == 0 and not try_pilot(U64(pilot), t.spreads, t.entries, first, last, pairs, mask):
            pilot += 1
        if pilot >> PILOT_BITS != 0:
            return I64(0)
        for k in range(first, last):
            pilot |= I64(ONE << member_bit(t.spreads[k]))
        pilot_of[group] = pilot
    return I64(1)


@inlined
def grouped(t):
    """The pointers of what grouping takes."""
    return GroupedPairs(pointer(t.spreads), pointer(t.entries), pointer(t.starts), pointer(t.order))


@kernel
def make_perfect(
    lefts: I64s, rights: I64s, ranks: I64s, seed: Int, pilots: U32s, table: U64s, scratch: GroupedPairs
) -> Int:
    """Make a perfect table of distinct pairs: 1, or 0 if some have no free places with this seed."""
    left, right, rank, mask = pointer(lefts), pointer(rights), pointer(ranks), U64(len(table) - 1)
    count, groups, pairs = len(lefts), len(pilots), pointer(table)
    return fill_perfect(left, right, rank, count, U64(seed), pointer(pilots), groups, pairs, mask, grouped(scratch))


# ---------------------------------------------------------------------------------------------------------------------
# The queue of BPE training: pairs by count, and by the tie rule where counts are equal (B1, B2).
#
# An entry (uint64) is HEAP.count; HEAP.tie, smaller first; and HEAP.key, left << 32 | right. Entries may be stale. The
# first TALLY.near of the TALLY.heap_size entries are a binary heap, best pair first: those whose count is TALLY.least
# or more. The others wait in no order, and most of them are never the best pair: a heap of all has a fifth of the time.
# Row: train, "english, 60 MB".

SAMPLES = 256  # of the waiting entries, to choose TALLY.least
FEWEST = 1 << 10  # entries that come near at once, about
SHARE = 16  # or one of so many


class TrainingPointers(NamedTuple):
    """The pointers of a `MergeTraining`."""

    symbols: object
    starts: object
    weights: object
    runs: object
    pairs: object
    mask: object
    postings: object
    heap: object  # HEAP.width an entry
    buffer: (
        object  # BUFFER.width an entry: neighbour and place of a new pair; left neighbours from the front, right ones
    )
    buffer_size: object  # from the back
    touched: object  # the different left neighbours of a merge from the front, the right ones from the back
    most_touched: object
    tokens: object
    strings: object
    merges: object
    lengths: object  # this and the next three: see MergeRules
    classes: object
    joined: object
    taken: object
    kinds: object
    takens: object
    counters: object
    settings: object


@inlined
def string_length(t, x):
    """The number of bytes of token x; tokens' strings are stored one after the other."""
    return (
        t.tokens[layout.TOKEN.width * (x + 1) + layout.TOKEN.string]
        - t.tokens[layout.TOKEN.width * x + layout.TOKEN.string]
    )


@helper
def string_order(t, x, y):
    """Negative, zero or positive if token x's bytes come before, equal or come after token y's."""
    i, j = (
        t.tokens[layout.TOKEN.width * x + layout.TOKEN.string],
        t.tokens[layout.TOKEN.width * y + layout.TOKEN.string],
    )
    m, n = string_length(t, x), string_length(t, y)
    for k in range(min(m, n)):
        if t.strings[i + k] != t.strings[j + k]:
            return I64(t.strings[i + k]) - I64(t.strings[j + k])
    return m - n


@inlined
def entry_at(heap, at):
    """Count, tie and key of an entry."""
    row = layout.HEAP.width * at
    return heap[row + layout.HEAP.count], heap[row + layout.HEAP.tie], heap[row + layout.HEAP.key]


@inlined
def write_entry(heap, at, count, tie, key):
    """Write an entry."""
    row = layout.HEAP.width * at
    heap[row + layout.HEAP.count], heap[row + layout.HEAP.tie], heap[row + layout.HEAP.key] = count, tie, key


@inlined
def copy_entry(heap, to, at):
    """Copy an entry."""
    for k in range(layout.HEAP.width):
        heap[layout.HEAP.width * to + k] = heap[layout.HEAP.width * at + k]


@helper
def bytes_before(t, key, other):
    """Whether the bytes of a pair come before those of another one."""
    order = string_order(t, I64(key >> HALF), I64(other >> HALF))
    if order == 0:
        order = string_order(t, I64(key & LOW), I64(other & LOW))
    return order < 0


@inlined
def merges_before(t, count, tie, key, entry):
    """Whether (count, tie, key) is to be merged before this entry (B1, B2)."""
    other_count, other_tie, other = entry_at(t.heap, entry)
    if t.settings[layout.TRAIN.tie] == layout.TIE_BYTES:
        if count == other_count:
            return bytes_before(t, key, other)
        return count > other_count
    # Without a branch: which of two entries is better cannot be predicted.
    return (count > other_count) | ((count == other_count) & (tie < other_tie))


@inlined
def climb(t, at, top, count, tie, key):
    """Write an entry at the place `at` of the heap, or above it, at `top` at the most."""
    heap = t.heap
    while at > top and merges_before(t, count, tie, key, (at - 1) >> 1):
        copy_entry(heap, at, (at - 1) >> 1)
        at = (at - 1) >> 1
    write_entry(heap, at, count, tie, key)


@helper
def sink(t, top, size, count, tie, key):
    """Write an entry in place of the one at `top`, or below it."""
    heap, at = t.heap, top
    # The free place goes down to the end, and the entry, which comes from there, a few steps up again.
    while 2 * at + 2 < size:
        child = 2 * at + 1
        other_count, other_tie, other = entry_at(heap, child + 1)
        child += I64(merges_before(t, other_count, other_tie, other, child))
        copy_entry(heap, at, child)
        at = child
    if 2 * at + 1 < size:
        copy_entry(heap, at, 2 * at + 1)
        at = 2 * at + 1
    climb(t, at, top, count, tie, key)


@helper
def push_pair(t, count, tie, key):
    """Add an entry."""
    size, near = I64(t.counters[layout.TALLY.heap_size]), I64(t.counters[layout.TALLY.near])
    t.counters[layout.TALLY.heap_size] = size + 1
    if count < U64(t.counters[layout.TALLY.least]):
        write_entry(t.heap, size, count, tie, key)
        return
    copy_entry(t.heap, size, near)
    t.counters[layout.TALLY.near] = near + 1
    climb(t, near, 0, count, tie, key)


@helper
def pop_pair(t):
    """Remove the first entry. The caller reads it first."""
    t.counters[layout.TALLY.heap_size] -= 1
    t.counters[layout.TALLY.near] -= 1
    size, near = I64(t.counters[layout.TALLY.heap_size]), I64(t.counters[layout.TALLY.near])
    count, tie, key = entry_at(t.heap, near)
    copy_entry(t.heap, near, size)
    if near > 0:
        sink(t, 0, near, count, tie, key)


@helper
def bring_near(t):
    """Make a heap of the waiting entries with the largest counts; there is at least one, and the heap is empty."""
    heap, samples, size = t.heap, t.buffer, I64(t.counters[layout.TALLY.heap_size])
    least = I64(0)
    if size > 2 * FEWEST:
        for k in range(SAMPLES):
            samples[k] = min(heap[layout.HEAP.width * (size // SAMPLES * k) + layout.HEAP.count], LOW)
        wanted = max(SAMPLES // SHARE, SAMPLES * FEWEST // size)
        for bit in range(31, -1, -1):
            above = I64(0)
            for k in range(SAMPLES):
                above += I64(I64(samples[k]) >= least + (1 << bit))
            if above >= wanted:
                least += 1 << bit
    near = I64(0)
    for at in range(size):
        count, tie, key = entry_at(heap, at)
        if count >= U64(least):
            copy_entry(heap, at, near)
            write_entry(heap, near, count, tie, key)
            near += 1
    t.counters[layout.TALLY.near], t.counters[layout.TALLY.least] = near, least
    for at in range(near // 2 - 1, -1, -1):
        count, tie, key = entry_at(heap, at)
        sink(t, at, near, count, tie, key)


# ---------------------------------------------------------------------------------------------------------------------
# A binary min-heap of integers in an array.


@helper
def heap_push(heap, size, value):
    """Add a value and return the new size."""
    at = size
    while at > 0 and heap[(at - 1) >> 1] > value:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = value
    return size + 1


@helper
def heap_pop(heap, size):
    """Remove the smallest value, heap[0], and return the new size. The caller reads heap[0] first."""
    size -= 1
    last = heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return size
