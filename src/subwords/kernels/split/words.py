"""Words of all rules: where text may be cut, words that change, and literals."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.arithmetic import pack64, write_bits
from subwords.kernels.jit import (
    I64,
    ONE,
    U64,
    ZERO,
    Int,
    bit_mask,
    char_at,
    extract,
    helper,
    inlined,
    kernel,
    leading_zeros,
    mix,
    pointer,
    popcount,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import I64s, Kinds, Literals, SafeCuts, U8s, U32s, WordChanges
from subwords.kernels.split.masks import low_bits
from subwords.kernels.text.utf8 import copy_range, decode_at, occurs_at

LAST = U64(63)


@helper
def class_before(classes, p, i):
    """The class, plus CLASS_FLAG, of the character that ends at p[i]."""
    start = i - 1
    while start > 0 and i - start < 4 and p[start] >> 6 == 2:
        start -= 1
    code, length = decode_at(p, start, i)
    return classes[code if code >= 0 and start + length == i else layout.INVALID]


@kernel
def last_cut(text: U8s, at: Int, classes: U8s, safe: U8s) -> Int:
    """The last place in text[:at], before a whole character, where cutting changes no word whatever follows; or 0.

    safe: 1 or 0 for two classes, of CLASS_FLAG each.
    """
    p, c, may = pointer(text), pointer(classes), pointer(safe)
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            if code >= 0 or i + 4 <= at:
                after = c[code if code >= 0 else layout.INVALID]
                if (
                    may[
                        (I64(class_before(c, p, i)) - layout.CLASS_FLAG) * layout.CLASS_FLAG
                        + I64(after)
                        - layout.CLASS_FLAG
                    ]
                    != 0
                ):
                    return i
        i -= 1
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# What happens to the words that a machine finds: see `layout.WordChanges`. The first character of a word says whether
# it is dropped: the machine cannot say so with each border, since its entries of 64 bits have one bit left.


@helper
def first_class(p, i, stop, classes):
    """The class of the character at i."""
    if p[i] < 0x80:
        return I64(classes[p[i]])
    code, _ = decode_at(p, i, stop)
    return I64(classes[code if code >= 0 else layout.INVALID])


@helper
def cut_numbers(p, at, stop, digits, shift, kept, count):
    """Write the ends of a word p[at:stop], plus `shift`, and of the numbers in it; the new number of ends."""
    done, last = at, digits[p[at]]
    while at < stop:
        kind = digits[p[at]]
        group = kind == 2 and at + 2 < stop and digits[p[at + 1]] == 2 and digits[p[at + 2]] == 2
        if at > done and (group or (kind != 0) != (last != 0)):
            kept[count] = at + shift
            count += 1
            done = at
        last = kind
        at += 3 if group else 1
        if group:
            kept[count] = at + shift
            count += 1
            done = at
    if at > done:
        kept[count] = at + shift
        count += 1
    return count


@inlined
def begins_with(p, at, stop, prefix, width):
    """Whether a word p[at:stop] begins with the prefix; most words differ in the first byte."""
    return p[at] == prefix[0] and at + width <= stop and occurs_at(p, at, prefix, width)


@inlined
def change(p, size, base, e, m, texts, drops, prefix, width, digits, q, k):
    """Do as `change_words` does. Of drops, prefix and digits, those that are None are for words that do not change so.

    Compiled for each case: to ask for each word took 1 ns of 5.
    """
    w, count, at, filled = I64(0), I64(0), base, I64(0)
    run = at  # text[run:at] is kept, and not yet copied. A copy for each word: 3.8 ns a word instead of 1.5
    for i in range(texts):
        while w < m[i]:
            stop = base + I64(e[w])
            if drops is not None and first_class(p, at, stop, drops) == layout.DROPPED:
                copy_range(q, filled - (at - run), p, run, at, size)
                run = stop
            else:
                if prefix is not None and not begins_with(p, at, stop, prefix, width):
                    if run < at:
                        copy_range(q, filled - (at - run), p, run, at, size)
                        run = at
                    for b in range(width):
                        q[filled + b] = prefix[b]
                    filled += width
                filled += stop - at
                if digits is not None:
                    count = cut_numbers(p, at, stop, digits, filled - stop, k, count)
                else:
                    k[count] = filled
                    count += 1
            at = stop
            w += 1
        m[i] = count
    copy_range(q, filled - (at - run), p, run, at, size)
    return count


@kernel
def change_words(text: U8s, start: Int, ends: U32s, text_ends: I64s, changes: WordChanges, out: U8s, kept: U32s) -> Int:
    """Write the words as they change to `out`, and their ends; their number.

    Word w is text[start + ends[w - 1] : start + ends[w]]. text_ends[i] is the number of words up to the end of text i;
    it is replaced by their number now. out has room for the words, a prefix before each, and LANES bytes; kept for the
    ends, or one for each byte if words are cut.
    """
    p, e, m, q, k = pointer(text), pointer(ends), pointer(text_ends), pointer(out), pointer(kept)
    size, base, texts, width = len(text), I64(start), len(text_ends), len(changes.prefix)
    drops, prefix, digits = pointer(changes.drops), pointer(changes.prefix), pointer(changes.digits)
    if len(changes.digits) > 0:
        return change(p, size, base, e, m, texts, None, None, width, digits, q, k)
    if width > 0:
        return change(p, size, base, e, m, texts, drops, prefix, width, None, q, k)
    return change(p, size, base, e, m, texts, drops, None, width, None, q, k)


@kernel
def changed_origins(
    text: U8s, start: Int, ends: U32s, words: Int, changes: WordChanges, begins: I64s, stops: I64s
) -> Int:
    """Write where the words begin in the text that `change_words` does not drop; their number.

    If there is a prefix: the range of the text that each byte written comes from; the number of these bytes. A prefix
    comes from the first character of its word.
    """
    p, e, b, s = pointer(text), pointer(ends), pointer(begins), pointer(stops)
    drops, prefix, width = pointer(changes.drops), pointer(changes.prefix), len(changes.prefix)
    at, n = I64(start), I64(0)
    for w in range(words):
        stop = I64(start) + I64(e[w])
        kept = stop > at and first_class(p, at, stop, drops) != layout.DROPPED
        if width == 0:
            b[n] = at
            n += 1 if kept else 0
        elif kept:
            if not begins_with(p, at, stop, prefix, width):
                _, size = decode_at(p, at, stop)
                for k in range(n, n + width):
                    b[k], s[k] = at, at + size
                n += width
            for k in range(stop - at):
                b[n + k], s[n + k] = at + k, at + k + 1
            n += stop - at
        at = stop
    return n


# Where each character by itself says what it is, as in BERT's rule, one pass by masks does all of it: the machine and
# `change_words` took six times as long. Row: encode_bert, "english, 16 MB".


@helper
def odd_characters(p, i, size, stop, kinds, odd):
    """What the characters at p[i + k] are, for the bits k of `odd`, none of which is ASCII.

    Returns the bytes that are DROPPED, those of characters ALONE, the first bytes of these; and, of a last character
    that reaches into the next block, how many bytes it has there, and its kind.
    """
    dropped, alone, firsts, rest, rest_kind = ZERO, ZERO, ZERO, I64(0), I64(layout.WORD_PART)
    quick = i + layout.LANES + 3 <= size
    while odd != ZERO:
        k = trailing_zeros(odd)
        odd &= odd - ONE
        # Most are parts of words. So is a byte that is not UTF-8: where it looks like another character, `decode_at`
        # decides.
        if quick and p[i + k] < 0xF0 and kinds[char_at(p, i + k)] == layout.WORD_PART:
            continue
        code, length = decode_at(p, i + k, stop)
        kind = I64(kinds[code if code >= 0 else layout.INVALID])
        if kind == layout.WORD_PART:
            continue
        bits = low_bits(length) << U64(k)
        if kind == layout.DROPPED:
            dropped |= bits
        else:
            alone |= bits
            firsts |= ONE << U64(k)
        if k + length > layout.LANES:
            rest, rest_kind = k + length - layout.LANES, kind
    return dropped, alone, firsts, rest, rest_kind


@kernel
def split_kinds(text: U8s, bounds: I64s, kinds: Kinds, tail: U8s, out: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Copy texts without what is DROPPED to `out` and write the ends of the words there; their number.

    A character that is ALONE is a word, and so is a run of others. ASCII whitespace is DROPPED, and ASCII signs are
    ALONE. text_ends[i + 1] is the number of words up to the end of text i. out has room for the texts and LANES bytes,
    ends for as many ends; tail is scratch of LANES bytes.
    """
    p, b, t, q, e, m = (pointer(text), pointer(bounds), pointer(tail), pointer(out), pointer(ends), pointer(text_ends))
    table, leads, ranges, size = pointer(kinds.kinds), pointer(kinds.leads), len(kinds.leads) // 2, len(text)
    filled, count, begun = I64(0), I64(0), I64(0)
    m[0] = 0
    for n in range(len(bounds) - 1):
        i, stop = I64(b[n]), I64(b[n + 1])
        was_kept, was_alone, rest, rest_kind = ZERO, ZERO, I64(0), I64(layout.WORD_PART)
        while i < stop:
            block, at, inside = p, i, low_bits(stop - i)
            if i + layout.LANES > size:
                for k in range(stop - i):
                    t[k] = p[i + k]
                block, at = t, I64(0)
            dropped = range_mask(block, at, 32, 32) | range_mask(block, at, 9, 13)
            alone = range_mask(block, at, 33, 47) | range_mask(block, at, 58, 64)
            alone |= range_mask(block, at, 91, 96) | range_mask(block, at, 123, 126)
            firsts = alone
            if rest > 0 or range_mask(block, at, 128, 255) & inside != ZERO:
                carried, odd = low_bits(rest), ZERO
                for r in range(ranges):
                    odd |= range_mask(block, at, leads[2 * r], leads[2 * r + 1])
                if rest_kind == layout.DROPPED:
                    dropped |= carried
                else:
                    alone |= carried
                more = odd_characters(p, i, size, stop, table, odd & inside)
                dropped, alone, firsts, rest, rest_kind = (
                    dropped | more[0], alone | more[1], firsts | more[2], more[3], more[4],
                )  # fmt: skip
            kept = inside & ~dropped
            # After a character that is ALONE, a word starts; but not at its own inner bytes.
            starts = ~(kept << ONE | was_kept) | firsts | (alone << ONE | was_alone) & ~(alone & ~firsts)
            starts &= kept
            if begun == 0 and starts != ZERO:  # every other start is the end of a word
                starts &= starts - ONE
                begun = I64(1)
            count = write_bits(e, count, filled, extract(starts, kept))
            pack64(q, filled, block, at, kept)
            filled += popcount(kept)
            was_kept, was_alone = kept >> LAST, alone >> LAST
            i += layout.LANES
        m[n + 1] = count + begun
    if begun != 0:
        e[count] = filled
    return count + begun


