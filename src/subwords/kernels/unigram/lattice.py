"""All ways through a text by pieces: the edges between its places, and one way drawn by chance (U5).

T. Kudo, Subword Regularization, 2018: a path is drawn with a probability in proportion to exp(alpha * its score).
"""

from __future__ import annotations

from math import exp, log

from subwords.kernels.jit import F64, I64, F64s, I32s, I64s, Int, Parts, U8s, U64s, helper, kernel, pointer
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.trie.double_array import ROOT, child, length_of, piece_of

NO_PIECE = -1
ZERO = 0
NOTHING = F64(-1e300)


@kernel
def find_edges(text: U8s, words: I64s, units: U64s, records: U64s, out: Parts[I64s, I64s, I32s]) -> Int:
    """Write where each edge begins and ends, and its piece (-1: an unknown character); how many there are.

    Edges cross no end of a word, text[words[i] : words[i + 1]], and are in order of where they begin. What has no room
    in `out` is counted alone.
    """
    p, w, u, record = pointer(text), pointer(words), pointer(units), pointer(records)
    begins, ends, pieces, room, n = pointer(out[0]), pointer(out[1]), pointer(out[2]), len(out[0]), I64(0)
    for k in range(len(words) - 1):
        i, stop = w[k], w[k + 1]
        while i < stop:
            _, step = decode_at(p, i, stop)
            unit, at, single = u[ROOT], i, False
            while at < stop:
                unit = child(u, unit, p[at])
                if unit == ZERO:
                    break
                at += 1
                piece = piece_of(unit)
                if piece >= 0 and length_of(record[piece]) == at - i:
                    if n < room:
                        begins[n], ends[n], pieces[n] = i, at, piece
                    n += 1
                    single |= at == i + step
            if not single:
                if n < room:
                    begins[n], ends[n], pieces[n] = i, i + step, NO_PIECE
                n += 1
            i += step
    return n


@helper
def log_add(a, b):
    """log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == NOTHING else high + log(1.0 + exp(low - high))


@kernel
def sum_paths(begins: I64s, ends: I64s, weights: F64s, totals: F64s) -> Int:
    """Write for every place the logarithm of the sum of exp(weights) over all paths from the first place."""
    b, e, w, t = pointer(begins), pointer(ends), pointer(weights), pointer(totals)
    for k in range(len(totals)):
        t[k] = NOTHING
    t[b[0]] = 0.0
    for n in range(len(begins)):
        t[e[n]] = log_add(t[e[n]], t[b[n]] + w[n])
    return 0


@kernel
def draw_path(edges: Parts[I64s, I64s], weights: F64s, totals: F64s, chances: F64s, path: I64s) -> Int:
    """Write the numbers of a path's edges, the last one first, drawn from all paths by `chances`; how many they are.

    edges: begins and ends, in order of ends, weights too; `totals` are those of `sum_paths`.
    """
    b, e, w, t, c, out = (
        pointer(edges[0]),
        pointer(edges[1]),
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
                chosen = k
                if left < share:
                    break
                left -= share
            k -= 1
        out[n] = chosen
        n += 1
        # Edges into the place where the chosen one begins.
        place = b[chosen]
        if place == first:
            break
        last = chosen
        while last >= 0 and e[last] != place:
            last -= 1
    return n
