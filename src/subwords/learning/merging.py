"""The loop that merges the best pair. Python orchestrates, kernels loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.corpus.counts import WordCounts
from subwords.errors import TrainingError
from subwords.kernels import layout
from subwords.kernels.layout import MergeRules, MergeTraining, SymbolWords
from subwords.learning.indexing import Unindexed, index_pairs, pair_table
from subwords.learning.limits import TIES, Limits, Step
from subwords.support.memory import zeros

__all__ = ["CountLoop", "MergeLoop", "check_size", "merge_symbols", "merge_words", "order_of", "read_words"]

MOST_SYMBOLS = 2**32 - 1
MOST_RARE = 1 << 10  # words with a smaller count are sorted by it
BETWEEN_LOOKS = 256  # merges between two updates of the progress line


def read_words(counts: WordCounts, symbol_ids: NDArray[np.int32], *, in_order: bool) -> SymbolWords:
    """Return the words as symbols, in the layout of kernels/bpe/index.py; `in_order`: in the order of the counts.

    Otherwise frequent words come first, and nearly all words of equal count are in one run.
    """
    from subwords.kernels.named import fill_symbols

    check_size(counts, len(counts.data) + len(counts) + 1)
    order = np.arange(len(counts)) if in_order else order_of(counts.counts)
    symbols = zeros(len(counts.data) + len(counts) + 1, np.uint32, random=True)
    starts, weights = zeros(len(counts) + 2, np.uint32), zeros(len(counts), np.uint64)
    runs = fill_symbols(
        counts.data, counts.offsets, counts.counts, order, symbol_ids, SymbolWords(symbols, starts, weights)
    )
    return SymbolWords(symbols[: starts[runs + 1]], starts[: runs + 1], weights[:runs])


def order_of(counts: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order in which frequent words come first; rare words are sorted by count."""
    rare = (MOST_RARE - np.minimum(counts, np.uint64(MOST_RARE))).astype(np.uint16)
    return np.argsort(rare, kind="stable")  # of 16 bits: a radix sort


def check_size(counts: WordCounts, size: int) -> None:
    """Raise TrainingError for too many words: their arena would have `size` elements."""
    if counts.total * (1 + int(np.diff(counts.offsets).max())) >= 2**63 or size > MOST_SYMBOLS:
        raise TrainingError(f"too many symbols or pairs: {counts!r} exceeds 2**32 symbols or 2**63 pairs")


def merge_words(
    counts: WordCounts,
    symbol_ids: NDArray[np.int32],
    base: Sequence[bytes],
    settings: Limits,
    on_step: Step | None = None,
    *,
    prefix: int = 0,
    rules: MergeRules | None = None,
) -> tuple[Vocab, NDArray[np.int64]]:
    """Learn tokens from words of `base` tokens; return the vocabulary and the merges (left, right, merged).

    symbol_ids: see kernels/bpe/index.py. `prefix`: the number of leading bytes of the right token that a merge drops.
    rules: which pairs may merge, for the tokens of `base`; None for all.
    """
    words = read_words(counts, symbol_ids, in_order=settings.tie_break == "first")
    threshold = counts.total // (16 * settings.vocab_size)
    return merge_symbols(words, threshold, base, settings, on_step, prefix=prefix, rules=rules)


def merge_symbols(
    words: SymbolWords,
    threshold: int,
    base: Sequence[bytes],
    settings: Limits,
    on_step: Step | None = None,
    *,
    prefix: int = 0,
    rules: MergeRules | None = None,
    threads: int = 1,
) -> tuple[Vocab, NDArray[np.int64]]:
    """As `merge_words`, with words as symbols, the ids of `base`. threshold, threads: see `CountLoop`."""
    loop = CountLoop(words, threshold, base, settings, prefix, rules, threads)
    loop.run(on_step or (lambda phase, done, total: None))
    return loop.vocab, loop.learned[0]


