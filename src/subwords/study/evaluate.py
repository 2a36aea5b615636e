"""evaluate: how good a tokenizer is on a corpus, with intervals; documents are the unit, raw bytes the denominator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.gold import read_gold
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.reading import Reading, reading_of
from subwords.errors import CorpusError, InputError
from subwords.render.report import Report, Table, frame
from subwords.study.bootstrap import Interval, Resampled, check_confidence
from subwords.study.distribution import Zipf, check_order, gini, renyi_efficiency, zipf
from subwords.study.gold import Boundaries, boundaries
from subwords.study.measured import BYTES, CHARACTERS, SPACELESS_CHARACTERS, WORDS, Measured, measured
from subwords.support.atomic import place_of
from subwords.support.checks import check_choice, check_flag
from subwords.tokenizer import tokenizer_of

if TYPE_CHECKING:
    from os import PathLike

    from subwords.corpus.source import Source
    from subwords.tokenizer import Tokenizer, TokenizerLike

__all__ = ["Evaluation", "Group", "Settings", "evaluate", "evaluation_of", "settings_of", "sums_of", "unknown_text"]

RANKS = (1, 10_000)  # that the line of Zipf's law is fitted to
RARE = 10  # a token with fewer uses counts as rare
TOKENS = WORDS + 1  # after the columns that are resampled with it
COLUMNS = ("metric", "value", "interval")
GROUP_COLUMNS = ("group", "documents", "bytes", "tokens", "bytes per token", "interval", "characters per token", "cost")


@dataclass(frozen=True)
class Group:
    """The documents of one group, such as a language. cost: tokens, relative to the reference group.

    Defined in ALGORITHMS.md, V7.

    None where a group has no text, or no tokens. interval: of bytes_per_token; None for fewer than 2 documents.
    """

    name: str
    documents: int
    bytes: int
    tokens: int
    bytes_per_token: float | None
    interval: Interval | None
    characters_per_token: float | None
    cost: float | None


@dataclass(frozen=True)
class Evaluation(Report):
    """What `evaluate` measured. Ratios are None where there is nothing to divide by.

    bytes, characters: of the documents as they are, before normalization. tokens_per_word: words are runs of letters,
    marks and digits; letters of scripts without spaces between words (Han, Thai, ...) are in no word, and where they
    are more than half of all characters this is None. renyi_efficiency, entropy_efficiency: over all ids of the
    vocabulary. intervals: of the ratios, by name, from resampled documents; {} for a single document. seconds: of
    encoding, of all threads together. without_text: groups that have no text, which are not in `groups`.
    """

    documents: int
    bytes: int
    characters: int
    words: int
    tokens: int
    vocabulary: int
    bytes_per_token: float | None
    characters_per_token: float | None
    tokens_per_word: float | None
    unknown: float | None
    used: float
    used_rarely: float
    renyi_efficiency: float | None
    entropy_efficiency: float | None
    zipf: Zipf | None
    groups: tuple[Group, ...]
    gini: float | None
    gini_interval: Interval | None
    morphology: Boundaries | None
    intervals: dict[str, Interval]
    confidence: float
    order: float
    bytes_per_second: float | None
    skipped: int
    frequencies: tuple[int, ...]
    without_text: tuple[str, ...] = ()
    parallel: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return all values as dicts, lists, strings and numbers, for JSON, without `frequencies`."""
        found = super().to_dict()
        del found["frequencies"]
        for name in ("zipf", "morphology"):
            value = getattr(self, name)
            found[name] = None if value is None else value._asdict()
        return found

    def notes(self) -> list[str]:
        """Return what the tables leave out, and why; a warning of unknown text."""
        notes = ["A single document has no interval: intervals need two or more."] if self.documents == 1 else []
        if self.without_text:
            notes.append(f"Groups without text, left out: {', '.join(map(repr, self.without_text))}.")
        return notes + unknown_text([("the tokenizer", self.unknown)])

    def tables(self) -> list[Table]:
        """Return the metrics, without the speed, which the next run changes; and the groups if there are several."""
        names = ["documents", "bytes", "tokens", "bytes_per_token", "characters_per_token", "tokens_per_word"]
        names += ["unknown", "used", "used_rarely", "renyi_efficiency", "entropy_efficiency"]
        rows: list[tuple[str, object, object]] = [
            (name.replace("_", " ").replace("renyi", "Renyi"), getattr(self, name), self.intervals.get(name))
            for name in names
        ]
        if self.zipf is not None:
            rows += [("Zipf slope", self.zipf.slope, None), ("Zipf R2", self.zipf.r2, None)]
        if self.gini is not None:
            rows.append(("Gini of costs", self.gini, self.gini_interval))
        if self.morphology is not None:
            rows += [
                (f"morphemes, {name}", getattr(self.morphology, name), None) for name in ("precision", "recall", "f1")
            ]
        found = [Table(COLUMNS, rows, "Metrics of a tokenizer", "tab:metrics", by_row=True)]
        if len(self.groups) > 1:
            groups = [tuple(vars(one).values()) for one in self.groups]
            found.append(Table(GROUP_COLUMNS, groups, "Groups of documents", "tab:groups"))
        return found

    def to_frame(self) -> Any:
        """Return the metrics as a pandas DataFrame, or the groups if there are several."""
        return frame(*self.tables()[-1][:2])

    def plot(self, kind: Literal["zipf", "groups", "costs"] | None = None, *, title: str | None = None) -> Any:
        """Return a matplotlib figure: frequency over rank, or the groups: bytes per token with intervals, or costs.

        kind: None for the costs of parallel text, the bytes per token of other groups, and frequencies without groups.
        title: what was measured.
        """
        from subwords.study.plots import plot_costs, plot_groups, plot_zipf

        if kind is None:
            kind = "zipf" if len(self.groups) < 2 else "costs" if self.parallel else "groups"
        check_choice("kind", kind, ("zipf", "groups", "costs"))
        if kind == "zipf":
            return plot_zipf(self.frequencies, self.zipf, title)
        if kind == "costs" and len(self.groups) < 2:
            raise InputError("no costs to plot: a cost is relative to another group of documents")
        return (plot_costs if kind == "costs" else plot_groups)(self.groups, title)


