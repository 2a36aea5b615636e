"""BPE on the table of words: `table/encode.py` with the merges of each word."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.bpe.lanes import fill_codes, lane_code, left_over, merge_codes, merge_known, segment_side_by_side
from subwords.kernels.bpe.pairs import NO_MERGE, NONE, PerfectPairs, heap_pop, heap_push, pair_rank
from subwords.kernels.jit import HALF, I64, LOW, U64, Int, advance, helper, inlined, kernel, leading_zeros, pointer
from subwords.kernels.layout import BPEModel, BPEScratch, BPEWorkspace, I64s, U8s, U32s
from subwords.kernels.table.emit import table_pointers
from subwords.kernels.table.encode import SegmentFunctions, encode_all, never_fleeting, settled
from subwords.kernels.text.utf8 import decode_at

# ---------------------------------------------------------------------------------------------------------------------
# BPE inside one word (E1): lowest rank first, leftmost first, one at a time.
#
# pairs.py finds the rank of a pair. results[rank] is the id of the merged token. If merges with different results have
# equal priority, classes[rank] is the priority of a rank; otherwise the rank is the priority.

LINKED = NO_MERGE << HALF  # in `ranks`: from this value on there is nothing to merge


class Merges(NamedTuple):
    """The pointers a merge loop works with."""

    pairs: object
    mask: object
    seed: object
    sieve: object  # uint64: two bits of each pair, see find_rank
    sieve_mask: object
    known: object  # of a perfect table: `PerfectPairs`
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
    return gather_symbols(symbols, links)


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
    return gather_symbols(symbols, links)


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
def gather_symbols(symbols, links):
    """Move the symbols that are left together; their number."""
    count, at = 0, 0
    while at >= 0:
        symbols[count] = symbols[at]
        count += 1
        at = links[2 * at + 1]
    return count


# ---------------------------------------------------------------------------------------------------------------------
# A word to its ids, without any table: symbols, pairs, merges, and windows for long words.

LARGE_WINDOW = 1 << 12  # bytes of a window if small windows share no token: half the second cache


class BPEPointers(NamedTuple):
    """The pointers of a `BPEModel`, and the scratch."""

    alphabet: object
    first_ranks: object
    spans: object
    fallback: object
    parted: object
    forms: object
    by_character: object
    settings: object
    scratch: object  # symbols there is room for
    side: object
    merges: object


@helper
def fall_back(model, text, at, length, n):
    """Write the ids of an unknown character's bytes from symbol n on; False if a byte has no id."""
    for k in range(length):
        symbol = I64(model.fallback[text[at + k]])
        if symbol == layout.MISSING:
            return False
        model.merges.symbols[n + k] = symbol
    return True


@helper
def first_symbols(model, text, at, length):
    """Write a word's bytes or characters as ids; their number, or MISSING - i for an unknown one at byte i.

    As in HF, an unk is written after the bytes of the unknown characters that follow it. A symbol with a prefix or a
    suffix never falls back to bytes: the model has no tokens for those of the prefix or suffix.
    """
    symbols, settings, marks = model.merges.symbols, model.settings, I64(model.settings[layout.BPE.marks])
    n, i, waiting = 0, 0, False
    while i < length:
        code, step = I64(text[at + i]), 1
        if model.by_character:
            code, step = decode_at(text, at + i, at + length)
        symbol = layout.MISSING
        if code >= 0:
            symbol = I64(model.alphabet[code])
        marked = 0
        if marks != 0:
            place = (layout.WITH_PREFIX if i > 0 else 0) | (layout.WITH_SUFFIX if i + step == length else 0)
            marked = place & marks
            if symbol != layout.MISSING:
                symbol = I64(model.forms[layout.FORMS * symbol + place])
        if symbol == layout.MISSING and marked == 0 and fall_back(model, text, at + i, step, n):
            n += step
        elif symbol == layout.MISSING and settings[layout.MODEL.unk] == layout.MISSING:
            if settings[layout.BPE.drop_unknown] == 0:
                return layout.MISSING - i
        else:
            if waiting and (symbol != layout.MISSING or settings[layout.BPE.fuse_unk] == 0):
                symbols[n] = settings[layout.MODEL.unk]
                n += 1
            waiting = symbol == layout.MISSING
            if not waiting:
                symbols[n] = symbol
                n += 1
        i += step
    if waiting:
        symbols[n] = settings[layout.MODEL.unk]
        n += 1
    return n


