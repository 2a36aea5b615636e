"""Rank files: all pairs of tokens that join to a token, found by hashes of all beginnings and ends at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab

__all__ = ["joining_pairs"]

Numbers = NDArray[np.int64]

# The hash of a token is the sum of _CODE * (byte + 1) * _BASE**position, modulo 2**64. _BASE is odd: it has an inverse.
_BASE, _CODE = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def joining_pairs(vocab: Vocab, left_out: frozenset[int] = frozenset()) -> Numbers:
    """Return (left, right, joined) for all pairs that join to a token, shape (n, 3), in order of `joined` and the cut.

    Tokens in `left_out` and empty ones are ignored; tokens are distinct otherwise.

    >>> joining_pairs(Vocab([b"a", b"b", b"ab", b"aba"])).tolist()
    [[0, 1, 2], [2, 0, 3]]
    """
    kept = np.diff(vocab.offsets) > 0
    kept[[i for i in left_out if i < len(kept)]] = False
    ids = np.flatnonzero(kept)
    found = _by_hashes(vocab, ids)
    if found is None:  # two tokens have the same hash, or a hash is also that of other bytes
        return _one_by_one(vocab, ids)
    return found


def _by_hashes(vocab: Vocab, ids: Numbers) -> Numbers | None:
    starts, ends = vocab.offsets[ids], vocab.offsets[ids + 1]
    hashes = _Hashes(vocab)
    own = hashes.of(starts, ends)
    order = np.argsort(own)
    if not np.diff(own[order]).all():
        return None
    token_of = _Index(own[order], order)
    cuts = np.maximum(ends - starts - 1, 0)
    joined = np.repeat(np.arange(len(ids)), cuts)
    if not len(joined):
        return np.zeros((0, 3), np.int64)
    at = starts[joined] + 1 + np.arange(len(joined)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    left = token_of.find(hashes.of(starts[joined], at))
    known = left >= 0
    joined, at, left = joined[known], at[known], left[known]
    right = token_of.find(hashes.of(at, ends[joined]))
    known = right >= 0
    joined, at, left, right = joined[known], at[known], left[known], right[known]
    first, second = at - starts[joined], ends[joined] - at
    same = (ends[left] - starts[left] == first) & (ends[right] - starts[right] == second)
    if not (same.all() and _equal(vocab, starts[left], starts[joined], first)):
        return None
    if not _equal(vocab, starts[right], at, second):
        return None
    return np.stack([ids[left], ids[right], ids[joined]], 1)


class _Index:
    """Distinct hashes and the number of each, in buckets by their first bits: 4 times as fast as binary search."""

    def __init__(self, keys: NDArray[np.uint64], numbers: Numbers) -> None:
        self._keys, self._numbers = keys, numbers
        bits = (2 * len(keys)).bit_length()
        self._shift = np.uint64(64 - bits)
        self._sizes = np.bincount((keys >> self._shift).astype(np.int64), minlength=1 << bits)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def find(self, hashes: NDArray[np.uint64]) -> Numbers:
        """Return the number of each hash, -1 for unknown ones."""
        found = np.full(len(hashes), -1, np.int64)
        buckets = (hashes >> self._shift).astype(np.int64)
        left, at, sizes = np.arange(len(hashes)), self._starts[buckets], self._sizes[buckets]
        for k in range(int(sizes.max(initial=0))):
            left = left[sizes[left] > k]
            places = at[left] + k
            same = self._keys[places] == hashes[left]
            found[left[same]] = self._numbers[places[same]]
            left = left[~same]
        return found


class _Hashes:
    """The hash of any range of the vocabulary's bytes."""

    def __init__(self, vocab: Vocab) -> None:
        size = int(vocab.offsets[-1])
        powers = _powers(_BASE, size)
        self._inverses = _powers(pow(_BASE, -1, 1 << 64), size + 1)
        self._sums = np.zeros(size + 1, np.uint64)
        values = (vocab.data[:size].astype(np.uint64) + np.uint64(1)) * np.uint64(_CODE) * powers
        np.cumsum(values, out=self._sums[1:])

    def of(self, starts: Numbers, ends: Numbers) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = (self._sums[ends] - self._sums[starts]) * self._inverses[starts]
        return found


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    found = np.full(count, base, np.uint64)
    found[:1] = 1
    powers: NDArray[np.uint64] = np.multiply.accumulate(found)
    return powers


def _equal(vocab: Vocab, starts: Numbers, others: Numbers, sizes: Numbers) -> bool:
    """Whether the bytes from `starts` and from `others` are equal, `sizes` bytes each."""
    shift = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return bool((vocab.data[np.repeat(starts, sizes) + shift] == vocab.data[np.repeat(others, sizes) + shift]).all())


def _one_by_one(vocab: Vocab, ids: Numbers) -> Numbers:
    index = {vocab[i]: i for i in ids.tolist()}
    pairs = [
        (left, right, i)
        for token, i in index.items()
        for cut in range(1, len(token))
        if (left := index.get(token[:cut])) is not None and (right := index.get(token[cut:])) is not None
    ]
    return np.array(pairs, np.int64).reshape(-1, 3)
