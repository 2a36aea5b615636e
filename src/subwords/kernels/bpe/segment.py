"""A word to its ids, without any table: symbols, pairs, merges, and windows for long words."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.bpe.merge import ask_pairs, merge_runs, merge_word
from subwords.kernels.bpe.pairs import LOW
from subwords.kernels.bpe.short import lane_code, left_over, merge_known
from subwords.kernels.jit import I64, U64, helper
from subwords.kernels.text.utf8 import decode_at

LARGE = 1 << 12  # bytes of a window if small windows share no token: half the second cache

HALF = U64(32)


class Model(NamedTuple):
    """The pointers of a `BPEModel`, and the scratch."""

    alphabet: object
    first_ranks: object
    spans: object
    fallback: object
    parted: object
    forms: object
    by_character: object
    settings: object
    scratch: object  # symbols there is room for
    merges: object


@helper
def fall_back(model, text, at, length, n):
    """Write the ids of an unknown character's bytes from symbol n on; False if a byte has no id."""
    for k in range(length):
        symbol = I64(model.fallback[text[at + k]])
        if symbol == layout.MISSING:
            return False
        model.merges.symbols[n + k] = symbol
    return True


@helper
def first_symbols(model, text, at, length):
    """Write a word's bytes or characters as ids; their number, or MISSING - i for an unknown one at byte i.

    As in HF, an unk is written after the bytes of the unknown characters that follow it. A symbol with a prefix or a
    suffix never falls back to bytes: the model has no tokens for those of the prefix or suffix.
    """
    symbols, settings, marks = model.merges.symbols, model.settings, I64(model.settings[layout.BPE.marks])
    n, i, waiting = 0, 0, False
    while i < length:
        code, step = I64(text[at + i]), 1
        if model.by_character:
            code, step = decode_at(text, at + i, at + length)
        symbol = layout.MISSING
        if code >= 0:
            symbol = I64(model.alphabet[code])
        marked = 0
        if marks != 0:
            place = (layout.WITH_PREFIX if i > 0 else 0) | (layout.WITH_SUFFIX if i + step == length else 0)
            marked = place & marks
            if symbol != layout.MISSING:
                symbol = I64(model.forms[layout.FORMS * symbol + place])
        if symbol == layout.MISSING and marked == 0 and fall_back(model, text, at + i, step, n):
            n += step
        elif symbol == layout.MISSING and settings[layout.MODEL.unk] == layout.MISSING:
            if settings[layout.BPE.drop_unknown] == 0:
                return layout.MISSING - i
        else:
            if waiting and (symbol != layout.MISSING or settings[layout.BPE.fuse_unk] == 0):
                symbols[n] = settings[layout.MODEL.unk]
                n += 1
            waiting = symbol == layout.MISSING
            if not waiting:
                symbols[n] = symbol
                n += 1
        i += step
    if waiting:
        symbols[n] = settings[layout.MODEL.unk]
        n += 1
    return n


@helper
def short_window(model, text, at, length):
    """Merge text[at : at + length], every byte a symbol, at most SHORT_WORD: see `merge_known`."""
    merges, before = model.merges, I64(0)
    for k in range(1, length + 1):
        byte = I64(text[at + k - 1])
        merges.symbols[k] = model.alphabet[byte]
        # The lane of the first pair begins before the word; `merge_known` replaces it. NO_RANK becomes no merge.
        merges.codes[k - 1] = lane_code(U64(model.first_ranks[before << 8 | byte]), k - 1) & LOW
        before = byte
    return merge_known(merges, length)


@helper
def window(model, text, at, length):
    """Segment text[at : at + length], every byte a symbol, into the model's symbols; their number."""
    merges = model.merges
    if length <= layout.SHORT_WORD:
        return left_over(merges.symbols, short_window(model, text, at, length), merges.symbols, 0)
    for k in range(length):
        merges.symbols[k] = model.alphabet[text[at + k]]
    for k in range(length - 1):
        rank = U64(model.first_ranks[I64(text[at + k]) << 8 | I64(text[at + k + 1])])
        merges.ranks[k] = rank << HALF | rank  # no rank: NONE; the lower half is not compared
    return merge_word(merges, length)


