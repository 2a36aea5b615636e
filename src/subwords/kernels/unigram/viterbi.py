"""The path of the greatest sum of scores through a word (U5).

For every place in a word where a character ends, `Lattice` has the best sum of pieces up to there and the last piece.
Of two equal sums the first one found stays, which has the longer last piece. Following the links from the longest piece
that ends at a place to shorter ones takes half the time of searching the pieces that begin there.

Tried and dropped: the record and the score of a piece side by side in one array: 0.92 to 1.02 of the speed.
Searching from each place to later ones, one step for a character of three bytes and a set of the pairs of characters
that begin a piece: 0.99 of the speed in Chinese, 1.1 in Japanese, for tables of 3 MB.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import F32, F64, I64, U64, advance, helper, inlined, pointer
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.trie.double_array import ROOT, child, length_of, next_piece, next_slot, piece_of, step

ZERO = U64(0)
NO_PIECE, UNREACHED = layout.MISSING, -1
LEAST, HUGE = F64(-1e300), F64(1e300)
RESET = F64(100000.0)
DEEPEST = F64(1000.0)  # a word may be kept in the table if no sum differs more from the sum before it
ROUNDING = F64(0.03125)  # four times the distance of 32-bit floats at RESET


class Lattice(NamedTuple):
    """The pointers of a `UnigramModel`, and for every place of a word the best path to it."""

    units: object
    links: object
    records: object
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
def character(text, at, i, length, running):
    """The length of the character at place i of a word."""
    lead, size = text[at + i], I64(1)
    if lead >= 0x80:
        if running:  # the normalizer's output is always valid UTF-8
            return min(I64(2) + (lead >= 0xE0) + (lead >= 0xF0), length - i)
        _, size = decode_at(text, at + i, at + length)
    return size


@inlined
def unknown_run(m, text, at, i, length, running):
    """The run of characters from place i on whose first byte begins no piece: (their number, where they end)."""
    root, n = m.units[ROOT], I64(0)
    while i < length and step(m.units, root, text[at + i]) < 0:
        i += character(text, at, i, length, running)
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
    m.best[0], m.leads[0], m.ids[0] = base, HUGE, 0
    i, slot, chars, low, high, running = I64(0), I64(ROOT), I64(0), base, base, m.settings[layout.UNIGRAM.running] != 0
    while i < length:
        if slot == ROOT:
            n, stop = unknown_run(m, text, at, i, length, running)
            # No piece spans place i (the slot is ROOT), and none begins in the run: there is one path through it, so
            # its lead is HUGE.
            if n > 0:
                value = added(m, m.best[i], n, running)
                reach(m, stop, i, NO_PIECE, value, HUGE)
                low, chars, i = min(low, value), chars + n, stop
                continue
        stop = i + character(text, at, i, length, running)
        for k in range(i, stop):
            m.best[k + 1] = LEAST
            slot = next_slot(m.units, m.links, slot, text[at + k])
        piece, start, best, second, size = NO_PIECE, i, LEAST, LEAST, I64(0)
        found = piece_of(m.units[slot])
        while found >= 0:
            record = m.records[found]
            size = length_of(record)
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
        here, size = m.best[i], character(text, at, i, length, True)
        unit, k, single = m.units[ROOT], i, False
        while k < length:
            unit = child(m.units, unit, text[at + k])
            if unit == ZERO:
                break
            k += 1
            piece = piece_of(unit)
            if piece >= 0 and length_of(m.records[piece]) == k - i:
                relax(m, i, k, piece, rounded(here + m.scores[piece], True))
                single |= k == i + size
                furthest = max(furthest, k)
        if not single:
            relax(m, i, i + size, NO_PIECE, rounded(here + m.unk_score, True))
            furthest = max(furthest, i + size)
        i += size


@helper
def best_path(m, text, at, length, base):
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
def opened_model(model, scratch):
    """The pointers of a model and its scratch."""
    room, known = len(scratch.best) // layout.PLACE_SUMS, len(model.scores) - 1
    best, steps, scores = pointer(scratch.best), pointer(scratch.steps), pointer(model.scores)
    return Lattice(
        units=pointer(model.units),
        links=pointer(model.links),
        records=pointer(model.records),
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
