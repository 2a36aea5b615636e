"""Splitting by a machine of `split/machine.py`: any pattern, two characters a step, four places of the text at once.

A step looks up (state, class, class) and finds the next state and where words end, as bits. One load waits for the
next, five cycles and more, so the text is cut in four where the machine allows it and all parts are walked side by side
(side by side in two: two thirds of the speed). A stream is ASCII text as it is, or packed text: `split_pack.py`.

Whatever is not common is left to `walk`, one character at a time: short texts, words longer than a stream, and the
machine's place kept aside. Every part starts at the end of a word, where the machine is in its first state.

An entry of the table is the next state's row in its high half; below, bit 27 - d says that a word ends d characters
before the last one of the step, and the bits KEEPS, TELLS and HOLDS are those of the machine, the last of them that of
the next state.
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
    U16s,
    U32s,
    U64s,
    advance,
    helper,
    inlined,
    kernel,
    load64,
    pointer,
    range_mask,
    trailing_zeros,
    write_bits,
)
from subwords.kernels.split.pack import INVALID_CLASS, LANES, Packed, pack, unpack
from subwords.kernels.text.utf8 import decode_at

SPAN = 8192  # bytes of a stream at most
SHORT = 192  # bytes of a text that is not worth a stream
LEAST = 1024  # words there must be room for
MOST_BYTES = 1 << 31  # of texts split in one call: ends are 32 bits wide
GROUP = 32  # characters of a group of steps
ROOM = SPAN // GROUP + 4  # words of 64 bits for the borders of one part
BLOCKS = SPAN // LANES + 4  # of a packed stream
REACH, TOP = 26, 27  # as in split/machine.py, and one more
COUNT = 256  # where `second` holds the number of classes
ZERO, ONE, LOW, HALF = U64(0), U64(1), U64(0xFFFFFFFF), U64(32)
BORDERS, KEEPS, TELLS, HOLDS = U64((1 << 28) - 1), U64(1 << 28), U64(1 << 29), U64(1 << 30)
RARE = KEEPS | TELLS
NONE = -1


class Machine(NamedTuple):
    """The machine, and room for one stream."""

    pairs: object  # uint16: for two bytes of a stream, class times classes plus class
    second: object  # uint32: the class of one
    table: object
    count: object  # classes
    safe: object  # by two classes, whether the text may be cut between
    packed: Packed
    parts: object  # uint64: borders of four parts, for each group 32 of them, after one word that is ignored
    borders: object  # uint64: borders of a whole stream
    recent: object  # uint32: where the last characters began, in walking


@inlined
def single_at(m, byte, row):
    """The entry of one character."""
    return m.table[row + m.count * m.count + I64(m.second[byte])]


@inlined
def end_at(m, row):
    """The entry of the end of the text."""
    return m.table[row + m.count * m.count + m.count]


@inlined
def eight(m, chars, row, borders, seen, at):
    """Walk eight characters, which begin `at` places after their group does: (row, borders of the group, entries)."""
    for k in range(4):
        entry = m.table[row + I64(m.pairs[I64(chars >> U64(16 * k) & U64(0xFFFF))])]
        borders |= (entry & BORDERS) << U64(at + 2 * k + 6)
        seen |= entry
        row = I64(entry >> HALF)
    return row, borders, seen


@inlined
def note(bits, g, borders):
    """Keep the borders that group g tells: some are those of the group before."""
    bits[g] |= borders & LOW
    bits[g + 1] = borders >> HALF


@helper
def run_one(m, s, groups, g, row, bits):
    """Walk groups g.. of a part: (how far it came, row)."""
    while g < groups:
        borders, seen, after = ZERO, ZERO, row
        for k in range(0, GROUP, 8):
            after, borders, seen = eight(m, load64(s, g * GROUP + k), after, borders, seen, k)
        if seen & RARE != ZERO:
            break
        note(bits, g, borders)
        row = after
        g += 1
    return g, row


@helper
def run_four(m, s, b, c, d, groups):
    """Walk as many groups of the parts that begin at s, s + b, s + c and s + d: (how many, row of each)."""
    row_a, row_b, row_c, row_d, g = I64(0), I64(0), I64(0), I64(0), I64(0)
    parts = m.parts
    while g < groups:
        next_a, next_b, next_c, next_d, seen = row_a, row_b, row_c, row_d, ZERO
        borders_a, borders_b, borders_c, borders_d = ZERO, ZERO, ZERO, ZERO
        for k in range(0, GROUP, 8):
            i = g * GROUP + k
            next_a, borders_a, seen = eight(m, load64(s, i), next_a, borders_a, seen, k)
            next_b, borders_b, seen = eight(m, load64(s, i + b), next_b, borders_b, seen, k)
            next_c, borders_c, seen = eight(m, load64(s, i + c), next_c, borders_c, seen, k)
            next_d, borders_d, seen = eight(m, load64(s, i + d), next_d, borders_d, seen, k)
        if seen & RARE != ZERO:
            break
        note(parts, g, borders_a)
        note(parts, g + ROOM, borders_b)
        note(parts, g + 2 * ROOM, borders_c)
        note(parts, g + 3 * ROOM, borders_d)
        row_a, row_b, row_c, row_d = next_a, next_b, next_c, next_d
        g += 1
    return g, row_a, row_b, row_c, row_d


@helper
def set_borders(bits, i, entry):
    """Set the borders that the step to character i tells."""
    borders = entry & BORDERS
    while borders != ZERO:
        at = i - TOP + trailing_zeros(borders)
        bits[1 + at // GROUP] |= ONE << U64(at % GROUP)
        borders &= borders - ONE


@helper
def run_rest(m, s, i, n, row, bits):
    """Walk the characters i..n after the last whole group, and the end of the text: whether all of it was common."""
    bits[1 + i // GROUP], bits[1 + n // GROUP] = ZERO, ZERO
    while i < n:
        entry = single_at(m, s[i], row)
        if entry & RARE != ZERO:
            return False
        set_borders(bits, i, entry)
        row = I64(entry >> HALF)
        i += 1
    entry = end_at(m, row)
    set_borders(bits, n, entry)
    return entry & RARE == ZERO


@helper
def finish_part(m, s, begin, n, ended, g, row, bits):
    """Walk what is left of a part of n characters, and with `ended` the end of the text: whether all was common.

    Its borders join those of the stream.
    """
    groups = n // GROUP
    g, row = run_one(m, advance(s, begin), groups, g, row, bits)
    whole = g == groups
    if whole and ended:
        whole = run_rest(m, advance(s, begin), g * GROUP, n, row, bits)
        g += 1
    bits[1] &= ~ONE  # where a part begins a word ends in any case
    for k in range(g):
        at = begin + k * GROUP
        shift = U64(at % LANES)
        m.borders[at // LANES] |= bits[k + 1] << shift
        if shift > HALF:
            m.borders[at // LANES + 1] |= bits[k + 1] >> (U64(LANES) - shift)
    return whole


@helper
def cut_near(m, s, at, least):
    """A place up to `at` where a stream may be cut, or 0 if there is none after `least`."""
    while at > least:
        if m.safe[I64(m.second[s[at - 1]]) * m.count + I64(m.second[s[at]])] != 0:
            return at
        at -= 1
    return 0


@helper
def split_stream(m, s, n, ended):
    """Put the borders of words of a stream of n characters into m.borders: whether all are told.

    With `ended` the text ends there. Else the last words may be missing, as are all after a place kept aside.
    """
    for k in range(n // LANES + 2):
        m.borders[k] = ZERO
    parts = m.parts
    for k in range(4):
        parts[k * ROOM], parts[k * ROOM + 1] = ZERO, ZERO
    b, c, d = I64(0), I64(0), cut_near(m, s, n // 4 * 3, n // 2)
    if d > 0:
        c = cut_near(m, s, n // 2, n // 4)
    if c > 0:
        b = cut_near(m, s, n // 4, 0)
    if b == 0:
        return finish_part(m, s, 0, n, ended, I64(0), I64(0), parts) and ended
    groups = min(min(b, c - b), min(d - c, n - d)) // GROUP
    g, row_a, row_b, row_c, row_d = run_four(m, s, b, c, d, groups)
    if not finish_part(m, s, 0, b, True, g, row_a, parts):
        return False
    m.borders[b // LANES] |= ONE << U64(b % LANES)
    if not finish_part(m, s, b, c - b, True, g, row_b, advance(parts, ROOM)):
        return False
    m.borders[c // LANES] |= ONE << U64(c % LANES)
    if not finish_part(m, s, c, d - c, True, g, row_c, advance(parts, 2 * ROOM)):
        return False
    m.borders[d // LANES] |= ONE << U64(d % LANES)
    return finish_part(m, s, d, n - d, ended, g, row_d, advance(parts, 3 * ROOM)) and ended


@helper
def split_plain(m, p, n, ended, base, ends, count):
    """Write the ends of words of n ASCII characters, counted from `base`: (new count, whether all)."""
    whole = split_stream(m, p, n, ended)
    for k in range(n // LANES + 1):
        count = write_bits(ends, count, base + k * LANES, m.borders[k])
    return count, whole


@helper
def split_packed(m, p, start, stop, limit, base, ends, count):
    """Write the ends of words of p[start:limit] or of less of it, counted from `base`: (new count, whether all)."""
    q = m.packed
    n, blocks, at = pack(q, p, start, stop, limit)
    whole = split_stream(m, q.stream, n, at == stop)
    q.masks[blocks], q.bases[blocks] = ONE, U64(at - start)
    return unpack(q, m.borders, blocks + 1, base, ends, count), whole


@helper
def plain_length(p, i, stop):
    """How many of the bytes p[i:stop] are ASCII before the first that is not, in whole masks."""
    k = i
    while k + LANES <= stop:
        high = range_mask(p, k, 128, 255)
        if high != ZERO:
            return k + trailing_zeros(high) - i
        k += LANES
    while k < stop and p[k] < 128:
        k += 1
    return k - i


@helper
def tell(m, entry, n, kept, ends, count):
    """Write the word ends that the step to character n tells, in walking; their new number."""
    if entry & TELLS != ZERO:
        ends[count] = kept
        count += 1
    borders = entry & BORDERS
    while borders != ZERO:
        d = TOP - trailing_zeros(borders)
        if d < n:
            ends[count] = m.recent[(n - d) % GROUP]
            count += 1
        borders &= borders - ONE
    return count


@helper
def walk(m, p, start, i, stop, ends, count):
    """Write word ends from a word's end on, one character at a time, until there are some: (new count, at the end)."""
    row, kept, n, first = I64(0), I64(NONE), I64(0), count
    recent = m.recent
    while i < stop:
        code, length = decode_at(p, i, stop)
        recent[n % GROUP] = i - start
        entry = single_at(m, m.packed.classes[code if code >= 0 else INVALID_CLASS], row)
        count = tell(m, entry, n, kept, ends, count)
        if entry & HOLDS == ZERO:
            kept = I64(NONE)
        if entry & KEEPS != ZERO:
            kept = I64(recent[(n - REACH) % GROUP])
        row = I64(entry >> HALF)
        n += 1
        i += length
        if n >= SHORT and count > first and kept == NONE:
            return count, False
    recent[n % GROUP] = i - start
    return tell(m, end_at(m, row), n, kept, ends, count), True