@helper
def short_window(model, text, at, length):
    """Merge text[at : at + length], every byte a symbol, at most SHORT_WORD: see `merge_known`."""
    merges, before = model.merges, I64(0)
    for k in range(1, length + 1):
        byte = I64(text[at + k - 1])
        merges.symbols[k] = model.alphabet[byte]
        # The lane of the first pair begins before the word; `merge_known` replaces it. NO_RANK becomes no merge.
        merges.codes[k - 1] = lane_code(U64(model.first_ranks[before << 8 | byte]), k - 1) & LOW
        before = byte
    return merge_known(merges, length)


@helper
def window(model, text, at, length):
    """Segment text[at : at + length], every byte a symbol, into the model's symbols; their number."""
    merges = model.merges
    if length <= layout.SHORT_WORD:
        return left_over(merges.symbols, short_window(model, text, at, length), merges.symbols, 0)
    for k in range(length):
        merges.symbols[k] = model.alphabet[text[at + k]]
    for k in range(length - 1):
        rank = U64(model.first_ranks[I64(text[at + k]) << 8 | I64(text[at + k + 1])])
        merges.ranks[k] = rank << HALF | rank  # no rank: NONE; the lower half is not compared
    return merge_word(merges, length)


@helper
def meet(model, out, i, filled, a, m):
    """Find the first token that two overlapping windows share: (index in `out` or -1, position, index in symbols).

    Both windows begin at position `a`. The first one's tokens are out[i:filled], the second one's the m symbols.
    """
    symbols, spans = model.merges.symbols, model.spans
    j, b = 0, a
    while i < filled and j < m:
        if a == b and out[i] == symbols[j]:
            return i, a, j
        if a <= b:
            a += spans[out[i]]
            i += 1
        else:
            b += spans[symbols[j]]
            j += 1
    return -1, a, j


