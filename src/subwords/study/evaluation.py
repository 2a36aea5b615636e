"""evaluate: how good a tokenizer is on a corpus, with intervals; documents are the unit, raw bytes the denominator."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords import Reading, TokenBatch, Tokenizer, WordCounts
from subwords.machine import (
    IN_WORD,
    MEASURED,
    SPACELESS,
    CorpusPart,
    PartEncoder,
    Tally,
    check_counts,
    counted,
    engine_of,
    grouped_blocks,
    in_parts,
    read_blocks,
    read_gold,
    reading_of,
    rules_like,
    splitting_rules,
    tokenizer_of,
    word_ids,
)
from subwords.machine import family_settings as settings_of_family
from subwords.machine import progress as progress_line
from subwords.study.statistics import (
    Boundaries,
    Interval,
    Resampled,
    Zipf,
    boundaries,
    check_confidence,
    check_order,
    gini,
    percentiles,
    renyi_efficiency,
    zipf,
)
from subwords.support.checks import check_choice, check_flag
from subwords.support.errors import CorpusError, InputError
from subwords.support.files import place_of
from subwords.support.report import Report, Table, frame

if TYPE_CHECKING:
    from os import PathLike

    from subwords.machine import Block, Source, TokenizerLike
    from subwords.study.plots import Bar


# ---------------------------------------------------------------------------------------------------------------------
# Measured: characters, words and ids of the documents of a corpus, as sums for each document.

Array: TypeAlias = NDArray[np.int64]
BLOCK = 1 << 21  # bytes of text at once
BYTES, CHARACTERS, WORDS, SPACELESS_CHARACTERS, FIELDS = range(5)  # of a document
# Scripts whose words are not separated by spaces: their runs of letters do not count as words.
NO_SPACES = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Tham", "New_Tai_Lue")
WHITESPACE = tuple(b" \n\t\r")
NEAR_CUTS = 64  # cuts that are tried


@dataclass
class Measured:
    """Sums for each document, in the order of the corpus.

    texts: int64, (FIELDS, documents). tokens: int64, (tokenizers, documents). lossy: int64, as tokens: 1 for a document
    that does not come back. missing: characters that do not come back, for each tokenizer. groups: the number of each
    document's group in `names`. counts: how often each id occurs, for each tokenizer. seconds: of encoding, of all
    threads together. without_text: groups that have no text, which are not in `names`. incomplete: groups with
    documents that are empty or were left out.
    """

    names: list[str]
    groups: NDArray[np.int64]
    texts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    lossy: NDArray[np.int64]
    missing: list[int]
    counts: list[NDArray[np.int64]]
    seconds: list[float]
    tally: Tally = field(default_factory=Tally)
    without_text: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()

    def sums(self, group: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sums of the texts and of the tokens of all documents, or of a group."""
        chosen = slice(None) if group is None else self.groups == group
        return self.texts[:, chosen].sum(axis=1), self.tokens[:, chosen].sum(axis=1)


@cache
def word_classes() -> NDArray[np.uint8]:
    """Return IN_WORD and SPACELESS for every code point: letters, marks and digits are in words."""
    from subwords.machine import property_members

    spaceless = np.zeros(0x110000, np.bool_)
    for script in NO_SPACES:
        spaceless |= property_members(script)
    within = property_members("L") | property_members("M") | property_members("N")
    spaceless &= within
    return (within & ~spaceless) * np.uint8(IN_WORD) + spaceless * np.uint8(SPACELESS)


