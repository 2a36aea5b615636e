"""explain_training: the steps of training on a small corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from subwords.corpus.counts import WordCounts
from subwords.corpus.source import Source, source_size
from subwords.errors import TrainingError
from subwords.families import family_named
from subwords.resolve import NormalizerLike, SplitterLike
from subwords.study.watch_unigram import watch_course
from subwords.study.watched import TrainingTrace
from subwords.support.checks import check_choice, check_integer
from subwords.training.count import counts_of
from subwords.training.options import settings_of
from subwords.training.train import rules_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from subwords.corpus.reading import Reading

__all__ = ["explain_training"]

MOST_BYTES, MOST_WORDS, MOST_LETTERS = 1 << 20, 1000, 10_000
Algorithm = Literal["bpe", "wordpiece", "unigram", "unigram-course"]


def explain_training(
    source: Source | WordCounts,
    *,
    algorithm: Algorithm = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    reading: Reading | None = None,
    limit: int = 1000,
    **options: Any,
) -> TrainingTrace:
    """Return the steps of training on a small corpus: words, splits, the score of every pair or piece, each choice.

    The result has the vocabulary and the merges of `subwords.train` with the same options. algorithm: also
    "unigram-course", Unigram as courses teach it: it starts from all substrings, scores them by their share of all
    counts, and removes those whose loss is smallest. other options: as in `subwords.train`. limit: more steps
    raise TrainingError. Raises TrainingError for more than 1,000 different words, 10,000 bytes in them or 1 MB of text.

    >>> import subwords
    >>> found = subwords.explain_training(["hugs hug pug"], vocab_size=7, alphabet="corpus")
    >>> print(found)
    bpe: 3 words, 6 first tokens, 7 at the end
      1 x 'hugs': 'h' 'u' 'g' 's'
      1 x ' hug': ' ' 'h' 'u' 'g'
      1 x ' pug': ' ' 'p' 'u' 'g'
    step 1: merge 'u' 'g' to 'ug': count 3
        then 'h' 'u': count 2
        then 'g' 's': count 1
        then ' ' 'h': count 1
        then ' ' 'p': count 1
        then 'p' 'u': count 1
      1 x 'hugs': 'h' 'ug' 's'
      1 x ' hug': ' ' 'h' 'ug'
      1 x ' pug': ' ' 'p' 'ug'
    >>> found.merges
    ((b'u', b'g'),)
    """
    check_choice("algorithm", algorithm, ("bpe", "wordpiece", "unigram", "unigram-course"))
    check_integer("limit", limit, 1, 1_000_000)
    family = family_named(algorithm.removesuffix("-course"))
    settings = settings_of(family.name, {**options, "vocab_size": vocab_size, "special_tokens": special_tokens})
    size = None if isinstance(source, WordCounts) else source_size(source)
    if size is not None and size > MOST_BYTES:
        raise TrainingError(f"expected at most {MOST_BYTES} bytes of text to explain training on, not {size}")
    rules = rules_of(family.name, settings, splitter, normalizer)
    counts = counts_of(source, rules, reading=reading, progress=False)
    if len(counts) > MOST_WORDS or len(counts.data) > MOST_LETTERS:
        raise TrainingError(
            f"expected at most {MOST_WORDS} different words of {MOST_LETTERS} bytes together to explain training on, "
            f"not {len(counts)} of {len(counts.data)}: pass a part of the corpus"
        )
    watch = watch_course if algorithm == "unigram-course" else family.tool("explain_training")
    found: TrainingTrace = watch(counts, settings, limit)
    return found
