"""Strings of a map in 64 bytes of text at a time: which characters have to be looked at one by one.

Most characters begin no string and are not replaced. `classes` tells, of every code point.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    char_at,
    classify,
    deposit,
    helper,
    inlined,
    leading_zeros,
    popcount,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.normalize.characters import valid_starts, width
from subwords.kernels.split.pack import LANES, low_bits

# Classes of characters. A string of several characters begins with FIRST or BOTH, and has SECOND, BOTH or MAPPED_SECOND
# behind that; the last three kinds are looked at wherever they are.
PLAIN, FIRST, BOTH, SECOND, MAPPED_SECOND, MAPPED, SPACE = range(7)
# Fields of `settings`.
REMOVES, PREFIX, SUFFIX, WIDE, BEGINS, ENDS, JOINS_HIGH, JOINS_ASCII, RANGES, LONGEST = range(10)
# Fields of a value of the map: where its replacement stands and how long it is, how much of it are spaces at its begin,
# and whether it ends with one.
START, SIZE, LEAD, SPACED, FIELDS = range(5)
LEAF, FAR, VALUE, LABEL = U64(1 << 8), U64(1 << 9), U64((1 << 31) - 1), U64(1 << 31 | 0xFF)
ZERO, ONE = U64(0), U64(1)
NONE = -1


class Rules(NamedTuple):
    """Strings and what becomes of them."""

    classes: object  # uint8, of code points
    units: object  # uint32, a double array as the file has it; one unit where there is no map
    values: object  # int32, FIELDS for every value
    arena: object  # replacements
    users: object  # uint64, a double array of user-defined pieces, see pieces.py
    pieces: object  # int32, FIELDS for every user-defined piece
    settings: object
    ranges: object  # uint8: the ASCII bytes that are looked at, first and last of each range


class Target(NamedTuple):
    """Where the result goes, and scratch."""

    text: object
    source: object  # int64: where what a byte stands for begins
    tracked: bool
    room: int
    limit: int  # of what is read
    stream: object


@helper
def map_hit(r, p, i, stop, most):
    """The longest string of the map at p[i], of the `most` shortest: (its value or NONE, its length)."""
    unit, node, hits, value, length, k = U64(r.units[0]), U64(0), 0, I64(NONE), I64(0), i
    node ^= unit >> U64(10) << ((unit & FAR) >> U64(6))
    while k < stop and hits < most and p[k] != 0:
        node ^= U64(p[k])
        unit = U64(r.units[I64(node)])
        if unit & LABEL != U64(p[k]):
            break
        node ^= unit >> U64(10) << ((unit & FAR) >> U64(6))
        k += 1
        if unit & LEAF != ZERO:
            value, length = I64(U64(r.units[I64(node)]) & VALUE), k - i
            hits += 1
    return value, length


@inlined
def ascii_events(r, p, i, size, stop):
    """The bytes of ASCII that are looked at."""
    events = ZERO
    for k in range(r.settings[RANGES]):
        events |= range_mask(p, i, r.ranges[2 * k], r.ranges[2 * k + 1])
    if r.settings[JOINS_HIGH] != 0 and i + size < stop and p[i + size] >= 0x80:
        events |= ONE << U64(size - 1)
    return events & low_bits(size)


@helper
def char_events(r, w, p, i, starts, behind):
    """The first bytes of the characters that are looked at, all valid; `behind`: whether one may come second there."""
    q, n = w.stream, popcount(starts)
    if range_mask(p, i, 0xF0, 0xFF) & starts != ZERO:
        k, rest = I64(0), starts
        while rest != ZERO:
            q[k] = r.classes[char_at(p, i + trailing_zeros(rest))]
            rest &= rest - ONE
            k += 1
    else:
        classify(q, 0, r.classes, p, i, starts)
    seconds = range_mask(q, 0, BOTH, MAPPED_SECOND) >> ONE
    if behind:
        seconds |= ONE << U64(n - 1)
    else:
        seconds &= ~(ONE << U64(n - 1))
    found = range_mask(q, 0, MAPPED_SECOND, SPACE) | range_mask(q, 0, FIRST, BOTH) & seconds
    return deposit(found & low_bits(n), starts)


@helper
def events_at(r, w, p, i, size, stop):
    """The bytes of up to `size` from p[i] on that are looked at, and where these end; at i, if it cannot tell."""
    if i + 2 * LANES + 3 > w.limit:
        return ZERO, i
    if range_mask(p, i, 0x80, 0xFF) & low_bits(size) == ZERO:
        return ascii_events(r, p, i, size, stop), i + size
    starts = valid_starts(p, i, size)
    if starts == ZERO:
        return ZERO, i
    last = i + 63 - leading_zeros(starts)
    upto = last + width(p, last)
    behind = upto < stop and (p[upto] >= 0x80 or r.settings[JOINS_ASCII] != 0)
    return char_events(r, w, p, i, starts, behind), upto
