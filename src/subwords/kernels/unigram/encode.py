"""Unigram on the table of words: `table/encode.py` with the best paths of `viterbi.py`.

For HF's models, which segment word by word, this is all. SentencePiece adds 32-bit floats from the start of the text,
so the best path of a word may depend on the sum before it: `running` models keep that sum. The table keeps a word if
its best path leads by more than rounding can change; other words are segmented each time. At a sum beyond RESET,
SentencePiece subtracts the sum between two characters: near RESET, words are segmented COUNTER.alone.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import (
    F32,
    F64,
    I64,
    I64s,
    Int,
    U8s,
    U32s,
    helper,
    inlined,
    kernel,
    pointer,
)
from subwords.kernels.layout import UnigramModel, UnigramScratch, UnigramWorkspace
from subwords.kernels.table.emit import opened
from subwords.kernels.table.encode import WARY, Family, encode_all
from subwords.kernels.trie.double_array import ROOT, step
from subwords.kernels.unigram.viterbi import DEEPEST, NO_PIECE, RESET, added, best_path, opened_model, unknown_run

NEAR = RESET - DEEPEST - F64(100.0)
FAR_AWAY = F64(80000.0)  # below this sum no small block comes near RESET


@inlined
def all_bytes(m, text, first, last):
    """Whether all bytes of text[first:last] have pieces."""
    k = first
    while k < last and m.byte_ids[I64(text[k])] >= 0:
        k += 1
    return k == last


@helper
def write_unknown(m, text, first, last, out, count):
    """Write the ids of the unknown characters text[first:last]; their number, or 0 if the model has no id for them."""
    if all_bytes(m, text, first, last):
        for k in range(last - first):
            out[count + k] = m.byte_ids[I64(text[first + k])]
        return last - first
    if m.settings[layout.MODEL.unk] < 0:
        return I64(0)
    out[count] = m.settings[layout.MODEL.unk]
    return I64(1)


@inlined
def is_unknown(m, stop):
    """Whether the link of the path that ends at a place is unknown characters, or the unk token itself."""
    return m.ids[stop] == NO_PIECE or m.ids[stop] == m.settings[layout.MODEL.unk]


@inlined
def unknown_until(m, i, length):
    """The end of the run of unknown links that begins at place i of the path."""
    stop = I64(m.nexts[i])
    while stop < length and is_unknown(m, I64(m.nexts[stop])):
        stop = I64(m.nexts[stop])
    return stop


@inlined
def is_piece(m, i, stop):
    """Whether the path goes from place i to `stop` by one piece."""
    return m.ids[stop] != NO_PIECE and m.nexts[i] == stop


@helper
def write_path(m, text, at, length, out, count):
    """Write the ids of the best path: (their number, or -1 - an unknown place; whether all are pieces)."""
    i, n, all_pieces = I64(0), I64(0), True
    while i < length:
        stop = I64(m.nexts[i])
        if is_unknown(m, stop):
            stop, all_pieces = unknown_until(m, i, length), False
        if is_piece(m, i, stop):
            out[count + n] = m.ids[stop]
            n += 1
        else:
            # At most one id for each byte, here too: `next_block` made room for no more.
            more = write_unknown(m, text, at + i, at + stop, out, count + n)
            if more == 0:
                return -i - 1, False
            n += more
        i = stop
    return n, all_pieces


@helper
def sum_up(m, counters, out, upto):
    """Add the scores of the ids before out[upto] to the sum of the text."""
    total = F32(m.sums[layout.SUM.total])
    if counters[layout.COUNTER.begin] != 0:
        total, counters[layout.COUNTER.begin] = F32(0.0), 0
    low = high = total
    for k in range(counters[layout.COUNTER.summed], upto):
        total = total + F32(m.scores[I64(out[k])])
        low, high = min(low, total), max(high, total)
    if upto > counters[layout.COUNTER.summed] and (F64(low) < -NEAR or F64(high) > NEAR):
        m.sums[layout.SUM.came_near] = 1.0
    m.sums[layout.SUM.total], counters[layout.COUNTER.summed] = F64(total), upto


@helper
def settled_sum(m, counters, out, upto):
    """Whether the ids before out[upto] are right: not if the sum came near RESET and words came from the table."""
    if m.settings[layout.UNIGRAM.running] == 0:
        return True
    sum_up(m, counters, out, upto)
    # A path from the table is the best one after any sum, but not where SentencePiece may subtract the sum: the block
    # is encoded again, each word COUNTER.alone.
    if counters[layout.COUNTER.alone] <= 0 and m.sums[layout.SUM.came_near] != 0.0:
        m.sums[layout.SUM.total], m.sums[layout.SUM.came_near] = m.sums[layout.SUM.before], 0.0
        return False
    total = m.sums[layout.SUM.total]
    m.sums[layout.SUM.before], m.sums[layout.SUM.came_near] = total, 0.0
    if abs(total) < FAR_AWAY:
        counters[layout.COUNTER.alone] = 0
    elif counters[layout.COUNTER.alone] == 0:
        counters[layout.COUNTER.alone] = WARY
    counters[layout.COUNTER.far] = 0  # ids are summed up while others are written, so none may be filled in later
    return True


@inlined
def unknown_sum(m, text, at, length, base):
    """The sum after a word in which no character begins a piece: (whether the word is one, its sum)."""
    n, stop = unknown_run(m, text, at, I64(0), length, True)
    value = added(m, base, n, True) if stop == length else base
    return stop == length and min(base, value) >= -RESET and base <= RESET, value


@helper
def segment_unknown(m, counters, text, at, length, out, count, value):
    """Write the ids of a word without a known character; `value` is the sum after it. Returns as `segment`."""
    n = write_unknown(m, text, at, at + length, out, count)
    if n == 0:
        counters[layout.COUNTER.unknown_at] = at
        return layout.UNKNOWN, 0
    m.sums[layout.SUM.total], counters[layout.COUNTER.summed] = value, count + n
    return layout.ONCE, n


@helper
def segment(m, counters, text, at, length, out, count):
    """Write the ids of a word from out[count] on: (DONE or ONCE, their number), or (another status, 0)."""
    if length >= m.room:
        counters[layout.COUNTER.needed] = length
        return layout.NEED_SCRATCH, 0
    running, base = m.settings[layout.UNIGRAM.running] != 0, F64(0.0)
    if running:
        sum_up(m, counters, out, count)
        base = m.sums[layout.SUM.total]
        unknown, value = unknown_sum(m, text, at, length, base)
        if unknown:
            return segment_unknown(m, counters, text, at, length, out, count, value)
    certain = best_path(m, text, at, length, base)
    n, all_pieces = write_path(m, text, at, length, out, count)
    if n < 0:
        counters[layout.COUNTER.unknown_at] = at - n - 1
        return layout.UNKNOWN, 0
    if running:
        m.sums[layout.SUM.total], counters[layout.COUNTER.summed] = m.best[length], count + n
        # After another sum the word may have another path, or its unknown characters another run: it is not stored.
        if not (certain and all_pieces):
            return layout.ONCE, n
    return layout.DONE, n


@inlined
def begins_nothing(m, text, at):
    """Whether a word begins with a byte that begins no piece, in a `running` model, which keeps no unknown words."""
    return m.settings[layout.UNIGRAM.running] != 0 and step(m.units, m.units[ROOT], text[at]) < 0


@kernel
def encode_unigram(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    text_ends: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    workspace: UnigramWorkspace,
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `table.encode.encode_all`.

    Same ids as `reference.unigram_encode.encode`.
    """
    model = opened_model(workspace.model, workspace.scratch)
    table = opened(workspace.table, workspace.counters)
    p, e, t, o, keys = pointer(text), pointer(ends), pointer(text_ends), pointer(out), pointer(workspace.scratch.keys)
    family = Family(segment, settled_sum, begins_nothing)
    return encode_all(family, model, table, p, len(text), start, e, words, t, texts, keys, o, len(out), filled)


@kernel
def path_ends(text: U8s, words: I64s, model: UnigramModel, scratch: UnigramScratch, ends: I64s) -> Int:
    """Write where the text of each id of the words text[words[i] : words[i + 1]] ends; the number of ids.

    There must be scratch for the longest word.
    """
    m = opened_model(model, scratch)
    p, w, e = pointer(text), pointer(words), pointer(ends)
    n, base = 0, F64(0.0)
    for k in range(len(words) - 1):
        at, length = w[k], w[k + 1] - w[k]
        best_path(m, p, at, length, base)
        base = m.best[length] if m.settings[layout.UNIGRAM.running] != 0 else base
        i = I64(0)
        while i < length:
            stop = I64(m.nexts[i])
            if is_unknown(m, stop):
                stop = unknown_until(m, i, length)
                if not is_piece(m, i, stop) and all_bytes(m, p, at + i, at + stop):
                    for b in range(i, stop - 1):
                        e[n] = at + b + 1
                        n += 1
            e[n] = at + stop
            n += 1
            i = stop
    return n
