"""Masks of the classes of 64 bytes, which splitters by boundary algebra share. Bit k is byte k of a block."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, helper, inlined, pointer, range_mask, trailing_zeros
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
    return code >= 0 and classes[code] == layout.SPACE


@helper
def add_class(found, member, bits):
    """Put `bits` into the mask of their class."""
    letters, numbers, spaces, lone, inner, rest, rest_class = found
    if member == layout.LETTER:
        letters |= bits
    elif member == layout.NUMBER:
        numbers |= bits
    elif member == layout.SPACE:
        spaces |= bits
    return Classes(letters, numbers, spaces, lone, inner, rest, rest_class)


@inlined
def one_of(block, at, lo, hi, after):
    """The bytes `after` places before one from lo to hi."""
    return range_mask(block, at, lo, hi) >> U64(after)


@helper
def usual_characters(block, at):
    """The bytes of frequent characters within a block: (letters, others, those of both but first ones).

    Letters: U+00C0 to U+02BF but two signs, U+0400 to U+047F, U+1E00 to U+1EFF (Latin and Cyrillic), and those of the
    Arabic and Devanagari blocks, whose marks are others. Only whole characters: invalid UTF-8 never counts as
    one. `tests/test_masks_equal_reference.py` has the list.
    """
    following = one_of(block, at, 0x80, 0xBF, 1)
    lead = range_mask(block, at, 0xC3, 0xC3)
    signs = lead & (one_of(block, at, 0x97, 0x97, 1) | one_of(block, at, 0xB7, 0xB7, 1))
    two = (lead | range_mask(block, at, 0xC4, 0xCA) | range_mask(block, at, 0xD0, 0xD1)) & following & ~signs
    three = range_mask(block, at, 0xE1, 0xE1) & one_of(block, at, 0xB8, 0xBB, 1) & following >> ONE
    if range_mask(block, at, 0xD8, 0xDB) != ZERO:
        two |= range_mask(block, at, 0xD8, 0xD8) & one_of(block, at, 0xA0, 0xBF, 1)
        two |= range_mask(block, at, 0xD9, 0xD9) & (one_of(block, at, 0x80, 0x8A, 1) | one_of(block, at, 0xB1, 0xBF, 1))
        two |= range_mask(block, at, 0xDA, 0xDA) & following
        two |= range_mask(block, at, 0xDB, 0xDB) & one_of(block, at, 0x80, 0x93, 1)
    marks = ZERO
    lead = range_mask(block, at, 0xE0, 0xE0)
    if lead != ZERO:
        first, second = lead & one_of(block, at, 0xA4, 0xA4, 1), lead & one_of(block, at, 0xA5, 0xA5, 1)
        three |= first & one_of(block, at, 0x84, 0xB9, 2)
        three |= second & one_of(block, at, 0x98, 0xA1, 2)
        marks = first & one_of(block, at, 0xBE, 0xBF, 2) | first & one_of(block, at, 0x80, 0x83, 2)
        marks |= second & one_of(block, at, 0x80, 0x8F, 2)
    letters = two | two << ONE | three | three << ONE | three << U64(2)
    inner = (two | three | marks) << ONE | (three | marks) << U64(2)
    return letters, marks | marks << ONE | marks << U64(2), inner


@helper
def classify_high(p, i, block, at, stop, classes, high, found):
    """Add the non-ASCII characters of a block to its masks: usual ones at once, others one at a time."""
    carried = low_bits(found.rest)
    found = add_class(found, found.rest_class, carried)
    usual, others, inner = usual_characters(block, at)
    found = add_class(found, layout.LETTER, usual)
    lone, inner = ZERO, inner | carried
    high &= ~(carried | usual | others)
    rest, rest_class = 0, 0
    while high != ZERO:
        k = trailing_zeros(high)
        code, length = decode_at(p, i + k, stop)
        member = 0
        if code >= 0:
            member = I64(classes[code])
        bits = low_bits(length) << U64(k)
        found = add_class(found, member, bits)
        if member == layout.SPACE and not is_space_at(p, i + k + length, stop, classes):
            lone |= ONE << U64(k)
        inner |= bits & (bits - ONE)
        if k + length > layout.LANES:
            rest, rest_class = k + length - layout.LANES, member
        high &= ~bits
    return Classes(found.letters, found.numbers, found.spaces, lone, inner, rest, rest_class)


@helper
def move_bit(now, later, k):
    """Set bit k of this block's mask, or of the next one's."""
    if k < layout.LANES:
        return now | ONE << U64(k), later
    return now, later | ONE << U64(k - layout.LANES)


@inlined
def carried(runs, begins, joining):
    """The ends of runs from some of their bits on: (the bits from there on, those after them, whether one continues).

    joining: 1 if the last run of the previous block continues; returned for this block. A sum carries each of `begins`
    to the end of its run.
    """
    once = runs + begins
    total = once + joining
    return runs & ~total | begins, total & ~runs, U64(once < runs) | U64(total < once)


@helper
def contraction_length(p, i, stop, fold):
    """The length of the contraction whose apostrophe is at i, or 0.

    fold: 0 for small letters only; 32 for letters of both cases, where the long s (U+017F) is an s.
    """
    if i + 1 >= stop:
        return 0
    first = p[i + 1] | fold
    if first == 115 or first == 116 or first == 109 or first == 100:  # s t m d
        return 2
    if i + 2 >= stop:
        return 0
    if fold != 0 and p[i + 1] == 0xC5 and p[i + 2] == 0xBF:
        return 3
    second = p[i + 2] | fold
    if (first == 114 or first == 118) and second == 101:  # re ve
        return 3
    return 3 if first == 108 and second == 108 else 0  # ll


@helper
def scan_texts(scan, text, bounds, first, classes, tail, ends, text_ends):
    """Write the word ends of whole texts by the `scan` of a rule; see `split_gpt2_many`."""
    p, b, c, t = pointer(text), pointer(bounds), pointer(classes), pointer(tail)
    e, m = pointer(ends), pointer(text_ends)
    count, i = 0, first
    m[0] = 0
    while i + 1 < len(bounds):
        start, stop = b[i], b[i + 1]
        if (
            count + (stop - start) + layout.LANES > len(ends)
            or stop - b[first] > layout.MOST_BYTES
            or i - first + 1 >= len(text_ends)
        ):
            break
        more = scan(p, start, stop, c, t, e, count, len(ends))
        for k in range(count, more if i > first else count):  # the first text begins there: nothing to add
            e[k] += start - b[first]
        count = more
        i += 1
        m[i - first] = count
    return i
