"""Normalization of many texts at once: characters replaced by a table, and the ends of texts.

Every normalizing kernel writes all texts one after the other, where each of them ends and, if asked to, for every byte
of the result the place of the byte it stands for. If there is no room, the kernel stops between two characters and
returns NEED_OUT; `progress` says where to continue.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.arithmetic import classify
from subwords.kernels.jit import (
    I64,
    ONE,
    U64,
    ZERO,
    Int,
    add64,
    char_at,
    copy64,
    deposit,
    helper,
    inlined,
    kernel,
    leading_zeros,
    pointer,
    popcount,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import CharacterRuns, I64s, Literal, Normalized, Replacements, TextEnds, U8s
from subwords.kernels.split.masks import low_bits, not_characters
from subwords.kernels.text.utf8 import decode_at

FAR_LEAD = 0xE3  # the first byte of the characters from layout.NEAR_CODES on


class Output(NamedTuple):
    """Where the result goes."""

    text: object
    source: object  # int64: for every byte, the place of the byte it stands for
    tracked: bool  # whether `source` is written
    room: int  # bytes of text
    limit: int  # bytes of the input that may be read


class ReplacementPointers(NamedTuple):
    """The pointers of `Replacements`."""

    shifts: object
    ranges: int  # in `shifts`
    near: object
    entries: object
    arena: object


@inlined
def keep(w, j, p, i, size):
    """Copy p[i : i + size]; the place after it. LANES bytes more may be overwritten."""
    k = I64(0)
    while k < size:
        if i + k + layout.LANES <= w.limit:
            copy64(w.text, j + k, p, i + k)
            k += layout.LANES
        else:
            w.text[j + k] = p[i + k]
            k += 1
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i + k
    return j + size


@inlined
def put_replacement(w, j, arena, start, size, at):
    """Write a replacement of the character at p[at]; the place after it. LANES bytes may be overwritten."""
    copy64(w.text, j, arena, start)
    for k in range(layout.LANES, size):
        w.text[j + k] = arena[start + k]
    if w.tracked:
        for k in range(size):
            w.source[j + k] = at
    return j + size


@inlined
def width(p, i):
    """The length of the valid character at p[i]."""
    lead = p[i]
    return I64(1) + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)


@inlined
def valid_starts(p, i, size):
    """Bit k: a character begins at p[i + k], for characters that end within `size` bytes; 0 if any is invalid.

    Reads LANES + 1 bytes; p[i] begins a character.
    """
    inside = low_bits(size)
    high, inner = range_mask(p, i, 0x80, 0xFF) & inside, range_mask(p, i, 0x80, 0xBF) & inside
    three, four = range_mask(p, i, 0xE0, 0xEF) & inside, range_mask(p, i, 0xF0, 0xF4) & inside
    longer = three | four
    leads = range_mask(p, i, 0xC2, 0xDF) & inside | longer
    follow = (leads << ONE | longer << U64(2) | four << U64(3)) & inside
    # Inner bytes exactly where leads want them, no other bytes but leads, no forbidden forms.
    if inner ^ follow | high ^ inner ^ leads | not_characters(p, i) & inside != ZERO:
        return ZERO
    # Leads of characters that end beyond `size`: the result stops before the first of them.
    over = leads & ~(inside >> ONE) | longer & ~(inside >> U64(2)) | four & ~(inside >> U64(3))
    return ~inner & low_bits(min(trailing_zeros(over), size))


# ------------------------------------------------------------------ characters, each for itself


@inlined
def map_plain(m, w, p, i, j, size):
    """Write LANES ASCII bytes, `size` of which are wanted; whether these become one ASCII byte each."""
    odd = ZERO
    copy64(w.text, j, p, i)
    for r in range(m.ranges):
        first, last, more = I64(m.shifts[3 * r]), I64(m.shifts[3 * r + 1]), I64(m.shifts[3 * r + 2])
        if more != 0:
            add64(w.text, j, p, i, first, last, more)
        else:
            odd |= range_mask(p, i, first, last)
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i + k
    return odd & low_bits(size) == ZERO


@helper
def map_near(m, w, p, i, j, starts):
    """Do as `map_valid` for characters below NEAR: one look for each, and no branch where nearly all change."""
    at = i
    while starts != ZERO:
        at = i + trailing_zeros(starts)
        starts &= starts - ONE
        code = char_at(p, at)
        value = I64(m.near[code])
        size = value >> 24
        if size == layout.FAR_CHARACTER:
            entry = I64(m.entries[code])
            if entry == layout.STOP:
                return at, j, False
            j = put_replacement(w, j, m.arena, entry >> layout.ENTRY_SHIFT, entry & layout.LONGEST_ENTRY, at)
            continue
        w.text[j], w.text[j + 1], w.text[j + 2] = value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF
        if w.tracked:
            kept = I64(m.entries[code]) == 0  # then each byte comes from itself
            for k in range(size):
                w.source[j + k] = at + k if kept else at
        j += size
    return at + width(p, at), j, True


@helper
def map_valid(m, w, p, i, j, starts):
    """Write the valid characters at p[i + k] for every bit k: (place, place in the result, False at a STOP)."""
    run = at = i
    entry = I64(0)
    while starts != ZERO:
        at = i + trailing_zeros(starts)
        starts &= starts - ONE
        entry = I64(m.entries[char_at(p, at)])
        if entry != 0:
            if run < at:
                j = keep(w, j, p, run, at - run)
            if entry == layout.STOP:
                return at, j, False
            j = put_replacement(w, j, m.arena, entry >> layout.ENTRY_SHIFT, entry & layout.LONGEST_ENTRY, at)
            run = at + width(p, at)
    at += width(p, at)
    return at, keep(w, j, p, run, at - run), True


@helper
def map_any(m, w, p, i, j, stop):
    """Write the characters that begin in the next LANES bytes, valid or not; returns as `map_valid`."""
    run, upto = i, min(i + layout.LANES, stop)
    while i < upto:
        code, length = decode_at(p, i, stop)
        entry = I64(m.entries[code if code >= 0 else layout.INVALID])
        if entry != 0:
            j = keep(w, j, p, run, i - run)
            if entry == layout.STOP:
                return i, j, False
            j = put_replacement(w, j, m.arena, entry >> layout.ENTRY_SHIFT, entry & layout.LONGEST_ENTRY, i)
            run = i + length
        i += length
    return i, keep(w, j, p, run, i - run), True


@helper
def map_text(m, w, p, i, j, stop):
    """Write a text up to `stop`: (place, place in the result, status)."""
    while i < stop:
        if j + layout.BLOCK_GROWTH > w.room:
            return i, j, layout.NEED_OUT
        size, starts = min(layout.LANES, stop - i), ZERO
        if i + layout.LANES + 3 <= w.limit:
            if range_mask(p, i, 0x80, 0xFF) & low_bits(size) == ZERO and map_plain(m, w, p, i, j, size):
                i += size
                j += size
                continue
            starts = valid_starts(p, i, size)
        if starts != ZERO and range_mask(p, i, FAR_LEAD, 0xFF) & starts == ZERO:
            i, j, known = map_near(m, w, p, i, j, starts)
        elif starts != ZERO:
            i, j, known = map_valid(m, w, p, i, j, starts)
        else:
            i, j, known = map_any(m, w, p, i, j, stop)
        if not known:
            return i, j, layout.UNKNOWN
    return i, j, layout.DONE


@inlined
def output_pointers(text, out):
    """The pointers and limits of a `Normalized`."""
    return Output(pointer(out.text), pointer(out.source), len(out.source) > 0, len(out.text), len(text))


@kernel
def map_texts(text: U8s, bounds: I64s, replacements: Replacements, out: Normalized, progress: I64s) -> Int:
    """Replace characters in text[bounds[t] : bounds[t + 1]]: DONE, NEED_OUT, or UNKNOWN at a STOP."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    m = ReplacementPointers(
        shifts=pointer(replacements.shifts),
        ranges=len(replacements.shifts) // 3,
        near=pointer(replacements.near),
        entries=pointer(replacements.entries),
        arena=pointer(replacements.arena),
    )
    w = output_pointers(text, out)
    t, i, j, status = s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out], layout.DONE
    while t < len(bounds) - 1 and status == layout.DONE:
        i, j, status = map_text(m, w, p, i, j, b[t + 1])
        if status == layout.DONE:
            t += 1
            ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    return status


