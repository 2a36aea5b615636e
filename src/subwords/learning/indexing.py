"""Finds the pairs of the words, and where each of them is, before the first merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import NEED_PAIRS
from subwords.kernels.train_layout import (
    END,
    NO_KEY,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_ROW,
    PAIRS_USED,
    POSTINGS_USED,
    SPAN,
    THRESHOLD,
    TOKEN_ROW,
    TRAIN_COUNTERS,
    MergeRules,
    SymbolWords,
)
from subwords.support.memory import zeros

__all__ = ["Unindexed", "grown", "index_pairs", "live_in", "pair_table"]

FEW_PAIRS = 1 << 12
MANY_PAIRS = 1 << 15
MANY_SYMBOLS = 1 << 22  # of fewer, a sieve costs more than it saves
MOST_SIEVE = 1 << 22  # counters
NO_SIEVE = np.full(1, END, np.uint32)
AT_ONCE = 64  # pairs

Table = NDArray[np.uint64]


class Unindexed(NamedTuple):
    """What tells which pairs are live: words, tokens, rules, and settings with the threshold."""

    words: SymbolWords
    tokens: NDArray[np.int64]
    rules: MergeRules
    settings: NDArray[np.int64]

    @property
    def spans(self) -> NDArray[np.uint32]:
        """The number of symbols that each token covers; empty if each covers one."""
        found = self.tokens.reshape(-1, TOKEN_ROW)[:, SPAN].astype(np.uint32)  # as rows: in no cache
        return found if int(found.max()) > 1 else found[:0]


def index_pairs(
    source: Unindexed, counters: NDArray[np.int64], room: Callable[[int], int]
) -> tuple[Table, NDArray[np.uint32]]:
    """Return the table of the pairs that reach the threshold, and their postings.

    room: for how many pairs the table is, by the number of those. Sets PAIRS_USED and POSTINGS_USED of `counters`.
    """
    from subwords.kernels.bpe.index import fill_postings, move_pairs, place_postings

    threshold, size = int(source.settings[THRESHOLD]), len(source.words.symbols)
    postings = zeros(3 * size + 64, np.uint32, random=True)
    numbers = postings[len(postings) - size :]  # free until there are many more postings
    every, used = _counted(source, numbers)
    pairs = pair_table(room(live_in(every, threshold)))
    move_pairs(every, pairs, threshold, counters)
    places = np.full(used + 1, END, np.uint32)
    counters[POSTINGS_USED] = place_postings(every, pairs, places)
    fill_postings(numbers, places, postings)
    return pairs, postings


def _counted(source: Unindexed, numbers: NDArray[np.uint32]) -> tuple[Table, int]:
    """Return a table of the pairs, without some that do not reach the threshold, and their number."""
    from subwords.kernels.bpe.index import count_pairs, sift_pairs

    words, spans, sieve = source.words, source.spans, NO_SIEVE
    may_sift = int(source.settings[THRESHOLD]) > 1 and len(words.symbols) >= MANY_SYMBOLS
    table, scratch, counters = (
        pair_table(FEW_PAIRS),
        np.zeros(2 * AT_ONCE, np.uint64),
        np.zeros(TRAIN_COUNTERS, np.int64),
    )

    def count() -> int:
        return count_pairs(words, table, spans, source.rules, sieve, numbers, scratch, source.settings, counters)

    # Two threads, each for half of the words: no faster on two hyperthreads.
    while count() == NEED_PAIRS:
        if may_sift and len(sieve) == 1 and len(table) // PAIR_ROW > MANY_PAIRS:
            # 12 million symbols, 8,000 tokens to learn: 0.8 s with all pairs in the table.
            sieve = zeros(_room_of_sieve(source), np.uint32, random=True)
            sift_pairs(words, spans, sieve)
            table[:], counters[:] = NO_KEY, 0
        else:
            table = grown(table, counters)
    return table, int(counters[PAIRS_USED])


def _room_of_sieve(source: Unindexed) -> int:
    """Return a number of counters such that few that only count rare pairs reach the threshold."""
    starts, weights = source.words.starts[:-1].astype(np.float64), source.words.weights.astype(np.float64)
    total = np.dot(np.diff(starts, append=len(source.words.symbols)), weights)
    # 13 million symbols, 2**18 times the threshold: 0.49 s with 2**20 counters, 0.52 with 2**19, 0.52 with 2**21.
    return min(MOST_SIEVE, 1 << int(2 * total / int(source.settings[THRESHOLD])).bit_length())


def grown(table: Table, counters: NDArray[np.int64]) -> Table:
    """Return a larger table of the same pairs."""
    from subwords.kernels.bpe.index import move_pairs

    larger = pair_table(len(table) // PAIR_ROW)
    move_pairs(table, larger, 0, counters)
    return larger


def live_in(table: Table, threshold: int) -> int:
    """Return the number of pairs that reach the threshold."""
    rows = table.reshape(-1, PAIR_ROW)
    return int(np.count_nonzero((rows[:, PAIR_KEY] != NO_KEY) & (rows[:, PAIR_COUNT] >= np.uint64(threshold))))


def pair_table(pairs: int) -> Table:
    """Return an empty table that is less than half full with this many pairs."""
    table = zeros((1 << (2 * pairs).bit_length()) * PAIR_ROW, np.uint64, random=True)
    table[:] = NO_KEY
    return table
