"""Dropping the words that begin with a character of a set, such as whitespace; a prefix for the others."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, I64s, Int, U8s, U32s, advance, copy64, helper, kernel, pointer
from subwords.kernels.text.utf8 import decode_at


@helper
def first_class(p, i, stop, classes):
    """The class of the character at i."""
    if p[i] < 0x80:
        return I64(classes[p[i]])
    code, _ = decode_at(p, i, stop)
    return I64(classes[code if code >= 0 else layout.INVALID])


@helper
def copy_bytes(q, j, p, i, stop, room):
    """Copy p[i:stop] to q from j on, LANES bytes at a time while p has that many before `room`."""
    while i < stop and i + layout.LANES <= room:
        copy64(q, j, p, i)
        i += layout.LANES
        j += layout.LANES
    while i < stop:
        q[j] = p[i]
        i += 1
        j += 1


@kernel
def kept_begins(text: U8s, start: Int, ends: U32s, words: Int, drops: U8s, begins: I64s) -> Int:
    """Write where the words begin in the text that `keep_words` keeps; their number."""
    p, e, d, b = pointer(text), pointer(ends), pointer(drops), pointer(begins)
    at, count = I64(start), I64(0)
    for w in range(words):
        b[count] = at
        stop = I64(start) + I64(e[w])
        count += 1 if stop > at and first_class(p, at, stop, d) == 0 else 0
        at = stop
    return count


@kernel
def keep_words(text: U8s, start: Int, ends: U32s, text_ends: I64s, drops: U8s, out: U8s, kept: U32s) -> Int:
    """Copy the words that do not begin with a character of `drops` to `out` and write their ends; their number.

    Word w is text[start + ends[w - 1] : start + ends[w]]. text_ends[i] is the number of words up to the end of text i;
    it is replaced by the number of words kept. drops: 1 or 0 by code point, and last for a byte that is not UTF-8. out
    has room for the words and LANES bytes.
    """
    p, e, m, d = pointer(text), pointer(ends), pointer(text_ends), pointer(drops)
    q, k = pointer(out), pointer(kept)
    size, w, count, at, filled = len(text), I64(0), I64(0), I64(start), I64(0)
    run = at  # text[run:at] is kept, and not yet copied. A copy for each word: 3.8 ns a word instead of 1.5
    for i in range(len(text_ends)):
        while w < m[i]:
            stop = I64(start) + I64(e[w])
            if first_class(p, at, stop, d) != 0:
                copy_bytes(q, filled - (at - run), p, run, at, size)
                run = stop
            else:
                filled += stop - at
                k[count] = filled
                count += 1
            at = stop
            w += 1
        m[i] = count
    copy_bytes(q, filled - (at - run), p, run, at, size)
    return count


@helper
def has_prefix(p, i, stop, prefix, width):
    """Whether p[i:stop] begins with a prefix of some bytes."""
    k = 0
    while k < width and i + k < stop and p[i + k] == prefix[k]:
        k += 1
    return k == width


@kernel
def keep_prefixed(text: U8s, start: Int, ends: U32s, text_ends: I64s, drops: U8s, out: U8s, kept: U32s) -> Int:
    """Do as `keep_words`, and write a prefix before the kept words that do not begin with it.

    The prefix follows the table in `drops`. out has room for it before each word, for the words, and for LANES bytes.
    """
    p, e, m, d = pointer(text), pointer(ends), pointer(text_ends), pointer(drops)
    q, k = pointer(out), pointer(kept)
    width, before = len(drops) - (layout.INVALID + 1), advance(d, layout.INVALID + 1)
    size, w, count, at, filled = len(text), I64(0), I64(0), I64(start), I64(0)
    for i in range(len(text_ends)):
        while w < m[i]:
            stop = I64(start) + I64(e[w])
            if first_class(p, at, stop, d) == 0:
                if not has_prefix(p, at, stop, before, width):
                    for b in range(width):
                        q[filled + b] = before[b]
                    filled += width
                copy_bytes(q, filled, p, at, stop, size)
                filled += stop - at
                k[count] = filled
                count += 1
            at = stop
            w += 1
        m[i] = count
    return count


@kernel
def prefixed_origins(text: U8s, start: Int, ends: U32s, words: Int, drops: U8s, begins: I64s, stops: I64s) -> Int:
    """Write the range of `text` that each byte written by `keep_prefixed` comes from; the number of these bytes.

    A prefix comes from the first character of its word.
    """
    p, e, d, b, s = pointer(text), pointer(ends), pointer(drops), pointer(begins), pointer(stops)
    width, before = len(drops) - (layout.INVALID + 1), advance(d, layout.INVALID + 1)
    at, n = I64(start), I64(0)
    for w in range(words):
        stop = I64(start) + I64(e[w])
        if first_class(p, at, stop, d) == 0:
            if not has_prefix(p, at, stop, before, width):
                _, size = decode_at(p, at, stop)
                for k in range(n, n + width):
                    b[k], s[k] = at, at + size
                n += width
            for k in range(stop - at):
                b[n + k], s[n + k] = at + k, at + k + 1
            n += stop - at
        at = stop
    return n


@kernel
def cut_numbers(text: U8s, start: Int, ends: U32s, text_ends: I64s, kinds: U8s, out: U8s, kept: U32s) -> Int:
    """Copy words to `out` and write their ends, and those of the numbers in them; their number.

    kinds: by byte, 0, or 1 if it is of a number, or 2 if it is a digit. A run of bytes of numbers becomes a word, but
    each three digits in it, from its start on, are words. Otherwise as `keep_words`; `kept` has room for an end a byte.
    """
    p, e, m, d = pointer(text), pointer(ends), pointer(text_ends), pointer(kinds)
    q, k = pointer(out), pointer(kept)
    base, w, count, at = I64(start), I64(0), I64(0), I64(start)
    for i in range(len(text_ends)):
        while w < m[i]:
            stop, done, last = base + I64(e[w]), at, d[p[at]]
            while at < stop:
                kind = d[p[at]]
                group = kind == 2 and at + 2 < stop and d[p[at + 1]] == 2 and d[p[at + 2]] == 2
                if at > done and (group or (kind != 0) != (last != 0)):
                    k[count] = at - base
                    count += 1
                    done = at
                last = kind
                at += 3 if group else 1
                if group:
                    k[count] = at - base
                    count += 1
                    done = at
            if at > done:
                k[count] = at - base
                count += 1
            w += 1
        m[i] = count
    copy_bytes(q, I64(0), p, base, at, len(text))
    return count
