r"""Rules of language models as boundary algebra on 64-byte blocks: GPT-2; GPT-4, Llama 3 and Qwen; GPT-4o and Tekken.

Bit k of a mask is byte k of the block. No rule looks backward, so a scan can start at any word's end (S4).

Each rule has its own loop: with one loop, which calls a function of the rule for each block, the rule of GPT-4o takes
3 to 20 % longer on English.
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
    inlined,
    kernel,
    leading_zeros,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import I64s, U8s, U32s
from subwords.kernels.split.masks import (
    Classes,
    carried,
    classify_each,
    classify_high,
    contraction_length,
    is_space_at,
    low_bits,
    move_bit,
    scan_texts,
)
from subwords.kernels.text.utf8 import decode_at

LAST = U64(63)

# ---------------------------------------------------------------------------------------------------------------------
# GPT-2.
#
#   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#
# A word starts
# - where a run of letters, of digits or of other characters starts, unless an ASCII space precedes it (then the word
#   includes the space);
# - where a run of whitespace starts, and at the last character of such a run if the run has two or more characters and
#   something follows it: `\s+(?!\S)`;
# - after a contraction, whose apostrophe starts a run of others and is not preceded by a space.


@helper
def scan_gpt2(p, start, stop, classes, tail, ends, count, capacity):
    """Write the ends of the words of p[start:stop], relative to `start`; stop early when `ends` is nearly full."""
    was_letter, was_number, was_other, was_space, was_blank = ZERO, ZERO, ZERO, ZERO, ZERO
    moved_off, moved_on = ONE, ZERO  # starts that the previous block removes from this one or adds; 0 is not a word end
    rest, rest_class = I64(0), I64(0)
    i = start
    while i < stop and count + layout.LANES <= capacity:
        block, at = p, i
        if i + layout.LANES > stop:
            for k in range(layout.LANES):
                tail[k] = p[i + k] if i + k < stop else 32
            block, at = tail, 0
        space = range_mask(block, at, 32, 32)
        blanks = space | range_mask(block, at, 9, 13)
        letters = fold_mask(block, at, 97, 122)
        numbers = range_mask(block, at, 48, 57)
        high = range_mask(block, at, 128, 255)
        ascii_blanks, lone = blanks, ZERO
        if high != ZERO or rest > 0:
            letters, numbers, blanks, lone, _, rest, rest_class = classify_high(
                Classes(letters, numbers, blanks), p, i, block, at, stop, classes, high, rest, rest_class
            )
        others = ~(letters | numbers | blanks)

        after_space = space << ONE | was_space
        other_starts = others & ~(others << ONE | was_other) & ~after_space
        starts = letters & ~(letters << ONE | was_letter) | numbers & ~(numbers << ONE | was_number)
        starts = starts & ~after_space | other_starts
        after_blank = blanks << ONE | was_blank
        next_blank = blanks >> ONE
        if blanks >> LAST != ZERO and is_space_at(p, i + layout.LANES, stop, classes):
            next_blank |= ONE << LAST
        last_of_run = ascii_blanks & ~next_blank | lone
        starts |= blanks & ~after_blank | last_of_run & after_blank

        apostrophes = range_mask(block, at, 39, 39) & other_starts
        off, on = moved_off, moved_on
        moved_off, moved_on = ZERO, ZERO
        while apostrophes != ZERO:
            k = trailing_zeros(apostrophes)
            apostrophes &= apostrophes - ONE
            length = contraction_length(p, i + k, stop, 0)
            if length > 0:
                off, moved_off = move_bit(off, moved_off, k + 1)
                on, moved_on = move_bit(on, moved_on, k + length)
        starts = starts & ~off | on
        count = write_bits(ends, count, i - start, starts & low_bits(stop - i))

        was_letter, was_number, was_other = letters >> LAST, numbers >> LAST, others >> LAST
        was_space, was_blank = space >> LAST, blanks >> LAST
        i += layout.LANES
    if i >= stop and start < stop:
        ends[count] = stop - start
        count += 1
    return count


@kernel
def split_gpt2(text: U8s, start: Int, stop: Int, classes: U8s, tail: U8s, ends: U32s) -> Int:
    """Write word ends of text[start:stop] relative to `start`; their number.

    The text is done if the last one is its end. `tail` is scratch of LANES bytes; `ends` has room for LANES + 1 words
    or more. Same words as `reference.bpe.split_bytes`.
    """
    return scan_gpt2(pointer(text), start, stop, pointer(classes), pointer(tail), pointer(ends), 0, len(ends) - 1)


@kernel
def split_gpt2_many(text: U8s, bounds: I64s, first: Int, classes: U8s, tail: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Write the word ends of whole texts, text[bounds[i]:bounds[i + 1]] from i = first on, relative to bounds[first].

    Returns the index of the first text without room. text_ends[i - first + 1] is the number of words up to the
    end of text i.
    """
    return scan_texts(scan_gpt2, text, bounds, first, classes, tail, ends, text_ends)