def measured(
    tokenizers: list[Tokenizer],
    corpus: Source | Mapping[str, Source],
    *,
    by: str | None,
    reading: Reading,
    threads: int | None,
    on_bytes: Callable[[int], object],
) -> Measured:
    """Return the sums of a corpus. by: see `grouped_blocks`; None for one group. A mapping gives the groups itself."""
    tally = Tally()
    streams = _streams(corpus, by, reading, on_bytes, tally)
    encoders = [PartEncoder(engine_of(tok)) for tok in tokenizers]
    sizes = [len(tok.model.vocab) for tok in tokenizers]
    counts = [np.zeros(size, np.int64) for size in sizes]
    for encoder in encoders:  # what is compiled or built at the first call is not in the seconds
        with suppress(InputError):  # a model may not know this letter, which is not the caller's
            encoder.encode(CorpusPart(b"a", np.array([0, 1], np.int64), 0, begins=True, ends=True))
    sums, seconds = _Sums(tokenizers), [0.0] * len(tokenizers)
    missing: dict[str, int] = {}  # documents without text, of each group
    for name, blocks in streams:
        before = tally.empty + tally.skipped
        cut = _cut(encoders)

        def run(part: CorpusPart) -> _DocumentRange:
            return _of_part(part, tokenizers, encoders, sizes)

        for found in in_parts(blocks, cut, run, threads):
            sums.add(name, found)
            for k, (ids, spent) in enumerate(found.ids):
                counts[k] += ids
                seconds[k] += spent
        missing[name] = missing.get(name, 0) + tally.empty + tally.skipped - before
    names, groups, texts, tokens, lossy = sums.arrays()
    without_text = tuple(name for name in missing if name not in names)
    incomplete = tuple(name for name, number in missing.items() if number)
    made = (names, groups, texts, tokens, lossy, sums.missing(), counts, seconds)
    return Measured(*made, tally, without_text, incomplete)


def _streams(
    corpus: Any, by: str | None, reading: Reading, on_bytes: Callable[[int], object], tally: Tally
) -> Iterable[tuple[str, Iterable[Block]]]:
    how: Any = {"block_size": BLOCK, "on_bytes": on_bytes, "tally": tally}
    if isinstance(corpus, Mapping):
        if by is not None:
            raise InputError("by is for one corpus; a dict of corpora has its groups already")
        return ((str(name), read_blocks(source, reading, **how)) for name, source in corpus.items())
    if by is None:
        return [("all", read_blocks(corpus, reading, **how))]
    return grouped_blocks(corpus, by, reading, **how)


def _cut(encoders: list[PartEncoder]) -> Callable[..., int] | None:
    """Return where documents may be cut: where no tokenizer's ids change, next to whitespace, which is in no word."""
    cuts = [encoder.cut for encoder in encoders]
    if not all(cuts):
        return None

    def cut(text: NDArray[np.uint8], at: int, *, begins: bool = True) -> int:
        for _ in range(NEAR_CUTS):
            places = {one(text, at, begins=begins) for one in cuts if one is not None}
            at = min(places)
            if len(places) == 1 and (not at or int(text[at - 1]) in WHITESPACE or int(text[at]) in WHITESPACE):
                return at
            at -= len(places) == 1
            if at <= 0:
                return 0
        return 0

    return cut


@dataclass
class _OpenPiece:
    """A piece of a document that begins or ends in another part: its text, and its ids for each lossy tokenizer."""

    text: bytes
    ids: dict[int, NDArray[np.uint32]]


@dataclass
class _DocumentRange:
    texts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    ids: list[tuple[NDArray[np.int64], float]]
    lossy: NDArray[np.int64]
    balance: dict[int, NDArray[np.int64]]
    first: _OpenPiece | None
    last: _OpenPiece | None
    ends: bool