# ------------------------------------------------------------------ ends of texts


@helper
def char_before(p, i, start):
    """The character that ends at p[i] as (code point, length); (INVALID, 1) for a byte that ends none."""
    at = i - 1
    while at > start and i - at < 4 and p[at] >> 6 == 2:
        at -= 1
    code, length = decode_at(p, at, i)
    if code >= 0 and at + length == i:
        return code, length
    return I64(layout.INVALID), I64(1)


@helper
def solid_part(p, white, i, stop):
    """Where text p[i:stop] begins and stops without whitespace at its ends."""
    while i < stop:
        code, length = decode_at(p, i, stop)
        if code < 0 or white[code] == 0:
            break
        i += length
    while stop > i:
        code, length = char_before(p, stop, i)
        if white[code] == 0:
            break
        stop -= length
    return i, stop


@kernel
def trim_texts(text: U8s, bounds: I64s, at_ends: TextEnds, out: Normalized, progress: I64s) -> Int:
    """Remove whitespace at the ends of text[bounds[t] : bounds[t + 1]], then put the prefix before it.

    Returns DONE, or NEED_OUT before a text. The prefix has the source of the first character, or -1.
    """
    p, b, s, ends, white = (
        pointer(text), pointer(bounds), pointer(progress), pointer(out.ends), pointer(at_ends.whitespace)
    )  # fmt: skip
    settings, prefix, size = pointer(at_ends.settings), pointer(at_ends.prefix), len(at_ends.prefix) - layout.LANES
    left, right, fills = settings[0] != 0, settings[1] != 0, settings[2] != 0
    w = output_pointers(text, out)
    t, j = s[layout.PROGRESS.text], s[layout.PROGRESS.out]
    while t < len(bounds) - 1:
        begin, end = b[t], b[t + 1]
        if left or right:
            first, last = solid_part(p, white, begin, end)
            begin, end = first if left or first == last else begin, last if right or first == last else end
        if j + (end - begin) + size + 2 * layout.LANES > w.room:
            s[layout.PROGRESS.text], s[layout.PROGRESS.out] = t, j
            return layout.NEED_OUT
        if size > 0 and (end > begin or fills):
            j = put_replacement(w, j, prefix, 0, size, begin if end > begin else I64(-1))
        j = keep(w, j, p, begin, end - begin)
        t += 1
        ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.out] = t, j
    return layout.DONE


