"""Splitting by a machine of `split/machine.py`: any pattern, two characters a step, two places of the text at once.

A step looks up (state, class, class) and finds the next state and where words end, as bits. One load waits for the
next, five cycles and more, so the text is cut in two where the machine allows it and both halves are walked side by
side. A stream is ASCII text as it is, or text whose other characters are packed into one byte each: 128 + class.

Whatever is not common is left to `walk`, one character at a time: ends, short texts, words longer than a stream, and
the machine's place kept aside. Every stream starts at the end of a word, where the machine is in its first state.

An entry of the table is the next state's row in its high half; below, bit 27 - d says that a word ends d characters
before the last one of the step, and the bits KEEPS and TELLS are those of the machine.
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
    U64s,
    advance,
    copy64,
    count64,
    helper,
    inlined,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
    write_bits,
)
from subwords.kernels.utf8 import decode_at

SPAN = 8192  # bytes of a stream at most
SHORT = 192  # bytes of a text that is not worth a stream
LEAST = 1024  # words there must be room for
MOST_BYTES = 1 << 31  # of texts split in one call: ends are 32 bits wide
LANES, GROUP = 64, 32  # characters of a mask; of a group of steps
REACH = 26  # as in split/machine.py
TOP = 27
ZERO, ONE, LOW = U64(0), U64(1), U64(0xFFFFFFFF)
BORDERS, KEEPS, TELLS = U64((1 << 28) - 1), U64(1 << 28), U64(1 << 29)
RARE = KEEPS | TELLS
HALF = U64(32)
COUNT = 256  # where `first` holds the number of classes
INVALID_CLASS = 0x110000  # where the class of a byte that is not UTF-8 stands
NONE = -1
PLAIN = 512  # ASCII bytes after which a stream is no longer packed
ENOUGH = 8  # ASCII bytes that are worth copying a block
WITHIN = U64((1 << 62) - 1)


class Machine(NamedTuple):
    """The machine, and room for one stream."""

    classes: object  # of code points, plus 128: the bytes of packed streams
    first: object  # uint32: class times classes, for a byte of a stream
    second: object  # uint32: class
    table: object
    count: object  # classes
    safe: object  # by two classes, whether the text may be cut between
    stream: object
    offsets: object  # uint32: where the characters of a packed stream start
    left: object  # uint64: borders of the first half, one word for each group, after one that is ignored
    right: object


@inlined
def pair_at(m, s, i, row):
    """The entry of the characters i and i + 1."""
    return m.table[row + I64(m.first[s[i]]) + I64(m.second[s[i + 1]])]


@inlined
def single_at(m, byte, row):
    """The entry of one character."""
    return m.table[row + m.count * m.count + I64(m.second[byte])]


@inlined
def end_at(m, row):
    """The entry of the end of the text."""
    return m.table[row + m.count * m.count + m.count]


@helper
def run_one(m, s, groups, g, row, bits):
    """Walk groups g.. of a stream: (how far it came, row)."""
    while g < groups:
        borders, seen, next_row, i = ZERO, ZERO, row, g * GROUP
        for k in range(GROUP // 2):
            entry = pair_at(m, s, i + 2 * k, next_row)
            borders |= (entry & BORDERS) << U64(2 * k + 6)
            seen |= entry
            next_row = I64(entry >> HALF)
        if seen & RARE != ZERO:
            break
        bits[g] |= borders & LOW
        bits[g + 1] = borders >> HALF
        row = next_row
        g += 1
    return g, row


@helper
def run_two(m, s, t, groups):
    """Walk as many groups of two streams side by side: (how many, row of each)."""
    a, b, g = I64(0), I64(0), I64(0)
    left, right = m.left, m.right
    while g < groups:
        borders_a, borders_b, seen, next_a, next_b, i = ZERO, ZERO, ZERO, a, b, g * GROUP
        for k in range(GROUP // 2):
            entry_a = pair_at(m, s, i + 2 * k, next_a)
            entry_b = pair_at(m, t, i + 2 * k, next_b)
            borders_a |= (entry_a & BORDERS) << U64(2 * k + 6)
            borders_b |= (entry_b & BORDERS) << U64(2 * k + 6)
            seen |= entry_a | entry_b
            next_a = I64(entry_a >> HALF)
            next_b = I64(entry_b >> HALF)
        if seen & RARE != ZERO:
            break
        left[g] |= borders_a & LOW
        left[g + 1] = borders_a >> HALF
        right[g] |= borders_b & LOW
        right[g + 1] = borders_b >> HALF
        a, b = next_a, next_b
        g += 1
    return g, a, b


@helper
def set_borders(bits, i, entry):
    """Set the borders that the step to character i tells."""
    borders = entry & BORDERS
    while borders != ZERO:
        d = TOP - trailing_zeros(borders)
        bits[1 + (i - d) // GROUP] |= ONE << U64((i - d) % GROUP)
        borders &= borders - ONE


@helper
def run_rest(m, s, i, n, row, bits):
    """Walk the characters i..n after the last whole group, and the end of the text: whether all of it was common."""
    bits[1 + i // GROUP] = ZERO
    while i < n:
        entry = single_at(m, s[i], row)
        if entry & RARE != ZERO:
            return False
        set_borders(bits, i, entry)
        row = I64(entry >> HALF)
        i += 1
    entry = end_at(m, row)
    if n % GROUP == 0:
        bits[1 + n // GROUP] = ZERO
    set_borders(bits, n, entry)
    return entry & RARE == ZERO


@helper
def write_borders(bits, groups, base, ends, count):
    """Write the borders of the groups as word ends, counted from `base`; their new number."""
    bits[1] &= ~ONE
    bits[groups + 1] = ZERO
    g = 0
    while g < groups:
        count = write_bits(ends, count, base + g * GROUP, bits[g + 1] | bits[g + 2] << HALF)
        g += 2
    return count


@helper
def middle(m, s, n):
    """A place near the middle of a stream where it may be cut, or 0."""
    at = n // 2
    while at > n // 4:
        if m.safe[I64(m.second[s[at - 1]]) * m.count + I64(m.second[s[at]])] != 0:
            return at
        at -= 1
    return 0


@helper
def split_stream(m, s, n, ended, base, ends, count):
    """Write the ends of words of a stream of n characters, counted from `base`: (new count, whether all).

    With `ended` the text ends there. Else the last words may be left out, as are all after a place kept aside.
    """
    cut = middle(m, s, n)
    t = advance(s, cut)
    groups = (n - cut) // GROUP
    left, right = m.left, m.right
    left[0], left[1], right[0], right[1] = ZERO, ZERO, ZERO, ZERO
    g, b = I64(0), I64(0)
    if cut > 0:
        g, a, b = run_two(m, s, t, min(cut // GROUP, groups))
        h, a = run_one(m, s, cut // GROUP, g, a, left)
        whole = h == cut // GROUP
        if whole:
            whole = run_rest(m, s, h * GROUP, cut, a, left)
        count = write_borders(left, cut // GROUP + 1 if whole else h, base, ends, count)
        if not whole:
            return count, False
        if count == 0 or I64(ends[count - 1]) != base + cut:
            ends[count] = base + cut
            count += 1
    h, b = run_one(m, t, groups, g, b, right)
    whole = h == groups
    if whole and ended:
        whole = run_rest(m, t, h * GROUP, n - cut, b, right)
        h = (n - cut) // GROUP + 1 if whole else h
    return write_borders(right, h, base + cut, ends, count), whole and ended


@inlined
def pack_small(m, p, i, start, starts, n):
    """Pack characters of one and two bytes, whose first bytes are at p[i + k] for every bit k."""
    while starts != ZERO:
        k = trailing_zeros(starts)
        starts &= starts - ONE
        lead, next_byte = I64(p[i + k]), I64(p[i + k + 1])
        code = (lead & 0x1F) << 6 | next_byte & 0x3F
        code = code if lead >= 0x80 else lead
        m.stream[n] = m.classes[code]
        m.offsets[n] = i - start + k
        n += 1
    return n


@inlined
def pack_large(m, p, i, start, starts, n):
    """Pack characters of up to three bytes."""
    while starts != ZERO:
        k = trailing_zeros(starts)
        starts &= starts - ONE
        lead, second, third = I64(p[i + k]), I64(p[i + k + 1]) & 0x3F, I64(p[i + k + 2]) & 0x3F
        code = (lead & 0x1F) << 6 | second
        code = (code << 6 | third) & 0xFFFF if lead >= 0xE0 else code
        code = code if lead >= 0x80 else lead
        m.stream[n] = m.classes[code]
        m.offsets[n] = i - start + k
        n += 1
    return n


@helper
def pack_any(m, p, i, start, stop, n):
    """Pack what begins in the next LANES bytes, valid or not: (characters, where it stopped)."""
    limit = min(stop, i + LANES)
    while i < limit:
        code, length = decode_at(p, i, stop)
        m.stream[n] = m.classes[code if code >= 0 else INVALID_CLASS]
        m.offsets[n] = i - start
        n += 1
        i += length
    return n, i


@helper
def pack(m, p, start, stop, limit):
    """Pack text into m.stream and m.offsets up to `limit`, or until it is plain again: (characters, where it is)."""
    i, n, last = start, I64(0), start
    while i < limit and i - last < PLAIN:
        if i + LANES + 1 > stop:
            n, i = pack_any(m, p, i, start, stop, n)
            continue
        high = range_mask(p, i, 0x80, 0xFF)
        plain = trailing_zeros(high)
        if plain >= ENOUGH:
            copy64(m.stream, n, p, i)
            count64(m.offsets, n, i - start)
            n += plain
            i += plain
            continue
        inner, three = range_mask(p, i, 0x80, 0xBF), range_mask(p, i, 0xE0, 0xEF)
        leads = range_mask(p, i, 0xC2, 0xDF) | three
        # Too short a form, or half of a pair of surrogates.
        odd = range_mask(p, i, 0xE0, 0xE0) & range_mask(p, i + 1, 0x80, 0x9F)
        odd |= range_mask(p, i, 0xED, 0xED) & range_mask(p, i + 1, 0xA0, 0xBF)
        if (inner ^ (leads << ONE | three << U64(2))) | (high ^ inner ^ leads) | odd != ZERO:
            n, i = pack_any(m, p, i, start, stop, n)
            continue
        # Up to where ASCII is worth copying again, or to the last characters, which may go on behind the mask.
        later = ~high & ~high >> ONE
        later &= later >> U64(2)
        later = (later & later >> U64(4)) | ~inner & ~WITHIN
        later &= ZERO - later
        starts = ~inner & (later - ONE)
        if three == ZERO:
            n = pack_small(m, p, i, start, starts, n)
        else:
            n = pack_large(m, p, i, start, starts, n)
        i += trailing_zeros(later)
        last = i
    m.offsets[n] = i - start
    return n, i


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
            ends[count] = m.offsets[(n - d) % GROUP]
            count += 1
        borders &= borders - ONE
    return count


@helper
def walk(m, p, start, i, stop, ends, count):
    """Write word ends from a word's end on, one character at a time, until there are some: (new count, at the end)."""
    row, kept, n, first = I64(0), I64(NONE), I64(0), count
    recent = m.offsets
    while i < stop:
        code, length = decode_at(p, i, stop)
        recent[n % GROUP] = i - start
        entry = single_at(m, m.classes[code if code >= 0 else INVALID_CLASS], row)
        count = tell(m, entry, n, kept, ends, count)
        if entry & TELLS != ZERO:
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
    i, ended = start, start == stop
    while not ended and (capacity - count >= LEAST or stop - i + LANES <= capacity - count):
        more = count
        if stop - i > SHORT:
            limit = min(stop, i + min(SPAN, capacity - count - LANES))
            plain = plain_length(p, i, limit)
            if plain >= SHORT or i + plain == stop:
                more, ended = split_stream(m, advance(p, i), plain, i + plain == stop, i - start, ends, count)
            else:
                n, last = pack(m, p, i, stop, limit)
                more, ended = split_stream(m, m.stream, n, last == stop, 0, ends, count)
                for k in range(count, more):
                    ends[k] = i - start + I64(m.offsets[ends[k]])
        if more == count and not ended:
            more, ended = walk(m, p, start, i, stop, ends, count)
        if more > count:
            i = start + I64(ends[more - 1])
        count = more
    return count