@dataclass(frozen=True)
class Settings:
    """The settings of `evaluate` that decide what is made of the sums."""

    order: float
    confidence: float
    resamples: int
    seed: int
    parallel: bool
    reference: str | None


def unknown_text(shares: Sequence[tuple[str, float | None]]) -> list[str]:
    """Return a warning if the unknown token stands for text: its share of the ids, for each name.

    >>> unknown_text([("a", 0.25), ("b", 0.0), ("c", None)])
    ['Unknown text: a turns it into the unknown token (25 % of its ids), so its compression is not comparable.']
    """
    many = [
        f"{name} turns it into the unknown token ({100 * share:.3g} % of its ids)" for name, share in shares if share
    ]
    return [f"Unknown text: {'; '.join(many)}, so its compression is not comparable."] if many else []


def settings_of(
    order: float, confidence: float, resamples: int, seed: int, parallel: bool, reference: str | None
) -> Settings:
    """Return checked settings."""
    check_order(order)
    check_confidence(confidence, resamples, seed)
    check_flag("parallel", parallel)
    return Settings(order, confidence, resamples, seed, parallel, reference)


def evaluate(
    tokenizer: TokenizerLike,
    source: Source | Mapping[str, Source],
    *,
    by: str | None = None,
    parallel: bool = False,
    reference: str | None = None,
    gold: str | PathLike[str] | None = None,
    order: float = 2.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Return how a tokenizer does on a corpus (see `count`): compression, fertility, use of the vocabulary, cost.

    by: groups the documents: the name of a column of rows, such as "language", or "file"; a dict of corpora has its
    groups already. parallel: document k of every group says the same, so a group's cost is its number of tokens
    relative to `reference` (the first group); otherwise tokens per character are compared. gold: a file of words with
    their morphemes, `word TAB mor pheme s`. order: the order of Renyi's entropy. Intervals are percentiles of
    `resamples` resamples of the documents, at the level `confidence`; a single document has none. The others are as in
    `count`. Raises CorpusError for an empty corpus.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=262)
    >>> found = subwords.evaluate(tok, ["low lowest", "lower"])
    >>> found.tokens, found.bytes_per_token, found.tokens_per_word
    (6, 2.5, 2.0)

    Source: V. Zouhar et al., 2023 (Renyi efficiency); A. Petrov et al., 2023 (cost of languages).
    """
    tokenizer = tokenizer_of(tokenizer)
    settings = settings_of(order, confidence, resamples, seed, parallel, reference)
    words = None if gold is None else read_gold(place_of(gold, "gold"))
    sums = sums_of([tokenizer], source, by, reading_of(reading), threads, progress)
    return evaluation_of(tokenizer, sums, 0, settings, None if words is None else boundaries(tokenizer, words))


def sums_of(
    tokenizers: list[Tokenizer],
    corpus: Source | Mapping[str, Source],
    by: str | None,
    reading: Reading,
    threads: int | None,
    progress: bool | None,
) -> Measured:
    """Return the sums of a corpus; CorpusError if it is empty."""
    with progress_line(None, "encoding", enabled=progress) as bar:
        sums = measured(tokenizers, corpus, by=by, reading=reading, threads=threads, on_bytes=bar.advance)
    if not sums.texts.size:
        raise CorpusError("no text to evaluate: every document is empty")
    return sums


def evaluation_of(
    tokenizer: Tokenizer, sums: Measured, number: int, settings: Settings, morphology: Boundaries | None = None
) -> Evaluation:
    """Return the metrics of one of the tokenizers of `sums`."""
    texts, every = sums.sums()
    tokens, counts = int(every[number]), sums.counts[number]
    size, used = int((np.diff(tokenizer.model.vocab.offsets) > 0).sum()), counts > 0
    unk = tokenizer.model.unk_id
    resampled = _resampled(sums, number, settings)
    ratios = {"bytes_per_token": (BYTES, TOKENS), "characters_per_token": (CHARACTERS, TOKENS)}
    spaced = int(texts[WORDS]) > 0 and 2 * int(texts[SPACELESS_CHARACTERS]) <= int(texts[CHARACTERS])
    if spaced:
        ratios["tokens_per_word"] = (TOKENS, WORDS)
    intervals = {
        name: found
        for name, (above, below) in ratios.items()
        if (found := resampled.interval(_ratio(above, below), settings.confidence)) is not None
    }
    groups = _groups(sums, number, settings, intervals.get("bytes_per_token"))
    costs = [group.cost for group in groups if group.cost is not None]
    seconds = sums.seconds[number]
    return Evaluation(
        documents=len(sums.groups),
        bytes=int(texts[BYTES]),
        characters=int(texts[CHARACTERS]),
        words=int(texts[WORDS]),
        tokens=tokens,
        vocabulary=size,
        bytes_per_token=_over(texts[BYTES], tokens),
        characters_per_token=_over(texts[CHARACTERS], tokens),
        tokens_per_word=_over(tokens, texts[WORDS]) if spaced else None,
        unknown=None if unk is None else _over(int(counts[unk]), tokens),
        used=int(used.sum()) / size,
        used_rarely=int((used & (counts < RARE)).sum()) / size,
        renyi_efficiency=renyi_efficiency(counts, order=settings.order, vocabulary=size),
        entropy_efficiency=renyi_efficiency(counts, order=1.0, vocabulary=size),
        zipf=zipf(counts, RANKS),
        groups=groups,
        gini=float(gini(costs)) if len(costs) > 1 else None,
        gini_interval=_gini_interval(sums, number, settings, groups),
        morphology=morphology,
        intervals=intervals,
        confidence=settings.confidence,
        order=settings.order,
        bytes_per_second=_over(texts[BYTES], seconds),
        skipped=sums.tally.skipped,
        frequencies=tuple(np.sort(counts[used])[::-1].tolist()),
        without_text=sums.without_text,
        parallel=settings.parallel,
    )


def _over(above: Any, below: Any) -> float | None:
    return float(above) / float(below) if below else None


def _resampled(sums: Measured, number: int, settings: Settings, chosen: Any = slice(None)) -> Resampled:
    """Return sums of BYTES, CHARACTERS, WORDS and TOKENS over resampled documents."""
    columns = [*sums.texts[:TOKENS, chosen], sums.tokens[number][chosen]]
    return Resampled(columns, resamples=settings.resamples, seed=settings.seed)


def _ratio(above: int, below: int) -> Any:
    return lambda sums: sums[:, above] / sums[:, below]


def _groups(sums: Measured, number: int, settings: Settings, whole: Interval | None) -> tuple[Group, ...]:
    """Return the groups; the only group has the interval of the whole."""
    if settings.reference is not None and settings.reference not in sums.names:
        raise InputError(f"expected reference to be one of the groups {sums.names!r:.200}, not {settings.reference!r}")
    if settings.parallel:
        sizes = np.bincount(sums.groups, minlength=len(sums.names))
        if sums.incomplete:
            raise CorpusError(
                f"parallel text needs text in every document, but documents of {', '.join(sums.incomplete):.200} "
                "are empty or were left out: take them out of every group"
            )
        if len({*sizes.tolist()}) > 1:
            counted = dict(zip(sums.names, sizes.tolist(), strict=True))
            raise CorpusError(f"parallel text needs as many documents in every group, found {counted!r:.300}")
    found = []
    for group, name in enumerate(sums.names):
        texts, tokens = sums.sums(group if len(sums.names) > 1 else None)
        interval, size = whole, len(sums.groups)
        if len(sums.names) > 1:
            chosen = sums.groups == group
            size, resampled = int(chosen.sum()), _resampled(sums, number, settings, chosen)
            interval = resampled.interval(_ratio(BYTES, TOKENS), settings.confidence)
        own = int(tokens[number])
        ratio = _over(texts[BYTES], own), interval, _over(texts[CHARACTERS], own)
        found.append(Group(name, size, int(texts[BYTES]), own, *ratio, _cost(texts, own, settings)))
    if len(found) < 2:
        return tuple(found)
    base = next(one for one in found if one.name == (settings.reference or found[0].name))
    return tuple(
        Group(**{**vars(one), "cost": None if not base.cost or one.cost is None else one.cost / base.cost})
        for one in found
    )


def _cost(texts: NDArray[np.int64], tokens: int, settings: Settings) -> float | None:
    return float(tokens) if settings.parallel else _over(tokens, texts[CHARACTERS])


def _gini_interval(sums: Measured, number: int, settings: Settings, groups: tuple[Group, ...]) -> Interval | None:
    """Return the interval of the Gini coefficient; of parallel text only, whose documents are resampled together."""
    if not settings.parallel or len(groups) < 2:
        return None
    columns = [sums.tokens[number][sums.groups == group] for group in range(len(groups))]
    return Resampled(columns, resamples=settings.resamples, seed=settings.seed).interval(
        lambda found: np.asarray(gini(found)), settings.confidence
    )