@kernel
def char_spans(text: U8s, spans: I64s) -> Int:
    """Write for every byte where its character begins, and then for every byte where its character ends."""
    p, s, n, i = pointer(text), pointer(spans), len(text), 0
    while i < n:
        _, length = decode_at(p, i, n)
        for k in range(i, i + length):
            s[k], s[n + k] = i, i + length
        i += length
    return 0


@kernel
def last_safe(text: U8s, at: Int, safe: U8s) -> Int:
    """The last place in text[:at], before a whole character, where the text may be cut, or 0.

    safe: by code point what a character needs of the one before it, then what a character gives, as bits.
    """
    p, ok = pointer(text), pointer(safe)
    i = at - 1
    while i > 0:
        if p[i] >> 6 != 2:
            code, _ = decode_at(p, i, at)
            # The text may end inside this character; with four bytes of it, an invalid byte is really invalid.
            if code >= 0 or i + 4 <= at:
                needs = ok[code if code >= 0 else layout.INVALID]
                if needs == 0:
                    return i
                if needs < layout.UNCUT and needs & ~ok[layout.INVALID + 1 + char_before(p, i, 0)[0]] == 0:
                    return i
        i -= 1
    return 0


@helper
def find_literal(p, i, stop, pattern, size):
    """Where a string of `size` bytes is next in p[i:stop]; `stop` if it is not there."""
    first = I64(pattern[0])
    while i + size <= stop:
        if i + 64 <= stop:
            found = range_mask(p, i, first, first)
            if found == ZERO:
                i += 64
                continue
            i += trailing_zeros(found)
            if i + size > stop:
                break
        k = I64(0)
        while k < size and p[i + k] == pattern[k]:
            k += 1
        if k == size:
            return i
        i += 1
    return stop


