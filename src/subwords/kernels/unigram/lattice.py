"""All segmentations of a text: the edges between its places, and paths drawn at random (U5).

A path is drawn with probability proportional to exp(alpha * its score) (T. Kudo, Subword Regularization, 2018).
"""

from __future__ import annotations

from math import exp, log

from subwords.kernels import layout
from subwords.kernels.jit import F64, I64, F64s, I64s, Int, U8s, U64s, helper, kernel, pointer
from subwords.kernels.layout import Edges
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.trie.double_array import ROOT, child, length_of, piece_of

ZERO = 0
NOTHING = F64(-1e300)


@kernel
def find_edges(text: U8s, words: I64s, units: U64s, records: U64s, out: Edges) -> Int:
    """Write the edges inside the words text[words[i] : words[i + 1]], in the order of their begins; their number.

    The piece MISSING is an unknown character. Edges for which `out` has no room are only counted.
    """
    p, w, u, record = pointer(text), pointer(words), pointer(units), pointer(records)
    begins, ends, pieces, room, n = pointer(out.begins), pointer(out.ends), pointer(out.pieces), len(out.begins), I64(0)
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
            # As in SentencePiece: a character that is not a piece can always be passed as unknown.
            if not single:
                if n < room:
                    begins[n], ends[n], pieces[n] = i, i + step, layout.MISSING
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
