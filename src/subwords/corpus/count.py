"""Counts the words of blocks of text on several threads, with a result in one fixed order; in bounded memory too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Lock, get_ident
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from subwords.corpus.blocks import Block, CorpusPart, Specials, cut_blocks
from subwords.corpus.counts import MOST_COUNTED, Provenance, WordCounts, header_of, starts_of, sum_of_bytes
from subwords.corpus.word_table import CountedWords, CountingTable, DocumentTable, collect_words, placed_words_of
from subwords.kernels import layout
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import SplitterEngine
from subwords.support.errors import CorpusError, InputError
from subwords.support.files import atomic_write
from subwords.support.threads import in_threads

if TYPE_CHECKING:
    from subwords.normalize.normalizer import Pipeline


FOR_TABLES = 0.7  # of the room; text, words and buffers take the rest
IN_ORDER = 3  # tables and their words in order take this many times the memory of the tables
CHUNK_WORDS = 1 << 18  # words split at once: fewer returns to Python mean less waiting for the GIL


def provenance_of(words: SplitterEngine | Pipeline, special_tokens: Sequence[str]) -> Provenance:
    """Return the provenance of the words of a splitter, with or without a normalizer."""
    if isinstance(words, SplitterEngine):
        return Provenance(words.identity, None, words.unicode_version, tuple(special_tokens))
    splitter = words.splitter
    return Provenance(splitter.identity, words.normalizer.identity, splitter.unicode_version, tuple(special_tokens))


def count_blocks(
    blocks: Iterable[Block],
    splitter: SplitterEngine | Pipeline,
    *,
    special_tokens: Sequence[str] = (),
    document_frequencies: bool = False,
    threads: int = 1,
) -> WordCounts:
    """Count the words of blocks of text; the result is independent of threads and block borders (W1, S4)."""
    provenance = provenance_of(splitter, special_tokens)
    if not document_frequencies:
        tables = [CountingTable() for _ in range(threads)]
        size = _fill(tables, blocks, splitter, special_tokens)
        return WordCounts(*collect_words(tables, threads), provenance, text_bytes=size)
    marked = [DocumentTable() for _ in range(threads)]
    size = _fill(marked, blocks, splitter, special_tokens)
    documents = collect_words([table.as_counts() for table in marked], threads).counts
    return WordCounts(*collect_words(marked, threads), provenance, documents, size)


def count_blocks_to(
    path: Path,
    blocks: Iterable[Block],
    splitter: SplitterEngine | Pipeline,
    *,
    special_tokens: Sequence[str] = (),
    threads: int = 1,
    room: int,
) -> int:
    """Save the same counts at `path`, in about `room` bytes of memory; return the number of distinct words."""

    with SpilledWords() as runs:
        tables = [CountingTable(int(room * FOR_TABLES) // threads, runs.take) for _ in range(threads)]
        size = _fill(tables, blocks, splitter, special_tokens)
        provenance = provenance_of(splitter, special_tokens)
        return save_tables(tables, runs, path, provenance, size, threads=threads, room=room)


def save_tables(
    tables: list[CountingTable],
    runs: SpilledWords,
    path: Path,
    provenance: Provenance,
    text_bytes: int | None,
    *,
    threads: int,
    room: int,
) -> int:
    """Save the words of runs and tables as one file, and empty the list; return the number of distinct words."""
    if not len(runs) and sum(table.size for table in tables) * IN_ORDER <= room:
        counts = WordCounts(*collect_words(tables, threads), provenance, text_bytes=text_bytes)
        counts.save(path)
        return len(counts)
    while tables:
        runs.take(tables.pop())
    return runs.save(path, provenance, text_bytes, threads=threads, room=room)


def _fill(
    tables: Sequence[CountingTable],
    blocks: Iterable[Block],
    splitter: SplitterEngine | Pipeline,
    special_tokens: Sequence[str],
) -> int:
    """Count the words of blocks, each thread in its own table; return the bytes of the text that has them."""
    specials = Specials(special_tokens)
    # A table that counts documents needs each of them whole.
    cut = None if isinstance(tables[0], DocumentTable) else splitter.cut
    parts = cut_blocks(blocks, cut, specials, context=splitter.context)
    unused, owned = (
        [(table, SplitBuffers(CHUNK_WORDS)) for table in tables],
        dict[int, tuple[CountingTable, SplitBuffers]](),
    )

    def run(part: CorpusPart) -> int:
        # A table stores the offset of each word's first occurrence, so it needs its parts in the order of the corpus.
        # Each thread gets its parts in this order.
        owner = get_ident()
        if owner not in owned:
            owned[owner] = unused.pop()
        table, buffers = owned[owner]
        part = specials.remove(part)
        text, place = np.frombuffer(part.text, np.uint8), part.place * splitter.growth
        chunks = splitter.texts(text, part.bounds, buffers, begins=part.begins, ends=part.ends)
        if isinstance(table, DocumentTable):
            each = np.arange(len(part.bounds) - 1) if part.documents is None else part.documents
            table.count_documents(chunks, place, each)
        else:
            table.count(chunks, place)
        return len(part.text)

    return sum(in_threads(run, parts, len(tables)))


# ---------------------------------------------------------------------------------------------------------------------
# A temporary file of arrays, which several threads write and read.


class SpillFile:
    """A file that is deleted with the object, even if the process is killed (not on Windows)."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="subwords-", buffering=0)  # noqa: SIM115
        self._lock, self._end = Lock(), 0

    def append(self, *arrays: NDArray[Any]) -> int:
        """Write arrays one after the other; return where the first one begins. CorpusError if the disk is full."""
        with self._lock:
            begin = self._end
            try:
                self._file.seek(begin)
                for array in arrays:
                    rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                    while True:
                        if not rest:
                            break
                        rest = rest[self._file.write(rest) :]
            except OSError as error:
                folder = tempfile.gettempdir()
                raise CorpusError(
                    f"cannot write words that do not fit in memory to {folder}: {error.strerror}; free some space, or "
                    "set TMPDIR to another folder"
                ) from None
            self._end = self._file.tell()
            return begin

    def read(self, at: int, dtype: DTypeLike, count: int) -> NDArray[Any]:
        """Return the array that begins at this byte."""
        found = np.empty(count, dtype)
        rest = found.view(np.uint8).data
        with self._lock:
            self._file.seek(at)
            while True:
                if not rest:
                    return found
                size = self._file.readinto(rest)  # type: ignore[attr-defined]
                if not size:
                    raise CorpusError("a temporary file of words is shorter than what was written to it")
                rest = rest[size:]

    def __enter__(self) -> SpillFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


