"""Kernels that JavaScript calls: texts to ids and back, in the memory of a WebAssembly module; see `web/`.

What stands in `engine/web_image.py` lies in that memory: a call plan as on every other machine, tables, and the tuples
below. A kernel stops where an array has no room, says which in its result, and JavaScript, which makes the room, calls
again. So one call does all texts that have room.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.bpe.pairs import fill_perfect, grouped
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
from subwords.kernels.layout import BPEModel, GroupedPairs, I64s, U8s, U32s
from subwords.kernels.objects import byte_at, call_at, data_of, item, load_at, store_at
from subwords.kernels.plan_layout import FIELDS, PLAN, SPARE_BYTES, TEXT_ARRAY
from subwords.kernels.text.utf8 import copy_range, decode_at

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
    """The bytes of each id between others, and at the edge; its flags."""

    data: U8s
    offsets: U32s
    edge_data: U8s
    edge_offsets: U32s
    flags: U8s


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
    if is_last or state[DECODING.edge] == AT_START:
        begin, stop = I64(tokens.edge_offsets[index]), I64(tokens.edge_offsets[index + 1])
        source = tokens.edge_data
        if flag & GOES_ON == 0 and state[DECODING.edge] == AT_START:
            state[DECODING.edge] = 0
    else:
        begin, stop, source = I64(tokens.offsets[index]), I64(tokens.offsets[index + 1]), tokens.data
    waits = each or flag & SINGLE_BYTE != 0
    if waits:
        for k in range(begin, stop):
            run[state[DECODING.run] + k - begin] = source[k]
        state[DECODING.run] += stop - begin
    if state[DECODING.run] > 0 and (flag & BREAK != 0 or (not waits and stop > begin)):
        j, state[DECODING.run] = end_run(run, state[DECODING.run], out, j, each, False)
    if not waits:
        copy_range(out, j, source, begin, stop, stop)
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
    table = WebTokens(
        data=pointer(tokens.data),
        offsets=pointer(tokens.offsets),
        edge_data=pointer(tokens.edge_data),
        edge_offsets=pointer(tokens.edge_offsets),
        flags=pointer(tokens.flags),
    )
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
    p, data, offsets, out = pointer(ids), pointer(tokens.data), pointer(tokens.offsets), pointer(spans)
    at, units, width = I64(0), I64(0), I64(0)
    for k in range(n):
        begin, stop = I64(offsets[p[k]]), I64(offsets[p[k] + 1])
        if at + stop - begin > size:
            return I64(0)
        inside = stop > begin and byte_at(text + at) >> 6 == 2
        out[2 * k] = units - width if inside else units
        for j in range(begin, stop):
            byte = byte_at(text + at)
            if byte != I64(data[j]):
                return I64(0)
            if byte >> 6 != 2:
                width = I64(2) if byte >= 0xF0 else I64(1)
                units += width
            at += 1
        out[2 * k + 1] = units
    return I64(at == size)


# ---------------------------------------------------------------------------------------------------------------------
# Tables of merges, and the bytes of ids, when a tokenizer is loaded: merges are all that has to travel.

COLUMNS, BYTES = 3, 3  # of the numbers of a merge
# What is known of an id: 1 + the byte of the alphabet that it is, or 0; where its bytes are from.
OF_BYTE, LITERAL, MERGED = (1 << 9) - 1, 1 << 9, 1 << 10


class WebMerges(NamedTuple):
    """The merges of a perfect table, and the bytes of ids that are neither of the alphabet nor of merges."""

    coded: U8s  # left ids, right ids, and by how much the results grow; of each the lowest byte of all first
    literals: U8s
    literal_ids: U32s
    literal_sizes: U32s
    settings: I64s  # MERGED_SETTING
    # Room for a number of each merge.
    lefts: I64s
    rights: I64s
    ranks: I64s
    results: I64s
    made: I64s  # and of each id


# gaps: whether a rank is the difference of results. spans: whether the model covers the bytes that ids are decoded to.
MERGED_SETTING = layout.row("gaps spans width")


@inlined
def coded_number(coded, column, count, k):
    """A number of a merge."""
    at = BYTES * column * count + k
    return I64(coded[at]) | I64(coded[at + count]) << I64(8) | I64(coded[at + 2 * count]) << I64(16)


@helper
def decode_merges(merges, count, model_results):
    """Read the numbers of merges, and write the table of results."""
    result = I64(0)
    for k in range(count):
        merges.lefts[k] = coded_number(merges.coded, 0, count, k)
        merges.rights[k] = coded_number(merges.coded, 1, count, k)
        result = (result + coded_number(merges.coded, 2, count, k)) & I64((1 << 8 * BYTES) - 1)
        merges.results[k] = result
        merges.ranks[k] = result - merges.results[0] if merges.settings[MERGED_SETTING.gaps] != 0 else k
        model_results[merges.ranks[k]] = result
    return I64(0)


@helper
def measure_tokens(merges, count, literals, alphabet, offsets, ids):
    """Write where the bytes of each id begin, and what is known of it."""
    for k in range(literals):
        merges.made[merges.literal_ids[k]] = LITERAL
        offsets[merges.literal_ids[k] + 1] = merges.literal_sizes[k]
    for byte in range(256):
        if merges.made[alphabet[byte]] == 0:
            offsets[alphabet[byte] + 1] = 1
        merges.made[alphabet[byte]] |= byte + 1
    for k in range(count):
        result = merges.results[k]
        if merges.made[result] == 0:
            merges.made[result] = MERGED
            offsets[result + 1] = offsets[merges.lefts[k] + 1] + offsets[merges.rights[k] + 1]
    for index in range(ids):
        offsets[index + 1] += offsets[index]
    return I64(0)


@helper
def spell_tokens(merges, count, literals, alphabet, offsets, data):
    """Write the bytes of each id."""
    at = I64(0)
    for k in range(literals):
        to, size = I64(offsets[merges.literal_ids[k]]), I64(merges.literal_sizes[k])
        for j in range(size):
            data[to + j] = merges.literals[at + j]
        at += size
    for byte in range(256):
        if merges.made[alphabet[byte]] & LITERAL == 0:
            data[offsets[alphabet[byte]]] = byte
    for k in range(count):
        if merges.made[merges.results[k]] == MERGED:
            to = I64(offsets[merges.results[k]])
            for part in (I64(merges.lefts[k]), I64(merges.rights[k])):
                for j in range(I64(offsets[part]), I64(offsets[part + 1])):
                    data[to] = data[j]
                    to += 1
    return I64(0)


@helper
def rank_bytes(merges, count, first_ranks):
    """Write the rank of each two bytes that merge."""
    for k in range(1 << 16):
        first_ranks[k] = layout.NO_RANK
    for k in range(count):
        left, right = merges.made[merges.lefts[k]] & OF_BYTE, merges.made[merges.rights[k]] & OF_BYTE
        if left != 0 and right != 0:
            first_ranks[(left - 1) << 8 | right - 1] = merges.ranks[k]
    return I64(0)


def web_build(merges: WebMerges, scratch: GroupedPairs, model: BPEModel, tokens: WebTokens, seed: Int) -> Int:
    """Make the tables of a model, and the bytes of ids, which are empty in the image; 0."""
    m = WebMerges(
        coded=pointer(merges.coded),
        literals=pointer(merges.literals),
        literal_ids=pointer(merges.literal_ids),
        literal_sizes=pointer(merges.literal_sizes),
        settings=pointer(merges.settings),
        lefts=pointer(merges.lefts),
        rights=pointer(merges.rights),
        ranks=pointer(merges.ranks),
        results=pointer(merges.results),
        made=pointer(merges.made),
    )
    count, literals = len(merges.coded) // (COLUMNS * BYTES), len(merges.literal_ids)
    alphabet, offsets, spans = pointer(model.alphabet), pointer(tokens.offsets), pointer(model.spans)
    decode_merges(m, count, pointer(model.results))
    measure_tokens(m, count, literals, alphabet, offsets, len(tokens.flags))
    spell_tokens(m, count, literals, alphabet, offsets, pointer(tokens.data))
    if m.settings[MERGED_SETTING.spans] != 0:
        for index in range(len(model.spans)):
            spans[index] = offsets[index + 1] - offsets[index]
    if len(model.first_ranks) > 1:
        rank_bytes(m, count, pointer(model.first_ranks))
    pilots, pairs, mask, t = pointer(model.pilots), pointer(model.pairs), U64(len(model.pairs) - 1), grouped(scratch)
    tried, groups = U64(seed), len(model.pilots)
    while fill_perfect(m.lefts, m.rights, m.ranks, count, tried, pilots, groups, pairs, mask, t) == 0:
        tried += U64(1)
    pointer(model.settings)[layout.MODEL.seed] = I64(tried)
    return I64(0)


CALLED = [*map(declare, (web_encode, web_replaced, web_decode, web_spans, web_build)), entry_kernel("rehash")]


def every_web_kernel() -> list[Kernel]:
    """Return the kernels of a WebAssembly module: those that JavaScript calls, then NAMED in order."""
    return [*CALLED, *map(entry_kernel, NAMED)]
