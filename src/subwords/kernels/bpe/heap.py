"""A binary min-heap of integers in an array."""

from __future__ import annotations

from subwords.kernels.jit import helper


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
