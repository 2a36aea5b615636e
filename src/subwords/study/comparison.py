"""compare: several tokenizers on one corpus: paired differences, and the words they split differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords import Reading, Tokenizer, count
from subwords.machine import reading_of, tokenizer_of
from subwords.study.evaluation import Evaluation, Settings, bars_of, evaluation_of, notes_of, ratio_name, sums_of
from subwords.study.statistics import Interval, Resampled
from subwords.support.checks import as_list, check_integer, check_string
from subwords.support.errors import InputError
from subwords.support.render import printable, token_text
from subwords.support.report import Report, Table, frame

if TYPE_CHECKING:
    from subwords import Encoding
    from subwords.machine import Source, TokenizerLike


COLUMNS = (
    "tokenizer",
    "vocabulary",
    "tokens",
    "bytes per token",
    "interval",
    "tokens, relative",
    "interval",
    "unknown",
    "lossy",
)
WORD_COLUMNS = ("word", "count")
MOST_WORDS = 1 << 16  # frequent words that are compared


@dataclass(frozen=True)
class Disagreement:
    """A word that two tokenizers split at different places: its count, and the tokens that each gives."""

    word: str
    count: int
    tokens: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Comparison(Report):
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
        return super().to_dict() | {"evaluations": [one.to_dict() for one in self.evaluations]}

    def tables(self) -> list[Table]:
        """Return the tokenizers, the groups if there are several, and the words that are split differently."""
        every = zip(self.names, self.evaluations, self.relative, self.relative_intervals, strict=True)
        rows = [
            (
                *(name, one.vocabulary, one.tokens, one.bytes_per_token, one.intervals.get("bytes_per_token")),
                *(relative, interval, one.unknown, one.lossy),
            )
            for name, one, relative, interval in every
        ]
        words = [
            (
                repr(one.word),
                one.count,
                *(" ".join(f"'{printable(token)}'" for token in tokens) for tokens in one.tokens),
            )
            for one in self.disagreements
        ]
        found = [Table(COLUMNS, rows, "Comparison of tokenizers", "tab:comparison"), self._groups()]
        return [table for table in (*found, Table((*WORD_COLUMNS, *self.names), words)) if table.rows]

    def _groups(self) -> Table:
        """Return for each group the bytes per token of each tokenizer, and its ratio; no rows for a single group."""
        parallel = self.evaluations[0].parallel
        ratio = ratio_name(parallel)
        columns = [f"bytes per token, {name}" for name in self.names]
        columns += [f"{what}, {name}" for name in self.names for what in (ratio, f"{ratio}, interval")]
        every = [*zip(*(one.groups for one in self.evaluations), strict=True)]
        rows = [
            (
                *(groups[0].name, groups[0].documents, groups[0].bytes),
                *(group.bytes_per_token for group in groups),
                *(value for group in groups for value in group.ratio(parallel)),
            )
            for groups in (every if len(every) > 1 else ())
        ]
        return Table(("group", "documents", "bytes", *columns), rows, "Groups of documents", "tab:comparison-groups")

    def notes(self) -> list[str]:
        """Return what the tables leave out, and why; and warnings of lost text."""
        return notes_of([*zip(self.names, self.evaluations, strict=True)])

    def to_frame(self) -> Any:
        """Return the tokenizers as a pandas DataFrame, or the groups if there are several."""
        groups = self._groups()
        return frame(*(groups if groups.rows else self.tables()[0])[:2])

    def plot(self, *, title: str | None = None, ax: Any = None) -> Any:
        """Return a matplotlib figure: bytes per token, or the costs of parallel text, with intervals.

        title: what was measured. ax: the axes to draw in; None for a new figure.
        """
        from subwords.study.plots import plot_bars

        costs = self.evaluations[0].parallel and len(self.evaluations[0].groups) > 1
        every = [*zip(self.names, self.evaluations, strict=True)]
        if len(self.evaluations[0].groups) > 1:
            series = [(name, bars_of(one, costs=costs)) for name, one in every]
        else:
            series = [("", [(name, one.bytes_per_token, one.intervals.get("bytes_per_token")) for name, one in every])]
        return plot_bars(series, self.notes(), title, ax, costs=costs)


def compare(
    tokenizers: Sequence[TokenizerLike],
    source: Source | Mapping[str, Source],
    *,
    names: Sequence[str] | None = None,
    limit: int = 20,
    by: str | None = None,
    parallel: bool = False,
    reference: str | None = None,
    order: float = 2.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare tokenizers on a corpus: paired differences, and frequent words that they split differently.

    The same resampled documents are used for all of them: if the interval of `relative` does not contain 1, the
    difference is larger than drawing other documents explains. names: of the tokenizers, in tables; by default, the
    paths or names that were given, or numbers. limit: how many disagreeing words to list; a word is text between
    spaces, with the space before it; its unknown text is shown as the unknown token. The others are as in `evaluate`.
    Raises InputError for an iterator, which can be read only once.
    Hazard: text that becomes the unknown token, or that a normalizer removes, counts as compressed; see `unknown` and
    `lossy` of each evaluation, and the notes.

    >>> import subwords
    >>> one, two = (subwords.train(["low lower lowest"] * 9, vocab_size=size) for size in (258, 262))
    >>> found = subwords.study.compare([one, two], ["low lowest", "lower"])
    >>> found.relative[1] < 1, found.disagreements[0].word
    (True, ' lowest')
    """
    if isinstance(tokenizers, str | Path | Tokenizer):
        raise InputError(f"expected a list of two or more tokenizers to compare, not {type(tokenizers).__name__}")
    given = as_list(tokenizers, "tokenizers")
    if len(given) < 2:
        raise InputError(f"expected two or more tokenizers to compare, not {len(given)}")
    toks = [tokenizer_of(one, f"tokenizers[{k}]") for k, one in enumerate(given)]
    own = [f"{k + 1}" if isinstance(one, Tokenizer) else str(one) for k, one in enumerate(given)]
    labels = own if names is None else _listed(names)
    for label in labels:
        check_string("a name", label)
    if len(labels) != len(toks):
        raise InputError(f"expected a name for each of {len(toks)} tokenizers, not {len(labels)}")
    check_integer("limit", limit, 0, MOST_WORDS)
    if any(isinstance(one, Iterator) for one in (source.values() if isinstance(source, Mapping) else [source])):
        raise InputError("expected a corpus that can be read twice, not an iterator: pass a list or files")
    settings = Settings(order, confidence, resamples, seed, parallel, reference)
    sums = sums_of(toks, source, by, reading_of(reading), threads, progress)
    found = [evaluation_of(tok, sums, k, settings) for k, tok in enumerate(toks)]
    resampled = Resampled([*sums.tokens], resamples=resamples, seed=seed)
    base = found[0].tokens
    relative = [one.tokens / base if base else None for one in found]
    intervals = [
        None if k == 0 else resampled.interval(lambda rows, k=k: rows[:, k] / rows[:, 0], confidence)  # type: ignore[misc]
        for k in range(len(toks))
    ]
    listed, share = _disagreements(toks, source, limit, reading, threads)
    return Comparison(tuple(labels), tuple(found), tuple(relative), tuple(intervals), listed, share)


