"""Unigram training: what pieces are expected (E-step), the best segmentations, and what a piece is worth (U2).

A word's lattice is not stored: `longest` has the longest piece that begins at every place of the text, and a piece's
link leads to the next shorter one (suffix.py). Expected counts are integers, so threads' sums add up to the same.
"""

from __future__ import annotations

from subwords.kernels.arithmetic import ln
from subwords.kernels.jit import F64, I64, F64s, I32s, I64s, Int, Parts, U8s, advance, helper, inlined, kernel, pointer
from subwords.kernels.unigram.suffixes import LENGTH, LENGTH_BITS

# Probabilities of long words pass below what floating point holds. So where one falls below LOW it and those that
# follow are multiplied by RAISE, which changes no digit, and the place is marked for the way back.
LOW = 2.0**-256
RAISE = 2.0**256
HIGH = 2.0**1000
NEVER = -1e300
ALWAYS = 1e300


@inlined
def parts_of(span):
    """The four numbers of a span."""
    p = pointer(span)
    return p[0], p[1], p[2], p[3]


@inlined
def raised(values, first, last):
    """Whether the values were raised; not where a piece ahead is so much better that these do not matter."""
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
    """a[i]: the probability of the first i characters of a word; lo: its places' longest pieces."""
    for i in range(n + 1):
        a[i] = F64(0.0)
    a[0] = F64(1.0)
    for i in range(n):
        marks[i] = a[i] < LOW and raised(a, i, min(n, i + reach) + 1)
        before, piece = a[i], I64(lo[i])
        while piece >= 0:
            link = ln_[piece]
            a[i + (link & LENGTH)] += before * p[piece]
            piece = (link >> LENGTH_BITS) - 1


@kernel
def expect(
    words: Parts[I64s, I64s, I32s],
    pieces: Parts[I64s, F64s],
    span: I64s,
    scratch: Parts[F64s, F64s, U8s],
    expected: I64s,
) -> Int:
    """Add how often each piece is expected in some words, in units of 2**-bits.

    words: where they begin, their weights, and places' longest pieces. pieces: links and probabilities. span: first
    word, last, bits, length of the longest piece. scratch: for the longest word.
    """
    b, w, lo, ln_, p = pointer(words[0]), pointer(words[1]), pointer(words[2]), pointer(pieces[0]), pointer(pieces[1])
    a, z, marks, e = pointer(scratch[0]), pointer(scratch[1]), pointer(scratch[2]), pointer(expected)
    first, stop, bits, reach = parts_of(span)
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
                piece = (link >> LENGTH_BITS) - 1
            z[i] = min(after, HIGH)
            if marks[i]:
                for k in range(i, min(n, i + reach) + 1):
                    z[k] = min(z[k] * RAISE, HIGH)
    return 0


@helper
def best_way(lo, n, whole, ln_, s, best, last):
    """Find the best segmentation of n characters (Viterbi): last[i] is the piece that ends at i; its score.

    At a tie the longest last piece wins. The piece `whole` may not be used.
    """
    best[0] = F64(0.0)
    for i in range(1, n + 1):
        best[i] = F64(NEVER)
    for i in range(n):
        before, piece = best[i], I64(lo[i])
        while piece >= 0:
            link = ln_[piece]
            end = i + (link & LENGTH)
            if end <= n and piece != whole and before + s[piece] > best[end]:
                best[end], last[end] = before + s[piece], piece
            piece = (link >> LENGTH_BITS) - 1
    return best[n]


@kernel
def count_best(
    words: Parts[I64s, I64s, I32s], pieces: Parts[I64s, F64s], span: I64s, scratch: Parts[F64s, I32s], counts: I64s
) -> Int:
    """Add how often each piece is in the best segmentations of some words; parameters as of `expect`, with scores."""
    b, w, lo, ln_, s = pointer(words[0]), pointer(words[1]), pointer(words[2]), pointer(pieces[0]), pointer(pieces[1])
    best, last, c = pointer(scratch[0]), pointer(scratch[1]), pointer(counts)
    first, stop, _, _ = parts_of(span)
    for word in range(first, stop):
        start, n = b[word], b[word + 1] - 1 - b[word]
        best_way(advance(lo, start), n, -1, ln_, s, best, last)
        while n > 0:
            piece = last[n]
            c[piece] += w[word]
            n -= ln_[piece] & LENGTH
    return 0


@kernel
def lose(
    places: Parts[I32s, I32s],
    pieces: Parts[I64s, F64s],
    counts: I64s,
    span: I64s,
    scratch: Parts[F64s, I32s],
    losses: F64s,
) -> Int:
    """Write what the corpus would lose with each of some pieces, were it spelled by its second-best way.

    places: a place of every piece, and places' longest pieces. span: first piece, last, sum of the counts. Characters
    are worth ALWAYS, and pieces of no use NEVER.
    """
    at, lo, ln_, s = pointer(places[0]), pointer(places[1]), pointer(pieces[0]), pointer(pieces[1])
    best, last, c, worth = pointer(scratch[0]), pointer(scratch[1]), pointer(counts), pointer(losses)
    first, stop, total, _ = parts_of(span)
    for piece in range(first, stop):
        n, times = ln_[piece] & LENGTH, c[piece]
        if n == 1:
            worth[piece] = F64(ALWAYS)
        elif times == 0 or best_way(advance(lo, at[piece]), n, piece, ln_, s, best, last) > s[piece]:
            worth[piece] = F64(NEVER)
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
