"""Encoding: the loop that feeds words to the kernel of a model family."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.fast_path import LONGEST_SCRATCH, FastPath, has_fast_path, new_plan, new_slot
from subwords.kernels import layout
from subwords.kernels.layout import SafeCuts, WordTable
from subwords.kernels.plan_layout import BUFFER, CUT_TEXT, FIELDS, MOST_AROUND, NEVER, WORD_ENDS, CallPlan
from subwords.models.families import encoder_of
from subwords.models.segmenter import Segmenter, TextError, TokenWords, UnknownSymbolError, WordSource, tokens_of_ids
from subwords.spec.model import Model
from subwords.spec.token_batch import TokenBatch, batch_of
from subwords.spec.vocab import Vocab
from subwords.split.routes import CHUNK_WORDS, NO_OFFSETS, SplitBuffers, TracedChunk, WordChunk
from subwords.split.splitter import SplitterEngine
from subwords.support.checks import encode_text
from subwords.support.errors import InputError
from subwords.support.memory import Spare, zeros
from subwords.support.names import random_bits
from subwords.support.threads import check_stopped, in_threads, thread_count

if TYPE_CHECKING:
    from subwords.corpus.counts import WordCounts
    from subwords.engine.fast_path import FastPathSlot
    from subwords.split.routes import SplitCall


# ---------------------------------------------------------------------------------------------------------------------
# The state of one encoding thread: the table of words, buffers and counters.

FIRST_SLOTS = 1 << 10  # 32 KB: a first short text costs microseconds
MOST_WORDS = 24_000  # tokens that enter a table at once: 1 ms. With 50,000, known text took 5 % more
FULL_SLOTS = 1 << 13  # of a table that they enter when it is full: the words in it have cost as much
FULLER_SLOTS = 1 << 17  # of the table then: 4 MB. With half of it, it grew again soon: 0.6 ms more, 0.3 ms saved
MOST_SLOTS = 1 << 20  # 32 MB; when half full, the table is emptied
MOST_ARENA = 1 << 23  # entries of each arena, 40 MB in all


class EncoderState:
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
        self.out = np.empty(BUFFER + MOST_AROUND + layout.OUT_PADDING, np.uint32)
        self.word_ends = np.empty(WORD_ENDS, np.uint32)
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
        self.has_tokens = False
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
        for plan in self.plans.values():
            plan.numbers[FIELDS.workspace] = id(self.workspace)

    def expect(self, size: int) -> None:
        """Make room for the words of a text of this many bytes: doubling step by step costs 8 % of a first pass.

        The arenas may hold all of it: where words are sentences, few come back. Untouched pages cost nothing.
        """
        distinct = 3.4 * size**0.62  # Heaps' law for English
        slots = min(MOST_SLOTS, 1 << int(2 * distinct).bit_length())
        if self.counters[layout.COUNTER.slots_used] < FIRST_SLOTS and slots > len(self.slots) // layout.SLOT.width:
            self.move_slots(slots)
            if size >= LARGE_TEXT:
                self.move_arenas(min(size, 2 * MOST_ARENA))

    def fit_word(self, length: int) -> None:
        """Make room to segment a word of this many bytes."""
        self.fits = length
        self.scratch = self.segmenter.scratch(length, self.scratch)
        self.set_workspace()

    def make_room(self, status: int) -> bool:
        """Provide what a kernel returned for: whether it can go on."""
        if status == layout.NEED_SLOTS:
            self.grow_slots()
        elif status == layout.NEED_ARENA:
            self.grow_arena(int(self.counters[layout.COUNTER.needed]))
        elif status == layout.NEED_SCRATCH:
            self.fit_word(max(int(self.counters[layout.COUNTER.needed]) * 3 // 2, LONG_WORD))
        return status in (layout.NEED_SLOTS, layout.NEED_ARENA, layout.NEED_SCRATCH)

    def grow_slots(self) -> None:
        """Double the table, or let the tokens enter it, or empty it if it has its maximum size."""
        count = len(self.slots) // layout.SLOT.width
        if FULL_SLOTS <= count < FULLER_SLOTS and self.enter_tokens():
            return
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

    def enter_tokens(self) -> bool:
        """Let most tokens that are words enter the table, if they are on disk.

        Row: requests, "GPT-2": with it 0.5 to 1 of the time up to 30 KB.
        To meet such a word for the first time takes 20 ns then, not 500. The words of the table keep their places, and
        the tokens go behind them: the other way round, known text took 7 to 16 % longer. Tried and dropped: mapping the
        tokens as a table, on pages of 4 KB (0.6 to 1.1 of the rate of requests without tokens), and looking for a new
        word among the tokens before it is segmented (0.8 to 1.0).
        """
        from subwords.kernels.named import rehash

        found = NO_SLOTS if self.has_tokens else first_words(self.segmenter)
        if not len(found):
            return False
        self.move_slots(FULLER_SLOTS)
        self.counters[layout.COUNTER.slots_used] += rehash(found, self.slots, self.seeds)
        self.has_tokens = True
        return True

    def grow_arena(self, length: int) -> None:
        """Make room for a word of this many bytes, or empty the table if the arenas have their maximum size."""
        if len(self.ids) >= max(MOST_ARENA, 8 * len(self.whole_words.data) if self.whole_words else 0):
            self.clear()
        self.move_arenas(2 * (max(len(self.ids), len(self.arena)) + length))

    def move_arenas(self, size: int) -> None:
        """Move ids and bytes to arenas of `size` entries or more."""
        size = max(size, len(self.ids), len(self.arena))
        ids, arena = zeros(size, np.int32, random=True), zeros(size + 8, np.uint8, random=True)
        ids[: self.counters[layout.COUNTER.ids_used]] = self.ids[: self.counters[layout.COUNTER.ids_used]]
        arena[: self.counters[layout.COUNTER.bytes_used]] = self.arena[: self.counters[layout.COUNTER.bytes_used]]
        self.ids, self.arena = ids, arena
        self.set_workspace()


NO_SLOTS = np.zeros(0, np.uint64)


def first_words(segmenter: Segmenter) -> NDArray[np.uint64]:
    """Return the slots that `keep_first_words` has written for a tokenizer, or none."""
    from subwords.kernels.stored import mapped_table, unpacked

    if "first_words" not in vars(segmenter):
        found: Any = NO_SLOTS
        with suppress(Exception):  # whatever damaged content raises
            if (name := segmenter.words_name) is not None and (data := mapped_table(name)) is not None:
                found = unpacked(memoryview(data).toreadonly())
        vars(segmenter)["first_words"] = found
    return vars(segmenter)["first_words"]  # type: ignore[no-any-return]


def keep_first_words(encoder: Encoder, root: str | None) -> None:
    """Write a slot for each token that is a word of one id, the first ones of a vocabulary, if they are not there."""
    from subwords.kernels.named import add_tokens
    from subwords.kernels.stored import packed, summed, write_table

    segmenter, vocab = encoder.segmenter, encoder.segmenter.model.vocab
    if (name := segmenter.words_name) is None or len(first_words(segmenter)):
        return
    sizes = vocab.sizes
    ids = np.flatnonzero((sizes > 0) & (sizes <= layout.INLINE))[:MOST_WORDS]  # trainers number frequent ones first
    try:
        words = tokens_of_ids(vocab, np.setdiff1d(ids, lost_words(segmenter, vocab, ids), assume_unique=True))
    except InputError:  # a token whose symbols have no ids
        return
    if words is None:
        return
    state = EncoderState(segmenter)
    state.slots = np.zeros(layout.SLOT.width << (2 * len(words.ends)).bit_length(), np.uint64)
    add_tokens(words.data, words.ends, words.ids, state.table, np.empty(layout.KEYS, np.uint64), state.counters)
    rows = state.slots.reshape(-1, layout.SLOT.width)
    content = packed(rows[rows[:, layout.SLOT.key_high] != 0].ravel())
    write_table(name, summed(content), root)
    vars(segmenter).pop("first_words", None)  # another thread may have done so


def lost_words(segmenter: Segmenter, vocab: Vocab, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some ascending ids whose token, as a word, has other ids than itself alone."""
    words = tokens_of_ids(vocab, ids)
    if words is None:
        return ids
    bounds = np.concatenate([np.zeros(1, np.int64), words.ends])
    made = Encoder(segmenter, SplitterEngine(())).encode_words(words.data, bounds)
    alone = np.diff(made.offsets) == 1
    alone[alone] = made.ids[made.offsets[:-1][alone]] == ids[alone]
    lost: NDArray[np.int64] = ids[~alone]
    return lost


