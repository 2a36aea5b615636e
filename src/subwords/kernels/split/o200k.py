r"""The rules of GPT-4o and Mistral's Tekken as boundary algebra on 64-byte blocks.

    [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+

Words start as in `cl100k.py`, with three differences:
- a word starts at an upper-case letter after a lower-case one;
- a contraction belongs to the letters before it, and a word starts after it. The apostrophe after a contraction begins
  no other one;
- newlines and slashes after a run of others belong to its word, from the first newline on (slashes before it are in the
  run). Whatever follows them starts a word, even in the middle of a run of others.

A mark (`\p{M}`) is a letter without case, as `\p{Lm}` and `\p{Lo}` are. But after others that are not a prefix of a
word of letters, because a space comes before them or they are two or more, it is one of the others.

One place needs more than the characters around it, and a scan stops before its block: an upper-case letter after a
letter without case. Whether a word starts there depends on the rest of the run of letters.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.arithmetic import write_bits
from subwords.kernels.jit import (
    I64,
    ONE,
    U64,
    ZERO,
    Int,
    fold_mask,
    helper,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import U8s, U32s
from subwords.kernels.split.cl100k import after_character, gap_starts, number_starts
from subwords.kernels.split.masks import carried, contraction_length, is_space_at, low_bits, move_bit
from subwords.kernels.text.utf8 import decode_at

LAST = U64(63)


class Cased(NamedTuple):
    """As `masks.Classes`, with the kinds of letters."""

    letters: object
    uppers: object
    caseless: object  # letters without case, and marks
    marks: object
    numbers: object
    spaces: object
    lone: object
    inner: object
    rest: object
    rest_class: object


@helper
def add_classes(found, member, bits):
    """Put `bits` into the masks of their class."""
    letters, uppers, caseless, marks, numbers, spaces, lone, inner, rest, rest_class = found
    if member == layout.SPACE:
        spaces |= bits
    elif member == layout.NUMBER:
        numbers |= bits
    else:  # without branches: case changes often
        member = U64(member)
        letters |= bits & (ZERO - (member & ONE))
        uppers |= bits & (ZERO - (member >> U64(layout.UPPER_BIT) & ONE))
        caseless |= bits & (ZERO - (member >> U64(layout.CASELESS_BIT) & ONE))
        marks |= bits & (ZERO - (member >> U64(layout.MARK_BIT) & ONE))
    return Cased(letters, uppers, caseless, marks, numbers, spaces, lone, inner, rest, rest_class)


@helper
def classify_each(p, i, stop, classes, high, found):
    """Add the non-ASCII characters of a block to its masks, one character at a time."""
    carried = low_bits(found.rest)
    found = add_classes(found, found.rest_class, carried)
    lone, inner = ZERO, carried
    high &= ~carried
    rest, rest_class = I64(0), I64(0)
    while high != ZERO:
        k = trailing_zeros(high)
        code, length = decode_at(p, i + k, stop)
        member = I64(0)
        if code >= 0:
            member = I64(classes[code])
        bits = low_bits(length) << U64(k)
        found = add_classes(found, member, bits)
        if member == layout.SPACE and not is_space_at(p, i + k + length, stop, classes):
            lone |= ONE << U64(k)
        inner |= bits & (bits - ONE)
        if k + length > layout.LANES:
            rest, rest_class = I64(k + length - layout.LANES), member
        high &= ~bits
    letters, uppers, caseless, marks, numbers, spaces, _, _, _, _ = found
    return Cased(letters, uppers, caseless, marks, numbers, spaces, lone, inner, rest, rest_class)


@helper
def suffixes(p, i, stop, apostrophes, on):
    """Contractions at apostrophes after letters: their bytes, and where words start after them.

    on: the contraction of the block before ends there. Returns the masks of this block and those of the next one.
    """
    off, off_later, later = ZERO, ZERO, ZERO
    while apostrophes != ZERO:
        k = trailing_zeros(apostrophes)
        apostrophes &= apostrophes - ONE
        length = contraction_length(p, i + k, stop, 32)
        if length > 0 and on >> U64(k) & ONE == ZERO:
            bits = low_bits(length)
            off |= bits << U64(k)
            if k + length > layout.LANES:
                off_later |= bits >> U64(layout.LANES - k)
            on, later = move_bit(on, later, k + length)
    return off, on, off_later, later


@helper
def marks_of_others(marks, others, was_other, after_space, newlines, runs, joining, inner, pending):
    """The marks that are others, because they follow others that are not a prefix of a word of letters."""
    found = ZERO
    while True:  # from left to right: each may change what comes after it
        after_other = others << ONE | was_other
        joined, joined_ends, _ = carried(runs, newlines & after_other, joining)
        starts = others & (~after_other & ~after_space & ~joined | joined_ends)
        nexts, _ = after_character(starts, inner, pending)
        more = marks & ~found & after_other & ~nexts & ~joined_ends
        if more == ZERO:
            return found
        more, _, _ = carried(marks, more & (ZERO - more), ZERO)
        found |= more
        others |= more


@helper
def scan_o200k(p, start, stop, classes, tail, ends, count, capacity):
    """Write the ends of the words of p[start:stop], relative to `start`; stop early when `ends` is nearly full.

    Also stops before a block with a place that needs more. classes: by code point, and then the size of groups of
    numbers, and whether there are contractions.
    """
    group, contracts = I64(classes[layout.CODE_POINTS]), classes[layout.CODE_POINTS + 1] != 0
    was_letter, was_lower, was_caseless, was_number = ZERO, ZERO, ZERO, ZERO
    was_other, was_space, was_blank, was_gap, was_newline = ZERO, ZERO, ZERO, ZERO, ZERO
    pending, joining, phase = ZERO, ZERO, I64(0)
    off, on = ONE, ZERO  # starts that the previous block removes from this one or adds; 0 is not a word end
    rest, rest_class = I64(0), I64(0)
    i = start
    while i < stop and count + layout.LANES <= capacity:
        block, at = p, i
        if i + layout.LANES > stop:
            for k in range(layout.LANES):
                tail[k] = p[i + k] if i + k < stop else 32
            block, at = tail, 0
        space = range_mask(block, at, 32, 32)
        newlines = range_mask(block, at, 10, 10) | range_mask(block, at, 13, 13)
        blanks = space | range_mask(block, at, 9, 13)
        letters, uppers = fold_mask(block, at, 97, 122), range_mask(block, at, 65, 90)
        numbers = range_mask(block, at, 48, 57)
        high = range_mask(block, at, 128, 255)
        ascii_blanks, caseless, marks, lone, inner = blanks, ZERO, ZERO, ZERO, ZERO
        if high != ZERO or rest > 0:
            found = Cased(letters, uppers, ZERO, ZERO, numbers, blanks, ZERO, ZERO, rest, rest_class)
            found = classify_each(p, i, stop, classes, high, found)
            letters, uppers, caseless, marks, numbers, blanks, lone, inner, rest, rest_class = found
        others, gaps = ~(letters | numbers | blanks), blanks & ~newlines
        after_other = others << ONE | was_other
        after_space, runs = space << ONE | was_space, newlines | range_mask(block, at, 47, 47)
        if marks & after_other != ZERO:
            turned = marks_of_others(marks, others, was_other, after_space, newlines, runs, joining, inner, pending)
            letters, caseless, others = letters & ~turned, caseless & ~turned, others | turned
            after_other = others << ONE | was_other
            if rest > 0 and turned >> LAST != ZERO:
                rest_class = I64(0)
        if uppers & (caseless << ONE | was_caseless) != ZERO:
            return count
        after_letter = letters << ONE | was_letter

        # Contractions, others, and newlines after them.
        off_later, later = ZERO, ZERO
        apostrophes = range_mask(block, at, 39, 39) & after_letter
        if contracts and apostrophes != ZERO:
            more_off, on, off_later, later = suffixes(p, i, stop, apostrophes, on)
            off |= more_off
        joined, joined_ends, joining = carried(runs, newlines & after_other, joining)
        off |= joined
        on |= joined_ends
        starts = others & (~after_other & ~after_space & ~joined | joined_ends)
        nexts, pending = after_character(starts, inner, pending)

        # Whitespace, letters and numbers.
        after_newline = newlines << ONE | was_newline
        on |= gap_starts(p, i + layout.LANES + rest, stop, classes, gaps, newlines, after_newline, 0)
        next_blank = blanks >> ONE
        if blanks >> LAST != ZERO and is_space_at(p, i + layout.LANES, stop, classes):
            next_blank |= ONE << LAST
        starts |= blanks & ~(blanks << ONE | was_blank) | (ascii_blanks & ~next_blank & ~newlines) | lone
        starts |= letters & ~after_letter & ~(gaps << ONE | was_gap) & ~nexts
        lowers = letters & ~uppers
        starts |= uppers & (lowers << ONE | was_lower)
        found_numbers, phase = number_starts(numbers, numbers & ~(numbers << ONE | was_number), inner, phase, group)
        starts = (starts | found_numbers) & ~off | on
        count = write_bits(ends, count, i - start, starts & low_bits(stop - i))

        off, on = off_later, later
        was_letter, was_lower, was_caseless = letters >> LAST, lowers >> LAST, caseless >> LAST
        was_number, was_other, was_space = numbers >> LAST, others >> LAST, space >> LAST
        was_blank, was_gap, was_newline = blanks >> LAST, gaps >> LAST, newlines >> LAST
        i += layout.LANES
    if i >= stop and start < stop:
        ends[count] = stop - start
        count += 1
    return count


@kernel
def split_o200k(text: U8s, start: Int, stop: Int, classes: U8s, tail: U8s, ends: U32s) -> Int:
    """Write word ends of text[start:stop] relative to `start`; their number.

    The text is done if the last one is its end. `tail` is scratch of LANES bytes; `ends` has room for LANES + 1 words
    or more. Same words as the machine of the rule; none from a place on that needs more.
    """
    return scan_o200k(pointer(text), start, stop, pointer(classes), pointer(tail), pointer(ends), 0, len(ends) - 1)