@helper
def scan(m, p, start, stop, ends, count, capacity):
    """Write the ends of the words of p[start:stop], relative to `start`; stop early when `ends` is nearly full."""
    i, ended, first = start, start == stop, count
    while not ended:
        room = capacity - count - 2 * LANES
        if count > first and room < min(SPAN, stop - i):
            break
        more = count
        if stop - i > SHORT:
            limit = min(stop, i + min(SPAN, room))
            plain = plain_length(p, i, limit)
            if plain >= SHORT or i + plain == stop:
                more, ended = split_plain(m, advance(p, i), plain, i + plain == stop, i - start, ends, count)
            else:
                more, ended = split_packed(m, p, i, stop, limit, i - start, ends, count)
        if more == count and not ended:
            more, ended = walk(m, p, start, i, stop, ends, count)
        if more > count:
            i = start + I64(ends[more - 1])
        count = more
    return count


@inlined
def opened(frame):
    """The machine of a frame: classes, pairs, second, table, safe, stream, words of 64 bits, recent."""
    second, words = pointer(frame[2]), pointer(frame[6])
    packed = Packed(
        classes=pointer(frame[0]),
        stream=pointer(frame[5]),
        masks=advance(words, 6 * ROOM),
        bases=advance(words, 6 * ROOM + BLOCKS),
    )
    return Machine(
        pairs=pointer(frame[1]),
        second=second,
        table=pointer(frame[3]),
        count=I64(second[COUNT]),
        safe=pointer(frame[4]),
        packed=packed,
        parts=words,
        borders=advance(words, 4 * ROOM),
        recent=pointer(frame[7]),
    )


