"""The places of ids in their texts: in bytes, in characters, and by word.

Ids and words cover the same bytes in the same order, so the lengths of the ids say to which word each belongs. A text
where they do not add up (characters without an id, or an id of unknown length) is marked as odd, for Python.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import I64, Int, helper, inlined, kernel, pointer
from subwords.kernels.layout import Filled, Frame, I32s, I64s, IdSizes, IdWords, Origins, Placed, Row, Source, U8s, U32s
from subwords.kernels.text.utf8 import decode_at

NONE = -1


class Ways(NamedTuple):
    """The pointers of `Origins` and `Source`."""

    word_begins: object
    word_ends: object
    text_begins: object
    text_ends: object
    by_word: bool
    by_text: bool
    chars: object
    wide: bool


@inlined
def origin_pointers(origins, source):
    """The pointers, and which of them are used."""
    return Ways(
        word_begins=pointer(origins.word_begins),
        word_ends=pointer(origins.word_ends),
        text_begins=pointer(origins.text_begins),
        text_ends=pointer(origins.text_ends),
        by_word=len(origins.word_begins) > 0,
        by_text=len(origins.text_begins) > 0,
        chars=pointer(source.chars),
        wide=len(source.chars) > 0,
    )


@inlined
def put_place(ways, begin, end, base, stop, spans, byte_spans, k):
    """Write the ranges of one id, of the bytes begin to end, in a text of the bytes base to stop."""
    if ways.by_word:
        begin, end = ways.word_begins[begin], ways.word_ends[end - 1]
    if ways.by_text:
        begin, end = ways.text_begins[begin], ways.text_ends[end - 1]
    byte_spans[2 * k], byte_spans[2 * k + 1] = begin - base, end - base
    if ways.wide:
        chars = ways.chars
        # The character that holds byte `begin`, also if it begins before it.
        first = I64(chars[begin + 1]) - 1 if begin < stop else I64(chars[begin])
        spans[2 * k], spans[2 * k + 1] = first - I64(chars[base]), I64(chars[end]) - I64(chars[base])


@inlined
def covered_size(sizes, known, marks, index, first, rest):
    """The bytes of a word that an id covers, at the word's first byte or not, if `rest` bytes remain; or NONE.

    UNKNOWN_RUN stays what it is.
    """
    if index >= known:
        return I64(NONE)
    size = I64(sizes[index])
    if size == layout.WHOLE_WORD:
        return rest if first else I64(NONE)
    if size == layout.UNSURE:
        return I64(NONE)
    if size == layout.UNKNOWN_RUN:
        return size
    if not first:
        size -= marks[layout.SIZE_MARK.leading]
    if size - marks[layout.SIZE_MARK.trailing] == rest:
        return I64(rest)
    return size if 0 < size < rest else I64(NONE)


@helper
def unknown_size(kinds, p, at, end):
    """The bytes of the unknown characters that begin at p[at], in a word up to `end`; NONE if that is ambiguous."""
    i, first = at, True
    while i < end:
        code, size = decode_at(p, i, end)
        kind = I64(kinds[code if code >= 0 else layout.INVALID])
        if kind == layout.ENDS_RUN:
            return i - at if i > at else I64(NONE)
        if kind != layout.CONTINUES_RUN and not first:
            return I64(NONE)
        i, first = i + size, False
    return i - at


@inlined
def note_unknown(out, n, room, k, begin, size):
    """Write the entry n of an unknown id, if there is room: whether there is."""
    if size < 0 or (n + 1) * layout.UNKNOWNS.width > room:
        return False
    entry = n * layout.UNKNOWNS.width
    out[entry + layout.UNKNOWNS.id], out[entry + layout.UNKNOWNS.begin], out[entry + layout.UNKNOWNS.end] = (
        k,
        begin,
        begin + size,
    )
    return True


@kernel
def count_characters(text: U8s, chars: I32s) -> Int:
    """Write for every byte, and for the end, how many characters begin before it."""
    p, c, n = pointer(text), pointer(chars), I64(0)
    for i in range(len(text)):
        c[i] = n
        n += I64(p[i] >> 6 != 2)
    c[len(text)] = n
    return n


@kernel
def place_ids(
    ids: U32s, words: IdWords, sizes: IdSizes, origins: Origins, source: Source, out: Placed, start: I64s
) -> Int:
    """Write the places of the ids of some texts; the number of odd texts, whose places are not written.

    Text t of the call has the words up to words.word_ends[t] and the ids up to words.id_ends[t]; word w ends at byte
    start[START.word_base] + words.ends[w] of the text that is split into words. It begins at words.begins[w], or where
    the previous one ends if there are no `begins`. Entries of `unknown` of odd texts mean nothing; texts with more of
    them than there is room for are odd.
    """
    i, e, b = pointer(ids), pointer(words.ends), pointer(words.begins)
    word_ends, id_ends = pointer(words.word_ends), pointer(words.id_ends)
    s, marks, known = pointer(sizes.sizes), pointer(sizes.marks), len(sizes.sizes)
    spans, byte_spans, numbers, odd = pointer(out.spans), pointer(out.byte_spans), pointer(out.words), pointer(out.odd)
    ways, bounds, apart = origin_pointers(origins, source), pointer(source.bounds), len(words.begins) > 0
    f, p, kinds, unknown = pointer(start), pointer(words.text), pointer(sizes.kinds), pointer(out.unknown)
    # The size of an unknown run is only looked for in text that is there.
    runs, length, room, n = (
        len(sizes.kinds) > layout.INVALID,
        len(words.text),
        len(out.unknown),
        f[layout.START.next_unknown],
    )
    text, k, number, word_base = (
        f[layout.START.first_text],
        f[layout.START.next_id],
        f[layout.START.next_number],
        f[layout.START.word_base],
    )
    w, at, found, count = I64(0), word_base, I64(0), len(words.word_ends)
    for t in range(count):
        base, stop, last, fine = bounds[text + t], bounds[text + t + 1], id_ends[t], True
        while w < word_ends[t]:
            end = word_base + I64(e[w])
            if apart:
                at, end = b[w], b[w] + I64(e[w]) - (I64(e[w - 1]) if w > 0 else I64(0))
            first = True
            while at < end and fine:
                size = I64(NONE)
                if k < last:
                    size = covered_size(s, known, marks, I64(i[k]), first, end - at)
                if size == layout.UNKNOWN_RUN and runs and end <= length:
                    size = unknown_size(kinds, p, at, end)
                    if note_unknown(unknown, n, room, k, at, size):
                        n += 1
                    else:
                        size = I64(NONE)
                fine = size > 0
                if fine:
                    put_place(ways, at, at + size, base, stop, spans, byte_spans, k)
                    numbers[k] = number
                    at, k, first = at + size, k + 1, False
            at, w, number = end, w + 1, number + 1
        whole = t < count - 1 or f[layout.START.ends_text] != 0
        if not fine or (whole and k != last):
            odd[text + t] = 1
            found += 1
        if whole:
            # After an odd text k is anywhere in its ids: the next text begins at its own first id.
            k, number = last, I64(0)
    f[layout.START.next_id], f[layout.START.next_number], f[layout.START.next_unknown] = k, number, n
    return found


@kernel
def cover_text(ids: U32s, sizes: I32s, text: U8s, prefix: Int, byte_spans: I64s, spans: I64s) -> Int:
    """Write the ranges of ids that cover a text one after the other: 1, or 0 if their sizes are not those of the text.

    prefix: unless it is NO_PREFIX, the ids also cover one byte before the text, and their ranges are whole characters.
    FIRST_PREFIX: that byte has the range of the first character, and every byte that of its own character.
    EMPTY_PREFIX: it has the empty range at the start, as the bytes of a character have, but for the last one, at
    theirs. `spans` is empty if the text is ASCII.
    """
    i, s, p, known, size = pointer(ids), pointer(sizes), pointer(text), len(sizes), I64(len(text))
    to_bytes, to_spans, wide, whole = pointer(byte_spans), pointer(spans), len(spans) > 0, prefix != layout.NO_PREFIX
    least, toward = (I64(1), I64(1)) if prefix == layout.FIRST_PREFIX else (I64(0), I64(-1))
    at, counted, chars = I64(0) - I64(whole), I64(0), I64(0)  # `chars` begin before the byte `counted`
    if size == 0:
        return 0
    for k in range(len(ids)):
        covered = I64(s[i[k]]) if I64(i[k]) < known else I64(NONE)
        if covered <= 0 or covered > size - at:
            return 0
        begin, end = max(at, 0), max(at + covered, least)
        at += covered
        while whole and begin > 0 and p[begin] >> 6 == 2:
            begin -= 1
        while whole and 0 < end < size and p[end] >> 6 == 2:
            end += toward
        to_bytes[2 * k], to_bytes[2 * k + 1] = begin, end
        if wide:
            while counted < begin:
                chars += I64(p[counted] >> 6 != 2)
                counted += 1
            last = chars
            for j in range(begin, end):
                last += I64(p[j] >> 6 != 2)
            to_spans[2 * k], to_spans[2 * k + 1] = chars - I64(p[begin] >> 6 == 2), last
    return I64(at == size)


@inlined
def trimmed(start, stop, begun, ended, keeps, times, leads):
    """The range of a token without its whitespace; `leads`: it is the first one of its text."""
    for k in range(times):
        moved = I64(0) if keeps[k] != 0 and begun == 1 and (leads or start == 0) else begun
        start = min(start + moved, stop)
        if stop >= ended:
            stop = max(stop - ended, start)
    return start, stop


@helper
def after_characters(p, at, stop, count):
    """The byte after some characters of p[at:stop]."""
    while count > 0 and at < stop:
        at, count = at + 1, count - 1
        while at < stop and p[at] >> 6 == 2:
            at += 1
    return at


@helper
def before_characters(p, start, at, count):
    """The byte where the last characters of p[start:at] begin."""
    while count > 0 and at > start:
        at, count = at - 1, count - 1
        while at > start and p[at] >> 6 == 2:
            at -= 1
    return at


class Trimmer(NamedTuple):
    """The pointers of a `Frame` that say which whitespace is removed."""

    keeps: object
    times: int
    begun: object
    ended: object
    named: object
    text: object


@inlined
def trim(trimmer, ids, names, byte_spans, spans, wide, base, first, k):
    """Remove the whitespace of the token of an entry from its ranges; `first` is the first entry of its text."""
    if names[k] >= 0:
        begun, ended = I64(trimmer.named[2 * names[k]]), I64(trimmer.named[2 * names[k] + 1])
    else:
        begun, ended = I64(trimmer.begun[ids[k]]), I64(trimmer.ended[ids[k]])
    if begun or ended:
        start, stop = (spans[2 * k], spans[2 * k + 1]) if wide else (byte_spans[2 * k], byte_spans[2 * k + 1])
        before, after = trimmed(start, stop, begun, ended, trimmer.keeps, trimmer.times, k == first)
        if wide:
            spans[2 * k], spans[2 * k + 1] = before, after
            begin, end = base + byte_spans[2 * k], base + byte_spans[2 * k + 1]
            byte_spans[2 * k] = after_characters(trimmer.text, begin, end, before - start) - base
            byte_spans[2 * k + 1] = before_characters(trimmer.text, begin, end, stop - after) - base
        else:
            byte_spans[2 * k], byte_spans[2 * k + 1] = before, after


class Fillings(NamedTuple):
    """The pointers of a `Frame` that say what fills the slots."""

    fills: object
    slots: int  # of a row in `fills`; 0 if there are none
    offsets: object
    bases: object
    based: bool
    rows: int


@inlined
def filling(fillings, r, slot, text):
    """The first entry of a slot of row r, the number of entries, and where their text begins."""
    if fillings.slots > 0:
        fill = (r * fillings.slots + slot) * layout.FILL.width
        return (
            fillings.fills[fill + layout.FILL.start],
            fillings.fills[fill + layout.FILL.size],
            fillings.fills[fill + layout.FILL.base],
        )
    at = text * fillings.rows + r
    first = fillings.offsets[at]
    return first, fillings.offsets[at + 1] - first, fillings.bases[at] if fillings.based else I64(0)


@kernel
def frame_rows(frame: Frame, row: Row, out: Row, length: Int, names: Int, bounds: I64s, ranges: I64s) -> Int:
    """Write the entries of rows of one template, whose slots are filled by entries of `row`; their number.

    length: rows with fewer entries are filled up to it, if the template has a piece FILLING. names: the number of names
    of `row`, before those of the template. bounds: where each row begins and ends. ranges: by row and text, the entries
    of its last slot.
    """
    p, n = pointer(frame.pieces), I64(0)
    ids, spans, byte_spans = pointer(row.ids), pointer(row.spans), pointer(row.byte_spans)
    words, known = pointer(row.words), pointer(row.names)
    to_ids, to_spans, to_bytes = pointer(out.ids), pointer(out.spans), pointer(out.byte_spans)
    to_words, to_names = pointer(out.words), pointer(out.names)
    types, special, attention = pointer(out.types), pointer(out.special), pointer(out.attention)
    b, texts, wide, trims = pointer(bounds), pointer(ranges), len(out.spans) > 0, len(frame.keeps)
    count, pieces = len(bounds) - 1, len(frame.pieces) // layout.PIECE.width
    of_row = len(ranges) // max(count, 1)
    fillings = Fillings(
        pointer(frame.fills),
        len(frame.fills) // (layout.FILL.width * max(count, 1)),
        pointer(frame.offsets),
        pointer(frame.bases),
        len(frame.bases) > 0,
        count,
    )
    trimmer = Trimmer(
        pointer(frame.keeps),
        trims,
        pointer(frame.begun),
        pointer(frame.ended),
        pointer(frame.named),
        pointer(frame.text),
    )
    b[0] = 0
    for r in range(count):
        missing, begin = length, n
        for m in range(pieces):
            piece = m * layout.PIECE.width
            slot = p[piece + layout.PIECE.slot]
            if slot == layout.INSERTED:
                missing -= 1
            elif slot >= 0:
                missing -= filling(fillings, r, slot, p[piece + layout.PIECE.text])[1]
        for m in range(pieces):
            piece = m * layout.PIECE.width
            slot, flags = p[piece + layout.PIECE.slot], p[piece + layout.PIECE.flags]
            first, size, base = I64(NONE), I64(1), I64(0)
            if slot == layout.FILLING:
                size = max(missing, I64(0))
            elif slot >= 0:
                first, size, base = filling(fillings, r, slot, p[piece + layout.PIECE.text])
            for k in range(n, n + size):
                types[k], special[k], attention[k] = (
                    p[piece + layout.PIECE.type],
                    flags & layout.SPECIAL,
                    flags >> 1 & 1,
                )
            if slot < 0:
                for k in range(n, n + size):
                    to_ids[k], to_words[k], to_names[k] = (
                        p[piece + layout.PIECE.id],
                        layout.NO_WORD,
                        names + p[piece + layout.PIECE.name],
                    )
                    to_bytes[2 * k] = to_bytes[2 * k + 1] = 0
                    if wide:
                        to_spans[2 * k] = to_spans[2 * k + 1] = 0
            else:
                for k in range(size):
                    to_ids[n + k], to_words[n + k] = ids[first + k], words[first + k]
                    to_names[n + k] = known[first + k] if names > 0 else NONE
                for k in range(2 * size):
                    to_bytes[2 * n + k] = byte_spans[2 * first + k]
                if wide:
                    for k in range(2 * size):
                        to_spans[2 * n + k] = spans[2 * first + k]
                if trims > 0:
                    for k in range(n, n + size):
                        trim(trimmer, to_ids, to_names, to_bytes, to_spans, wide, base, n, k)
                at = r * of_row + 2 * p[piece + layout.PIECE.text]
                texts[at], texts[at + 1] = n - begin, n + size - begin
            n += size
        b[r + 1] = n
    return n


# ---------------------------------------------------------------------------------------------------------------------
# Rows of ids alone: the same as above without places, for those who want arrays for a model. Both leave what is invalid
# or rare to `engine/rows.py`.

LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND = range(3)  # `STRATEGIES` of spec/padding.py


@inlined
def kept_of(first, second, room, strategy):
    """How many ids of two texts remain, if they have more than `room` > 0; a negative number if they cannot be cut."""
    total = first + second
    if strategy == ONLY_FIRST:
        return first - total + room, second
    if strategy == ONLY_SECOND:
        return first, second - total + room
    short, long = min(first, second), max(first, second)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short, long = room // 2, room // 2 + room % 2
    return (long, short) if first > second else (short, long)


@inlined
def pieces_of(size, kept, stride):
    """How many pieces a text becomes; 0 if nothing is left of it, or if pieces would share too much."""
    if kept >= size:
        return I64(1)
    return I64(0) if kept <= 0 or stride >= kept else 1 + (size - stride - 1) // (kept - stride)


@kernel
def keep_ids(offsets: I64s, texts: Int, cut: I64s, kept: I64s) -> Int:
    """Write which ids of each text remain, by row and text; the length of the longest row, or -1: not so simple.

    offsets: of all first texts, then of second ones if `texts` is 2. cut: a row CUT. kept: rows KEPT, and then the
    largest number of pieces that a row becomes, of one text or of all pairs of pieces.
    """
    o, c, k = pointer(offsets), pointer(cut), pointer(kept)
    rows, longest, room, most = (len(offsets) - 1) // texts, I64(0), c[layout.CUT.room], I64(1)
    for r in range(rows):
        first, second = o[r + 1] - o[r], I64(0)
        if texts == 2:
            second = o[rows + r + 1] - o[rows + r]
        a, b = first, second
        if first + second > room:
            if texts == 1 and c[layout.CUT.strategy] == ONLY_SECOND:
                return -1
            a, b = kept_of(first, second, room, c[layout.CUT.strategy]) if texts == 2 else (room, I64(0))
            stride = c[layout.CUT.stride]
            pieces = pieces_of(first, a, stride) * pieces_of(second, b, stride)
            if pieces == 0:
                return -1
            most = max(most, pieces)
        at = r * texts * layout.KEPT.width
        k[at + layout.KEPT.start] = o[r] + (first - a if c[layout.CUT.left] else I64(0))
        k[at + layout.KEPT.size] = a
        if texts == 2:
            at += layout.KEPT.width
            k[at + layout.KEPT.start] = o[rows + r] + (second - b if c[layout.CUT.left] else I64(0))
            k[at + layout.KEPT.size] = b
        longest = max(longest, a * c[layout.CUT.first] + b * c[layout.CUT.second] + c[layout.CUT.added])
    k[rows * texts * layout.KEPT.width] = most
    return longest


@inlined
def fill_with(p, start, size, value):
    """Write a value to p[start : start + size]."""
    for k in range(start, start + size):
        p[k] = value


@kernel
def fill_rows(pieces: I64s, ids: U32s, texts: Int, kept: I64s, length: Int, out: Filled) -> Int:
    """Write the entries of rows, whose slots are filled by the ids that `keep_ids` kept; their number.

    pieces, length: as in `frame_rows`. Of out, an empty `types`, `special` or `attention` is not written.
    """
    p, i, k = pointer(pieces), pointer(ids), pointer(kept)
    to, types, special, attention = pointer(out.ids), pointer(out.types), pointer(out.special), pointer(out.attention)
    b, n, rows, of_row = pointer(out.bounds), I64(0), len(out.bounds) - 1, texts * layout.KEPT.width
    typed, noted, attended = min(len(out.types), 1), min(len(out.special), 1), min(len(out.attention), 1)
    b[0] = 0
    for r in range(rows):
        missing = length
        for m in range(0, len(pieces), layout.PIECE.width):
            slot = p[m + layout.PIECE.slot]
            if slot == layout.INSERTED:
                missing -= 1
            elif slot >= 0:
                missing -= k[r * of_row + p[m + layout.PIECE.text] * layout.KEPT.width + layout.KEPT.size]
        for m in range(0, len(pieces), layout.PIECE.width):
            slot, size = p[m + layout.PIECE.slot], I64(1)
            if slot >= 0:
                at = r * of_row + p[m + layout.PIECE.text] * layout.KEPT.width
                size, first = k[at + layout.KEPT.size], k[at + layout.KEPT.start]
                for j in range(size):
                    to[n + j] = i[first + j]
            else:
                if slot == layout.FILLING:
                    size = max(missing, I64(0))
                fill_with(to, n, size, p[m + layout.PIECE.id])
            flags = p[m + layout.PIECE.flags]
            fill_with(types, n, size * typed, p[m + layout.PIECE.type])
            fill_with(special, n, size * noted, flags & layout.SPECIAL)
            fill_with(attention, n, size * attended, flags >> 1 & 1)
            n += size
        b[r + 1] = n
    return n