@helper
def meet(model, out, i, filled, a, m):
    """Find the first token that two overlapping windows share: (index in `out` or -1, position, index in symbols).

    Both windows begin at position `a`. The first one's tokens are out[i:filled], the second one's the m symbols.
    """
    symbols, spans = model.merges.symbols, model.spans
    j, b = 0, a
    while i < filled and j < m:
        if a == b and out[i] == symbols[j]:
            return i, a, j
        if a <= b:
            a += spans[out[i]]
            i += 1
        else:
            b += spans[symbols[j]]
            j += 1
    return -1, a, j


@helper
def segment_windows(model, text, at, length, out, count, size):
    """Write the ids of a long word from out[count] on, window by window; their number, or -1 if windows share no token.

    Exact for every list of merges. Tokens are the segmentation of a text if and only if every two neighbours are the
    segmentation of the text they span: the first merge across a border would happen between these two alone as well.
    Neighbours inside a window satisfy this. If two windows share a token, so do the first window's tokens before it,
    followed by the second window's from it on.
    """
    stop, start, kept = at + length, at, count
    end, shared = min(start + size, stop), min(size // 3, 512)
    filled = kept + window(model, text, start, end - start)
    for k in range(filled - kept):
        out[kept + k] = model.merges.symbols[k]
    while end < stop:
        position = start
        # Tokens near the end of the window may change with the text after it: the next window begins before them.
        while kept < filled and position + model.spans[out[kept]] <= end - shared:
            position += model.spans[out[kept]]
            kept += 1
        if position == start:
            return -1
        end = min(position + size, stop)
        m = window(model, text, position, end - position)
        # From the shared token on, the new window is right; before it, the old one: see above.
        kept, start, j = meet(model, out, kept, filled, position, m)
        if kept < 0:
            return -1
        for k in range(j, m):
            out[kept + k - j] = model.merges.symbols[k]
        filled = kept + m - j
    return filled - count


@helper
def write_parted(model, n, out, count):
    """Write the ids of n symbols from out[count] on, fusing neighbouring unks if the model does; their number."""
    symbols, parted, m = model.merges.symbols, model.parted, 0
    unk = I64(model.settings[layout.MODEL.unk]) if model.settings[layout.BPE.fuse_unk] != 0 else layout.MISSING
    for k in range(n):
        place = I64(parted[symbols[k]])
        size = 1
        if place != 0:
            size = I64(parted[place])
        for j in range(size):
            index = I64(symbols[k])
            if place != 0:
                index = I64(parted[place + 1 + j])
            if index != unk or m == 0 or I64(out[count + m - 1]) != unk:
                out[count + m] = index
                m += 1
    return m


@helper
def segment(model, counters, text, at, length, out, count):
    """Write the ids of a word from out[count] on: (DONE, their number), or (another status, 0)."""
    symbols = model.merges.symbols
    if model.settings[layout.BPE.complete] != 0 and length <= layout.SHORT_WORD:
        return layout.DONE, left_over(symbols, short_window(model, text, at, length), out, count)
    if model.settings[layout.BPE.complete] != 0:
        n = segment_windows(model, text, at, length, out, count, I64(layout.SHORT_WORD))
        if n < 0 and model.scratch >= min(length, LARGE):
            n = segment_windows(model, text, at, length, out, count, I64(min(length, model.scratch)))
        if n < 0:
            counters[layout.COUNTER.needed] = min(length, max(LARGE, 2 * model.scratch))
            return layout.NEED_SCRATCH, 0
        return layout.DONE, n
    if length > model.scratch:
        counters[layout.COUNTER.needed] = length
        return layout.NEED_SCRATCH, 0
    n = first_symbols(model, text, at, length)
    if n < 0:
        counters[layout.COUNTER.unknown_at] = at + layout.MISSING - n
        return layout.UNKNOWN, 0
    ask_pairs(model.merges, n)
    n = merge_runs(model.merges, n) if model.settings[layout.BPE.links] != 0 else merge_word(model.merges, n)
    if model.settings[layout.BPE.parted] != 0:
        return layout.DONE, write_parted(model, n, out, count)
    for k in range(n):
        out[count + k] = symbols[k]
    return layout.DONE, n