# ---------------------------------------------------------------------------------------------------------------------
# GPT-4, Llama 3 and Qwen.
#
#   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
#
# A *gap* is whitespace but CR and LF, which are newlines. A word starts
# - where a run of letters starts, unless a gap precedes it, or a run of one other character that starts a word (then
#   the word includes that character);
# - where a run of numbers starts, and after every `group` of them;
# - where a run of others starts, unless an ASCII space precedes it (then the word includes the space). Newlines after
#   the run belong to its word;
# - where a run of whitespace starts; after its last newline; and at its last character, if that is a gap and something
#   follows it: `\s+(?!\S)`. With `whole`, `\s++$` comes first: whitespace at the end of a text is one word;
# - after a contraction, whose apostrophe starts a word.

OTHER_ENDS, NEWLINE_ENDS, TEXT_ENDS = 0, 1, 2  # what comes after a gap


@helper
def end_of_gap(p, i, stop, classes):
    """Which character ends the gap that begins at i: NEWLINE_ENDS, OTHER_ENDS, or TEXT_ENDS for none."""
    while i + layout.LANES <= stop:  # mostly indentation
        spaces = trailing_zeros(~range_mask(p, i, 32, 32))
        i += spaces
        if spaces < layout.LANES:
            break
    while i < stop:
        if p[i] == 10 or p[i] == 13:
            return NEWLINE_ENDS
        length = 1
        if p[i] >= 0x80:
            code, length = decode_at(p, i, stop)
            if code < 0 or classes[code] != layout.SPACE:
                return OTHER_ENDS
        elif p[i] != 32 and (p[i] < 9 or p[i] > 13):
            return OTHER_ENDS
        i += length
    return TEXT_ENDS


@helper
def gap_starts(p, after, stop, classes, gaps, newlines, after_newline, whole):
    """Where gaps start after the last newline of their run of whitespace, and a word with them.

    after: the first character after the block.
    """
    candidates = gaps & after_newline
    total = gaps + candidates
    if total >= gaps and total & ~gaps & newlines == ZERO:  # each run ends in this block, and not at a newline
        return candidates
    found = ZERO
    while candidates != ZERO:
        k = U64(trailing_zeros(candidates))
        candidates &= candidates - ONE
        end = I64(k) + trailing_zeros(~(gaps >> k))
        if end < layout.LANES:
            last = newlines >> U64(end) & ONE == ZERO
        else:
            what = end_of_gap(p, after, stop, classes)
            last = what == OTHER_ENDS or (what == TEXT_ENDS and whole == 0)
        if last:
            found |= ONE << k
    return found


@helper
def counted_starts(numbers, run_starts, inner, phase, group):
    """`number_starts` by counting characters: for those of several bytes."""
    found, rest = ZERO, numbers & ~inner
    while rest != ZERO:
        bit = rest & (ZERO - rest)
        rest ^= bit
        if run_starts & bit != ZERO or phase == group:
            phase = 0
        if phase == 0:
            found |= bit
        phase += 1
    return found, I64(phase)


@helper
def number_starts(numbers, run_starts, inner, phase, group):
    """Where the groups of numbers start, and the number of characters in the last group so far."""
    if group == 1:
        return numbers & ~inner, I64(0)
    if group != 3 or numbers & inner != ZERO:
        return counted_starts(numbers, run_starts, inner, phase, group)
    found = run_starts
    if numbers & ~run_starts & ONE != ZERO:  # the run continues from the previous block
        first = ONE << U64(3 - phase)
        if ~numbers & (first | first - ONE) == ZERO:
            found |= first
    fourth = numbers & numbers << ONE
    fourth &= fourth << U64(2)
    more = found << U64(3) & fourth
    while more != ZERO:
        found |= more
        more = more << U64(3) & fourth
    return found, I64(leading_zeros(found)) + 1  # of use if a number is the last byte


@inlined
def after_character(first, inner, pending):
    """Where the characters that begin at the bits of `first` end: (mask, whether the last one ends with the block).

    `pending`: 1 if the character before this block, or the one that continues in it, is one of them.
    """
    bytes_, carried = first | inner, first | pending
    total = bytes_ + carried
    return total & ~inner, U64(total < bytes_)