def _of_part(
    part: CorpusPart, tokenizers: list[Tokenizer], encoders: list[PartEncoder], sizes: list[int]
) -> _DocumentRange:
    from subwords.machine import count_ids, measure_texts

    number = len(part.bounds) - 1
    texts = np.empty((FIELDS, number), np.int64)
    rows = np.empty((texts.shape[1], MEASURED.width), np.int64)
    measure_texts(np.frombuffer(part.text, np.uint8), part.bounds, word_classes(), rows.ravel())
    texts[BYTES] = np.diff(part.bounds)
    texts[[CHARACTERS, WORDS, SPACELESS_CHARACTERS]] = rows.T[[MEASURED.characters, MEASURED.words, MEASURED.spaceless]]
    ids, batches = [], []
    for encoder, size in zip(encoders, sizes, strict=True):
        start = time.thread_time()  # of this thread alone, whatever else runs
        batch = encoder.encode(part)
        spent = time.thread_time() - start
        batches.append(batch)
        times = np.zeros(size, np.int64)
        count_ids(batch.ids, times)
        ids.append((times, spent))
    tokens = np.array([np.diff(batch.offsets) for batch in batches], np.int64).reshape(len(encoders), -1)
    lossy, balance = np.zeros_like(tokens), {}
    begin, end = int(not part.begins), max(number - (not part.ends), int(not part.begins))
    places = [k for k, tok in enumerate(tokenizers) if not tok.lossless]
    whole = [part.text[a:b].decode() for a, b in pairwise(part.bounds[begin : end + 1].tolist())] if places else []
    for k in places:
        offsets = batches[k].offsets[begin : end + 1]
        own = TokenBatch(batches[k].ids[offsets[0] : offsets[-1]], offsets - offsets[0])
        lossy[k, begin:end], balance[k] = _returned(tokenizers[k], whole, own)

    def piece(at: int) -> _OpenPiece:
        kept = {k: batches[k].ids[batches[k].offsets[at] : batches[k].offsets[at + 1]] for k in places}
        return _OpenPiece(part.text[part.bounds[at] : part.bounds[at + 1]], kept)

    first = None if part.begins or not number else piece(0)
    last = None if part.ends or not number or (number == 1 and first) else piece(number - 1)
    return _DocumentRange(texts, tokens, ids, lossy, balance, first, last, part.ends)


def _returned(tokenizer: Tokenizer, texts: list[str], batch: TokenBatch) -> tuple[list[int], NDArray[np.int64]]:
    """Return 1 for each text that does not come back, and how many times fewer each character does (V19)."""
    found = tokenizer.decode_batch(batch)
    pairs = [pair for pair in zip(texts, found, strict=True) if pair[0] != pair[1]]
    given, back = (_characters("".join(side)) for side in (zip(*pairs, strict=True) if pairs else ("", "")))
    balance = np.zeros(max(len(given), len(back)), np.int64)
    balance[: len(given)] += given
    balance[: len(back)] -= back
    return [int(text != other) for text, other in zip(texts, found, strict=True)], balance


def _characters(text: str) -> NDArray[np.int64]:
    return np.bincount(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))


class _Sums:
    """Collects the sums of documents, of which some come in several parts."""

    def __init__(self, tokenizers: list[Tokenizer]) -> None:
        self._names: dict[str, int] = {}
        self._groups: list[NDArray[np.int64]] = []
        self._tokenizers = tokenizers
        self._texts: list[NDArray[np.int64]] = [np.zeros((FIELDS, 0), np.int64)]
        self._tokens: list[NDArray[np.int64]] = [np.zeros((len(tokenizers), 0), np.int64)]
        self._lossy = [*self._tokens]
        self._balance = [np.zeros(0, np.int64) for _ in tokenizers]
        self._open: list[_OpenPiece] = []

    def add(self, name: str, part: _DocumentRange) -> None:
        """Add a part of a group's documents."""
        group = self._names.setdefault(name, len(self._names))
        texts, tokens, lossy = part.texts, part.tokens, part.lossy
        for k, balance in part.balance.items():
            self._weigh(k, balance)
        if part.first is not None:
            self._open.append(part.first)
            self._texts[-1][:, -1] += texts[:, 0]
            self._tokens[-1][:, -1] += tokens[:, 0]
            texts, tokens, lossy = texts[:, 1:], tokens[:, 1:], lossy[:, 1:]
            if texts.size or part.ends:
                self._close()
        if texts.size:
            self._texts.append(texts)
            self._tokens.append(tokens)
            self._lossy.append(lossy)
            self._groups.append(np.full(texts.shape[1], group, np.int64))
        if part.last is not None:
            self._open.append(part.last)

    def _weigh(self, k: int, balance: NDArray[np.int64]) -> None:
        short, long = sorted((self._balance[k], balance), key=len)
        long[: len(short)] += short
        self._balance[k] = long

    def _close(self) -> None:
        """Look at the document whose last piece has come."""
        pieces, self._open = self._open, []
        text = b"".join(piece.text for piece in pieces).decode()
        for k in pieces[0].ids:
            ids = np.concatenate([piece.ids[k] for piece in pieces])
            own = TokenBatch(ids, np.array([0, len(ids)], np.int64))
            (self._lossy[-1][k, -1],), balance = _returned(self._tokenizers[k], [text], own)
            self._weigh(k, balance)

    def missing(self) -> list[int]:
        """Return how many characters do not come back, for each tokenizer."""
        return [int(balance[balance > 0].sum()) for balance in self._balance]

    def arrays(self) -> tuple[list[str], Array, Array, Array, Array]:
        """Return names, groups, texts, tokens and what is lossy."""
        groups = np.concatenate([np.zeros(0, np.int64), *self._groups])
        texts, tokens, lossy = (np.concatenate(one, axis=1) for one in (self._texts, self._tokens, self._lossy))
        return [*self._names], groups, texts, tokens, lossy


