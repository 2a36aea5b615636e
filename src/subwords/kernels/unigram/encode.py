"""Unigram on the table of words: `table/encode.py` with the best path of each word.

For HF's models, which segment word by word, this is all. SentencePiece adds 32-bit floats from the start of the text,
so the best path of a word may depend on the sum before it: `running` models keep that sum. The table keeps a word if
its best path leads by more than rounding can change; other words are segmented each time. At a sum beyond RESET,
SentencePiece subtracts the sum between two characters: near RESET, words are segmented alone.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import F32, F64, I64, ZERO, Int, advance, helper, inlined, kernel, pointer
from subwords.kernels.layout import Edges, F64s, I64s, U8s, U32s, UnigramModel, UnigramScratch, UnigramWorkspace
from subwords.kernels.table.emit import table_pointers
from subwords.kernels.table.encode import WARY, SegmentFunctions, encode_all, never_many
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.trie import ROOT, child, next_piece, next_slot, piece_length, piece_of, step

# ---------------------------------------------------------------------------------------------------------------------
# The path of the greatest sum of scores through a word (U5).
#
# For every place in a word where a character ends, `Lattice` has the best sum of pieces up to there and the last
# piece. Of two equal sums the first one found stays, which has the longer last piece. Following the links from the
# longest piece that ends at a place to shorter ones takes half the time of searching the pieces that begin there.
#
# The trie is of characters: 250,000 pieces have 0.7 million units and one load a character, not 1.3 million and three.
# Most of the time is waiting for memory: the search takes 0.5 to 0.7 of what it took with a trie of bytes.
#
# Tried and dropped: the record and the score of a piece side by side in one array: 0.92 to 1.02 of the speed.
# Searching from each place to later ones, one step for a character of three bytes and a set of the pairs of characters
# that begin a piece: 0.99 of the speed in Chinese, 1.1 in Japanese, for tables of 3 MB.
# The same with a hash table of the edges by character (4 MB), read level by level for 32 places and prefetched: 1.1 in
# Chinese, 1.25 in Japanese, 1.0 in Korean. Branches that nothing predicts are left, about four a character.
# In C, all against the trie of bytes: links by character with a hash table of 16 MB: 0.6 to 0.9 in Chinese, 1.2 in
# Japanese. Four to eight words walked side by side without branches: 0.6 to 1.0, and 1.3 to 1.6. Units in the order of
# the pieces' ids: 0.7 to 1.1. Here: units on huge pages: 1.0 to 1.07.


NO_PIECE, UNREACHED = layout.MISSING, -1
LEAST_SCORE, HUGE_SCORE = F64(-1e300), F64(1e300)
RESET = F64(100000.0)
DEEPEST = F64(1000.0)  # a word may be kept in the table if no sum differs more from the sum before it
ROUNDING = F64(0.03125)  # four times the distance of 32-bit floats at RESET


class PathSearch(NamedTuple):
    """The pointers of a `UnigramModel`, and for every place of a word the best path to it."""

    units: object
    links: object
    records: object
    symbols: object
    last_symbol: object  # of `symbols`
    scores: object  # float64, by id
    unk_score: object
    byte_ids: object
    settings: object
    sums: object
    best: object  # float64: the greatest sum
    leads: object  # float64: the least lead of the best path over the second best
    starts: object  # int32: where the last piece begins
    ids: object  # int32: its id
    nexts: object  # int32: where the path's next piece ends
    room: object


@inlined
def rounded(value, running):
    """A sum as the model rounds it: to 32 bits if it is a running sum."""
    return F64(F32(value)) if running else value


@inlined
def read_symbol(symbols, last, text, i, stop):
    """The symbol of the character at text[i], and its length; a byte that is no character has that of unknown ones."""
    code, size = I64(text[i]), I64(1)
    # What `decode_at` gives, without a call for most characters.
    if 0xE1 <= code < 0xED and i + 2 < stop and text[i + 1] >> 6 == 2 and text[i + 2] >> 6 == 2:
        code, size = (code & 0xF) << 12 | (I64(text[i + 1]) & 0x3F) << 6 | (I64(text[i + 2]) & 0x3F), I64(3)
    elif code >= 0x80:
        code, size = decode_at(text, i, stop)
    return symbols[min(code + 1, last)], size


@inlined
def unknown_run(m, text, at, i, length):
    """The run of characters from place i on that begin no piece: (their number, where they end)."""
    root, n = m.units[ROOT], I64(0)
    while i < length:
        symbol, size = read_symbol(m.symbols, m.last_symbol, text, at + i, at + length)
        if step(m.units, root, symbol) >= 0:
            break
        i += size
        n += 1
    return n, i


@inlined
def added(m, value, n, running):
    """A sum plus the scores of n unknown characters."""
    total, unknown = F32(value), F32(m.unk_score)
    if running:
        for _ in range(n):
            total = total + unknown
        return F64(total)
    for _ in range(n):
        value = value + m.unk_score
    return value


@inlined
def reach(m, stop, start, piece, value, lead):
    """Write the best way to reach a place; consecutive unknown characters are one link of the path."""
    m.best[stop], m.ids[stop] = value, piece
    m.leads[stop] = min(lead, m.leads[start])
    m.starts[stop] = m.starts[start] if piece == NO_PIECE and m.ids[start] == NO_PIECE else start


@helper
def find_paths(m, text, at, length, base):
    """Find the best path to every place of text[at : at + length], with the sum `base` before it.

    Returns the number of characters, the lowest sum and the highest sum.
    """
    m.best[0], m.leads[0], m.ids[0] = base, HUGE_SCORE, 0
    i, slot, chars, low, high, running = I64(0), I64(ROOT), I64(0), base, base, m.settings[layout.UNIGRAM.running] != 0
    while i < length:
        if slot == ROOT:
            n, stop = unknown_run(m, text, at, i, length)
            # No piece spans place i (the slot is ROOT), and none begins in the run: there is one path through it, so
            # its lead is HUGE_SCORE.
            if n > 0:
                value = added(m, m.best[i], n, running)
                reach(m, stop, i, NO_PIECE, value, HUGE_SCORE)
                low, chars, i = min(low, value), chars + n, stop
                continue
        symbol, size = read_symbol(m.symbols, m.last_symbol, text, at + i, at + length)
        stop, slot = i + size, next_slot(m.units, m.links, slot, symbol)
        piece, start, best, second, size = NO_PIECE, i, LEAST_SCORE, LEAST_SCORE, I64(0)
        found = piece_of(m.units[slot])
        while found >= 0:
            record = m.records[found]
            size = piece_length(record)
            value = rounded(m.best[stop - size] + m.scores[found], running)
            # Not >=: of equal sums the first stays, which has the longer piece.
            if value > best:
                piece, start, best, second = found, stop - size, value, best
            else:
                second = max(second, value)
            found = next_piece(record)
        if size != stop - i:  # the shortest piece, which came last, is longer than a character
            value = rounded(m.best[i] + m.unk_score, running)
            if value > best:
                piece, start, best, second = I64(NO_PIECE), i, value, best
            else:
                second = max(second, value)
        reach(m, stop, start, piece, best, best - second)
        low, high, chars, i = min(low, best), max(high, best), chars + 1, stop
    return chars, low, high


@inlined
def relax(m, start, stop, piece, value):
    """Reach a place by a piece, if its sum is greater."""
    if m.starts[stop] == UNREACHED or value > m.best[stop]:
        m.best[stop], m.starts[stop], m.ids[stop] = value, start, piece


@helper
def find_paths_anew(m, text, at, length, base):
    """The same from each place to later ones, in the order of SentencePiece, which subtracts sums beyond RESET."""
    for k in range(length + 1):
        m.starts[k] = UNREACHED
    m.best[0], m.leads[length], m.starts[0] = base, 0.0, 0
    i, furthest = I64(0), I64(0)
    while i < length:
        if m.best[i] < -RESET or m.best[i] > RESET:
            offset = m.best[i]
            for k in range(i, furthest + 1):
                if m.starts[k] != UNREACHED:
                    m.best[k] = rounded(m.best[k] - offset, True)
        here, unit, k, single = m.best[i], m.units[ROOT], i, False
        _, size = read_symbol(m.symbols, m.last_symbol, text, at + i, at + length)
        while k < length:
            symbol, more = read_symbol(m.symbols, m.last_symbol, text, at + k, at + length)
            unit = child(m.units, unit, symbol)
            if unit == ZERO:
                break
            k += more
            piece = piece_of(unit)
            if piece >= 0 and piece_length(m.records[piece]) == k - i:
                relax(m, i, k, piece, rounded(here + m.scores[piece], True))
                single |= k == i + size
                furthest = max(furthest, k)
        if not single:
            relax(m, i, i + size, NO_PIECE, rounded(here + m.unk_score, True))
            furthest = max(furthest, i + size)
        i += size


@helper
def find_best_path(m, text, at, length, base):
    """Find the best path through a word and fill `nexts`; whether the path is the same after any sum."""
    chars, low, high = find_paths(m, text, at, length, base)
    if m.settings[layout.UNIGRAM.running] != 0 and (low < -RESET or high > RESET):
        find_paths_anew(m, text, at, length, base)
    k = I64(length)
    while k > 0:
        m.nexts[m.starts[k]] = k
        k = I64(m.starts[k])
    # One addition rounds by at most half the distance of two floats. For two paths after two different sums before
    # them, that is ROUNDING / 2 a character: a larger lead decides the same after any sum.
    return m.leads[length] > F64(chars + 2) * ROUNDING and base - low < DEEPEST and high - base < DEEPEST


@inlined
def unigram_pointers(model, scratch):
    """The pointers of a model and its scratch."""
    room, known = len(scratch.best) // layout.PLACE_SUMS, len(model.scores) - 1
    best, steps, scores = pointer(scratch.best), pointer(scratch.steps), pointer(model.scores)
    return PathSearch(
        units=pointer(model.units),
        links=pointer(model.links),
        records=pointer(model.records),
        symbols=pointer(model.symbols),
        last_symbol=I64(len(model.symbols) - 1),
        scores=scores,
        unk_score=scores[known],
        byte_ids=pointer(model.byte_ids),
        settings=pointer(model.settings),
        sums=pointer(scratch.sums),
        best=best,
        leads=advance(best, room),
        starts=steps,
        ids=advance(steps, room),
        nexts=advance(steps, 2 * room),
        room=room,
    )


NEAR_RESET = RESET - DEEPEST - F64(100.0)
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
    if upto > counters[layout.COUNTER.summed] and (F64(low) < -NEAR_RESET or F64(high) > NEAR_RESET):
        m.sums[layout.SUM.came_near] = 1.0
    m.sums[layout.SUM.total], counters[layout.COUNTER.summed] = F64(total), upto


@helper
def settled_sum(m, counters, out, upto):
    """Whether the ids before out[upto] are right: not if the sum came near RESET and words came from the table."""
    if m.settings[layout.UNIGRAM.running] == 0:
        return True
    sum_up(m, counters, out, upto)
    # A path from the table is the best one after any sum, but not where SentencePiece may subtract the sum: the block
    # is encoded again, each word alone.
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
    n, stop = unknown_run(m, text, at, I64(0), length)
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
def segment_unigram_word(m, counters, text, at, length, out, count):
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
    certain = find_best_path(m, text, at, length, base)
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
def begins_nothing(m, text, at, stop):
    """Whether the first character begins no piece, in a `running` model, which keeps no unknown words."""
    symbol, _ = read_symbol(m.symbols, m.last_symbol, text, at, stop)
    return m.settings[layout.UNIGRAM.running] != 0 and step(m.units, m.units[ROOT], symbol) < 0


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
    model = unigram_pointers(workspace.model, workspace.scratch)
    table = table_pointers(workspace.table, workspace.counters)
    p, e, t, o, keys = pointer(text), pointer(ends), pointer(text_ends), pointer(out), pointer(workspace.scratch.keys)
    family = SegmentFunctions(segment_unigram_word, settled_sum, begins_nothing, False, False, never_many)
    return encode_all(family, model, table, p, len(text), start, e, words, t, texts, keys, o, len(out), filled)


@kernel
def path_ends(text: U8s, words: I64s, model: UnigramModel, scratch: UnigramScratch, ends: I64s) -> Int:
    """Write where the text of each id of the words text[words[i] : words[i + 1]] ends; the number of ids.

    There must be scratch for the longest word.
    """
    m = unigram_pointers(model, scratch)
    p, w, e = pointer(text), pointer(words), pointer(ends)
    n, base = 0, F64(0.0)
    for k in range(len(words) - 1):
        at, length = w[k], w[k + 1] - w[k]
        find_best_path(m, p, at, length, base)
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


# ---------------------------------------------------------------------------------------------------------------------
# All segmentations of a text: the edges between its places, and paths drawn at random (U5).
#
# A path is drawn with probability proportional to exp(alpha * its score) (T. Kudo, Subword Regularization, 2018).

NO_UNIT = 0
NOTHING = F64(-1e300)


@kernel
def find_edges(text: U8s, words: I64s, model: UnigramModel, out: Edges) -> Int:
    """Write the edges inside the words text[words[i] : words[i + 1]], in the order of their begins; their number.

    The piece MISSING is an unknown character. Edges for which `out` has no room are only counted.
    """
    p, w, u, record = pointer(text), pointer(words), pointer(model.units), pointer(model.records)
    symbols, last = pointer(model.symbols), I64(len(model.symbols) - 1)
    begins, ends, pieces, room, n = pointer(out.begins), pointer(out.ends), pointer(out.pieces), len(out.begins), I64(0)
    for k in range(len(words) - 1):
        i, stop = w[k], w[k + 1]
        while i < stop:
            _, first = read_symbol(symbols, last, p, i, stop)
            unit, at, single = u[ROOT], i, False
            while at < stop:
                symbol, size = read_symbol(symbols, last, p, at, stop)
                unit = child(u, unit, symbol)
                if unit == NO_UNIT:
                    break
                at += size
                piece = piece_of(unit)
                if piece >= 0 and piece_length(record[piece]) == at - i:
                    if n < room:
                        begins[n], ends[n], pieces[n] = i, at, piece
                    n += 1
                    single |= at == i + first
            # As in SentencePiece: a character that is not a piece can always be passed as unknown.
            if not single:
                if n < room:
                    begins[n], ends[n], pieces[n] = i, i + first, layout.MISSING
                n += 1
            i += first
    return n


@helper
def log_add(a, b):
    """log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == NOTHING else high + log(1.0 + exp(low - high))


