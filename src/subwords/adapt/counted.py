"""The counts that a change of a tokenizer is decided by: of words as this tokenizer splits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from subwords.corpus.counts import WordCounts
from subwords.errors import InputError
from subwords.tokenizer import Tokenizer
from subwords.training.count import count
from subwords.training.train import check_counts

if TYPE_CHECKING:
    from subwords.corpus.source import Source

__all__ = ["counts_for"]


def counts_for(
    tokenizer: Tokenizer,
    source: Source | WordCounts,
    *,
    threads: int | None = None,
    progress: bool | None = None,
    **reading: Any,
) -> WordCounts:
    """Return the counts of a corpus, or counts as they are; InputError for those of another splitter or normalizer.

    reading: as in `count`, for text.
    """
    rule, before = tokenizer.splitter, tokenizer.normalizer
    cut_out = tuple(token.content for token in tokenizer.spec.added_tokens)
    if isinstance(source, WordCounts):
        check_counts(source, rule, before, cut_out)
        counts = source
    else:
        counts = count(
            source,
            splitter=rule,
            normalizer=before,
            special_tokens=cut_out,
            threads=threads,
            progress=progress,
            **reading,
        )
    if not len(counts):
        raise InputError("no words in these counts: expected a corpus with text")
    return counts
