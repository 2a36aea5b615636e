"""Normalization of many texts at once: characters replaced by a table, and the ends of texts.

Every normalizing kernel writes all texts one after the other, where each of them ends and, if asked to, for every byte
of the result the place of the byte it stands for. If there is no room, the kernel stops between two characters and
returns NEED_OUT; `progress` says where to continue.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    U8s,
    char_at,
    copy64,
    helper,
    inlined,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import Normalized, Replacements
from subwords.kernels.split.pack import low_bits, not_characters
from subwords.kernels.text.utf8 import decode_at

ZERO, ONE = U64(0), U64(1)


class Output(NamedTuple):
    """Where the result goes."""

    text: object
    source: object  # int64: for every byte, the place of the byte it stands for
    tracked: bool  # whether `source` is written
    room: int  # bytes of text
    limit: int  # bytes of the input that may be read


class Replacing(NamedTuple):
    """The pointers of `Replacements`."""

    plain: object
    entries: object
    arena: object


@inlined
def keep(w, j, p, i, size):
    """Copy p[i : i + size]; the place after it. LANES bytes more may be overwritten."""
    k = I64(0)
    while k < size:
        if i + k + layout.LANES <= w.limit:
            copy64(w.text, j + k, p, i + k)
            k += layout.LANES
        else:
            w.text[j + k] = p[i + k]
            k += 1
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i + k
    return j + size


@inlined
def put(w, j, arena, start, size, at):
    """Write a replacement of the character at p[at]; the place after it. LANES bytes may be overwritten."""
    copy64(w.text, j, arena, start)
    for k in range(layout.LANES, size):
        w.text[j + k] = arena[start + k]
    if w.tracked:
        for k in range(size):
            w.source[j + k] = at
    return j + size


@inlined
def width(p, i):
    """The length of the valid character at p[i]."""
    lead = p[i]
    return I64(1) + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)


@inlined
def valid_starts(p, i, size):
    """Bit k: a character begins at p[i + k], for characters that end within `size` bytes; 0 if any is invalid.

    Reads LANES + 1 bytes; p[i] begins a character.
    """
    inside = low_bits(size)
    high, inner = range_mask(p, i, 0x80, 0xFF) & inside, range_mask(p, i, 0x80, 0xBF) & inside
    three, four = range_mask(p, i, 0xE0, 0xEF) & inside, range_mask(p, i, 0xF0, 0xF4) & inside
    longer = three | four
    leads = range_mask(p, i, 0xC2, 0xDF) & inside | longer
    follow = (leads << ONE | longer << U64(2) | four << U64(3)) & inside
    # Inner bytes exactly where leads want them, no other bytes but leads, no forbidden forms.
    if inner ^ follow | high ^ inner ^ leads | not_characters(p, i) & inside != ZERO:
        return ZERO
    # Leads of characters that end beyond `size`: the result stops before the first of them.
    over = leads & ~(inside >> ONE) | longer & ~(inside >> U64(2)) | four & ~(inside >> U64(3))
    return ~inner & low_bits(min(trailing_zeros(over), size))


# ------------------------------------------------------------------ characters, each for itself


@inlined
def map_plain(m, w, p, i, j, size):
    """Write up to LANES ASCII bytes; whether all of the next LANES bytes become one byte each."""
    seen = I64(0)
    for k in range(layout.LANES):
        byte = m.plain[p[i + k]]
        w.text[j + k] = byte
        seen |= I64(byte)
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i + k
    return seen < 0x80


@helper
def map_valid(m, w, p, i, j, starts):
    """Write the valid characters at p[i + k] for every bit k: (place, place in the result, False at a STOP)."""
    run = at = i
    entry = I64(0)
    while starts != ZERO:
        at = i + trailing_zeros(starts)
        starts &= starts - ONE
        entry = I64(m.entries[char_at(p, at)])
        if entry != 0:
            if run < at:
                j = keep(w, j, p, run, at - run)
            if entry == layout.STOP:
                return at, j, False
            j = put(w, j, m.arena, entry >> layout.ENTRY_SHIFT, entry & layout.LONGEST_ENTRY, at)
            run = at + width(p, at)
    at += width(p, at)
    return at, keep(w, j, p, run, at - run), True


@helper
def map_any(m, w, p, i, j, stop):
    """Write the characters that begin in the next LANES bytes, valid or not; returns as `map_valid`."""
    run, upto = i, min(i + layout.LANES, stop)
    while i < upto:
        code, length = decode_at(p, i, stop)
        entry = I64(m.entries[code if code >= 0 else layout.INVALID])
        if entry != 0:
            j = keep(w, j, p, run, i - run)
            if entry == layout.STOP:
                return i, j, False
            j = put(w, j, m.arena, entry >> layout.ENTRY_SHIFT, entry & layout.LONGEST_ENTRY, i)
            run = i + length
        i += length
    return i, keep(w, j, p, run, i - run), True


@helper
def map_text(m, w, p, i, j, stop):
    """Write a text up to `stop`: (place, place in the result, status)."""
    while i < stop:
        if j + layout.BLOCK_GROWTH > w.room:
            return i, j, layout.NEED_OUT
        size, starts = min(layout.LANES, stop - i), ZERO
        if i + layout.LANES + 3 <= w.limit:
            if range_mask(p, i, 0x80, 0xFF) & low_bits(size) == ZERO and map_plain(m, w, p, i, j, size):
                i += size
                j += size
                continue
            starts = valid_starts(p, i, size)
        if starts != ZERO:
            i, j, known = map_valid(m, w, p, i, j, starts)
        else:
            i, j, known = map_any(m, w, p, i, j, stop)
        if not known:
            return i, j, layout.UNKNOWN
    return i, j, layout.DONE


@inlined
def opened_output(text, out):
    """The pointers and limits of a `Normalized`."""
    return Output(pointer(out.text), pointer(out.source), len(out.source) > 0, len(out.text), len(text))


@kernel
def map_texts(text: U8s, bounds: I64s, replacements: Replacements, out: Normalized, progress: I64s) -> Int:
    """Replace characters in text[bounds[t] : bounds[t + 1]]: DONE, NEED_OUT, or UNKNOWN at a STOP."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    m = Replacing(pointer(replacements.plain), pointer(replacements.entries), pointer(replacements.arena))
    w = opened_output(text, out)
    t, i, j, status = s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out], layout.DONE
    while t < len(bounds) - 1 and status == layout.DONE:
        i, j, status = map_text(m, w, p, i, j, b[t + 1])
        if status == layout.DONE:
            t += 1
            ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    return status


