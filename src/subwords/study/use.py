"""Use: what tokenizers do on text, document by document as `evaluate` does, or on word counts (V1 to V4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.words import word_ids
from subwords.corpus.counts import WordCounts
from subwords.corpus.reading import Reading, reading_of
from subwords.errors import CorpusError, InputError
from subwords.study.bootstrap import Interval
from subwords.study.evaluate import Group, evaluation_of, settings_of, sums_of
from subwords.tokenizer import Tokenizer
from subwords.training.count import check_counts, counted, rules_like
from subwords.training.options import settings_of as settings_of_family
from subwords.training.train import rules_of

if TYPE_CHECKING:
    from subwords.corpus.source import Source

__all__ = ["Use", "counts_to_train", "over", "uses_of", "without_sample"]

# Options of `train` that are not settings of a model.
NO_SETTINGS = ("splitter", "normalizer", "template", "roles", "min_documents", "threads", "progress")
SETTINGS = settings_of(2.5, 0.95, 1000, 0, False, None)  # the defaults of `evaluate`


@dataclass(frozen=True, eq=False)
class Use:
    """What a tokenizer does on a corpus. ids: int64, how often each id of the vocabulary occurs.

    bytes: of the documents as given; None if word counts do not know it. Ratios are None where that or tokens are
    missing. Word counts have no documents, thus no interval and no groups, and no words as V2 defines them.
    """

    ids: NDArray[np.int64]
    vocabulary: int
    tokens: int
    bytes: int | None
    bytes_per_token: float | None
    unknown: float | None
    used: float
    interval: Interval | None = None
    tokens_per_word: float | None = None
    groups: tuple[Group, ...] = ()


def over(above: float | None, below: float | None) -> float | None:
    """Return a ratio; None if there is nothing to divide, or to divide by."""
    return None if above is None or not below else above / below


def uses_of(
    tokenizers: Sequence[Tokenizer],
    source: Source | WordCounts | Mapping[str, Source],
    *,
    reading: Reading | None,
    threads: int | None,
    progress: bool | None,
    trained_on: WordCounts | None = None,
) -> list[Use]:
    """Return the use of each tokenizer on text, or on counts made with the rules of all of them.

    reading: of text. trained_on: counts that the tokenizers were trained on; their words may be
    parts of those that the tokenizers cut, at places that no learned piece crosses. Raises InputError for counts made
    with other rules, CorpusError for a source without text.
    """
    if isinstance(source, WordCounts):
        if reading is not None:
            raise InputError("`reading` applies to text, but these are word counts: pass it to count")
        return [_of_counts(tok, source, threads, is_checked=source is trained_on) for tok in tokenizers]
    sums = sums_of(list(tokenizers), source, None, reading_of(reading), threads, progress)
    found = []
    for k, tok in enumerate(tokenizers):
        one = evaluation_of(tok, sums, k, SETTINGS)
        found.append(
            Use(
                ids=sums.counts[k],
                vocabulary=one.vocabulary,
                tokens=one.tokens,
                bytes=one.bytes,
                bytes_per_token=one.bytes_per_token,
                unknown=one.unknown,
                used=one.used,
                interval=one.intervals.get("bytes_per_token"),
                tokens_per_word=one.tokens_per_word,
                groups=one.groups if len(one.groups) > 1 else (),
            )
        )
    return found


def _of_counts(tokenizer: Tokenizer, counts: WordCounts, threads: int | None, *, is_checked: bool) -> Use:
    if not is_checked:
        check_counts(counts, rules_like(tokenizer))
    if not len(counts):
        raise CorpusError("no words in these counts: expected a corpus with text")
    model, batch = tokenizer.model, word_ids(tokenizer.model, counts, threads)
    size = len(model.vocab)
    each = np.repeat(counts.counts.astype(np.int64), np.diff(batch.offsets))
    found = np.zeros(size + 1, np.int64)  # one more: symbols that no token is for
    np.add.at(found, batch.ids, each)
    if found[size] and model.unknown == "error":
        raise InputError(
            f"{found[size]} symbols of these counts are not in the vocabulary, and the model has no unk token: "
            "measure on text with known characters, or train with unk_token"
        )
    ids = found[:size]
    vocabulary, tokens = int((np.diff(model.vocab.offsets) > 0).sum()), int(ids.sum())
    return Use(
        ids=ids,
        vocabulary=vocabulary,
        tokens=tokens,
        bytes=counts.text_bytes,
        bytes_per_token=over(counts.text_bytes, tokens),
        unknown=None if model.unk_id is None else over(int(ids[model.unk_id]), tokens),
        used=int((ids > 0).sum()) / vocabulary,
    )


def without_sample(reading: Reading | None) -> Reading | None:
    """Return a reading of all documents."""
    return None if reading is None else replace(reading, sample=None, sample_seed=None)


def counts_to_train(source: Source, algorithm: str, reading: Reading | None, options: dict[str, Any]) -> WordCounts:
    """Return the counts that `train` makes of a source. options: of `train`, without `reading`."""
    given = {name: value for name, value in options.items() if value is not None or name == "vocab_size"}
    model = {name: value for name, value in given.items() if name not in (*NO_SETTINGS, "memory")}
    rules = rules_of(
        algorithm,
        settings_of_family(algorithm, model),
        given.get("splitter", "auto"),
        given.get("normalizer", "auto"),
    )
    how = {name: given.get(name) for name in ("memory", "threads", "progress")}
    return counted(source, reading_of(reading), rules, document_frequencies="min_documents" in given, **how)
