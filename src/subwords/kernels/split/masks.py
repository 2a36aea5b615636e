"""Masks of the classes of 64 bytes, which splitters by boundary algebra share. Bit k is byte k of a block."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.arithmetic import classify, classify_members, write_bits, write_flagged_bits
from subwords.kernels.jit import (
    ALL,
    I64,
    ONE,
    U64,
    ZERO,
    Int,
    char_at,
    clear64,
    copy64,
    deposit,
    helper,
    inlined,
    kernel,
    pointer,
    popcount,
    range_mask,
    spliced,
    trailing_zeros,
)
from subwords.kernels.layout import I64s, U8s, U32s
from subwords.kernels.text.utf8 import decode_at

# ---------------------------------------------------------------------------------------------------------------------
# Cuts words where no token can be: between two bytes that are neighbours in no token (E9).


@kernel
def cut_words(text: U8s, bounds: I64s, neighbours: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Cut the words text[bounds[w]:bounds[w + 1]]; return the number of parts.

    neighbours: 256 x 256, whether a token has these two bytes side by side. ends: where each part ends, from bounds[0].
    text_ends: the number of parts up to the end of each word. Same result as `reference.extend.parts_of`.
    """
    p, b, near, e, t = pointer(text), pointer(bounds), pointer(neighbours), pointer(ends), pointer(text_ends)
    parts, base = 0, b[0]
    for w in range(len(bounds) - 1):
        for i in range(b[w] + 1, b[w + 1]):
            if near[I64(p[i - 1]) * 256 + I64(p[i])] == 0:
                e[parts] = i - base
                parts += 1
        e[parts] = b[w + 1] - base
        parts += 1
        t[w] = parts
    return parts


# ---------------------------------------------------------------------------------------------------------------------
# Text that is not ASCII as a packed stream: one byte for each character, its class + CLASS_FLAG.
#
# Masks process 64 bytes of text at a time. The mask of the characters' first bytes is stored for each of these blocks;
# it turns places in the stream into places in the text.

PLAIN_RUN = 512  # ASCII bytes after which text is no longer packed


class Packed(NamedTuple):
    """Room for one stream."""

    classes: object  # by code point, plus CLASS_FLAG
    members: object  # the same of 16 bits, with what words.py says of a character in the upper half
    with_members: object
    stream: object
    found: object  # uint8: the upper halves of the stream's characters
    codes: object  # uint16: their code points
    masks: object  # uint64: the first bytes of each block's characters
    bases: object  # uint64: where each block begins in the text


@helper
def low_bits(k):
    """The k lowest bits, 0 <= k <= 64."""
    if k >= layout.LANES:
        return ALL
    return (ONE << U64(k)) - ONE


@inlined
def pack_chars(q, p, i, starts, n):
    """Pack the characters whose first bytes are at p[i + k] for every bit k."""
    while starts != ZERO:
        q.stream[n] = q.classes[char_at(p, i + trailing_zeros(starts))]
        if q.with_members:
            q.found[n] = 0
        starts &= starts - ONE
        n += 1


@helper
def pack_any(q, p, i, carry, stop, n):
    """Pack the characters that begin in the next LANES bytes, valid or not: (their mask, the next block's carry)."""
    k, mask = trailing_zeros(~carry), ZERO
    while k < layout.LANES and i + k < stop:
        code, length = decode_at(p, i + k, stop)
        q.stream[n] = q.classes[code if code >= 0 else layout.INVALID]
        if q.with_members:
            q.found[n] = U64(q.members[code]) >> U64(8) if 0 <= code < layout.MEMBERS else 0
            q.codes[n] = code & 0xFFFF
        mask |= ONE << U64(k)
        n += 1
        k += length
    return mask, low_bits(max(k - layout.LANES, 0))


@inlined
def not_characters(p, i):
    """The first bytes of overlong forms, surrogates, and code points above U+10FFFF."""
    second = i + 1
    bad = range_mask(p, i, 0xE0, 0xE0) & range_mask(p, second, 0x80, 0x9F)
    bad |= range_mask(p, i, 0xED, 0xED) & range_mask(p, second, 0xA0, 0xBF)
    bad |= range_mask(p, i, 0xF0, 0xF0) & range_mask(p, second, 0x80, 0x8F)
    return bad | range_mask(p, i, 0xF4, 0xF4) & range_mask(p, second, 0x90, 0xBF)


