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
    copy64,
    deposit,
    helper,
    inlined,
    popcount,
    range_mask,
    trailing_zeros,
    write_bits,
)
from subwords.kernels.utf8 import decode_at

LANES = 64
ENOUGH = 8  # ASCII bytes that are worth copying a block
PLAIN = 512  # ASCII bytes after which text is no longer packed
INVALID_CLASS = 0x110000  # where the class of a byte that is not UTF-8 stands
ZERO, ONE, ALL = U64(0), U64(1), U64(0xFFFFFFFFFFFFFFFF)
WITHIN = U64((1 << 61) - 1)  # lanes whose characters end inside the block, whatever their length
THREES = U64(0x1249249249249249)  # every third lane, 63 lanes in all
FULL = 63


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


@inlined
def pack_threes(q, p, i, n):
    """Pack 21 characters of three bytes."""
    for k in range(21):
        at = i + 3 * k
        code = (I64(p[at]) & 0x0F) << 12 | (I64(p[at + 1]) & 0x3F) << 6 | I64(p[at + 2]) & 0x3F
        q.stream[n + k] = q.classes[code]


@helper
def pack_any(q, p, i, stop, n):
    """Pack what begins in the next LANES bytes, valid or not: (its mask, how far that reaches)."""
    k, mask = I64(0), ZERO
    while k < LANES and i + k < stop:
        code, length = decode_at(p, i + k, stop)
        q.stream[n] = q.classes[code if code >= 0 else INVALID_CLASS]
        mask |= ONE << U64(k)
        n += 1
        k += length
    return mask, k


@inlined
def not_characters(p, i):
    """The first bytes of forms that are too short, of halves of surrogate pairs, and of what is above U+10FFFF."""
    second = i + 1
    bad = range_mask(p, i, 0xE0, 0xE0) & range_mask(p, second, 0x80, 0x9F)
    bad |= range_mask(p, i, 0xED, 0xED) & range_mask(p, second, 0xA0, 0xBF)
    bad |= range_mask(p, i, 0xF0, 0xF0) & range_mask(p, second, 0x80, 0x8F)
    return bad | range_mask(p, i, 0xF4, 0xF4) & range_mask(p, second, 0x90, 0xBF)


@helper
def pack_block(q, p, i, stop, n):
    """Pack a block: (its mask, how many bytes that reaches). Reads 65 bytes where there are so many."""
    if i + LANES + 1 > stop:
        return pack_any(q, p, i, stop, n)
    high = range_mask(p, i, 0x80, 0xFF)
    plain = trailing_zeros(high)
    if plain >= ENOUGH:
        copy64(q.stream, n, p, i)
        return low_bits(plain), plain
    inner, three = range_mask(p, i, 0x80, 0xBF), range_mask(p, i, 0xE0, 0xEF)
    four = range_mask(p, i, 0xF0, 0xF4)
    leads = range_mask(p, i, 0xC2, 0xDF) | three | four
    inside = leads << ONE | (three | four) << U64(2) | four << U64(3)
    if inner ^ inside | high ^ inner ^ leads | not_characters(p, i) != ZERO:
        return pack_any(q, p, i, stop, n)
    if (three ^ THREES) & WITHIN == ZERO and (inner | three) & WITHIN == WITHIN:
        pack_threes(q, p, i, n)
        return THREES, FULL
    # Up to where ASCII is worth copying again, or to the last characters, which may go on behind the block.
    later = ~high & ~high >> ONE
    later &= later >> U64(2)
    later = (later & later >> U64(4)) | ~inner & ~WITHIN
    later &= ZERO - later
    starts = ~inner & (later - ONE)
    pack_chars(q, p, i, starts, n)
    return starts, I64(trailing_zeros(later))


@helper
def pack(q, p, start, stop, limit):
    """Pack text up to `limit`, or until it is plain again: (characters, blocks, where it is)."""
    i, n, blocks, last = start, I64(0), I64(0), start
    while i < limit and i - last < PLAIN:
        mask, length = pack_block(q, p, i, stop, n)
        q.masks[blocks], q.bases[blocks] = mask, U64(i - start)
        blocks += 1
        n += popcount(mask)
        i += length
        if mask != low_bits(length):
            last = i
    return n, blocks, i


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