@kernel
def literal_texts(text: U8s, bounds: I64s, literal: Literal, out: Normalized, progress: I64s) -> Int:
    """Replace a string in text[bounds[t] : bounds[t + 1]], leftmost first: DONE or NEED_OUT."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    pattern, content = pointer(literal.pattern), pointer(literal.content)
    length, size = len(literal.pattern), len(literal.content) - layout.LANES
    w = output_pointers(text, out)
    t, i, j, status = s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out], layout.DONE
    while t < len(bounds) - 1 and status == layout.DONE:
        stop = b[t + 1]
        at = find_literal(p, i, stop, pattern, length)
        if j + (at - i) + size + 2 * layout.LANES > w.room:
            status = layout.NEED_OUT
        elif at < stop:
            j = put_replacement(w, keep(w, j, p, i, at - i), content, 0, size, at + length - 1)
            i = at + length
        else:
            i, j, t = stop, keep(w, j, p, i, stop - i), t + 1
            ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    return status


# ---------------------------------------------------------------------------------------------------------------------
# Blocks of 64 bytes of text: which characters need a look, because a string of the map may begin there.
#
# `classes` has it for every code point. A character of class CHARACTER.plain is copied. One of class CHARACTER.first
# or CHARACTER.both needs a look if the next one may come second (CHARACTER.second, CHARACTER.both or
# CHARACTER.mapped_second); one of a higher class than CHARACTER.second always needs one.

LEAF, FAR_UNIT, VALUE, LABEL = U64(1 << 8), U64(1 << 9), U64((1 << 31) - 1), U64(1 << 31 | 0xFF)
NONE = -1


class RulePointers(NamedTuple):
    """The pointers of `Rules`."""

    classes: object
    units: object
    values: object
    arena: object
    users: object
    pieces: object
    settings: object
    ranges: object
    kinds: object


class NormalizedOutput(NamedTuple):
    """The output, and scratch."""

    text: object
    source: object  # int64: where the characters that a byte stands for begin
    tracked: bool  # whether `source` is written
    room: int  # bytes of text
    limit: int  # bytes of the input that may be read
    stream: object


@inlined
def rule_pointers(rules):
    """The pointers of rules."""
    return RulePointers(
        classes=pointer(rules.classes),
        units=pointer(rules.units),
        values=pointer(rules.values),
        arena=pointer(rules.arena),
        users=pointer(rules.users),
        pieces=pointer(rules.pieces),
        settings=pointer(rules.settings),
        ranges=pointer(rules.ranges),
        kinds=pointer(rules.kinds),
    )


@inlined
def target_pointers(text, stream, out):
    """The pointers and limits of the output."""
    return NormalizedOutput(
        text=pointer(out.text),
        source=pointer(out.source),
        tracked=len(out.source) > 0,
        room=len(out.text),
        limit=len(text),
        stream=pointer(stream),
    )


@helper
def map_hit(r, p, i, stop, most):
    """The longest string of the map at p[i] among the `most` shortest: (its value or NONE, its length)."""
    unit, node, hits, value, length, k = U64(r.units[0]), U64(0), 0, I64(NONE), I64(0), i
    node ^= unit >> U64(10) << ((unit & FAR_UNIT) >> U64(6))
    while k < stop and hits < most and p[k] != 0:
        node ^= U64(p[k])
        unit = U64(r.units[I64(node)])
        if unit & LABEL != U64(p[k]):
            break
        node ^= unit >> U64(10) << ((unit & FAR_UNIT) >> U64(6))
        k += 1
        if unit & LEAF != ZERO:
            value, length = I64(U64(r.units[I64(node)]) & VALUE), k - i
            hits += 1
    return value, length


@inlined
def ascii_events(r, p, i, size, stop):
    """The ASCII bytes that need a look."""
    events = ZERO
    for k in range(r.settings[layout.RULE.ranges]):
        events |= range_mask(p, i, r.ranges[2 * k], r.ranges[2 * k + 1])
    if r.settings[layout.RULE.joins_high] != 0 and i + size < stop and p[i + size] >= 0x80:
        events |= ONE << U64(size - 1)
    return events & low_bits(size)


@helper
def char_events(r, w, p, i, starts, after):
    """The first bytes of the valid characters that need a look; `after`: whether what follows may come second."""
    q, n = w.stream, popcount(starts)
    if range_mask(p, i, 0xF0, 0xFF) & starts != ZERO:
        k, rest = I64(0), starts
        while rest != ZERO:
            q[k] = r.classes[char_at(p, i + trailing_zeros(rest))]
            rest &= rest - ONE
            k += 1
    else:
        classify(q, 0, r.classes, p, i, starts)
    seconds = range_mask(q, 0, layout.CHARACTER.both, layout.CHARACTER.mapped_second) >> ONE
    if after:
        seconds |= ONE << U64(n - 1)
    else:
        seconds &= ~(ONE << U64(n - 1))
    found = (
        range_mask(q, 0, layout.CHARACTER.mapped_second, layout.CHARACTER.mapped_space)
        | range_mask(q, 0, layout.CHARACTER.first, layout.CHARACTER.both) & seconds
    )
    return deposit(found & low_bits(n), starts)


@helper
def events_at(r, w, p, i, size, stop):
    """The bytes of p[i : i + size] that need a look, and where the block ends; (0, i) near the end of the input."""
    if i + 2 * layout.LANES + 3 > w.limit:
        return ZERO, i
    if range_mask(p, i, 0x80, 0xFF) & low_bits(size) == ZERO:
        return ascii_events(r, p, i, size, stop), i + size
    starts = valid_starts(p, i, size)
    if starts == ZERO:
        return ZERO, i
    last = i + 63 - leading_zeros(starts)
    upto = last + width(p, last)
    after = upto < stop and (p[upto] >= 0x80 or r.settings[layout.RULE.joins_ascii] != 0)
    return char_events(r, w, p, i, starts, after), upto


# ---------------------------------------------------------------------------------------------------------------------
# Normalization of many texts at once: runs of characters of one set become another text; see `characters.py`.
#
# A run of one byte that is the content already stays in the text around it: most spaces of most texts are such runs.


class RunPointers(NamedTuple):
    """The pointers of `Runs`."""

    members: object
    low: int
    content: object
    size: int  # bytes of the content


@helper
def run_end(r, p, i, stop):
    """The end of the run of members that begins at p[i], and how many there are; (place, 0) if p[i] is not a member."""
    count = I64(0)
    while i < stop:
        code, length = decode_at(p, i, stop)
        if r.members[code if code >= 0 else layout.INVALID] == 0:
            break
        count += 1
        i += length
    return i, count


@helper
def replace_runs(r, w, p, i, j, stop):
    """Write a text up to `stop`: (place, place in the result, status). text[kept:i] is still to be copied."""
    kept = i
    while i < stop:
        lead = I64(p[i])
        if lead < 0x80 and r.members[lead] == 0:
            i += 1
            continue
        after, count = run_end(r, p, i, stop)
        if count == 0:
            _, length = decode_at(p, i, stop)
            i += length
            continue
        stays = count < r.low or (r.size == 1 and after == i + 1 and lead == I64(r.content[0]))
        if not stays:
            if j + (i - kept) + r.size + 2 * layout.LANES > w.room:
                return kept, j, layout.NEED_OUT
            j = keep(w, j, p, kept, i - kept)
            j = put_replacement(w, j, r.content, 0, r.size, after - 1)
            kept = after
        i = after
    if j + (stop - kept) + layout.LANES > w.room:
        return kept, j, layout.NEED_OUT
    return stop, keep(w, j, p, kept, stop - kept), layout.DONE


@kernel
def run_texts(text: U8s, bounds: I64s, runs: CharacterRuns, out: Normalized, progress: I64s) -> Int:
    """Replace the runs in text[bounds[t] : bounds[t + 1]]: DONE or NEED_OUT."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    r = RunPointers(
        pointer(runs.members), pointer(runs.low)[0], pointer(runs.content), len(runs.content) - layout.LANES
    )
    w = output_pointers(text, out)
    t, i, j, status = s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out], layout.DONE
    while t < len(bounds) - 1 and status == layout.DONE:
        i, j, status = replace_runs(r, w, p, i, j, b[t + 1])
        if status == layout.DONE:
            t += 1
            ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    return status
