"""Kernels that JavaScript calls: texts to ids and back, in the memory of a WebAssembly module; see `web/`.

What stands in `engine/web_image.py` lies in that memory: a call plan as on every other machine, tables, and the tuples
below. A kernel stops where an array has no room, says which in its result, and JavaScript, which makes the room, calls
again. So one call does all texts that have room.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.entry import DATA, SIZES, Kernel, entry_kernel
from subwords.kernels.fastpath import (
    begin_again,
    encode_at,
    encode_words_at,
    end_batch,
    gather_texts,
    get,
    set_field,
)
from subwords.kernels.jit import I64, U64, Int, declare, helper, inlined, pointer, range_mask
from subwords.kernels.layout import BPEModel, Children, I32s, I64s, TrieNodes, U8s, U16s, U32s, U64s
from subwords.kernels.objects import byte_at, call_at, data_of, item, load_at, store_at
from subwords.kernels.plan_layout import FIELDS, PLAN, SPARE_BYTES, TEXT_ARRAY
from subwords.kernels.text.utf8 import copy_range, decode_at
from subwords.kernels.trie import AFTER, LABEL

# The kernels of a WebAssembly module that a plan may name; `subwords_kernels` in the module says where each is. A plan
# that needs another one cannot be exported.
NAMED = (
    *("split_gpt2_many", "split_cl100k_many", "split_o200k_many", "split_texts", "split_kinds"),
    *("change_words", "encode_bpe", "encode_wordpiece", "encode_unigram"),
    *("map_texts", "form_texts", "literal_texts", "trim_texts", "run_texts", "rule_texts", "cut_tokens"),
)
# What `web_encode` stops for, besides the statuses of `layout`: room for texts, or for places of texts.
NEED_TEXT, NEED_PLACES = 16, 17


class WebJob(NamedTuple):
    """What `web_encode` works on."""

    plan: object
    general: object  # the plan of texts for which a stage of the other one does not do, if `has_general`
    numbers: object  # int64: JOB_NUMBER
    memory: object  # all of the memory as one array, so that places in it are addresses
    given: object  # `TextPlaces` of the texts
    one: object  # and of what these are cut into
    two: object
    finders: object  # a tuple of `TokenFinder`
    hits: object
    ends: object
    upto: object  # for each text, how many parts there are up to its end
    pairs: object  # a bit for each two ASCII characters: a text may be cut between them; or no element
    offsets: object  # for each part, how many ids there are up to its end


JOB = WebJob(*range(13))
# texts: how many are given. first, last: the finders of the tokens to cut at. room: places. parts: of the texts. cut:
# the kernel that cuts. needed: what NEED_TEXT needs. by_general: whether that plan has the texts that are encoded now.
JOB_NUMBER = layout.row("state texts first last room parts cut needed has_general by_general width")
BEGIN, WAITING, STOPPED = range(3)  # states: a new call; texts wait; words of texts that are split wait
PART = 1 << 15  # bytes of a part of a long text: several are encoded at once


@inlined
def set_size(array, n):
    """Set the number of elements of an array."""
    store_at(load_at(array + SIZES), n)


@inlined
def number_at(places, column, k):
    """The address of a number of a text."""
    return data_of(item(places, column)) + 8 * k


@helper
def cut_after(pairs, address, begin, stop):
    """Where a text may be cut: the last place up to `begin`, or else the first one after it; `stop` if there is none.

    In the first half of a part there is no search.
    """
    k = begin
    while k > begin - PART // 2:
        pair = byte_at(address + k - 1) << 7 | byte_at(address + k)
        if byte_at(address + k - 1) < 128 and byte_at(address + k) < 128 and is_set(pairs, pair):
            return k
        k -= 1
    k = begin + 1
    while k < stop:
        pair = byte_at(address + k - 1) << 7 | byte_at(address + k)
        if byte_at(address + k - 1) < 128 and byte_at(address + k) < 128 and is_set(pairs, pair):
            return k
        k += 1
    return stop


@inlined
def is_set(bits, k):
    """Whether a bit is set at an address."""
    return byte_at(bits + (k >> 3)) >> (k & 7) & 1 != 0


@helper
def cut_parts(pairs, texts, n, out, room, ends):
    """Write the parts of long texts and the others as they are; their number, or -1 if there is no room."""
    found = I64(0)
    for t in range(n):
        at, size = load_at(number_at(texts, 0, t)), load_at(number_at(texts, 1, t))
        while True:
            stop = size if size <= PART else cut_after(pairs, at, I64(PART), size)
            if found == room:
                return I64(-1)
            store_at(number_at(out, 0, found), at)
            store_at(number_at(out, 1, found), stop)
            store_at(number_at(out, 2, found), load_at(number_at(texts, 2, t)) if stop == size else I64(0))
            found += 1
            at += stop
            size -= stop
            if size == 0:
                break
        store_at(ends + 8 * t, found)
    return found


@helper
def follow(numbers, upto, ends):
    """Let `upto` count the parts of what was cut."""
    for t in range(load_at(numbers + 8 * JOB_NUMBER.texts)):
        before = load_at(upto + 8 * t)
        store_at(upto + 8 * t, load_at(ends + 8 * (before - 1)) if before > 0 else I64(0))
    return I64(0)


@helper
def cut_all(job, numbers):
    """Cut the texts at tokens, and long ones at safe places: the places of the parts; 0 if there is no room."""
    n, room = load_at(numbers + 8 * JOB_NUMBER.texts), load_at(numbers + 8 * JOB_NUMBER.room)
    source, target, other = item(job, JOB.given), item(job, JOB.one), item(job, JOB.two)
    ends, upto, pairs = data_of(item(job, JOB.ends)), data_of(item(job, JOB.upto)), item(job, JOB.pairs)
    set_size(item(source, 0), n)  # JavaScript keeps as many if there is no room
    for t in range(n):
        store_at(upto + 8 * t, t + 1)
    for k in range(load_at(numbers + 8 * JOB_NUMBER.first), load_at(numbers + 8 * JOB_NUMBER.last)):
        set_size(item(source, 0), n)
        set_size(item(target, 0), room)
        finder, kernel = item(item(job, JOB.finders), k), load_at(numbers + 8 * JOB_NUMBER.cut)
        hits, counts = item(job, JOB.hits), item(job, JOB.ends)
        n = call_at(kernel, item(job, JOB.memory), source, finder, hits, target, counts)
        if n < 0:
            return I64(0)
        follow(numbers, upto, ends)
        source, target, other = target, other, target
    if load_at(load_at(pairs + SIZES)) > 0:
        n = cut_parts(data_of(pairs), source, n, target, room, ends)
        if n < 0:
            return I64(0)
        follow(numbers, upto, ends)
        source = target
    store_at(numbers + 8 * JOB_NUMBER.parts, n)
    return source


@helper
def copy_numbers(source, target):
    """Copy what the fields of a plan say of texts."""
    for k in range(FIELDS.next, FIELDS.filled + 1):
        set_field(target, k, get(source, k))
    set_field(target, TEXT_ARRAY + DATA // 8, get(source, TEXT_ARRAY + DATA // 8))
    return I64(0)


@helper
def encode_batch(plan, fields, address, texts):
    """Append the ids of texts in the buffer: whether all went well."""
    return encode_at(plan, fields, address, texts, I64(SPARE_BYTES))


@helper
def encode_next(job, numbers, fields, texts):
    """Append the ids of the texts in the buffer, or go on with them: whether all went well."""
    plan, general = item(job, JOB.plan), item(job, JOB.general)
    others, buffer = data_of(item(general, PLAN.fields)), data_of(item(plan, PLAN.buffer))
    if load_at(numbers + 8 * JOB_NUMBER.state) == STOPPED:
        written = load_at(data_of(item(plan, PLAN.counters)) + 8 * layout.COUNTER.written)
        if load_at(numbers + 8 * JOB_NUMBER.by_general) == 0:
            return encode_words_at(plan, fields, texts, written)
        well = encode_words_at(general, others, texts, written)
    else:
        store_at(numbers + 8 * JOB_NUMBER.by_general, 0)
        set_field(fields, FIELDS.status, 0)
        well = encode_batch(plan, fields, buffer, texts)
        if well or get(fields, FIELDS.status) != 0 or load_at(numbers + 8 * JOB_NUMBER.has_general) == 0:
            return well
        store_at(numbers + 8 * JOB_NUMBER.by_general, 1)
        copy_numbers(fields, others)
        well = encode_batch(general, others, buffer, texts)
    copy_numbers(others, fields)
    return well


def web_encode(job: Int) -> Int:
    """Write the ids of texts to the plan's `out`: how many, or minus what it stopped for; then call it again.

    `numbers` says how many texts there are; `given` where. After an error, the next call begins with BEGIN as state.
    """
    plan, numbers = item(job, JOB.plan), data_of(item(job, JOB.numbers))
    fields = data_of(item(plan, PLAN.fields))
    if load_at(numbers + 8 * JOB_NUMBER.state) == BEGIN:
        begin_again(plan)
        places = cut_all(job, numbers)
        if places == 0:
            return I64(-NEED_PLACES)
        set_field(fields, FIELDS.addresses, number_at(places, 0, 0))
        set_field(fields, FIELDS.lengths, number_at(places, 1, 0))
        set_field(fields, FIELDS.after, number_at(places, 2, 0))
        set_field(fields, FIELDS.offsets, data_of(item(job, JOB.offsets)))
        set_field(fields, FIELDS.last, load_at(numbers + 8 * JOB_NUMBER.parts))
        set_field(fields, FIELDS.next, 0)
        set_field(fields, FIELDS.filled, 0)
        store_at(numbers + 8 * JOB_NUMBER.state, WAITING)
    while get(fields, FIELDS.next) < get(fields, FIELDS.last):
        if load_at(numbers + 8 * JOB_NUMBER.state) == STOPPED:
            texts = get(fields, FIELDS.upto) - get(fields, FIELDS.next)
        else:
            texts = gather_texts(plan, fields)
        well = False
        if texts > 0:
            well = encode_next(job, numbers, fields, texts)
        if not well:
            stopped = texts > 0 and get(fields, FIELDS.status) != 0
            store_at(numbers + 8 * JOB_NUMBER.state, STOPPED if stopped else WAITING)
            first = load_at(get(fields, FIELDS.lengths) + 8 * get(fields, FIELDS.next))
            store_at(numbers + 8 * JOB_NUMBER.needed, first if texts == 0 else get(fields, FIELDS.size))
            return -get(fields, FIELDS.status) if stopped else I64(-NEED_TEXT)
        store_at(numbers + 8 * JOB_NUMBER.state, WAITING)
        end_batch(plan, fields, texts)
    store_at(numbers + 8 * JOB_NUMBER.state, BEGIN)
    return get(fields, FIELDS.filled)


def web_replaced(memory: U8s, at: Int, size: Int) -> Int:
    """Whether U+FFFD may be among the bytes at an address; bytes after them are read too."""
    p, found = pointer(memory), U64(0)
    for k in range(at, at + size, layout.LANES):
        found |= range_mask(p, k, 0xEF, 0xEF) & range_mask(p, k + 1, 0xBF, 0xBF) & range_mask(p, k + 2, 0xBD, 0xBD)
    return I64(found != U64(0))


# ---------------------------------------------------------------------------------------------------------------------
# Ids to text, whole or as they come; `engine/decode/joined.py` is the twin.

SINGLE_BYTE, BREAK, HIDDEN, GOES_ON = 1, 2, 4, 8  # flags of an id; the first two as SPAN_BYTE, SPAN_BREAK; Edge
AT_START, AT_END = 1, 2  # where an id gives other bytes
# Who writes U+FFFD for bytes that are no text: the kernel for a run, or for each byte, or JavaScript.
NO_MODE, EACH_BYTE, OF_READER = range(3)
NEED_RUN, NO_TOKEN = 1, 2  # why there is no text: the run has no room; an id is outside the vocabulary
# edge: AT_START, AT_END or 0. mode: see above. skips: whether HIDDEN ids are left out. content: an ASCII character of
# which up to `left` are removed at the start, and up to `stop` at the end. longest: bytes of an id. last: the id that
# may be the last one, or -1. run: bytes in `run`. held: characters that may be at the end. read: ids that were read.
DECODING = layout.row("edge mode skips content left stop longest last run held read width")


class WebTokens(NamedTuple):
    """The bytes of each id, and its flags."""

    data: U8s
    offsets: U32s
    trims: U16s  # four for each id: bytes left out at its start and its end, between others, and at the edge
    flags: U8s


@inlined
def token_range(tokens, index, at_edge):
    """Where the bytes of an id begin and end, between others or at the edge."""
    row = 4 * index + 2 * I64(at_edge)
    return I64(tokens.offsets[index]) + tokens.trims[row], I64(tokens.offsets[index + 1]) - tokens.trims[row + 1]


@helper
def end_run(run, n, out, j, each, goes_on):
    """Write the text of bytes: (where it ends, how many bytes at the end wait).

    each: U+FFFD for each byte that is no text, or else for all bytes if there is one. goes_on: the beginning of a
    character at the end waits.
    """
    i, start, well = I64(0), j, True
    while i < n:
        code, size = decode_at(run, i, n)
        if code < 0 and goes_on and may_begin(run, i, n):
            for k in range(i, n):
                run[k - i] = run[k]
            return j, n - i
        if code < 0:
            well = False
            out[j], out[j + 1], out[j + 2] = 0xEF, 0xBF, 0xBD
            j += 3
        else:
            for k in range(size):
                out[j + k] = run[i + k]
            j += size
        i += size
    if not well and not each:
        for k in range(n):
            out[start + 3 * k], out[start + 3 * k + 1], out[start + 3 * k + 2] = 0xEF, 0xBF, 0xBD
        j = start + 3 * n
    return j, I64(0)


@inlined
def may_begin(run, i, n):
    """Whether the last bytes may be the beginning of a character."""
    lead = I64(run[i])
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    found = 0xC2 <= lead <= 0xF4 and n - i < size
    for k in range(i + 1, min(n, i + 4)):
        found = found and I64(run[k]) >> 6 == 2
    return found


@helper
def strip_text(out, j, state):
    """Remove characters at the start, and let those wait that may be at the end: (where the text begins, its end)."""
    i, held = I64(0), I64(state[DECODING.held])
    while i < j and state[DECODING.left] > 0 and I64(out[i]) == state[DECODING.content]:
        state[DECODING.left] -= 1
        i += 1
    if i < j:
        state[DECODING.left] = 0
    if state[DECODING.stop] > 0:
        held = 0
        while i < j and I64(out[j - 1]) == state[DECODING.content]:
            j -= 1
            held += 1
        state[DECODING.held] = held
    return i, j


@inlined
def has_room(state, j, room):
    """Whether there is room for the text of bytes that wait and of two ids after j bytes."""
    return j + 3 * state[DECODING.run] + 2 * state[DECODING.longest] + layout.LANES <= room


@inlined
def token_pointers(tokens):
    """The pointers of the tokens."""
    return WebTokens(pointer(tokens.data), pointer(tokens.offsets), pointer(tokens.trims), pointer(tokens.flags))


@helper
def token_to_write(flags, state, index, is_last):
    """Return the id that is written when one is read: it, the one that waited, or -1."""
    if is_last:
        state[DECODING.last] = -1
        return index
    if I64(flags[index]) & HIDDEN != 0 and state[DECODING.skips] != 0:
        return I64(-1)
    if state[DECODING.edge] == AT_END:
        if I64(flags[index]) & GOES_ON != 0:
            return I64(-1)
        index, state[DECODING.last] = I64(state[DECODING.last]), index
    return index


@helper
def write_token(tokens, index, is_last, state, run, out, j):
    """Write the text of an id, or let its bytes wait in the run: where the text ends."""
    each, flag = state[DECODING.mode] == EACH_BYTE, I64(tokens.flags[index])
    begin, stop = token_range(tokens, index, is_last or state[DECODING.edge] == AT_START)
    if flag & GOES_ON == 0 and state[DECODING.edge] == AT_START:
        state[DECODING.edge] = 0
    waits = each or flag & SINGLE_BYTE != 0
    if waits:
        for k in range(begin, stop):
            run[state[DECODING.run] + k - begin] = tokens.data[k]
        state[DECODING.run] += stop - begin
    if state[DECODING.run] > 0 and (flag & BREAK != 0 or (not waits and stop > begin)):
        j, state[DECODING.run] = end_run(run, state[DECODING.run], out, j, each, False)
    if not waits:
        copy_range(out, j, tokens.data, begin, stop, stop)
        j += stop - begin
    return j


@helper
def end_text(state, run, out, j, ends):
    """Write what waited, if no ids follow, and strip the text: where it begins << 32 | where it ends."""
    if ends or state[DECODING.mode] == EACH_BYTE:
        each = state[DECODING.mode] == EACH_BYTE
        j, state[DECODING.run] = end_run(run, state[DECODING.run], out, j, each, not ends)
    first, j = strip_text(out, j, state)
    if ends and state[DECODING.held] > state[DECODING.stop]:
        for _ in range(state[DECODING.held] - state[DECODING.stop]):
            out[j] = state[DECODING.content]
            j += 1
    return first << I64(32) | j


def web_decode(ids: U32s, n: Int, tokens: WebTokens, state: I64s, run: U8s, out: U8s, final: Int) -> Int:
    """Write the text of the next n ids: where it begins << 32 | where it ends in `out`, or minus NEED_RUN or NO_TOKEN.

    It reads as many ids as there is room for. final: no others follow.
    """
    p, s, r, q = pointer(ids), pointer(state), pointer(run), pointer(out)
    table = token_pointers(tokens)
    i, j, each, ends = I64(0), I64(s[DECODING.held]), s[DECODING.mode] == EACH_BYTE, final != 0
    if not has_room(s, j, len(out)):
        return I64(-NEED_RUN)
    for k in range(j):
        q[k] = s[DECODING.content]
    while i < n or (ends and s[DECODING.last] >= 0):
        index, is_last = (I64(p[i]), False) if i < n else (I64(s[DECODING.last]), True)
        if index >= len(tokens.flags):
            return I64(-NO_TOKEN)
        full = s[DECODING.run] + s[DECODING.longest] > len(run)
        if not has_room(s, j, len(out)) or (full and not each):
            ends = False
            break
        if full:
            j, s[DECODING.run] = end_run(r, s[DECODING.run], q, j, True, True)
        i += I64(not is_last)
        index = token_to_write(table.flags, s, index, is_last)
        if index >= 0:
            j = write_token(table, index, is_last, s, r, q, j)
    s[DECODING.read] = i
    return end_text(s, r, q, j, ends)


def web_spans(ids: U32s, n: Int, tokens: WebTokens, text: Int, size: Int, spans: U32s) -> Int:
    """Write where each id begins and ends in a text, in UTF-16 units: 1, or 0 if ids do not have the bytes of the text.

    Ids that share a character all have it.
    """
    p, table, out = pointer(ids), token_pointers(tokens), pointer(spans)
    at, units, width = I64(0), I64(0), I64(0)
    for k in range(n):
        begin, stop = token_range(table, I64(p[k]), False)
        if at + stop - begin > size:
            return I64(0)
        inside = stop > begin and byte_at(text + at) >> 6 == 2
        out[2 * k] = units - width if inside else units
        for j in range(begin, stop):
            byte = byte_at(text + at)
            if byte != I64(table.data[j]):
                return I64(0)
            if byte >> 6 != 2:
                width = I64(2) if byte >= 0xF0 else I64(1)
                units += width
            at += 1
        out[2 * k + 1] = units
    return I64(at == size)


# ---------------------------------------------------------------------------------------------------------------------
# What is made when a tokenizer is loaded. JavaScript calls the kernels below, and between them those that make tables
# elsewhere too, in the order that the image says. What they take besides tables is room that it gives back.

BLOCK = 1 << 12  # bytes of an image that have a filter


def web_restore(memory: U8s, first: Int, filters: Int, blocks: Int) -> Int:
    """Write the blocks of an image from an address on, in order; 0.

    filters: the address of a byte for each, after which blocks follow as they travel. 0: it is all zero, and is left
    out. Or width | step << 4: it has numbers of `width` bytes, the lowest byte of all first, and of each number the
    difference to that `step` numbers before it, or if `step` is 0 the number.
    """
    p, source = pointer(memory), filters + blocks
    for block in range(blocks):
        width, step = I64(p[filters + block]) & 15, I64(p[filters + block]) >> 4
        count = BLOCK // width if width != 0 else 0
        for k in range(count):
            at, carry = first + BLOCK * block + k * width, I64(0)
            for j in range(width):
                carry += I64(p[source + j * count + k]) + (I64(p[at + j - step * width]) if step != 0 else I64(0))
                p[at + j] = carry & 255
                carry >>= 8
        source += width * count
    return I64(0)


# What has the bytes of an id: nothing so far, the literals, an alphabet of bytes, or the merge of number made - MERGED.
UNSPELLED, LITERAL, ALPHABET, MERGED = range(4)
# links: pairs before the merges. letters: of an alphabet of bytes, or 0. spans: whether these are the sizes of ids.
MERGED_SETTING = layout.row("links letters spans width")


class WebMerges(NamedTuple):
    """The pairs of a table, at last its merges, and the bytes of ids that are no letters and not made."""

    left: U32s
    right: U32s
    rank: U32s
    result: U32s
    literals: U8s
    literal_ids: U32s
    literal_sizes: U32s
    settings: I64s  # MERGED_SETTING
    lefts: I64s  # room for the first three
    rights: I64s
    ranks: I64s
    made: I64s  # and for each id


@helper
def measure_tokens(m, count, literals, alphabet, offsets, ids):
    """Write where the bytes of each id begin, and what has them."""
    for k in range(literals):
        m.made[m.literal_ids[k]] = LITERAL
        offsets[m.literal_ids[k] + 1] = m.literal_sizes[k]
    for letter in range(m.settings[MERGED_SETTING.letters]):
        if m.made[alphabet[letter]] == UNSPELLED:
            m.made[alphabet[letter]] = ALPHABET
            offsets[alphabet[letter] + 1] = 1
    for k in range(m.settings[MERGED_SETTING.links], count):
        if m.made[m.result[k]] == UNSPELLED and m.made[m.left[k]] != UNSPELLED and m.made[m.right[k]] != UNSPELLED:
            m.made[m.result[k]] = MERGED + k
            offsets[m.result[k] + 1] = offsets[m.left[k] + 1] + offsets[m.right[k] + 1]
    for index in range(ids):
        offsets[index + 1] += offsets[index]
    return I64(0)


@helper
def spell_tokens(m, count, literals, alphabet, offsets, data):
    """Write the bytes of each id."""
    at = I64(0)
    for k in range(literals):
        to, size = I64(offsets[m.literal_ids[k]]), I64(m.literal_sizes[k])
        for j in range(size):
            data[to + j] = m.literals[at + j]
        at += size
    for letter in range(m.settings[MERGED_SETTING.letters]):
        if m.made[alphabet[letter]] == ALPHABET:
            data[offsets[alphabet[letter]]] = letter
    for k in range(m.settings[MERGED_SETTING.links], count):
        if m.made[m.result[k]] == MERGED + k:
            to = I64(offsets[m.result[k]])
            for part in (I64(m.left[k]), I64(m.right[k])):
                for j in range(I64(offsets[part]), I64(offsets[part + 1])):
                    data[to] = data[j]
                    to += 1
    return I64(0)


def web_merges(merges: WebMerges, model: BPEModel, tokens: WebTokens) -> Int:
    """Write the bytes of ids, their sizes, the results, and pairs as the kernels of tables take them; 0."""
    m = WebMerges(
        left=pointer(merges.left),
        right=pointer(merges.right),
        rank=pointer(merges.rank),
        result=pointer(merges.result),
        literals=pointer(merges.literals),
        literal_ids=pointer(merges.literal_ids),
        literal_sizes=pointer(merges.literal_sizes),
        settings=pointer(merges.settings),
        lefts=pointer(merges.lefts),
        rights=pointer(merges.rights),
        ranks=pointer(merges.ranks),
        made=pointer(merges.made),
    )
    count, literals = len(merges.left), len(merges.literal_ids)
    alphabet, offsets, spans = pointer(model.alphabet), pointer(tokens.offsets), pointer(model.spans)
    for k in range(count):
        m.lefts[k], m.rights[k], m.ranks[k] = m.left[k], m.right[k], m.rank[k]
        if k >= m.settings[MERGED_SETTING.links]:
            pointer(model.results)[m.rank[k]] = m.result[k]
    measure_tokens(m, count, literals, alphabet, offsets, len(tokens.flags))
    spell_tokens(m, count, literals, alphabet, offsets, pointer(tokens.data))
    if m.settings[MERGED_SETTING.spans] != 0:
        for index in range(len(model.spans)):
            spans[index] = offsets[index + 1] - offsets[index]
    return I64(0)


# later: the first string that begins at AFTER. space: the character for a space in a token, of a trie of characters.
# after: the symbol that leads to AFTER, or MISSING without it; slot: where AFTER is then.
TRIE_SETTING = layout.row("later space after slot width")


class WebTrie(NamedTuple):
    """The strings of a trie as ends of the bytes of ids, and room for what its kernels take."""

    ids: I32s
    skips: U8s  # bytes before the string
    settings: I64s  # TRIE_SETTING
    symbols: I32s  # as in `UnigramModel`, or empty for a trie of bytes, and so is the next one
    records: U64s
    data: I32s
    starts: I64s
    stops: I64s
    roots: I64s
    nodes: TrieNodes
    order: I64s
    other: I64s  # this and the next one: one element more than nodes
    counts: I64s  # also one for each symbol, and one more
    labels: I32s
    pieces: I32s
    children: Children
    places: I64s


def web_strings(trie: WebTrie, tokens: WebTokens) -> Int:
    """Write the symbols of the strings, and of a trie of characters how many bytes each has; 0."""
    table, ids, skips, data = token_pointers(tokens), pointer(trie.ids), pointer(trie.skips), pointer(trie.data)
    symbols, records, settings = pointer(trie.symbols), pointer(trie.records), pointer(trie.settings)
    starts, stops, roots = pointer(trie.starts), pointer(trie.stops), pointer(trie.roots)
    n, characters = I64(0), len(trie.symbols) > 0
    for k in range(len(trie.ids)):
        at, stop, width = I64(table.offsets[ids[k]]) + skips[k], I64(table.offsets[ids[k] + 1]), I64(0)
        starts[k], roots[k] = n, I64(k >= settings[TRIE_SETTING.later])
        while at < stop:
            code, size = decode_at(table.data, at, stop) if characters else (I64(table.data[at]), 1)
            at, width = at + size, width + size
            if characters:
                if code == 32:
                    code, width = I64(settings[TRIE_SETTING.space]), width + I64(settings[TRIE_SETTING.space] > 32) * 2
                code = I64(symbols[code + 1])
            data[n] = code
            n += 1
        stops[k] = n
        if characters:
            records[ids[k]] = width
    return I64(0)


@helper
def sort_nodes(keys, order, to, counts, n):
    """Write numbers of nodes in the order of their keys, those of one key as before."""
    most = I64(0)
    for k in range(n):
        most = max(most, I64(keys[order[k]]))
    for key in range(most + 2):
        counts[key] = 0
    for k in range(n):
        counts[I64(keys[order[k]]) + 1] += 1
    for key in range(most):
        counts[key + 1] += counts[key]
    for k in range(n):
        key = I64(keys[order[k]])
        to[counts[key]] = order[k]
        counts[key] += 1
    return I64(0)


def web_order(trie: WebTrie) -> Int:
    """Write the nodes breadth first, the children of each side by side, as `models.segmenter.breadth_first`; 0."""
    parents, labels = pointer(trie.nodes.parents), pointer(trie.nodes.labels)
    depths, strings = pointer(trie.nodes.depths), pointer(trie.nodes.strings)
    order, other, counts, ids = pointer(trie.order), pointer(trie.other), pointer(trie.counts), pointer(trie.ids)
    first, last, n = pointer(trie.children.first), pointer(trie.children.last), len(trie.order)
    after = pointer(trie.settings)[TRIE_SETTING.after]
    for k in range(n):
        other[k] = k + I64(k > 0 and after < 0)
    if after >= 0:
        labels[AFTER], depths[AFTER] = after, 1
    sort_nodes(labels, other, order, counts, n)
    sort_nodes(parents, order, other, counts, n)
    sort_nodes(depths, other, order, counts, n)
    for k in range(n):
        other[order[k]] = k
        string = I64(strings[order[k]])
        pointer(trie.labels)[k] = labels[order[k]]
        pointer(trie.pieces)[k] = ids[string] if string >= 0 and after < 0 else layout.MISSING
        above = other[parents[order[k]]]
        if k > 0 and last[above] == 0:
            first[above] = k
        if k > 0:
            last[above] = k + 1
    return I64(0)


def web_after(trie: WebTrie, units: U64s) -> Int:
    """Cut AFTER off, and write the slot of each node's parent, as `build_links` takes them; 0."""
    parents, other, places = pointer(trie.nodes.parents), pointer(trie.other), pointer(trie.places)
    for node in range(len(trie.order)):
        parents[node] = places[other[parents[node]]]
    pointer(units)[pointer(trie.settings)[TRIE_SETTING.slot]] &= ~LABEL
    return I64(0)


CALLED = [
    *map(declare, (web_encode, web_replaced, web_decode, web_spans, web_restore)),
    *map(entry_kernel, ("rehash", "add_tokens")),
]
# What makes tables, with those of other machines: an image names what it needs.
BUILDERS = [
    *map(declare, (web_merges, web_strings, web_order, web_after)),
    *map(entry_kernel, ("make_perfect", "fill_pairs", "build_edges", "fill_units", "fill_links", "build_links")),
]
CALLED += BUILDERS


def every_web_kernel() -> list[Kernel]:
    """Return the kernels of a WebAssembly module: those that JavaScript calls, then NAMED in order."""
    return [*CALLED, *map(entry_kernel, NAMED)]
