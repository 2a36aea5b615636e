"""Primitives that pack places and classes of characters by a mask. Compiled, they may be those of `llvm.py`."""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, char_at, popcount, primitive, trailing_zeros

__all__ = ["classify", "classify_members", "write_bits", "write_flagged_bits"]


@primitive
def classify(q, n, classes, p, i, starts):
    """Write classes[c] to q from index n on for the characters c at p + i + k, for every set bit k of `starts`.

    Characters have one to three bytes. Reads 66 bytes; up to 64 elements are overwritten.
    """
    while starts != U64(0):
        q[n] = classes[char_at(p, i + trailing_zeros(starts))]
        starts &= starts - U64(1)
        n += 1


@primitive
def classify_members(q, r, codes, n, classes, p, i, starts):
    """As `classify`, with classes of 16 bits, whose upper halves go to r; and the characters' code points.

    Up to 64 elements of each are overwritten.
    """
    while starts != U64(0):
        code = char_at(p, i + trailing_zeros(starts))
        q[n], r[n], codes[n] = I64(classes[code]) & 0xFF, I64(classes[code]) >> 8, code
        starts &= starts - U64(1)
        n += 1


@primitive
def write_bits(p, i, base, mask):
    """Write base + k to p from index i on for every set bit k of mask; the index after. Overwrites up to 64."""
    stop = i + popcount(mask)
    while mask != U64(0):
        for k in range(4):  # four at a time: the loop's end is mispredicted less often
            p[i + k] = base + trailing_zeros(mask)
            mask &= mask - U64(1)
        i += 4
    return stop


@primitive
def write_flagged_bits(p, i, base, mask, flags):
    """As `write_bits`, with bit 31 set for the set bits of `flags`."""
    start = i
    stop = write_bits(p, i, base, mask)
    while mask != U64(0):
        low = mask & (U64(0) - mask)
        if flags & low != U64(0):
            p[start] |= 1 << 31
        mask ^= low
        start += 1
    return stop
