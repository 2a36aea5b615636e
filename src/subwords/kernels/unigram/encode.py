"""Unigram on the words' table: `encode.py` with the best paths of `unigram_paths.py`.

Word by word (HF) that is all. SentencePiece adds up 32-bit floats from the text's begin on, so what is best may depend
on the sum before the word. `running` models keep that sum. A word whose best path leads by more than any rounding can
make up for is kept in the table; others are segmented where they stand. What SentencePiece does at sums beyond RESET,
it does between two characters: near there, words are segmented ALONE.
"""

from __future__ import annotations

from subwords.kernels.jit import (
    F32,
    F64,
    I64,
    F64s,
    I32s,
    I64s,
    Int,
    Parts,
    U8s,
    U32s,
    U64s,
    helper,
    inlined,
    kernel,
    pointer,
)
from subwords.kernels.table.encode import (
    ALONE,
    BEGIN,
    DONE,
    FAR,
    NEED_SCRATCH,
    NEEDED,
    ONCE,
    POSITION,
    SUMMED,
    UNKNOWN,
    WARY,
    Family,
    encode_all,
    opened,
)
from subwords.kernels.trie.double_array import ROOT, step
from subwords.kernels.unigram.viterbi import DEEPEST, NO_PIECE, RESET, RUNNING, UNK, best_path, lattice_of

TOTAL, BEFORE, DEEP = range(3)  # fields of `sums`: of the text, of it before the block, whether it came near RESET
NEAR = RESET - DEEPEST - F64(100.0)
FAR_AWAY = F64(80000.0)  # from RESET: no small block comes near it from here


@inlined
def all_bytes(m, text, first, last):
    """Whether all bytes of text[first:last] have pieces."""
    k = first
    while k < last and m.bytes[I64(text[k])] >= 0:
        k += 1
    return k == last


@helper
def write_unknown(m, text, first, last, out, count):
    """Write the ids of unknown characters, text[first:last]: how many, 0 if there are none."""
    if all_bytes(m, text, first, last):
        for k in range(last - first):
            out[count + k] = m.bytes[I64(text[first + k])]
        return last - first
    if m.settings[UNK] < 0:
        return I64(0)
    out[count] = m.settings[UNK]
    return I64(1)


@inlined
def is_unknown(m, stop):
    """Whether the link of the path that ends at a place stands for unknown characters, or spells the unk token."""
    return m.ids[stop] == NO_PIECE or m.ids[stop] == m.settings[UNK]


@inlined
def unknown_until(m, i, length):
    """Where the run of unknown links that begins at place i of the path ends."""
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
    """Write the ids of the best path: how many, and whether all are pieces; or minus one and a place that has none."""
    i, n, all_pieces = I64(0), I64(0), True
    while i < length:
        stop = I64(m.nexts[i])
        if is_unknown(m, stop):
            stop, all_pieces = unknown_until(m, i, length), False
        if is_piece(m, i, stop):
            out[count + n] = m.ids[stop]
            n += 1
        else:
            more = write_unknown(m, text, at + i, at + stop, out, count + n)
            if more == 0:
                return -i - 1, False
            n += more
        i = stop
    return n, all_pieces


@helper
def sum_up(m, state, out, upto):
    """Add the scores of the ids before out[upto] to the sum of the text."""
    total = F32(m.sums[TOTAL])
    if state[BEGIN] != 0:
        total, state[BEGIN] = F32(0.0), 0
    low = high = total
    for k in range(state[SUMMED], upto):
        total = total + F32(m.scores[I64(out[k])])
        low, high = min(low, total), max(high, total)
    if upto > state[SUMMED] and (F64(low) < -NEAR or F64(high) > NEAR):
        m.sums[DEEP] = 1.0
    m.sums[TOTAL], state[SUMMED] = F64(total), upto


@helper
def settled_sum(m, state, out, upto):
    """Whether the ids before out[upto] are right: not where the sum came near RESET and words were from the table."""
    if m.settings[RUNNING] == 0:
        return True
    sum_up(m, state, out, upto)
    if state[ALONE] <= 0 and m.sums[DEEP] != 0.0:
        m.sums[TOTAL], m.sums[DEEP] = m.sums[BEFORE], 0.0
        return False
    total = m.sums[TOTAL]
    m.sums[BEFORE], m.sums[DEEP] = total, 0.0
    if abs(total) < FAR_AWAY:
        state[ALONE] = 0
    elif state[ALONE] == 0:
        state[ALONE] = WARY
    state[FAR] = 0  # ids are summed up while others are written: none may be filled in later
    return True


@helper
def segment_path(m, state, text, at, length, out, count):
    """Write the ids of a word after `count`: (DONE or ONCE, how many)."""
    if length >= m.room:
        state[NEEDED] = length
        return NEED_SCRATCH, 0
    running, base = m.settings[RUNNING] != 0, F64(0.0)
    if running:
        sum_up(m, state, out, count)
        base = m.sums[TOTAL]
    certain = best_path(m, text, at, length, base)
    n, all_pieces = write_path(m, text, at, length, out, count)
    if n < 0:
        state[POSITION] = at - n - 1
        return UNKNOWN, 0
    if running:
        m.sums[TOTAL], state[SUMMED] = m.best[length], count + n
        if not (certain and all_pieces):
            return ONCE, n
    return DONE, n


@inlined
def begins_nothing(m, text, at):
    """Whether a word begins with a byte that no piece begins with, in a model that keeps no unknown words."""
    return m.settings[RUNNING] != 0 and step(m.units, m.units[ROOT], text[at]) < 0


@kernel
def encode_paths(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    marks: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    frame: Parts[U64s, U64s, I32s, U8s, U64s, I32s, U64s, F64s, I32s, I64s, U64s, F64s, I32s, F64s, I64s],
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `encode.encode_all`.

    frame: slots, seeds, ids, arena (the table), units, links, records, scores, byte ids, settings (the model), wide,
    floats, integers, sums (scratch), state; see `unigram/encode.py`. Same ids as `reference.unigram_encode.encode`.
    """
    m = lattice_of(frame[4], frame[5], frame[6], frame[7], frame[8], frame[9], frame[11], frame[12], frame[13])
    table = opened(frame[0], frame[1], frame[2], frame[3], frame[14])
    p, e, mark, o, keys = pointer(text), pointer(ends), pointer(marks), pointer(out), pointer(frame[10])
    size, room = len(text), len(out)
    family = Family(segment_path, settled_sum, begins_nothing)
    return encode_all(family, m, table, p, size, start, e, words, mark, texts, keys, o, room, filled)


@kernel
def path_ends(
    text: U8s, words: I64s, frame: Parts[U64s, I32s, U64s, F64s, I32s, I64s, F64s, I32s, F64s], ends: I64s
) -> Int:
    """Write where the text of each id of the words text[words[i] : words[i + 1]] ends; how many there are.

    frame: as of `encode_paths`, without table, keys and state; there is scratch for every word.
    """
    m = lattice_of(frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8])
    p, w, e = pointer(text), pointer(words), pointer(ends)
    n, base = 0, F64(0.0)
    for k in range(len(words) - 1):
        at, length = w[k], w[k + 1] - w[k]
        best_path(m, p, at, length, base)
        base = m.best[length] if m.settings[RUNNING] != 0 else base
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
