"""Routes for rules of several steps: step by step over a stretch of text, or by one machine that finds all words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import ByteChars, Prefix, Replace, Rule, Split
from subwords.kernels import layout
from subwords.kernels.layout import Transducer
from subwords.split.finders import Finder, finder
from subwords.split.routes import (
    CHUNK_TEXTS,
    CHUNK_WORDS,
    NO_OFFSETS,
    MachineRoute,
    Route,
    SplitBuffers,
    SplitCall,
    TracedChunk,
    WordChunk,
)
from subwords.split.transducer import Machine
from subwords.split.word_spans import WordSpans, add_prefix, put_bytes_back, replace_character, start, write_byte_chars
from subwords.unicode.tables import UNICODE_VERSION

if TYPE_CHECKING:
    from subwords.kernels.jit import Kernel

__all__ = ["DroppingRoute", "NumbersRoute", "PrefixingRoute", "StepsRoute"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

STRETCH = 1 << 20  # bytes of text per application of the steps


class StepsRoute(Route):
    """Applies the steps one after another to a stretch of text, as arrays."""

    def __init__(self, rule: Rule) -> None:
        self._steps = [finder(step) if isinstance(step, Split) else step for step in rule]
        finders = [step for step in self._steps if isinstance(step, Finder)]
        self.compiled = all(step.compiled for step in finders)
        self.name = "compiled automata, step by step" if self.compiled else "regex package"
        before = rule[: next((k for k, step in enumerate(rule) if isinstance(step, Split)), len(rule))]
        self._cutter = finders[0].cutter() if finders and not before else None
        self._leading = any(isinstance(step, Prefix) and step.scheme == "first" for step in rule)
        self._byte_chars = any(isinstance(step, ByteChars) for step in rule)
        self.growth = 4 + 4 * sum(len(step.text.encode()) for step in rule if isinstance(step, Prefix))

    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        versions = {step.unicode_version for step in self._steps if isinstance(step, Finder)}
        return next(iter(versions - {UNICODE_VERSION}), UNICODE_VERSION)

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last cut that the first step's machine proves safe, or 0: later steps see single words (S4)."""
        return 0 if self._leading else self._cut(text, at)

    def _cut(self, text: Bytes, at: int) -> int:
        if self._cutter is None:
            return 0
        from subwords.kernels.named import last_cut

        return last_cut(text, at, *self._cutter)

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text."""
        return self._applied(start(text, np.array([0, len(text)], np.int64), np.ones(1, np.bool_), tracked=True))

    def _applied(self, word_spans: WordSpans) -> WordSpans:
        for step in self._steps:
            if not len(word_spans.text):
                break
            match step:
                case Finder():
                    word_spans = step.split(word_spans)
                case Prefix():
                    word_spans = add_prefix(word_spans, step.text.encode(), step.scheme == "first")
                case Replace():
                    word_spans = replace_character(word_spans, step.old.encode(), step.new.encode())
                case ByteChars():
                    word_spans = write_byte_chars(word_spans)
        return put_bytes_back(word_spans) if self._byte_chars else word_spans

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts, a stretch at a time; a long text is cut at safe positions."""
        first = 0
        while first < len(bounds) - 1:
            last = int(np.searchsorted(bounds, bounds[first] + STRETCH, side="right")) - 1
            if last > first:
                last = min(last, first + CHUNK_TEXTS)
                part, base = bounds[first : last + 1], int(bounds[first])
                stretch = start(text[base : int(part[-1])], part - base, np.ones(last - first, np.bool_), tracked=False)
                yield from _in_chunks(self._applied(stretch), True)
            else:
                yield from self._long_text(text, int(bounds[first]), int(bounds[first + 1]))
                last = first + 1
            first = last

    def traced(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[TracedChunk]:
        """Split many texts, a stretch of whole texts at a time, with the origin of every byte."""
        first = 0
        while first < len(bounds) - 1:
            last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + STRETCH, side="right")) - 1)
            part, base = bounds[first : last + 1], int(bounds[first])
            stretch = start(text[base : int(part[-1])], part - base, np.ones(last - first, np.bool_), tracked=True)
            found = self._applied(stretch)
            text_ends = np.searchsorted(found.words, found.texts[1:]).astype(np.int64)
            data, ends = np.ascontiguousarray(found.text), found.words[1:].astype(np.uint32)
            yield TracedChunk(WordChunk(data, 0, ends, text_ends, True), NO_OFFSETS, found.origin + base)
            first = last

    def short_traced(self, text: Bytes, buffers: SplitBuffers) -> TracedChunk | None:
        """Split one text."""
        return next(self.traced(text, np.array([0, len(text)], np.int64), buffers))

    def _long_text(self, text: Bytes, at: int, stop: int) -> Iterator[WordChunk]:
        leads = True
        while at < stop:
            size, cut = STRETCH, 0
            while not cut:
                cut = stop - at if at + size >= stop else self._cut(text[at:stop], size)
                size *= 4
            bounds = np.array([0, cut], np.int64)
            word_spans = self._applied(start(text[at : at + cut], bounds, np.array([leads]), tracked=False))
            at, leads = at + cut, False
            yield from _in_chunks(word_spans, at == stop)


