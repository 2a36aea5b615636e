"""Sorting the suffixes of words by as many characters as a piece may have.

The layout of the text is in suffixes.py. Several characters at a time are compared as one number; the next characters
are only compared within a run of suffixes that are equal so far. So the time does not depend on what words have in
common: n log n for each number. A frame is a run that is being sorted: where its rest begins, its end, and how many
characters its suffixes share.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, I32s, I64s, Int, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import SortStacks

FEW = 16  # sorted by insertion


@kernel
def pack_suffixes(text: I32s, bits: Int, length: Int, shift: Int, packed: I64s) -> Int:
    """Write the first `length` characters of every suffix as one number, `bits` each, and its place; their number."""
    t, q = pointer(text), pointer(packed)
    key, n = I64(0), 0
    for i in range(len(text) - 1, -1, -1):
        key = I64(t[i]) << (length - 1) * bits | key >> bits if t[i] != 0 else I64(0)
        if key != 0:
            q[n] = key << shift | i
            n += 1
    return n


@inlined
def key_at(t, i, bits, length):
    """The characters at a place and those after it in the word, as one number."""
    key, n = I64(0), 0
    while n < length and t[i + n] != 0:
        key = key << bits | I64(t[i + n])
        n += 1
    return key << (length - n) * bits


@inlined
def swap(k, o, i, j):
    """Exchange two suffixes and their keys."""
    key, place = k[i], o[i]
    k[i], o[i] = k[j], o[j]
    k[j], o[j] = key, place


@inlined
def insert_each(k, o, first, stop):
    """Sort a few suffixes by their keys."""
    for i in range(first + 1, stop):
        key, place, j = k[i], o[i], i
        while j > first and k[j - 1] > key:
            k[j], o[j] = k[j - 1], o[j - 1]
            j -= 1
        k[j], o[j] = key, place


@inlined
def middle(k, first, n):
    """The median of three keys at pseudo-random places."""
    seed = mix(U64(first) + U64(0x9E3779B97F4A7C15), U64(n) ^ U64(0xD6E8FEB86659FD93))
    a = k[first + I64(seed & U64(0x7FFFFFFF)) % n]
    b = k[first + I64(seed >> U64(33)) % n]
    c = k[first + (n >> 1)]
    return max(min(a, b), min(max(a, b), c))


@helper
def quicksort(k, o, first, stop, stack):
    """Sort suffixes by their keys. The larger of two ranges goes to the stack, so that 64 ranges are enough."""
    top = 0
    while True:
        while stop - first > FEW:
            pivot = middle(k, first, stop - first)
            low, i, high = first, first, stop
            while i < high:
                if k[i] < pivot:
                    swap(k, o, i, low)
                    low, i = low + 1, i + 1
                elif k[i] > pivot:
                    high -= 1
                    swap(k, o, i, high)
                else:
                    i += 1
            if low - first < stop - high:
                stack[top], stack[top + 1] = high, stop
                stop = low
            else:
                stack[top], stack[top + 1] = first, low
                first = high
            top += 2
        insert_each(k, o, first, stop)
        if top == 0:
            break
        top -= 2
        first, stop = stack[top], stack[top + 1]


@kernel
def sort_suffixes(text: I32s, first: Int, last: Int, limits: I64s, order: I32s, keys: I64s, stacks: SortStacks) -> Int:
    """Sort the suffixes first..last, which are sorted by their keys, by all their characters; returns 0.

    limits: bits of a character, characters of a key, characters to sort by, and characters of the keys on entry.
    """
    t, o, k, limit = pointer(text), pointer(order), pointer(keys), pointer(limits)
    waiting, f = pointer(stacks.ranges), pointer(stacks.frames)
    bits, length, longest = limit[layout.LIMIT.char_bits], limit[layout.LIMIT.key_chars], limit[layout.LIMIT.sort_chars]
    f[layout.FRAME.at], f[layout.FRAME.end], f[layout.FRAME.depth], top = (
        first,
        last,
        limit[layout.LIMIT.known_chars],
        0,
    )
    while top >= 0:
        i, end, depth = f[top + layout.FRAME.at], f[top + layout.FRAME.end], f[top + layout.FRAME.depth]
        if i == end:
            top -= layout.FRAME.width
            continue
        key, j = k[i], i + 1
        while j < end and k[j] == key:
            j += 1
        f[top + layout.FRAME.at] = j
        if j - i > 1 and depth < longest and key & ((I64(1) << bits) - 1) != 0:
            for suffix in range(i, j):
                k[suffix] = key_at(t, o[suffix] + depth, bits, length)
            quicksort(k, o, i, j, waiting)
            top += layout.FRAME.width
            f[top + layout.FRAME.at], f[top + layout.FRAME.end], f[top + layout.FRAME.depth] = i, j, depth + length
    return 0
