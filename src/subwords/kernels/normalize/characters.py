"""Normalization of many texts at once: characters replaced by a table, and what begins and ends a text.

Kernels write all texts one behind the other, where each of them ends, and if asked to, for every byte the place of the
byte that it stands for. One that lacks room stops between two characters and is called again: `state` is the text it
is in, its place there and in the result.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    Parts,
    U8s,
    U32s,
    char_at,
    copy64,
    helper,
    inlined,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.split.pack import LANES, low_bits, not_characters
from subwords.kernels.text.utf8 import decode_at

INVALID = 0x110000  # where tables hold what becomes of a byte that is not UTF-8 (S2)
DONE, FULL, CRAMPED, UNKNOWN = 0, 1, 2, 3
STOP = 0xFFFFFFFF  # the entry of a character that the table cannot tell what becomes of
LONGEST = 255  # bytes of a replacement, and characters of a decomposition
MOST = LANES * (LONGEST + 1) + LANES  # bytes that a block of text may become, and that copies may overwrite
# Where a text may be cut: before such a character; before it if the one before that is SOLID.
SAFE, SAFE_BEHIND, SOLID = 1, 2, 4
ZERO, ONE = U64(0), U64(1)


class Output(NamedTuple):
    """Where the result goes."""

    text: object
    source: object  # int64: for every byte the place of the one it stands for
    tracked: bool
    room: int  # bytes of text
    limit: int  # of what is read


class Replacing(NamedTuple):
    """What becomes of characters, each for itself."""

    plain: object  # uint8: of ASCII bytes; from 128 on it is not one byte
    entries: object  # uint32: of code points, where it stands in the arena and (below) its length; 0: as it is
    arena: object


@inlined
def keep(w, j, p, i, size):
    """Write p[i : i + size] as it is, and return the place behind; LANES bytes more may be overwritten."""
    k = I64(0)
    while k < size:
        if i + k + LANES <= w.limit:
            copy64(w.text, j + k, p, i + k)
            k += LANES
        else:
            w.text[j + k] = p[i + k]
            k += 1
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i + k
    return j + size


@inlined
def put(w, j, arena, start, size, at):
    """Write a replacement of the character at p[at], and return the place behind; LANES bytes may be overwritten."""
    copy64(w.text, j, arena, start)
    for k in range(LANES, size):
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
    """Bit k says that a character begins at p[i + k], for those that end within `size` bytes; none if any is invalid.

    Reads LANES + 1 bytes; p[i] begins a character.
    """
    inside = low_bits(size)
    high, inner = range_mask(p, i, 0x80, 0xFF) & inside, range_mask(p, i, 0x80, 0xBF) & inside
    three, four = range_mask(p, i, 0xE0, 0xEF) & inside, range_mask(p, i, 0xF0, 0xF4) & inside
    longer = three | four
    leads = range_mask(p, i, 0xC2, 0xDF) & inside | longer
    follow = (leads << ONE | longer << U64(2) | four << U64(3)) & inside
    if inner ^ follow | high ^ inner ^ leads | not_characters(p, i) & inside != ZERO:
        return ZERO
    over = leads & ~(inside >> ONE) | longer & ~(inside >> U64(2)) | four & ~(inside >> U64(3))
    return ~inner & low_bits(min(trailing_zeros(over), size))


# ------------------------------------------------------------------ characters, each for itself


@inlined
def map_plain(m, w, p, i, j, size):
    """Write up to LANES bytes of ASCII, if each becomes one byte; whether they, and what is behind them, all do."""
    seen = I64(0)
    for k in range(LANES):
        byte = m.plain[p[i + k]]
        w.text[j + k] = byte
        seen |= I64(byte)
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i + k
    return seen < 0x80


@helper
def map_valid(m, w, p, i, j, starts):
    """Write the characters at p[i + k] for every bit k, all valid: (where it came, to where, whether it knew)."""
    run = at = i
    entry = I64(0)
    while starts != ZERO:
        at = i + trailing_zeros(starts)
        starts &= starts - ONE
        entry = I64(m.entries[char_at(p, at)])
        if entry != 0:
            if run < at:
                j = keep(w, j, p, run, at - run)
            if entry == STOP:
                return at, j, False
            j = put(w, j, m.arena, entry >> 8, entry & 255, at)
            run = at + width(p, at)
    at += width(p, at)
    return at, keep(w, j, p, run, at - run), True


@helper
def map_any(m, w, p, i, j, stop):
    """Write what begins in the next LANES bytes, valid or not: (where it came, to where, whether it knew)."""
    run, upto = i, min(i + LANES, stop)
    while i < upto:
        code, length = decode_at(p, i, stop)
        entry = I64(m.entries[code if code >= 0 else INVALID])
        if entry != 0:
            j = keep(w, j, p, run, i - run)
            if entry == STOP:
                return i, j, False
            j = put(w, j, m.arena, entry >> 8, entry & 255, i)
            run = i + length
        i += length
    return i, keep(w, j, p, run, i - run), True


@helper
def map_text(m, w, p, i, j, stop):
    """Write a text up to `stop`: (where it came, to where, status)."""
    while i < stop:
        if j + MOST > w.room:
            return i, j, FULL
        size, starts = min(LANES, stop - i), ZERO
        if i + LANES + 3 <= w.limit:
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
            return i, j, UNKNOWN
    return i, j, DONE


@kernel
def map_texts(text: U8s, bounds: I64s, tables: Parts[U8s, U32s, U8s], out: Parts[U8s, I64s, I64s], state: I64s) -> Int:
    """Replace characters in text[bounds[t] : bounds[t + 1]]: DONE, FULL, or UNKNOWN where the table says STOP."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(state), pointer(out[2])
    m = Replacing(pointer(tables[0]), pointer(tables[1]), pointer(tables[2]))
    w = Output(pointer(out[0]), pointer(out[1]), len(out[1]) > 0, len(out[0]), len(text))
    t, i, j, status = s[0], s[1], s[2], DONE
    while t < len(bounds) - 1 and status == DONE:
        i, j, status = map_text(m, w, p, i, j, b[t + 1])
        if status == DONE:
            t += 1
            ends[t] = j
    s[0], s[1], s[2] = t, i, j
    return status