LONG_WORD = 1 << 12  # bytes of a word for which there is room from the first word on that was too long
POOL = 64  # states kept for reuse
LARGE_TEXT = 1 << 20  # bytes for which the table is sized ahead
CREWS = 2  # groups of states for such texts that are kept
CUT_WORDS = 1 << 12  # long words cut at once
SPARE_ARRAYS = Spare()  # of all encoders, whose results are alike


IdsAndOffsets: TypeAlias = (
    "tuple[NDArray[np.uint32], NDArray[np.int64]]"  # ids, and where those of each text begin and end
)
Continuing: TypeAlias = "tuple[CallPlan, EncoderState, Callable[[object], NDArray[np.uint32] | None]]"


class Encoder:
    """Encodes text with one model and one source of words; any number of threads may share it (A4).

    splitter: the source of the words that are encoded. words: that of the tokenizer's words; they may be longer, with
    the same ids. prefixed: a space is put before each text. marked: the fast path refuses bytes, and texts with U+2581.
    """

    def __init__(
        self,
        segmenter: Segmenter,
        splitter: WordSource,
        *,
        words: WordSource | None = None,
        prefixed: bool = False,
        marked: bool = False,
    ) -> None:
        self.segmenter = segmenter
        self.splitter = splitter
        self.words = splitter if words is None else words
        self.prefixed = prefixed
        self._marked = marked
        self._pool: deque[EncoderState] = deque(maxlen=POOL)
        self._crews: deque[list[EncoderState]] = deque(maxlen=CREWS)
        self._continuing: list[deque[Continuing]] = [deque(maxlen=POOL), deque(maxlen=POOL)]  # by whether texts begin
        self._slot: FastPathSlot | None = None

    def encode(self, text: str | bytes, threads: int | None = 1) -> NDArray[np.uint32]:
        """Return the ids of a text, uint32: the same for every number of threads."""
        return self.encoded([text], threads)[0]

    def encode_batch(self, texts: Sequence[str | bytes], threads: int | None = None) -> TokenBatch:
        """Return the ids of many texts."""
        return batch_of(*self.encoded(texts, threads))

    def encoded(
        self, texts: Sequence[str | bytes], threads: int | None = None, *, marked: bool | None = None
    ) -> IdsAndOffsets:
        """Return the ids of texts, and where those of each begin and end; TextError for a lone surrogate.

        By the fast path, where the texts are in memory; those that it is not for, from copies of all their bytes.
        marked: False if all are known to be `str` without U+2581; to look for it takes 0.4 ns a byte.
        """
        from subwords.engine.batch import encode_places, group_texts, read_places

        count = thread_count(threads)
        if (
            self.has_fast_path
            and (places := read_places(texts, marked=self.marked if marked is None else marked)) is not None
        ):
            return encode_places(self, places, count)
        data = [as_bytes(text, i) for i, text in enumerate(texts)]
        if self.prefixed:
            data = [b" " + each if each else each for each in data]
        parts = group_texts(data)
        batch = TokenBatch.join(in_threads(self._encode_texts, parts, min(len(parts), count)))
        return batch.ids.copy(), batch.offsets

    def crew(self, size: int) -> list[EncoderState]:
        """Take states for the parts of one text: those of equal number meet the same state in every call."""
        states = self._crews.pop() if self._crews else []
        return states + [EncoderState(self.segmenter) for _ in range(size - len(states))]

    def give_crew(self, states: list[EncoderState]) -> None:
        """Put these back; never after an exception."""
        self._crews.append(states)

    def encode_part(self, text: bytes, bounds: NDArray[np.int64], *, begins: bool, ends: bool) -> TokenBatch:
        """Return the ids of consecutive texts.

        begins=False: the first text continues an earlier part. ends=False: the last one continues later. Not for a
        segmenter that joins; a text may be cut where `splitter.cut` says, if words are apart.
        """
        state = self.take()
        batch = self._ids_of(state, np.frombuffer(text, np.uint8), bounds, begins=begins, ends=ends)
        self.give(state)
        return batch

    def encode_on(self, text: str, total: float | None) -> tuple[NDArray[np.uint32], float | None]:
        """Return the ids of text that continues a text, for a segmenter whose words are not apart.

        text: surrogates stand for bytes that are not UTF-8. total: the sum of scores of the text before it, or None.
        Also returns the sum after the text.
        """
        if not self.has_fast_path:
            state = self.take()
            found = self._sums_of(state, text, total)
            self.give(state)
            return found
        begins = total is None
        try:
            plan, state, array = self._continuing[begins].pop()
        except IndexError:
            plan, state, array = self._new_continuing(begins)
        sums = state.scratch.sums
        if total is not None:
            state.counters[layout.COUNTER.begin] = 0
            sums[layout.SUM.total] = sums[layout.SUM.before] = total
        ids = array(text)
        if ids is not None:
            found = ids, float(sums[layout.SUM.total]) if len(ids) else total
        else:
            found = self._sums_of(state, text, total)
            plan.numbers[FIELDS.out], plan.numbers[FIELDS.workspace] = id(state.out), id(state.workspace)
        self._continuing[begins].append((plan, state, array))
        return found

    def _sums_of(self, state: EncoderState, text: str, total: float | None) -> tuple[NDArray[np.uint32], float | None]:
        """Do the same with a state, by the general path."""
        data, begins = text.encode("utf-8", "surrogateescape"), total is None
        if total is not None:
            state.counters[layout.COUNTER.begin] = 0
            state.scratch.sums[layout.SUM.total] = state.scratch.sums[layout.SUM.before] = total
        bounds = np.array([0, len(data)], np.int64)
        ids = self._ids_of(state, np.frombuffer(data, np.uint8), bounds, begins=begins).ids
        return ids, float(state.scratch.sums[layout.SUM.total]) if len(ids) else total

    def _new_continuing(self, begins: bool) -> Continuing:
        """Return a state of its own for text that begins, or continues another, and the fast path with it."""
        state, slot = EncoderState(self.segmenter), new_slot(len(self.segmenter.model.vocab))
        call = self.splitter.fast_path(state.buffers, begins=begins)
        assert call is not None, "only made for an encoder with a fast path"
        plan = state.plans[False] = new_plan(state, call, prefixed=False, marked=self.marked)
        plan.numbers[FIELDS.wide] = NEVER  # nothing would make a plan with cuts
        plan.numbers[FIELDS.out], plan.numbers[FIELDS.workspace] = id(state.out), id(state.workspace)
        slot.put((plan, state))
        return plan, state, FastPath(slot).array

    def encode_words(
        self,
        text: NDArray[np.uint8],
        words: NDArray[np.int64],
        neighbours: NDArray[np.uint8] | None = None,
        *,
        distinct: bool = False,
    ) -> TokenBatch:
        """Return the ids of each word of one text, text[words[i]:words[i + 1]]; no word is empty.

        neighbours: whether any token has two bytes side by side, 256 x 256; long words are then cut elsewhere (E9).
        distinct: the words differ, so the table of words is not used.
        """
        from subwords.kernels.named import cut_words

        state = self.take()
        state.counters[layout.COUNTER.joined] = 1
        # 198,000 words, 32,000 tokens: 0.09 s instead of 0.16. Unigram changes `alone` itself: it uses the table.
        # What is looked up as a whole word (E2) is only in the table.
        state.counters[layout.COUNTER.alone] = distinct and neighbours is None and not self.segmenter.whole_words
        parts = []
        step = CHUNK_WORDS if neighbours is None else CUT_WORDS
        for first in range(0, len(words) - 1, step):
            bounds = words[first : first + step + 1]
            base = int(bounds[0])
            # Each word is one text: the kernel replaces its index by its number of ids.
            ends, text_ends = (bounds[1:] - base).astype(np.uint32), np.arange(1, len(bounds))
            if neighbours is not None:
                ends = np.empty(int(bounds[-1]) - base, np.uint32)
                ends = ends[: cut_words(text, bounds, neighbours, ends, text_ends)]
            chunk = WordChunk(text, base, ends, text_ends, True)
            out = np.empty(int(chunk.ends[-1]) + layout.OUT_PADDING, np.uint32)
            written, out = self.run(state, chunk, out, 0)
            parts.append(batch_of(out[:written].copy(), np.concatenate([np.zeros(1, np.int64), chunk.text_ends])))
        state.counters[layout.COUNTER.joined], state.counters[layout.COUNTER.begin] = 0, 1
        state.counters[layout.COUNTER.alone] = 0
        self.give(state)
        return self.segmenter.joined_words(TokenBatch.join(parts))

    def _encode_texts(self, texts: list[bytes]) -> TokenBatch:
        bounds = np.cumsum(np.fromiter(map(len, [b"", *texts]), np.int64, len(texts) + 1))
        state = self.take()
        batch = self._ids_of(state, np.frombuffer(b"".join(texts), np.uint8), bounds)
        self.give(state)
        return self.segmenter.joined(batch)

    def _ids_of(
        self,
        state: EncoderState,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        *,
        begins: bool = True,
        ends: bool = True,
    ) -> TokenBatch:
        """Return the ids of texts, not joined; begins, ends: whether the first text begins and the last ends here."""
        offsets = np.zeros(len(bounds), np.int64)
        out = np.empty(min(len(text), 1 << 16) + layout.OUT_PADDING, np.uint32)
        if len(text) > LARGE_TEXT:
            state.expect(len(text))
        if len(text) > CUT_TEXT:
            state.use_cuts()
        written, done = 0, 1
        for chunk in self.splitter.texts(text, bounds, state.buffers, begins=begins, ends=ends):
            written, out = self.run(state, chunk, out, written, total=len(text) if chunk.text is text else 0)
            offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
            done += len(chunk.text_ends) if chunk.complete else 0
            state.counters[layout.COUNTER.begin] = chunk.complete
            check_stopped()
        state.counters[layout.COUNTER.begin] = 1
        if state.fits > LONGEST_SCRATCH:
            state.fit_word(layout.SHORT_WORD)
        large = written > 1 << 16 and written > len(out) // 2
        return batch_of(out[:written] if large else out[:written].copy(), offsets)

    def run(
        self,
        state: EncoderState,
        chunk: WordChunk,
        out: NDArray[np.uint32],
        written: int,
        *,
        before: int = 0,
        total: int = 0,
        short: bool = False,
    ) -> tuple[int, NDArray[np.uint32]]:
        """Append the ids of a chunk to `out`; see `resume`. short: keep the GIL."""
        text, base, ends, text_ends, _ = chunk
        words, kernel = int(text_ends[-1]) & layout.WORDS, self.kernel_with_gil if short else self._kernel
        status = kernel(text, base, ends, words, text_ends, len(text_ends), out, written, state.workspace)
        if status >= 0:
            return status, out
        return self.resume(state, chunk, words, out, -status, before=before, total=total)

    def resume(
        self,
        state: EncoderState,
        chunk: WordChunk,
        words: int,
        out: NDArray[np.uint32],
        status: int,
        *,
        before: int = 0,
        total: int = 0,
    ) -> tuple[int, NDArray[np.uint32]]:
        """Resume the kernel until it is done, and provide what it asks for.

        Returns the number of ids and the array, which may be a new one. total: the bytes of all text whose ids the
        array is for, if that is known; `before` of them come before the text of the chunk.
        """
        counters = state.counters
        text, base, ends, text_ends, _ = chunk
        while status > 0:
            if status == layout.NEED_OUT:
                next_word = counters[layout.COUNTER.next_word]
                read = before + base + (int(ends[next_word - 1] & layout.PLACE) if next_word else 0)
                expansion = total / read if total and read else 2.0
                out = self._larger(
                    out, int(counters[layout.COUNTER.written]), int(counters[layout.COUNTER.needed]), expansion
                )
            elif not state.make_room(status):
                raise self._unknown(chunk, words, int(counters[layout.COUNTER.unknown_at]))
            texts, written = len(text_ends), int(counters[layout.COUNTER.written])
            status = -self._kernel(text, base, ends, words, text_ends, texts, out, written, state.workspace)
        return -status, out

    def _unknown(self, chunk: WordChunk, words: int, at: int) -> UnknownSymbolError:
        """Return the error for the symbol at byte `at` of a chunk: the text after its word may be of other calls."""
        stops = chunk.base + (chunk.ends[:words].astype(np.int64) & layout.PLACE)
        number = int(np.searchsorted(stops, at, side="right"))
        begin = int(stops[number - 1]) if number else chunk.base
        word = chunk.text[begin : stops[number]].tobytes()
        return self.segmenter.unknown(word, at - begin).moved(begin)

    def _larger(self, out: NDArray[np.uint32], filled: int, needed: int, expansion: float) -> NDArray[np.uint32]:
        # Sized by the ids per byte so far. `resize` would clear the new memory: -25 % throughput on a large text.
        size = max(needed, int(filled * max(expansion * 1.1, 1.25))) + 1024
        larger = SPARE_ARRAYS.empty(size, np.uint32) if size > 1 << 16 else np.empty(size, np.uint32)
        larger[:filled] = out[:filled]
        return larger

    @cached_property
    def _kernel(self) -> Callable[..., int]:
        return self.segmenter.kernel.without_gil()

    @cached_property
    def kernel_with_gil(self) -> Callable[..., int]:
        """The kernel, for a short text."""
        return self.segmenter.kernel.with_gil()

    # ------------------------------------------------------------------ the fast path

    @cached_property
    def _split_call(self) -> SplitCall | None:
        return has_fast_path(self.segmenter, self.splitter)

    @property
    def has_fast_path(self) -> bool:
        """Whether texts can be encoded by address."""
        return self._split_call is not None

    @cached_property
    def marked(self) -> bool:
        """Whether the fast path refuses texts with U+2581."""
        return self._marked or (self._split_call is not None and self._split_call.marked)

    @property
    def slot(self) -> FastPathSlot | None:
        """Where built-in functions find what they need; None if the encoder has no fast path."""
        if self._slot is None and self.has_fast_path:
            self._slot = new_slot(len(self.segmenter.model.vocab))
        return self._slot

    def plan(self, state: EncoderState, *, cuts: bool = False) -> CallPlan:
        """Return the call plan of a state; `cuts` as in `WordSource.fast_path`."""
        plan = state.plans.get(cuts)
        if plan is None:
            call = self.splitter.fast_path(state.buffers, cuts=cuts)
            assert call is not None, "an encoder without a fast path has no plans"
            plan = new_plan(state, call, prefixed=self.prefixed, marked=self.marked)
            if cuts:  # one kernel fills the buffer, and then chooses the plan
                other = self.plan(state)
                plan = plan._replace(buffer=other.buffer, bounds=other.bounds)
            state.plans[cuts] = plan
        return plan

    # ------------------------------------------------------------------ states

    def take(self) -> EncoderState:
        """Take a state; no other thread has it until it is given back."""
        held = self._slot.take() if self._slot is not None else None
        if held is not None:
            return held[1]
        try:
            return self._pool.pop()
        except IndexError:
            return EncoderState(self.segmenter)

    def give(self, state: EncoderState) -> None:
        """Put a state back; never after an exception, which may have left it inconsistent."""
        if state.fits > LONGEST_SCRATCH:
            state.fit_word(layout.SHORT_WORD)
        if self._slot is not None:
            plan = self.plan(state)
            plans = [plan]
            if plan.numbers[FIELDS.wide] >= CUT_TEXT:
                state.use_cuts()
                plans.append(self.plan(state, cuts=True))
                plan.numbers[FIELDS.cut_plan] = id(plans[1])
            for each in plans:
                each.numbers[FIELDS.out], each.numbers[FIELDS.workspace] = id(state.out), id(state.workspace)
            # A plan has its state only in the slot: otherwise the two would keep each other.
            if self._slot.put((plan, state)):
                return
        self._pool.append(state)