# ---------------------------------------------------------------------------------------------------------------------
# Counting in bounded memory: full tables go to disk, and their words come back as one file of counts.
#
# 1. `Runs.take` writes the words of a table as a run, grouped in SHARES by a hash: a word is in one share of every run.
# 2. `Runs.save` adds up one share after the other, each in its own table, and writes it back ordered by position.
# 3. It cuts the ordered shares at the same positions into windows of few words, and writes the words of each window, in
#    their final order, to their final place.
#
# So neither the words of the corpus nor those of the result are ever in memory together. The file equals that of
# `WordCounts.save`, byte for byte.

SHARES = 256  # as share_words says
CHUNK = 1 << 17  # slots that are written at once
STEP = 512  # words between two samples of an ordered share
WORD_MEMORY = 256  # bytes that a word of a window takes, at the most, while the window is put in order
LEAST_WINDOW, MOST_WINDOW = 1 << 14, 1 << 20  # words


class _Chunk(NamedTuple):
    """Where the words of some slots are: count, position and length of each, then their bytes; both by share."""

    at: int
    words: NDArray[np.uint32]  # words of the shares before, SHARES + 1
    bytes: NDArray[np.uint32]  # and their bytes


class _Share(NamedTuple):
    """Where the words of a share are, in the order of their positions: positions, counts, offsets, bytes."""

    at: int
    words: int
    samples: NDArray[np.uint64]  # the positions of every STEP-th word


