"""Splitting by a boundary transducer: any pattern, two characters a step, four places of the text at once.

A step looks up (state, class, class) and finds the next state and the word ends, as bits. Each load depends on the one
before (five cycles or more), so the text is cut into four parts where the transducer allows it, and all parts are
processed in the same loop (two parts: two thirds of the speed). A stream is ASCII text as it is, or packed text
(`pack_chars` in masks.py). Every part starts at the end of a word, where the transducer is in state 0.

`walk` handles the rest, one character at a time: short texts, words longer than a stream, and saved places.

A state's row in `entries` (uint64) has an entry for every two classes, then for every class, then for the end of the
text. The high half of an entry is where the next state's row begins. Below it, bit TOP_BORDER - d is set if a word ends
d characters before the last one of the step. SAVES: the place REACH characters before this one is saved. EMITS_SAVED: a
word ends at the saved place. USES_SAVED: the next state may still emit the saved place.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.arithmetic import write_bits
from subwords.kernels.jit import (
    HALF,
    I64,
    LOW,
    ONE,
    U64,
    ZERO,
    Int,
    advance,
    helper,
    inlined,
    kernel,
    load64,
    pointer,
    trailing_zeros,
)
from subwords.kernels.layout import I64s, Transducer, U8s, U32s
from subwords.kernels.split.masks import Packed, pack, plain_length, unpack, unpack_runs
from subwords.kernels.split.words import CutFilter, add_cuts, join_runs, last_border
from subwords.kernels.text.utf8 import decode_at

# Bytes of a text that is not worth a stream, without and with cuts. An ASCII stream from 32 bytes on: as fast as `walk`
# on lines of 72. Row: split, "o200k, zh, 2 MB".
SHORT_STREAM, SHORT_CUT = 192, 48
BORDERS = U64((1 << layout.TOP_BORDER + 1) - 1)
SAVES_BIT, EMITS_BIT, USES_BIT = U64(layout.SAVES), U64(layout.EMITS_SAVED), U64(layout.USES_SAVED)
RARE_BITS = SAVES_BIT | EMITS_BIT
NONE = -1


class TransducerPointers(NamedTuple):
    """The pointers of a `Transducer`."""

    pairs: object
    second: object
    table: object
    count: object  # classes
    safe: object
    packed: Packed
    parts: object  # uint64: borders of four parts: a word that is ignored, and one for each group of GROUP characters
    borders: object  # uint64: borders of a whole stream
    cuts: CutFilter
    runs: object  # uint64: where a RUN ends in a stream
    has_runs: object
    recent: object  # uint32: where the last GROUP characters began, for `walk`


@inlined
def single_at(m, byte, row):
    """The entry of one character."""
    return m.table[row + m.count * m.count + I64(m.second[byte])]


@inlined
def end_at(m, row):
    """The entry of the end of the text."""
    return m.table[row + m.count * m.count + m.count]


@inlined
def eight(m, chars, row, borders, seen, at):
    """Walk eight characters, the first of which is `at` of its group: (row, borders of the group, entries or-ed)."""
    for k in range(4):
        entry = m.table[row + I64(m.pairs[I64(chars >> U64(16 * k) & U64(0xFFFF))])]
        borders |= (entry & BORDERS) << U64(layout.GROUP + at + 2 * k + 1 - layout.TOP_BORDER)
        seen |= entry
        row = I64(entry >> HALF)
    return row, borders, seen


@inlined
def store_group(bits, g, borders):
    """Store the borders that group g reports; some belong to the group before it."""
    bits[g] |= borders & LOW
    bits[g + 1] = borders >> HALF


@helper
def run_one(m, s, groups, g, row, bits):
    """Walk the groups of a part from g on: (the next group, row)."""
    while g < groups:
        borders, seen, after = ZERO, ZERO, row
        for k in range(0, layout.GROUP, 8):
            after, borders, seen = eight(m, load64(s, g * layout.GROUP + k), after, borders, seen, k)
        # Only `walk` has a saved place: the stream ends before this group.
        if seen & RARE_BITS != ZERO:
            break
        store_group(bits, g, borders)
        row = after
        g += 1
    return g, row


@helper
def run_four(m, s, b, c, d, groups):
    """Walk `groups` groups of each of the parts at s, s + b, s + c and s + d: (groups walked, row of each part)."""
    row_a, row_b, row_c, row_d, g = I64(0), I64(0), I64(0), I64(0), I64(0)
    parts = m.parts
    while g < groups:
        next_a, next_b, next_c, next_d, seen = row_a, row_b, row_c, row_d, ZERO
        borders_a, borders_b, borders_c, borders_d = ZERO, ZERO, ZERO, ZERO
        for k in range(0, layout.GROUP, 8):
            i = g * layout.GROUP + k
            next_a, borders_a, seen = eight(m, load64(s, i), next_a, borders_a, seen, k)
            next_b, borders_b, seen = eight(m, load64(s, i + b), next_b, borders_b, seen, k)
            next_c, borders_c, seen = eight(m, load64(s, i + c), next_c, borders_c, seen, k)
            next_d, borders_d, seen = eight(m, load64(s, i + d), next_d, borders_d, seen, k)
        if seen & RARE_BITS != ZERO:
            break
        store_group(parts, g, borders_a)
        store_group(parts, g + layout.PART_WORDS, borders_b)
        store_group(parts, g + 2 * layout.PART_WORDS, borders_c)
        store_group(parts, g + 3 * layout.PART_WORDS, borders_d)
        row_a, row_b, row_c, row_d = next_a, next_b, next_c, next_d
        g += 1
    return g, row_a, row_b, row_c, row_d


@helper
def set_borders(bits, i, entry):
    """Set the borders that the step to character i reports."""
    borders = entry & BORDERS
    while borders != ZERO:
        at = i - layout.TOP_BORDER + trailing_zeros(borders)
        bits[1 + at // layout.GROUP] |= ONE << U64(at % layout.GROUP)
        borders &= borders - ONE


@helper
def run_rest(m, s, i, n, row, bits):
    """Walk the characters i..n after the last whole group, and the end of the text; False at a rare entry."""
    bits[1 + i // layout.GROUP], bits[1 + n // layout.GROUP] = ZERO, ZERO
    while i < n:
        entry = single_at(m, s[i], row)
        if entry & RARE_BITS != ZERO:
            return False
        set_borders(bits, i, entry)
        row = I64(entry >> HALF)
        i += 1
    entry = end_at(m, row)
    set_borders(bits, n, entry)
    return entry & RARE_BITS == ZERO


@helper
def finish_part(m, s, begin, n, ended, g, row, bits):
    """Walk the rest of a part of n characters and, if `ended`, the end of the text; False at a rare entry.

    Adds the part's borders to those of the stream.
    """
    groups = n // layout.GROUP
    g, row = run_one(m, advance(s, begin), groups, g, row, bits)
    whole = g == groups
    if whole and ended:
        whole = run_rest(m, advance(s, begin), g * layout.GROUP, n, row, bits)
        g += 1
    bits[1] &= ~ONE  # the caller sets the border where a part begins
    for k in range(g):
        at = begin + k * layout.GROUP
        shift = U64(at % layout.LANES)
        m.borders[at // layout.LANES] |= bits[k + 1] << shift
        # A group is half a word of `borders`: from there on it reaches into the next one.
        if shift > HALF:
            m.borders[at // layout.LANES + 1] |= bits[k + 1] >> (U64(layout.LANES) - shift)
    return whole


@helper
def cut_near(m, s, at, least):
    """The last place up to `at` and after `least` where a stream may be cut, or 0."""
    while at > least:
        if m.safe[I64(m.second[s[at - 1]]) * m.count + I64(m.second[s[at]])] != 0:
            return at
        at -= 1
    return 0


@helper
def split_stream(m, s, n, ended):
    """Write the borders of words of a stream of n characters to m.borders; whether these are all.

    With `ended`, the text ends there. Otherwise the last words may be missing; so are all after a rare entry.
    """
    for k in range(n // layout.LANES + 2):
        m.borders[k] = ZERO
    parts = m.parts
    for k in range(4):
        parts[k * layout.PART_WORDS], parts[k * layout.PART_WORDS + 1] = ZERO, ZERO
    # At a safe place a word ends whatever comes before it, so a walk from state 0 finds the same words from there on.
    b, c, d = I64(0), I64(0), cut_near(m, s, n // 4 * 3, n // 2)
    if d > 0:
        c = cut_near(m, s, n // 2, n // 4)
    if c > 0:
        b = cut_near(m, s, n // 4, 0)
    if b == 0:
        return finish_part(m, s, 0, n, ended, I64(0), I64(0), parts) and ended
    groups = min(min(b, c - b), min(d - c, n - d)) // layout.GROUP
    g, row_a, row_b, row_c, row_d = run_four(m, s, b, c, d, groups)
    if not finish_part(m, s, 0, b, True, g, row_a, parts):
        return False
    m.borders[b // layout.LANES] |= ONE << U64(b % layout.LANES)
    if not finish_part(m, s, b, c - b, True, g, row_b, advance(parts, layout.PART_WORDS)):
        return False
    m.borders[c // layout.LANES] |= ONE << U64(c % layout.LANES)
    if not finish_part(m, s, c, d - c, True, g, row_c, advance(parts, 2 * layout.PART_WORDS)):
        return False
    m.borders[d // layout.LANES] |= ONE << U64(d % layout.LANES)
    return finish_part(m, s, d, n - d, ended, g, row_d, advance(parts, 3 * layout.PART_WORDS)) and ended


@helper
def split_plain(m, p, n, ended, base, ends, count):
    """Write the word ends of n ASCII characters, relative to `base`: (new count, whether these are all)."""
    whole = split_stream(m, p, n, ended)
    for k in range(n // layout.LANES + 1):
        count = write_bits(ends, count, base + k * layout.LANES, m.borders[k])
    return count, whole


@helper
def split_packed(m, p, start, stop, limit, base, ends, count):
    """Write word ends of p[start:limit] or less of it, relative to `base`: (new count, whether these are all)."""
    q = m.packed
    n, blocks, at = pack(q, p, start, stop, limit)
    whole = split_stream(m, q.stream, n, at == stop)
    q.masks[blocks], q.bases[blocks] = ONE, U64(at - start)
    if q.with_members:
        last = last_border(m.borders, n)
        if add_cuts(m.cuts, m.borders, last) and m.has_runs:
            join_runs(m.cuts, m.borders, m.runs, last)
            return unpack_runs(q, m.borders, m.runs, blocks + 1, base, ends, count), whole
    return unpack(q, m.borders, blocks + 1, base, ends, count), whole


@helper
def emit_ends(m, entry, n, saved, ends, count):
    """Write the word ends that the step to character n reports; their new number."""
    if entry & EMITS_BIT != ZERO:
        ends[count] = saved
        count += 1
    borders = entry & BORDERS
    while borders != ZERO:
        d = layout.TOP_BORDER - trailing_zeros(borders)
        if d < n:
            ends[count] = m.recent[(n - d) % layout.GROUP]
            count += 1
        borders &= borders - ONE
    return count


@helper
def walk(m, p, start, i, stop, ends, count):
    """Write word ends one character at a time until there are some: (new count, whether the text ended)."""
    row, saved, n, first = I64(0), I64(NONE), I64(0), count
    recent = m.recent
    while i < stop:
        code, length = decode_at(p, i, stop)
        recent[n % layout.GROUP] = i - start
        entry = single_at(m, m.packed.classes[code if code >= 0 else layout.INVALID], row)
        count = emit_ends(m, entry, n, saved, ends, count)
        if entry & USES_BIT == ZERO:
            saved = I64(NONE)
        if entry & SAVES_BIT != ZERO:
            saved = I64(recent[(n - layout.REACH) % layout.GROUP])
        row = I64(entry >> HALF)
        n += 1
        i += length
        # Not while a place is saved: the next scan starts at the last word end, in state 0.
        if n >= SHORT_STREAM and count > first and saved == NONE:
            return count, False
    recent[n % layout.GROUP] = i - start
    return emit_ends(m, end_at(m, row), n, saved, ends, count), True


@helper
def scan_transducer(m, p, start, stop, ends, count, capacity):
    """Write the ends of the words of p[start:stop], relative to `start`; stop early when `ends` is nearly full."""
    i, ended, first = start, start == stop, count
    short = SHORT_CUT if m.packed.with_members else SHORT_STREAM
    while not ended:
        room = capacity - count - 2 * layout.LANES
        if count > first and room < min(layout.STREAM, stop - i):
            break
        more = count
        if stop - i > short:
            limit = min(stop, i + min(layout.STREAM, room))
            plain = plain_length(p, i, limit)
            if plain >= short or i + plain == stop:
                more, ended = split_plain(m, advance(p, i), plain, i + plain == stop, i - start, ends, count)
            else:
                more, ended = split_packed(m, p, i, stop, limit, i - start, ends, count)
        # No word end in this stretch: its word is longer, or it has a rare entry. `walk` continues until there is one.
        if more == count and not ended:
            more, ended = walk(m, p, start, i, stop, ends, count)
        if more > count:
            i = start + I64(U64(ends[more - 1]) & U64(layout.PLACE))
        count = more
    return count


@inlined
def transducer_pointers(transducer):
    """The pointers of a transducer."""
    cuts, second, words = transducer.cuts, pointer(transducer.second), pointer(transducer.words)
    packed = Packed(
        classes=pointer(transducer.classes),
        members=pointer(cuts.members),
        with_members=len(cuts.bits) > 0,
        stream=pointer(transducer.stream),
        found=pointer(cuts.found),
        codes=pointer(cuts.codes),
        masks=advance(words, 6 * layout.PART_WORDS),
        bases=advance(words, 6 * layout.PART_WORDS + layout.BLOCKS),
    )
    return TransducerPointers(
        pairs=pointer(transducer.pairs),
        second=second,
        table=pointer(transducer.entries),
        count=I64(second[layout.CLASSES_COUNT]),
        safe=pointer(transducer.safe),
        packed=packed,
        parts=words,
        borders=advance(words, 4 * layout.PART_WORDS),
        cuts=CutFilter(pointer(cuts.bits), U64(max(len(cuts.bits), 1) - 1), pointer(cuts.found), pointer(cuts.codes)),
        runs=advance(words, 6 * layout.PART_WORDS + 2 * layout.BLOCKS),
        has_runs=len(transducer.runs) > 0,
        recent=pointer(transducer.recent),
    )


@kernel
def split_text(text: U8s, start: Int, stop: Int, transducer: Transducer, ends: U32s) -> Int:
    """Write word ends of text[start:stop] relative to `start`; their number. Stops early if `ends` is nearly full.

    `ends` has room for LEAST_ENDS words or more. Same words as the transducer applied step by step.
    """
    return scan_transducer(
        transducer_pointers(transducer), pointer(text), start, stop, pointer(ends), I64(0), len(ends)
    )


@kernel
def split_texts(text: U8s, bounds: I64s, first: Int, transducer: Transducer, ends: U32s, text_ends: I64s) -> Int:
    """Write the word ends of whole texts, text[bounds[i]:bounds[i + 1]] from i = first on, relative to bounds[first].

    Returns the index of the first text without room. text_ends[i - first + 1] is the number of words up to the
    end of text i.
    """
    m, p, b, e, mark = (
        transducer_pointers(transducer),
        pointer(text),
        pointer(bounds),
        pointer(ends),
        pointer(text_ends),
    )
    count, i = I64(0), first
    mark[0] = 0
    while i + 1 < len(bounds):
        start, stop = b[i], b[i + 1]
        full = count + (stop - start) + 2 * layout.LANES > len(ends)
        if full or stop - b[first] > layout.MOST_BYTES or i - first + 1 >= len(text_ends):
            break
        more = scan_transducer(m, p, start, stop, e, count, len(ends))
        for k in range(count, more if i > first else count):
            e[k] += start - b[first]
        count = more
        i += 1
        mark[i - first] = count
    return i
