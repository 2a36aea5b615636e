"""Places where a text can be cut without changing a word, for threads and long texts."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, Int, U8s, helper, kernel, pointer
from subwords.kernels.text.utf8 import decode_at


@helper
def class_before(classes, p, i):
    """The class, plus CLASS_FLAG, of the character that ends at p[i]."""
    start = i - 1
    while start > 0 and i - start < 4 and p[start] >> 6 == 2:
        start -= 1
    code, length = decode_at(p, start, i)
    return classes[code if code >= 0 and start + length == i else layout.INVALID]


@kernel
def last_cut(text: U8s, at: Int, classes: U8s, safe: U8s) -> Int:
    """The last place in text[:at], before a whole character, where cutting changes no word whatever follows; or 0.

    safe: 1 or 0 for two classes, of CLASS_FLAG each.
    """
    p, c, may = pointer(text), pointer(classes), pointer(safe)
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            if code >= 0 or i + 4 <= at:
                after = c[code if code >= 0 else layout.INVALID]
                if (
                    may[
                        (I64(class_before(c, p, i)) - layout.CLASS_FLAG) * layout.CLASS_FLAG
                        + I64(after)
                        - layout.CLASS_FLAG
                    ]
                    != 0
                ):
                    return i
        i -= 1
    return 0