RANKS = (1, 10_000)  # that the line of Zipf's law is fitted to
RARE_USES = 10  # a token with fewer uses counts as rare
TOKENS, LOSSY, DOCUMENTS = range(WORDS + 1, WORDS + 4)  # after the columns that are resampled with them
COLUMNS = ("metric", "value", "interval")
GROUP_COLUMNS = ("group", "documents", "bytes", "tokens", "bytes per token", "interval", "characters per token")


@dataclass(frozen=True)
class Group:
    """The documents of one group, such as a language.

    Defined in ALGORITHMS.md, V7.

    cost: tokens, relative to the reference group, of parallel text. relative: of other text, tokens per character,
    relative to the reference group. None without tokens. interval: of bytes_per_token; intervals are None for fewer
    than 2 documents, and for the ratios of the reference group, which are 1.
    """

    name: str
    documents: int
    bytes: int
    tokens: int
    bytes_per_token: float | None
    interval: Interval | None
    characters_per_token: float | None
    cost: float | None = None
    cost_interval: Interval | None = None
    relative: float | None = None
    relative_interval: Interval | None = None

    def ratio(self, parallel: bool) -> tuple[float | None, Interval | None]:
        """Return the cost of parallel text, else what is relative, with its interval."""
        return (self.cost, self.cost_interval) if parallel else (self.relative, self.relative_interval)


def ratio_name(parallel: bool) -> str:
    """Return what tables call `Group.ratio`."""
    return "cost" if parallel else "tokens per character, relative"


@dataclass(frozen=True)
class Evaluation(Report):
    """What `evaluate` measured. Ratios are None where there is nothing to divide by.

    bytes, characters: of the documents as they are, before normalization. tokens_per_word: words are runs of letters,
    marks and digits; letters of scripts without spaces between words (Han, Thai, ...) are in no word, and where they
    are more than half of all characters this is None. lossy: the share of documents that do not come back,
    decode(encode(text)) != text, and characters_lost that of the characters that are missing then (ALGORITHMS.md, V19).
    renyi_efficiency, entropy_efficiency: over all ids of the vocabulary. gini: of costs; of tokens per character
    without parallel text. intervals: of the ratios, by name, from resampled documents; {} for a single document.
    without_text: groups that have no text, which are not in `groups`.
    """

    documents: int
    bytes: int
    characters: int
    words: int
    tokens: int
    vocabulary: int
    bytes_per_token: float
    characters_per_token: float
    tokens_per_word: float | None
    unknown: float | None
    lossy: float
    characters_lost: float
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
        return notes_of([("the tokenizer", self)])

    def tables(self) -> list[Table]:
        """Return the metrics, without the speed, which the next run changes; and the groups if there are several."""
        names = (
            "documents bytes tokens bytes_per_token characters_per_token tokens_per_word unknown lossy characters_lost "
            "used used_rarely renyi_efficiency entropy_efficiency"
        )
        rows: list[tuple[str, object, object]] = [
            (name.replace("_", " ").replace("renyi", "Renyi"), getattr(self, name), self.intervals.get(name))
            for name in names.split()
        ]
        if self.zipf is not None:
            rows += [("Zipf slope", self.zipf.slope, None), ("Zipf R2", self.zipf.r2, None)]
        if self.gini is not None:
            rows.append(
                (f"Gini of {'costs' if self.parallel else 'tokens per character'}", self.gini, self.gini_interval)
            )
        if self.morphology is not None:
            rows += [
                (f"morphemes, {name}", getattr(self.morphology, name), None) for name in ("precision", "recall", "f1")
            ]
        found = [Table(COLUMNS, rows, "Metrics of a tokenizer", "tab:metrics", by_row=True)]
        if len(self.groups) > 1:
            name, size = ratio_name(self.parallel), len(GROUP_COLUMNS)
            groups = [(*[*vars(one).values()][:size], *one.ratio(self.parallel)) for one in self.groups]
            found.append(
                Table((*GROUP_COLUMNS, name, f"{name}, interval"), groups, "Groups of documents", "tab:groups")
            )
        return found

    def to_frame(self) -> Any:
        """Return the metrics as a pandas DataFrame, or the groups if there are several."""
        return frame(*self.tables()[-1][:2])

    def plot(
        self, kind: Literal["zipf", "groups", "costs"] | None = None, *, title: str | None = None, ax: Any = None
    ) -> Any:
        """Return a matplotlib figure: frequency over rank, or the groups: bytes per token or costs, with intervals.

        kind: None for the costs of parallel text, the bytes per token of other groups, and frequencies without groups.
        title: what was measured. ax: the axes to draw in; None for a new figure.
        """
        from subwords.study.plots import plot_bars, plot_zipf

        if kind is None:
            kind = "zipf" if len(self.groups) < 2 else "costs" if self.parallel else "groups"
        check_choice("kind", kind, ("zipf", "groups", "costs"))
        if kind == "zipf":
            return plot_zipf(self.frequencies, self.zipf, title, ax)
        if kind == "costs" and (len(self.groups) < 2 or not self.parallel):
            raise InputError(
                "no costs to plot: a cost is relative to another group of documents, in parallel=True text"
            )
        return plot_bars([("", bars_of(self, costs=kind == "costs"))], self.notes(), title, ax, costs=kind == "costs")