class MergeLoop(ABC):
    """A training run that merges the best pair again and again."""

    lowering: int  # the threshold is divided by this if no pair reaches it
    lead = b""  # what `strings` begins with, before the first token

    def __init__(self, settings: Limits, threshold: int) -> None:
        self.size = settings.vocab_size
        self.counters = np.zeros(layout.TALLY.width, np.int64)
        self.settings = train_settings(settings, threshold)

    def _name_base(self, base: Sequence[bytes]) -> None:
        """Enter the strings of the first tokens."""
        self.tokens = np.zeros(layout.TOKEN.width * (self.size + 2), np.int64)
        rows = self.tokens.reshape(-1, layout.TOKEN.width)
        rows[:, [layout.TOKEN.last_left, layout.TOKEN.last_right]] = layout.MISSING
        first = Vocab.of(base)
        ends = first.offsets + len(self.lead)
        rows[: len(ends), layout.TOKEN.string] = ends
        self.strings = np.empty(max(1 << 16, 16 * self.size + int(ends[-1])), np.uint8)
        self.strings[: ends[-1]] = np.frombuffer(self.lead + first.data[: first.offsets[-1]].tobytes(), np.uint8)
        self.counters[[layout.TALLY.tokens, layout.TALLY.strings_used]] = len(base), ends[-1]

    @property
    def vocab(self) -> Vocab:
        """The tokens learned so far."""
        offsets = self.tokens.reshape(-1, layout.TOKEN.width)[
            : self.counters[layout.TALLY.tokens] + 1, layout.TOKEN.string
        ] - len(self.lead)
        return Vocab(self.strings[len(self.lead) : self.counters[layout.TALLY.strings_used]].tobytes(), offsets)

    def run(self, on_step: Step) -> None:
        """Merge until vocab_size is reached or no pair is frequent enough (B4)."""
        on_step("indexing", 0, 1)
        self._index()
        on_step("indexing", 1, 1)
        base = int(self.counters[layout.TALLY.tokens])
        while True:  # the kernel returns every BETWEEN_LOOKS merges, which also lets an interrupt through
            self.settings[layout.TRAIN.pause] = self.counters[layout.TALLY.merges] + BETWEEN_LOOKS
            status = self._merge()
            learned = int(self.counters[layout.TALLY.tokens]) - base
            on_step("merging", learned, self.size - base)
            if status == layout.NEED_STRINGS:
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            elif (
                status == layout.EXHAUSTED and self.settings[layout.TRAIN.threshold] > self.settings[layout.TRAIN.floor]
            ):
                self.settings[layout.TRAIN.threshold] = max(
                    self.settings[layout.TRAIN.floor], self.settings[layout.TRAIN.threshold] // self.lowering
                )
                self._index()
            elif status in (layout.DONE, layout.EXHAUSTED):
                on_step("merging", learned, learned)
                return
            elif status != layout.PAUSED:
                self._answer(status)

    @abstractmethod
    def _index(self) -> None:
        """Find all pairs of the words that reach the threshold."""

    @abstractmethod
    def _merge(self) -> int:
        """Merge until the kernel needs something; return its status."""

    @abstractmethod
    def _answer(self, status: int) -> None:
        """Do the work that the kernel needs before it can continue."""


