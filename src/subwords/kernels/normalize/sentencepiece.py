"""What SentencePiece does to a text before it looks for pieces: strings replaced, blanks cut, U+2581 for spaces.

At every place the longest user-defined piece, which stays, or else the longest string of the map is taken; or else a
character as it is. Most characters begin neither: `classes` says which, 64 bytes of text at a time, and only the others
are looked at one by one.
"""

from __future__ import annotations

from subwords.kernels.jit import (
    I64,
    U64,
    I32s,
    I64s,
    Int,
    Parts,
    U8s,
    U32s,
    U64s,
    copy64,
    helper,
    inlined,
    kernel,
    pointer,
    trailing_zeros,
)
from subwords.kernels.normalize.blocks import (
    BEGINS,
    ENDS,
    FIELDS,
    LEAD,
    LONGEST,
    PREFIX,
    REMOVES,
    SIZE,
    SPACE,
    SPACED,
    START,
    SUFFIX,
    WIDE,
    Rules,
    Target,
    events_at,
    map_hit,
)
from subwords.kernels.normalize.characters import DONE, FULL
from subwords.kernels.split.pack import LANES
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.trie.double_array import ROOT, child, piece_of

MOST_HITS, MOST_USER_HITS = 32, 64  # as SentencePiece has it: longer matches behind so many are not seen
ZERO, ONE = U64(0), U64(1)
NONE = -1

# ------------------------------------------------------------------ one place


@helper
def user_hit(r, p, i, stop):
    """The longest user-defined piece at p[i]: (its index or NONE, its length)."""
    unit, hits, found, length, k = r.users[ROOT], 0, I64(NONE), I64(0), i
    while k < stop and hits < MOST_USER_HITS and p[k] != 0:
        unit = child(r.users, unit, p[k])
        if unit == ZERO:
            break
        k += 1
        if piece_of(unit) >= 0:
            found, length = piece_of(unit), k - i
            hits += 1
    return found, length


@inlined
def put_space(r, w, j, at):
    """Write a space, and return the place behind."""
    size = I64(1)
    if r.settings[WIDE] != 0:
        w.text[j], w.text[j + 1], w.text[j + 2] = 0xE2, 0x96, 0x81
        size = I64(3)
    else:
        w.text[j] = 32
    if w.tracked:
        for k in range(size):
            w.source[j + k] = at
    return j + size


@helper
def put_fields(r, w, j, fields, base, at, spaced):
    """Write a replacement but for the spaces that `spaced` swallows: (the place behind, whether a space came last)."""
    start, size = I64(fields[base + START]), I64(fields[base + SIZE])
    if spaced:
        start += I64(fields[base + LEAD])
        size -= I64(fields[base + LEAD])
    for k in range(size):
        w.text[j + k] = r.arena[start + k]
    if w.tracked:
        for k in range(size):
            w.source[j + k] = at
    if size > 0:
        spaced = fields[base + SPACED] != 0
    return j + size, spaced


@helper
def put_any(r, w, p, i, stop, j, spaced):
    """Write what stands at p[i]: (the place behind it, that in the result, whether a space came last)."""
    found, length = user_hit(r, p, i, stop)
    if found >= 0:
        j, spaced = put_fields(r, w, j, r.pieces, found * FIELDS, i, spaced)
        return i + length, j, spaced
    found, length = map_hit(r, p, i, stop, MOST_HITS)
    if found >= 0:
        j, spaced = put_fields(r, w, j, r.values, found * FIELDS, i, spaced)
        return i + length, j, spaced
    if p[i] == 32:
        if not spaced:
            j = put_space(r, w, j, i)
        return i + 1, j, True
    code, length = decode_at(p, i, stop)
    size = length
    if code < 0:
        w.text[j], w.text[j + 1], w.text[j + 2] = 0xEF, 0xBF, 0xBD
        size = I64(3)
    else:
        for k in range(length):
            w.text[j + k] = p[i + k]
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i
    return i + length, j + size, False


@helper
def is_space(r, p, i, stop):
    """How long what stands at p[i] is, if it becomes one space and nothing else; or 0."""
    found, length = user_hit(r, p, i, stop)
    fields = r.pieces
    if found < 0:
        found, length = map_hit(r, p, i, stop, MOST_HITS)
        fields = r.values
    if found < 0:
        return I64(p[i] == 32)
    size = I64(3) if r.settings[WIDE] != 0 else I64(1)
    base = found * FIELDS
    return length if fields[base + LEAD] == size and fields[base + SIZE] == size else I64(0)


# ------------------------------------------------------------------ a block