def bars_of(found: Evaluation, *, costs: bool) -> list[Bar]:
    """Return the cost of each group, or its bytes per token, as bars of a plot."""
    if costs:
        return [(group.name, group.cost, group.cost_interval) for group in found.groups]
    return [(group.name, group.bytes_per_token, group.interval) for group in found.groups]


@dataclass(frozen=True)
class Settings:
    """The settings of `evaluate` that decide what is made of the sums."""

    order: float
    confidence: float
    resamples: int
    seed: int
    parallel: bool
    reference: str | None

    def __post_init__(self) -> None:
        check_order(self.order)
        check_confidence(self.confidence, self.resamples, self.seed)
        check_flag("parallel", self.parallel)


def unknown_text(shares: Sequence[tuple[str, float | None]]) -> list[str]:
    """Return a warning if the unknown token stands for text: its share of the ids, for each name.

    >>> unknown_text([("a", 0.25), ("b", 0.0), ("c", None)])
    ['Unknown text: a turns it into the unknown token (25 % of its ids), so its compression is not comparable.']
    """
    many = [
        f"{name} turns it into the unknown token ({100 * share:.3g} % of its ids)" for name, share in shares if share
    ]
    return [f"Unknown text: {'; '.join(many)}, so its compression is not comparable."] if many else []


