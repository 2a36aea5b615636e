"""Text that is not ASCII as a packed stream: one byte for each character, its class + CLASS_FLAG.

Masks process 64 bytes of text at a time. The mask of the characters' first bytes is stored for each of these blocks; it
turns places in the stream into places in the text.
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
    leading_zeros,
    popcount,
    range_mask,
    trailing_zeros,
    write_bits,
)
from subwords.kernels.layout import INVALID, LANES, RUN
from subwords.kernels.split.safe_cuts import block_chars, block_cuts
from subwords.kernels.text.utf8 import decode_at

PLAIN_RUN = 512  # ASCII bytes after which text is no longer packed
ZERO, ONE, ALL = U64(0), U64(1), U64(0xFFFFFFFFFFFFFFFF)


class Packed(NamedTuple):
    """Room for one stream."""

    classes: object  # by code point, plus CLASS_FLAG
    stream: object
    masks: object  # uint64: the first bytes of each block's characters
    bases: object  # uint64: where each block begins in the text


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
    """Pack the characters that begin in the next LANES bytes, valid or not: (their mask, the next block's carry)."""
    k, mask = trailing_zeros(~carry), ZERO
    while k < LANES and i + k < stop:
        code, length = decode_at(p, i + k, stop)
        q.stream[n] = q.classes[code if code >= 0 else INVALID]
        mask |= ONE << U64(k)
        n += 1
        k += length
    return mask, low_bits(max(k - LANES, 0))


@inlined
def not_characters(p, i):
    """The first bytes of overlong forms, surrogates, and code points above U+10FFFF."""
    second = i + 1
    bad = range_mask(p, i, 0xE0, 0xE0) & range_mask(p, second, 0x80, 0x9F)
    bad |= range_mask(p, i, 0xED, 0xED) & range_mask(p, second, 0xA0, 0xBF)
    bad |= range_mask(p, i, 0xF0, 0xF0) & range_mask(p, second, 0x80, 0x8F)
    return bad | range_mask(p, i, 0xF4, 0xF4) & range_mask(p, second, 0x90, 0xBF)


@helper
def pack_block(q, p, i, carry, stop, n):
    """Pack a block: (its mask, the next block's carry). Reads LANES + 3 bytes if there are so many.

    The bits of `carry` are the bytes of a block that belong to a character that began before it.
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
    """Pack text up to `limit`, or until PLAIN_RUN bytes are ASCII: (characters, blocks, where packing stopped)."""
    i, n, blocks, last, carry = start, I64(0), I64(0), start, ZERO
    while i < limit and i - last < PLAIN_RUN:
        mask, carry = pack_block(q, p, i, carry, stop, n)
        q.masks[blocks], q.bases[blocks] = mask, U64(i - start)
        blocks += 1
        n += popcount(mask)
        i += LANES
        if mask != ALL:
            last = i
    return n, blocks, min(i + popcount(carry), stop)


@inlined
def byte_borders(q, borders, block, n):
    """The borders of a block of text, as bits of its bytes; place n of the stream is its first character."""
    shift = U64(n & 63)
    bits = borders[n >> 6] >> shift
    if shift != ZERO:
        bits |= borders[(n >> 6) + 1] << (U64(LANES) - shift)
    return deposit(bits, q.masks[block])


@helper
def unpack(q, borders, blocks, base, ends, count):
    """Write borders of a packed stream as word ends relative to `base`; place n is bit n % 64 of borders[n // 64]."""
    n = I64(0)
    for block in range(blocks):
        count = write_bits(ends, count, base + I64(q.bases[block]), byte_borders(q, borders, block, n))
        n += popcount(q.masks[block])
    return count


@helper
def last_border(borders, chars):
    """The last place of a stream of so many characters where a word ends; 0 if there is none."""
    k = chars >> 6
    while k > 0 and borders[k] == ZERO:
        k -= 1
    return 64 * k + 63 - leading_zeros(borders[k] | ONE)


@inlined
def write_block(isolated, carry, borders, base, ends, count):
    """Write the borders of a block, joining isolated characters to a RUN: the new count, and the next carry."""
    after = isolated << U64(3) | carry
    borders &= ~(isolated & after)
    stop, runs = write_bits(ends, count, base, borders), after & borders
    while runs != ZERO:
        below = (ONE << U64(trailing_zeros(runs))) - ONE
        ends[count + popcount(borders & below)] |= RUN
        runs &= runs - ONE
    return stop, isolated >> U64(61)


@helper
def unpack_with_cuts(q, cuts, runs, p, start, stop, borders, blocks, base, ends, count):
    """The same with the safe cuts of p[start:stop] up to the last border, since the last word may go on.

    runs: whether neighbouring characters with a border or cut on both sides become one RUN. What a block's last
    characters are depends on the next block, so a block is written one step late.
    """
    n, carry, joined, last = I64(0), ZERO, ZERO, I64(0)
    for block in range(blocks):
        last += popcount(q.masks[block])
    last = last_border(borders, last)
    words, chars, before = ZERO, ZERO, I64(0)
    block = 0
    while block < blocks:
        at, size = I64(q.bases[block]), popcount(q.masks[block])
        more = block_chars(p, start + at, stop)
        now, carry = block_cuts(cuts, p, start + at, more, carry)
        now |= byte_borders(q, borders, block, n)
        n += size
        if n > last:
            limit = deposit(U64(1) << U64(last - n + size), q.masks[block])
            now &= limit | limit - ONE
        isolated = chars & words & (words >> U64(3) | now << U64(61)) if runs else ZERO
        count, joined = write_block(isolated, joined, words, base + before, ends, count)
        words, chars, before = now, more, at
        block = block + 1 if n <= last else blocks
    count, joined = write_block(chars & words & words >> U64(3) if runs else ZERO, joined, words, base + before, ends, count)
    return count