@helper
def pack_block(q, p, i, carry, stop, n):
    """Pack a block: (its mask, the next block's carry). Reads LANES + 3 bytes if the text has them.

    The bits of `carry` are the bytes of a block that belong to a character that began before it.
    """
    if i + layout.LANES + 3 > stop:
        return pack_any(q, p, i, carry, stop, n)
    high = range_mask(p, i, 0x80, 0xFF)
    if high == ZERO:
        copy64(q.stream, n, p, i)
        if q.with_members:
            clear64(q.found, n)
        return ALL, ZERO
    inner, three = range_mask(p, i, 0x80, 0xBF), range_mask(p, i, 0xE0, 0xEF)
    four = range_mask(p, i, 0xF0, 0xF4)
    longer = three | four
    leads = range_mask(p, i, 0xC2, 0xDF) | longer
    inside = leads << ONE | longer << U64(2) | four << U64(3) | carry
    over = leads >> U64(63) | longer >> U64(62) | four >> U64(61)
    # Bits 0 to 2 are the bytes after the block, where characters end that begin in it.
    missing = over & ~(range_mask(p, i + 3, 0x80, 0xBF) >> U64(61))
    # Valid UTF-8: inner bytes exactly where the leads want them, no other bytes but leads, no forbidden forms.
    if inner ^ inside | high ^ inner ^ leads | not_characters(p, i) | missing != ZERO:
        return pack_any(q, p, i, carry, stop, n)
    if four != ZERO:
        pack_chars(q, p, i, ~inner, n)
    elif q.with_members:
        classify_members(q.stream, q.found, q.codes, n, q.members, p, i, ~inner)
    else:
        classify(q.stream, n, q.classes, p, i, ~inner)
    return ~inner, over


@helper
def pack(q, p, start, stop, limit):
    """Pack text up to `limit`, or until PLAIN_RUN bytes are ASCII: (characters, blocks, where packing stopped)."""
    i, n, blocks, last, carry = start, I64(0), I64(0), start, ZERO
    while i < limit and i - last < PLAIN_RUN:
        mask, carry = pack_block(q, p, i, carry, stop, n)
        q.masks[blocks], q.bases[blocks] = mask, U64(i - start)
        blocks += 1
        n += popcount(mask)
        i += layout.LANES
        if mask != ALL:
            last = i
    return n, blocks, min(i + popcount(carry), stop)


@helper
def plain_length(p, i, stop):
    """The number of ASCII bytes at the start of p[i:stop]."""
    k = i
    while k + layout.LANES <= stop:
        high = range_mask(p, k, 128, 255)
        if high != ZERO:
            return k + trailing_zeros(high) - i
        k += layout.LANES
    while k < stop and p[k] < 128:
        k += 1
    return k - i


@inlined
def byte_bits(q, bits, block, n):
    """Bits of a stream as bits of the bytes of a block of text; place n of the stream is its first character."""
    shift = U64(n & 63)
    here = bits[n >> 6] >> shift
    if shift != ZERO:
        here |= bits[(n >> 6) + 1] << (U64(layout.LANES) - shift)
    return deposit(here, q.masks[block])


@helper
def unpack(q, borders, blocks, base, ends, count):
    """Write borders of a packed stream as word ends relative to `base`; place n is bit n % 64 of borders[n // 64]."""
    n = I64(0)
    for block in range(blocks):
        count = write_bits(ends, count, base + I64(q.bases[block]), byte_bits(q, borders, block, n))
        n += popcount(q.masks[block])
    return count


@helper
def unpack_runs(q, borders, runs, blocks, base, ends, count):
    """The same; `runs` has a bit for each border where a RUN ends."""
    n = I64(0)
    for block in range(blocks):
        here, flags = byte_bits(q, borders, block, n), byte_bits(q, runs, block, n)
        count = write_flagged_bits(ends, count, base + I64(q.bases[block]), here, flags)
        n += popcount(q.masks[block])
    return count


class Classes(NamedTuple):
    """Class masks of one block."""

    letters: object
    numbers: object
    spaces: object


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
    letters, numbers, spaces = found
    if member == layout.LETTER:
        letters |= bits
    elif member == layout.NUMBER:
        numbers |= bits
    elif member == layout.SPACE:
        spaces |= bits
    return Classes(letters, numbers, spaces)


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


@spliced
def classify_each(add, found, p, i, stop, classes, high, rest, rest_class):
    """Add the characters at the bits of `high` to the masks of a block, one at a time, by `add` (such as `add_class`).

    rest, rest_class: how many bytes of the block belong to the last character of the one before. Returns the masks;
    starts of whitespace characters that end their run; bytes of characters but their first ones; and the rest of the
    last character, for the next block.
    """
    carried = low_bits(rest)
    found = add(found, rest_class, carried)
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
        found = add(found, member, bits)
        if member == layout.SPACE and not is_space_at(p, i + k + length, stop, classes):
            lone |= ONE << U64(k)
        inner |= bits & (bits - ONE)
        if k + length > layout.LANES:
            rest, rest_class = I64(k + length - layout.LANES), member
        high &= ~bits
    return found, lone, inner, rest, rest_class


@helper
def classify_high(found, p, i, block, at, stop, classes, high, rest, rest_class):
    """Add the non-ASCII characters of a block to its masks: usual ones at once, others one at a time."""
    usual, others, inner = usual_characters(block, at)
    found, lone, more, rest, rest_class = classify_each(
        add_class, found, p, i, stop, classes, high & ~(usual | others), rest, rest_class
    )
    letters, numbers, spaces = add_class(found, layout.LETTER, usual)
    return letters, numbers, spaces, lone, inner | more, rest, rest_class


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
        if start < stop and (more == count or I64(e[more - 1]) != stop - start):
            break  # at a place that needs more
        for k in range(count, more if i > first else count):  # the first text begins there: nothing to add
            e[k] += start - b[first]
        count = more
        i += 1
        m[i - first] = count
    return i
