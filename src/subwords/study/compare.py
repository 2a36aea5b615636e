"""compare: several tokenizers on one corpus: paired differences, and the words they split differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from subwords.corpus.reading import Reading
from subwords.errors import InputError
from subwords.study import tables
from subwords.study.bootstrap import Interval, Resampled
from subwords.study.evaluate import Evaluation, evaluation_of, settings_of, sums_of
from subwords.support.checks import as_list, check_integer, check_string
from subwords.tokenizer import Tokenizer, tokenizer_of
from subwords.training.count import count

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.tokenizer import TokenizerLike

__all__ = ["Comparison", "Disagreement", "compare"]

COLUMNS = ("tokenizer", "vocabulary", "tokens", "bytes per token", "interval", "tokens, relative", "interval")
WORD_COLUMNS = ("word", "count")
MOST_WORDS = 1 << 16  # frequent words that are compared


@dataclass(frozen=True)
class Disagreement:
    """A word that two tokenizers split at different places: its count, and the tokens that each gives."""

    word: str
    count: int
    tokens: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Comparison:
    """What `compare` measured.

    relative: the tokens of each, divided by those of the first. disagreeing: the share of words that some split
    differently.
    """

    names: tuple[str, ...]
    evaluations: tuple[Evaluation, ...]
    relative: tuple[float | None, ...]
    relative_intervals: tuple[Interval | None, ...]
    disagreements: tuple[Disagreement, ...]
    disagreeing: float

    def to_dict(self) -> dict[str, Any]:
        """Return all values as dicts, lists, strings and numbers, for JSON."""
        return {
            "names": list(self.names),
            "evaluations": [one.to_dict() for one in self.evaluations],
            "relative": list(self.relative),
            "relative_intervals": [None if one is None else list(one) for one in self.relative_intervals],
            "disagreeing": self.disagreeing,
            "disagreements": [asdict(one) for one in self.disagreements],
        }

    def rows(self) -> list[tuple[object, ...]]:
        """Return the values of each tokenizer, in the order of COLUMNS."""
        return [
            (name, one.vocabulary, one.tokens, one.bytes_per_token, one.intervals.get("bytes_per_token"), *rest)
            for name, one, *rest in zip(
                self.names, self.evaluations, self.relative, self.relative_intervals, strict=True
            )
        ]

    def to_markdown(self) -> str:
        """Return the tokenizers, and the words that they split differently, as tables in Markdown."""
        words = [
            (repr(one.word), one.count, *(" ".join(map(repr, tokens)) for tokens in one.tokens))
            for one in self.disagreements
        ]
        found = tables.markdown(COLUMNS, self.rows())
        return found if not words else f"{found}\n\n{tables.markdown((*WORD_COLUMNS, *self.names), words)}"

    def to_latex(self) -> str:
        """Return the tokenizers as a table in LaTeX."""
        return tables.latex(COLUMNS, self.rows())

    def to_frame(self) -> Any:
        """Return the tokenizers as a pandas DataFrame."""
        return tables.frame(COLUMNS, self.rows())

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return tables.html(COLUMNS, self.rows())


def compare(
    tokenizers: Sequence[TokenizerLike],
    corpus: Source | Mapping[str, Source],
    *,
    names: Sequence[str] | None = None,
    words: int = 20,
    by: str | None = None,
    parallel: bool = False,
    reference: str | None = None,
    alpha: float = 2.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    documents: Literal["file", "line"] = "file",
    separator: str | None = None,
    text_column: str = "text",
    max_document_bytes: int | None = None,
    errors: Literal["strict", "replace", "skip"] = "strict",
    threads: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Return how tokenizers differ on a corpus: paired differences, and frequent words that they split differently.

    The same resampled documents are used for all of them, so an interval of `relative` that does not contain 1 is a
    difference that other documents of this kind would show too. names: of the tokenizers, in tables; by default, the
    paths or names that were given, or numbers. words: how many disagreeing words to list; a word is text between
    spaces, with the space before it. The others are as in `evaluate`.

    >>> import subwords
    >>> one, two = (subwords.train(["low lower lowest"] * 9, vocab_size=size) for size in (258, 262))
    >>> found = subwords.compare([one, two], ["low lowest", "lower"])
    >>> found.relative[1] < 1, found.disagreements[0].word
    (True, ' lowest')
    """
    if isinstance(tokenizers, str | Path | Tokenizer):
        raise InputError(f"expected a list of two or more tokenizers to compare, not {type(tokenizers).__name__}")
    given = as_list(tokenizers, "tokenizers")
    if len(given) < 2:
        raise InputError(f"expected two or more tokenizers to compare, not {len(given)}")
    toks = [tokenizer_of(one, f"tokenizers[{k}]") for k, one in enumerate(given)]
    labels = [_label(k, one) for k, one in enumerate(given)] if names is None else _listed(names)
    for label in labels:
        check_string("a name", label)
    if len(labels) != len(toks):
        raise InputError(f"expected a name for each of {len(toks)} tokenizers, not {len(labels)}")
    check_integer("words", words, 0, MOST_WORDS)
    settings = settings_of(alpha, confidence, resamples, seed, parallel, reference)
    how: Any = {"documents": documents, "separator": separator, "text_column": text_column}
    how |= {"max_document_bytes": max_document_bytes, "errors": errors}
    sums = sums_of(toks, corpus, by, Reading(**how), threads, progress)
    found = [evaluation_of(tok, sums, k, settings) for k, tok in enumerate(toks)]
    resampled = Resampled([*sums.tokens], resamples=resamples, seed=seed)
    base = found[0].tokens
    relative = [one.tokens / base if base else None for one in found]
    intervals = [
        None if k == 0 else resampled.interval(lambda rows, k=k: rows[:, k] / rows[:, 0], confidence)  # type: ignore[misc]
        for k in range(len(toks))
    ]
    listed, share = _disagreements(toks, corpus, words, how, threads)
    return Comparison(tuple(labels), tuple(found), tuple(relative), tuple(intervals), listed, share)


