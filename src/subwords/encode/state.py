"""The state of one encoding thread: the table of words, buffers and counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.encode.segmenter import Segmenter, TokenWords
from subwords.kernels import layout
from subwords.kernels.layout import WordTable
from subwords.split.routes import SplitBuffers
from subwords.support.light import random_bits
from subwords.support.memory import zeros

if TYPE_CHECKING:
    from subwords.kernels.plan_layout import CallPlan

__all__ = ["State"]

FIRST_SLOTS = 1 << 10  # 32 KB: a first short text costs microseconds
MOST_SLOTS = 1 << 20  # 32 MB; when half full, the table is emptied
MOST_ARENA = 1 << 23  # entries of each arena, 40 MB in all


class State:
    """The state of one encoding thread: word cache, buffers and counters. Never shared while in use."""

    def __init__(self, segmenter: Segmenter) -> None:
        self.segmenter = segmenter
        self.whole_words = segmenter.whole_words
        self.buffers = SplitBuffers()
        random = [random_bits(64) | 1 for _ in range(layout.SEEDS)]
        self.seeds = np.array([*random, *layout.KEY_MASKS], np.uint64)
        self.counters = np.zeros(layout.COUNTER.width, np.int64)
        self.counters[layout.COUNTER.begin] = 1
        self.scratch: Any = None
        self.out = np.empty(layout.SHORT_TEXT + layout.OUT_PADDING, np.uint32)
        self.none = np.zeros(0, np.int64)
        self.chars = np.zeros(0, np.uint64)
        self.plans: dict[bool, CallPlan] = {}  # without and with cuts
        self.clear()
        self.fit_word(layout.SHORT_WORD)

    def clear(self) -> None:
        """Empty the word cache."""
        self.slots = zeros(layout.SLOT.width * FIRST_SLOTS, np.uint64, random=True)
        self.ids = np.empty(1 << 12, np.int32)
        self.arena = np.empty((1 << 12) + 8, np.uint8)
        self.counters[[layout.COUNTER.slots_used, layout.COUNTER.ids_used, layout.COUNTER.bytes_used]] = 0
        if self.whole_words:
            self.add_whole_words(self.whole_words)
        if self.scratch is not None:
            self.set_workspace()

    def add_whole_words(self, words: TokenWords) -> None:
        """Store every token as a word, so that a word that is a token is found in the cache, not segmented (E2)."""
        from subwords.kernels.named import add_tokens

        self.slots = zeros(layout.SLOT.width << (3 * len(words.ends)).bit_length(), np.uint64, random=True)
        self.ids = np.empty(2 * len(words.ends) + (1 << 12), np.int32)
        self.arena = np.empty(len(words.data) + (1 << 12), np.uint8)
        add_tokens(words.data, words.ends, words.ids, self.table, np.empty(layout.KEYS, np.uint64), self.counters)

    @property
    def table(self) -> WordTable:
        """The table in the layout of the kernels."""
        return WordTable(self.slots, self.seeds, self.ids, self.arena, self.chars)

    def use_cuts(self) -> None:
        """Cut words where the vocabulary allows it (E9)."""
        if self.segmenter.has_cuts and not self.buffers.cuts:
            self.buffers.cuts, self.buffers.runs = lambda: self.segmenter.cuts, self.segmenter.isolates
            if self.segmenter.isolates:
                self.chars = np.zeros(layout.CHAR_ROW << 16, np.uint64)  # the system provides pages when they are used
            self.set_workspace()

    def set_workspace(self) -> None:
        """Bundle the arrays for the kernel; call it after any of them was replaced."""
        self.workspace = self.segmenter.workspace(self.table, self.scratch, self.counters)

    def expect(self, size: int) -> None:
        """Make room for the words of a text of this many bytes: doubling step by step costs 8 % of a first pass."""
        distinct = 3.4 * size**0.62  # Heaps' law for English
        slots = min(MOST_SLOTS, 1 << int(2 * distinct).bit_length())
        if self.counters[layout.COUNTER.slots_used] < FIRST_SLOTS and slots > len(self.slots) // layout.SLOT.width:
            self.move_slots(slots)

    def fit_word(self, length: int) -> None:
        """Make room to segment a word of this many bytes."""
        self.fits = length
        self.scratch = self.segmenter.scratch(length, self.scratch)
        self.set_workspace()

    def grow_slots(self) -> None:
        """Double the table, or empty it if it has its maximum size."""
        count = len(self.slots) // layout.SLOT.width
        if count >= max(MOST_SLOTS, 4 * len(self.whole_words.ends) if self.whole_words else 0):
            self.clear()
            return
        self.move_slots(2 * count)

    def move_slots(self, count: int) -> None:
        """Move the words to a table of `count` slots."""
        from subwords.kernels.named import rehash

        slots = zeros(layout.SLOT.width * count, np.uint64, random=True)
        rehash(self.slots, slots, self.seeds)
        self.slots = slots
        self.set_workspace()

    def grow_arena(self, length: int) -> None:
        """Make room for a word of this many bytes, or empty the table if the arenas have their maximum size."""
        if len(self.ids) >= max(MOST_ARENA, 8 * len(self.whole_words.data) if self.whole_words else 0):
            self.clear()
        size = 2 * (max(len(self.ids), len(self.arena)) + length)
        ids, arena = zeros(size, np.int32, random=True), zeros(size + 8, np.uint8, random=True)
        ids[: self.counters[layout.COUNTER.ids_used]] = self.ids[: self.counters[layout.COUNTER.ids_used]]
        arena[: self.counters[layout.COUNTER.bytes_used]] = self.arena[: self.counters[layout.COUNTER.bytes_used]]
        self.ids, self.arena = ids, arena
        self.set_workspace()
