"""SentencePiece's map as HF applies it: grapheme by grapheme.

A grapheme of at most 5 bytes is replaced by the value of the shortest string of the map that it begins with. In longer
graphemes each character is replaced alone. So it is enough to look at characters that are replaced themselves, and at
those that others join.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import I64, ONE, ZERO, Int, copy64, helper, inlined, kernel, pointer, trailing_zeros
from subwords.kernels.layout import I64s, Normalized, Rules, U8s
from subwords.kernels.normalize.characters import char_before, events_at, map_hit, rule_pointers, target_pointers
from subwords.kernels.text.utf8 import decode_at

SHORT = 5  # bytes of a grapheme


class Seen(NamedTuple):
    """The state of a grapheme so far."""

    last: int  # the class of the last character
    regions: int  # consecutive GRAPHEME.regional characters
    picture: int  # 1 after GRAPHEME.pictographic and GRAPHEME.extend, 2 after GRAPHEME.zwj that follows them
    conjunct: int  # 1 after GRAPHEME.consonant, 2 after GRAPHEME.linker that follows it


@inlined
def of_hangul(last, kind):
    """Whether two characters belong to one Hangul syllable."""
    if last == layout.GRAPHEME.hangul_l:
        return kind in (
            layout.GRAPHEME.hangul_l,
            layout.GRAPHEME.hangul_v,
            layout.GRAPHEME.hangul_lv,
            layout.GRAPHEME.hangul_lvt,
        )
    if last in (layout.GRAPHEME.hangul_v, layout.GRAPHEME.hangul_lv):
        return kind in (layout.GRAPHEME.hangul_v, layout.GRAPHEME.hangul_t)
    return (last in (layout.GRAPHEME.hangul_t, layout.GRAPHEME.hangul_lvt)) and kind == layout.GRAPHEME.hangul_t


@inlined
def joins(seen, kind):
    """Whether a character continues the grapheme."""
    # UAX 29, GB3 and GB4.
    if seen.last == layout.GRAPHEME.cr or seen.last == layout.GRAPHEME.lf or seen.last == layout.GRAPHEME.control:
        return seen.last == layout.GRAPHEME.cr and kind == layout.GRAPHEME.lf
    # GB5.
    if kind in (layout.GRAPHEME.cr, layout.GRAPHEME.lf, layout.GRAPHEME.control):
        return False
    # GB9, GB9a, GB9b; GB6 to GB8.
    if (
        layout.GRAPHEME.extend <= kind <= layout.GRAPHEME.spacing
        or seen.last == layout.GRAPHEME.prepend
        or of_hangul(seen.last, kind)
    ):
        return True
    # GB9c, GB11.
    if (kind == layout.GRAPHEME.consonant and seen.conjunct == 2) or (
        kind == layout.GRAPHEME.pictographic and seen.picture == 2
    ):
        return True
    # GB12, GB13: flags are pairs.
    return kind == layout.GRAPHEME.regional and seen.regions % 2 == 1


@inlined
def after(seen, kind):
    """The state with one more character."""
    picture, conjunct = I64(0), I64(0)
    if kind == layout.GRAPHEME.pictographic or (
        layout.GRAPHEME.extend <= kind <= layout.GRAPHEME.zwnj and seen.picture == 1
    ):
        picture = I64(1)
    elif kind == layout.GRAPHEME.zwj and seen.picture == 1:
        picture = I64(2)
    if kind == layout.GRAPHEME.consonant:
        conjunct = I64(1)
    elif kind == layout.GRAPHEME.linker and seen.conjunct > 0:
        conjunct = I64(2)
    elif kind in (layout.GRAPHEME.extend, layout.GRAPHEME.zwj):
        conjunct = I64(seen.conjunct)
    regions = I64(seen.regions + 1) if kind == layout.GRAPHEME.regional else I64(0)
    return Seen(I64(kind), regions, picture, conjunct)


@helper
def grapheme(kinds, p, i, stop):
    """The numbers of bytes and of characters of the grapheme at p[i]."""
    code, length = decode_at(p, i, stop)
    seen = after(
        Seen(I64(layout.GRAPHEME.control), I64(0), I64(0), I64(0)), kinds[code if code >= 0 else layout.INVALID]
    )
    k, count = i + length, I64(1)
    while k < stop:
        code, length = decode_at(p, k, stop)
        kind = kinds[code if code >= 0 else layout.INVALID]
        if not joins(seen, kind):
            break
        seen = after(seen, kind)
        k += length
        count += 1
    return k - i, count


# ------------------------------------------------------------------ results


@helper
def first_hit(r, p, i, stop):
    """The value of the shortest string of the map at p[i], or -1."""
    return map_hit(r, p, i, stop, 1)[0]


@helper
def put_value(r, w, j, value, count, last):
    """Write the replacement of `count` characters: (the place after it, where the last character is).

    In the source stands, for every character, how many characters of the text it takes.
    """
    start, size = (
        I64(r.values[value * layout.VALUE.width + layout.VALUE.start]),
        I64(r.values[value * layout.VALUE.width + layout.VALUE.size]),
    )
    chars = I64(0)
    for k in range(size):
        byte = r.arena[start + k]
        w.text[j + k] = byte
        if w.tracked:
            w.source[j + k] = layout.INNER
            if byte >> 6 != 2:
                last = j + k
                w.source[last] = I64(chars < count)
                chars += 1
    if w.tracked and chars < count and last >= 0:
        w.source[last] += count - chars
    return j + size, last


@helper
def put_chars(w, p, i, upto, j, last):
    """Write characters unchanged: (the place after them, where the last character is)."""
    for k in range(upto - i):
        w.text[j + k] = p[i + k]
    if w.tracked:
        while i < upto:
            _, length = decode_at(p, i, upto)
            last = j
            for k in range(length):
                w.source[j + k] = layout.INNER
            w.source[j] = 1
            i += length
            j += length
        return j, last
    return j + upto - i, last


class Place(NamedTuple):
    """How far a text is written."""

    i: int
    j: int  # in the result
    last: int  # where the last character of the result is, or -1
    lost: int  # characters replaced by nothing before any was written
    alone: int  # characters before this place are replaced one by one


@helper
def put_alone(r, w, p, at):
    """Write the characters up to at.alone one by one, while there is room."""
    i, j, last, lost = at.i, at.j, at.last, at.lost
    while i < at.alone and j + r.settings[layout.RULE.longest] + 4 * layout.LANES <= w.room:
        code, length = decode_at(p, i, at.alone)
        value = first_hit(r, p, i, i + length) if code >= 0 else I64(-1)
        if value >= 0:
            j, last = put_value(r, w, j, value, I64(1), last)
            lost += I64(last < 0)
        else:
            j, last = put_chars(w, p, i, i + length, j, last)
        i += length
    return Place(i, j, last, lost, at.alone)


@helper
def put_grapheme(r, w, kinds, p, begin, stop, at):
    """Write the grapheme at p[at.i] of the text p[begin:stop], or as much of it as there is room for."""
    i, j, last, lost = at.i, at.j, at.last, at.lost
    size, count = grapheme(kinds, p, i, stop)
    value = I64(-1)
    if size <= SHORT and not inside(kinds, p, begin, i, stop):
        value = first_hit(r, p, i, i + size)
    if value < 0:
        return put_alone(r, w, p, Place(i, j, last, lost, i + size))
    j, last = put_value(r, w, j, value, count, last)
    if last < 0:
        lost += count
    return Place(i + size, j, last, lost, i + size)


@helper
def inside(kinds, p, begin, i, stop):
    """Whether p[i] continues a Hangul syllable, which then is longer than SHORT."""
    if i == begin or p[i] < 0x80:
        return False
    before, _ = char_before(p, i, begin)
    code, _ = decode_at(p, i, stop)
    return code >= 0 and of_hangul(kinds[before], kinds[code])


@helper
def put_plain(w, p, upto, at):
    """Copy p[at.i:upto], at most LANES bytes."""
    j, last = at.j, at.last
    if w.tracked:
        j, last = put_chars(w, p, at.i, upto, j, last)
    else:
        copy64(w.text, j, p, at.i)
        j += upto - at.i
    return Place(upto, j, last, at.lost, upto)


@helper
def put_events(r, w, kinds, p, begin, upto, events, stop, at):
    """Write p[at.i:upto] while there is room, and look only at `events`."""
    base = at.i
    while events != ZERO:
        place = base + trailing_zeros(events)
        events &= events - ONE
        # Inside a grapheme that is written already.
        if place < at.i:
            continue
        if at.i < place:
            at = put_plain(w, p, place, at)
        if at.j + r.settings[layout.RULE.longest] + 4 * layout.LANES > w.room:
            return at
        at = put_grapheme(r, w, kinds, p, begin, stop, at)
        if at.i < at.alone:
            return at
    return put_plain(w, p, upto, at) if at.i < upto else at


@helper
def put_grapheme_text(r, w, kinds, p, begin, stop, at):
    """Write a text, or as much of it as there is room for."""
    while at.i < stop and at.j + r.settings[layout.RULE.longest] + 4 * layout.LANES <= w.room:
        if at.i < at.alone:
            at = put_alone(r, w, p, at)
            continue
        size = min(layout.LANES, stop - at.i)
        events, upto = events_at(r, w, p, at.i, size, stop)
        if upto > at.i:
            at = put_events(r, w, kinds, p, begin, upto, events, stop, at)
        else:
            at = put_grapheme(r, w, kinds, p, begin, stop, at)
    return at


@kernel
def grapheme_texts(text: U8s, bounds: I64s, rules: Rules, stream: U8s, out: Normalized, progress: I64s) -> Int:
    """Write the normalized texts text[bounds[t] : bounds[t + 1]]: DONE or NEED_OUT.

    stream: scratch of 3 * LANES bytes. The source of a character's first byte is how many characters of the text it
    takes; that of other bytes is INNER.
    """
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    r, w, kinds = rule_pointers(rules), target_pointers(text, stream, out), pointer(rules.kinds)
    t, at = (
        s[layout.PROGRESS.text],
        Place(
            s[layout.PROGRESS.byte],
            s[layout.PROGRESS.out],
            s[layout.GRAPHEMES.last],
            s[layout.GRAPHEMES.lost],
            s[layout.GRAPHEMES.alone_upto],
        ),
    )
    status = layout.DONE
    while t < len(bounds) - 1:
        at = put_grapheme_text(r, w, kinds, p, b[t], b[t + 1], at)
        if at.i < b[t + 1]:
            status = layout.NEED_OUT
            break
        t += 1
        ends[t] = at.j
        at = Place(at.i, at.j, I64(-1), at.lost, at.alone)
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, at.i, at.j
    s[layout.GRAPHEMES.last], s[layout.GRAPHEMES.lost], s[layout.GRAPHEMES.alone_upto] = at.last, at.lost, at.alone
    return status


@kernel
def grapheme_sources(takes: I64s, ends: I64s, text: U8s, bounds: I64s, skipped: Int, source: I64s) -> Int:
    """Write where the character begins that each byte written by `grapheme_texts` comes from; the number of bytes.

    takes: the source that it writes. Text t of the result has the bytes ends[t] to ends[t + 1]. The first `skipped`
    characters of each text have no result. -1 for a byte that comes from no character.
    """
    x, e, p, b, s = pointer(takes), pointer(ends), pointer(text), pointer(bounds), pointer(source)
    for t in range(len(bounds) - 1):
        at, stop, before, place, count = b[t], b[t + 1], I64(-1), I64(-1), I64(skipped)
        for j in range(e[t], e[t + 1]):
            if x[j] != layout.INNER:
                while count > 0 and at < stop:
                    _, size = decode_at(p, at, stop)
                    before, at, count = at, at + size, count - 1
                place, count = at if x[j] > 0 and at < stop else before, x[j]
            s[j] = place
    return e[len(bounds) - 1]
