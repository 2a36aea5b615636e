"""Safe cuts by vocabulary (E9): places inside a word that no token spans, so that the two sides are encoded apart.

A merge or a piece that spans a place is a token whose bytes contain the place. If there is no such token, the text
before the place and the text after it have the same ids together and apart. Only places between two characters of three
bytes are tried: Chinese, Japanese, Korean, Thai and their like, whose words are long and rarely met again, unlike their
parts.

A token holds the character before a place, or only its last bytes; and the character after it, or only its first
bytes. So a place has two keys, little-endian: the six bytes around it, and the last byte before it with the three after
it. Tokens that hold the whole character before the place are entered by the first key, all others by the second one; a
token that ends inside the character after the place is entered for all characters that begin so. `members` says of each
character whether it is on the left or right side of some key; only if both characters are is the key searched in the
filter. That errs on one side: two keys may share their bits, then a safe cut is missed.

Tried and dropped: searching both keys of every place (4 ns a place in place of 1); one bit for a key (4 % of the safe
cuts missed in place of 0.6 %).
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    U8s,
    bit_mask,
    classify,
    deposit,
    helper,
    inlined,
    kernel,
    load64,
    mix,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import LANES, PAIR_LEFT, PAIR_RIGHT, TAIL_LEFT, TAIL_RIGHT, SafeCuts

ZERO, ONE, HALF = U64(0), U64(1), U64(32)
REACH = LANES + 8  # bytes from the start of a block on that its cuts may read


class Cuts(NamedTuple):
    """What is known of the vocabulary."""

    bits: object  # uint64, the filter: a key sets two bits of one element
    mask: object
    members: object  # uint8, by code point below 2**16: PAIR_LEFT, PAIR_RIGHT, TAIL_LEFT, TAIL_RIGHT
    found: object  # uint8[2 * LANES]: scratch


@inlined
def opened_cuts(cuts):
    """The pointers of a `SafeCuts`."""
    return Cuts(pointer(cuts.bits), U64(len(cuts.bits) - 1), pointer(cuts.members), pointer(cuts.found))


@inlined
def key_bits(spread):
    """The bits of a key in its element."""
    return ONE << (spread >> U64(58)) | ONE << (spread >> U64(52) & U64(63))


@inlined
def pair_spread(key):
    """The hash of the six bytes around a place, which are the upper ones of `key`."""
    return mix(key, U64(0x9E3779B97F4A7C15))


@inlined
def tail_spread(key):
    """The hash of the last four of these bytes."""
    return mix(key >> HALF, U64(0xD1B54A32D192ED03))


@inlined
def spanned(cuts, spread):
    """1 if a key may be in the filter, else 0."""
    return U64(~cuts.bits[I64(spread & cuts.mask)] & key_bits(spread) == ZERO)


@inlined
def key_at(p, i):
    """The key of the place i of a text; reads five bytes from there."""
    return load64(p, i - 3) << U64(16)


@helper
def spanned_places(cuts, p, i, pairs, tails):
    """The places in p[i : i + LANES] that a token may span, of those to be tried by one key or the other."""
    found = ZERO
    while pairs != ZERO:
        k = trailing_zeros(pairs)
        found |= spanned(cuts, pair_spread(key_at(p, i + k))) << U64(k)
        pairs &= pairs - ONE
    while tails != ZERO:
        k = trailing_zeros(tails)
        found |= spanned(cuts, tail_spread(key_at(p, i + k))) << U64(k)
        tails &= tails - ONE
    return found


@inlined
def side(cuts, chars, member):
    """The characters of a block that are a member; `cuts.found` has what they are, one after another."""
    return deposit(bit_mask(cuts.found, 0, member), chars)


@inlined
def block_cuts(cuts, p, i, chars, carry):
    """The safe cuts before characters of a block, and the next block's carry.

    The carry is, for the last three places of the block before: where a character begins, in bits 0 to 2; and which of
    these are on the left of a pair, from bit 8 on, and of a tail, from bit 16 on.
    """
    if chars == ZERO:
        return ZERO, ZERO
    classify(cuts.found, 0, cuts.members, p, i, chars)
    places = chars & (chars << U64(3) | carry & U64(7))
    pair_left, tail_left = side(cuts, chars, PAIR_LEFT), side(cuts, chars, TAIL_LEFT)
    pairs = places & side(cuts, chars, PAIR_RIGHT) & (pair_left << U64(3) | carry >> U64(8) & U64(7))
    tails = places & side(cuts, chars, TAIL_RIGHT) & (tail_left << U64(3) | carry >> U64(16) & U64(7))
    carry = chars >> U64(61) | pair_left >> U64(61) << U64(8) | tail_left >> U64(61) << U64(16)
    if pairs | tails != ZERO:
        places &= ~spanned_places(cuts, p, i, pairs, tails)
    return places, carry


@inlined
def block_chars(p, i, stop):
    """The first bytes of a block's characters of three bytes, between which there may be cuts; none near the end.

    Scripts that put spaces between words repeat these: those of India are left out (E0 80 to E0 B7).
    """
    if i + REACH > stop:
        return ZERO
    second = i + 1
    leads = range_mask(p, i, 0xE1, 0xEF) | range_mask(p, i, 0xE0, 0xE0) & range_mask(p, second, 0xB8, 0xBF)
    return leads & range_mask(p, second, 0x80, 0xBF) & range_mask(p, i + 2, 0x80, 0xBF)


@inlined
def code_of(lead, second, third):
    """The code point of a character of three bytes."""
    return (lead & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F


@helper
def enter(cuts, key, before, after):
    """Enter the key of a place inside a token, of which some bytes before and after are known; the number of entries.

    Unknown bytes take all values that they may have in a character of three bytes.
    """
    left, right = (PAIR_LEFT, PAIR_RIGHT) if before == 3 else (TAIL_LEFT, TAIL_RIGHT)
    entries = 1 << 6 * (3 - after)
    for k in range(entries):
        whole = key
        if after < 3:
            whole |= U64(0x80 + (k & 63)) << U64(56)
        if after < 2:
            whole |= U64(0x80 + (k >> 6)) << U64(48)
        spread = pair_spread(whole) if before == 3 else tail_spread(whole)
        cuts.bits[I64(spread & cuts.mask)] |= key_bits(spread)
        cuts.members[code_of(I64(whole >> U64(40)), I64(whole >> U64(48)), I64(whole >> U64(56)))] |= right
    lead, second, third = I64(key >> U64(16)), I64(key >> U64(24)), I64(key >> U64(32))
    for k in range(1 if before == 3 else 16 if before == 2 else 1024):
        if before < 3:
            lead = k & 15
        if before < 2:
            second = k >> 4
        cuts.members[code_of(lead, second, third)] |= left
    return entries


@helper
def place_key(p, begin, at, stop):
    """The key of the place `at` inside the token p[begin:stop]: (key, bytes known before it, bytes known after it).

    No bytes are known if no two characters of three bytes have the token's bytes there.
    """
    before, after = min(at - begin, 3), min(stop - at, 3)
    key = ZERO
    for k in range(-before, after):
        lead = k == -3 or k == 0
        if p[at + k] >> 4 != 0xE if lead else p[at + k] >> 6 != 2:
            return ZERO, 0, 0
        key |= U64(p[at + k]) << U64(8 * (5 + k))
    return key, before, after


@kernel
def enter_tokens(data: U8s, offsets: I64s, into: SafeCuts) -> Int:
    """Enter every place inside the tokens data[offsets[i]:offsets[i + 1]]; the number of entries."""
    p, o, cuts, entries = pointer(data), pointer(offsets), opened_cuts(into), I64(0)
    for token in range(len(offsets) - 1):
        begin, stop = o[token], o[token + 1]
        for at in range(begin + 1, stop):
            if p[at] >> 4 == 0xE:
                key, before, after = place_key(p, begin, at, stop)
                if before > 0:
                    entries += enter(cuts, key, before, after)
    return entries
