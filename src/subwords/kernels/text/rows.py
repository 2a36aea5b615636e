"""The text of one field of rows of JSON (RFC 8259), without an object for each row.

Rows end with a line feed. Text that is not sound JSON, or not a text, is left to Python, which says what is wrong. So
is what is rare: names with escapes, lone surrogates, values nested deeper than DEEPEST.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, ONE, U64, ZERO, Int, copy64, helper, kernel, pointer, range_mask, trailing_zeros
from subwords.kernels.layout import I64s, U8s

DEEPEST = 60
TAB, FEED, RETURN, BLANK, QUOTE, COMMA, MINUS, DOT, SLASH = 9, 10, 13, 32, 34, 44, 45, 46, 47
NAUGHT, NINE, COLON, OPEN_LIST, BACKSLASH, SHUT_LIST, OPEN, SHUT = 48, 57, 58, 91, 92, 93, 123, 125
SHUTS = 2  # a closing bracket minus the opening one, of both kinds


@helper
def byte_before(p, i, stop):
    """The byte at p[i]; -1 at the end."""
    return I64(p[i]) if i < stop else -1


@helper
def after_space(p, i, stop):
    """The place of the next byte that is not whitespace within a row."""
    while i < stop and (p[i] == BLANK or p[i] == TAB or p[i] == RETURN):
        i += 1
    return i


@helper
def next_special(p, i, stop):
    """The place of the next quote, backslash or control character; `stop` if there is none."""
    while i + layout.LANES <= stop:
        found = range_mask(p, i, QUOTE, QUOTE) | range_mask(p, i, BACKSLASH, BACKSLASH) | range_mask(p, i, 0, 31)
        if found != ZERO:
            return i + trailing_zeros(found)
        i += layout.LANES
    while i < stop and p[i] != QUOTE and p[i] != BACKSLASH and p[i] > 31:
        i += 1
    return i


@helper
def hex_at(p, i, stop):
    """The number of four hexadecimal digits, or -1."""
    if i + 4 > stop:
        return -1
    found = 0
    for k in range(4):
        c = I64(p[i + k])
        if NAUGHT <= c <= NINE:
            found = found << 4 | c - NAUGHT
        elif 97 <= c | 32 <= 102:
            found = found << 4 | (c | 32) - 87
        else:
            return -1
    return found


@helper
def escape_at(p, i, stop):
    """The code of the escape at p[i], which is a backslash, and its bytes; the code is -1 if it is invalid."""
    c = byte_before(p, i + 1, stop)
    if c in (QUOTE, BACKSLASH, SLASH):
        return c, 2
    if c == 110:
        return FEED, 2
    if c == 116:
        return TAB, 2
    if c == 114:
        return RETURN, 2
    if c == 98:
        return 8, 2
    if c == 102:
        return 12, 2
    if c != 117:
        return -1, 2
    code = hex_at(p, i + 2, stop)
    if 0xD800 <= code < 0xDC00 and byte_before(p, i + 6, stop) == BACKSLASH and byte_before(p, i + 7, stop) == 117:
        low = hex_at(p, i + 8, stop)
        if 0xDC00 <= low < 0xE000:
            return 0x10000 + (code - 0xD800 << 10) + low - 0xDC00, 12
    return code, 6


@helper
def string_end(p, i, stop):
    """The place after the closing quote of a string whose text begins at p[i]; -1 if it is invalid."""
    while True:
        i = next_special(p, i, stop)
        c = byte_before(p, i, stop)
        if c == QUOTE:
            return i + 1
        if c != BACKSLASH:
            return -1
        code, size = escape_at(p, i, stop)
        if code < 0:
            return -1
        i += size


@helper
def put_character(o, at, code):
    """Write a code point in UTF-8; the number of bytes."""
    if code < 0x80:
        o[at] = code
        return 1
    if code < 0x800:
        o[at], o[at + 1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
        return 2
    if code < 0x10000:
        o[at], o[at + 1], o[at + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
        return 3
    o[at], o[at + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
    o[at + 2], o[at + 3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
    return 4


@helper
def copy_run(o, at, p, i, end, stop):
    """Copy p[i:end]; up to LANES bytes after it may be read before `stop` and overwritten in `o`."""
    while i < end and i + layout.LANES <= stop:
        copy64(o, at, p, i)
        i, at = i + layout.LANES, at + layout.LANES
    while i < end:
        o[at] = p[i]
        i, at = i + 1, at + 1


@helper
def string_copied(p, i, stop, o, at):
    """As `string_end`, with the text written at o[at]: the place after the quote, and after the text."""
    while True:
        end = next_special(p, i, stop)
        copy_run(o, at, p, i, end, stop)
        at += end - i
        i, c = end, byte_before(p, end, stop)
        if c == QUOTE:
            return i + 1, at
        if c != BACKSLASH:
            return -1, at
        code, size = escape_at(p, i, stop)
        if code < 0 or 0xD800 <= code < 0xE000:
            return -1, at
        at += put_character(o, at, code)
        i += size


@helper
def digits_end(p, i, stop):
    """The place after at least one digit; -1 if there is none."""
    start = i
    while i < stop and NAUGHT <= p[i] <= NINE:
        i += 1
    return i if i > start else -1


@helper
def number_end(p, i, stop):
    """The place after the number at p[i]; -1 if it is invalid."""
    if p[i] == MINUS:
        i += 1
    i = i + 1 if byte_before(p, i, stop) == NAUGHT else digits_end(p, i, stop)
    if i >= 0 and byte_before(p, i, stop) == DOT:
        i = digits_end(p, i + 1, stop)
    if i >= 0 and byte_before(p, i, stop) | 32 == 101:
        i += 1
        if byte_before(p, i, stop) == 43 or byte_before(p, i, stop) == MINUS:
            i += 1
        i = digits_end(p, i, stop)
    return i


@helper
def word_end(p, i, stop, word, size):
    """The place after one of true, false, null, the letters of which are the bytes of `word`; -1 if it is not there."""
    if i + size > stop:
        return -1
    for k in range(size):
        if U64(p[i + k]) != word >> U64(8 * k) & U64(0xFF):
            return -1
    return i + size


@helper
def scalar_end(p, i, stop):
    """The place after the string, number, true, false or null at p[i]; -1 if there is none."""
    c = byte_before(p, i, stop)
    if c == QUOTE:
        return string_end(p, i + 1, stop)
    if c == MINUS or NAUGHT <= c <= NINE:
        return number_end(p, i, stop)
    if c == 116:
        return word_end(p, i, stop, U64(0x65757274), 4)
    if c == 102:
        return word_end(p, i, stop, U64(0x65736C6166), 5)
    if c == 110:
        return word_end(p, i, stop, U64(0x6C6C756E), 4)
    return -1


@helper
def colon_end(p, i, stop):
    """The place after a name and its colon; -1 if they are not there."""
    i = after_space(p, i, stop)
    if byte_before(p, i, stop) != QUOTE:
        return -1
    i = string_end(p, i + 1, stop)
    if i < 0:
        return -1
    i = after_space(p, i, stop)
    return i + 1 if byte_before(p, i, stop) == COLON else -1


@helper
def value_end(p, i, stop):
    """The place after the value at p[i]; -1 if it is invalid or too deep."""
    depth, objects = 0, ZERO  # the lowest bit: whether the innermost value is an object
    while True:
        i = after_space(p, i, stop)
        c, empty = byte_before(p, i, stop), False
        if c in (OPEN, OPEN_LIST):
            depth += 1
            # A stack of bits, at most DEEPEST + 1 of 64.
            objects = objects << ONE | (ONE if c == OPEN else ZERO)
            if depth > DEEPEST:
                return -1
            i = after_space(p, i + 1, stop)
            empty = byte_before(p, i, stop) == c + SHUTS
            if not empty:
                if c == OPEN:
                    i = colon_end(p, i, stop)
                    if i < 0:
                        return -1
                continue
        else:
            i = scalar_end(p, i, stop)
            if i < 0:
                return -1
        while depth > 0:  # after a value, or at the end of an empty one
            i = after_space(p, i, stop)
            c = byte_before(p, i, stop)
            if c == COMMA and not empty:
                break
            if c != (SHUT if objects & ONE != ZERO else SHUT_LIST):
                return -1
            empty = False
            depth -= 1
            objects >>= ONE
            i += 1
        if depth == 0:
            return i
        i += 1
        if objects & ONE != ZERO:
            i = colon_end(p, i, stop)
            if i < 0:
                return -1


@helper
def matches_name(p, i, end, q, length):
    """Whether the string p[i:end] is q[:length]; 0 if not, 1 if so, -1 if it has escapes."""
    same = end - i == length
    for k in range(end - i):
        if p[i + k] == BACKSLASH:
            return -1
        if same and p[i + k] != q[k]:
            same = False
    return 1 if same else 0


@helper
def copy_row_text(p, i, stop, q, length, o, at):
    """The place after the object at p[i], and after the text of the field q[:length]; the first is -1 if undecided."""
    found, written = False, at
    if byte_before(p, i, stop) != OPEN:
        return -1, at
    while True:
        name = after_space(p, i + 1, stop) + 1
        i = colon_end(p, i + 1, stop)
        if i < 0:
            return -1, at
        end = i - 1
        # Back from the colon to the closing quote of the name: only whitespace is between.
        while p[end] != QUOTE:
            end -= 1
        i, known = after_space(p, i, stop), matches_name(p, name, end, q, length)
        if known == 0:
            i = value_end(p, i, stop)
        # A name with escapes, a second field of this name, or another value than a string: Python decides.
        elif known < 0 or found or byte_before(p, i, stop) != QUOTE:
            return -1, at
        else:
            found = True
            i, written = string_copied(p, i + 1, stop, o, at)
        if i < 0:
            return -1, at
        i = after_space(p, i, stop)
        c = byte_before(p, i, stop)
        if c == SHUT:
            return (i + 1 if found else -1), written
        if c != COMMA:
            return -1, at


@kernel
def field_texts(data: U8s, name: U8s, out: U8s, ends: I64s, counters: I64s) -> Int:
    """Write the texts of a field of rows, one after the other, and where each ends: DONE.

    UNKNOWN: the row at counters[JSON_ROW.at] is not decided; nothing of it is written. counters: see layout.ROW_AT.
    data: valid UTF-8. name: the field's, in UTF-8. out: room for the data and LANES bytes, which are overwritten. ends:
    room for all rows. Rows of whitespace are left out.
    """
    p, q, o, e, c = pointer(data), pointer(name), pointer(out), pointer(ends), pointer(counters)
    stop, at, written, rows = (
        len(data),
        I64(c[layout.JSON_ROW.at]),
        I64(c[layout.JSON_ROW.written]),
        I64(c[layout.JSON_ROW.width]),
    )
    status = layout.DONE
    while at < stop:
        start = after_space(p, at, stop)
        if byte_before(p, start, stop) != FEED and start < stop:
            end, next_written = copy_row_text(p, start, stop, q, len(name), o, written)
            if end >= 0:
                end = after_space(p, end, stop)
            if end < 0 or (end < stop and p[end] != FEED):
                status = layout.UNKNOWN
                break
            # Only now, so that nothing of an undecided row is kept.
            start, written = end, next_written
            e[rows] = written
            rows += 1
        at = start + 1
    c[layout.JSON_ROW.at], c[layout.JSON_ROW.written], c[layout.JSON_ROW.width] = at, written, rows
    return status