@helper
def segment_windows(model, text, at, length, out, count, size):
    """Write the ids of a long word from out[count] on, window by window; their number, or -1 if windows share no token.

    Exact for every list of merges. Tokens are the segmentation of a text if and only if every two neighbours are the
    segmentation of the text they span: the first merge across a border would happen between these two alone as well.
    Neighbours inside a window satisfy this. If two windows share a token, so do the first window's tokens before it,
    followed by the second window's from it on.
    """
    stop, start, kept = at + length, at, count
    end, shared = min(start + size, stop), min(size // 3, 512)
    filled = kept + window(model, text, start, end - start)
    for k in range(filled - kept):
        out[kept + k] = model.merges.symbols[k]
    while end < stop:
        position = start
        # Tokens near the end of the window may change with the text after it: the next window begins before them.
        while kept < filled and position + model.spans[out[kept]] <= end - shared:
            position += model.spans[out[kept]]
            kept += 1
        if position == start:
            return -1
        end = min(position + size, stop)
        m = window(model, text, position, end - position)
        # From the shared token on, the new window is right; before it, the old one: see above.
        kept, start, j = meet(model, out, kept, filled, position, m)
        if kept < 0:
            return -1
        for k in range(j, m):
            out[kept + k - j] = model.merges.symbols[k]
        filled = kept + m - j
    return filled - count


@helper
def write_parted(model, n, out, count):
    """Write the ids of n symbols from out[count] on, fusing neighbouring unks if the model does; their number."""
    symbols, parted, m = model.merges.symbols, model.parted, 0
    unk = I64(model.settings[layout.MODEL.unk]) if model.settings[layout.BPE.fuse_unk] != 0 else layout.MISSING
    for k in range(n):
        place = I64(parted[symbols[k]])
        size = 1
        if place != 0:
            size = I64(parted[place])
        for j in range(size):
            index = I64(symbols[k])
            if place != 0:
                index = I64(parted[place + 1 + j])
            if index != unk or m == 0 or I64(out[count + m - 1]) != unk:
                out[count + m] = index
                m += 1
    return m


@helper
def segment_bpe_word(model, counters, text, at, length, out, count):
    """Write the ids of a word from out[count] on: (DONE, their number), or (another status, 0)."""
    symbols = model.merges.symbols
    if model.settings[layout.BPE.complete] != 0 and length <= layout.SHORT_WORD:
        return layout.DONE, left_over(symbols, short_window(model, text, at, length), out, count)
    if model.settings[layout.BPE.complete] != 0:
        n = segment_windows(model, text, at, length, out, count, I64(layout.SHORT_WORD))
        if n < 0 and model.scratch >= min(length, LARGE_WINDOW):
            n = segment_windows(model, text, at, length, out, count, I64(min(length, model.scratch)))
        if n < 0:
            counters[layout.COUNTER.needed] = min(length, max(LARGE_WINDOW, 2 * model.scratch))
            return layout.NEED_SCRATCH, 0
        return layout.DONE, n
    if length > model.scratch:
        counters[layout.COUNTER.needed] = length
        return layout.NEED_SCRATCH, 0
    n = first_symbols(model, text, at, length)
    if n < 0:
        counters[layout.COUNTER.unknown_at] = at + layout.MISSING - n
        return layout.UNKNOWN, 0
    ask_pairs(model.merges, n)
    n = merge_runs(model.merges, n) if model.settings[layout.BPE.links] != 0 else merge_word(model.merges, n)
    if model.settings[layout.BPE.parted] != 0:
        return layout.DONE, write_parted(model, n, out, count)
    for k in range(n):
        out[count + k] = symbols[k]
    return layout.DONE, n


@inlined
def bpe_pointers(model, scratch):
    """The pointers of a model and its scratch."""
    keys, symbols, chains = pointer(scratch.keys), pointer(scratch.symbols), pointer(scratch.chains)
    room, ranks = len(scratch.symbols) // layout.SYMBOL_SCRATCH, len(scratch.chains) // layout.RANK_SCRATCH
    settings = pointer(model.settings)
    known = PerfectPairs(
        pilots=pointer(model.pilots),
        shift=U64(leading_zeros(U64(len(model.pilots) - 1))),
        exists=len(model.pilots) > 1,
    )
    merges = Merges(
        pairs=pointer(model.pairs),
        mask=U64(len(model.pairs) - 1),
        seed=U64(settings[layout.MODEL.seed]),
        sieve=pointer(model.sieve),
        sieve_mask=U64(len(model.sieve) - 1),
        known=known,
        first_result=settings[layout.BPE.first_result],
        results=pointer(model.results),
        classes=pointer(model.classes),
        tied=settings[layout.BPE.tied],
        codes=pointer(scratch.codes),
        symbols=symbols,
        ranks=advance(keys, layout.KEYS),
        links=advance(symbols, room),
        entries=advance(symbols, 3 * room),
        order=advance(symbols, 9 * room),
        chains=chains,
        heap=advance(chains, 3 * ranks),
        waiting=advance(keys, layout.KEYS + room + layout.MERGE_PADDING),
    )
    return BPEPointers(
        alphabet=pointer(model.alphabet),
        first_ranks=pointer(model.first_ranks),
        spans=pointer(model.spans),
        fallback=pointer(model.fallback),
        parted=pointer(model.parted),
        forms=pointer(model.forms),
        by_character=len(model.alphabet) > 256,
        settings=settings,
        scratch=room,
        side=pointer(scratch.side),
        merges=merges,
    )


@kernel
def encode_bpe(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    text_ends: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    workspace: BPEWorkspace,
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `table.encode.encode_all`.

    Same ids as `reference.bpe.encode_word`, word by word.
    """
    model = bpe_pointers(workspace.model, workspace.scratch)
    table = table_pointers(workspace.table, workspace.counters)
    p, e, t, o, keys = pointer(text), pointer(ends), pointer(text_ends), pointer(out), pointer(workspace.scratch.keys)
    family = SegmentFunctions(segment_bpe_word, settled, never_fleeting, True, True, segment_side_by_side)
    return encode_all(family, model, table, p, len(text), start, e, words, t, texts, keys, o, len(out), filled)


# ---------------------------------------------------------------------------------------------------------------------
# The last merge that makes each token: of its pairs, the only one that merging its text reaches.


@kernel
def last_pairs(data: U8s, offsets: I64s, ids: I64s, bpe: BPEModel, scratch: BPEScratch, pairs: I64s) -> Int:
    """Write the two symbols of each token before its last merge, or MISSING twice if merging never leaves two.

    The model knows every byte; the scratch has room for the longest token and TIED_SCRATCH.
    """
    model, text, start, token, out = (
        bpe_pointers(bpe, scratch),
        pointer(data),
        pointer(offsets),
        pointer(ids),
        pointer(pairs),
    )
    symbols = model.merges.symbols
    for k in range(len(ids)):
        at, n = start[token[k]], start[token[k] + 1] - start[token[k]]
        for i in range(n):
            symbols[i] = model.alphabet[text[at + i]]
        left = I64(1)
        if n > 1:
            ask_pairs(model.merges, n)
            left = merge_tied(model.merges, n, 2)
        out[2 * k], out[2 * k + 1] = layout.MISSING, layout.MISSING
        if left == 2:
            out[2 * k], out[2 * k + 1] = symbols[0], symbols[1]
    return 0
