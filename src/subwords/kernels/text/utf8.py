"""UTF-8 inside kernels."""

from __future__ import annotations

from subwords.kernels.jit import I64, Int, U8s, helper, kernel, pointer, range_mask, trailing_zeros
from subwords.kernels.layout import LANES

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


@kernel
def first_invalid(text: U8s) -> Int:
    """The index of the first byte that is not part of a UTF-8 character, or -1; same result as `bytes.decode`."""
    p = pointer(text)
    i, n = 0, len(text)
    while i < n:
        if i + LANES <= n:
            high = range_mask(p, i, 0x80, 0xFF)
            if high == 0:
                i += LANES
                continue
            i += trailing_zeros(high)
        code, length = decode_at(p, i, n)
        if code == NOT_UTF8:
            return i
        i += length
    return -1