@helper
def put_block(r, w, p, i, upto, j, events, stop, spaced):
    """Write p[i:upto], of which only `events` are no plain characters: (where it came, to where, space, whether done).

    Stops early where it lacks room. 4 * LANES bytes must be free, and LANES behind `upto` readable.
    """
    run, base = i, i
    while events != ZERO:
        at = base + trailing_zeros(events)
        events &= events - ONE
        if at < run:  # a string took it
            continue
        if run < at:
            copy64(w.text, j, p, run)
            if w.tracked:
                j = track(w, p, run, at, j)
            else:
                j += at - run
            spaced = False
        run = at
        if p[at] < 0x80 and r.classes[p[at]] == SPACE:
            if not spaced:
                j = put_space(r, w, j, at)
            spaced = r.settings[REMOVES] != 0
            run = at + 1
            continue
        if j + r.settings[LONGEST] + 4 * LANES > w.room:
            return run, j, spaced, False
        run, j, spaced = put_any(r, w, p, at, stop, j, spaced)
        spaced = spaced and r.settings[REMOVES] != 0
    if run < upto:
        copy64(w.text, j, p, run)
        if w.tracked:
            j = track(w, p, run, upto, j)
        else:
            j += upto - run
        spaced, run = False, upto
    return run, j, spaced, True


@helper
def track(w, p, i, upto, j):
    """Say where the characters p[i:upto] that were copied stood, and return the place behind."""
    begin = i
    while i < upto:
        if p[i] >> 6 != 2:
            begin = i
        w.source[j] = begin
        i += 1
        j += 1
    return j


@helper
def put_slowly(r, w, p, i, upto, j, stop, spaced):
    """Write what begins in p[i:upto], valid or not; returns as `put_block`."""
    while i < upto:
        if j + r.settings[LONGEST] + 4 * LANES > w.room:
            return i, j, spaced, False
        i, j, spaced = put_any(r, w, p, i, stop, j, spaced)
        spaced = spaced and r.settings[REMOVES] != 0
    return i, j, spaced, True


@helper
def put_text(r, w, p, i, stop, j, spaced):
    """Write a text from p[i] on: (where it came, to where, whether a space came last)."""
    done = True
    while i < stop and done:
        size = min(LANES, stop - i)
        if j + r.settings[LONGEST] + 4 * LANES > w.room:
            break
        events, upto = events_at(r, w, p, i, size, stop)
        if upto == i:
            i, j, spaced, done = put_slowly(r, w, p, i, i + size, j, stop, spaced)
        else:
            i, j, spaced, done = put_block(r, w, p, i, upto, j, events, stop, spaced)
    return i, j, spaced


# ------------------------------------------------------------------ texts


@helper
def opened(r, w, p, i, stop, j):
    """Begin a text: (where it came, to where, whether spaces are dropped now)."""
    if r.settings[BEGINS] == 0:
        return i, j, False
    if r.settings[REMOVES] != 0:
        while i < stop:
            plain = p[i] < 0x80 and r.classes[p[i]] == SPACE
            size = I64(1) if plain else is_space(r, p, i, stop)
            if size == 0:
                break
            i += size
    if r.settings[PREFIX] != 0 and (i < stop or r.settings[ENDS] == 0):
        j = put_space(r, w, j, i)
    return i, j, r.settings[REMOVES] != 0


@helper
def closed(r, w, begin, at, j):
    """End a text that began at `begin` of the result: where it ends."""
    size = I64(3) if r.settings[WIDE] != 0 else I64(1)
    if r.settings[REMOVES] != 0:
        while j >= begin + size:
            if size == 3 and not (w.text[j - 3] == 0xE2 and w.text[j - 2] == 0x96 and w.text[j - 1] == 0x81):
                break
            if size == 1 and w.text[j - 1] != 32:
                break
            j -= size
            if w.tracked:
                at = w.source[j]
    if r.settings[SUFFIX] != 0:
        j = put_space(r, w, j, at)
    if w.tracked:
        w.source[j] = at
    return j


@kernel
def rule_texts(
    text: U8s,
    bounds: I64s,
    tables: Parts[U8s, U32s, I32s, U8s, U64s, I32s, I64s, U8s, U8s],
    out: Parts[U8s, I64s, I64s],
    state: I64s,
) -> Int:
    """Write the texts text[bounds[t] : bounds[t + 1]] as they become: DONE, or FULL.

    `state` is, beyond what other kernels have, whether a space came last in the text, whether it has begun, and whether
    it holds more than spaces.
    """
    p, b, s, ends = pointer(text), pointer(bounds), pointer(state), pointer(out[2])
    r = Rules(
        pointer(tables[0]),
        pointer(tables[1]),
        pointer(tables[2]),
        pointer(tables[3]),
        pointer(tables[4]),
        pointer(tables[5]),
        pointer(tables[6]),
        pointer(tables[7]),
    )
    w = Target(pointer(out[0]), pointer(out[1]), len(out[1]) > 0, len(out[0]), len(text), pointer(tables[8]))
    t, i, j, spaced, begun, filled = s[0], s[1], s[2], s[3] != 0, s[4] != 0, s[5] != 0
    status = DONE
    while t < len(bounds) - 1:
        stop = b[t + 1]
        if j + r.settings[LONGEST] + 4 * LANES > w.room:
            status = FULL
            break
        if not begun:
            i, j, spaced = opened(r, w, p, i, stop, j)
            begun, filled = True, i < stop
        i, j, spaced = put_text(r, w, p, i, stop, j, spaced)
        if i < stop:
            status = FULL
            break
        if r.settings[ENDS] != 0 and filled:
            j = closed(r, w, ends[t], i, j)
        begun, t = False, t + 1
        ends[t] = j
    s[0], s[1], s[2], s[3], s[4], s[5] = t, i, j, spaced, begun, filled
    return status