def _listed(names: object) -> list[str]:
    if isinstance(names, str):
        raise InputError(f"expected names as a list of str, not the str {names!r:.60}")
    return as_list(names, "names")  # type: ignore[arg-type]  # it refuses what is not iterable


def _disagreements(
    tokenizers: list[Tokenizer], corpus: Any, most: int, reading: Reading | None, threads: int | None
) -> tuple[tuple[Disagreement, ...], float]:
    """Return the most frequent words that are split at different places, and the share of all words that they are."""
    sources = list(corpus.values()) if isinstance(corpus, Mapping) else [corpus]
    counts = sum(
        count(source, splitter=r" ?[^ \t\r\n]+|\s+", reading=reading, threads=threads, progress=False)
        for source in sources
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
            shown = (_spelled(tok, one[place]) for tok, one in zip(tokenizers, every, strict=True))
            found.append(Disagreement(text, times, tuple(shown)))
    return tuple(found), number / seen if seen else 0.0


def _spelled(tokenizer: Tokenizer, encoding: Encoding) -> tuple[str, ...]:
    """Return the tokens of a word: unknown text as the unknown token, bytes that are not a character as \\xc3."""
    unk = tokenizer.model.unk_id
    name = None if unk is None else tokenizer.model.vocab[unk].decode()
    return tuple(
        name if name is not None and index == unk else _text(tokenizer, index, text)
        for index, text in zip(encoding.ids, encoding.tokens, strict=True)
    )


def _text(tokenizer: Tokenizer, index: int, text: str) -> str:
    return token_text(tokenizer.token_bytes(index)) if "\ufffd" in text else text
