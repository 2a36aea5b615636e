"""Blocks of 64 bytes of text: which characters need a look, because a string of the map may begin there.

`classes` has it for every code point. A character of class CHARACTER.plain is copied. One of class CHARACTER.first or
CHARACTER.both needs a look if the next one may come second (CHARACTER.second, CHARACTER.both or
CHARACTER.mapped_second); one of a higher class than CHARACTER.second always needs one.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import (
    I64,
    U64,
    char_at,
    deposit,
    helper,
    inlined,
    leading_zeros,
    pointer,
    popcount,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.normalize.characters import valid_starts, width
from subwords.kernels.packing import classify
from subwords.kernels.split.pack import low_bits

LEAF, FAR_UNIT, VALUE, LABEL = U64(1 << 8), U64(1 << 9), U64((1 << 31) - 1), U64(1 << 31 | 0xFF)
ZERO, ONE = U64(0), U64(1)
NONE = -1


class Opened(NamedTuple):
    """The pointers of `Rules`."""

    classes: object
    units: object
    values: object
    arena: object
    users: object
    pieces: object
    settings: object
    ranges: object
    kinds: object


class Target(NamedTuple):
    """The output, and scratch."""

    text: object
    source: object  # int64: where the characters that a byte stands for begin
    tracked: bool  # whether `source` is written
    room: int  # bytes of text
    limit: int  # bytes of the input that may be read
    stream: object


@inlined
def opened_rules(rules):
    """The pointers of rules."""
    return Opened(
        classes=pointer(rules.classes),
        units=pointer(rules.units),
        values=pointer(rules.values),
        arena=pointer(rules.arena),
        users=pointer(rules.users),
        pieces=pointer(rules.pieces),
        settings=pointer(rules.settings),
        ranges=pointer(rules.ranges),
        kinds=pointer(rules.kinds),
    )


@inlined
def opened_target(text, stream, out):
    """The pointers and limits of the output."""
    return Target(
        text=pointer(out.text),
        source=pointer(out.source),
        tracked=len(out.source) > 0,
        room=len(out.text),
        limit=len(text),
        stream=pointer(stream),
    )


@helper
def map_hit(r, p, i, stop, most):
    """The longest string of the map at p[i] among the `most` shortest: (its value or NONE, its length)."""
    unit, node, hits, value, length, k = U64(r.units[0]), U64(0), 0, I64(NONE), I64(0), i
    node ^= unit >> U64(10) << ((unit & FAR_UNIT) >> U64(6))
    while k < stop and hits < most and p[k] != 0:
        node ^= U64(p[k])
        unit = U64(r.units[I64(node)])
        if unit & LABEL != U64(p[k]):
            break
        node ^= unit >> U64(10) << ((unit & FAR_UNIT) >> U64(6))
        k += 1
        if unit & LEAF != ZERO:
            value, length = I64(U64(r.units[I64(node)]) & VALUE), k - i
            hits += 1
    return value, length


@inlined
def ascii_events(r, p, i, size, stop):
    """The ASCII bytes that need a look."""
    events = ZERO
    for k in range(r.settings[layout.RULE.ranges]):
        events |= range_mask(p, i, r.ranges[2 * k], r.ranges[2 * k + 1])
    if r.settings[layout.RULE.joins_high] != 0 and i + size < stop and p[i + size] >= 0x80:
        events |= ONE << U64(size - 1)
    return events & low_bits(size)


@helper
def char_events(r, w, p, i, starts, after):
    """The first bytes of the valid characters that need a look; `after`: whether what follows may come second."""
    q, n = w.stream, popcount(starts)
    if range_mask(p, i, 0xF0, 0xFF) & starts != ZERO:
        k, rest = I64(0), starts
        while rest != ZERO:
            q[k] = r.classes[char_at(p, i + trailing_zeros(rest))]
            rest &= rest - ONE
            k += 1
    else:
        classify(q, 0, r.classes, p, i, starts)
    seconds = range_mask(q, 0, layout.CHARACTER.both, layout.CHARACTER.mapped_second) >> ONE
    if after:
        seconds |= ONE << U64(n - 1)
    else:
        seconds &= ~(ONE << U64(n - 1))
    found = (
        range_mask(q, 0, layout.CHARACTER.mapped_second, layout.CHARACTER.mapped_space)
        | range_mask(q, 0, layout.CHARACTER.first, layout.CHARACTER.both) & seconds
    )
    return deposit(found & low_bits(n), starts)


@helper
def events_at(r, w, p, i, size, stop):
    """The bytes of p[i : i + size] that need a look, and where the block ends; (0, i) near the end of the input."""
    if i + 2 * layout.LANES + 3 > w.limit:
        return ZERO, i
    if range_mask(p, i, 0x80, 0xFF) & low_bits(size) == ZERO:
        return ascii_events(r, p, i, size, stop), i + size
    starts = valid_starts(p, i, size)
    if starts == ZERO:
        return ZERO, i
    last = i + 63 - leading_zeros(starts)
    upto = last + width(p, last)
    after = upto < stop and (p[upto] >= 0x80 or r.settings[layout.RULE.joins_ascii] != 0)
    return char_events(r, w, p, i, starts, after), upto
