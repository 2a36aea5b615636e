"""Arithmetic of kernels: floating point with the same bits on every machine, lanes of bytes, packed bits, checksums."""

from __future__ import annotations

import numpy as np

from subwords.kernels.jit import (
    I64,
    U64,
    Int,
    char_at,
    helper,
    kernel,
    leading_zeros,
    mix,
    pointer,
    popcount,
    primitive,
    trailing_zeros,
)
from subwords.kernels.layout import U32s

LN2 = 0.6931471805599453
SQRT2 = 1.4142135623730951


@helper
def ln(x):
    """The natural logarithm of a positive integer."""
    exponent = I64(63 - leading_zeros(U64(x)))
    y = np.float64(x) / np.float64(I64(1) << exponent)
    if y > SQRT2:
        y *= 0.5
        exponent += 1
    s = (y - 1.0) / (y + 1.0)
    z = s * s
    p = (1 / 21 * z + 1 / 19) * z + 1 / 17
    p = ((p * z + 1 / 15) * z + 1 / 13) * z + 1 / 11
    p = ((p * z + 1 / 9) * z + 1 / 7) * z + 1 / 5
    return exponent * LN2 + 2.0 * s * ((p * z + 1 / 3) * z + 1.0)


@primitive
def scatter(low, high, a, b):
    """The hash of a word's key, by two random numbers; its low bits are the number of the word's slot."""
    return mix(low ^ a, high ^ b)


@primitive
def touches():
    """1 where `prefetch` does nothing, and what it would fetch is read early instead: in WebAssembly."""
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Primitives on vectors of 32-bit lanes. Compiled, they are those of `llvm.py`: in registers, or for the web in memory.


@primitive
def few_lanes(p):
    """The first 16 elements of p, uint32, as a value."""
    return np.array([p[k] for k in range(16)], np.uint32)


@primitive
def some_lanes(p):
    """The same of 32 elements."""
    return np.array([p[k] for k in range(32)], np.uint32)


@primitive
def many_lanes(p):
    """The same of 64 elements."""
    return np.array([p[k] for k in range(64)], np.uint32)


@primitive
def store_lanes(p, lanes):
    """Write lanes to the first elements of p."""
    for k in range(len(lanes)):
        p[k] = lanes[k]


@primitive
def lowest_lane(lanes):
    """The smallest lane."""
    return U64(lanes.min())


@primitive
def put_lane(lanes, i, value):
    """The same lanes with `value` in lane i; those given may change."""
    changed = lanes.copy()
    changed[i] = value
    return changed


# ---------------------------------------------------------------------------------------------------------------------
# Primitives that pack places and classes of characters by a mask. Compiled, they may be those of `llvm.py`.


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
def pack64(q, j, p, i, mask):
    """Copy p[i + k] to q from index j on, in order, for every set bit k of mask. Up to 64 bytes are overwritten."""
    for k in range(64):
        if mask >> U64(k) & U64(1) != U64(0):
            q[j] = p[i + k]
            j += 1


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


# ---------------------------------------------------------------------------------------------------------------------
# A checksum of tables on disk.


@kernel
def sum_words(words: U32s, count: Int) -> Int:
    """Return the sum of the first words times 1, 3, 5, ..., modulo 2**64.

    One other word gives another sum, and so do two that change places. 50 GB/s, where CRC-32 has 4.
    """
    p, total = pointer(words), U64(0)
    for k in range(count):
        total += U64(p[k]) * U64(2 * k + 1)
    return I64(total)
