r"""The rules of GPT-4, Llama 3 and Qwen as boundary algebra on 64-byte blocks.

    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+

Bit k of a mask is byte k of the block. A *gap* is whitespace but CR and LF, which are newlines. A word starts
- where a run of letters starts, unless a gap precedes it, or a run of one other character that starts a word (then the
  word includes that character);
- where a run of numbers starts, and after every `group` of them;
- where a run of others starts, unless an ASCII space precedes it (then the word includes the space). Newlines after the
  run belong to its word;
- where a run of whitespace starts; after its last newline; and at its last character, if that is a gap and something
  follows it: `\s+(?!\S)`. With `whole`, `\s++$` comes first: whitespace at the end of a text is one word;
- after a contraction, whose apostrophe starts a word.
No rule looks backward, so a scan can start at any word's end (S4).
"""

from __future__ import annotations

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
    classify_high,
    contraction_length,
    is_space_at,
    low_bits,
    move_bit,
    scan_texts,
)
from subwords.kernels.text.utf8 import decode_at

LAST = U64(63)
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
    rest, rest_class = 0, 0
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
            found = Classes(letters, numbers, blanks, ZERO, ZERO, rest, rest_class)
            letters, numbers, blanks, lone, inner, rest, rest_class = classify_high(
                p, i, block, at, stop, classes, high, found
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
    """Write word ends of text[start:stop] relative to `start`; their number.

    The text is done if the last one is its end. `tail` is scratch of LANES bytes; `ends` has room for LANES + 1 words
    or more. Same words as the machine of the rule.
    """
    return scan_cl100k(pointer(text), start, stop, pointer(classes), pointer(tail), pointer(ends), 0, len(ends) - 1)


@kernel
def split_cl100k_many(text: U8s, bounds: I64s, first: Int, classes: U8s, tail: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Write the word ends of whole texts, text[bounds[i]:bounds[i + 1]] from i = first on, relative to bounds[first].

    Returns the index of the first text without room. text_ends[i - first + 1] is the number of words up to the
    end of text i.
    """
    return scan_texts(scan_cl100k, text, bounds, first, classes, tail, ends, text_ends)
