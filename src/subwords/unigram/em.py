"""Expectation maximisation over the words' lattices, and the losses of pieces (U2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import BestPath, ForwardBackward, LatticeWords, PiecePlaces, Pieces
from subwords.unigram.seeds import Lattice, on_ranges

__all__ = ["estimated", "expected_counts", "logarithms", "losses_of", "pruned", "raised", "unit_bits"]

LN2 = 0.6931471805599453
SQRT2 = 1.4142135623730951


def unit_bits(lattice: Lattice) -> int:
    """Return the number of fractional bits of expected counts, chosen so that sums stay below 2**62."""
    return min(32, 62 - lattice.text.characters.bit_length())


def expected_counts(lattice: Lattice, probabilities: NDArray[np.float64], threads: int) -> NDArray[np.int64]:
    """Return the expected count of each piece over all segmentations, weighted by probability (E-step).

    In units of 2**-unit_bits: integer sums do not depend on threads or on the order of words (U3).
    """
    from subwords.kernels.named import expect

    words = LatticeWords(lattice.text.starts, lattice.text.weights, lattice.longest)
    pieces = Pieces(lattice.links, probabilities)
    longest, room = int(lattice.lengths.max()), lattice.text.longest + 1
    bits = unit_bits(lattice)

    def run(first: int, last: int) -> NDArray[np.int64]:
        expected = np.zeros(len(lattice), np.int64)
        scratch = ForwardBackward(np.empty(room), np.empty(room), np.empty(room, np.uint8))
        expect(words, pieces, first, last, bits, longest, scratch, expected)
        return expected

    return _summed(on_ranges(run, _word_bounds(lattice, threads)))


def estimated(
    expected: NDArray[np.int64], lengths: NDArray[np.int64], bits: int, least: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which pieces are kept and their probabilities, from expected counts (M-step).

    A probability is e**digamma(count) / e**digamma(total), which favours few pieces. Pieces with an expected count
    below 0.5 are dropped, except characters and the best others needed to keep `least`.
    """
    half = 1 << bits >> 1
    kept = (expected >= half) | (lengths == 1)
    if missing := max(0, least - int(np.count_nonzero(kept))):
        rare = np.flatnonzero(~kept)
        kept[rare[np.argsort(-expected[rare], kind="stable")[:missing]]] = True
    numbers = np.maximum(expected[kept], half)
    values = _exp_digamma(np.append(numbers, numbers.sum()).astype(np.float64) / 2.0**bits)
    return kept, values[:-1] / values[-1]


def pruned(lattice: Lattice, scores: NDArray[np.float64], most: int, least: int, threads: int) -> NDArray[np.bool_]:
    """Choose at most `most` and at least `least` pieces: characters first, then useful pieces by loss.

    The loss of a piece is the drop in corpus likelihood if every occurrence in a best segmentation is replaced by its
    second-best segmentation. A piece is useless if it does not occur there, or has a better segmentation itself.
    """
    losses, _ = losses_of(lattice, scores, threads)
    kept: NDArray[np.bool_] = losses == layout.ALWAYS
    useful = np.flatnonzero((losses != layout.ALWAYS) & (losses != layout.NEVER))
    best = np.argsort(-losses[useful], kind="stable")[: most - int(np.count_nonzero(kept))]
    kept[useful[best]] = True
    if missing := max(0, least - int(np.count_nonzero(kept))):
        useless = np.flatnonzero(losses == layout.NEVER)
        kept[useless[np.argsort(-scores[useless], kind="stable")[:missing]]] = True
    return kept


def losses_of(
    lattice: Lattice, scores: NDArray[np.float64], threads: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the loss of each piece, or ALWAYS or NEVER, and how often the best segmentations use it."""
    from subwords.kernels.named import count_best, lose

    words = LatticeWords(lattice.text.starts, lattice.text.weights, lattice.longest)
    pieces, places = Pieces(lattice.links, scores), PiecePlaces(lattice.at, lattice.longest)
    room = max(lattice.text.longest, int(lattice.lengths.max())) + 1

    def count(first: int, last: int) -> NDArray[np.int64]:
        counts = np.zeros(len(lattice), np.int64)
        count_best(words, pieces, first, last, BestPath(np.empty(room), np.empty(room, np.int32)), counts)
        return counts

    counts = _summed(on_ranges(count, _word_bounds(lattice, threads)))
    losses, total = np.empty(len(lattice)), int(counts.sum())

    def write(first: int, last: int) -> None:
        scratch = BestPath(np.empty(room), np.empty(room, np.int32))
        lose(places, pieces, counts, first, last, total, scratch, losses)

    on_ranges(write, [len(lattice) * part // threads for part in range(threads + 1)])
    return losses, counts


def raised(lattice: Lattice, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores, but at least the greatest sum that other pieces give for the text of a piece.

    Shorter pieces are raised first: their scores are in the sums of longer ones. At a tie the one with the longest last
    piece is taken (U5), which is the piece itself.
    """
    from subwords.kernels.named import raise_to_others

    values, lengths = scores.copy(), lattice.lengths
    room = int(lengths.max()) + 1
    scratch = BestPath(np.empty(room), np.empty(room, np.int32))
    order = np.argsort(lengths, kind="stable")
    raise_to_others(PiecePlaces(lattice.at, lattice.longest), Pieces(lattice.links, values), order, scratch)
    return values


def _word_bounds(lattice: Lattice, threads: int) -> list[int]:
    """Return bounds of ranges of words with about the same number of characters."""
    starts = lattice.text.starts
    inner: list[int] = np.searchsorted(starts, [starts[-1] * part // threads for part in range(1, threads)]).tolist()
    return [0, *inner, len(starts) - 1]


def _summed(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    first, *rest = arrays
    for other in rest:
        first += other
    return first


# ------------------------------------------------------------------ arithmetic with the same bits on every machine


def logarithms(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return natural logarithms, bit for bit as reference.unigram.ln."""
    y, exponents = np.frexp(x)
    low = 2.0 * y <= SQRT2
    y, exponents = np.where(low, 2.0 * y, y), exponents - low
    s = (y - 1.0) / (y + 1.0)
    z = s * s
    p: Any = 0.0
    for divisor in range(21, 2, -2):
        p = (p + 1 / divisor) * z
    logs: NDArray[np.float64] = exponents * LN2 + 2.0 * s * (p + 1.0)
    return logs


def _exp_digamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e**digamma(x), bit for bit as reference.unigram.exp_digamma."""
    small = x < 8.0
    y = np.where(small, x + 8.0, x) - 0.5
    z = 1.0 / (y * y)
    values: NDArray[np.float64] = y + ((10313 / 2903040 * z - 37 / 5760) * z + 1 / 24) / y
    s = np.zeros(int(np.count_nonzero(small)))
    for k in range(8):
        s += 1.0 / (x[small] + k)
    r, power = s / 64.0, np.ones(len(s))
    for k in range(8, 0, -1):
        power = power * r / k + 1.0
    for _ in range(6):
        power *= power
    values[small] /= power
    return values