class CountLoop(MergeLoop):
    """Merges the most frequent pair.

    threshold: about the least count of a pair that will be merged. Counts down to the least are found in any case: only
    the time depends on it. threads: that find the first pairs of many symbols; one thread merges.
    """

    lowering = 4

    def __init__(
        self,
        words: SymbolWords,
        threshold: int,
        base: Sequence[bytes],
        settings: Limits,
        prefix: int,
        rules: MergeRules | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(settings, max(1, settings.min_frequency, threshold))
        self.words, self.threads = words, threads
        self.settings[layout.TRAIN.ruled] = rules is not None or settings.max_token_length is not None
        self.rules = rules_of(len(base), self.size, rules) if self.settings[layout.TRAIN.ruled] else NO_RULES
        self.settings[layout.TRAIN.prefix_bytes] = prefix
        self.merges = np.empty(layout.MERGE.width * self.size, np.int32)
        self._name_base(base)
        self.tokens.reshape(-1, layout.TOKEN.width)[: len(base), layout.TOKEN.span] = 1

    @property
    def learned(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The merges so far (left, right, merged), and the count of each pair at its turn."""
        rows = (
            self.merges[: layout.MERGE.width * self.counters[layout.TALLY.merges]]
            .astype(np.int64)
            .reshape(-1, layout.MERGE.width)
        )
        return rows[:, : layout.MERGE.merged + 1], rows[:, layout.MERGE.count_low] | rows[
            :, layout.MERGE.count_high
        ] << layout.COUNT_BITS

    def _merge(self) -> int:
        from subwords.kernels.named import merge_pairs

        return merge_pairs(self._training)

    def _answer(self, status: int) -> None:
        assert status == layout.NEED_PAIRS
        self._grow_pairs()

    @property
    def _training(self) -> MergeTraining:
        """Return everything that the kernel works on."""
        return MergeTraining(
            self.words,
            self.pairs,
            self.postings,
            self.heap,
            self.buffer,
            self.touched,
            self.tokens,
            self.strings,
            self.merges,
            self.rules,
            self.counters,
            self.settings,
        )

    def _index(self) -> None:
        """Find the live pairs of the words, with their postings and the heap."""
        from subwords.kernels.named import start_heap

        source = Unindexed(self.words, self.tokens, self.rules, self.settings)
        self.pairs, self.postings = index_pairs(source, self.counters, self._room, self.threads)
        self.buffer = zeros(layout.BUFFER.width * len(self.words.symbols) + 64, np.uint32, random=True)
        self.heap = zeros(layout.HEAP.width * (len(self.pairs) // layout.PAIR.width), np.uint64)
        self.touched = np.empty(2 * self.size + 4, np.int32)
        start_heap(self._training)

    def _room(self, pairs: int) -> int:
        return pairs + 2 * self.size + 4

    def _grow_pairs(self) -> None:
        from subwords.kernels.named import move_pairs

        pairs = pair_table(self._room(2 * int(self.counters[layout.TALLY.pairs_used])))
        move_pairs(self.pairs, pairs, int(self.settings[layout.TRAIN.threshold]), self.counters)
        self.pairs = pairs
        used = layout.HEAP.width * int(self.counters[layout.TALLY.heap_size])
        heap = np.empty(max(len(self.heap), 2 * used + layout.HEAP.width * (2 * self.size + 4)), np.uint64)
        heap[:used] = self.heap[:used]
        self.heap = heap


NO_RULES = MergeRules(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint8), np.zeros(0, np.int32))


def rules_of(base: int, size: int, rules: MergeRules | None = None) -> MergeRules:
    """Return rules with room for all tokens, of which there are `base` now; by default all may merge."""
    if rules is None:
        rules = MergeRules(np.ones(base, np.int32), np.zeros(base, np.uint8), np.zeros(1, np.uint8), NO_RULES.taken)
    lengths, classes = np.zeros(size + 2, np.int32), np.zeros(size + 2, np.uint8)
    lengths[:base], classes[:base] = rules.lengths, rules.classes
    return MergeRules(lengths, classes, rules.joined, rules.taken)


def train_settings(settings: Limits, threshold: int) -> NDArray[np.int64]:
    """Return a trainer's settings in the layout of the kernels."""
    found = np.zeros(layout.TRAIN.width, np.int64)
    found[layout.TRAIN.threshold], found[layout.TRAIN.floor] = threshold, max(1, settings.min_frequency)
    found[layout.TRAIN.vocab_size], found[layout.TRAIN.tie] = settings.vocab_size, TIES[settings.tie_break]
    found[layout.TRAIN.max_length], found[layout.TRAIN.specials] = (
        settings.max_token_length or 0,
        len(settings.special_tokens),
    )
    return found