@kernel
def split_text(
    text: U8s, start: Int, stop: Int, frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s], ends: U32s
) -> Int:
    """Write word ends of text[start:stop] relative to `start` and return how many; fewer than all where they are many.

    `frame` is made in `split/frame.py`; `ends` has room for LEAST words or more. Same words as the machine walked
    by its definition.
    """
    return scan(opened(frame), pointer(text), start, stop, pointer(ends), I64(0), len(ends))


@kernel
def split_texts(
    text: U8s,
    bounds: I64s,
    first: Int,
    frame: Parts[U8s, U16s, U32s, U64s, U8s, U8s, U64s, U32s],
    ends: U32s,
    marks: I64s,
) -> Int:
    """Write the word ends of whole texts, text[bounds[i]:bounds[i + 1]] from i = first on, relative to bounds[first].

    Return the index of the first text there was no room for; marks[i - first + 1] says how many words end by text i.
    """
    m, p, b, e, mark = opened(frame), pointer(text), pointer(bounds), pointer(ends), pointer(marks)
    count, i = I64(0), first
    mark[0] = 0
    while i + 1 < len(bounds):
        start, stop = b[i], b[i + 1]
        full = count + (stop - start) + 2 * LANES > len(ends)
        if full or stop - b[first] > MOST_BYTES or i - first + 1 >= len(marks):
            break
        more = scan(m, p, start, stop, e, count, len(ends))
        for k in range(count, more):
            e[k] += start - b[first]
        count = more
        i += 1
        mark[i - first] = count
    return i