def as_bytes(text: str | bytes, index: int) -> bytes:
    """Return the UTF-8 bytes of one text of a batch; TextError for a lone surrogate, and for other types."""
    if isinstance(text, bytes):
        return text
    try:
        return encode_text(text)
    except InputError as error:
        raise TextError(index, str(error)) from None


# ---------------------------------------------------------------------------------------------------------------------
# The tables of safe cuts by vocabulary (E9), see `kernels/split/words.py`.

LEAST_FILTER, MOST_FILTER = 1 << 9, 1 << 15  # elements, 4 KB and 256 KB: the filter should stay in the second cache
# Thai, Lao and Tibetan; Burmese; Jamo; Khmer; Chinese, Japanese, their punctuation; Korean; more Chinese; wide forms
# Other scripts of three bytes put spaces between words, so their words are met again.
CUT = (
    (0x0E00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x2E80, 0x9FFF),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),
)


def safe_cuts(tokens: Vocab, unreached: Iterable[bytes] = ()) -> SafeCuts:
    """Return which places between two characters of three bytes a token may span.

    unreached: tokens that only whole words become (E2). What lies between two cuts must not be taken for such a word,
    so nothing is cut beside their outer characters.
    Row: encode_gpt2, "zh, 12 MB"; for texts of up to 50 KB, 0.2 to 1 of the time with it.
    """
    from subwords.kernels.named import enter_tokens

    members, none = np.zeros(layout.MEMBERS + 1, np.uint16), (np.zeros(0, np.uint8), np.zeros(0, np.uint16))
    entries = enter_tokens(tokens.data, tokens.offsets, SafeCuts(np.zeros(1, np.uint64), members, *none))
    # An entry sets two bits, and the filter has 16 to 32 bits for each: it misses at most 2 % of the safe cuts.
    bits = np.zeros(min(max(1 << (entries // 4).bit_length(), LEAST_FILTER), MOST_FILTER), np.uint64)
    enter_tokens(tokens.data, tokens.offsets, SafeCuts(bits, members, *none))
    for first, last in CUT:
        members[first : last + 1] |= layout.MAY_CUT
    for token in unreached:
        text = token.decode("utf-8", "surrogateescape")
        for char in (text[:1], text[-1:]):
            if char and ord(char) < layout.MEMBERS:
                members[ord(char)] &= ~np.uint16(layout.MAY_CUT)
    return SafeCuts(bits, members, *none)


def may_lie_between_cuts(data: NDArray[np.uint8], begins: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the words data[begins[i]:begins[i + 1]] begin or end with a character that may be cut off."""
    long, padded = np.diff(begins) >= 3, np.concatenate([data, np.zeros(3, np.uint8)])
    found = np.zeros(len(long), np.bool_)
    for at in (begins[:-1], np.maximum(begins[1:] - 3, 0)):
        lead, second, third = (padded[at + k].astype(np.int64) for k in range(3))
        code = (lead & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
        for first, last in CUT:
            found |= (lead >> 4 == 0xE) & (code >= first) & (code <= last)
    return found & long


# ---------------------------------------------------------------------------------------------------------------------
# Words to ids, many texts at once, with a copy of where the words are.

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


class TracedWords(NamedTuple):
    """The words of some texts, one after the other: the arrays of a `TracedChunk`, copied."""

    base: int
    ends: NDArray[np.uint32]
    begins: Offsets
    word_ends: Offsets
    complete: bool
    origin: Offsets | None
    text: Bytes | None  # the text of the words, if it has an `origin`


def _words_of(traced: TracedChunk, *, held: bool) -> TracedWords:
    """Return the words; held: the arrays of the words themselves, which may be longer."""
    chunk, begins = traced.chunk, traced.begins
    ends, text = chunk.ends, None if traced.origin is None else chunk.text
    if not held:
        count = int(chunk.text_ends[-1])
        begins, ends = begins[:count].copy() if len(begins) else NO_OFFSETS, ends[:count].copy()
    return TracedWords(chunk.base, ends, begins, chunk.text_ends.copy(), chunk.complete, traced.origin, text)


def encode_traced(
    encoder: Encoder, splitter: SplitterEngine, text: Bytes, bounds: Offsets, *, held: bool
) -> tuple[NDArray[np.uint32], Offsets, list[TracedWords], EncoderState | None]:
    """Return the ids of the texts text[bounds[i]:bounds[i + 1]], the offsets of the ids of each text, and the words.

    splitter: has the words of the encoder's own one, which may have a normalizer before it. held: the words of one
    short text are not copied (a tenth of the time of its spans), but belong to the state, which the caller gives back.
    """
    state = encoder.take()
    offsets = np.zeros(len(bounds), np.int64)
    if held and len(text) <= layout.SHORT_TEXT and (one := splitter.route.short_traced(text, state.buffers)):
        words = [_words_of(one, held=True)]
        offsets[1], out = encoder.run(state, one.chunk, state.out, 0, short=True)
        state.counters[layout.COUNTER.begin] = 1
        return out[: offsets[1]].copy(), offsets, words, state
    words = list[TracedWords]()
    written, done, short = 0, 1, len(text) <= layout.SHORT_TEXT
    out = state.out if short else np.empty(min(len(text), 1 << 16) + layout.OUT_PADDING, np.uint32)
    if len(text) > 1 << 20:
        state.expect(len(text))
    for traced in _chunks(splitter, text, bounds, state.buffers):
        chunk = traced.chunk
        words.append(_words_of(traced, held=False))
        written, out = encoder.run(state, chunk, out, written, short=short)
        offsets[done : done + len(chunk.text_ends)] = chunk.text_ends
        done += len(chunk.text_ends) if chunk.complete else 0
        state.counters[layout.COUNTER.begin] = chunk.complete
        check_stopped()
    # Copied before the state is given back: `out` may belong to it, and another thread may take it at once.
    ids = out[:written].copy() if short or written < len(out) // 2 else out[:written]
    encoder.give(state)
    return ids, offsets, words, None


def trace_words(
    splitter: SplitterEngine, text: Bytes, bounds: Offsets, buffers: SplitBuffers, *, held: bool
) -> list[TracedWords]:
    """Return the words of texts; held: of one short text, not copied, so that they belong to the buffers."""
    if not splitter.rule:
        filled = bounds[1:] > bounds[:-1]
        return [TracedWords(0, bounds[1:][filled].astype(np.uint32), NO_OFFSETS, np.cumsum(filled), True, None, None)]
    return [_words_of(traced, held=held) for traced in _chunks(splitter, text, bounds, buffers)]


def _chunks(splitter: SplitterEngine, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterable[TracedChunk]:
    one = splitter.route.short_traced(text, buffers) if len(bounds) == 2 and len(text) <= layout.SHORT_TEXT else None
    return splitter.route.traced(text, bounds, buffers) if one is None else (one,)


# Counted words in the ids of a model.

WORDS_AT_ONCE = 1 << 13  # for a thread; 364,000 lines: 0.28 s, with 1 << 15 0.32 s, 1 << 17 0.39 s
WORTH_CUTTING = 32  # bytes of a word, on average, from which on cutting it is faster


def word_ids(model: Model, counts: WordCounts, threads: int | None = None) -> TokenBatch:
    """Return the ids of every word, each by itself. Unknown symbols of BPE get the id after the last token."""
    encoder, text = encoder_of(model.by_words(), SplitterEngine(())), np.ascontiguousarray(counts.data)
    starts = [*range(0, len(counts), WORDS_AT_ONCE), len(counts)]
    near = neighbours_of(model) if len(text) > WORTH_CUTTING * len(counts) else None

    def encoded(part: tuple[int, int]) -> TokenBatch:
        return encoder.encode_words(text, counts.offsets[part[0] : part[1] + 1], near, distinct=True)

    return TokenBatch.join(in_threads(encoded, pairwise(starts), thread_count(threads)))


def neighbours_of(model: Model) -> NDArray[np.uint8] | None:
    """Return whether any token has two bytes side by side, for all pairs of bytes; None if words cannot be cut so."""
    whole = model.whole_words or model.words_only or bool(model.user_ids)
    if whole or any(model.marks) or not (model.byte_level and model.knows_all):
        return None
    offsets = model.symbols.offsets
    found, data = np.zeros(1 << 16, np.uint8), model.symbols.data[: offsets[-1]].astype(np.int64)  # no padding
    inside = np.ones(len(data), np.bool_)
    inside[offsets[1:][np.diff(offsets) > 0] - 1] = False  # the last byte of each
    found[(data[:-1] << 8 | data[1:])[inside[:-1]]] = 1
    return found