# ---------------------------------------------------------------------------------------------------------------------
# Literals cut out of text: the leftmost first; of several that begin there, the longest.
#
# The trie is a table: a row for each node, with the node that each byte leads to, or ROOT. A byte's position in the
# row is its column; column 0 is for bytes that occur in no literal and holds nothing but ROOT.

ROOT = 0


@inlined
def next_node(trie, node, byte):
    """The node that a byte leads to, or ROOT."""
    columns, table, width = trie
    return I64(table[node * width + I64(columns[byte])])


@helper
def longest_literal(trie, ends, p, at, stop):
    """The length of the longest literal that begins at p[at], or 0."""
    node, best, k = next_node(trie, I64(ROOT), p[at]), I64(0), at + 1
    while node != ROOT:
        if ends[node] != 0:
            best = k - at
        if k == stop:
            break
        node = next_node(trie, node, p[k])
        k += 1
    return best


@inlined
def trie_pointers(literals):
    """Columns, children and width of the trie."""
    return pointer(literals.columns), pointer(literals.children), len(literals.children) // len(literals.ends)


@kernel
def find_literals(text: U8s, bounds: I64s, literals: Literals, spans: I64s) -> Int:
    """Write begin and end of each literal in each text[bounds[i]:bounds[i + 1]] while there is room; their number."""
    p, b, out = pointer(text), pointer(bounds), pointer(spans)
    trie, ends, firsts, room = (
        trie_pointers(literals),
        pointer(literals.ends),
        pointer(literals.firsts),
        len(spans) // 2,
    )
    count = I64(0)
    for i in range(len(bounds) - 1):
        at, stop = I64(b[i]), I64(b[i + 1])
        while True:
            while at < stop and firsts[p[at]] == 0:
                at += 1
            if at == stop:
                break
            length = longest_literal(trie, ends, p, at, stop)
            if length > 0:
                if count < room:
                    out[2 * count], out[2 * count + 1] = at, at + length
                count += 1
            at += max(length, I64(1))
    return count


