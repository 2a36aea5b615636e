r"""The GPT-2 rule as boundary algebra on 64-byte blocks.

    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

Bit k of a mask is byte k of the block. A word starts
- where a run of letters, of digits or of other characters starts, unless an ASCII space precedes it (then the word
  includes the space);
- where a run of whitespace starts, and at the last character of such a run if the run has two or more characters and
  something follows it: `\s+(?!\S)`;
- after a contraction, whose apostrophe starts a run of others and is not preceded by a space.
No rule looks backward, so a scan can start at any word's end (S4).
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.arithmetic import write_bits
from subwords.kernels.jit import ONE, U64, ZERO, Int, fold_mask, helper, kernel, pointer, range_mask, trailing_zeros
from subwords.kernels.layout import I64s, U8s, U32s
from subwords.kernels.split.masks import (
    Classes,
    classify_high,
    contraction_length,
    is_space_at,
    low_bits,
    move_bit,
    scan_texts,
)

LAST = U64(63)


@helper
def scan_gpt2(p, start, stop, classes, tail, ends, count, capacity):
    """Write the ends of the words of p[start:stop], relative to `start`; stop early when `ends` is nearly full."""
    was_letter, was_number, was_other, was_space, was_blank = ZERO, ZERO, ZERO, ZERO, ZERO
    moved_off, moved_on = ONE, ZERO  # starts that the previous block removes from this one or adds; 0 is not a word end
    rest, rest_class = 0, 0
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
            found = Classes(letters, numbers, blanks, ZERO, ZERO, rest, rest_class)
            letters, numbers, blanks, lone, _, rest, rest_class = classify_high(
                p, i, block, at, stop, classes, high, found
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
