"""Reads the vocabulary and the merges of a tokenizer.json: where they are, their texts and numbers, merges as indices.

What is not as a trainer writes it is REFUSED, and nothing is said of it: `formats/json_node.py` reads such a file, and
says what is wrong in it. An entry is a text with its number. Its index is its place among the entries, not its id.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, load64, pointer
from subwords.kernels.layout import FileEntries, I64s, TextIndex, U8s
from subwords.kernels.text.index import found_text
from subwords.kernels.text.rows import (
    BACKSLASH,
    BLANK,
    COLON,
    COMMA,
    FEED,
    NAUGHT,
    NINE,
    OPEN,
    OPEN_LIST,
    QUOTE,
    RETURN,
    SHUT,
    SHUT_LIST,
    SHUTS,
    TAB,
    byte_before,
    number_end,
    string_copied,
)

REFUSED = -1
MODEL, VOCAB, MERGES, VERSION = (
    int.from_bytes(each, "little") for each in (b"model", b"vocab", b"merges", b"#version")
)
MOST_DIGITS = 9  # of an id


@inlined
def is_name(p, i, stop, name, size):
    """Whether p[i:stop] is a name of `size` bytes, given as an integer."""
    return stop - i == size and load64(p, i) & U64((1 << 8 * size) - 1) == U64(name)


@kernel
def find_containers(data: U8s, size: Int, places: I64s) -> Int:
    """Write where `vocab` and `merges` of `model` begin and end, four numbers, 0 if absent; 0, or REFUSED.

    They are what brackets enclose, and nothing else is checked. size: bytes of the file, LANES less than `data` has.
    """
    p, place = pointer(data), pointer(places)
    i, depth, begin, end, within, at = I64(0), I64(0), I64(0), I64(0), False, I64(-1)
    while i < size:
        c = p[i]
        i += 1
        if c == QUOTE:
            begin = i
            while i < size and p[i] != QUOTE:
                i += 2 if p[i] == BACKSLASH else 1
            end = i
            i += 1
        elif c in (OPEN, OPEN_LIST):
            depth += 1
            if depth == 2:
                within = is_name(p, begin, end, MODEL, 5)
            elif depth == 3 and within and at < 0:
                at = I64(0) if is_name(p, begin, end, VOCAB, 5) else I64(2) if is_name(p, begin, end, MERGES, 6) else at
                if at >= 0:
                    if place[at] != 0:
                        return REFUSED
                    place[at] = i - 1
        elif c in (SHUT, SHUT_LIST):
            depth -= 1
            if depth == 2 and at >= 0:
                place[at + 1] = i
                at = I64(-1)
    return 0 if depth == 0 and i == size else REFUSED


@helper
def after_blanks(p, i, stop):
    """The place of the next byte that is no white space, line feeds included."""
    while i < stop and (p[i] == BLANK or p[i] == FEED or p[i] == RETURN or p[i] == TAB):
        i += 1
    return i


@helper
def after_byte(p, i, stop, byte):
    """The place after a byte and white space around it; REFUSED if it does not come next, or `i` is REFUSED."""
    i = after_blanks(p, i, stop) if i >= 0 else i
    return after_blanks(p, i + 1, stop) if i >= 0 and byte_before(p, i, stop) == byte else I64(REFUSED)


@helper
def after_text(p, i, stop, q, j):
    """The place after the string at p[i], whose text is written to q[j], and the end of that; REFUSED if it is none."""
    if i < 0 or byte_before(p, i, stop) != QUOTE:
        return I64(REFUSED), j
    return string_copied(p, i + 1, stop, q, j)


@helper
def id_at(p, i, end):
    """The number p[i:end], or REFUSED if it is no integer of few digits."""
    if not 0 < end - i <= MOST_DIGITS:
        return I64(REFUSED)
    value = I64(0)
    for k in range(i, end):
        if not NAUGHT <= p[k] <= NINE:
            return I64(REFUSED)
        value = 10 * value + I64(p[k]) - NAUGHT
    return value


@helper
def next_place(p, i, stop, closing):
    """The place of the next element after a comma, or `stop` after the last one; REFUSED if there is neither."""
    i = after_blanks(p, i, stop) if i >= 0 else i
    if i >= 0 and byte_before(p, i, stop) == closing:
        return stop if i + 1 == stop else I64(REFUSED)
    return after_byte(p, i, stop, COMMA)


@kernel
def read_entries(data: U8s, begin: Int, stop: Int, entries: FileEntries) -> Int:
    """Read an object of ids by text, or an array of pairs of text and score; how many entries, or REFUSED.

    numbers: the ids; or where the characters of each score end in `digits`, a comma after each. data: valid UTF-8, with
    LANES bytes after it. text and digits have room for data[begin:stop], and LANES bytes.
    """
    p, q, d = pointer(data), pointer(entries.text), pointer(entries.digits)
    e, number = pointer(entries.ends), pointer(entries.numbers)
    is_object = p[begin] == OPEN
    i, j, count, written = after_blanks(p, begin + 1, stop), I64(0), I64(0), I64(0)
    closing = I64(p[begin]) + SHUTS
    if byte_before(p, i, stop) == closing:
        return 0 if i + 1 == stop else REFUSED
    while True:
        i, j = after_text(p, i if is_object else after_byte(p, i, stop, OPEN_LIST), stop, q, j)
        i = after_byte(p, i, stop, COLON if is_object else COMMA)
        end = number_end(p, i, stop) if 0 <= i < stop else I64(REFUSED)
        if end < 0:
            return REFUSED
        e[count] = j
        if is_object:
            number[count] = id_at(p, i, end)
            if number[count] < 0:
                return REFUSED
        else:
            for k in range(i, end):
                d[written + k - i] = p[k]
            written += end - i + 1
            d[written - 1] = COMMA
            number[count] = written
            end = after_byte(p, end, stop, SHUT_LIST)
        count += 1
        i = next_place(p, end, stop, closing)
        if i < 0 or i == stop:
            return count if i == stop else REFUSED


@helper
def after_merge(p, i, stop, q):
    """The place after the merge at p[i], or REFUSED; its tokens are written to q: where the left one and both end.

    It is a string of two tokens with one space between them, or an array of two strings.
    """
    if byte_before(p, i, stop) == OPEN_LIST:
        i, left = after_text(p, after_byte(p, i, stop, OPEN_LIST), stop, q, I64(0))
        i, end = after_text(p, after_byte(p, i, stop, COMMA), stop, q, left)
        return after_byte(p, i, stop, SHUT_LIST), left, end
    i, end = after_text(p, i, stop, q, I64(0))
    left, spaces = I64(0), I64(0)
    for k in range(end):
        if q[k] == BLANK:
            left, spaces = I64(k), spaces + 1
        elif spaces > 0:
            q[k - 1] = q[k]
    return (i if spaces == 1 else I64(REFUSED)), left, end - 1


@kernel
def read_merge_entries(data: U8s, begin: Int, stop: Int, entries: FileEntries, index: TextIndex, merges: I64s) -> Int:
    """Read an array of merges of entries: rows of the ids of left, right and both; how many, or REFUSED.

    A first string that begins with "#version" is left out. entries.digits: scratch, with room for data[begin:stop].
    """
    p, q, m, number = pointer(data), pointer(entries.digits), pointer(merges), pointer(entries.numbers)
    i, count = after_byte(p, begin, stop, OPEN_LIST), I64(0)
    if byte_before(p, i, stop) == SHUT_LIST:
        return 0 if i + 1 == stop else REFUSED
    if byte_before(p, i, stop) == QUOTE and load64(p, i + 1) == U64(VERSION):
        i, end = after_text(p, i, stop, q, I64(0))
        i = next_place(p, i, stop, SHUT_LIST)
    while 0 <= i < stop:
        i, left, end = after_merge(p, i, stop, q)
        for k in range(3):
            start, last = (left if k == 1 else I64(0)), (left if k == 0 else end)
            found = found_text(q, start, last - start, index) if i >= 0 else I64(REFUSED)
            if found < 0:
                return REFUSED
            m[3 * count + k] = number[found]
        count += 1
        i = next_place(p, i, stop, SHUT_LIST)
    return count if i == stop else REFUSED
