"""Merging by scores: the arrays of the loop in kernels/wordpiece/train.py, and what it leaves to Python."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.train import TIES, Limits, Step
from subwords.components.vocab import Vocab
from subwords.support.memory import zeros
from subwords.wordpiece.likelihood import compare_gains

__all__ = ["SCORES", "ScoreLoop"]

SCORES = {"likelihood": 0, "course": 1, "count": 2}
# Fields of the trainer's state and arrays, as in kernels/bpe/index.py, wordpiece_index.py and wordpiece_heap.py.
USED, HEAP, POSTINGS, TOKENS, MERGES, STRINGS, WORD, TOTAL, TOTAL_BEFORE, CHOSEN, CHOICES, WARM = range(12)
STRING, BACK = 7, slice(4, 6)
TIMES, DOUBLES, OUT, IN = 0, 1, 3, 4
ENTRY, RECORD = 4, 8
LEAST = -(2**63) + 1  # of WARM, when every pair is in the heap
TIED, OF, COUNTS = 1, 2, slice(3, 6)
EMPTY = np.iinfo(np.uint64).max
PAUSE = 256  # merges between two looks at the progress line


class ScoreLoop:
    """The arrays of one training run by any score, for any words.

    times: how often each token of `base` occurs.
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
        self.size, self.score, self.prefix = settings.vocab_size, SCORES[score], prefix
        self.tie = TIES[settings.tie_break]
        self.floor = self.threshold = max(1, settings.min_frequency)
        if score == "likelihood":  # the others can prefer a rare pair, or are for words that do not allow pruning
            self.threshold = max(self.floor, words // (8 * self.size))
        self.longest = settings.max_token_length or 0
        self.state = np.zeros(12, np.int64)
        self.state[[TOTAL, CHOSEN]] = sum(times), -1
        self._name_base(base, times)

    def _name_base(self, base: list[bytes], times: list[int]) -> None:
        from subwords.kernels.wordpiece.train import enter_names

        self.symbols = np.zeros(8 * (self.size + 2), np.int64)
        self.symbols.reshape(-1, 8)[: len(times), TIMES] = times
        self.tokens = np.zeros(8 * (self.size + 2), np.int64)
        rows = self.tokens.reshape(-1, 8)
        rows[:, BACK] = -1
        prefix = self.prefix.encode()
        ends = np.cumsum([len(prefix), *map(len, base)])
        rows[: len(ends), STRING] = ends
        self.strings = np.empty(max(1 << 16, 16 * self.size + int(ends[-1])), np.uint8)
        self.strings[: ends[-1]] = np.frombuffer(prefix + b"".join(base), np.uint8)
        self.names = np.full(1 << (2 * self.size).bit_length(), -1, np.int64)
        self.state[[TOKENS, STRINGS]] = len(base), ends[-1]
        enter_names(self._names, self.state, self._settings())

    @property
    def vocab(self) -> Vocab:
        """The tokens so far."""
        prefix = len(self.prefix.encode())
        offsets = self.tokens.reshape(-1, 8)[: self.state[TOKENS] + 1, STRING] - prefix
        return Vocab(self.strings[prefix : self.state[STRINGS]].tobytes(), offsets)

    def run(self, on_step: Step) -> None:
        """Merge until there are enough tokens or no pair is frequent enough (B4)."""
        from subwords.kernels.bpe.index import DONE, EXHAUSTED, NEED_PAIRS, NEED_STRINGS, PAUSED
        from subwords.kernels.wordpiece.heap import NEED_INDEX, UNDECIDED
        from subwords.kernels.wordpiece.train import merge_scored

        on_step("indexing", 0, 1)
        self._index()
        on_step("indexing", 1, 1)
        base = int(self.state[TOKENS])
        while True:  # PAUSE also bounds how long an interrupt waits
            status = merge_scored(self._words, self._pairs, self._names, self.state, self._settings())
            learned = int(self.state[TOKENS]) - base
            on_step("merging", learned, self.size - base)
            if status == UNDECIDED:
                self.state[CHOSEN] = self._decide()
            elif status == NEED_STRINGS:
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            elif status in (NEED_PAIRS, NEED_INDEX):
                self._index()
            elif status == EXHAUSTED and self.threshold > self.floor:
                self.threshold = max(self.floor, self.threshold // 2)
                self._index()
            elif status != PAUSED:
                assert status in (DONE, EXHAUSTED)
                on_step("merging", learned, learned)
                return

    def _settings(self) -> NDArray[np.int64]:
        pause = int(self.state[MERGES]) + PAUSE
        shared = self.threshold, self.floor, self.size, self.tie, self.longest, pause, 0, len(self.prefix.encode())
        return np.array([*shared, self.score, len(self.prefix)], np.int64)

    @property
    def _words(self) -> tuple[NDArray[Any], ...]:
        return self.arena, self.postings, self.buffer

    @property
    def _pairs(self) -> tuple[NDArray[Any], ...]:
        return self.records, self.table, self.heap, self.choices

    @property
    def _names(self) -> tuple[NDArray[Any], ...]:
        return self.tokens, self.symbols, self.strings, self.names

    def _index(self) -> None:
        """Read the words: count all pairs, make records of the live ones, with their postings, and the heap."""
        from subwords.kernels.wordpiece.index import fill_records, open_records
        from subwords.kernels.wordpiece.train import start_scores

        every = self._count_pairs()
        live = every.reshape(-1, ENTRY)
        number = int(np.count_nonzero((live[:, 0] != EMPTY) & (live[:, 1] >= np.uint64(self.threshold))))
        room = 2 * number + 4 * self.size + 64
        self.records = zeros(RECORD * room, np.int64)
        self.heap = zeros(8 * room, np.int64)
        self.choices = zeros(room, np.int64)
        self.table = zeros(2 << (2 * room).bit_length(), np.int64)
        self.table[:] = -1
        rows = self.symbols.reshape(-1, 8)
        rows[:, DOUBLES] = 0
        rows[:, [OUT, IN]] = -1
        self.postings = zeros(3 * self.used + 64, np.uint32)
        self.buffer = zeros(2 * self.used + 64, np.uint32)
        self.state[[USED, WARM]] = 0, LEAST
        open_records(every, self.threshold, self.records, self.table, self.symbols, self.state)
        fill_records((self.arena, self.postings), self.used, self.records, self.table, self.symbols)
        start_scores(self._words, self._pairs, self._names, self.state, self._settings())

    def _count_pairs(self) -> NDArray[np.uint64]:
        from subwords.kernels.bpe.index import NEED_PAIRS, count_pairs, move_pairs

        every = _pairs_table(1 << 12)
        self.state[[USED, WORD]] = 0
        while count_pairs(self.arena, self.used, every, self.tokens, self.longest, self.state) == NEED_PAIRS:
            larger = _pairs_table(len(every) // ENTRY)
            move_pairs(every, larger, 0, 0, self.state)
            every = larger
        return every

    def _decide(self) -> int:
        """The record of the pair that gains most; the kernel saw no difference between these."""
        rows = self.heap.reshape(-1, 8)[self.choices[: self.state[CHOICES]]].tolist()
        total = int(self.state[TOTAL])
        gain = cmp_to_key(lambda x, y: compare_gains(x, y, total))  # type: ignore[arg-type]
        gains = [gain(tuple(row[COUNTS])) for row in rows]
        most = max(gains)
        tied = [row for row, value in zip(rows, gains, strict=True) if value == most]
        return int(min(tied, key=self._tie)[OF])

    def _tie(self, row: list[int]) -> Any:
        if self.tie != TIES["bytes"]:
            return row[TIED]
        bounds = self.tokens.reshape(-1, 8)[:, STRING]
        pair = row[TIED] >> 32, row[TIED] & 0xFFFFFFFF
        return [self.strings[bounds[token] : bounds[token + 1]].tobytes() for token in pair]


def _pairs_table(pairs: int) -> NDArray[np.uint64]:
    """An empty table, less than half full with this many pairs."""
    table = zeros((1 << (2 * pairs).bit_length()) * ENTRY, np.uint64)
    table[:] = EMPTY
    return table