@kernel
def crosses_place(text: U8s, start: Int, place: Int, literals: Literals) -> Int:
    """Whether text[start:place] ends with the beginning of a longer literal."""
    p, trie = pointer(text), trie_pointers(literals)
    for at in range(start, place):
        node, k = next_node(trie, I64(ROOT), p[at]), at + 1
        while node != ROOT and k < place:
            node = next_node(trie, node, p[k])
            k += 1
        if node != ROOT:
            return 1
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Safe cuts by vocabulary (E9): places inside a word that no token spans, so that the two sides are encoded apart.
#
# A merge or a piece that spans a place is a token whose bytes contain the place. If there is no such token, the text
# before the place and the text after it have the same ids together and apart. Only places between two characters of
# three bytes are tried: Chinese, Japanese, Korean, Thai and their like, whose words are long and often new, unlike
# their parts.
#
# A token holds the character before a place, or only its last bytes; and the character after it, or only its first
# bytes. So a place has two keys: both code points; and the last byte before it with the code point after it. Tokens
# that hold the whole character before the place are entered by the first key, all others by the second one; a token
# that ends inside the character after the place is entered for all characters that begin so. `members` says of each
# character whether it is on the left or right side of some key; only if both characters are is the key searched in the
# filter. That errs on one side: two keys may share their bits, then a safe cut is missed.
#
# Tried and dropped: searching both keys of every place (4 ns a place); doing this for blocks of text, not of
# characters (0.9 ns a byte); one bit for a key in the filter (4 % of the safe cuts missed, not 0.6 %); cutting only
# words that are not in the table (first passes at a third of the speed: storing long words costs more than cutting
# them).


class CutFilter(NamedTuple):
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
    cuts = CutFilter(pointer(into.bits), U64(len(into.bits) - 1), pointer(into.members), pointer(into.members))
    for token in range(len(offsets) - 1):
        begin, stop = o[token], o[token + 1]
        for at in range(begin + 1, stop):
            if p[at] >> 4 == 0xE:
                before, after = side(p, at - 3, begin, stop), side(p, at, begin, stop)
                if before >= 0 and after >= 0:
                    entries += enter(cuts, before, after, min(at - begin, 3), min(stop - at, 3))
    return entries