def _listed(names: object) -> list[str]:
    if isinstance(names, str):
        raise InputError(f"expected names as a list of str, not the str {names!r:.60}")
    return as_list(names, "names")  # type: ignore[arg-type]  # it refuses what is not iterable


def _label(place: int, tokenizer: object) -> str:
    """Return the name of a tokenizer in tables: the path or name that was given, else its number."""
    return f"{place + 1}" if isinstance(tokenizer, Tokenizer) else str(tokenizer)


def _disagreements(
    tokenizers: list[Tokenizer], corpus: Any, most: int, how: dict[str, Any], threads: int | None
) -> tuple[tuple[Disagreement, ...], float]:
    """Return the most frequent words that are split at different places, and the share of all words that they are."""
    sources = list(corpus.values()) if isinstance(corpus, Mapping) else [corpus]
    counts = sum(
        count(source, splitter=r" ?[^ \t\r\n]+|\s+", threads=threads, progress=False, **how) for source in sources
    )
    assert not isinstance(counts, int)
    order = np.argsort(-counts.counts.astype(np.int64), kind="stable")[:MOST_WORDS].tolist()
    texts = [counts.data[counts.offsets[k] : counts.offsets[k + 1]].tobytes().decode() for k in order]
    frequent = [(text, int(counts.counts[k])) for k, text in zip(order, texts, strict=True) if not text.isspace()]
    texts = [text for text, _ in frequent]
    every = [tok(texts, template=False, truncation=False, padding=False, threads=threads) for tok in tokenizers]
    found, number, seen = list[Disagreement](), 0, 0
    for place, (text, times) in enumerate(frequent):
        seen += times
        lead = len(text) - len(text.lstrip(" "))
        cuts = [{start for start, _ in one[place].spans.tolist() if start > lead} for one in every]
        if all(one == cuts[0] for one in cuts[1:]):
            continue
        number += times
        if len(found) < most:
            found.append(Disagreement(text, times, tuple(one[place].tokens for one in every)))
    return tuple(found), number / seen if seen else 0.0
