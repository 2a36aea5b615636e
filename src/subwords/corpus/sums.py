"""Adds files of word counts, in bounded memory if asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from subwords.corpus.count import FOR_TABLES, save_tables
from subwords.corpus.counts import MOST, WordCounts, sum_of_bytes
from subwords.corpus.provenance import Provenance
from subwords.corpus.runs import Runs
from subwords.corpus.word_table import CountedWords, WordTable
from subwords.errors import CorpusError, InputError

__all__ = ["add_files"]

BLOCK = 1 << 16  # words added at once


def add_files(files: Sequence[Path], path: Path, *, threads: int, room: int | None = None) -> int:
    """Save the sum of files of counts at `path`; return the number of distinct words.

    The words are in the order of the files, as if all were counted together. room: bytes of memory, about; None for as
    much as it takes. InputError if the counts were made with different rules, or if their total is too large.
    """
    provenance: Provenance | None = None
    total = place = 0
    sizes = list[int | None]()
    with Runs() as runs:
        table = WordTable() if room is None else WordTable(int(room * FOR_TABLES), runs.take)
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
            if total > MOST:
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
