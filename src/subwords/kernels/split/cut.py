"""Places where a text may be cut without changing a word, for threads and long texts."""

from __future__ import annotations

from subwords.kernels.jit import I64, Int, U8s, helper, kernel, pointer
from subwords.kernels.split.pack import INVALID_CLASS
from subwords.kernels.text.utf8 import decode_at


@helper
def class_before(classes, p, i):
    """The class, plus 128, of the character that ends at p[i]."""
    start = i - 1
    while start > 0 and i - start < 4 and p[start] >> 6 == 2:
        start -= 1
    code, length = decode_at(p, start, i)
    return classes[code if code >= 0 and start + length == i else INVALID_CLASS]


@kernel
def last_cut(text: U8s, at: Int, classes: U8s, safe: U8s) -> Int:
    """The last place in text[:at], before a whole character, where cutting changes no word whatever follows; or 0."""
    p, c, may = pointer(text), pointer(classes), pointer(safe)
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            if code >= 0 or i + 4 <= at:
                after = c[code if code >= 0 else INVALID_CLASS]
                if may[(I64(class_before(c, p, i)) - 128) * 128 + I64(after) - 128] != 0:
                    return i
        i -= 1
    return 0
