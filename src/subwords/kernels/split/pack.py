"""Text that is not ASCII as a stream of one byte for each character: 128 + its class.

The characters are taken 64 bytes of text at a time, by masks. A mask of their first bytes, kept for each of these
blocks, turns places in the stream back into places in the text.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    char_at,
    classify,
    copy64,
    deposit,
    helper,
    inlined,
    popcount,
    range_mask,
    trailing_zeros,
    write_bits,
)
from subwords.kernels.text.utf8 import decode_at

LANES = 64
PLAIN = 512  # ASCII bytes after which text is no longer packed
INVALID_CLASS = 0x110000  # where the class of a byte that is not UTF-8 stands
ZERO, ONE, ALL = U64(0), U64(1), U64(0xFFFFFFFFFFFFFFFF)


class Packed(NamedTuple):
    """Room for one stream."""

    classes: object  # of code points, plus 128
    stream: object
    masks: object  # uint64: the first bytes of each block's characters
    bases: object  # uint64: where each block begins


@helper
def low_bits(k):
    """The k lowest bits, 0 <= k <= 64."""
    if k >= LANES:
        return ALL
    return (ONE << U64(k)) - ONE


@inlined
def pack_chars(q, p, i, starts, n):
    """Pack the characters whose first bytes are at p[i + k] for every bit k."""
    while starts != ZERO:
        q.stream[n] = q.classes[char_at(p, i + trailing_zeros(starts))]
        starts &= starts - ONE
        n += 1


@helper
def pack_any(q, p, i, carry, stop, n):
    """Pack what begins in the next LANES bytes, valid or not: (its mask, the carry of the next)."""
    k, mask = trailing_zeros(~carry), ZERO
    while k < LANES and i + k < stop:
        code, length = decode_at(p, i + k, stop)
        q.stream[n] = q.classes[code if code >= 0 else INVALID_CLASS]
        mask |= ONE << U64(k)
        n += 1
        k += length
    return mask, low_bits(max(k - LANES, 0))


@inlined
def not_characters(p, i):
    """The first bytes of forms that are too short, of halves of surrogate pairs, and of what is above U+10FFFF."""
    second = i + 1
    bad = range_mask(p, i, 0xE0, 0xE0) & range_mask(p, second, 0x80, 0x9F)
    bad |= range_mask(p, i, 0xED, 0xED) & range_mask(p, second, 0xA0, 0xBF)
    bad |= range_mask(p, i, 0xF0, 0xF0) & range_mask(p, second, 0x80, 0x8F)
    return bad | range_mask(p, i, 0xF4, 0xF4) & range_mask(p, second, 0x90, 0xBF)


@helper
def pack_block(q, p, i, carry, stop, n):
    """Pack a block: (its mask, the carry of the next). Reads 67 bytes where there are so many.

    The bits of `carry` say which bytes of a block belong to a character that began before it.
    """
    if i + LANES + 3 > stop:
        return pack_any(q, p, i, carry, stop, n)
    high = range_mask(p, i, 0x80, 0xFF)
    if high == ZERO:
        copy64(q.stream, n, p, i)
        return ALL, ZERO
    inner, three = range_mask(p, i, 0x80, 0xBF), range_mask(p, i, 0xE0, 0xEF)
    four = range_mask(p, i, 0xF0, 0xF4)
    longer = three | four
    leads = range_mask(p, i, 0xC2, 0xDF) | longer
    inside = leads << ONE | longer << U64(2) | four << U64(3) | carry
    over = leads >> U64(63) | longer >> U64(62) | four >> U64(61)
    missing = over & ~(range_mask(p, i + 3, 0x80, 0xBF) >> U64(61))
    if inner ^ inside | high ^ inner ^ leads | not_characters(p, i) | missing != ZERO:
        return pack_any(q, p, i, carry, stop, n)
    if four != ZERO:
        pack_chars(q, p, i, ~inner, n)
    else:
        classify(q.stream, n, q.classes, p, i, ~inner)
    return ~inner, over


@helper
def pack(q, p, start, stop, limit):
    """Pack text up to `limit`, or until it is plain again: (characters, blocks, where it is)."""
    i, n, blocks, last, carry = start, I64(0), I64(0), start, ZERO
    while i < limit and i - last < PLAIN:
        mask, carry = pack_block(q, p, i, carry, stop, n)
        q.masks[blocks], q.bases[blocks] = mask, U64(i - start)
        blocks += 1
        n += popcount(mask)
        i += LANES
        if mask != ALL:
            last = i
    return n, blocks, min(i + popcount(carry), stop)


@helper
def unpack(q, borders, blocks, base, ends, count):
    """Write borders of a packed stream as word ends, counted from `base`: bit n % 64 of word n // 64 for place n."""
    n = I64(0)
    for block in range(blocks):
        mask = q.masks[block]
        shift = U64(n & 63)
        bits = borders[n >> 6] >> shift
        if shift != ZERO:
            bits |= borders[(n >> 6) + 1] << (U64(LANES) - shift)
        count = write_bits(ends, count, base + I64(q.bases[block]), deposit(bits, mask))
        n += popcount(mask)
    return count