def notes_of(found: Sequence[tuple[str, Evaluation]]) -> list[str]:
    """Return what the tables leave out of evaluations of one corpus, and warnings of unknown and of changed text."""
    first = found[0][1]
    notes = ["A single document has no interval: intervals need two or more."] if first.documents == 1 else []
    if first.without_text:
        notes.append(f"Groups without text, left out: {', '.join(map(repr, first.without_text))}.")
    many = [
        f"{name} does not give back {100 * one.lossy:.3g} % of the texts ({100 * one.characters_lost:.2g} % of the "
        "characters)"
        for name, one in found
        if one.lossy
    ]
    lost = [f"Lost text: {'; '.join(many)}, so its compression is not comparable."] if many else []
    return notes + unknown_text([(name, one.unknown) for name, one in found]) + lost


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
    """Measure a tokenizer on a corpus (see `count`): compression, fertility, use of the vocabulary, cost.

    by: groups the documents: the name of a column of rows, such as "language", or "file"; a dict of corpora has its
    groups already. parallel: document k of every group says the same, so a group's cost is its number of tokens
    relative to `reference`; otherwise tokens per character are compared. reference: the group that costs are relative
    to; None is the first. gold: a file of words with their morphemes, `word TAB mor pheme s`. order: the order of
    Renyi's entropy. confidence: the level of the intervals, which are percentiles of resampled documents; a single
    document has none. resamples: how many samples of the documents are drawn for the intervals. seed: the
    seed of these samples. The others are as in `count`. Raises CorpusError for an empty corpus.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=262)
    >>> found = subwords.study.evaluate(tok, ["low lowest", "lower"])
    >>> found.tokens, found.bytes_per_token, found.tokens_per_word
    (6, 2.5, 2.0)

    Source: V. Zouhar et al., 2023 (Renyi efficiency); A. Petrov et al., 2023 (cost of languages).
    """
    tokenizer = tokenizer_of(tokenizer)
    settings = Settings(order, confidence, resamples, seed, parallel, reference)
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
    if not sums.tokens.sum(axis=1).all():
        raise CorpusError("no tokens to evaluate: a tokenizer gives no ids for this text, such as whitespace alone")
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
    lossy = float(sums.lossy[number].mean())
    if 0 < lossy < 1:  # without a text of either kind, resamples have none
        ratios["lossy"] = (LOSSY, DOCUMENTS)
    spaced = int(texts[WORDS]) > 0 and 2 * int(texts[SPACELESS_CHARACTERS]) <= int(texts[CHARACTERS])
    if spaced:
        ratios["tokens_per_word"] = (TOKENS, WORDS)
    intervals = {
        name: found
        for name, (above, below) in ratios.items()
        if (found := resampled.interval(_ratio(above, below), settings.confidence)) is not None
    }
    groups, unequal = _groups(sums, number, settings, intervals.get("bytes_per_token"))
    seconds = sums.seconds[number]
    return Evaluation(
        documents=len(sums.groups),
        bytes=int(texts[BYTES]),
        characters=int(texts[CHARACTERS]),
        words=int(texts[WORDS]),
        tokens=tokens,
        vocabulary=size,
        bytes_per_token=int(texts[BYTES]) / tokens,
        characters_per_token=int(texts[CHARACTERS]) / tokens,
        tokens_per_word=over(tokens, texts[WORDS]) if spaced else None,
        unknown=None if unk is None else over(int(counts[unk]), tokens),
        lossy=lossy,
        characters_lost=sums.missing[number] / int(texts[CHARACTERS]),
        used=int(used.sum()) / size,
        used_rarely=int((used & (counts < RARE_USES)).sum()) / size,
        renyi_efficiency=renyi_efficiency(counts, order=settings.order, vocabulary=size),
        entropy_efficiency=renyi_efficiency(counts, order=1.0, vocabulary=size),
        zipf=zipf(counts, RANKS),
        groups=groups,
        gini=unequal[0],
        gini_interval=unequal[1],
        morphology=morphology,
        intervals=intervals,
        confidence=settings.confidence,
        order=settings.order,
        bytes_per_second=over(texts[BYTES], seconds),
        skipped=sums.tally.skipped,
        frequencies=tuple(np.sort(counts[used])[::-1].tolist()),
        without_text=sums.without_text,
        parallel=settings.parallel,
    )


def _resampled(sums: Measured, number: int, settings: Settings, group: int | None = None) -> Resampled:
    """Return sums of BYTES to DOCUMENTS over resampled documents; each group has draws of its own."""
    chosen = slice(None) if group is None else sums.groups == group
    tokens, lossy = sums.tokens[number][chosen], sums.lossy[number][chosen]
    columns = [*sums.texts[:TOKENS, chosen], tokens, lossy, np.ones_like(tokens)]
    return Resampled(columns, resamples=settings.resamples, seed=settings.seed + (group or 0))


def _ratio(above: int, below: int) -> Any:
    return lambda sums: sums[:, above] / sums[:, below]


def _check_groups(sums: Measured, settings: Settings) -> None:
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
            raise CorpusError(
                f"parallel text needs the same number of documents in every group, found {counted!r:.300}"
            )


