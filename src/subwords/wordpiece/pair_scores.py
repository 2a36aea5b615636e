"""The arrays of the training loop in kernels/wordpiece/train.py, and exact comparison of likelihood gains."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.kernels.layout import ScoreTraining
from subwords.learning.indexing import grown, live_in, pair_table
from subwords.learning.limits import Limits
from subwords.learning.merging import MergeLoop, check_size
from subwords.support.memory import zeros
from subwords.wordpiece.likelihood import compare_gains

__all__ = ["SCORES", "ScoreLoop", "read_words"]

SCORES = {"likelihood": layout.LIKELIHOOD, "course": layout.COURSE, "count": layout.COUNT}
ENTRY_COUNTS = slice(layout.ENTRY.pairs, layout.ENTRY.low + 1)


def read_words(counts: WordCounts, symbol_ids: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return the words as symbols, in the arena layout of kernels/wordpiece/words.py."""
    from subwords.kernels.named import fill_arena

    size = len(counts.data) + layout.HEADER.width * len(counts)
    check_size(counts, size)
    arena = zeros(size + len(counts.data), np.uint32)
    used = fill_arena(counts.data, counts.offsets, counts.counts, symbol_ids, arena)
    words: NDArray[np.uint32] = arena[: used + 1]
    return words


class ScoreLoop(MergeLoop):
    """Merges the pair with the highest score.

    times: the count of each token of `base`.
    """

    lowering = 2

    def __init__(
        self,
        arena: NDArray[np.uint32],
        words: int,
        base: list[bytes],
        times: list[int],
        settings: Limits,
        *,
        score: str,
        prefix: str,
    ) -> None:
        threshold = max(1, settings.min_frequency)
        if score == "likelihood":  # other scores may prefer a rare pair, or get words that forbid pruning
            threshold = max(threshold, words // (8 * settings.vocab_size))
        super().__init__(settings, threshold)
        self.arena, self.used = arena, len(arena) - 1
        self.lead = prefix.encode()
        self.settings[
            [layout.TRAIN.specials, layout.TRAIN.prefix_bytes, layout.TRAIN.score, layout.TRAIN.prefix_chars]
        ] = 0, len(self.lead), SCORES[score], len(prefix)
        self.counters[[layout.TALLY.total, layout.TALLY.chosen]] = sum(times), layout.MISSING
        self.postings = self.buffer = np.zeros(0, np.uint32)
        self.records = self.finder = self.heap = self.choices = np.zeros(
            layout.FIND_ROW, np.int64
        )  # replaced in `_index`
        self._name_base(base)
        self._enter_names(times)

    def _enter_names(self, times: list[int]) -> None:
        from subwords.kernels.named import enter_names

        self.symbols = np.zeros(layout.SYMBOL.width * (self.size + 2), np.int64)
        self.symbols.reshape(-1, layout.SYMBOL.width)[: len(times), layout.SYMBOL.times] = times
        self.names = np.full(1 << (2 * self.size).bit_length(), layout.MISSING, np.int64)
        enter_names(self._training)

    def _merge(self) -> int:
        from subwords.kernels.named import merge_scored

        return merge_scored(self._training)

    def _answer(self, status: int) -> None:
        if status == layout.UNDECIDED:
            self.counters[layout.TALLY.chosen] = self._decide()
        else:
            assert status in (layout.NEED_PAIRS, layout.NEED_INDEX)
            self._index()

    @property
    def _training(self) -> ScoreTraining:
        """Return everything that the kernels work on."""
        return ScoreTraining(
            self.arena,
            self.postings,
            self.buffer,
            self.records,
            self.finder,
            self.heap,
            self.choices,
            self.tokens,
            self.symbols,
            self.strings,
            self.names,
            self.counters,
            self.settings,
        )

    def _index(self) -> None:
        """Count all pairs of the words; create records of the live ones, their postings, and the heap."""
        from subwords.kernels.named import count_word_pairs, fill_records, open_records, start_scores

        threshold, longest = int(self.settings[layout.TRAIN.threshold]), int(self.settings[layout.TRAIN.max_length])
        every = pair_table(1 << 12)
        self.counters[[layout.TALLY.pairs_used, layout.TALLY.arena_at]] = 0
        while count_word_pairs(self.arena, self.used, every, self.tokens, longest, self.counters) == layout.NEED_PAIRS:
            every = grown(every, self.counters)
        room = 2 * live_in(every, threshold) + 4 * self.size + 64
        self.records = zeros(layout.RECORD.width * room, np.int64)
        self.heap = zeros(layout.ENTRY.width * room, np.int64)
        self.choices = zeros(room, np.int64)
        self.finder = zeros(layout.FIND_ROW << (2 * room).bit_length(), np.int64)
        self.finder[:] = layout.MISSING
        rows = self.symbols.reshape(-1, layout.SYMBOL.width)
        rows[:, layout.SYMBOL.doubles] = 0
        rows[:, [layout.SYMBOL.first_as_left, layout.SYMBOL.first_as_right]] = layout.MISSING
        self.postings = zeros(3 * self.used + 64, np.uint32)
        self.buffer = zeros(layout.BUFFER.width * self.used + 64, np.uint32)
        self.counters[[layout.TALLY.pairs_used, layout.TALLY.warm]] = 0, layout.ALL_IN_HEAP
        open_records(every, self._training)
        fill_records(self._training, self.used)
        start_scores(self._training)

    def _decide(self) -> int:
        """Return the record of the pair with the largest gain, among those the kernel could not distinguish."""
        rows = self.heap.reshape(-1, layout.ENTRY.width)[self.choices[: self.counters[layout.TALLY.choices]]].tolist()
        total = int(self.counters[layout.TALLY.total])
        gain = cmp_to_key(lambda x, y: compare_gains(x, y, total))  # type: ignore[arg-type]
        gains = [gain(tuple(row[ENTRY_COUNTS])) for row in rows]
        most = max(gains)
        tied = [row for row, value in zip(rows, gains, strict=True) if value == most]
        return int(min(tied, key=self._tie)[layout.ENTRY.record])

    def _tie(self, row: list[int]) -> Any:
        key = row[layout.ENTRY.tie]
        if self.settings[layout.TRAIN.tie] != layout.TIE_BYTES:
            return key
        bounds = self.tokens.reshape(-1, layout.TOKEN.width)[:, layout.TOKEN.string]
        pair = key >> 32, key & 0xFFFFFFFF
        return [self.strings[bounds[token] : bounds[token + 1]].tobytes() for token in pair]
