"""BPE inside one word (E1): lowest rank first, leftmost first, one at a time.

pairs.py finds the rank of a pair. results[rank] is the id of the merged token. If merges with different results have
equal priority, classes[rank] is the priority of a rank; otherwise the rank is the priority.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.bpe.heap import heap_pop, heap_push
from subwords.kernels.bpe.pairs import HALF, LOW, NO_MERGE, NONE, pair_rank
from subwords.kernels.bpe.short import fill_codes, merge_codes
from subwords.kernels.jit import I64, U64, advance, helper, inlined

LINKED = NO_MERGE << HALF  # in `ranks`: from this value on there is nothing to merge


class Merges(NamedTuple):
    """The pointers a merge loop works with."""

    pairs: object
    mask: object
    seed: object
    sieve: object  # uint64: two bits of each pair, see find_rank
    sieve_mask: object
    known: object  # the perfect table, `Known`
    first_result: object  # the id that rank 0 yields, if rank r yields the id r more; else negative
    results: object  # int32: the id that each rank yields
    classes: object  # int32: the priority of each rank
    tied: object  # whether priorities are not the ranks
    codes: object  # uint32[PAIR_LANES]: the lanes of a short word's pairs
    symbols: object  # int32[n]: the word's symbols, in and out
    ranks: object  # uint64[n + MERGE_PADDING]: priority << 32 | rank of each adjacent pair; LINKED or more: no merge
    links: object  # int32[2n]: previous and next of each symbol, -1 at the ends
    entries: object  # int32[6n]: (position, next entry), chained by rank
    order: object  # int32[3n]: positions being sorted
    chains: object  # int32[3r]: first and last entry of each rank, and whether out of order; first is -1 between words
    heap: object  # int32[r]: the ranks that have a chain
    waiting: object  # uint64[3n], only where priorities tie: pairs as priority << 32 | position


@helper
def merge_word(merges, n):
    """Merge n symbols in place; the number left. `ranks` holds those of the n - 1 pairs."""
    if n < 2:
        return n
    if n <= layout.SHORT_WORD:
        fill_codes(merges, n)
        return merge_codes(merges, n)
    return merge_long(merges, n) if merges.tied == 0 else merge_tied(merges, n, 1)


@helper
def ask_pairs(merges, n):
    """Look up all pairs of n symbols."""
    for k in range(n - 1):
        merges.ranks[k] = pair_rank(merges, merges.symbols[k], merges.symbols[k + 1])


@inlined
def ask_pair(merges, at, following, entry, size):
    """Look up the pair at `at` and chain its position; the next free entry and the heap's size."""
    merges.ranks[at] = pair_rank(merges, merges.symbols[at], merges.symbols[following])
    return chain_pair(merges, at, entry, size)


@helper
def chain_pair(merges, at, entry, size):
    """Chain a position to the rank of its pair, if it is a merge; the next free entry and the heap's size."""
    if merges.ranks[at] >= LINKED:
        return entry, size
    chains, entries = merges.chains, merges.entries
    rank = I64(merges.ranks[at] >> HALF)
    # At most 3n entries: n - 1 pairs at the start, and two for each of at most n - 1 merges.
    entries[2 * entry], entries[2 * entry + 1] = at, -1
    if chains[3 * rank] < 0:
        chains[3 * rank], chains[3 * rank + 2] = entry, 0
        size = heap_push(merges.heap, size, rank)
    else:
        last = chains[3 * rank + 1]
        entries[2 * last + 1] = entry
        if entries[2 * last] > at:
            chains[3 * rank + 2] = 1
    chains[3 * rank + 1] = entry
    return entry + 1, size


@helper
def sort_chain(merges, rank):
    """Put the positions chained to a rank in ascending order; only merges in an order no trainer writes need it."""
    order, entries = merges.order, merges.entries
    size, entry = I64(0), merges.chains[3 * rank]
    while entry >= 0:
        size = heap_push(order, size, I64(entries[2 * entry]))
        entry = entries[2 * entry + 1]
    entry = merges.chains[3 * rank]
    while entry >= 0:
        entries[2 * entry] = order[0]
        size = heap_pop(order, size)
        entry = entries[2 * entry + 1]
    merges.chains[3 * rank + 2] = 0


