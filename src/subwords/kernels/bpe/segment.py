"""A word to its ids, without any table: symbols, pairs, merges, and windows for long words."""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.bpe.merge import SHORT, ask_pairs, merge_runs, merge_word
from subwords.kernels.jit import I64, U64, helper
from subwords.kernels.table.encode import DONE, NEED_SCRATCH, NEEDED, POSITION, UNKNOWN
from subwords.kernels.text.utf8 import decode_at

# Fields of `settings`.
UNK, FUSE, DROP, SEED, COMPLETE, TIED, LINKS, PARTED = range(8)

MISSING = -1
LARGE = 1 << 12  # bytes of a window where small ones do not meet: half the second cache

HALF = U64(32)


class Model(NamedTuple):
    """What turns a word into ids."""

    alphabet: object  # int32: the id of each byte (256 of them) or code point, or MISSING
    firsts: object  # uint32[65536], where the alphabet is all bytes: the rank of every two bytes, or 2**32 - 1
    spans: object  # int32: the bytes of every id
    fallback: object  # int32[256]: the id of each byte of an unknown character, or MISSING
    parted: object  # int32: for each symbol 0, or where the number of ids that stand for it is, and these behind it
    by_character: object
    settings: object
    scratch: object  # the longest word there is room for
    merges: object


@helper
def fall_back(model, text, at, length, n):
    """Write an unknown character as its bytes' ids from symbol n on; whether all of them have one."""
    for k in range(length):
        symbol = I64(model.fallback[text[at + k]])
        if symbol == MISSING:
            return False
        model.merges.symbols[n + k] = symbol
    return True


@helper
def first_symbols(model, text, at, length):
    """Write a word's bytes or characters as ids; how many, or MISSING - i for an unknown one at byte i.

    An unk comes behind the bytes of unknown characters that follow it, as in HF.
    """
    symbols, settings = model.merges.symbols, model.settings
    n, i, waiting = 0, 0, False
    while i < length:
        code, step = I64(text[at + i]), 1
        if model.by_character:
            code, step = decode_at(text, at + i, at + length)
        symbol = MISSING
        if code >= 0:
            symbol = I64(model.alphabet[code])
        if symbol == MISSING and fall_back(model, text, at + i, step, n):
            n += step
        elif symbol == MISSING and settings[UNK] == MISSING:
            if settings[DROP] == 0:
                return MISSING - i
        else:
            if waiting and (symbol != MISSING or settings[FUSE] == 0):
                symbols[n] = settings[UNK]
                n += 1
            waiting = symbol == MISSING
            if not waiting:
                symbols[n] = symbol
                n += 1
        i += step
    if waiting:
        symbols[n] = settings[UNK]
        n += 1
    return n


@helper
def window(model, text, at, length):
    """Segment text[at : at + length] by itself, all bytes being symbols; how many ids are in the model's symbols."""
    merges = model.merges
    for k in range(length):
        merges.symbols[k] = model.alphabet[text[at + k]]
    for k in range(length - 1):
        rank = U64(model.firsts[I64(text[at + k]) << 8 | I64(text[at + k + 1])])
        merges.found[k] = rank << HALF | rank  # NONE where there is no rank; the lower half does not count
    return merge_word(merges, length)


@helper
def meet(model, out, i, filled, a, m):
    """Find the first token that two overlapping windows share: (index in `out`, its position, index in the second),
    or -1.

    Both begin at position `a`: the first window's tokens are out[i:filled], the second's the model's m symbols.
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
    """Write the ids of a long word after `count`, window by window, and return how many, or -1 where windows never
    meet.

    Exact for every list of merges. Tokens are the segmentation of a text if and only if each two neighbours are the
    segmentation of their own joint: the first merge across a border would happen between the two alone as well.
    Neighbours inside a window are; where two windows share a token, one's tokens before it and the other's from it on
    are, all.
    """
    stop, start, kept = at + length, at, count
    end, shared = min(start + size, stop), min(size // 3, 512)
    filled = kept + window(model, text, start, end - start)
    for k in range(filled - kept):
        out[kept + k] = model.merges.symbols[k]
    while end < stop:
        position = start
        while kept < filled and position + model.spans[out[kept]] <= end - shared:
            position += model.spans[out[kept]]
            kept += 1
        if position == start:
            return -1
        end = min(position + size, stop)
        m = window(model, text, position, end - position)
        kept, start, j = meet(model, out, kept, filled, position, m)
        if kept < 0:
            return -1
        for k in range(j, m):
            out[kept + k - j] = model.merges.symbols[k]
        filled = kept + m - j
    return filled - count


@helper
def write_parted(model, n, out, count):
    """Write what stands for each of n symbols after `count`, fusing neighbouring unks if they are; how many."""
    symbols, parted, m = model.merges.symbols, model.parted, 0
    unk = I64(model.settings[UNK]) if model.settings[FUSE] != 0 else MISSING
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
def segment(model, state, text, at, length, out, count):
    """Write the ids of a word the table lacks after `count`: (DONE, how many), or why it cannot be done now."""
    symbols = model.merges.symbols
    if model.settings[COMPLETE] != 0 and length > SHORT:
        n = segment_windows(model, text, at, length, out, count, I64(SHORT))
        if n < 0 and model.scratch >= min(length, LARGE):
            n = segment_windows(model, text, at, length, out, count, I64(min(length, model.scratch)))
        if n < 0:
            state[NEEDED] = min(length, max(LARGE, 2 * model.scratch))
            return NEED_SCRATCH, 0
        return DONE, n
    if length > model.scratch:
        state[NEEDED] = length
        return NEED_SCRATCH, 0
    if model.settings[COMPLETE] != 0:
        n = window(model, text, at, length)
    else:
        n = first_symbols(model, text, at, length)
        if n < 0:
            state[POSITION] = at + MISSING - n
            return UNKNOWN, 0
        ask_pairs(model.merges, n)
        n = merge_runs(model.merges, n) if model.settings[LINKS] != 0 else merge_word(model.merges, n)
    if model.settings[PARTED] != 0:
        return DONE, write_parted(model, n, out, count)
    for k in range(n):
        out[count + k] = symbols[k]
    return DONE, n