# ------------------------------------------------------------------ ends of texts


@helper
def char_before(p, i, start):
    """The character that ends at p[i] as (code point, length); (INVALID, 1) for a byte that ends none."""
    at = i - 1
    while at > start and i - at < 4 and p[at] >> 6 == 2:
        at -= 1
    code, length = decode_at(p, at, i)
    if code >= 0 and at + length == i:
        return code, length
    return I64(layout.INVALID), I64(1)


@kernel
def trim_ends(text: U8s, bounds: I64s, whitespace: U8s, begins: I64s, stops: I64s) -> Int:
    """Write where text[bounds[t] : bounds[t + 1]] begins and stops without leading and trailing whitespace."""
    p, b, white, begin, end = pointer(text), pointer(bounds), pointer(whitespace), pointer(begins), pointer(stops)
    for t in range(len(bounds) - 1):
        i, stop = b[t], b[t + 1]
        while i < stop:
            code, length = decode_at(p, i, stop)
            if code < 0 or white[code] == 0:
                break
            i += length
        while stop > i:
            code, length = char_before(p, stop, i)
            if white[code] == 0:
                break
            stop -= length
        begin[t], end[t] = i, stop
    return 0


@kernel
def char_spans(text: U8s, spans: I64s) -> Int:
    """Write for every byte where its character begins, and then for every byte where its character ends."""
    p, s, n, i = pointer(text), pointer(spans), len(text), 0
    while i < n:
        _, length = decode_at(p, i, n)
        for k in range(i, i + length):
            s[k], s[n + k] = i, i + length
        i += length
    return 0


@kernel
def last_safe(text: U8s, at: Int, safe: U8s) -> Int:
    """The last place in text[:at], before a whole character, where the text may be cut, or 0; safe: by code point."""
    p, ok = pointer(text), pointer(safe)
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            # The text may end inside this character; with four bytes of it, an invalid byte is really invalid.
            if code >= 0 or i + 4 <= at:
                flags = ok[code if code >= 0 else layout.INVALID]
                if flags & layout.SAFE != 0:
                    return i
                if flags & layout.SAFE_BEHIND != 0 and ok[char_before(p, i, 0)[0]] & layout.SOLID != 0:
                    return i
        i -= 1
    return 0
