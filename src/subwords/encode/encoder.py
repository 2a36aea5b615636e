"""Encoding: the state of a thread, and the loop that feeds words to the kernel of a model family."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import Rule
from subwords.errors import InputError
from subwords.kernels.layout import (
    BEGIN,
    BYTES_USED,
    COUNTERS,
    IDS_USED,
    JOINED,
    KEYS,
    NEED_ARENA,
    NEED_OUT,
    NEED_SCRATCH,
    NEED_SLOTS,
    NEEDED,
    NEXT_WORD,
    OUT_PADDING,
    SEEDS,
    SHORT_WORD,
    SLOT_ROW,
    SLOTS_USED,
    UNKNOWN_AT,
    WRITTEN,
    WordTable,
)
from subwords.results.token_batch import TokenBatch
from subwords.split.routes import CHUNK_WORDS, SplitBuffers, WordChunk
from subwords.split.word_spans import WordSpans
from subwords.support.memory import Spare, zeros
from subwords.support.threads import check_stopped, in_threads, thread_count

if TYPE_CHECKING:
    from subwords.kernels.jit import Kernel
    from subwords.kernels.place_layout import IdSizes

__all__ = ["Encoder", "Segmenter", "TokenWords", "WordSource"]

FIRST_SLOTS = 1 << 10  # 32 KB: a first short text costs microseconds
MOST_SLOTS = 1 << 20  # 32 MB; when half full, the table is emptied
MOST_ARENA = 1 << 23  # entries of each arena, 40 MB in all
LONGEST_SCRATCH = 1 << 16  # bytes of a word; buffers for a longer word are freed after the text
POOL = 64  # states kept for reuse
SHORT_TEXT = 1 << 12  # bytes; below, the call costs more than encoding
PART = 1 << 18  # bytes of short texts per task of a thread


class TokenWords(NamedTuple):
    """Tokens that are looked up as whole words (E2): joined bytes, the end of each token in them, and ids."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    ids: NDArray[np.int32]


