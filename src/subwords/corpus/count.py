"""Counts the words of blocks of text on several threads, with a result in one fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING

import numpy as np

from subwords.corpus.blocks import Block
from subwords.corpus.counts import WordCounts
from subwords.corpus.parts import parts_of
from subwords.corpus.provenance import Provenance
from subwords.corpus.specials import Part, Specials
from subwords.corpus.word_table import WordTable, words_of
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import Splitter
from subwords.support.threads import in_threads

if TYPE_CHECKING:
    from subwords.normalize.pipeline import Pipeline

__all__ = ["count_blocks", "provenance_of"]

CHUNK_WORDS = 1 << 18  # words split at once: fewer returns to Python mean less waiting for the GIL


def provenance_of(words: Splitter | Pipeline, special_tokens: Sequence[str]) -> Provenance:
    """Return the provenance of the words of a splitter, with or without a normalizer."""
    if isinstance(words, Splitter):
        return Provenance(words.identity, None, words.unicode_version, tuple(special_tokens))
    splitter = words.splitter
    return Provenance(splitter.identity, words.normalizer.identity, splitter.unicode_version, tuple(special_tokens))


def count_blocks(
    blocks: Iterable[Block], splitter: Splitter | Pipeline, *, special_tokens: Sequence[str] = (), threads: int = 1
) -> WordCounts:
    """Count the words of blocks of text; the result is independent of threads and block borders (W1, S4)."""
    provenance = provenance_of(splitter, special_tokens)
    specials = Specials(special_tokens)
    parts = parts_of(blocks, splitter.cut, specials)
    tables = [WordTable() for _ in range(threads)]
    unused, owned = (
        [(table, SplitBuffers(CHUNK_WORDS)) for table in tables],
        dict[int, tuple[WordTable, SplitBuffers]](),
    )

    def run(part: Part) -> None:
        # A table stores the offset of each word's first occurrence, so it needs its parts in the order of the corpus.
        # Each thread gets its parts in this order.
        owner = get_ident()
        if owner not in owned:
            owned[owner] = unused.pop()
        table, buffers = owned[owner]
        part = specials.remove(part)
        text, place = np.frombuffer(part.text, np.uint8), part.place * splitter.growth
        table.count(splitter.texts(text, part.bounds, buffers, begins=part.begins, ends=part.ends), place)

    in_threads(run, parts, threads)
    owned.clear()
    unused.clear()
    return WordCounts(*words_of(tables, threads), provenance)
