"""Leaving out words: those that begin with a character of a set, as blanks do."""

from __future__ import annotations

from subwords.kernels.jit import I64, I64s, Int, U8s, U32s, copy64, helper, kernel, pointer
from subwords.kernels.split.pack import INVALID_CLASS, LANES
from subwords.kernels.text.utf8 import decode_at


@helper
def first_class(p, i, stop, classes):
    """The class of the character at i."""
    if p[i] < 0x80:
        return I64(classes[p[i]])
    code, _ = decode_at(p, i, stop)
    return I64(classes[code if code >= 0 else INVALID_CLASS])


@helper
def copy_bytes(q, j, p, i, stop, room):
    """Copy p[i:stop] to q from j on; 64 bytes at a time where `room` says that so many lie behind i."""
    while i < stop and i + LANES <= room:
        copy64(q, j, p, i)
        i += LANES
        j += LANES
    while i < stop:
        q[j] = p[i]
        i += 1
        j += 1


@kernel
def keep_words(text: U8s, start: Int, ends: U32s, marks: I64s, drops: U8s, out: U8s, kept: U32s) -> Int:
    """Copy the words that do not begin with a character of `drops` to `out` and write their ends; how many they are.

    Word w is text[start + ends[w - 1] : start + ends[w]]. marks[i] is how many words there are by the end of text i,
    and becomes how many are kept. drops: of each code point, and last of a byte that is not UTF-8, 1 or 0. out has 64
    bytes more than the words.
    """
    p, e, m, d = pointer(text), pointer(ends), pointer(marks), pointer(drops)
    q, k = pointer(out), pointer(kept)
    size, w, count, at, filled = len(text), I64(0), I64(0), I64(start), I64(0)
    for i in range(len(marks)):
        while w < m[i]:
            stop = I64(start) + I64(e[w])
            length = (stop - at) * (1 - first_class(p, at, stop, d))
            copy_bytes(q, filled, p, at, stop, size)
            filled += length
            k[count] = filled
            count += 1 if length > 0 else 0
            at = stop
            w += 1
        m[i] = count
    return count
