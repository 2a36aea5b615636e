"""The hash table of distinct words that the counting kernels fill."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import CountTable
from subwords.split.routes import WordChunk
from subwords.support.memory import zeros
from subwords.support.threads import check_stopped, in_threads
from subwords.support.value import frozen

FIRST_SLOTS = 1 << 12
FIRST_ARENA = 1 << 16
PART = 1 << 15  # slots; smaller tables are not shared between threads

_SEEDS = [secrets.randbits(64) | 1 for _ in range(layout.SEEDS)]


class CountedWords(NamedTuple):
    """Distinct words: word i is data[offsets[i]:offsets[i + 1]] and occurs counts[i] times."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.uint64]


class CountingTable:
    """Distinct words with their counts and first positions; grows as needed. Not thread-safe.

    most: bytes; before the table needs more, it is given to `when_full`, which takes its words out.
    """

    def __init__(self, most: int | None = None, when_full: Callable[[CountingTable], None] | None = None) -> None:
        self._most, self._when_full = most, when_full
        self.slots = zeros(layout.SLOT.width * FIRST_SLOTS, np.uint64, random=True)
        self.arena = np.empty(FIRST_ARENA, np.uint8)
        self.seeds = np.array([*_SEEDS, *layout.KEY_MASKS], np.uint64)
        self.keys = np.empty(layout.KEYS, np.uint64)
        self.counters = np.zeros(layout.COUNTER.width, np.int64)

    @property
    def arrays(self) -> CountTable:
        """The arrays of the table for the kernels."""
        return CountTable(self.slots, self.seeds, self.arena, self.keys, self.counters)

    def count(self, chunks: Iterable[WordChunk], place: int) -> None:
        """Count the words of chunks; `place` is the offset of the first chunk in the corpus."""
        for chunk in chunks:
            place += self.count_chunk(chunk, place)
            check_stopped()

    def count_chunk(self, chunk: WordChunk, place: int) -> int:
        """Count the words of a chunk at this offset; return their bytes."""
        from subwords.kernels.named import count_words

        self.counters[layout.COUNTER.next_word] = 0
        words = int(chunk.text_ends[-1])
        size = int(chunk.ends[words - 1]) if words else 0
        while (status := count_words(chunk.text, chunk.base, chunk.ends, words, place, self.arrays)) != layout.DONE:
            self._grow(status, size)
        return size

    def add(self, words: CountedWords, place: int) -> None:
        """Add counted words; `place` is the position of the first word."""
        self.add_placed(words, np.arange(place, place + len(words.counts), dtype=np.int64))

    def add_placed(self, words: CountedWords, places: NDArray[np.int64]) -> None:
        """Add counted words with their positions."""
        from subwords.kernels.named import add_words

        self.counters[layout.COUNTER.next_word] = 0
        ends = words.offsets[1:]
        arrays = [np.ascontiguousarray(array).view(np.ndarray) for array in (words.data, ends, words.counts, places)]
        for array in arrays:
            array.flags.writeable = False
        while (status := add_words(*arrays, self.arrays)) != layout.DONE:
            at = int(self.counters[layout.COUNTER.next_word])
            self._grow(status, int(words.offsets[at + 1] - words.offsets[at]))

    def words(self) -> CountedWords:
        """Return the words in the order of their first positions."""
        return collect_words([self], 1)

    def parts(self, threads: int) -> list[_SlotRange]:
        """Return its slots as parts, one for each thread."""
        size = len(self.slots) // layout.SLOT.width
        parts = threads if size >= PART else 1
        edges = [size * k // parts for k in range(parts + 1)]
        return [_SlotRange(self, first, last) for first, last in pairwise(edges)]

    @property
    def size(self) -> int:
        """The bytes of its arrays."""
        return self.slots.nbytes + self.arena.nbytes

    def clear(self) -> None:
        """Remove all words; keep the memory."""
        self.slots.fill(0)
        self.counters[[layout.COUNTER.slots_used, layout.COUNTER.bytes_used]] = 0

    def _grow(self, status: int, length: int) -> None:
        from subwords.kernels.named import rehash

        # While it grows, the old array is there as well.
        after = self.size + 2 * (self.slots.nbytes if status == layout.NEED_SLOTS else self.arena.nbytes + length)
        if (
            self._when_full
            and self._most is not None
            and after > self._most
            and self.counters[layout.COUNTER.slots_used]
        ):
            self._when_full(self)
            self.clear()
            return
        if status == layout.NEED_SLOTS:
            slots = zeros(2 * len(self.slots), np.uint64, random=True)
            rehash(self.slots, slots, self.seeds)
            self.slots = slots
        else:
            arena = zeros(2 * len(self.arena) + length + 64, np.uint8, random=True)  # lines: -15 % of the time
            arena[: self.counters[layout.COUNTER.bytes_used]] = self.arena[: self.counters[layout.COUNTER.bytes_used]]
            self.arena = arena


class _SlotRange(NamedTuple):
    """Some slots of a table."""

    table: CountingTable
    first: int
    last: int


def collect_words(tables: Sequence[CountingTable], threads: int) -> CountedWords:
    """Return the words of all tables in the order of their first positions; the tables cannot be used afterwards."""
    return placed_words_of(tables, threads)[0]


def placed_words_of(tables: Sequence[CountingTable], threads: int) -> tuple[CountedWords, NDArray[np.uint64]]:
    """Return the same words, and their first positions."""
    from subwords.kernels.named import measure_words, number_of_words, write_words

    tables = sorted(tables, key=lambda table: int(table.counters[layout.COUNTER.slots_used]), reverse=True)
    tables = [table for table in tables if table.counters[layout.COUNTER.slots_used]]
    for index, table in enumerate(tables):
        for known in tables[:index]:
            in_threads(_give_to(known), table.parts(threads), threads)
    parts = [part for table in tables for part in table.parts(threads)]
    rows_before = list(accumulate((number_of_words(*_slots(part)) for part in parts), initial=0))
    rows = zeros(layout.WORD.width * rows_before[-1], np.uint64, random=True)
    placed = list(zip(parts, rows_before, strict=False))
    in_threads(lambda at: measure_words(*_slots(at[0]), rows, at[1]), placed, threads)
    offsets, counts, places = _in_order(rows, rows_before[-1])
    data = np.empty(int(offsets[-1]), np.uint8)
    in_threads(lambda at: write_words(*_slots(at[0]), rows, at[1], data), placed, threads)
    return CountedWords(frozen(data), frozen(offsets), frozen(counts)), places


def _give_to(known: CountingTable) -> Callable[[_SlotRange], int]:
    from subwords.kernels.named import give_words

    arrays = known.arrays
    return lambda part: give_words(*_slots(part), arrays)


def _slots(part: _SlotRange) -> tuple[CountTable, int, int]:
    return part.table.arrays, part.first, part.last


def _in_order(rows: NDArray[np.uint64], count: int) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Order the words by their first positions, and return their offsets, counts and positions."""
    from subwords.kernels.named import place_words, sort_rows

    entries, spare = (zeros(layout.SORT_ROW * count, np.uint64, random=True) for _ in range(2))
    bits = int(rows[layout.WORD.place :: layout.WORD.width].max(initial=0)).bit_length()
    if sort_rows(rows, count, bits, entries, spare, np.empty(1 << layout.DIGIT_BITS, np.int64)):
        entries = spare
    offsets, counts = np.empty(count + 1, np.int64), np.empty(count, np.uint64)
    place_words(rows, entries, offsets, counts)
    return offsets, counts, entries[:: layout.SORT_ROW]


# ---------------------------------------------------------------------------------------------------------------------
# A table of words that also counts the documents of each word (W6).


class DocumentTable(CountingTable):
    """Distinct words with their counts, and the number of documents that have them."""

    def __init__(self) -> None:
        super().__init__()
        self._marks, self._documents = self._marks_of(self.slots), 0

    def count_documents(self, chunks: Iterable[WordChunk], place: int, documents: NDArray[np.int64]) -> None:
        """Count the words of chunks of texts. documents: the number of the document that each text is of, ascending."""
        from subwords.kernels.named import mark_words

        documents, at = documents + self._documents, 0
        for chunk in chunks:
            place += self.count_chunk(chunk, place)
            of = documents[at : at + len(chunk.text_ends)]
            mark_words(chunk.text, chunk.base, chunk.ends, chunk.text_ends, of, self.arrays, self._marks)
            at += len(of) - (not chunk.complete)
            check_stopped()
        self._documents = int(documents[-1]) + 1 if len(documents) else self._documents

    def as_counts(self) -> CountingTable:
        """Return a table of the same words with the number of documents of each as its count."""
        table = CountingTable()
        table.slots, table.arena, table.counters = self.slots.copy(), self.arena.copy(), self.counters.copy()
        table.slots[layout.SLOT.value_low :: layout.SLOT.width] = self._marks[
            layout.MARK.documents :: layout.MARK.width
        ]
        return table

    def _grow(self, status: int, length: int) -> None:
        from subwords.kernels.named import move_marks

        before = self.slots
        super()._grow(status, length)
        if self.slots is not before:
            marks = self._marks_of(self.slots)
            move_marks(before, self._marks, self.slots, marks, self.seeds)
            self._marks = marks

    @staticmethod
    def _marks_of(slots: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return zeros(len(slots) // layout.SLOT.width * layout.MARK.width, np.uint64, random=True)
