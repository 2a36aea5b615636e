"""UTF-8 inside kernels."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, Int, U8s, helper, kernel, pointer, range_mask

NOT_UTF8 = -1


@helper
def decode_at(p, i, stop):
    """The character at p[i] as (code point, length); (NOT_UTF8, 1) for a byte that starts no character (S2)."""
    lead = I64(p[i])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        if lead >= 0xC2 and i + 1 < stop and I64(p[i + 1]) >> 6 == 2:
            return (lead & 0x1F) << 6 | (I64(p[i + 1]) & 0x3F), 2
    elif lead < 0xF0:
        if i + 2 < stop and I64(p[i + 1]) >> 6 == 2 and I64(p[i + 2]) >> 6 == 2:
            code = (lead & 0x0F) << 12 | (I64(p[i + 1]) & 0x3F) << 6 | (I64(p[i + 2]) & 0x3F)
            if code >= 0x800 and not 0xD800 <= code < 0xE000:
                return code, 3
    elif lead < 0xF5 and i + 3 < stop:
        b1, b2, b3 = I64(p[i + 1]), I64(p[i + 2]), I64(p[i + 3])
        if b1 >> 6 == 2 and b2 >> 6 == 2 and b3 >> 6 == 2:
            code = (lead & 0x07) << 18 | (b1 & 0x3F) << 12 | (b2 & 0x3F) << 6 | (b3 & 0x3F)
            if 0x10000 <= code < 0x110000:
                return code, 4
    return NOT_UTF8, 1


@helper
def follows(p, i, lead, first, last):
    """Bit k is set if p[i + k] is in first..last and the byte before it is `lead`, for 64 bytes."""
    after = range_mask(p, i, lead, lead) << U64(1)
    if i > 0 and I64(p[i - 1]) == lead:
        after |= U64(1)
    return after & range_mask(p, i, first, last)


@helper
def broken_at(p, i, awaited):
    """Whether 64 bytes hold a byte of no character, and the bytes awaited of the next ones.

    awaited: bit k is set if p[i + k] must continue a character that began before p[i].
    """
    four = range_mask(p, i, 0xF0, 0xF4)
    three = four | range_mask(p, i, 0xE0, 0xEF)
    two = three | range_mask(p, i, 0xC2, 0xDF)
    inner = awaited | two << U64(1) | three << U64(2) | four << U64(3)
    wrong = range_mask(p, i, 0x80, 0xBF) ^ inner
    wrong |= range_mask(p, i, 0xC0, 0xC1) | range_mask(p, i, 0xF5, 0xFF)
    wrong |= follows(p, i, 0xE0, 0x80, 0x9F) | follows(p, i, 0xED, 0xA0, 0xBF)  # too long a form; a surrogate
    wrong |= follows(p, i, 0xF0, 0x80, 0x8F) | follows(p, i, 0xF4, 0x90, 0xBF)  # too long a form; above U+10FFFF
    return wrong, two >> U64(63) | three >> U64(62) | four >> U64(61)


@kernel
def first_invalid(text: U8s) -> Int:
    """The index of the first byte that is not part of a UTF-8 character, or -1; same result as `bytes.decode`."""
    p, n = pointer(text), len(text)
    i, awaited = 0, U64(0)
    while i + layout.LANES <= n:
        if range_mask(p, i, 0x80, 0xFF) | awaited != 0:
            wrong, following = broken_at(p, i, awaited)
            if wrong != 0:
                break
            awaited = following
        i += layout.LANES
    if awaited != 0:  # back to the character that is not complete
        while p[i - 1] >> 6 == 2:
            i -= 1
        i -= 1
    while i < n:
        code, length = decode_at(p, i, n)
        if code == NOT_UTF8:
            return i
        i += length
    return -1
