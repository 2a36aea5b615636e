"""The ways to split text as it is: masks for GPT-2's rule, one machine for most others; the rest is in `steps.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.split.word_spans import Pieces, start
from subwords.unicode.tables import UNICODE_VERSION, gpt2_classes

if TYPE_CHECKING:
    from subwords.kernels.jit import Kernel
    from subwords.split.transducer import Machine

__all__ = ["MachineRoute", "Marks", "MaskRoute", "Route", "Words"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
# (text, base, ends, words, complete): the next len(words) texts, the i-th having words[i] words by its end, word j
# ending at base + ends[j] of `text`. Where `complete` is False the last text goes on in the next item. All is reused.
Words = tuple[Bytes, int, NDArray[np.uint32], Offsets, bool]
# The text of the words, their ends, and how many they are.
Short = tuple[Bytes, NDArray[np.uint32], int]

# Words a scan writes at once: small enough that their ends stay in the processor's second cache.
CHUNK_WORDS = 65536
CHUNK_TEXTS = 1024
# Offsets are relative to a chunk and 32 bits wide.
WINDOW = 2**31 - 64
SAMPLE = 4096  # bytes that tell whether the masks for ASCII or the machine for all scripts will be faster


class Marks:
    """Reusable room for the word ends of one chunk, owned by one thread and one route at a time."""

    __slots__ = ("ends", "kept", "scratch", "tail", "words")

    def __init__(self, words: int = CHUNK_WORDS) -> None:
        self.ends = np.empty(words + 1, np.uint32)
        self.words = np.empty(CHUNK_TEXTS + 1, np.int64)
        self.tail = np.empty(64, np.uint8)
        self.scratch: Any = None
        self.kept = np.empty(0, np.uint8), np.empty(0, np.uint32)  # words of which others were dropped, and their ends


class Route(ABC):
    """How a rule is applied."""

    name: str
    compiled: bool
    growth = 1  # no text becomes longer than this many times its length

    @abstractmethod
    def texts(self, text: Bytes, bounds: Offsets, marks: Marks) -> Iterator[Words]:
        """Split many texts, text[bounds[i]:bounds[i + 1]], in order."""

    def short(self, text: Bytes, marks: Marks) -> Short | None:
        """Split a text shorter than CHUNK_WORDS in one step, if that is possible."""
        return None

    @abstractmethod
    def cut(self, text: Bytes, at: int) -> int:
        """Return a place in text[:at], the last found, where cutting changes no word whatever follows, or 0 (S4)."""

    @abstractmethod
    def pieces(self, text: Bytes) -> Pieces:
        """Return the words of one text, with their origin."""

    def unicode_version(self) -> str:
        """The version its character classes come from."""
        return UNICODE_VERSION


class _Scanner(Route):
    """A kernel that writes the word ends of the text as it is."""

    compiled = True

    @abstractmethod
    def _one(self, text: Bytes, start: int, stop: int, marks: Marks) -> int:
        """Write the word ends of text[start:stop], or the first of them; how many."""

    @abstractmethod
    def _many(self, text: Bytes, bounds: Offsets, first: int, marks: Marks) -> int:
        """Write the word ends of whole texts from `first` on; the first text there was no room for."""

    def short(self, text: Bytes, marks: Marks) -> Short | None:
        """Split a short text in one call."""
        return text, marks.ends, self._one(text, 0, len(text), marks)

    def texts(self, text: Bytes, bounds: Offsets, marks: Marks) -> Iterator[Words]:
        """Split many texts, hundreds a call where they are short."""
        first = 0
        while first < len(bounds) - 1:
            last = self._many(text, bounds, first, marks)
            if last == first:
                yield from self._long_text(text, int(bounds[first]), int(bounds[first + 1]), marks)
                last += 1
            else:
                yield text, int(bounds[first]), marks.ends, marks.words[1 : last - first + 1], True
            first = last

    def _long_text(self, text: Bytes, start: int, stop: int, marks: Marks) -> Iterator[Words]:
        words, ends = marks.words[:1], marks.ends
        if start == stop:
            words[0] = 0
            yield text, start, ends, words, True
        while start < stop:
            window = stop
            if stop - start > WINDOW:
                window = start + self.cut(text[start:stop], WINDOW)
                if window == start:
                    raise InputError(f"expected words under 2 GiB; the one at byte {start} may be longer")
            words[0] = count = self._one(text, start, window, marks)
            after = start + int(ends[count - 1])
            yield text, start, ends, words, after == stop
            start = after

    def pieces(self, text: Bytes) -> Pieces:
        """Return the words of one text."""
        whole = start(text, np.array([0, len(text)], np.int64), np.ones(1, np.bool_), tracked=True)
        marks = Marks()
        parts = [
            base + ends[: int(words[-1])].astype(np.int64)
            for _, base, ends, words, _ in self.texts(text, whole.texts, marks)
        ]
        return whole.cut(np.concatenate([np.zeros(1, np.int64), *parts]))


class MachineRoute(_Scanner):
    """One machine for the whole rule."""

    name = "compiled automaton"

    def __init__(self, machine: Machine) -> None:
        from subwords.split.transducer_tables import cutter, frame

        self._tables = frame(machine)
        self._cutter = cutter(machine)

    @cached_property
    def _split(self) -> Kernel:
        from subwords.kernels.split.transducer import split_text

        return split_text

    def _frame(self, marks: Marks) -> Any:
        if marks.scratch is None:
            from subwords.split.transducer_tables import scratch

            marks.scratch = (*self._tables, *scratch())
        return marks.scratch

    def _one(self, text: Bytes, start: int, stop: int, marks: Marks) -> int:
        return self._split.sized(stop - start)(text, start, stop, self._frame(marks), marks.ends)

    def _many(self, text: Bytes, bounds: Offsets, first: int, marks: Marks) -> int:
        from subwords.kernels.split.transducer import split_texts

        return split_texts(text, bounds, first, self._frame(marks), marks.ends, marks.words)

    def cut(self, text: Bytes, at: int) -> int:
        """Cut between two characters where the machine proves it safe."""
        from subwords.kernels.split.cut import last_cut

        return last_cut(text, at, *self._cutter)


class MaskRoute(_Scanner):
    """GPT-2's rule by boundary algebra."""

    name = "compiled masks"

    def __init__(self, machine: Callable[[], Machine]) -> None:
        self._machine = machine
        self._classes = gpt2_classes()

    @cached_property
    def _split(self) -> Kernel:
        from subwords.kernels.split.gpt2 import split_gpt2

        return split_gpt2

    def _one(self, text: Bytes, start: int, stop: int, marks: Marks) -> int:
        if stop - start >= SAMPLE and np.count_nonzero(text[start : start + SAMPLE] > 127) > SAMPLE // 4:
            return self._by_machine._one(text, start, stop, marks)
        return self._split.sized(stop - start)(text, start, stop, self._classes, marks.tail, marks.ends)

    def _many(self, text: Bytes, bounds: Offsets, first: int, marks: Marks) -> int:
        from subwords.kernels.split.gpt2 import split_gpt2_many

        return split_gpt2_many(text, bounds, first, self._classes, marks.tail, marks.ends, marks.words)

    def cut(self, text: Bytes, at: int) -> int:
        """Cut before an ASCII blank that follows an ASCII non-blank: a run of blanks starts a word, always."""
        for width in (256, 65536):
            window = text[max(0, at - width) : at]
            blank = (window == 32) | ((window >= 9) & (window <= 13))
            found = np.flatnonzero(blank[1:] & ~blank[:-1] & (window[:-1] < 128))
            if len(found):
                return int(at - len(window) + found[-1] + 1)
        return self._by_machine.cut(text, at)

    @cached_property
    def _by_machine(self) -> MachineRoute:
        return MachineRoute(self._machine())
