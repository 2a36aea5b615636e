"""The merges of a BPE model as the tables of its kernel."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.support.light import distinct, random_bits

if TYPE_CHECKING:
    from subwords.bpe.model import BPE

__all__ = [
    "MergeTables",
    "first_ranks",
    "links_of",
    "open_tables",
    "perfect_tables",
    "ranks_of_bytes",
    "without_repeats",
]

Numbers = NDArray[np.int64]
GROUP = 4  # pairs of a pilot, at most, on average


class MergeTables(NamedTuple):
    """The merges that the kernel makes, and where it finds them; see `kernels/bpe/pairs.py`."""

    results: NDArray[np.int32]  # by rank
    first_result: int  # if rank r yields the id r more, else MISSING
    seed: int
    pairs: NDArray[np.uint64]
    sieve: NDArray[np.uint64]
    known_bits: int = 0
    pilots: NDArray[np.uint16] = np.zeros(1, np.uint16)
    entries: NDArray[np.uint32] = np.zeros(1, np.uint32)
    halves: NDArray[np.int32] = np.zeros(2, np.int32)


def open_tables(merges: Numbers, ranks: Numbers, links: Numbers) -> MergeTables:
    """Return the open table of merges, shape (n, 3), and of the pairs in `links`, shape (2, m)."""
    from subwords.kernels.named import fill_pairs

    left, right = _columns(merges)
    # At most 4 of 5 slots are used: the sieve answers for most pairs that are in no slot.
    known, seed = len(merges) + links.shape[1], random_bits(62)
    pairs = np.full(1 << max(4, (known + known // 4).bit_length()), layout.NO_PAIR, np.uint64)
    sieve = np.zeros(1 << max(0, known.bit_length() - 3), np.uint64)
    fill_pairs(links[0], links[1], np.full(links.shape[1], layout.MOST_RANK, np.int64), seed, pairs, sieve)
    fill_pairs(left, right, ranks, seed, pairs, sieve)
    return MergeTables(*_results(merges, ranks), seed, pairs, sieve)


def perfect_tables(merges: Numbers) -> MergeTables:
    """Return the perfect table of merges of distinct pairs, shape (n, 3), in order of rank."""
    from subwords.kernels.named import place_in_groups, spread_pairs

    ranks = np.arange(len(merges))
    results = merges[:, 2] - merges[:1, 2]
    if (np.diff(results) > 0).all() and results[-1:].sum() <= 2 * len(merges):
        ranks = results  # the order is the same, and no table of results is read
    bits = max(4, (len(merges) + len(merges) // 4).bit_length())
    left, right = _columns(merges)
    spreads, placed = np.empty(len(merges), np.uint64), 0
    while not placed:
        seed = random_bits(62)
        pilots, entries = np.zeros((1 << bits) // GROUP, np.uint16), np.zeros(1 << bits, np.uint32)
        known_bits = max(1, int(ranks[-1:].sum()).bit_length())
        spread_pairs(left, right, seed, spreads)
        groups = (spreads >> np.uint64(65 - len(pilots).bit_length())).astype(np.int64)
        sizes = np.bincount(groups, minlength=len(pilots))
        starts, order = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), _order(groups)
        largest = _order(sizes.max() - sizes)[: np.count_nonzero(sizes)]
        used = np.zeros(1 << bits, np.uint8)
        placed = place_in_groups(spreads[order], ranks[order], starts, largest, known_bits, used, pilots, entries)
    results, first = _results(merges, ranks)
    halves = np.full((len(results), 2), layout.MISSING, np.int32)
    halves[ranks] = merges[:, :2]
    none = np.zeros(1, np.uint64)
    return MergeTables(results, first, seed, none, none, known_bits, pilots, entries, halves.ravel())


def _order(numbers: Numbers) -> Numbers:
    """Return the stable order of numbers from 0 on; NumPy sorts 16 bits in a sixth of the time of 64."""
    return np.argsort(numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers, kind="stable")


def has_ties(model: BPE) -> bool:
    """Whether merges of equal priority have different results."""
    ranks, results = model.ranks, model.merges[:, 2]
    return ranks is not None and bool(((ranks[1:] == ranks[:-1]) & (results[1:] != results[:-1])).any())


def ranks_of_bytes(tables: MergeTables, alphabet: NDArray[np.int32]) -> Numbers:
    """Return the ranks of all pairs of two bytes; alphabet: the id of each byte."""
    return np.flatnonzero(np.isin(tables.halves.reshape(-1, 2), alphabet).all(1))


def first_ranks(tables: MergeTables, of_bytes: Numbers, alphabet: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return the rank of each two bytes, at first << 8 | second, given the ranks of all pairs of bytes."""
    if not tables.known_bits:
        return np.full(1, layout.NO_RANK, np.uint32)
    found = np.full(1 << 16, layout.NO_RANK, np.uint32)
    byte_of = np.full(int(alphabet.max()) + 1, layout.MISSING, np.int32)
    byte_of[alphabet] = np.arange(256)
    first, second = byte_of[tables.halves.reshape(-1, 2)[of_bytes]].T
    found[first << 8 | second] = of_bytes
    return found


def without_repeats(merges: Numbers) -> NDArray[np.bool_]:
    """Return which merges are left if of those of one pair only the last counts."""
    keys = merges[:, 0] << layout.ID_BITS | merges[:, 1]
    order = np.argsort(keys, kind="stable")
    kept = np.ones(len(merges), np.bool_)
    kept[order[:-1]] = keys[order[:-1]] != keys[order[1:]]
    return kept


def links_of(model: BPE, results: Numbers) -> Numbers:
    """Return the pairs of character ids that are adjacent in some token that merges yield, shape (2, n)."""
    made = np.zeros(len(model.vocab), np.bool_)
    made[results] = True
    tokens = [token.decode("utf-8", "surrogateescape") for token in compress(model.vocab, made.tolist())]
    codes = np.frombuffer("".join(tokens).encode("utf-32-le", "surrogatepass"), np.uint32)
    inside = np.ones(len(codes), np.bool_)
    inside[np.cumsum(list(map(len, tokens)), dtype=np.int64) - 1] = False
    ids = model.alphabet[codes].astype(np.int64)
    places = np.flatnonzero(inside[:-1] & (ids[:-1] >= 0) & (ids[1:] >= 0))
    keys = distinct(ids[places] << 32 | ids[places + 1])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF])


def _columns(merges: Numbers) -> tuple[Numbers, Numbers]:
    return np.ascontiguousarray(merges[:, 0]), np.ascontiguousarray(merges[:, 1])


def _results(merges: Numbers, ranks: Numbers) -> tuple[NDArray[np.int32], int]:
    results = np.zeros(int(ranks.max(initial=0)) + 1, np.int32)
    results[ranks] = merges[:, 2]
    steps = merges[:, 2] - ranks
    even = len(steps) and (steps == steps[0]).all() and steps[0] >= 0
    return results, int(steps[0]) if even else layout.MISSING