@helper
def merge_long(merges, n):
    """The same for any word in O(n log r): positions are chained by rank, a heap holds the ranks (E5).

    One sweep to the right merges all positions of the lowest rank. A merge that creates a pair of lower rank
    interrupts the sweep, so the order is that of E1 for any list of merges.
    """
    symbols, ranks, links = merges.symbols, merges.ranks, merges.links
    entry, size = I64(0), I64(0)  # typed, or Numba would compile the helpers for a literal and again
    for k in range(n):
        links[2 * k], links[2 * k + 1] = k - 1, k + 1
    links[2 * n - 1] = -1
    ranks[n - 1] = NONE
    for k in range(n - 1):
        entry, size = chain_pair(merges, I64(k), entry, size)
    while size > 0:
        rank = I64(merges.heap[0])
        size = heap_pop(merges.heap, size)
        if merges.chains[3 * rank + 2] != 0:
            sort_chain(merges, rank)
        this = I64(merges.chains[3 * rank])
        while this >= 0:
            # The last merge made a pair of lower rank, which comes first (E1): this rank goes back to the heap, and its
            # chain begins at `this` next time.
            if size > 0 and merges.heap[0] < rank:
                size = heap_push(merges.heap, size, rank)
                break
            at = I64(merges.entries[2 * this])
            # Otherwise the entry is stale: its symbol was merged since, or has another neighbour.
            if I64(ranks[at] >> HALF) == rank:
                gone = I64(links[2 * at + 1])
                following = I64(links[2 * gone + 1])
                symbols[at] = merges.results[rank]
                links[2 * at + 1] = following
                ranks[gone] = NONE
                ranks[at] = NONE
                if following >= 0:
                    links[2 * following] = at
                    entry, size = ask_pair(merges, at, following, entry, size)
                if links[2 * at] >= 0:
                    entry, size = ask_pair(merges, I64(links[2 * at]), at, entry, size)
            this = I64(merges.entries[2 * this + 1])
        merges.chains[3 * rank] = this
    return gather(symbols, links)


@helper
def wait_pair(merges, at, following, size):
    """Look up the pair at `at` and push it to the heap if it is a merge; the heap's size."""
    rank = pair_rank(merges, merges.symbols[at], merges.symbols[following])
    merges.ranks[at] = rank
    return size if rank >= LINKED else heap_push(merges.waiting, size, rank >> HALF << HALF | U64(at))


@helper
def merge_tied(merges, n, least):
    """The same if different pairs have equal priority, in O(n log n): one heap holds all pairs.

    Stops when `least` symbols are left.
    """
    symbols, ranks, links, waiting = merges.symbols, merges.ranks, merges.links, merges.waiting
    size, left = I64(0), n
    ranks[n - 1] = NONE
    for k in range(n):
        links[2 * k], links[2 * k + 1] = k - 1, k + 1
        if ranks[k] < LINKED:
            size = heap_push(waiting, size, ranks[k] >> HALF << HALF | U64(k))
    links[2 * n - 1] = -1
    while size > 0 and left > least:
        # Priority, then position: of equal priorities the leftmost (E1). At most 3n entries, as in `merge_long`.
        best, at = waiting[0], I64(waiting[0] & LOW)
        size = heap_pop(waiting, size)
        if ranks[at] >> HALF != best >> HALF:  # a stale entry: merged since, or another pair now
            continue
        gone = I64(links[2 * at + 1])
        following = I64(links[2 * gone + 1])
        symbols[at] = merges.results[I64(ranks[at] & LOW)]
        left -= 1
        links[2 * at + 1] = following
        ranks[gone] = NONE
        ranks[at] = NONE
        if following >= 0:
            links[2 * following] = at
            size = wait_pair(merges, at, following, size)
        if links[2 * at] >= 0:
            size = wait_pair(merges, I64(links[2 * at]), at, size)
    return gather(symbols, links)


@helper
def merge_runs(merges, n):
    """The same run by run: nothing merges across a pair whose rank is NONE.

    From right to left, because merging a run overwrites the ranks after it.
    """
    if n <= layout.SHORT_WORD:
        return merge_word(merges, n)
    symbols, stop, kept = merges.symbols, n, n
    for start in range(n - 1, -1, -1):
        if start == 0 or merges.ranks[start - 1] == NONE:
            run = shifted(merges, start)
            m = merge_word(run, stop - start)
            kept -= m
            for k in range(m - 1, -1, -1):
                symbols[kept + k] = symbols[start + k]
            stop = start
    for k in range(n - kept):
        symbols[k] = symbols[kept + k]
    return n - kept


@inlined
def shifted(merges, start):
    """The same pointers for the symbols from `start` on."""
    return Merges(
        pairs=merges.pairs,
        mask=merges.mask,
        seed=merges.seed,
        sieve=merges.sieve,
        sieve_mask=merges.sieve_mask,
        known=merges.known,
        first_result=merges.first_result,
        results=merges.results,
        classes=merges.classes,
        tied=merges.tied,
        codes=merges.codes,
        symbols=advance(merges.symbols, start),
        ranks=advance(merges.ranks, start),
        links=merges.links,
        entries=merges.entries,
        order=merges.order,
        chains=merges.chains,
        heap=merges.heap,
        waiting=merges.waiting,
    )


@helper
def gather(symbols, links):
    """Move the symbols that are left together; their number."""
    count, at = 0, 0
    while at >= 0:
        symbols[count] = symbols[at]
        count += 1
        at = links[2 * at + 1]
    return count
