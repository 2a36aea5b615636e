"""UTF-8 and bytes inside kernels: reading characters, validity, search, and ids to bytes."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import (
    I64,
    ONE,
    U64,
    ZERO,
    Int,
    copy64,
    helper,
    inlined,
    kernel,
    pointer,
    range_mask,
    trailing_zeros,
)
from subwords.kernels.layout import I64s, TextPlaces, U8s, U32s

NOT_UTF8 = -1


@helper
def decode_at(p, i, stop):
    """The character at p[i] as (code point, length); (NOT_UTF8, 1) for a byte that starts no character (S2)."""
    lead = I64(p[i])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        if lead >= 0xC2 and i + 1 < stop and I64(p[i + 1]) >> 6 == 2:
            return (lead & 0x1F) << 6 | (I64(p[i + 1]) & 0x3F), 2
    elif lead < 0xF0:
        if i + 2 < stop and I64(p[i + 1]) >> 6 == 2 and I64(p[i + 2]) >> 6 == 2:
            code = (lead & 0x0F) << 12 | (I64(p[i + 1]) & 0x3F) << 6 | (I64(p[i + 2]) & 0x3F)
            if code >= 0x800 and not 0xD800 <= code < 0xE000:
                return code, 3
    elif lead < 0xF5 and i + 3 < stop:
        b1, b2, b3 = I64(p[i + 1]), I64(p[i + 2]), I64(p[i + 3])
        if b1 >> 6 == 2 and b2 >> 6 == 2 and b3 >> 6 == 2:
            code = (lead & 0x07) << 18 | (b1 & 0x3F) << 12 | (b2 & 0x3F) << 6 | (b3 & 0x3F)
            if 0x10000 <= code < 0x110000:
                return code, 4
    return NOT_UTF8, 1


@helper
def follows(p, i, lead, first, last):
    """Bit k is set if p[i + k] is in first..last and the byte before it is `lead`, for 64 bytes."""
    after = range_mask(p, i, lead, lead) << U64(1)
    if i > 0 and I64(p[i - 1]) == lead:
        after |= U64(1)
    return after & range_mask(p, i, first, last)


@helper
def broken_at(p, i, awaited):
    """Whether 64 bytes hold a byte of no character, and the bytes awaited of the next ones.

    awaited: bit k is set if p[i + k] must continue a character that began before p[i].
    """
    four = range_mask(p, i, 0xF0, 0xF4)
    three = four | range_mask(p, i, 0xE0, 0xEF)
    two = three | range_mask(p, i, 0xC2, 0xDF)
    inner = awaited | two << U64(1) | three << U64(2) | four << U64(3)
    wrong = range_mask(p, i, 0x80, 0xBF) ^ inner
    wrong |= range_mask(p, i, 0xC0, 0xC1) | range_mask(p, i, 0xF5, 0xFF)
    wrong |= follows(p, i, 0xE0, 0x80, 0x9F) | follows(p, i, 0xED, 0xA0, 0xBF)  # too long a form; a surrogate
    wrong |= follows(p, i, 0xF0, 0x80, 0x8F) | follows(p, i, 0xF4, 0x90, 0xBF)  # too long a form; above U+10FFFF
    return wrong, two >> U64(63) | three >> U64(62) | four >> U64(61)


@helper
def copy_range(q, j, p, i, stop, room):
    """Copy p[i:stop] to q from j on: LANES bytes at a time, which q has room for, while p has as many before `room`."""
    while i < stop and i + layout.LANES <= room:
        copy64(q, j, p, i)
        i += layout.LANES
        j += layout.LANES
    while i < stop:
        q[j] = p[i]
        i += 1
        j += 1


@kernel
def first_invalid(text: U8s) -> Int:
    """The index of the first byte that is not part of a UTF-8 character, or -1; same result as `bytes.decode`."""
    p, n = pointer(text), len(text)
    i, awaited = 0, U64(0)
    while i + layout.LANES <= n:
        if range_mask(p, i, 0x80, 0xFF) | awaited != 0:
            wrong, following = broken_at(p, i, awaited)
            if wrong != 0:
                break
            awaited = following
        i += layout.LANES
    if awaited != 0:  # back to the character that is not complete
        while p[i - 1] >> 6 == 2:
            i -= 1
        i -= 1
    while i < n:
        code, length = decode_at(p, i, n)
        if code == NOT_UTF8:
            return i
        i += length
    return -1


# ---------------------------------------------------------------------------------------------------------------------
# Measures texts: characters and words, and how often each id occurs.


@kernel
def measure_texts(text: U8s, bounds: I64s, classes: U8s, out: I64s) -> Int:
    """Write a row for each text, text[bounds[k]:bounds[k + 1]]; 0.

    classes: IN_WORD and SPACELESS by code point. A word is a run of characters with IN_WORD.
    """
    p, b, c, o = pointer(text), pointer(bounds), pointer(classes), pointer(out)
    for k in range(len(bounds) - 1):
        i, stop = b[k], b[k + 1]
        characters, words, spaceless, inside = I64(0), I64(0), I64(0), I64(0)
        while i < stop:
            code = I64(p[i])
            if code < 0x80:
                i += 1
            else:
                code, length = decode_at(p, i, stop)
                i += length
            kind = I64(c[code]) if code != NOT_UTF8 else I64(0)
            is_in = kind & layout.IN_WORD
            words += is_in & (inside ^ 1)
            inside = is_in
            spaceless += (kind & layout.SPACELESS) >> 1
            characters += 1
        row = k * layout.MEASURED.width
        o[row + layout.MEASURED.characters], o[row + layout.MEASURED.words], o[row + layout.MEASURED.spaceless] = (
            characters,
            words,
            spaceless,
        )
    return 0


@kernel
def count_ids(ids: U32s, counts: I64s) -> Int:
    """Add to counts[id] how often each id occurs; 0. Ids are below len(counts)."""
    p, c = pointer(ids), pointer(counts)
    for k in range(len(ids)):
        c[I64(p[k])] += 1
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# The ids before and after each document of a block.


@kernel
def place_ends(ids: U32s, ends: I64s, first: Int, last: Int, begun: Int, out: U32s, out_ends: I64s) -> Int:
    """Write the ids with `first` before and `last` after each document, -1 for none; the number of ids.

    Documents end in ids[: ends[k]]; out_ends gets where they end in `out`. The ids after the last end belong to a
    document that continues in the next block. begun: 1 if the first document began before this block, so it has its
    `first`.
    """
    source, target, e, o = pointer(ids), pointer(out), pointer(ends), pointer(out_ends)
    start = written = 0
    for k in range(len(ends) + 1):
        stop = e[k] if k < len(ends) else len(ids)
        if k == len(ends) and stop == start:
            break
        if first >= 0 and (k > 0 or begun == 0):
            target[written] = first
            written += 1
        for i in range(stop - start):
            target[written + i] = source[start + i]
        written += stop - start
        if k < len(ends):
            if last >= 0:
                target[written] = last
                written += 1
            o[k] = written
        start = stop
    return written


# ---------------------------------------------------------------------------------------------------------------------
# Searching bytes without holding the GIL.


@helper
def occurs_at(p, i, needle, length):
    """Whether needle[:length] is at p[i]."""
    k = 0
    while k < length and p[i + k] == needle[k]:
        k += 1
    return k == length


@helper
def find_in(p, start, stop, q, length):
    """The first place of q[:length] inside p[start:stop], or -1."""
    second = min(1, length - 1)
    i = start
    while i + length <= stop:
        if i + second + layout.LANES > stop:
            if occurs_at(p, i, q, length):
                return i
            i += 1
            continue
        found = range_mask(p, i, q[0], q[0]) & range_mask(p, i + second, q[second], q[second])
        while found != ZERO:
            k = i + trailing_zeros(found)
            if k + length <= stop and occurs_at(p, k, q, length):
                return k
            found &= found - ONE
        i += layout.LANES
    return -1


@kernel
def find_bytes(text: U8s, start: Int, stop: Int, needle: U8s) -> Int:
    """The first place of a non-empty `needle` inside text[start:stop], or -1; as `bytes.find`."""
    return find_in(pointer(text), start, stop, pointer(needle), len(needle))


@kernel
def cut_out(text: U8s, needle: U8s, out: U8s, ends: I64s) -> Int:
    """Write the text without the places of a non-empty `needle`, and where each of them was; the number of places.

    As `text.split(needle)`: ends[k] is the size of the first k + 1 parts. ends: room for all places. out: room for the
    text and LANES bytes, which are overwritten. `bytes.replace` takes 0.7 to 1.9 ns a byte.
    """
    p, q, o, e, length = pointer(text), pointer(needle), pointer(out), pointer(ends), len(needle)
    at = written = places = 0
    while True:
        found = find_in(p, at, len(text), q, length)
        stop = found if found >= 0 else len(text)
        copy_range(o, written, p, at, stop, len(text))
        written += stop - at
        if found < 0:
            return places
        e[places] = written
        places += 1
        at = found + length


@kernel
def join_places(data: U8s, texts: TextPlaces, out: U8s) -> Int:
    """Write texts one after another; the number of their bytes. out: room for them and LANES bytes, overwritten."""
    p, begins, sizes, o, written = pointer(data), pointer(texts.begins), pointer(texts.sizes), pointer(out), I64(0)
    for t in range(len(texts.begins)):
        at, stop = begins[t], begins[t] + sizes[t]
        copy_range(o, written, p, at, stop, stop)
        written += stop - at
    return written


@kernel
def ends_after(text: U8s, byte: Int, ends: I64s) -> Int:
    """Write the place after each byte of this value; their number. ends: room for all."""
    p, e, n, i = pointer(text), pointer(ends), 0, 0
    while i + layout.LANES <= len(text):
        found = range_mask(p, i, byte, byte)
        while found != ZERO:
            e[n] = i + trailing_zeros(found) + 1
            n += 1
            found &= found - ONE
        i += layout.LANES
    while i < len(text):
        if p[i] == byte:
            e[n] = i + 1
            n += 1
        i += 1
    return n


# ---------------------------------------------------------------------------------------------------------------------
# Which documents a sample keeps: a hash of their first bytes decides.

BASIS, PRIME = U64(0xCBF29CE484222325), U64(0x100000001B3)  # FNV-1a, 64 bits
OF_SEED, FIRST_FACTOR, SECOND_FACTOR = U64(0x9E3779B97F4A7C15), U64(0xFF51AFD7ED558CCD), U64(0xC4CEB9FE1A85EC53)
HALF, TO_53 = U64(33), U64(11)


@helper
def text_hash(text, i, stop, seed):
    """FNV-1a of text[i:stop] with the seed mixed in, then the finalizer of MurmurHash3."""
    state = BASIS
    while i < stop:
        state = (state ^ U64(text[i])) * PRIME
        i += 1
    state ^= U64(seed) * OF_SEED
    state = (state ^ state >> HALF) * FIRST_FACTOR
    state = (state ^ state >> HALF) * SECOND_FACTOR
    return state ^ state >> HALF


@kernel
def keep_texts(text: U8s, bounds: I64s, seed: Int, head: Int, limit: Int, kept: U8s) -> Int:
    """Write whether each text text[bounds[k]:bounds[k + 1]] is kept, by its first `head` bytes; 0.

    It is kept if the first 53 bits of its hash are below `limit`.
    """
    p, b, o = pointer(text), pointer(bounds), pointer(kept)
    for k in range(len(bounds) - 1):
        i = b[k]
        found = text_hash(p, i, min(b[k + 1], i + head), seed)
        o[k] = 1 if I64(found >> TO_53) < limit else 0
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Ids to bytes.
#
# What an id gives is a *span* of the bytes of all tokens: its start (from bit SPAN_START on), its flags and its size
# (the lowest bits). SPAN_BYTE: a single byte of a character. SPAN_BREAK: no bytes, and those before and after never
# join.

FLAGS = layout.SPAN_BYTE | layout.SPAN_BREAK


@kernel
def size_of_ids(ids: I64s, spans: I64s) -> Int:
    """The number of bytes that the ids give; -1 - i if ids[i] is out of range, NO_SIZE if a break separates bytes."""
    p, s, count = pointer(ids), pointer(spans), len(spans)
    total, run = I64(0), I64(0)
    for i in range(len(ids)):
        index = I64(p[i])
        if index < 0 or index >= count:
            return I64(-1 - i)
        span = s[index]
        total += span & layout.SPAN_SIZE
        if span & FLAGS != 0 or run != 0:
            run = run_after(run, span)
            if run < 0:
                return I64(layout.NO_SIZE)
    return total


@inlined
def run_after(run, span):
    """1 after single bytes, 2 if they are followed by a break, else 0; -1 for a byte after such a break."""
    if span & layout.SPAN_BYTE != 0:
        return I64(-1) if run == 2 else I64(1)
    if span & layout.SPAN_BREAK != 0:
        return I64(2) if run != 0 else I64(0)
    return run if span & layout.SPAN_SIZE == 0 else I64(0)


@kernel
def join_ids(ids: I64s, spans: I64s, data: U8s, out: U8s) -> Int:
    """Write the bytes of ids to `out`, which has LANES bytes more than `size_of_ids` said; their number.

    -1: another thread wrote into `ids` since then. data: padded by LANES bytes, so that as many can always be copied at
    once. Each id is read once and checked again: 1 % of the time of decoding; a private copy took 3 to 12 %.
    """
    p, s, d, q, count = pointer(ids), pointer(spans), pointer(data), pointer(out), len(spans)
    at, most = I64(0), len(out) - layout.LANES
    for i in range(len(ids)):
        index = I64(p[i])
        if index < 0 or index >= count:
            return I64(-1)
        start, size = s[index] >> layout.SPAN_START, s[index] & layout.SPAN_SIZE
        if at + size > most:
            return I64(-1)
        copy64(q, at, d, start)
        for k in range(layout.LANES, size, layout.LANES):
            copy64(q, at + k, d, start + k)
        at += size
    return at
