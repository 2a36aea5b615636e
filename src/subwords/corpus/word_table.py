"""The hash table of distinct words that the counting kernels fill."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import (
    BYTES_USED,
    COUNTERS,
    DONE,
    KEYS,
    NEED_SLOTS,
    NEXT_WORD,
    SEEDS,
    SLOT_ROW,
    SLOTS_USED,
    CountTable,
)
from subwords.split.routes import WordChunk
from subwords.support.memory import zeros
from subwords.support.threads import check_stopped

__all__ = ["CountedWords", "WordTable"]

FIRST_SLOTS = 1 << 12
FIRST_ARENA = 1 << 16
SWEEPS = 8

_SEEDS = [secrets.randbits(64) | 1 for _ in range(SEEDS)]


class CountedWords(NamedTuple):
    """Distinct words: word i is data[offsets[i]:offsets[i + 1]] and occurs counts[i] times."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.uint64]


class WordTable:
    """Distinct words with their counts and first positions; grows as needed. Not thread-safe."""

    def __init__(self) -> None:
        from subwords.kernels.table.keys import key_masks

        self.slots = zeros(SLOT_ROW * FIRST_SLOTS, np.uint64, random=True)
        self.arena = np.empty(FIRST_ARENA, np.uint8)
        self.seeds = np.concatenate([np.array(_SEEDS, np.uint64), key_masks()])
        self.keys = np.empty(KEYS, np.uint64)
        self.counters = np.zeros(COUNTERS, np.int64)

    @property
    def arrays(self) -> CountTable:
        """The arrays of the table for the kernels."""
        return CountTable(self.slots, self.seeds, self.arena, self.keys, self.counters)

    def count(self, chunks: Iterable[WordChunk], place: int) -> None:
        """Count the words of chunks; `place` is the offset of the first chunk in the corpus."""
        from subwords.kernels.table.count import count_words

        for chunk in chunks:
            self.counters[NEXT_WORD] = 0
            words = int(chunk.text_ends[-1])
            size = int(chunk.ends[words - 1]) if words else 0
            while (status := count_words(chunk.text, chunk.base, chunk.ends, words, place, self.arrays)) != DONE:
                self._grow(status, size)
            place += size
            check_stopped()

    def add(self, words: CountedWords, place: int) -> None:
        """Add counted words; `place` is the position of the first word."""
        places = np.arange(place, place + len(words.counts), dtype=np.int64)
        self._add(words.data, words.offsets[1:], words.counts, places)

    @classmethod
    def joined(cls, tables: list[WordTable]) -> WordTable:
        """Return the union of tables, each word at its first position; empties the list to free the tables."""
        tables.sort(key=lambda table: int(table.counters[SLOTS_USED]))
        total = tables.pop()
        while tables:
            total._merge(tables.pop())
        return total

    def _merge(self, other: WordTable) -> None:
        lengths, weights, places = other._measure()
        # Several sweeps with a stride: the other table has the same hash, so in its order the front of this table would
        # fill up first, and searches there would become linear. Four million distinct words took over a minute.
        order = np.concatenate([np.arange(first, len(lengths), SWEEPS) for first in range(SWEEPS)])
        ends = np.cumsum(lengths[order])
        starts = np.empty(len(order), np.int64)
        starts[order] = ends - lengths[order]
        data = np.empty(int(lengths.sum()), np.uint8)
        other._write(starts, data)
        self._add(data, ends, weights[order], places[order])

    def words(self) -> CountedWords:
        """Return the words in the order of their first positions."""
        lengths, weights, places = self._measure()
        order = np.argsort(places)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[order])])
        starts = np.empty(len(order), np.int64)
        starts[order] = offsets[:-1]
        data = np.empty(int(offsets[-1]), np.uint8)
        self._write(starts, data)
        return CountedWords(data, offsets, weights[order])

    def _add(
        self, data: NDArray[np.uint8], ends: NDArray[np.int64], weights: NDArray[np.uint64], places: NDArray[np.int64]
    ) -> None:
        from subwords.kernels.table.count import add_words

        self.counters[NEXT_WORD] = 0
        arrays = [np.ascontiguousarray(array).view(np.ndarray) for array in (data, ends, weights, places)]
        for array in arrays:
            array.flags.writeable = False
        while (status := add_words(*arrays, self.arrays)) != DONE:
            at = int(self.counters[NEXT_WORD])
            self._grow(status, int(ends[at] - (ends[at - 1] if at else 0)))

    def _grow(self, status: int, length: int) -> None:
        from subwords.kernels.table.keys import rehash

        if status == NEED_SLOTS:
            slots = zeros(2 * len(self.slots), np.uint64, random=True)
            rehash(self.slots, slots, self.seeds)
            self.slots = slots
        else:
            arena = zeros(2 * len(self.arena) + length + 64, np.uint8)
            arena[: self.counters[BYTES_USED]] = self.arena[: self.counters[BYTES_USED]]
            self.arena = arena

    def _measure(self) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
        from subwords.kernels.table.count import measure_words

        n = int(self.counters[SLOTS_USED])
        lengths, weights, places = np.empty(n, np.int64), np.empty(n, np.uint64), np.empty(n, np.int64)
        measure_words(self.arrays, lengths, weights, places)
        return lengths, weights, places

    def _write(self, starts: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        from subwords.kernels.table.count import write_words

        write_words(self.arrays, starts, data)
