"""The arrays of the training loop in kernels/wordpiece/train.py, and exact comparison of likelihood gains."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.kernels.layout import DONE, EXHAUSTED, MISSING, NEED_INDEX, NEED_PAIRS, NEED_STRINGS, PAUSED, UNDECIDED
from subwords.kernels.train_layout import (
    ALL_IN_HEAP,
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
    FLOOR,
    LAST_LEFT,
    LAST_RIGHT,
    LIKELIHOOD,
    MERGES,
    PAIRS_USED,
    PAUSE,
    PREFIX_BYTES,
    PREFIX_CHARS,
    RECORD_ROW,
    SCORE,
    SPECIALS,
    STRING,
    STRINGS_USED,
    SYMBOL_ROW,
    THRESHOLD,
    TIE,
    TIE_BYTES,
    TIMES,
    TOKEN_ROW,
    TOKENS,
    TOTAL,
    TRAIN_COUNTERS,
    WARM,
    ScoreTraining,
)
from subwords.learning.limits import Limits, Step
from subwords.learning.merging import BETWEEN_LOOKS, pairs_of, train_settings
from subwords.support.memory import zeros
from subwords.wordpiece.likelihood import compare_gains

__all__ = ["SCORES", "ScoreLoop"]

SCORES = {"likelihood": LIKELIHOOD, "course": COURSE, "count": COUNT}
ENTRY_COUNTS = slice(ENTRY_PAIRS, ENTRY_LOW + 1)


class ScoreLoop:
    """The arrays of one training run by a score.

    times: the count of each token of `base`.
    """

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
        self.arena, self.used = arena, len(arena) - 1
        self.size, self.prefix = settings.vocab_size, prefix
        threshold = max(1, settings.min_frequency)
        if score == "likelihood":  # other scores may prefer a rare pair, or get words that forbid pruning
            threshold = max(threshold, words // (8 * self.size))
        self.settings = train_settings(settings, threshold)
        self.settings[[SPECIALS, PREFIX_BYTES, SCORE, PREFIX_CHARS]] = (
            0,
            len(prefix.encode()),
            SCORES[score],
            len(prefix),
        )
        self.counters = np.zeros(TRAIN_COUNTERS, np.int64)
        self.counters[[TOTAL, CHOSEN]] = sum(times), MISSING
        self.postings = self.buffer = np.zeros(0, np.uint32)
        self.records = self.finder = self.heap = self.choices = np.zeros(FIND_ROW, np.int64)  # replaced in `_index`
        self._name_base(base, times)

    def _name_base(self, base: list[bytes], times: list[int]) -> None:
        from subwords.kernels.wordpiece.train import enter_names

        self.symbols = np.zeros(SYMBOL_ROW * (self.size + 2), np.int64)
        self.symbols.reshape(-1, SYMBOL_ROW)[: len(times), TIMES] = times
        self.tokens = np.zeros(TOKEN_ROW * (self.size + 2), np.int64)
        rows = self.tokens.reshape(-1, TOKEN_ROW)
        rows[:, [LAST_LEFT, LAST_RIGHT]] = MISSING
        prefix = self.prefix.encode()
        ends = np.cumsum([len(prefix), *map(len, base)])
        rows[: len(ends), STRING] = ends
        self.strings = np.empty(max(1 << 16, 16 * self.size + int(ends[-1])), np.uint8)
        self.strings[: ends[-1]] = np.frombuffer(prefix + b"".join(base), np.uint8)
        self.names = np.full(1 << (2 * self.size).bit_length(), MISSING, np.int64)
        self.counters[[TOKENS, STRINGS_USED]] = len(base), ends[-1]
        enter_names(self._training)

    @property
    def vocab(self) -> Vocab:
        """The tokens learned so far."""
        prefix = len(self.prefix.encode())
        offsets = self.tokens.reshape(-1, TOKEN_ROW)[: self.counters[TOKENS] + 1, STRING] - prefix
        return Vocab(self.strings[prefix : self.counters[STRINGS_USED]].tobytes(), offsets)

    def run(self, on_step: Step) -> None:
        """Merge until vocab_size is reached or no pair is frequent enough (B4)."""
        from subwords.kernels.wordpiece.train import merge_scored

        on_step("indexing", 0, 1)
        self._index()
        on_step("indexing", 1, 1)
        base = int(self.counters[TOKENS])
        while True:  # the kernel returns every BETWEEN_LOOKS merges, which also lets an interrupt through
            self.settings[PAUSE] = self.counters[MERGES] + BETWEEN_LOOKS
            status = merge_scored(self._training)
            learned = int(self.counters[TOKENS]) - base
            on_step("merging", learned, self.size - base)
            if status == UNDECIDED:
                self.counters[CHOSEN] = self._decide()
            elif status == NEED_STRINGS:
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            elif status in (NEED_PAIRS, NEED_INDEX):
                self._index()
            elif status == EXHAUSTED and self.settings[THRESHOLD] > self.settings[FLOOR]:
                self.settings[THRESHOLD] = max(self.settings[FLOOR], self.settings[THRESHOLD] // 2)
                self._index()
            elif status != PAUSED:
                assert status in (DONE, EXHAUSTED)
                on_step("merging", learned, learned)
                return

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
        from subwords.kernels.wordpiece.index import fill_records, open_records
        from subwords.kernels.wordpiece.train import start_scores

        every, number = pairs_of(self.arena, self.used, self.tokens, self.settings, self.counters)
        room = 2 * number + 4 * self.size + 64
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