@helper
def scan_cl100k(p, start, stop, classes, tail, ends, count, capacity):
    """Write the ends of the words of p[start:stop], relative to `start`; stop early when `ends` is nearly full.

    classes: by code point, and then `group` and `whole`.
    """
    group, whole = I64(classes[layout.CODE_POINTS]), I64(classes[layout.CODE_POINTS + 1])
    was_letter, was_number, was_other, was_space, was_blank = ZERO, ZERO, ZERO, ZERO, ZERO
    was_gap, was_newline, pending, joining, phase = ZERO, ZERO, ZERO, ZERO, I64(0)
    moved_on = ZERO  # starts that the previous block adds to this one
    off = ONE  # the start of the text is not a word end
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
        letters = fold_mask(block, at, 97, 122)
        numbers = range_mask(block, at, 48, 57)
        high = range_mask(block, at, 128, 255)
        ascii_blanks, lone, inner = blanks, ZERO, ZERO
        if high != ZERO or rest > 0:
            letters, numbers, blanks, lone, inner, rest, rest_class = classify_high(
                Classes(letters, numbers, blanks), p, i, block, at, stop, classes, high, rest, rest_class
            )
        others, gaps = ~(letters | numbers | blanks), blanks & ~newlines
        after_other = others << ONE | was_other
        on, moved_on = moved_on, ZERO

        # Others, newlines after them, and contractions.
        starts = others & ~after_other & ~(space << ONE | was_space)
        nexts, pending = after_character(starts, inner, pending)
        apostrophes = range_mask(block, at, 39, 39) & starts
        while apostrophes != ZERO:
            k = trailing_zeros(apostrophes)
            apostrophes &= apostrophes - ONE
            length = contraction_length(p, i + k, stop, 32)
            if length > 0:
                on, moved_on = move_bit(on, moved_on, k + length)
        joined, joined_ends, joining = carried(newlines, newlines & after_other, joining)
        off |= joined
        on |= gaps & joined_ends

        # Whitespace, letters and numbers.
        after_newline = newlines << ONE | was_newline
        on |= gap_starts(p, i + layout.LANES + rest, stop, classes, gaps, newlines, after_newline, whole)
        next_blank = blanks >> ONE
        if blanks >> LAST != ZERO and is_space_at(p, i + layout.LANES, stop, classes):
            next_blank |= ONE << LAST
        starts |= blanks & ~(blanks << ONE | was_blank) | (ascii_blanks & ~next_blank & ~newlines) | lone
        starts |= letters & ~(letters << ONE | was_letter) & ~(gaps << ONE | was_gap) & ~nexts
        found_numbers, phase = number_starts(numbers, numbers & ~(numbers << ONE | was_number), inner, phase, group)
        starts = (starts | found_numbers) & ~off | on
        off = ZERO
        count = write_bits(ends, count, i - start, starts & low_bits(stop - i))

        was_letter, was_number, was_other = letters >> LAST, numbers >> LAST, others >> LAST
        was_space, was_blank, was_gap, was_newline = space >> LAST, blanks >> LAST, gaps >> LAST, newlines >> LAST
        i += layout.LANES
    if i >= stop and start < stop:
        ends[count] = stop - start
        count += 1
    return count


@kernel
def split_cl100k(text: U8s, start: Int, stop: Int, classes: U8s, tail: U8s, ends: U32s) -> Int:
    """Write word ends of text[start:stop] as `split_gpt2` does. Same words as the machine of the rule."""
    return scan_cl100k(pointer(text), start, stop, pointer(classes), pointer(tail), pointer(ends), 0, len(ends) - 1)


@kernel
def split_cl100k_many(text: U8s, bounds: I64s, first: Int, classes: U8s, tail: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Write the word ends of whole texts; see `split_gpt2_many`."""
    return scan_texts(scan_cl100k, text, bounds, first, classes, tail, ends, text_ends)


# ---------------------------------------------------------------------------------------------------------------------
# GPT-4o and Mistral's Tekken.
#
#   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
#   |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
#   |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
#
# Words start as for GPT-4, with three differences:
# - a word starts at an upper-case letter after a lower-case one;
# - a contraction belongs to the letters before it, and a word starts after it. The apostrophe after a contraction
#   begins no other one;
# - newlines and slashes after a run of others belong to its word, from the first newline on (slashes before it are in
#   the run). Whatever follows them starts a word, even in the middle of a run of others.
#
# A mark (`\p{M}`) is a letter without case, as `\p{Lm}` and `\p{Lo}` are. But after others that are not a prefix of a
# word of letters, because a space comes before them or they are two or more, it is one of the others.
#
# One place needs more than the characters around it, and a scan stops before its block: an upper-case letter after a
# letter without case. Whether a word starts there depends on the rest of the run of letters.


class Cased(NamedTuple):
    """As `masks.Classes`, with the kinds of letters."""

    letters: object
    uppers: object
    caseless: object  # letters without case, and marks
    marks: object
    numbers: object
    spaces: object


@inlined
def add_classes(found, member, bits):
    """Put `bits` into the masks of their class."""
    letters, uppers, caseless, marks, numbers, spaces = found
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
    return Cased(letters, uppers, caseless, marks, numbers, spaces)


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
            found = Cased(letters, uppers, ZERO, ZERO, numbers, blanks)
            found, lone, inner, rest, rest_class = classify_each(
                add_classes, found, p, i, stop, classes, high, rest, rest_class
            )
            letters, uppers, caseless, marks, numbers, blanks = found
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
    """Write word ends of text[start:stop] as `split_gpt2` does.

    Same words as the machine of the rule; none from a place on that needs more.
    """
    return scan_o200k(pointer(text), start, stop, pointer(classes), pointer(tail), pointer(ends), 0, len(ends) - 1)


@kernel
def split_o200k_many(text: U8s, bounds: I64s, first: Int, classes: U8s, tail: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Write the word ends of whole texts, up to one with a place that needs more; see `split_gpt2_many`."""
    return scan_texts(scan_o200k, text, bounds, first, classes, tail, ends, text_ends)
