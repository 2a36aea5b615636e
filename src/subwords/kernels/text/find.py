"""Searching bytes without holding the GIL."""

from __future__ import annotations

from subwords.kernels.jit import U64, Int, U8s, helper, kernel, pointer, range_mask, trailing_zeros
from subwords.kernels.layout import LANES

ZERO, ONE = U64(0), U64(1)


@helper
def occurs_at(p, i, needle, length):
    """Whether needle[:length] is at p[i]."""
    k = 0
    while k < length and p[i + k] == needle[k]:
        k += 1
    return k == length


@kernel
def find_bytes(text: U8s, start: Int, stop: Int, needle: U8s) -> Int:
    """The first place of a non-empty `needle` inside text[start:stop], or -1; as `bytes.find`."""
    p, q = pointer(text), pointer(needle)
    length = len(needle)
    second = min(1, length - 1)
    i = start
    while i + length <= stop:
        if i + second + LANES > stop:
            if occurs_at(p, i, q, length):
                return i
            i += 1
            continue
        found = range_mask(p, i, q[0], q[0]) & range_mask(p, i + second, q[second], q[second])
        while found != ZERO:
            k = i + trailing_zeros(found)
            if k + length <= stop and occurs_at(p, k, q, length):
                return k
            found &= found - ONE
        i += LANES
    return -1
