"""train_parity: one BPE vocabulary with about equal token cost across languages (B11)."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.words import apart_ids, symbol_words_of_ids
from subwords.corpus.counts import MOST_COUNTED, WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.engine.encoder import word_ids
from subwords.kernels import layout
from subwords.kernels.layout import MergeRules, ParityTraining, SymbolWords
from subwords.models.bpe.train import initial_tokens, model_of
from subwords.models.families import family_named
from subwords.models.learning import (
    BETWEEN_LOOKS,
    CountLoop,
    Limits,
    Step,
    Unindexed,
    character_rules,
    check_size,
    index_pairs,
    merge_words,
    pair_table,
    read_symbol_words,
)
from subwords.models.settings import BPESettings
from subwords.spec.token_batch import batch_of
from subwords.spec.vocab import Vocab
from subwords.support.checks import check_choice, check_integer, check_number
from subwords.support.errors import CorpusError, InputError, SubwordsWarning, TrainingError
from subwords.support.memory import zeros
from subwords.support.report import Report, Table
from subwords.support.threads import in_threads, thread_count
from subwords.tokenizer import Tokenizer
from subwords.training.count import counts_of
from subwords.training.train import cut_marks, family_settings, splitting_rules

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source
    from subwords.normalize.resolve import NormalizerLike, SplitterLike

__all__ = ["LanguageCost", "Parity", "train_parity"]


# ---------------------------------------------------------------------------------------------------------------------
# The loop of parity-aware training: several languages, one list of merges (B11). Python orchestrates, kernels loop.

ROOM_PAIRS = 1 << 10  # pairs, in a region without any


@dataclass(frozen=True)
class Choice:
    """How the language of a merge is chosen.

    scales: the cost of a language is its number of symbols times this. window, most_picks: a language is left out if it
    was chosen `most_picks` times in the last `window` merges; 0 for no window.
    """

    scales: NDArray[np.float64]
    window: int = 0
    most_picks: int = 0


class _Region(CountLoop):
    """The words of one language, all of whose pairs are live."""

    def __init__(self, words: SymbolWords, base: list[bytes], settings: Limits, rules: MergeRules | None) -> None:
        super().__init__(words, 0, base, settings, 0, rules)
        self.settings[layout.TRAIN.threshold] = 1

    def _index(self) -> None:
        from subwords.kernels.named import start_heap

        source = Unindexed(self.words, self.tokens, self.rules, self.settings)
        self.pairs, self.postings = index_pairs(source, self.counters, self._room)
        self.buffer = np.zeros(layout.BUFFER.width, np.uint32)
        self.heap = zeros(layout.HEAP.width * (4 * int(self.counters[layout.TALLY.pairs_used]) + ROOM_PAIRS), np.uint64)
        self.touched = np.zeros(4, np.int32)
        start_heap(self._training)

    def _room(self, pairs: int) -> int:
        return 2 * pairs + ROOM_PAIRS  # 8 times: no faster, after pooled merges half as fast


class ParityLoop:
    """A training run on several languages.

    words: of each language; then, if there are words for measuring, those of each language. sizes: the number of
    symbols of each of these, with repetitions. base, settings, rules: as in `merge_words`.
    """

    def __init__(
        self,
        words: Sequence[SymbolWords],
        sizes: Sequence[int],
        base: list[bytes],
        settings: Limits,
        choice: Choice,
        rules: MergeRules | None = None,
    ) -> None:
        self._regions = [_Region(part, base, settings, rules) for part in words]
        first, languages = self._regions[0], len(choice.scales)
        self.first, self.sizes = first, np.array(sizes, np.int64)
        self.scales = np.ascontiguousarray(choice.scales, np.float64)
        self.choice = np.zeros(layout.CHOICE.width, np.int64)
        self.choice[[layout.CHOICE.languages, layout.CHOICE.regions, layout.CHOICE.measured_from]] = (
            languages,
            len(words),
            len(words) - languages,
        )
        self.choice[[layout.CHOICE.window, layout.CHOICE.most_picks]] = choice.window, choice.most_picks
        self.recent, self.picks = np.zeros(2 * languages, np.int64), np.zeros(first.size, np.int32)

    def run(self, on_step: Step, threads: int = 1) -> None:
        """Merge until vocab_size is reached or no language has a pair that is frequent enough."""
        from subwords.kernels.named import merge_in_parity

        on_step("indexing", 0, len(self._regions))
        for one in self._regions:
            one.tokens = self.first.tokens
        in_threads(_Region._index, self._regions, threads)
        on_step("indexing", len(self._regions), len(self._regions))
        training, settings = self._packed(), self.first.settings
        base = int(training.counters[layout.TALLY.tokens])
        while True:
            settings[layout.TRAIN.pause] = training.counters[layout.TALLY.merges] + BETWEEN_LOOKS
            status = merge_in_parity(training)
            learned = int(training.counters[layout.TALLY.tokens]) - base
            on_step("merging", learned, int(settings[layout.TRAIN.vocab_size]) - base)
            if status == layout.NEED_STRINGS:
                more = np.concatenate([training.strings, np.empty_like(training.strings)])
                training = training._replace(strings=more)
                self.first.strings = more
            elif status == layout.NEED_PAIRS:
                self._grow(int(self.choice[layout.CHOICE.needing]))
                training = training._replace(pairs=self._pairs.array, heap=self._heap.array)
            elif status != layout.PAUSED:
                assert status in (layout.DONE, layout.EXHAUSTED)
                on_step("merging", learned, learned)
                return

    @property
    def vocab(self) -> Vocab:
        """The tokens learned so far."""
        return self.first.vocab

    @property
    def learned(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """The merges so far (left, right, merged), the count of each pair in its language, and the languages."""
        merges, counts = self.first.learned
        return merges, counts, self.picks[: len(merges)]

    def _packed(self) -> ParityTraining:
        """Put the regions into common arrays, and let them work on their parts."""
        regions, first = self._regions, self.first
        self._rows = np.zeros((len(regions), layout.REGION.width), np.int64)
        self._rows[:, layout.REGION.runs] = [len(one.words.weights) for one in regions]
        self._rows[:, layout.REGION.runs_at] = (
            np.cumsum(self._rows[:, layout.REGION.runs]) - self._rows[:, layout.REGION.runs]
        )
        symbols, self._rows[:, layout.REGION.symbols_at] = _concatenated([one.words.symbols for one in regions])
        postings, self._rows[:, layout.REGION.postings_at] = _concatenated([one.postings for one in regions])
        counters, _ = _concatenated([one.counters for one in regions])
        self._pairs, self._heap = _Blocks(layout.PAIR.width), _Blocks(layout.HEAP.width)
        for number, one in enumerate(regions):
            one.counters = counters.reshape(len(regions), -1)[number]
            self._place(number)
        most = 2 * max(len(one.words.symbols) for one in regions) + 64
        return ParityTraining(
            symbols=symbols,
            starts=np.concatenate([one.words.starts for one in regions]),
            weights=np.concatenate([one.words.weights for one in regions]),
            pairs=self._pairs.array,
            postings=postings,
            heap=self._heap.array,
            buffer=zeros(layout.BUFFER.width * most, np.uint32, random=True),
            touched=np.empty(2 * first.size + 4, np.int32),
            tokens=first.tokens,
            strings=first.strings,
            merges=first.merges,
            rules=first.rules,
            counters=counters,
            settings=first.settings,
            regions=self._rows.ravel(),
            sizes=self.sizes,
            scales=self.scales,
            choice=self.choice,
            recent=self.recent,
            picks=self.picks,
        )

    def _place(self, number: int) -> None:
        """Put a region's pairs and heap into the common arrays."""
        row, one = self._rows[number], self._regions[number]
        row[layout.REGION.pairs_at] = self._pairs.put(
            one.pairs, len(one.pairs), int(row[layout.REGION.pairs_at]), int(row[layout.REGION.pairs])
        )
        used = layout.HEAP.width * int(one.counters[layout.TALLY.heap_size])
        row[layout.REGION.heap_at] = self._heap.put(
            one.heap, used, int(row[layout.REGION.heap_at]), int(row[layout.REGION.heap_room])
        )
        row[[layout.REGION.pairs, layout.REGION.heap_room]] = (
            len(one.pairs) // layout.PAIR.width,
            len(one.heap) // layout.HEAP.width,
        )
        one.pairs = one.heap = np.zeros(0, np.uint64)

    def _grow(self, number: int) -> None:
        """Give a region room for more pairs; pairs that no longer occur leave the table, and the heap."""
        from subwords.kernels.named import move_pairs, start_heap

        row, one = self._rows[number], self._regions[number]
        old = self._pairs.block(int(row[layout.REGION.pairs_at]), int(row[layout.REGION.pairs]))
        counts = old.reshape(-1, layout.PAIR.width)[:, layout.PAIR.count]
        live = int(np.count_nonzero((counts != 0) & (counts != layout.NO_KEY)))
        one.pairs, one.heap = self._room(2 * live + int(self.choice[layout.CHOICE.needed_pairs]))
        move_pairs(old, one.pairs, 1, one.counters)
        start_heap(one._training)
        self._place(number)

    def _room(self, pairs: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return pair_table(pairs + ROOM_PAIRS), zeros(2 * layout.HEAP.width * (pairs + ROOM_PAIRS), np.uint64)


class _Blocks:
    """Blocks of rows in one array that grows at its end."""

    def __init__(self, row: int) -> None:
        self._row, self._used = row, 0
        self.array: NDArray[np.uint64] = zeros(0, np.uint64)

    def put(self, rows: NDArray[np.uint64], used: int, start: int, number: int) -> int:
        """Put rows, `used` elements of which are in use, in place of old ones, or at the end if they are more."""
        if len(rows) > number * self._row:
            start, before = self._used // self._row, self._used
            self._used += len(rows)
            if self._used > len(self.array):
                # Room that is not written to costs no memory.
                more = zeros(4 * self._used, np.uint64)
                more[:before] = self.array[:before]
                self.array = more
        self.array[start * self._row : start * self._row + used] = rows[:used]
        return start

    def block(self, start: int, number: int) -> NDArray[np.uint64]:
        """Return so many rows from a row on."""
        return self.array[start * self._row : (start + number) * self._row]


def _concatenated(arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the arrays as one, and where each begins."""
    sizes = np.array([len(array) for array in arrays], np.int64)
    return np.concatenate(arrays), np.cumsum(sizes) - sizes


# ---------------------------------------------------------------------------------------------------------------------
# The merges of parity-aware training (B11): the first ones of all languages together, then each of one language.


@dataclass(frozen=True)
class ParityMerges:
    """What was learned. merges: left, right, merged. picks: the language of each, or NO_LANGUAGE.

    before, after: the number of symbols of the measured words of each language, with repetitions.
    """

    vocab: Vocab
    merges: NDArray[np.int64]
    picks: NDArray[np.int32]
    before: list[int]
    after: list[int]


def parity_merges(
    counts: Sequence[WordCounts],
    measured: Sequence[WordCounts] | None,
    settings: BPESettings,
    choice: Choice,
    *,
    pooled: int = 0,
    threads: int | None = None,
    on_step: Step = lambda *_: None,
) -> ParityMerges:
    """Learn from the words of each language. measured: whose symbols are its cost; None for the words themselves.

    pooled: how many of the first merges are the best ones of all languages together, as in plain training.
    """
    parts = [*counts, *(measured or [])]
    for part in parts:
        check_size(part, len(part.data) + len(part) + 1)
    pool = counts[0]
    if pooled or not (settings.byte_level and settings.alphabet == "full"):
        pool = WordCounts.joined(counts)
    base, code_ids = initial_tokens(pool, settings)
    before = sizes = [_symbols(part, settings.byte_level) for part in parts]
    rules = character_rules(base) if settings.whole_characters else None
    first = np.zeros((0, 3), np.int64)
    if pooled:
        check_size(pool, len(pool.data) + len(pool) + 1)
        few = replace(settings, vocab_size=min(settings.vocab_size, len(base) + pooled))
        vocab, first = merge_words(pool, code_ids, base, few, on_step, rules=rules)
        base = [*vocab]
        words, sizes = _segmented(parts, vocab, first, settings, threads)
        rules = _rules_of(base, settings)
    else:
        words = [read_symbol_words(part, code_ids, in_order=False) for part in parts]
    loop = ParityLoop(words, sizes, base, settings, choice, rules)
    loop.run(on_step, thread_count(threads))
    merges, _, picks = loop.learned
    start = len(counts) if measured else 0
    return ParityMerges(
        loop.vocab,
        np.concatenate([first, merges]),
        np.concatenate([np.full(len(first), layout.NO_LANGUAGE, np.int32), picks]),
        before[start:],
        loop.sizes[start:].tolist(),
    )


def _segmented(
    parts: Sequence[WordCounts], vocab: Vocab, merges: NDArray[np.int64], settings: BPESettings, threads: int | None
) -> tuple[list[SymbolWords], list[int]]:
    """Return the words of each part after these merges, and the numbers of their symbols with repetitions."""
    model, words, sizes = model_of(vocab, merges, settings), [], []
    apart, at = apart_ids(model), 0
    every = word_ids(model, _one_after_the_other(parts), threads)
    for part in parts:
        offsets = every.offsets[at : at + len(part) + 1]
        ids = batch_of(every.ids[offsets[0] : offsets[-1]], offsets - offsets[0])
        words.append(symbol_words_of_ids(ids, part.counts, apart, in_order=False))
        sizes.append(int(np.dot(np.diff(offsets), part.counts.astype(np.int64))))
        at += len(part)
    return words, sizes


def _one_after_the_other(parts: Sequence[WordCounts]) -> WordCounts:
    """Return the words of all parts in one list: one encoder for all."""
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
    data, counts = (np.concatenate(arrays) for arrays in zip(*((one.data, one.counts) for one in parts), strict=True))
    return WordCounts(data, np.cumsum(lengths), counts, parts[0].provenance)


def _rules_of(tokens: list[bytes], settings: BPESettings) -> MergeRules | None:
    """Return the rules of merging for tokens of several symbols; None if all may merge."""
    if settings.whole_characters:
        return character_rules(tokens)
    if settings.max_token_length is None:
        return None
    size = len if settings.byte_level else lambda token: len(token.decode("utf-8", "replace"))
    lengths = np.fromiter(map(size, tokens), np.int32, len(tokens))
    return MergeRules(lengths, np.zeros(len(tokens), np.uint8), np.zeros(1, np.uint8), np.zeros(0, np.int32))


def text_length(counts: WordCounts) -> int:
    """Return the number of bytes of all words, with repetitions."""
    return int(np.dot(np.diff(counts.offsets), counts.counts.astype(np.int64)))


def _symbols(counts: WordCounts, byte_level: bool) -> int:
    """Return the number of bytes or characters of all words, with repetitions."""
    if byte_level:
        return text_length(counts)
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum((counts.data & 0xC0) != 0x80)])
    lengths: NDArray[np.int64] = np.diff(begins[counts.offsets])
    return int(np.dot(lengths, counts.counts.astype(np.int64)))


@dataclass(frozen=True)
class LanguageCost:
    """A language in parity-aware training.

    merges: how many it chose. before, after: the number of ids of its measured words, as single symbols and in the end,
    divided by its bytes (`per_byte`) or as it is.
    """

    name: str
    merges: int
    before: float
    after: float


@dataclass(frozen=True)
class Parity(Report):
    """What `train_parity` returns: the tokenizer, and how its merges were chosen.

    chosen: the language of each merge, in order of rank; None for those of all languages together. per_byte: whether
    costs are ids per byte; otherwise they are numbers of ids.
    """

    tokenizer: Tokenizer
    languages: tuple[LanguageCost, ...]
    chosen: tuple[str | None, ...]
    per_byte: bool

    def tables(self) -> list[Table]:
        """Return the languages; costs before and after, in the unit of `per_byte`."""
        rows = [tuple(vars(language).values()) for language in self.languages]
        return [Table(("language", "merges", "before", "after"), rows, "Costs of languages", "tab:parity")]

    def to_dict(self) -> dict[str, Any]:
        """Return the costs, for JSON."""
        return {
            "tokens": self.tokenizer.vocab_size,
            "unit": "ids per byte" if self.per_byte else "ids",
            "languages": [vars(language) for language in self.languages],
            "all": sum(name is None for name in self.chosen),
        }


def train_parity(
    languages: Mapping[str, Source | WordCounts],
    *,
    vocab_size: int,
    development: Mapping[str, Source | WordCounts] | None = None,
    ratios: Mapping[str, float] | None = None,
    pooled: int = 0,
    window: int = 0,
    window_share: float = 2.0,
    splitter: SplitterLike = "o200k",
    normalizer: NormalizerLike = "none",
    special_tokens: Sequence[str] = (),
    byte_level: bool = True,
    alphabet: Literal["full", "corpus"] = "full",
    tie_break: Literal["ids", "bytes"] = "ids",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    whole_characters: bool = False,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Parity:
    """Train BPE on several languages so that they cost about the same.

    Each merge is the best pair of the language with the highest cost so far.

    Defined in ALGORITHMS.md, B11.

    languages: a corpus (see `count`), or word counts of one splitter and normalizer, by language. development: parallel
    text by language; the cost of a language is then the number of its ids. Without it, the cost is ids per byte of the
    training text. ratios: a language may cost this many times as much as the others (1). pooled: this many of the first
    merges are the best of all languages together ("hybrid"). window: limits how often a language is chosen in this many
    merges; 0 for no limit. window_share: a language may choose this share of the window, divided by the number of
    languages. The others: as in `train`.

    Warns (SubwordsWarning) if there are fewer than vocab_size tokens. Raises InputError for options that do not fit,
    CorpusError or TrainingError for a language without words. Hazard: counts decide only within a language, so corpora
    of different sizes need no weights, and a tiny one gets merges that occur once unless min_frequency says otherwise.

    >>> import subwords
    >>> texts = {"en": ["the weather of the other"] * 9, "de": ["das Wetter der anderen"]}
    >>> found = subwords.research.train_parity(texts, vocab_size=264, splitter="gpt2")
    >>> [(language.name, language.merges, round(language.after, 2)) for language in found.languages]
    [('en', 3, 0.58), ('de', 5, 0.64)]

    Source: N. Foroutan, C. Meister et al., arXiv 2508.04796.
    """
    names = _language_names(languages)
    check_choice("tie_break", tie_break, ("ids", "bytes"))
    options: dict[str, Any] = {"byte_level": byte_level, "tie_break": tie_break, "min_frequency": min_frequency}
    options |= {"max_token_length": max_token_length, "whole_characters": whole_characters}
    options |= {"alphabet": alphabet} if byte_level else {}
    options |= {"vocab_size": vocab_size, "special_tokens": special_tokens}
    settings: BPESettings = family_settings("bpe", options)
    scales = _scales(names, ratios)
    limits = _window(window, window_share, len(names))
    check_integer("pooled", pooled, 0, MOST_COUNTED)
    rules = splitting_rules("bpe", settings, splitter, normalizer)

    def counted(name: str, source: Source | WordCounts) -> WordCounts:
        how = None if isinstance(source, WordCounts) else reading
        try:
            return counts_of(source, rules, reading=how, threads=threads, progress=progress)
        except CorpusError as error:
            raise CorpusError(f"{name}: {error}") from error

    counts = {name: counted(name, languages[name]) for name in names}
    _refuse_empty(counts, "")
    measured = None
    if development is not None:
        if not isinstance(development, Mapping):
            raise InputError(f"expected development as a dict of corpora by language, not {development!r:.60}")
        if {*development} != {*names}:
            raise InputError(f"expected development text of the languages {names!r:.200}, not {[*development]!r:.200}")
        measured = {name: counted(name, development[name]) for name in names}
        _refuse_empty(measured, "development ")
    shown = counts if measured is None else measured
    costs = [1.0 if measured else 1.0 / text_length(part) for part in shown.values()]
    choice = Choice(scales * np.array(costs), *limits)
    held = None if measured is None else [*measured.values()]
    with progress_line(None, "indexing", unit="tokens", enabled=progress) as bar:
        found = parity_merges(
            [*counts.values()], held, settings, choice, pooled=pooled, threads=threads, on_step=bar.phase
        )
    model = model_of(found.vocab, found.merges, settings)
    if len(model.vocab) < vocab_size:
        warnings.warn(
            f"fewer tokens than asked for: {len(model.vocab)} instead of {vocab_size}; no language has a pair left to "
            "merge. Use more text, or lower vocab_size or min_frequency",
            SubwordsWarning,
            stacklevel=2,
        )
    chosen = Counter(found.picks.tolist())
    rows = tuple(
        LanguageCost(name, chosen[k], found.before[k] * costs[k], found.after[k] * costs[k])
        for k, name in enumerate(names)
    )
    for name, part in counts.items():
        if warning := cut_marks(part, rules.splitter, family_named("bpe")):
            warnings.warn(f"{name}: {warning}", SubwordsWarning, stacklevel=2)
    order = tuple(None if pick == layout.NO_LANGUAGE else names[pick] for pick in found.picks.tolist())
    return Parity(Tokenizer(family_named("bpe").assemble(model, settings, *rules[:2])), rows, order, not measured)


def _language_names(languages: object) -> list[str]:
    if not isinstance(languages, Mapping) or not languages:
        raise InputError(f"expected a dict of corpora by language, not {languages!r:.60}")
    if wrong := [name for name in languages if not isinstance(name, str)]:
        raise InputError(f"expected the names of languages as texts, not {wrong[0]!r:.60}")
    return [*languages]


def _refuse_empty(counts: dict[str, WordCounts], what: str) -> None:
    if empty := [name for name, part in counts.items() if not len(part)]:
        raise TrainingError(f"no words to learn from: the {what}text of {', '.join(empty):.200} is empty")


def _scales(names: list[str], ratios: Mapping[str, float] | None) -> NDArray[np.float64]:
    if not isinstance(ratios, Mapping | None):
        raise InputError(f"expected ratios as a dict of numbers by language, not {ratios!r:.60}")
    given = dict(ratios or {})
    if unknown := [name for name in given if name not in names]:
        raise InputError(f"expected ratios of the languages {names!r:.200}, not of {unknown[0]!r:.60}")
    for name, ratio in given.items():
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < math.inf:
            raise InputError(f"expected the ratio of {name!r} to be a positive number, not {ratio!r:.60}")
    return 1.0 / np.array([float(given.get(name, 1.0)) for name in names])


def _window(window: int, window_share: float, languages: int) -> tuple[int, int]:
    """Return the window, and how many of its merges a language may choose."""
    check_integer("window", window, 0, MOST_COUNTED)
    check_number("window_share", window_share, 1)
    if window and window < languages:
        raise InputError(f"expected a window of at least {languages} merges, one for each language, not {window}")
    return window, max(1, int(window_share * window / languages))


def __dir__() -> list[str]:
    return [*__all__]
