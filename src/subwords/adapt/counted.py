"""The counts that a change of a tokenizer is decided by: of words as this tokenizer splits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subwords.corpus.counts import WordCounts
from subwords.corpus.reading import Reading
from subwords.support.errors import InputError
from subwords.tokenizer import Tokenizer
from subwords.training.count import counts_of, rules_like

if TYPE_CHECKING:
    from subwords.corpus.source import Source


def counts_for(
    tokenizer: Tokenizer,
    source: Source | WordCounts,
    *,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> WordCounts:
    """Return the counts of a corpus, or counts as they are; InputError for those of another splitter or normalizer."""
    counts = counts_of(source, rules_like(tokenizer), reading=reading, threads=threads, progress=progress)
    if not len(counts):
        raise InputError("no words in these counts: expected a corpus with text")
    return counts
