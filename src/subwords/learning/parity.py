"""The loop of parity-aware training: several languages, one list of merges (B11). Python orchestrates, kernels loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.kernels import layout
from subwords.kernels.layout import MergeRules, ParityTraining, SymbolWords
from subwords.learning.indexing import Unindexed, index_pairs, pair_table
from subwords.learning.limits import Limits, Step
from subwords.learning.merging import BETWEEN_LOOKS, CountLoop
from subwords.support.memory import zeros
from subwords.support.threads import in_threads

__all__ = ["Choice", "ParityLoop"]

ROOM = 1 << 10  # pairs, in a region without any


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
        self.heap = zeros(layout.HEAP.width * (4 * int(self.counters[layout.TALLY.pairs_used]) + ROOM), np.uint64)
        self.touched = np.zeros(4, np.int32)
        start_heap(self._training)

    def _room(self, pairs: int) -> int:
        return 2 * pairs + ROOM  # 8 times: no faster, after pooled merges half as fast


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
        symbols, self._rows[:, layout.REGION.symbols_at] = _joined([one.words.symbols for one in regions])
        postings, self._rows[:, layout.REGION.postings_at] = _joined([one.postings for one in regions])
        counters, _ = _joined([one.counters for one in regions])
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
        return pair_table(pairs + ROOM), zeros(2 * layout.HEAP.width * (pairs + ROOM), np.uint64)


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


def _joined(arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the arrays as one, and where each begins."""
    sizes = np.array([len(array) for array in arrays], np.int64)
    return np.concatenate(arrays), np.cumsum(sizes) - sizes
