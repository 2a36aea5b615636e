"""Safe cuts by vocabulary (E9): places inside a word that no token spans, so that the two sides are encoded apart.

A merge or a piece that spans a place is a token whose bytes contain the place. If there is no such token, the text
before the place and the text after it have the same ids together and apart. Only places between two characters of three
bytes are tried: Chinese, Japanese, Korean, Thai and their like, whose words are long and often new, unlike their parts.

A token holds the character before a place, or only its last bytes; and the character after it, or only its first
bytes. So a place has two keys: both code points; and the last byte before it with the code point after it. Tokens that
hold the whole character before the place are entered by the first key, all others by the second one; a token that ends
inside the character after the place is entered for all characters that begin so. `members` says of each character
whether it is on the left or right side of some key; only if both characters are is the key searched in the filter. That
errs on one side: two keys may share their bits, then a safe cut is missed.

Tried and dropped: searching both keys of every place (4 ns a place); doing this for blocks of text, not of characters
(0.9 ns a byte); one bit for a key in the filter (4 % of the safe cuts missed, not 0.6 %); cutting only words that are
not in the table (first passes at a third of the speed: storing long words costs more than cutting them).
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    U8s,
    bit_mask,
    helper,
    inlined,
    kernel,
    leading_zeros,
    mix,
    pointer,
    trailing_zeros,
)
from subwords.kernels.layout import SafeCuts

ZERO, ONE = U64(0), U64(1)
LAST = U64(63)


class Cuts(NamedTuple):
    """What is known of the vocabulary, and the characters of a stream."""

    bits: object  # uint64, the filter: a key sets two bits of one element
    mask: object
    members: object  # uint8, of each character: MAY_CUT, PAIR_LEFT, PAIR_RIGHT, TAIL_LEFT, TAIL_RIGHT
    codes: object  # uint16, of each character that has MAY_CUT: its code point


@inlined
def key_bits(spread):
    """The bits of a key in its element."""
    return ONE << (spread >> U64(58)) | ONE << (spread >> U64(52) & LAST)


@inlined
def pair_spread(before, after):
    """The hash of two code points."""
    return mix(U64(before) << U64(16) | U64(after), U64(0x9E3779B97F4A7C15))


@inlined
def tail_spread(before, after):
    """The hash of the last byte of one code point, and another one."""
    return mix((U64(before) & LAST) << U64(16) | U64(after), U64(0xD1B54A32D192ED03))


@inlined
def spanned(cuts, spread):
    """1 if a key may be in the filter, else 0."""
    return U64(~cuts.bits[I64(spread & cuts.mask)] & key_bits(spread) == ZERO)


@helper
def spanned_places(cuts, at, pairs, tails):
    """The places before characters at + k that a token may span, of those to be searched by one key or the other."""
    codes, found = cuts.codes, ZERO
    while pairs != ZERO:
        k = trailing_zeros(pairs)
        found |= spanned(cuts, pair_spread(codes[at + k - 1], codes[at + k])) << U64(k)
        pairs &= pairs - ONE
    while tails != ZERO:
        k = trailing_zeros(tails)
        found |= spanned(cuts, tail_spread(codes[at + k - 1], codes[at + k])) << U64(k)
        tails &= tails - ONE
    return found


@inlined
def last_border(borders, chars):
    """The last place where a word ends in a stream of `chars` characters, or 0."""
    k = chars >> 6
    while k > 0 and borders[k] == ZERO:
        k -= 1
    return 64 * k + 63 - leading_zeros(borders[k] | ONE)


@helper
def add_cuts(cuts, borders, last):
    """Add the safe cuts before place `last` to the borders: after the last border, the word may continue.

    Returns whether there is a character that may be cut off.
    """
    members, cut, pair, tail, every = cuts.members, ZERO, ZERO, ZERO, ZERO
    for k in range((last >> 6) + 1):
        may_cut, after = bit_mask(members, 64 * k, layout.MAY_CUT), bit_mask(members, 64 * k, layout.PAIR_LEFT)
        # Bit k is the place before character k, so flags of the left character move up by one; `cut`, `pair` and `tail`
        # carry the highest bit to the next 64 characters.
        places, pairs = may_cut & (may_cut << ONE | cut), after << ONE | pair
        cut, pair = may_cut >> LAST, after >> LAST
        after = bit_mask(members, 64 * k, layout.TAIL_LEFT)
        tails, tail = after << ONE | tail, after >> LAST
        if k == last >> 6:
            places &= (ONE << U64(last & 63)) - ONE
        pairs &= places & bit_mask(members, 64 * k, layout.PAIR_RIGHT)
        tails &= places & bit_mask(members, 64 * k, layout.TAIL_RIGHT)
        if pairs | tails != ZERO:
            places &= ~spanned_places(cuts, 64 * k, pairs, tails)
        borders[k] |= places
        every |= may_cut
    return every != ZERO


@helper
def join_runs(cuts, borders, runs, last):
    """Join neighbouring characters with a border on both sides to one RUN; `runs` gets a bit where one ends."""
    carry, begin = ZERO, ONE
    for k in range((last >> 6) + 1):
        here, following = borders[k], borders[k + 1]
        isolated = bit_mask(cuts.members, 64 * k, layout.MAY_CUT) & (here | begin) & (here >> ONE | following << LAST)
        after = isolated << ONE | carry
        carry, begin = isolated >> LAST, ZERO
        borders[k] = here & ~(isolated & after)
        runs[k] = after & borders[k]


@inlined
def code_of(lead, second, third):
    """The code point of a character of three bytes."""
    return (lead & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F


@helper
def enter(cuts, before, after, left, right):
    """Enter the place between two characters, `left` bytes before it and `right` bytes after it; the number of entries.

    Unknown bytes take all values that they may have in a character of three bytes.
    """
    on_left, on_right = (layout.PAIR_LEFT, layout.PAIR_RIGHT) if left == 3 else (layout.TAIL_LEFT, layout.TAIL_RIGHT)
    entries = 1 << 6 * (3 - right)
    for k in range(entries):
        spread = pair_spread(before, after | k) if left == 3 else tail_spread(before, after | k)
        cuts.bits[I64(spread & cuts.mask)] |= key_bits(spread)
        cuts.members[after | k] |= on_right
    # The unknown bits of the left character are its highest ones: 4 of the first byte, or 10 of the first two.
    for k in range(1 if left == 3 else 16 if left == 2 else 1024):
        cuts.members[before | k << (12 if left == 2 else 6)] |= on_left
    return entries


@helper
def side(p, at, begin, stop):
    """The bits of the code point p[at:at + 3] that are known from p[begin:stop], or -1 if it is another character."""
    code = 0
    for k in range(3):
        if begin <= at + k < stop:
            if p[at + k] >> 4 != 0xE if k == 0 else p[at + k] >> 6 != 2:
                return -1
            code |= (I64(p[at + k]) & (0xF if k == 0 else 0x3F)) << 6 * (2 - k)
    return code


@kernel
def enter_tokens(data: U8s, offsets: I64s, into: SafeCuts) -> Int:
    """Enter every place inside the tokens data[offsets[i]:offsets[i + 1]]; the number of entries."""
    p, o, entries = pointer(data), pointer(offsets), I64(0)
    cuts = Cuts(pointer(into.bits), U64(len(into.bits) - 1), pointer(into.members), pointer(into.members))
    for token in range(len(offsets) - 1):
        begin, stop = o[token], o[token + 1]
        for at in range(begin + 1, stop):
            if p[at] >> 4 == 0xE:
                before, after = side(p, at - 3, begin, stop), side(p, at, begin, stop)
                if before >= 0 and after >= 0:
                    entries += enter(cuts, before, after, min(at - begin, 3), min(stop - at, 3))
    return entries
