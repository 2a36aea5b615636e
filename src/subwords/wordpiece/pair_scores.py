"""The arrays of the training loop in kernels/wordpiece/train.py, and exact comparison of likelihood gains."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels.layout import MISSING, NEED_INDEX, NEED_PAIRS, UNDECIDED
from subwords.kernels.train_layout import (
    ALL_IN_HEAP,
    ARENA_AT,
    BUFFER_ROW,
    CHOICES,
    CHOSEN,
    COUNT,
    COURSE,
    DOUBLES,
    ENTRY_LOW,
    ENTRY_PAIRS,
    ENTRY_RECORD,
    ENTRY_ROW,
    ENTRY_TIE,
    FIND_ROW,
    FIRST_AS_LEFT,
    FIRST_AS_RIGHT,
    LIKELIHOOD,
    MAX_LENGTH,
    PAIRS_USED,
    PREFIX_BYTES,
    PREFIX_CHARS,
    RECORD_ROW,
    SCORE,
    SPECIALS,
    STRING,
    SYMBOL_ROW,
    THRESHOLD,
    TIE,
    TIE_BYTES,
    TIMES,
    TOKEN_ROW,
    TOTAL,
    WARM,
    WORD_HEADER,
    ScoreTraining,
)
from subwords.learning.indexing import grown, live_in, pair_table
from subwords.learning.limits import Limits
from subwords.learning.merging import MergeLoop, check_size
from subwords.support.memory import zeros
from subwords.wordpiece.likelihood import compare_gains

__all__ = ["SCORES", "ScoreLoop", "read_words"]

SCORES = {"likelihood": LIKELIHOOD, "course": COURSE, "count": COUNT}
ENTRY_COUNTS = slice(ENTRY_PAIRS, ENTRY_LOW + 1)


def read_words(counts: WordCounts, symbol_ids: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return the words as symbols, in the arena layout of kernels/wordpiece/words.py."""
    from subwords.kernels.named import fill_arena

    size = len(counts.data) + WORD_HEADER * len(counts)
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
        self.settings[[SPECIALS, PREFIX_BYTES, SCORE, PREFIX_CHARS]] = 0, len(self.lead), SCORES[score], len(prefix)
        self.counters[[TOTAL, CHOSEN]] = sum(times), MISSING
        self.postings = self.buffer = np.zeros(0, np.uint32)
        self.records = self.finder = self.heap = self.choices = np.zeros(FIND_ROW, np.int64)  # replaced in `_index`
        self._name_base(base)
        self._enter_names(times)

    def _enter_names(self, times: list[int]) -> None:
        from subwords.kernels.named import enter_names

        self.symbols = np.zeros(SYMBOL_ROW * (self.size + 2), np.int64)
        self.symbols.reshape(-1, SYMBOL_ROW)[: len(times), TIMES] = times
        self.names = np.full(1 << (2 * self.size).bit_length(), MISSING, np.int64)
        enter_names(self._training)

    def _merge(self) -> int:
        from subwords.kernels.named import merge_scored

        return merge_scored(self._training)

    def _answer(self, status: int) -> None:
        if status == UNDECIDED:
            self.counters[CHOSEN] = self._decide()
        else:
            assert status in (NEED_PAIRS, NEED_INDEX)
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

        threshold, longest = int(self.settings[THRESHOLD]), int(self.settings[MAX_LENGTH])
        every = pair_table(1 << 12)
        self.counters[[PAIRS_USED, ARENA_AT]] = 0
        while count_word_pairs(self.arena, self.used, every, self.tokens, longest, self.counters) == NEED_PAIRS:
            every = grown(every, self.counters)
        room = 2 * live_in(every, threshold) + 4 * self.size + 64
        self.records = zeros(RECORD_ROW * room, np.int64)
        self.heap = zeros(ENTRY_ROW * room, np.int64)
        self.choices = zeros(room, np.int64)
        self.finder = zeros(FIND_ROW << (2 * room).bit_length(), np.int64)
        self.finder[:] = MISSING
        rows = self.symbols.reshape(-1, SYMBOL_ROW)
        rows[:, DOUBLES] = 0
        rows[:, [FIRST_AS_LEFT, FIRST_AS_RIGHT]] = MISSING
        self.postings = zeros(3 * self.used + 64, np.uint32)
        self.buffer = zeros(BUFFER_ROW * self.used + 64, np.uint32)
        self.counters[[PAIRS_USED, WARM]] = 0, ALL_IN_HEAP
        open_records(every, self._training)
        fill_records(self._training, self.used)
        start_scores(self._training)

    def _decide(self) -> int:
        """Return the record of the pair with the largest gain, among those the kernel could not distinguish."""
        rows = self.heap.reshape(-1, ENTRY_ROW)[self.choices[: self.counters[CHOICES]]].tolist()
        total = int(self.counters[TOTAL])
        gain = cmp_to_key(lambda x, y: compare_gains(x, y, total))  # type: ignore[arg-type]
        gains = [gain(tuple(row[ENTRY_COUNTS])) for row in rows]
        most = max(gains)
        tied = [row for row, value in zip(rows, gains, strict=True) if value == most]
        return int(min(tied, key=self._tie)[ENTRY_RECORD])

    def _tie(self, row: list[int]) -> Any:
        key = row[ENTRY_TIE]
        if self.settings[TIE] != TIE_BYTES:
            return key
        bounds = self.tokens.reshape(-1, TOKEN_ROW)[:, STRING]
        pair = key >> 32, key & 0xFFFFFFFF
        return [self.strings[bounds[token] : bounds[token + 1]].tobytes() for token in pair]
