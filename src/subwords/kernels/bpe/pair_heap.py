"""The heap of BPE training: pairs by count, and by the tie rule where counts are equal (B1, B2).

An entry (uint64) is HEAP.count; HEAP.tie, smaller first; and HEAP.key, left << 32 | right. The best pair is first.
Entries may be stale.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.bpe.index import HALF, LOW
from subwords.kernels.jit import I64, helper, inlined


class Training(NamedTuple):
    """The pointers of a `MergeTraining`."""

    symbols: object
    starts: object
    weights: object
    runs: object
    pairs: object
    mask: object
    postings: object
    heap: object  # HEAP.width an entry: a binary heap, best pair first; entries may be stale
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


@helper
def before(t, count, tie, key, entry):
    """Whether (count, tie, key) is to be merged before this heap entry (B1, B2)."""
    heap = t.heap
    if count != heap[entry + layout.HEAP.count]:
        return count > heap[entry + layout.HEAP.count]
    if t.settings[layout.TRAIN.tie] != layout.TIE_BYTES:
        return tie < heap[entry + layout.HEAP.tie]
    other = heap[entry + layout.HEAP.key]
    order = string_order(t, I64(key >> HALF), I64(other >> HALF))
    if order == 0:
        order = string_order(t, I64(key & LOW), I64(other & LOW))
    return order < 0


@inlined
def entry_at(heap, at):
    """Count, tie and key of a heap entry."""
    row = layout.HEAP.width * at
    return heap[row + layout.HEAP.count], heap[row + layout.HEAP.tie], heap[row + layout.HEAP.key]


@inlined
def write_entry(heap, at, count, tie, key):
    """Write a heap entry."""
    row = layout.HEAP.width * at
    heap[row + layout.HEAP.count], heap[row + layout.HEAP.tie], heap[row + layout.HEAP.key] = count, tie, key


@inlined
def before_entry(t, x, y):
    """Whether heap entry x is to be merged before entry y."""
    count, tie, key = entry_at(t.heap, x)
    return before(t, count, tie, key, layout.HEAP.width * y)


@helper
def push(t, count, tie, key):
    """Add an entry to the heap."""
    heap, at = t.heap, I64(t.counters[layout.TALLY.heap_size])
    t.counters[layout.TALLY.heap_size] += 1
    while at > 0 and before(t, count, tie, key, layout.HEAP.width * ((at - 1) >> 1)):
        parent = (at - 1) >> 1
        for k in range(layout.HEAP.width):
            heap[layout.HEAP.width * at + k] = heap[layout.HEAP.width * parent + k]
        at = parent
    write_entry(heap, at, count, tie, key)


@helper
def pop(t):
    """Remove the first entry. The caller reads it first."""
    t.counters[layout.TALLY.heap_size] -= 1
    heap, size, at = t.heap, I64(t.counters[layout.TALLY.heap_size]), 0
    count, tie, key = entry_at(heap, size)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before_entry(t, child + 1, child):
            child += 1
        if not before_entry(t, child, size):
            break
        for k in range(layout.HEAP.width):
            heap[layout.HEAP.width * at + k] = heap[layout.HEAP.width * child + k]
        at = child
    write_entry(heap, at, count, tie, key)
