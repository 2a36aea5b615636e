"""SentencePiece's normalization: strings replaced, extra spaces removed, U+2581 for spaces.

At every place the longest user-defined piece is kept; otherwise the longest string of the map is replaced; otherwise
the character is kept. Most characters begin neither: characters.py finds the others, 64 bytes of text at a time.

HF applies the map to graphemes: one of at most 5 bytes becomes the value of the shortest string of the map that it
begins with; in others, each character is replaced alone. So it is enough to look at the same characters.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, ONE, ZERO, Int, copy64, helper, inlined, kernel, pointer, trailing_zeros
from subwords.kernels.layout import I64s, Normalized, Rules, U8s
from subwords.kernels.normalize.characters import char_before, events_at, map_hit, rule_pointers, target_pointers, width
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.trie import ROOT, child, piece_of

MOST_HITS, MOST_USER_HITS = 32, 64  # as in SentencePiece: matches beyond this number are ignored
NONE = -1
SHORT_GRAPHEME = 5  # bytes of a grapheme that HF replaces as a whole

# ------------------------------------------------------------------ graphemes, as HF


@inlined
def of_hangul(last, kind):
    """Whether two characters belong to one Hangul syllable: GB6 to GB8."""
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


@helper
def joins(kinds, p, begin, i, stop):
    """Whether the character at p[i] continues the grapheme before it in p[begin:stop] (UAX 29).

    GB12 and GB13 are left out: graphemes with flags are longer than SHORT_GRAPHEME.
    """
    if i == begin:
        return False
    if p[i] < 0x80 and p[i - 1] < 0x80:
        return p[i] == 10 and p[i - 1] == 13
    code, _ = decode_at(p, i, stop)
    before, size = char_before(p, i, begin)
    kind, last = kinds[code if code >= 0 else layout.INVALID], kinds[before]
    # GB3 to GB5.
    if last == layout.GRAPHEME.cr:
        return kind == layout.GRAPHEME.lf
    if last in (layout.GRAPHEME.lf, layout.GRAPHEME.control) or layout.GRAPHEME.cr <= kind <= layout.GRAPHEME.control:
        return False
    # GB9, GB9a, GB9b.
    if (
        layout.GRAPHEME.extend <= kind <= layout.GRAPHEME.spacing
        or last == layout.GRAPHEME.prepend
        or of_hangul(last, kind)
    ):
        return True
    # GB9c: a consonant after one, marks and a linker. GB11: a pictograph after one, marks and ZWJ.
    linked, within, between = kind == layout.GRAPHEME.pictographic, I64(i), layout.GRAPHEME.zwj
    if linked and last == layout.GRAPHEME.zwj:
        within, between = within - size, layout.GRAPHEME.zwnj
    elif kind != layout.GRAPHEME.consonant:
        return False
    while within > begin:
        before, size = char_before(p, within, begin)
        last = kinds[before]
        if last != layout.GRAPHEME.extend and last != layout.GRAPHEME.linker and last != between:
            return linked and last == kind
        linked |= last == layout.GRAPHEME.linker
        within -= size
    return False


@helper
def put_grapheme(r, w, p, begin, i, stop, j):
    """Write the grapheme at p[i] if the map has it, else the character: (the place after it, place in the result)."""
    _, length = decode_at(p, i, stop)
    size = length
    value, least = map_hit(r, p, i, min(stop, i + SHORT_GRAPHEME), 1)
    if value >= 0:
        while i + size < stop and size <= SHORT_GRAPHEME and joins(r.kinds, p, i, i + size, stop):
            size += decode_at(p, i + size, stop)[1]
        if size > length and (size > SHORT_GRAPHEME or joins(r.kinds, p, begin, i, stop)):
            size = length
        if size < least:
            value = I64(NONE)
    if value < 0:
        for k in range(length):
            w.text[j + k] = p[i + k]
            if w.tracked:
                w.source[j + k] = i
        return i + length, j + length
    start = I64(r.values[value * layout.VALUE.width + layout.VALUE.start])
    count, at = I64(r.values[value * layout.VALUE.width + layout.VALUE.size]), i
    for k in range(count):
        w.text[j + k] = r.arena[start + k]
        if w.tracked:
            # Each character comes from one of the grapheme, the others from the last.
            if k > 0 and w.text[j + k] >> 6 != 2 and at + width(p, at) < i + size:
                at += width(p, at)
            w.source[j + k] = at
    if w.tracked and count == 0:
        give_removed(w, begin, i, j)
    return i + size, j + count


@helper
def give_removed(w, begin, i, j):
    """Let the last character of the text's result come from p[i], which is removed, if the one before has its source.

    So HF counts: the character before a removed one takes it too, and is where it takes the first.
    """
    last = j - 1
    if last <= 0 or w.source[last] < begin:
        return
    at = w.source[last]
    while last > 0 and w.source[last - 1] == at and w.text[last] >> 6 == 2:
        last -= 1
    if last > 0 and w.source[last - 1] == at:
        for k in range(last, j):
            w.source[k] = i


# ------------------------------------------------------------------ one place


@helper
def user_hit(r, p, i, stop):
    """The longest user-defined piece at p[i]: (its index or NONE, its length)."""
    unit, hits, found, length, k = r.users[ROOT], 0, I64(NONE), I64(0), i
    while k < stop and hits < MOST_USER_HITS and p[k] != 0:
        unit = child(r.users, unit, p[k])
        if unit == ZERO:
            break
        k += 1
        if piece_of(unit) >= 0:
            found, length = piece_of(unit), k - i
            hits += 1
    return found, length


@inlined
def put_space(r, w, j, at):
    """Write a space; the place after it."""
    size = I64(1)
    if r.settings[layout.RULE.wide] != 0:
        w.text[j], w.text[j + 1], w.text[j + 2] = 0xE2, 0x96, 0x81
        size = I64(3)
    else:
        w.text[j] = 32
    if w.tracked:
        for k in range(size):
            w.source[j + k] = at
    return j + size


@helper
def put_fields(r, w, j, fields, base, at, spaced):
    """Write a replacement, without its leading spaces if `spaced`: (place after it, whether it ends with a space)."""
    start, size = I64(fields[base + layout.VALUE.start]), I64(fields[base + layout.VALUE.size])
    if spaced:
        start += I64(fields[base + layout.VALUE.lead])
        size -= I64(fields[base + layout.VALUE.lead])
    for k in range(size):
        w.text[j + k] = r.arena[start + k]
    if w.tracked:
        for k in range(size):
            w.source[j + k] = at
    if size > 0:
        spaced = fields[base + layout.VALUE.spaced] != 0
    return j + size, spaced


@helper
def put_any(r, w, p, begin, i, stop, j, spaced):
    """Write the string or character at p[i] of the text p[begin:stop].

    Returns the place after it, the place in the result, and whether a space came last.
    """
    if r.settings[layout.RULE.graphemes] != 0:
        i, j = put_grapheme(r, w, p, begin, i, stop, j)
        return i, j, False
    found, length = user_hit(r, p, i, stop)
    if found >= 0:
        j, spaced = put_fields(r, w, j, r.pieces, found * layout.VALUE.width, i, spaced)
        return i + length, j, spaced
    found, length = map_hit(r, p, i, stop, MOST_HITS)
    if found >= 0:
        j, spaced = put_fields(r, w, j, r.values, found * layout.VALUE.width, i, spaced)
        return i + length, j, spaced
    if p[i] == 32:
        if not spaced:
            j = put_space(r, w, j, i)
        return i + 1, j, True
    code, length = decode_at(p, i, stop)
    size = length
    if code < 0:
        w.text[j], w.text[j + 1], w.text[j + 2] = 0xEF, 0xBF, 0xBD
        size = I64(3)
    else:
        for k in range(length):
            w.text[j + k] = p[i + k]
    if w.tracked:
        for k in range(size):
            w.source[j + k] = i
    return i + length, j + size, False


@helper
def is_space(r, p, i, stop):
    """The length of the string or character at p[i] if it becomes exactly one space, or 0."""
    found, length = user_hit(r, p, i, stop)
    fields = r.pieces
    if found < 0:
        found, length = map_hit(r, p, i, stop, MOST_HITS)
        fields = r.values
    if found < 0:
        return I64(p[i] == 32)
    size = I64(3) if r.settings[layout.RULE.wide] != 0 else I64(1)
    base = found * layout.VALUE.width
    return length if fields[base + layout.VALUE.lead] == size and fields[base + layout.VALUE.size] == size else I64(0)


# ------------------------------------------------------------------ a block


@helper
def put_block(r, w, p, begin, i, upto, j, events, stop, spaced):
    """Write p[i:upto] and look only at `events`: (place, place in the result, space last, whether done).

    Stops early if there is no room. 4 * LANES bytes must be free, and LANES after `upto` readable.
    """
    run, base = i, i
    while events != ZERO:
        at = base + trailing_zeros(events)
        events &= events - ONE
        if at < run:  # inside a string that was replaced
            continue
        if run < at:
            copy64(w.text, j, p, run)
            if w.tracked:
                j = track(w, p, run, at, j)
            else:
                j += at - run
            spaced = False
        run = at
        if p[at] < 0x80 and r.classes[p[at]] == layout.CHARACTER.mapped_space:
            if not spaced:
                j = put_space(r, w, j, at)
            spaced = r.settings[layout.RULE.removes] != 0
            run = at + 1
            continue
        if j + r.settings[layout.RULE.longest] + 4 * layout.LANES > w.room:
            return run, j, spaced, False
        run, j, spaced = put_any(r, w, p, begin, at, stop, j, spaced)
        spaced = spaced and r.settings[layout.RULE.removes] != 0
    if run < upto:
        copy64(w.text, j, p, run)
        if w.tracked:
            j = track(w, p, run, upto, j)
        else:
            j += upto - run
        spaced, run = False, upto
    return run, j, spaced, True


@helper
def track(w, p, i, upto, j):
    """Write the sources of the copied characters p[i:upto]; the place after them."""
    begin = i
    while i < upto:
        if p[i] >> 6 != 2:
            begin = i
        w.source[j] = begin
        i += 1
        j += 1
    return j


@helper
def put_slowly(r, w, p, begin, i, upto, j, stop, spaced):
    """Write the characters that begin in p[i:upto], valid or not; returns as `put_block`."""
    while i < upto:
        if j + r.settings[layout.RULE.longest] + 4 * layout.LANES > w.room:
            return i, j, spaced, False
        i, j, spaced = put_any(r, w, p, begin, i, stop, j, spaced)
        spaced = spaced and r.settings[layout.RULE.removes] != 0
    return i, j, spaced, True


@helper
def put_spaced_text(r, w, p, begin, i, stop, j, spaced):
    """Write the text p[begin:stop] from p[i] on: (place, place in the result, whether a space came last)."""
    done = True
    while i < stop and done:
        size = min(layout.LANES, stop - i)
        if j + r.settings[layout.RULE.longest] + 4 * layout.LANES > w.room:
            break
        events, upto = events_at(r, w, p, i, size, stop)
        if upto == i:
            i, j, spaced, done = put_slowly(r, w, p, begin, i, i + size, j, stop, spaced)
        else:
            i, j, spaced, done = put_block(r, w, p, begin, i, upto, j, events, stop, spaced)
    return i, j, spaced


# ------------------------------------------------------------------ texts


@helper
def begin_text(r, w, p, i, stop, j):
    """Begin a text: (place, place in the result, whether spaces are removed next)."""
    if r.settings[layout.RULE.begins] == 0:
        return i, j, False
    if r.settings[layout.RULE.removes] != 0:
        while i < stop:
            plain = p[i] < 0x80 and r.classes[p[i]] == layout.CHARACTER.mapped_space
            size = I64(1) if plain else is_space(r, p, i, stop)
            if size == 0:
                break
            i += size
    if r.settings[layout.RULE.prefix] != 0 and (i < stop or r.settings[layout.RULE.ends] == 0):
        j = put_space(r, w, j, i)
    return i, j, r.settings[layout.RULE.removes] != 0


@helper
def closed(r, w, begin, at, j):
    """End a text that began at `begin` of the result; where it ends."""
    size = I64(3) if r.settings[layout.RULE.wide] != 0 else I64(1)
    if r.settings[layout.RULE.removes] != 0:
        while j >= begin + size:
            if size == 3 and not (w.text[j - 3] == 0xE2 and w.text[j - 2] == 0x96 and w.text[j - 1] == 0x81):
                break
            if size == 1 and w.text[j - 1] != 32:
                break
            j -= size
            if w.tracked:
                at = w.source[j]
    if r.settings[layout.RULE.suffix] != 0:
        j = put_space(r, w, j, at)
    if w.tracked:
        w.source[j] = at
    return j


@kernel
def rule_texts(text: U8s, bounds: I64s, rules: Rules, stream: U8s, out: Normalized, progress: I64s) -> Int:
    """Write the normalized texts text[bounds[t] : bounds[t + 1]]: DONE or NEED_OUT.

    stream: scratch of 3 * LANES bytes. progress also has PROGRESS.spaced, a space came last; PROGRESS.begun, the text
    has begun; PROGRESS.filled, it has more than spaces. With sources, `out.ends` has the ends of the texts, and then
    the source of each end.
    """
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    r, w = rule_pointers(rules), target_pointers(text, stream, out)
    t, i, j, spaced, begun, filled = (
        s[layout.PROGRESS.text],
        s[layout.PROGRESS.byte],
        s[layout.PROGRESS.out],
        s[layout.PROGRESS.spaced] != 0,
        s[layout.PROGRESS.begun] != 0,
        s[layout.PROGRESS.filled] != 0,
    )
    status = layout.DONE
    while t < len(bounds) - 1:
        stop = b[t + 1]
        if j + r.settings[layout.RULE.longest] + 4 * layout.LANES > w.room:
            status = layout.NEED_OUT
            break
        if not begun:
            i, j, spaced = begin_text(r, w, p, i, stop, j)
            begun, filled = True, i < stop
        i, j, spaced = put_spaced_text(r, w, p, b[t], i, stop, j, spaced)
        if i < stop:
            status = layout.NEED_OUT
            break
        if r.settings[layout.RULE.ends] != 0 and filled:
            j = closed(r, w, ends[t], i, j)
            if w.tracked:
                ends[len(bounds) + t + 1] = w.source[j]
        begun, t = False, t + 1
        ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    s[layout.PROGRESS.spaced], s[layout.PROGRESS.begun], s[layout.PROGRESS.filled] = spaced, begun, filled
    return status
