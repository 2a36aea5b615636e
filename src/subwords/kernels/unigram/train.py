"""Unigram training: expected counts of pieces (E-step), the best segmentations, and the loss of a piece (U2).

A word's lattice is not stored: `longest` has the longest piece that begins at every place of the text, and a piece's
link leads to the next shorter one (suffixes.py). Expected counts are integers, so the sum does not depend on threads.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.arithmetic import ln
from subwords.kernels.jit import F64, I64, Int, advance, helper, inlined, kernel, pointer
from subwords.kernels.layout import BestPath, F64s, ForwardBackward, I64s, LatticeWords, PiecePlaces, Pieces
from subwords.kernels.unigram.suffixes import LENGTH

# Probabilities of long words underflow. So where one falls below LOW, it and those that follow are multiplied by RAISE,
# which changes no digit, and the place is marked for the way back.
LOW = 2.0**-256
RAISE = 2.0**256
HIGH = 2.0**1000


@inlined
def raise_values(values, first, last):
    """Multiply values by RAISE, unless one of them is too large for that; whether it was done."""
    most = F64(0.0)
    for i in range(first, last):
        most = max(most, values[i])
    if most >= RAISE:
        return False
    for i in range(first, last):
        values[i] *= RAISE
    return True


@helper
def go_forward(lo, n, ln_, p, a, marks, reach):
    """Write to a[i] the probability of the first i characters of a word; lo: the longest pieces at its places."""
    for i in range(n + 1):
        a[i] = F64(0.0)
    a[0] = F64(1.0)
    for i in range(n):
        marks[i] = a[i] < LOW and raise_values(a, i, min(n, i + reach) + 1)
        before, piece = a[i], I64(lo[i])
        while piece >= 0:
            link = ln_[piece]
            a[i + (link & LENGTH)] += before * p[piece]
            piece = (link >> layout.LENGTH_BITS) - 1


@kernel
def expect(
    words: LatticeWords,
    pieces: Pieces,
    first: Int,
    stop: Int,
    bits: Int,
    reach: Int,
    scratch: ForwardBackward,
    expected: I64s,
) -> Int:
    """Add how often each piece is expected in the words first..stop, in units of 2**-bits.

    `pieces` has probabilities; `reach` is the length of the longest piece.
    """
    b, w, lo = pointer(words.starts), pointer(words.weights), pointer(words.longest)
    ln_, p, e = pointer(pieces.links), pointer(pieces.values), pointer(expected)
    a, z, marks = pointer(scratch.forward), pointer(scratch.backward), pointer(scratch.raised)
    unit = F64(I64(1) << bits)
    for word in range(first, stop):
        start, n, weight = b[word], b[word + 1] - 1 - b[word], F64(w[word]) * unit
        go_forward(advance(lo, start), n, ln_, p, a, marks, reach)
        z[n] = 1.0 / a[n]
        for i in range(n - 1, -1, -1):
            before, after, piece = a[i], F64(0.0), I64(lo[start + i])
            while piece >= 0:
                link = ln_[piece]
                rest = p[piece] * z[i + (link & LENGTH)]
                after += rest
                e[piece] += I64(before * rest * weight + 0.5)
                piece = (link >> layout.LENGTH_BITS) - 1
            z[i] = min(after, HIGH)
            if marks[i]:
                for k in range(i, min(n, i + reach) + 1):
                    z[k] = min(z[k] * RAISE, HIGH)
    return 0


@helper
def best_way(lo, n, whole, ln_, s, best, last):
    """Find the best segmentation of n characters (Viterbi), without the piece `whole`; its score.

    last[i] is the piece that ends at i. At a tie the longest last piece wins.
    """
    best[0] = F64(0.0)
    for i in range(1, n + 1):
        best[i] = F64(layout.NEVER)
    for i in range(n):
        before, piece = best[i], I64(lo[i])
        while piece >= 0:
            link = ln_[piece]
            end = i + (link & LENGTH)
            if end <= n and piece != whole and before + s[piece] > best[end]:
                best[end], last[end] = before + s[piece], piece
            piece = (link >> layout.LENGTH_BITS) - 1
    return best[n]


@kernel
def count_best(words: LatticeWords, pieces: Pieces, first: Int, stop: Int, scratch: BestPath, counts: I64s) -> Int:
    """Add how often each piece is in the best segmentations of the words first..stop; `pieces` has scores."""
    b, w, lo = pointer(words.starts), pointer(words.weights), pointer(words.longest)
    ln_, s, c = pointer(pieces.links), pointer(pieces.values), pointer(counts)
    best, last = pointer(scratch.best), pointer(scratch.last)
    for word in range(first, stop):
        start, n = b[word], b[word + 1] - 1 - b[word]
        best_way(advance(lo, start), n, -1, ln_, s, best, last)
        while n > 0:
            piece = last[n]
            c[piece] += w[word]
            n -= ln_[piece] & LENGTH
    return 0


@kernel
def raise_to_others(places: PiecePlaces, pieces: Pieces, order: I64s, scratch: BestPath) -> Int:
    """Raise the score of each piece, in this order, to the greatest sum that others give for its text."""
    at, lo, ln_, s = pointer(places.at), pointer(places.longest), pointer(pieces.links), pointer(pieces.values)
    best, last, o = pointer(scratch.best), pointer(scratch.last), pointer(order)
    for k in range(len(order)):
        piece = o[k]
        n = ln_[piece] & LENGTH
        if n > 1:
            s[piece] = max(s[piece], best_way(advance(lo, at[piece]), n, piece, ln_, s, best, last))
    return 0


@kernel
def lose(
    places: PiecePlaces,
    pieces: Pieces,
    counts: I64s,
    first: Int,
    stop: Int,
    total: Int,
    scratch: BestPath,
    losses: F64s,
) -> Int:
    """Write what the corpus would lose without each of the pieces first..stop, spelled by its second-best way.

    total: the sum of the counts. The loss of single characters is ALWAYS, that of pieces of no use NEVER.
    """
    at, lo, ln_, s = pointer(places.at), pointer(places.longest), pointer(pieces.links), pointer(pieces.values)
    best, last, c, worth = pointer(scratch.best), pointer(scratch.last), pointer(counts), pointer(losses)
    for piece in range(first, stop):
        n, times = ln_[piece] & LENGTH, c[piece]
        if n == 1:
            worth[piece] = F64(layout.ALWAYS)
        elif times == 0 or best_way(advance(lo, at[piece]), n, piece, ln_, s, best, last) > s[piece]:
            worth[piece] = F64(layout.NEVER)
        else:
            others, end = 0, n
            while end > 0:
                others += 1
                end -= ln_[last[end]] & LENGTH
            after, spelled, end = ln(total + times * (others - 1)), F64(0.0), n
            while end > 0:
                spelled += ln(c[last[end]] + times) - after
                end -= ln_[last[end]] & LENGTH
            worth[piece] = F64(times) * (ln(times) - ln(total) - spelled)
    return 0
