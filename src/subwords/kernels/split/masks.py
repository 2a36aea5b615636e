"""Masks of the classes of 64 bytes, which splitters by boundary algebra share. Bit k is byte k of a block."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import I64, U64, helper, inlined, trailing_zeros
from subwords.kernels.layout import LANES, LETTER, NUMBER, SPACE
from subwords.kernels.split.pack import low_bits
from subwords.kernels.text.utf8 import decode_at

ZERO, ONE = U64(0), U64(1)


class Classes(NamedTuple):
    """Class masks of one block, and the part of its last character that is in the next block."""

    letters: object
    numbers: object
    spaces: object
    lone: object  # starts of non-ASCII whitespace characters that end their run
    inner: object  # bytes of characters but their first ones
    rest: object  # bytes of the next block that belong to this one's last character
    rest_class: object


@helper
def is_space_at(p, i, stop, classes):
    """Whether whitespace or the end of the text is at i: the negation of \\S there."""
    if i >= stop:
        return True
    if p[i] < 0x80:
        return p[i] == 32 or 9 <= p[i] <= 13
    code, _ = decode_at(p, i, stop)
    return code >= 0 and classes[code] == SPACE


@helper
def add_class(found, member, bits):
    """Put `bits` into the mask of their class."""
    letters, numbers, spaces, lone, inner, rest, rest_class = found
    if member == LETTER:
        letters |= bits
    elif member == NUMBER:
        numbers |= bits
    elif member == SPACE:
        spaces |= bits
    return Classes(letters, numbers, spaces, lone, inner, rest, rest_class)


@helper
def classify_high(p, i, stop, classes, high, found):
    """Add the non-ASCII characters of a block to its masks, one character at a time."""
    carried = low_bits(found.rest)
    found = add_class(found, found.rest_class, carried)
    lone, inner = ZERO, carried
    high &= ~carried
    rest, rest_class = 0, 0
    while high != ZERO:
        k = trailing_zeros(high)
        code, length = decode_at(p, i + k, stop)
        member = 0
        if code >= 0:
            member = I64(classes[code])
        bits = low_bits(length) << U64(k)
        found = add_class(found, member, bits)
        if member == SPACE and not is_space_at(p, i + k + length, stop, classes):
            lone |= ONE << U64(k)
        inner |= bits & (bits - ONE)
        if k + length > LANES:
            rest, rest_class = k + length - LANES, member
        high &= ~bits
    return Classes(found.letters, found.numbers, found.spaces, lone, inner, rest, rest_class)


@helper
def move_bit(now, later, k):
    """Set bit k of this block's mask, or of the next one's."""
    if k < LANES:
        return now | ONE << U64(k), later
    return now, later | ONE << U64(k - LANES)


@inlined
def carried(runs, begins, joining):
    """The ends of runs from some of their bits on: (the bits from there on, the bits after them, whether one goes on).

    joining: 1 if the last run of the block before goes on; returned for this block. A sum carries each of `begins` to
    the end of its run.
    """
    once = runs + begins
    total = once + joining
    return runs & ~total | begins, total & ~runs, U64(once < runs) | U64(total < once)