class WordSource(Protocol):
    """Splits text into words: a splitter, with or without a normalizer before it."""

    def texts(self, text: NDArray[np.uint8], bounds: NDArray[np.int64], buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts, text[bounds[i]:bounds[i + 1]], in order."""

    def short(self, text: NDArray[np.uint8], buffers: SplitBuffers) -> int | None:
        """Split a text shorter than a chunk in one step, if possible; see `Route.short`."""

    def word_spans(self, text: NDArray[np.uint8]) -> WordSpans:
        """Return the words of one text, with their positions in it."""


class Segmenter(ABC):
    """The part of encoding that depends on the model family: kernel, model arrays and buffers."""

    joins = False  # whether `joined` changes anything
    whole_words: TokenWords | None = None
    unk_id: int | None = None  # the id of unknown symbols
    shows_unknown = False  # whether an unknown token is shown as its text, as SentencePiece does
    id_sizes: IdSizes | None = None  # for `kernels/text/locate.py`; None if ids are not in the order of their bytes

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel; see `kernels/table/encode.py`."""

    @property
    @abstractmethod
    def arrays(self) -> Any:
        """The model in the layout of the kernel: a class of `kernels/layout.py`."""

    def joined(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of texts, given the concatenated ids of their words."""
        return batch

    def joined_words(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of the words of one text."""
        return batch

    def finer(self, rule: Rule) -> Rule:
        """Return an equivalent rule with more cache hits, or `rule` itself."""
        return rule

    @abstractmethod
    def scratch(self, length: int, before: Any) -> Any:
        """Return buffers for a word of `length` bytes, a class of `kernels/layout.py`; `before`: the last ones."""

    @abstractmethod
    def workspace(self, table: WordTable, scratch: Any, counters: NDArray[np.int64]) -> Any:
        """Return everything that the kernel works on: a class of `kernels/layout.py`."""

    @abstractmethod
    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes in word_spans.text; word i has the ids offsets[i]:offsets[i + 1]."""

    def token_ranges(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the byte range of each id in word_spans.text, int64, shape (2, n)."""
        ends = self.token_ends(ids, offsets, word_spans)
        begins = np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]
        filled = np.diff(offsets) > 0
        begins[offsets[:-1][filled]] = word_spans.words[:-1][filled]
        return np.stack([begins, ends])

    @abstractmethod
    def unknown(self, text: NDArray[np.uint8], at: int) -> InputError:
        """Return the error for a word that cannot be encoded because of the symbol at byte `at`."""


class _State:
    """The state of one encoding thread: word cache, buffers and counters. Never shared while in use."""

    def __init__(self, segmenter: Segmenter) -> None:
        from subwords.kernels.table.keys import key_masks

        self.segmenter = segmenter
        self.whole_words = segmenter.whole_words
        self.buffers = SplitBuffers()
        random = [secrets.randbits(64) | 1 for _ in range(SEEDS)]
        self.seeds = np.concatenate([np.array(random, np.uint64), key_masks()])
        self.counters = np.zeros(COUNTERS, np.int64)
        self.counters[BEGIN] = 1
        self.scratch: Any = None
        self.out = np.empty(SHORT_TEXT + OUT_PADDING, np.uint32)
        self.none = np.zeros(0, np.int64)
        self.clear()
        self.fit_word(SHORT_WORD)

    def clear(self) -> None:
        """Empty the word cache."""
        self.slots = zeros(SLOT_ROW * FIRST_SLOTS, np.uint64, random=True)
        self.ids = np.empty(1 << 12, np.int32)
        self.arena = np.empty((1 << 12) + 8, np.uint8)
        self.counters[[SLOTS_USED, IDS_USED, BYTES_USED]] = 0
        if self.whole_words:
            self.add_whole_words(self.whole_words)
        if self.scratch is not None:
            self.set_workspace()

    def add_whole_words(self, words: TokenWords) -> None:
        """Store every token as a word, so that a word that is a token is found in the cache, not segmented (E2)."""
        from subwords.kernels.table.encode import add_tokens

        self.slots = zeros(SLOT_ROW << (3 * len(words.ends)).bit_length(), np.uint64, random=True)
        self.ids = np.empty(2 * len(words.ends) + (1 << 12), np.int32)
        self.arena = np.empty(len(words.data) + (1 << 12), np.uint8)
        add_tokens(words.data, words.ends, words.ids, self.table, np.empty(KEYS, np.uint64), self.counters)

    @property
    def table(self) -> WordTable:
        """The table in the layout of the kernels."""
        return WordTable(self.slots, self.seeds, self.ids, self.arena)

    def set_workspace(self) -> None:
        """Bundle the arrays for the kernel; call it after any of them was replaced."""
        self.workspace = self.segmenter.workspace(self.table, self.scratch, self.counters)

    def expect(self, size: int) -> None:
        """Make room for the words of a text of this many bytes: doubling step by step costs 8 % of a first pass."""
        distinct = 3.4 * size**0.62  # Heaps' law for English
        slots = min(MOST_SLOTS, 1 << int(2 * distinct).bit_length())
        if not self.counters[SLOTS_USED] and slots > len(self.slots) // SLOT_ROW:
            self.slots = zeros(SLOT_ROW * slots, np.uint64, random=True)
            self.set_workspace()

    def fit_word(self, length: int) -> None:
        """Make room to segment a word of this many bytes."""
        self.fits = length
        self.scratch = self.segmenter.scratch(length, self.scratch)
        self.set_workspace()

    def grow_slots(self) -> None:
        """Double the table, or empty it if it has its maximum size."""
        from subwords.kernels.table.keys import rehash

        count = len(self.slots) // SLOT_ROW
        if count >= max(MOST_SLOTS, 4 * len(self.whole_words.ends) if self.whole_words else 0):
            self.clear()
            return
        slots = zeros(2 * len(self.slots), np.uint64, random=True)
        rehash(self.slots, slots, self.seeds)
        self.slots = slots
        self.set_workspace()

    def grow_arena(self, length: int) -> None:
        """Make room for a word of this many bytes, or empty the table if the arenas have their maximum size."""
        if len(self.ids) >= max(MOST_ARENA, 8 * len(self.whole_words.data) if self.whole_words else 0):
            self.clear()
        size = 2 * (max(len(self.ids), len(self.arena)) + length)
        ids, arena = zeros(size, np.int32, random=True), zeros(size + 8, np.uint8, random=True)
        ids[: self.counters[IDS_USED]] = self.ids[: self.counters[IDS_USED]]
        arena[: self.counters[BYTES_USED]] = self.arena[: self.counters[BYTES_USED]]
        self.ids, self.arena = ids, arena
        self.set_workspace()


class Encoder:
    """Encodes text with one model and one source of words; any number of threads may share it (A4)."""

    def __init__(self, segmenter: Segmenter, splitter: WordSource) -> None:
        self.segmenter = segmenter
        self.splitter = splitter
        self._pool: deque[_State] = deque(maxlen=POOL)
        self._spare = Spare()

    def encode(self, data: bytes) -> NDArray[np.uint32]:
        """Return the ids of a text, uint32."""
        if len(data) <= SHORT_TEXT and not self.segmenter.joins:
            return self._encode_short(data)
        return self._encode(np.frombuffer(data, np.uint8), np.array([0, len(data)], np.int64)).ids

    def _encode_short(self, data: bytes) -> NDArray[np.uint32]:
        """Encode a short text with as little Python as possible."""
        state = self._take()
        buffers = state.buffers
        words = self.splitter.short(np.frombuffer(data, np.uint8), buffers)
        if words is None:
            self._pool.append(state)
            return self._encode(np.frombuffer(data, np.uint8), np.array([0, len(data)], np.int64)).ids
        text, ends, out = buffers.short_text, buffers.short_ends, state.out
        count = self._held_kernel(text, 0, ends, words, state.none, 0, out, 0, state.workspace)
        if count < 0:
            count, out = self._resume(state, WordChunk(text, 0, ends, state.none, True), words, out, -count)
        ids = out[:count].copy()
        # Give the state back last: the array belongs to it, and another thread may take it at once.
        self._pool.append(state)
        return ids

    def encode_batch(self, texts: list[bytes], threads: int | None = None) -> TokenBatch:
        """Return the ids of many texts; threads take tasks of about PART bytes."""
        parts = _parts(texts)
        count = min(len(parts), thread_count(threads))
        if count <= 1:
            return TokenBatch.join([self._encode_texts(part) for part in parts])
        return TokenBatch.join(in_threads(self._encode_texts, parts, count))

    def encode_words(self, text: NDArray[np.uint8], words: NDArray[np.int64]) -> TokenBatch:
        """Return the ids of each word of one text, text[words[i]:words[i + 1]]."""
        state = self._take()
        state.counters[JOINED] = 1
        parts = []
        for first in range(0, len(words) - 1, CHUNK_WORDS):
            bounds = words[first : first + CHUNK_WORDS + 1]
            count, base = len(bounds) - 1, int(bounds[0])
            # Each word is a text of its own: the kernel replaces its index by its number of ids.
            chunk = WordChunk(text, base, (bounds[1:] - base).astype(np.uint32), np.arange(1, count + 1), True)
            out = np.empty(int(chunk.ends[-1]) + OUT_PADDING, np.uint32)
            written, out = self._run(state, chunk, out, 0)
            parts.append(TokenBatch(out[:written].copy(), np.concatenate([np.zeros(1, np.int64), chunk.text_ends])))
        state.counters[JOINED], state.counters[BEGIN] = 0, 1
        self._give(state)
        return self.segmenter.joined_words(TokenBatch.join(parts))

    def _encode_texts(self, texts: list[bytes]) -> TokenBatch:
        bounds = np.cumsum(np.fromiter(map(len, [b"", *texts]), np.int64, len(texts) + 1))
        return self._encode(np.frombuffer(b"".join(texts), np.uint8), bounds)

    def _encode(self, text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> TokenBatch:
        state = self._take()
        offsets = np.zeros(len(bounds), np.int64)
        out = np.empty(min(len(text), 1 << 16) + OUT_PADDING, np.uint32)
        if len(text) > 1 << 20:
            state.expect(len(text))
        written, done = 0, 1
        for chunk in self.splitter.texts(text, bounds, state.buffers):
            written, out = self._run(state, chunk, out, written, whole=chunk.text is text)
            offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
            done += len(chunk.text_ends) if chunk.complete else 0
            state.counters[BEGIN] = chunk.complete
            check_stopped()
        self._give(state)
        large = written > 1 << 16 and written > len(out) // 2
        return self.segmenter.joined(TokenBatch(out[:written] if large else out[:written].copy(), offsets))

    def _run(
        self, state: _State, chunk: WordChunk, out: NDArray[np.uint32], written: int, *, whole: bool = False
    ) -> tuple[int, NDArray[np.uint32]]:
        """Append the ids of a chunk to `out`; see `_resume`."""
        text, base, ends, text_ends, _ = chunk
        words = int(text_ends[-1])
        status = self._kernel(text, base, ends, words, text_ends, len(text_ends), out, written, state.workspace)
        return (status, out) if status >= 0 else self._resume(state, chunk, words, out, -status, whole=whole)

    def _resume(
        self,
        state: _State,
        chunk: WordChunk,
        words: int,
        out: NDArray[np.uint32],
        status: int,
        *,
        whole: bool = False,
    ) -> tuple[int, NDArray[np.uint32]]:
        """Resume the kernel until it is done, and provide what it asks for.

        Returns the number of ids and the array, which may be a new one. `whole`: the chunk is the whole input.
        """
        counters = state.counters
        text, base, ends, text_ends, _ = chunk
        while status > 0:
            if status == NEED_OUT:
                read = base + (int(ends[counters[NEXT_WORD] - 1]) if counters[NEXT_WORD] else 0)
                expansion = len(text) / read if whole and read else 2.0
                out = self._larger(out, int(counters[WRITTEN]), int(counters[NEEDED]), expansion)
            elif status == NEED_SLOTS:
                state.grow_slots()
            elif status == NEED_ARENA:
                state.grow_arena(int(counters[NEEDED]))
            elif status == NEED_SCRATCH:
                state.fit_word(int(counters[NEEDED]) * 3 // 2)
            else:
                raise self.segmenter.unknown(text, int(counters[UNKNOWN_AT]))
            texts, written = len(text_ends), int(counters[WRITTEN])
            status = -self._kernel(text, base, ends, words, text_ends, texts, out, written, state.workspace)
        return -status, out

    def _larger(self, out: NDArray[np.uint32], filled: int, needed: int, expansion: float) -> NDArray[np.uint32]:
        # Sized by the ids per byte so far. `resize` would clear the new memory: -25 % throughput on a large text.
        size = max(needed, int(filled * max(expansion * 1.1, 1.25))) + 1024
        larger = self._spare.empty(size, np.uint32) if size > 1 << 16 else np.empty(size, np.uint32)
        larger[:filled] = out[:filled]
        return larger

    @cached_property
    def _kernel(self) -> Callable[..., int]:
        return self.segmenter.kernel.ready()

    @cached_property
    def _held_kernel(self) -> Callable[..., int]:
        return self.segmenter.kernel.held()

    def _take(self) -> _State:
        try:
            return self._pool.pop()
        except IndexError:
            return _State(self.segmenter)

    def _give(self, state: _State) -> None:
        """Put a state back into the pool; never after an exception, which may have left it inconsistent."""
        if state.fits > LONGEST_SCRATCH:
            state.fit_word(SHORT_WORD)
        self._pool.append(state)


def _parts(texts: list[bytes]) -> list[list[bytes]]:
    parts: list[list[bytes]] = []
    size = PART
    for text in texts:
        if size >= PART:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    return parts