@kernel
def sum_paths(begins: I64s, ends: I64s, weights: F64s, totals: F64s) -> Int:
    """Write for every place the logarithm of the sum of exp(weight) over all paths from the first place to it."""
    b, e, w, t = pointer(begins), pointer(ends), pointer(weights), pointer(totals)
    for k in range(len(totals)):
        t[k] = NOTHING
    t[b[0]] = 0.0
    for n in range(len(begins)):
        t[e[n]] = log_add(t[e[n]], t[b[n]] + w[n])
    return 0


@kernel
def draw_path(edges: Edges, weights: F64s, totals: F64s, chances: F64s, path: I64s) -> Int:
    """Draw a path by `chances`, from 0 to 1, and write the numbers of its edges, the last one first; their number.

    edges and weights are in the order of ends; `totals` are those of `sum_paths`.
    """
    b, e, w, t, c, out = (
        pointer(edges.begins),
        pointer(edges.ends),
        pointer(weights),
        pointer(totals),
        pointer(chances),
        pointer(path),
    )
    last, n, first = len(weights) - 1, I64(0), b[0]
    while last >= 0:
        stop, left, k, chosen = e[last], c[n], last, last
        while k >= 0 and e[k] == stop:
            share = exp(t[b[k]] + w[k] - t[stop])
            if share > 0.0:
                # The shares have the sum 1 up to rounding. If something is left after the last one, the last possible
                # edge is taken.
                chosen = k
                if left < share:
                    break
                left -= share
            k -= 1
        out[n] = chosen
        n += 1
        # The last edge that ends where the chosen one begins.
        place = b[chosen]
        if place == first:
            break
        last = chosen
        while last >= 0 and e[last] != place:
            last -= 1
    return n
