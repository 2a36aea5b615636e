"""Routes: how texts are split, by boundary algebra, by one machine, or step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Kinds, SafeCuts, Transducer, WordChanges
from subwords.kernels.named import (
    split_cl100k,
    split_cl100k_many,
    split_gpt2,
    split_gpt2_many,
    split_o200k,
    split_o200k_many,
)
from subwords.kernels.stored import stored
from subwords.spec.splitter import NAMED, Rule
from subwords.spec.unicode import UNICODE_VERSION, cased_classes, gpt2_classes
from subwords.support.errors import InputError
from subwords.support.value import digest_of

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel
    from subwords.split.transducer import Machine
    from subwords.split.word_spans import WordSpans


Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


class WordChunk(NamedTuple):
    """The words of the next texts. Hazard: all arrays are reused for the next chunk."""

    text: Bytes
    base: int
    ends: NDArray[np.uint32]  # word j ends at base + ends[j] of `text`; the bit RUN may be set, see SplitBuffers
    text_ends: Offsets  # the number of words up to the end of each text
    complete: bool  # False: the last text continues in the next chunk


class SplitCall(NamedTuple):
    """How texts are split, as calls of kernels; see `kernels/fastpath.py`."""

    kernel: Kernel | None  # None: `keep` splits too, and takes the table
    tables: tuple[object, ...]  # one or two, which it takes besides the texts and the ends
    keep: Kernel | None = None  # changes words, see `kernels/split/words.py`
    drops: WordChanges | Kinds | None = None  # the table that `keep` takes
    widens: int = 0  # bytes that `keep` adds to a word, at most
    stages: tuple[StageCall, ...] = ()  # of the normalizer, before
    marked: bool = False  # a text with U+2581 may need more
    ascii_kernel: Kernel | None = None  # tried first for text that is mostly ASCII, with two tables
    ascii_tables: tuple[object, ...] = ()


class StageCall(NamedTuple):
    """A stage of a normalizer as one call of a kernel."""

    kernel: Kernel
    tables: object
    scratch: object = None
    marked: bool = False


class TracedChunk(NamedTuple):
    """The words of the next texts, and where they come from. Hazard: all arrays are reused for the next chunk."""

    chunk: WordChunk
    begins: Offsets  # where the words begin in the text; empty if each begins where the previous one ends
    origin: Offsets | None = None  # (2, n): the range that each byte of chunk.text comes from; None if unchanged


# Words written by one kernel call: few enough that their ends stay in the L2 cache.
CHUNK_WORDS = 65536
CHUNK_TEXTS = 1024
# Offsets are relative to a chunk and have 32 bits.
WINDOW = layout.MOST_BYTES
NO_OFFSETS = np.zeros(0, np.int64)
SAMPLE = 4096  # bytes that decide between the masks (fast for ASCII) and the machine (all scripts)
SAMPLED = 1 << 18  # bytes that the sample stands for


class SplitBuffers:
    """Reusable buffers for the word ends of one chunk, owned by one thread and one route at a time."""

    __slots__ = (
        "cuts",
        "cutter",
        "ends",
        "kept_ends",
        "kept_text",
        "runs",
        "tail",
        "text_ends",
        "transducer",
    )

    def __init__(self, words: int = CHUNK_WORDS) -> None:
        self.ends = np.empty(words + 1, np.uint32)
        self.text_ends = np.empty(CHUNK_TEXTS + 1, np.int64)
        self.tail = np.empty(layout.LANES, np.uint8)
        self.transducer: Transducer | None = None
        self.cutter: Transducer | None = None  # the same with cuts
        # Safe cuts by vocabulary: a route with them yields parts of words, which have the same ids.
        self.cuts: Callable[[], SafeCuts | None] | None = None  # makes them: it takes some milliseconds
        self.runs = False  # whether isolated characters become one word with the bit RUN
        # Words that were dropped from or changed, and their ends.
        self.kept_text, self.kept_ends = np.empty(0, np.uint8), np.empty(0, np.uint32)


def word_bounds(chunks: Iterable[WordChunk]) -> Offsets:
    """Return the starts of the words of one text and the end of the last one."""
    parts = [chunk.base + chunk.ends[: int(chunk.text_ends[-1])].astype(np.int64) for chunk in chunks]
    return np.concatenate([np.zeros(1, np.int64), *parts])


class SplitRoute(ABC):
    """An implementation of a rule."""

    name: str
    compiled: bool
    growth = 1  # maximum output length as a multiple of the input length

    @abstractmethod
    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts, text[bounds[i]:bounds[i + 1]], in order."""

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call that splits texts; None if one does not. cuts: use buffers.cuts."""
        return None

    def traced(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[TracedChunk]:
        """Split many texts as `texts` does, without cuts; also say where the words come from."""
        cuts, buffers.cuts = buffers.cuts, None
        try:
            for chunk in self.texts(text, bounds, buffers):
                yield TracedChunk(chunk, NO_OFFSETS)
        finally:
            buffers.cuts = cuts

    def short_traced(self, text: Bytes, buffers: SplitBuffers) -> TracedChunk | None:
        """Split a text of less than CHUNK_WORDS bytes in one step, as `traced` does; None if impossible."""
        return None

    @abstractmethod
    def cut(self, text: Bytes, at: int) -> int:
        """Return the last known position in text[:at] where a cut changes no word, whatever follows, or 0 (S4)."""

    def cuts_between(self, before: str, after: str) -> bool:
        """Whether any text may be cut between these two characters (S4); surrogates stand for bytes."""
        data = [char.encode("utf-8", "surrogateescape") for char in (before, after)]
        return self.cut(np.frombuffer(b"".join(data), np.uint8), sum(map(len, data))) == len(data[0])

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text, with their origin."""
        from subwords.split.word_spans import whole_text

        whole = whole_text(text, np.array([0, len(text)], np.int64), np.ones(1, np.bool_), tracked=True)
        return whole.cut(word_bounds(self.texts(text, whole.texts, SplitBuffers())))

    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        return UNICODE_VERSION