class SpilledWords:
    """Words of full tables on disk. Threads may give tables at the same time. Close it, or use it in `with`."""

    def __init__(self) -> None:
        self._spilled, self._ordered = SpillFile(), SpillFile()
        self._chunks: list[_Chunk] = []
        self._lock = Lock()

    def __enter__(self) -> SpilledWords:
        return self

    def __exit__(self, *error: object) -> None:
        self._spilled.__exit__(None, None, None)
        self._ordered.__exit__(None, None, None)

    def __len__(self) -> int:
        return len(self._chunks)

    def take(self, table: CountingTable) -> None:
        """Write all words of a table; the table does not change."""
        slots = len(table.slots) // layout.SLOT.width
        for first in range(0, slots, CHUNK):
            chunk = self._written(table, first, min(first + CHUNK, slots))
            with self._lock:
                self._chunks.append(chunk)

    def save(self, path: Path, provenance: Provenance, text_bytes: int | None, *, threads: int, room: int) -> int:
        """Write the file of counts; return the number of words. room: bytes of memory, about."""
        shares = in_threads(lambda share: self._in_order(share), range(SHARES), threads)
        words = sum(share.words for share in shares)
        size = sum(int(self._offsets(share, share.words, 1)[0]) for share in shares)
        window = min(max(room // threads // WORD_MEMORY, LEAST_WINDOW), MOST_WINDOW)
        cuts = self._cuts(shares, window)
        header = header_of(provenance, words, size, text_bytes)
        lock = Lock()
        with atomic_write(path) as file:
            file.write(header)
            starts = starts_of(len(header), words)
            file.seek(starts[1])
            file.write(bytes(8))  # the first offset
            write = _Writer(file, lock, starts)
            in_threads(lambda ends: self._write_window(shares, *ends, write), pairwise(cuts), threads)
            file.seek(0, 2)
        return words

    def _written(self, table: CountingTable, first: int, last: int) -> _Chunk:
        """Write the words of some slots."""
        from subwords.kernels.named import measure_words, number_of_words, share_words, write_words

        slots = (table.arrays, first, last)
        count = number_of_words(*slots)
        rows, shares = np.empty(layout.WORD.width * count, np.uint64), np.empty(count, np.uint8)
        measure_words(*slots, rows, 0)
        share_words(*slots, shares)
        order = np.argsort(shares, kind="stable")
        numbers = rows.reshape(-1, layout.WORD.width)[order]
        ends = np.cumsum(numbers[:, layout.WORD.length])
        rows.reshape(-1, layout.WORD.width)[order, layout.WORD.start] = ends - numbers[:, layout.WORD.length]
        data = np.empty(int(ends[-1]) if count else 0, np.uint8)
        write_words(*slots, rows, 0, data)
        before = np.searchsorted(shares[order], np.arange(SHARES + 1))
        sizes = np.concatenate([np.zeros(1, np.uint64), ends])[before]
        at = self._spilled.append(numbers[:, [layout.WORD.count, layout.WORD.place, layout.WORD.length]], data)
        return _Chunk(at, before.astype(np.uint32), sizes.astype(np.uint32))

    def _in_order(self, share: int) -> _Share:
        """Add up the words of a share, and write them in the order of their positions."""
        table = CountingTable()
        for chunk in self._chunks:
            (first, last), (begin, end) = (ends[share : share + 2].tolist() for ends in (chunk.words, chunk.bytes))
            if first == last:
                continue
            numbers = self._spilled.read(chunk.at + 24 * first, np.uint64, 3 * (last - first)).reshape(-1, 3)
            data = self._spilled.read(chunk.at + 24 * int(chunk.words[-1]) + begin, np.uint8, end - begin)
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers[:, 2]).astype(np.int64)])
            table.add_placed(CountedWords(data, offsets, numbers[:, 0]), numbers[:, 1].astype(np.int64))
        words, places = placed_words_of([table], 1)
        places = np.ascontiguousarray(places[: len(words.counts)])
        at = self._ordered.append(places, words.counts, words.offsets, words.data)
        return _Share(at, len(places), places[::STEP].copy())

    def _offsets(self, share: _Share, first: int, count: int) -> NDArray[np.int64]:
        return self._ordered.read(share.at + 16 * share.words + 8 * first, np.int64, count)

    def _cuts(self, shares: list[_Share], window: int) -> list[NDArray[np.int64]]:
        """Return where to cut the shares: for each cut, the number of each share's words before one position.

        Between two cuts are at most `window` words, or a few more for each share.
        """
        samples = np.sort(np.concatenate([share.samples for share in shares]))
        step = max(1, window // STEP)
        return [
            np.zeros(SHARES, np.int64),
            *(np.array([self._before(share, int(at)) for share in shares]) for at in samples[step::step]),
            np.array([share.words for share in shares]),
        ]

    def _before(self, share: _Share, position: int) -> int:
        """Return how many words of a share come before a position."""
        block = max(0, int(np.searchsorted(share.samples, np.uint64(position))) - 1) * STEP
        places = self._ordered.read(share.at + 8 * block, np.uint64, min(STEP, share.words - block))
        return block + int(np.searchsorted(places, np.uint64(position)))

    def _write_window(
        self, shares: list[_Share], firsts: NDArray[np.int64], lasts: NDArray[np.int64], write: _Writer
    ) -> None:
        """Write the words between two cuts."""
        table, begin = CountingTable(), 0
        for share, first, last in zip(shares, firsts.tolist(), lasts.tolist(), strict=True):
            offsets = self._offsets(share, first, last - first + 1)
            begin += int(offsets[0])
            if first == last:
                continue
            places = self._ordered.read(share.at + 8 * first, np.int64, last - first)
            counts = self._ordered.read(share.at + 8 * (share.words + first), np.uint64, last - first)
            data = share.at + 8 * (3 * share.words + 1)
            spelled = self._ordered.read(data + int(offsets[0]), np.uint8, int(offsets[-1] - offsets[0]))
            table.add_placed(CountedWords(spelled, offsets - offsets[0], counts), places)
        write(table.words(), int(firsts.sum()), begin)


class _Writer:
    """Writes words to their places in a file of counts."""

    def __init__(self, file: IO[bytes], lock: Lock, starts: tuple[int, int, int]) -> None:
        self._file, self._lock, self._starts = file, lock, starts

    def __call__(self, words: CountedWords, first: int, begin: int) -> None:
        """Write words; first: the number of words before them. begin: the number of bytes before them."""
        counts, offsets, data = self._starts
        parts = (
            (counts + 8 * first, words.counts),
            (offsets + 8 * (first + 1), words.offsets[1:] + begin),
            (data + begin, words.data),
        )
        with self._lock:
            for at, array in parts:
                self._file.seek(at)
                self._file.write(array.data)


# ---------------------------------------------------------------------------------------------------------------------
# Adds files of word counts, in bounded memory if asked.

BLOCK = 1 << 16  # words added at once


def add_files(files: Sequence[Path], path: Path, *, threads: int, room: int | None = None) -> int:
    """Save the sum of files of counts at `path`; return the number of distinct words.

    The words are in the order of the files, as if all were counted together. room: bytes of memory, about; None for as
    much as it takes. InputError if the counts were made with different rules, or if their total is too large.
    """
    provenance: Provenance | None = None
    total = place = 0
    sizes = list[int | None]()
    with SpilledWords() as runs:
        table = CountingTable() if room is None else CountingTable(int(room * FOR_TABLES), runs.take)
        for file in files:
            counts = WordCounts.load(file)
            sizes.append(counts.text_bytes)
            if not len(counts):
                continue
            provenance = provenance or counts.provenance
            try:
                counts.check(provenance)
            except InputError as error:
                raise InputError(f"{file}: {error}") from None
            total += counts.total
            if total > MOST_COUNTED:
                raise InputError(f"{file}: too many words: expected a total below 2**63, not {total}")
            for first in range(0, len(counts), BLOCK):
                offsets = counts.offsets[first : first + BLOCK + 1]
                words = counts.data[offsets[0] : offsets[-1]]
                table.add(CountedWords(words, offsets - offsets[0], counts.counts[first : first + BLOCK]), place)
                place += len(offsets) - 1
        if provenance is None:
            raise CorpusError("no text to count: every document is empty")
        most = room if room is not None else 1 << 62
        return save_tables([table], runs, path, provenance, sum_of_bytes(sizes), threads=threads, room=most)