def _in_chunks(word_spans: WordSpans, complete: bool) -> Iterator[WordChunk]:
    """Yield the words of some texts: in one chunk, or text by text if there are more than CHUNK_WORDS."""
    text_ends = np.searchsorted(word_spans.words, word_spans.texts[1:]).astype(np.int64)
    text = np.ascontiguousarray(word_spans.text)
    if complete and int(text_ends[-1]) <= CHUNK_WORDS:
        yield WordChunk(text, 0, word_spans.words[1:].astype(np.uint32), text_ends, True)
        return
    for first, last in pairwise([0, *text_ends.tolist()]):
        for k in range(first, max(last, first + 1), CHUNK_WORDS):
            upto = min(last, k + CHUNK_WORDS)
            base = int(word_spans.words[k])
            ends = (word_spans.words[k + 1 : upto + 1] - base).astype(np.uint32)
            whole = upto == last and (complete or last != int(text_ends[-1]))
            yield WordChunk(text, base, ends, np.array([upto - k], np.int64), whole)


class DroppingRoute(MachineRoute):
    """For rules whose first step drops words: one machine finds all words, and a kernel removes the dropped ones.

    `drops`, uint8 of shape (0x110001,), marks the characters with which only dropped words begin.
    """

    _widens = 0  # bytes added to a word, at most

    def __init__(self, machine: Machine, drops: NDArray[np.uint8], rule: Rule) -> None:
        super().__init__(machine)
        self._drops = drops
        self._rule = rule

    @cached_property
    def _keeper(self) -> Kernel:
        from subwords.kernels.named import keep_words

        return keep_words

    @cached_property
    def _by_steps(self) -> StepsRoute:
        return StepsRoute(self._rule)

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts; yield only the words that are kept."""
        for chunk in super().texts(text, bounds, buffers):
            self._keep(chunk.text, chunk.base, chunk.ends, chunk.text_ends, buffers)
            yield WordChunk(buffers.kept_text, 0, buffers.kept_ends, chunk.text_ends, chunk.complete)

    def _transducer(self, buffers: SplitBuffers, *, cuts: bool) -> Transducer:
        return super()._transducer(buffers, cuts=False)  # the kernel that drops words does not support RUN

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the machine, and the words to drop."""
        found = super().fast_path(buffers)
        return found and found._replace(keep=self._keeper, drops=self._drops, widens=self._widens)

    def split_short(self, text: Bytes, buffers: SplitBuffers) -> int | None:
        """Split a short text in one call."""
        text_ends = buffers.text_ends[:1]
        text_ends[0] = self._one(text, 0, len(text), buffers)
        self._keep(text, 0, buffers.ends, text_ends, buffers)
        buffers.short_text, buffers.short_ends = buffers.kept_text, buffers.kept_ends
        return int(text_ends[0])

    def _keep(
        self, text: Bytes, base: int, ends: NDArray[np.uint32], text_ends: Offsets, buffers: SplitBuffers
    ) -> None:
        """Write the kept words to the buffers, and their numbers to `text_ends`."""
        words = int(text_ends[-1])
        size = int(ends[words - 1]) if words else 0
        room = size + words * self._widens + layout.LANES
        kept = self._most_kept(size, words)
        if len(buffers.kept_text) < room or len(buffers.kept_ends) < kept:
            buffers.kept_text, buffers.kept_ends = np.empty(room, np.uint8), np.empty(max(kept, len(ends)), np.uint32)
        self._keeper.by_size(size)(text, base, ends, text_ends, self._drops, buffers.kept_text, buffers.kept_ends)

    def _most_kept(self, size: int, words: int) -> int:
        """Return how many ends need room."""
        return words + 1

    def traced(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[TracedChunk]:
        """Split many texts; also say where the kept words begin."""
        for chunk in super().texts(text, bounds, buffers):
            yield self._kept_traced(chunk, buffers)

    def short_traced(self, text: Bytes, buffers: SplitBuffers) -> TracedChunk | None:
        """Split a short text in one call."""
        buffers.text_ends[0] = self._one(text, 0, len(text), buffers)
        return self._kept_traced(WordChunk(text, 0, buffers.ends, buffers.text_ends[:1], True), buffers)

    def _kept_traced(self, chunk: WordChunk, buffers: SplitBuffers) -> TracedChunk:
        from subwords.kernels.named import kept_begins

        text, base, ends, text_ends, complete = chunk
        words = int(text_ends[-1])
        self._keep(text, base, ends, text_ends, buffers)
        if len(buffers.kept_begins) < words:
            buffers.kept_begins = np.empty(len(ends), np.int64)
        kept_begins.by_size(len(text))(text, base, ends, words, self._drops, buffers.kept_begins)
        kept = WordChunk(buffers.kept_text, 0, buffers.kept_ends, text_ends, complete)
        return TracedChunk(kept, buffers.kept_begins)

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text."""
        return self._by_steps.word_spans(text)


class PrefixingRoute(DroppingRoute):
    """For rules that drop words, and put a character before the others that is then cut before: T5's.

    One machine finds all words. A kept word that does not begin with the prefix was the first one after a dropped word.
    """

    def __init__(self, machine: Machine, drops: NDArray[np.uint8], prefix: bytes, rule: Rule) -> None:
        super().__init__(machine, np.concatenate([drops, np.frombuffer(prefix, np.uint8)]), rule)
        self._widens = len(prefix)
        self.growth = 1 + len(prefix)

    @cached_property
    def _keeper(self) -> Kernel:
        from subwords.kernels.named import keep_prefixed

        return keep_prefixed

    def _kept_traced(self, chunk: WordChunk, buffers: SplitBuffers) -> TracedChunk:
        from subwords.kernels.named import prefixed_origins

        text, base, ends, text_ends, complete = chunk
        words = int(text_ends[-1])
        self._keep(text, base, ends, text_ends, buffers)
        kept = int(text_ends[-1])
        size = int(buffers.kept_ends[kept - 1]) if kept else 0
        origin = np.empty((2, size), np.int64)
        prefixed_origins.by_size(len(text))(text, base, ends, words, self._drops, origin[0], origin[1])
        # The text is copied because its buffer is reused before its origin is.
        found = WordChunk(buffers.kept_text[:size].copy(), 0, buffers.kept_ends, text_ends, complete)
        return TracedChunk(found, NO_OFFSETS, origin)


class NumbersRoute(DroppingRoute):
    """For rules that last cut words, as bytes, around numbers and into groups of three digits: Falcon's.

    `drops`, uint8 of shape (256,), has the kinds of bytes for `cut_numbers`. No word is dropped.
    """

    @cached_property
    def _keeper(self) -> Kernel:
        from subwords.kernels.named import cut_numbers

        return cut_numbers

    def _most_kept(self, size: int, words: int) -> int:
        return size + 1

    def _kept_traced(self, chunk: WordChunk, buffers: SplitBuffers) -> TracedChunk:
        self._keep(chunk.text, chunk.base, chunk.ends, chunk.text_ends, buffers)
        return TracedChunk(chunk._replace(ends=buffers.kept_ends), NO_OFFSETS)
