"""Text that is not ASCII as a packed stream: one byte for each character, its class + CLASS_FLAG.

Masks process 64 bytes of text at a time. The mask of the characters' first bytes is stored for each of these blocks; it
turns places in the stream into places in the text.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import (
    I64,
    U64,
    char_at,
    clear64,
    copy64,
    deposit,
    helper,
    inlined,
    popcount,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.packing import classify, classify_members, write_bits, write_flagged_bits
from subwords.kernels.text.utf8 import decode_at

PLAIN_RUN = 512  # ASCII bytes after which text is no longer packed
ZERO, ONE, ALL = U64(0), U64(1), U64(0xFFFFFFFFFFFFFFFF)


class Packed(NamedTuple):
    """Room for one stream."""

    classes: object  # by code point, plus CLASS_FLAG
    members: object  # the same of 16 bits, with what safe_cuts.py says of a character in the upper half
    with_members: object
    stream: object
    found: object  # uint8: the upper halves of the stream's characters
    codes: object  # uint16: their code points
    masks: object  # uint64: the first bytes of each block's characters
    bases: object  # uint64: where each block begins in the text


@helper
def low_bits(k):
    """The k lowest bits, 0 <= k <= 64."""
    if k >= layout.LANES:
        return ALL
    return (ONE << U64(k)) - ONE


@inlined
def pack_chars(q, p, i, starts, n):
    """Pack the characters whose first bytes are at p[i + k] for every bit k."""
    while starts != ZERO:
        q.stream[n] = q.classes[char_at(p, i + trailing_zeros(starts))]
        if q.with_members:
            q.found[n] = 0
        starts &= starts - ONE
        n += 1


@helper
def pack_any(q, p, i, carry, stop, n):
    """Pack the characters that begin in the next LANES bytes, valid or not: (their mask, the next block's carry)."""
    k, mask = trailing_zeros(~carry), ZERO
    while k < layout.LANES and i + k < stop:
        code, length = decode_at(p, i + k, stop)
        q.stream[n] = q.classes[code if code >= 0 else layout.INVALID]
        if q.with_members:
            q.found[n] = U64(q.members[code]) >> U64(8) if 0 <= code < layout.MEMBERS else 0
            q.codes[n] = code & 0xFFFF
        mask |= ONE << U64(k)
        n += 1
        k += length
    return mask, low_bits(max(k - layout.LANES, 0))


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
    """Pack a block: (its mask, the next block's carry). Reads LANES + 3 bytes if the text has them.

    The bits of `carry` are the bytes of a block that belong to a character that began before it.
    """
    if i + layout.LANES + 3 > stop:
        return pack_any(q, p, i, carry, stop, n)
    high = range_mask(p, i, 0x80, 0xFF)
    if high == ZERO:
        copy64(q.stream, n, p, i)
        if q.with_members:
            clear64(q.found, n)
        return ALL, ZERO
    inner, three = range_mask(p, i, 0x80, 0xBF), range_mask(p, i, 0xE0, 0xEF)
    four = range_mask(p, i, 0xF0, 0xF4)
    longer = three | four
    leads = range_mask(p, i, 0xC2, 0xDF) | longer
    inside = leads << ONE | longer << U64(2) | four << U64(3) | carry
    over = leads >> U64(63) | longer >> U64(62) | four >> U64(61)
    # Bits 0 to 2 are the bytes after the block, where characters end that begin in it.
    missing = over & ~(range_mask(p, i + 3, 0x80, 0xBF) >> U64(61))
    # Valid UTF-8: inner bytes exactly where the leads want them, no other bytes but leads, no forbidden forms.
    if inner ^ inside | high ^ inner ^ leads | not_characters(p, i) | missing != ZERO:
        return pack_any(q, p, i, carry, stop, n)
    if four != ZERO:
        pack_chars(q, p, i, ~inner, n)
    elif q.with_members:
        classify_members(q.stream, q.found, q.codes, n, q.members, p, i, ~inner)
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
        i += layout.LANES
        if mask != ALL:
            last = i
    return n, blocks, min(i + popcount(carry), stop)


@helper
def plain_length(p, i, stop):
    """The number of ASCII bytes at the start of p[i:stop]."""
    k = i
    while k + layout.LANES <= stop:
        high = range_mask(p, k, 128, 255)
        if high != ZERO:
            return k + trailing_zeros(high) - i
        k += layout.LANES
    while k < stop and p[k] < 128:
        k += 1
    return k - i


@inlined
def byte_bits(q, bits, block, n):
    """Bits of a stream as bits of the bytes of a block of text; place n of the stream is its first character."""
    shift = U64(n & 63)
    here = bits[n >> 6] >> shift
    if shift != ZERO:
        here |= bits[(n >> 6) + 1] << (U64(layout.LANES) - shift)
    return deposit(here, q.masks[block])


@helper
def unpack(q, borders, blocks, base, ends, count):
    """Write borders of a packed stream as word ends relative to `base`; place n is bit n % 64 of borders[n // 64]."""
    n = I64(0)
    for block in range(blocks):
        count = write_bits(ends, count, base + I64(q.bases[block]), byte_bits(q, borders, block, n))
        n += popcount(q.masks[block])
    return count


@helper
def unpack_runs(q, borders, runs, blocks, base, ends, count):
    """The same; `runs` has a bit for each border where a RUN ends."""
    n = I64(0)
    for block in range(blocks):
        here, flags = byte_bits(q, borders, block, n), byte_bits(q, runs, block, n)
        count = write_flagged_bits(ends, count, base + I64(q.bases[block]), here, flags)
        n += popcount(q.masks[block])
    return count
