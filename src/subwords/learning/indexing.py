"""Finds the pairs of the words, and where each of them is, before the first merge."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import MergeRules, SymbolWords
from subwords.support.memory import zeros
from subwords.support.threads import in_threads

__all__ = ["Unindexed", "grown", "index_pairs", "live_in", "pair_table"]

FEW_PAIRS = 1 << 12
MANY_SYMBOLS = 1 << 22  # of fewer, threads and a sieve cost more than they save
FEW_TOKENS = 1 << 10  # make few pairs
MOST_SIEVE = 1 << 22  # counters
NO_SIEVE = np.full(1, layout.END, np.uint32)
AT_ONCE = 64  # pairs
LOOK = 1 << 12  # symbols

Table = NDArray[np.uint64]


class Unindexed(NamedTuple):
    """What decides which pairs are live: words, tokens, rules, and settings with the threshold."""

    words: SymbolWords
    tokens: NDArray[np.int64]
    rules: MergeRules
    settings: NDArray[np.int64]

    @property
    def spans(self) -> NDArray[np.uint32]:
        """The number of symbols that each token covers; empty if each covers one."""
        found = self.tokens.reshape(-1, layout.TOKEN.width)[:, layout.TOKEN.span].astype(
            np.uint32
        )  # as rows: in no cache
        return found if int(found.max()) > 1 else found[:0]


def index_pairs(
    source: Unindexed, counters: NDArray[np.int64], room: Callable[[int], int], threads: int = 1
) -> tuple[Table, NDArray[np.uint32]]:
    """Return the table of the pairs that reach the threshold, and their postings.

    room: for how many pairs the table is, by the number of those. Sets TALLY.pairs_used and TALLY.postings_used of
    `counters`.
    """
    from subwords.kernels.named import fill_postings, move_pairs, place_pairs, place_postings

    threshold, size, spans = int(source.settings[layout.TRAIN.threshold]), len(source.words.symbols), source.spans
    postings = zeros(3 * size + 64, np.uint32, random=True)
    numbers = zeros(size, np.uint32, random=True)  # not a part of `postings`: memory that is used later, or never
    parts = _divide(source.words, spans, threads)
    sieve = _sieve(source, parts, spans, threads)
    tables = in_threads(lambda part: _counted(source, part, spans, sieve, numbers), parts, threads)
    every = tables[0] if len(tables) == 1 else _sum(tables)
    pairs = pair_table(room(live_in(every, threshold)))
    move_pairs(every, pairs, threshold, counters)
    counters[layout.TALLY.postings_used] = place_pairs(pairs)
    places = [np.full(len(table) // layout.PAIR.width // 2 + 1, layout.END, np.uint32) for table in tables]
    for table, found in zip(reversed(tables), reversed(places), strict=True):
        place_postings(table, pairs, found)
    in_threads(lambda at: fill_postings(numbers, *at[0], at[1], postings), zip(parts, places, strict=True), threads)
    return pairs, postings


def _divide(words: SymbolWords, spans: NDArray[np.uint32], threads: int) -> list[tuple[int, int]]:
    """Return the first place and the place after the last of each thread's words."""
    size = len(words.symbols)
    most = 1 if len(spans) or size < MANY_SYMBOLS else threads  # with spans, END may be inside a token
    cuts = [0, *(_end_from(words.symbols, k * size // most) for k in range(1, most)), size]
    return list(pairwise(cuts))


def _end_from(symbols: NDArray[np.uint32], at: int) -> int:
    while at < len(symbols):
        ends = np.flatnonzero(symbols[at : at + LOOK] == layout.END)
        if len(ends):
            return at + int(ends[0])
        at += LOOK
    return len(symbols)


def _sieve(
    source: Unindexed, parts: list[tuple[int, int]], spans: NDArray[np.uint32], threads: int
) -> NDArray[np.uint32]:
    """Return a counter for each hash of a pair, as large as the pair's count or larger; NO_SIEVE for a small table."""
    from subwords.kernels.named import sift_pairs

    tokens = int(np.count_nonzero(source.tokens.reshape(-1, layout.TOKEN.width)[:, layout.TOKEN.span]))
    small = len(source.words.symbols) < MANY_SYMBOLS or tokens < FEW_TOKENS
    if small or int(source.settings[layout.TRAIN.threshold]) <= 1:
        return NO_SIEVE
    room = _room_of_sieve(source)

    def sifted(part: tuple[int, int]) -> NDArray[np.uint32]:
        counters = zeros(room, np.uint32, random=True)
        sift_pairs(source.words, *part, spans, counters)
        return counters

    # 12 million symbols, 8,000 tokens to learn: 0.8 s with all pairs in the table.
    first, *others = in_threads(sifted, parts, threads)
    for other in others:
        first += np.minimum(other, layout.END - first)
    return first


def _room_of_sieve(source: Unindexed) -> int:
    """Return a number of counters such that few that only count rare pairs reach the threshold."""
    starts, weights = source.words.starts[:-1].astype(np.float64), source.words.weights.astype(np.float64)
    total = np.dot(np.diff(starts, append=len(source.words.symbols)), weights)
    # 13 million symbols, 2**18 times the threshold: 0.49 s with 2**20 counters, 0.52 with 2**19, 0.52 with 2**21.
    return min(MOST_SIEVE, 1 << int(2 * total / int(source.settings[layout.TRAIN.threshold])).bit_length())


def _counted(
    source: Unindexed,
    part: tuple[int, int],
    spans: NDArray[np.uint32],
    sieve: NDArray[np.uint32],
    numbers: NDArray[np.uint32],
) -> Table:
    """Return a table of the pairs of a part, without some that do not reach the threshold; sets its `numbers`."""
    from subwords.kernels.named import count_pairs

    table, counters = pair_table(FEW_PAIRS), np.zeros(layout.TALLY.width, np.int64)
    scratch = np.zeros(2 * AT_ONCE, np.uint64)
    counters[layout.TALLY.arena_at], stop = part
    words, rules, settings = source.words, source.rules, source.settings
    while (
        count_pairs(words, stop, table, spans, rules, sieve, numbers, scratch, settings, counters) == layout.NEED_PAIRS
    ):
        table = grown(table, counters)
    return table


def _sum(tables: list[Table]) -> Table:
    from subwords.kernels.named import add_pairs

    found, counters = pair_table(sum(live_in(table, 0) for table in tables)), np.zeros(layout.TALLY.width, np.int64)
    for table in tables:
        add_pairs(table, found, counters)
    return found


def grown(table: Table, counters: NDArray[np.int64]) -> Table:
    """Return a larger table of the same pairs."""
    from subwords.kernels.named import move_pairs

    larger = pair_table(len(table) // layout.PAIR.width)
    move_pairs(table, larger, 0, counters)
    return larger


def live_in(table: Table, threshold: int) -> int:
    """Return the number of pairs that reach the threshold."""
    rows = table.reshape(-1, layout.PAIR.width)
    return int(
        np.count_nonzero(
            (rows[:, layout.PAIR.key] != layout.NO_KEY) & (rows[:, layout.PAIR.count] >= np.uint64(threshold))
        )
    )


def pair_table(pairs: int) -> Table:
    """Return an empty table that is less than half full with this many pairs."""
    table = zeros((1 << (2 * pairs).bit_length()) * layout.PAIR.width, np.uint64, random=True)
    table[:] = layout.NO_KEY
    return table