@inlined
def opened(frame):
    """The machine of a frame: classes, first, second, table, safe, stream, offsets, bits."""
    bits = pointer(frame[7])
    first, second = pointer(frame[1]), pointer(frame[2])
    return Machine(
        classes=pointer(frame[0]),
        first=first,
        second=second,
        table=pointer(frame[3]),
        count=I64(first[COUNT]),
        safe=pointer(frame[4]),
        stream=pointer(frame[5]),
        offsets=pointer(frame[6]),
        left=bits,
        right=advance(bits, SPAN // GROUP + 4),
    )


@kernel
def split_text(
    text: U8s, start: Int, stop: Int, frame: Parts[U8s, U32s, U32s, U64s, U8s, U8s, U32s, U64s], ends: U32s
) -> Int:
    """Write word ends of text[start:stop] relative to `start` and return how many; fewer than all where they are many.

    `frame` is made in `split/scanner.py`; `ends` has room for LEAST words or more. Same words as the machine's own
    definition, step by step, in the tests.
    """
    return scan(opened(frame), pointer(text), start, stop, pointer(ends), I64(0), len(ends))


@kernel
def split_texts(
    text: U8s,
    bounds: I64s,
    first: Int,
    frame: Parts[U8s, U32s, U32s, U64s, U8s, U8s, U32s, U64s],
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
        if count + (stop - start) + LANES > len(ends) or stop - b[first] > MOST_BYTES or i - first + 1 >= len(marks):
            break
        more = scan(m, p, start, stop, e, count, len(ends))
        for k in range(count, more):
            e[k] += start - b[first]
        count = more
        i += 1
        mark[i - first] = count
    return i


@helper
def class_before(m, p, i):
    """The class, plus 128, of the character that ends at p[i]."""
    start = i - 1
    while start > 0 and i - start < 4 and p[start] >> 6 == 2:
        start -= 1
    code, length = decode_at(p, start, i)
    return m.classes[code if code >= 0 and start + length == i else INVALID_CLASS]


@kernel
def last_cut(text: U8s, at: Int, tables: Parts[U8s, U32s, U32s, U64s, U8s]) -> Int:
    """The last place in text[:at], before a whole character, where cutting changes no word whatever follows; or 0."""
    p, first, second = pointer(text), pointer(tables[1]), pointer(tables[2])
    bits = pointer(tables[3])
    m = Machine(
        classes=pointer(tables[0]),
        first=first,
        second=second,
        table=bits,
        count=I64(first[COUNT]),
        safe=pointer(tables[4]),
        stream=p,
        offsets=second,
        left=bits,
        right=bits,
    )
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            if code >= 0 or i + 4 <= at:
                after = second[m.classes[code if code >= 0 else INVALID_CLASS]]
                if m.safe[I64(second[class_before(m, p, i)]) * m.count + I64(after)] != 0:
                    return i
        i -= 1
    return 0