# ------------------------------------------------------------------ ends of texts


@helper
def char_before(p, i, start):
    """The character that ends at p[i], as (code point, length); (INVALID, 1) for a byte that ends none."""
    at = i - 1
    while at > start and i - at < 4 and p[at] >> 6 == 2:
        at -= 1
    code, length = decode_at(p, at, i)
    if code >= 0 and at + length == i:
        return code, length
    return I64(INVALID), I64(1)


@kernel
def blank_ends(text: U8s, bounds: I64s, blanks: U8s, begins: I64s, stops: I64s) -> Int:
    """Write where text[bounds[t] : bounds[t + 1]] begins and stops but for blanks; one place where there is no more."""
    p, b, blank, begin, end = pointer(text), pointer(bounds), pointer(blanks), pointer(begins), pointer(stops)
    for t in range(len(bounds) - 1):
        i, stop = b[t], b[t + 1]
        while i < stop:
            code, length = decode_at(p, i, stop)
            if code < 0 or blank[code] == 0:
                break
            i += length
        while stop > i:
            code, length = char_before(p, stop, i)
            if blank[code] == 0:
                break
            stop -= length
        begin[t], end[t] = i, stop
    return 0


@kernel
def char_spans(text: U8s, spans: I64s) -> Int:
    """Write for every byte where its character begins, and behind all of these where it ends."""
    p, s, n, i = pointer(text), pointer(spans), len(text), 0
    while i < n:
        _, length = decode_at(p, i, n)
        for k in range(i, i + length):
            s[k], s[n + k] = i, i + length
        i += length
    return 0


@kernel
def last_safe(text: U8s, at: Int, safe: U8s) -> Int:
    """The last place in text[:at] before a whole character that may be cut at, as `safe` has it, or 0."""
    p, ok = pointer(text), pointer(safe)
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            if code >= 0 or i + 4 <= at:
                flags = ok[code if code >= 0 else INVALID]
                if flags & SAFE != 0:
                    return i
                if flags & SAFE_BEHIND != 0 and ok[char_before(p, i, 0)[0]] & SOLID != 0:
                    return i
        i -= 1
    return 0
