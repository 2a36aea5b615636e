"""Counts the words of blocks of text on several threads, with a result in one fixed order; in bounded memory too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

import numpy as np

from subwords.corpus.blocks import Block
from subwords.corpus.counts import WordCounts
from subwords.corpus.document_table import DocumentTable
from subwords.corpus.parts import cut_blocks
from subwords.corpus.provenance import Provenance
from subwords.corpus.specials import CorpusPart, Specials
from subwords.corpus.word_table import WordTable, words_of
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import SplitterEngine
from subwords.support.threads import in_threads

if TYPE_CHECKING:
    from subwords.corpus.runs import Runs
    from subwords.normalize.pipeline import Pipeline

__all__ = ["count_blocks", "count_blocks_to", "provenance_of", "save_tables"]

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
        tables = [WordTable() for _ in range(threads)]
        size = _fill(tables, blocks, splitter, special_tokens)
        return WordCounts(*words_of(tables, threads), provenance, text_bytes=size)
    marked = [DocumentTable() for _ in range(threads)]
    size = _fill(marked, blocks, splitter, special_tokens)
    documents = words_of([table.as_counts() for table in marked], threads).counts
    return WordCounts(*words_of(marked, threads), provenance, documents, size)


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
    from subwords.corpus.runs import Runs

    with Runs() as runs:
        tables = [WordTable(int(room * FOR_TABLES) // threads, runs.take) for _ in range(threads)]
        size = _fill(tables, blocks, splitter, special_tokens)
        provenance = provenance_of(splitter, special_tokens)
        return save_tables(tables, runs, path, provenance, size, threads=threads, room=room)


def save_tables(
    tables: list[WordTable],
    runs: Runs,
    path: Path,
    provenance: Provenance,
    text_bytes: int | None,
    *,
    threads: int,
    room: int,
) -> int:
    """Save the words of runs and tables as one file, and empty the list; return the number of distinct words."""
    if not len(runs) and sum(table.size for table in tables) * IN_ORDER <= room:
        counts = WordCounts(*words_of(tables, threads), provenance, text_bytes=text_bytes)
        counts.save(path)
        return len(counts)
    while tables:
        runs.take(tables.pop())
    return runs.save(path, provenance, text_bytes, threads=threads, room=room)


def _fill(
    tables: Sequence[WordTable],
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
        dict[int, tuple[WordTable, SplitBuffers]](),
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