class Scanner(SplitRoute):
    """A route whose kernel writes the word ends of the unchanged text."""

    compiled = True

    @abstractmethod
    def _one(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> int:
        """Write the word ends of text[start:stop], or as many as fit; return their number."""

    @abstractmethod
    def _many(self, text: Bytes, bounds: Offsets, first: int, buffers: SplitBuffers) -> int:
        """Write the word ends of whole texts from `first` on; return the first text that did not fit."""

    def short_traced(self, text: Bytes, buffers: SplitBuffers) -> TracedChunk | None:
        """Split a short text in one call."""
        cuts, buffers.cuts = buffers.cuts, None
        buffers.text_ends[0] = self._one(text, 0, len(text), buffers)
        buffers.cuts = cuts
        return TracedChunk(WordChunk(text, 0, buffers.ends, buffers.text_ends[:1], True), NO_OFFSETS)

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts; short ones by hundreds per kernel call.

        Row: train, "english, 60 MB, each line a document": a line takes 5 us in a call of its own, 0.6 with others.
        """
        first = 0
        while first < len(bounds) - 1:
            long = bounds[first + 1] - bounds[first] >= CHUNK_WORDS
            last = first if long else self._many(text, bounds, first, buffers)
            if last == first:
                yield from self._long_text(text, int(bounds[first]), int(bounds[first + 1]), buffers)
                last += 1
            else:
                text_ends = buffers.text_ends[1 : last - first + 1]
                yield WordChunk(text, int(bounds[first]), buffers.ends, text_ends, True)
            first = last

    def _long_text(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> Iterator[WordChunk]:
        text_ends, ends = buffers.text_ends[:1], buffers.ends
        if start == stop:
            text_ends[0] = 0
            yield WordChunk(text, start, ends, text_ends, True)
        while start < stop:
            window = stop
            if stop - start > WINDOW:
                window = start + self.cut(text[start:stop], WINDOW)
                if window == start:
                    raise InputError(f"word too long: expected less than 2 GiB; the one at byte {start} may be longer")
            text_ends[0] = count = self._one(text, start, window, buffers)
            after = start + (int(ends[count - 1]) & layout.PLACE)
            yield WordChunk(text, start, ends, text_ends, after == stop)
            start = after


KEPT: WeakValueDictionary[tuple[type, str], MachineRoute] = WeakValueDictionary()


class MachineRoute(Scanner):
    """Splits by one machine for the whole rule."""

    name = "compiled automaton"

    def __init__(self, machine: Machine) -> None:
        from subwords.split.transducer import cutter, tables_of

        self._tables = tables_of(machine)
        self._cutter = cutter(machine)._replace(classes=self._tables.classes)

    @classmethod
    def kept(cls, name: str, machine: Callable[[], Machine]) -> MachineRoute:
        """Return the route of the machine with this name, from its tables on disk if they are there.

        So a process that finds them never imports what makes machines. Tokenizers of one rule share it.
        Row: calls_load, "load o200k's ranks": 8 ms more without it.
        """
        made = KEPT.get((cls, name))
        if made is None:
            made = cls.__new__(cls)
            made.__dict__.update(stored("scanner", name.encode(), lambda: vars(cls(machine()))))
            KEPT[cls, name] = made
        return made

    @cached_property
    def _split(self) -> Kernel:
        from subwords.kernels.named import split_text

        return split_text

    def _transducer(self, buffers: SplitBuffers, *, cuts: bool) -> Transducer:
        if cuts and buffers.cuts is not None:
            if buffers.cutter is None:
                from subwords.split.transducer import NO_CUTS, with_scratch

                buffers.cutter = with_scratch(self._tables, buffers.cuts() or NO_CUTS, runs=buffers.runs)
            return buffers.cutter
        if buffers.transducer is None:
            from subwords.split.transducer import NO_CUTS, with_scratch

            buffers.transducer = with_scratch(self._tables, NO_CUTS)
        return buffers.transducer

    def _one(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> int:
        gains = stop - start >= SAMPLE and gains_by_cuts(sample_text(text, start, stop))
        transducer = self._transducer(buffers, cuts=gains)
        return self._split.by_size(stop - start)(text, start, stop, transducer, buffers.ends)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the machine."""
        from subwords.kernels.named import split_texts

        return SplitCall(split_texts, (self._transducer(buffers, cuts=cuts),))

    def _many(self, text: Bytes, bounds: Offsets, first: int, buffers: SplitBuffers) -> int:
        from subwords.kernels.named import split_texts

        gains = gains_by_cuts(sample_text(text, int(bounds[first]), int(bounds[-1])))
        transducer = self._transducer(buffers, cuts=gains)
        return split_texts(text, bounds, first, transducer, buffers.ends, buffers.text_ends)

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last position between two characters where the machine proves a cut safe, or 0 (S4)."""
        from subwords.kernels.named import last_cut

        return last_cut(text, at, *self._cutter)

    def cuts_between(self, before: str, after: str) -> bool:
        """Whether the machine proves it: its table, read without a kernel."""
        return self._cutter.cuts_between(before, after)


def sample_text(text: Bytes, start: int, stop: int) -> Bytes:
    """Return SAMPLE of the next SAMPLED bytes, from four places; nothing of a shorter text."""
    if stop - start < SAMPLE:
        return text[:0]
    step = min(stop - start, SAMPLED) // 4
    return text[start : start + 4 * step].reshape(4, step)[:, : SAMPLE // 4].ravel()


def gains_by_cuts(sample: Bytes) -> bool:
    """Whether many characters have safe cuts: Chinese, Japanese and Korean ones (E3 to ED), and Thai ones (E0 B8)."""
    if not len(sample):  # of a short text: counting in nothing takes 10 us
        return False
    found = np.count_nonzero(sample - np.uint8(0xE3) < 11)
    if found <= len(sample) // 64:
        found += np.count_nonzero((sample[:-1] == 0xE0) & (sample[1:] >= 0xB8))
    return bool(found > len(sample) // 64)


def much_is_odd(sample: Bytes, buffers: SplitBuffers) -> bool:
    """Whether a quarter of the text is characters that masks cannot classify in one step; an eighth with safe cuts."""
    if not len(sample):
        return False
    high = np.count_nonzero(sample > 127)
    if high > len(sample) // 8:
        high -= 2 * np.count_nonzero((sample - np.uint8(0xC3) < 8) | (sample & 0xFE == 0xD0) | (sample & 0xFC == 0xD8))
        lead, second = sample[:-1], sample[1:]
        high -= 3 * np.count_nonzero(
            (lead == 0xE1) & (second & 0xFC == 0xB8) | (lead == 0xE0) & (second & 0xFE == 0xA4)
        )
    return _is_much(high, sample, buffers)


def _is_much(high: np.integer[Any], sample: Bytes, buffers: SplitBuffers) -> bool:
    return bool(
        high > len(sample) // 4 or (high > len(sample) // 8 and buffers.cuts is not None and gains_by_cuts(sample))
    )


# ---------------------------------------------------------------------------------------------------------------------
# Routes that split by boundary algebra on bit masks: the rules that most tokenizers of language models have.

# For the rules like GPT-4's in kernels/split/rules.py: how many numbers make a word, and whether `\s++$` comes first.
SETTINGS: dict[Rule, tuple[int, int]] = {
    NAMED["cl100k"]: (3, 1),
    NAMED["llama3"]: (3, 0),
    NAMED["qwen2"]: (1, 0),
}

# For those like GPT-4o's: how many numbers make a word, and whether there are contractions.
CASED: dict[Rule, tuple[int, int]] = {NAMED["o200k"]: (3, 1), NAMED["tekken"]: (1, 0)}
WORTH = 1 << 14  # bytes that masks must split in one call; otherwise the machine splits some hundred thousand


def by_masks(rule: Rule) -> MaskRoute | None:
    """Return the route of a rule by masks; None if there is none."""
    if rule == NAMED["gpt2"]:
        return MaskRoute(rule)
    if rule in CASED:
        return CasedRoute(rule)
    return GapsRoute(rule) if rule in SETTINGS else None


class MaskRoute(Scanner):
    """Splits by GPT-2's rule, with boundary algebra on bit masks.

    Row: split, "gpt2, english, 60 MB": 1.25 ns a byte without it, 0.38 with it.
    """

    name = "compiled masks"
    _split, _split_many = split_gpt2, split_gpt2_many

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._classes = gpt2_classes()

    def _one(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> int:
        if much_is_odd(sample_text(text, start, stop), buffers):
            return self._by_machine._one(text, start, stop, buffers)
        return self._split.by_size(stop - start)(text, start, stop, self._classes, buffers.tail, buffers.ends)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the masks, or that of the machine for cuts."""
        if cuts:
            return self._by_machine.fast_path(buffers, cuts=True)
        return SplitCall(self._split_many, (self._classes, buffers.tail))

    def _many(self, text: Bytes, bounds: Offsets, first: int, buffers: SplitBuffers) -> int:
        if much_is_odd(sample_text(text, int(bounds[first]), int(bounds[-1])), buffers):
            return self._by_machine._many(text, bounds, first, buffers)
        return self._split_many(text, bounds, first, self._classes, buffers.tail, buffers.ends, buffers.text_ends)

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last position where the machine of the rule proves a cut safe, or 0."""
        return self._by_machine.cut(text, at)

    def cuts_between(self, before: str, after: str) -> bool:
        """Whether the machine proves it."""
        return self._by_machine.cuts_between(before, after)

    @cached_property
    def _by_machine(self) -> MachineRoute:
        def machine() -> Machine:
            from subwords.split.selection import machine_of

            return machine_of(self._rule)

        return MachineRoute.kept(digest_of(self._rule), machine)


class GapsRoute(MaskRoute):
    """Splits by the rule of GPT-4, Llama 3 or Qwen.

    Row: split, "cl100k, english, 60 MB": 1.0 to 1.3 ns a byte without it, 0.38 with it when it was made.
    """

    _split, _split_many = split_cl100k, split_cl100k_many

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._classes = np.concatenate([self._classes, np.array(SETTINGS[rule], np.uint8)])


class CasedRoute(MaskRoute):
    """Splits by the rule of GPT-4o or Tekken: large texts by masks, if they are ASCII mostly, others by the machine.

    Row: split, "o200k, english, 60 MB": 0.88 ns a byte without masks, 0.45 with them when they were made.
    """

    _split = split_o200k

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    @cached_property
    def _table(self) -> Bytes:
        return np.concatenate([cased_classes(), np.array(CASED[self._rule], np.uint8)])

    def _one(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> int:
        sample = sample_text(text, start, stop)
        if len(sample) and np.count_nonzero(sample > 127) <= len(sample) // 8:  # a quarter: Vietnamese 10 % slower
            count = self._split.by_size(stop - start)(text, start, stop, self._table, buffers.tail, buffers.ends)
            done = int(buffers.ends[count - 1]) if count else 0
            if done >= WORTH or start + done == stop:
                return count
        return self._by_machine._one(text, start, stop, buffers)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the machine, and that of the masks, which is tried first for text that is mostly ASCII."""
        call = self._by_machine.fast_path(buffers, cuts=cuts)
        return call and call._replace(ascii_kernel=split_o200k_many, ascii_tables=(self._table, buffers.tail))

    def _many(self, text: Bytes, bounds: Offsets, first: int, buffers: SplitBuffers) -> int:
        if bounds[first + 1] - bounds[first] >= len(buffers.ends):  # the machine says so too, but must be loaded
            return first
        return self._by_machine._many(text, bounds, first, buffers)