def _groups(
    sums: Measured, number: int, settings: Settings, whole: Interval | None
) -> tuple[tuple[Group, ...], tuple[float | None, Interval | None]]:
    """Return the groups, and their Gini coefficient with its interval; the only group has the interval of the whole."""
    _check_groups(sums, settings)
    found, drawn = list[Group](), list[NDArray[np.float64]]()
    for group, name in enumerate(sums.names):
        texts, every = sums.sums(group)
        size, own, interval = int((sums.groups == group).sum()), int(every[number]), whole
        if len(sums.names) > 1:
            resampled = _resampled(sums, number, settings, group)
            interval = resampled.interval(_ratio(BYTES, TOKENS), settings.confidence)
            drawn.append(resampled.values(_ratio(TOKENS, CHARACTERS)))
        ratios = over(texts[BYTES], own), interval, over(texts[CHARACTERS], own)
        found.append(Group(name, size, int(texts[BYTES]), own, *ratios))
    if len(found) < 2:
        return tuple(found), (None, None)
    if settings.parallel:  # document k of every group is drawn together
        values = np.array([float(one.tokens) for one in found])
        columns = [sums.tokens[number][sums.groups == k] for k in range(len(found))]
        rows = Resampled(columns, resamples=settings.resamples, seed=settings.seed).sums
    else:
        values = np.array([one.tokens / int(sums.sums(k)[0][CHARACTERS]) for k, one in enumerate(found)])
        rows = np.column_stack(drawn)
    unequal = float(gini(values)), percentiles(np.asarray(gini(rows)), settings.confidence)
    base = sums.names.index(settings.reference or sums.names[0])
    return (tuple(_related(found, values, rows, base, settings)) if values[base] else tuple(found)), unequal


def _related(
    found: list[Group], values: NDArray[np.float64], rows: NDArray[np.float64], base: int, settings: Settings
) -> Iterator[Group]:
    """Yield the groups with their ratios to one of them. rows: the values of resamples."""
    for k, one in enumerate(found):
        with np.errstate(divide="ignore", invalid="ignore"):
            interval = None if k == base else percentiles(rows[:, k] / rows[:, base], settings.confidence)
        ratio = float(values[k] / values[base])
        if settings.parallel:
            yield replace(one, cost=ratio, cost_interval=interval)
        else:
            yield replace(one, relative=ratio, relative_interval=interval)


# ---------------------------------------------------------------------------------------------------------------------
# Use: what tokenizers do on text, document by document as `evaluate` does, or on word counts (V1 to V4).

# Options of `train` that are not settings of a model.
NO_SETTINGS = ("splitter", "normalizer", "template", "roles", "min_documents", "threads", "progress")
SETTINGS = Settings(2.5, 0.95, 1000, 0, False, None)  # the defaults of `evaluate`


@dataclass(frozen=True, eq=False)
class Use:
    """What a tokenizer does on a corpus.

    bytes: of the documents as given; None if word counts do not know it. Ratios are None where that or tokens are
    missing. Word counts have no documents, thus no interval and no groups, and no words as V2 defines them.
    """

    tokens: int
    bytes: int | None
    bytes_per_token: float | None
    unknown: float | None
    used: float
    interval: Interval | None = None
    tokens_per_word: float | None = None
    groups: tuple[Group, ...] = ()


def over(above: Any, below: Any) -> float | None:
    """Return a ratio; None if there is nothing to divide, or to divide by."""
    return None if above is None or not below else float(above) / float(below)


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
        values: dict[str, Any] = {each.name: getattr(one, each.name, None) for each in fields(Use)}
        values |= {"interval": one.intervals.get("bytes_per_token"), "groups": one.groups * (len(one.groups) > 1)}
        found.append(Use(**values))
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
    rules = splitting_rules(
        algorithm,
        settings_of_family(algorithm, model),
        given.get("splitter", "auto"),
        given.get("normalizer", "auto"),
    )
    how = {name: given.get(name) for name in ("memory", "threads", "progress")}
    return counted(source, reading_of(reading), rules, document_frequencies="min_documents" in given, **how)
