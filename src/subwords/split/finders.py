"""One step that splits words at the matches of a pattern: by machines, or else by the `regex` package."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Kinds, Literals, Transducer, WordChanges
from subwords.spec.splitter import ByteChars, Prefix, Replace, Rule, SpelledBytes, Split
from subwords.spec.unicode import UNICODE_VERSION
from subwords.split.automaton import automaton, machine
from subwords.split.pattern import Chars, Look, Outside, Repeat, Then, parse_pattern
from subwords.split.routes import (
    CHUNK_TEXTS,
    CHUNK_WORDS,
    NO_OFFSETS,
    WINDOW,
    MachineRoute,
    SplitBuffers,
    SplitCall,
    SplitRoute,
    TracedChunk,
    WordChunk,
)
from subwords.split.transducer import Machine
from subwords.split.word_spans import (
    WordSpans,
    add_prefix,
    put_bytes_back,
    replace_character,
    whole_text,
    write_byte_chars,
)
from subwords.support.errors import InputError
from subwords.support.names import distinct

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel
    from subwords.split.transducer import Cutter, Tables


SECONDS = 10  # time limit of the `regex` package for one word, plus 10 s for every 10 million characters
# The borders of matches at which a behavior cuts; `invert` swaps "ends" and "starts".
EMITTED = {"merged_with_previous": "ends", "merged_with_next": "starts"}
INVERSE = {"ends": "starts", "starts": "ends"}


class StepSplitter(ABC):
    """Applies one Split step."""

    compiled: bool

    def __init__(self, step: Split) -> None:
        self.step = step

    @property
    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        return UNICODE_VERSION

    @abstractmethod
    def split(self, word_spans: WordSpans) -> WordSpans:
        """Apply the step."""

    def machine(self) -> Machine:
        """Return the machine that emits the ends of the step's words; raises Outside if there is none."""
        raise Outside("no machine")

    def cutter(self) -> Cutter | None:
        """Return the input of `last_cut` for texts that this step reads; None if no position is known to be safe."""
        return None


class MachineStepSplitter(StepSplitter):
    """Finds matches by machines; raises Outside for a pattern without one."""

    compiled = True

    def __init__(self, step: Split) -> None:
        super().__init__(step)
        node = parse_pattern(step.pattern)
        if step.behavior == "contiguous":
            node = Repeat(node, 1, None)
        self._automaton = automaton(node)
        emitted = EMITTED.get(step.behavior, "borders")
        self._borders = machine(self._automaton, INVERSE.get(emitted, emitted) if step.invert else emitted)
        if step.behavior == "removed":
            self._ends = machine(self._automaton, "ends", last=False)

    def machine(self) -> Machine:
        """Return the machine; raises Outside for a step that drops words."""
        if self.step.behavior == "removed":
            raise Outside("words are dropped")
        return self._borders

    @cached_property
    def _tables(self) -> list[Tables]:
        from subwords.split.transducer import tables_of

        return [tables_of(self._borders), *([tables_of(self._ends)] if self.step.behavior == "removed" else [])]

    def cutter(self) -> Cutter:
        """Return the classes of characters, and between which of them a text may be cut."""
        from subwords.split.transducer import cutter

        return cutter(self._borders)

    def split(self, word_spans: WordSpans) -> WordSpans:
        """Apply the step."""
        words = self.borders(word_spans)
        if self.step.behavior != "removed":
            return word_spans.cut(words)
        matches = self.match_ends(word_spans)[words[1:]]
        return word_spans.cut(words).kept(matches if self.step.invert else ~matches)

    def borders(self, word_spans: WordSpans) -> NDArray[np.int64]:
        """Return where the words of the step begin, dropped ones too, and where the last one ends."""
        return np.concatenate([np.zeros(1, np.int64), _emitted(word_spans, self._tables[0])])

    def match_ends(self, word_spans: WordSpans) -> NDArray[np.bool_]:
        """Return for each place whether a match ends there; the step must drop words."""
        ends = np.zeros(len(word_spans.text) + 1, np.bool_)
        ends[_emitted(word_spans, self._tables[1])] = True
        return ends


def _emitted(word_spans: WordSpans, tables: Tables) -> NDArray[np.int64]:
    """Return all positions that a machine emits, as offsets in the text of the words."""
    from subwords.kernels.named import split_texts
    from subwords.split.transducer import NO_CUTS, with_scratch

    ends = np.empty(len(word_spans.text) + layout.LEAST_ENDS, np.uint32)
    text_ends = np.empty(len(word_spans.words) + 1, np.int64)
    text = np.ascontiguousarray(word_spans.text)
    done = split_texts(text, word_spans.words, 0, with_scratch(tables, NO_CUTS), ends, text_ends)
    if done < len(word_spans.words) - 1:
        raise InputError("text too long for a rule of several steps: expected less than 2 GiB")
    return ends[: int(text_ends[done])].astype(np.int64)


class RegexStepSplitter(StepSplitter):
    """Finds matches by the `regex` package."""

    compiled = False

    def __init__(self, step: Split) -> None:
        super().__init__(step)
        from subwords.split.fallback import compiled

        self._fallback = compiled(_from_its_start(step.pattern))

    @property
    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        return self._fallback.unicode_version

    def split(self, word_spans: WordSpans) -> WordSpans:
        """Apply the step, word by word."""
        from subwords.split.fallback import behaved

        string, chars, places = _as_characters(word_spans)
        string = self._fallback.written(string)
        words, keep = [0], []
        for first, last in pairwise(chars):
            for start, end, matches in behaved(self._segments(string[first:last]), self.step.behavior):
                if start < end:
                    words.append(first + end)
                    keep.append(not matches)
        cut = word_spans.cut(places[words])
        return cut.kept(np.array(keep, np.bool_)) if removed(self.step) else cut

    def _segments(self, written: str) -> list[tuple[int, int, bool]]:
        limit = SECONDS * (1 + len(written) / 1e7)
        try:
            found = self._fallback.segments(written, limit)
        except TimeoutError:
            raise InputError(
                f"pattern too slow: {self.step.pattern!r:.80} took more than {limit:.0f} s for {len(written)} "
                "characters; expected a pattern without excessive backtracking"
            ) from None
        except (MemoryError, RecursionError) as error:
            raise InputError(f"pattern needs too much memory: {self.step.pattern!r:.80} ({error})") from None
        return [(start, end, matches != self.step.invert) for start, end, matches in found]


# Patterns that cut numbers into groups counted from the end: for a set S, S{1,n}(?=(?:S{n})*(?!S)), or with a word end
# in place of (?!S): the groups are matches; and (?=(S{n})+(?!S)): where a group begins. A regex looks ahead to the end
# of the number at each place: on code, this step took 5 to 13 times as long in the `regex` package.
_SET = r"(?P<s>\\p\{[A-Za-z_]+\}|\\d|\[[^\[\]]+\])"
_WORD_END = r"\\b|\(\?:\(\?<=(?P<w>\[.+\])\)\(\?!(?P=w)\)\|\(\?<!(?P=w)\)\(\?=(?P=w)\)\)"
_GROUPS = re.compile(
    _SET + r"\{1,(?P<n>[1-9])\}\(\?=\(\?:(?P=s)\{(?P=n)\}\)\*(?:\(\?!(?P=s)\)|(?P<b>" + _WORD_END + r"))\)"
)
_PLACES = re.compile(r"\(\?=\((?:\?:)?" + _SET + r"\{(?P<n>[1-9])\}\)\+\(\?!(?P=s)\)\)(?P<b>)")


class GroupsStepSplitter(StepSplitter):
    """Cuts numbers into groups counted from their ends, in linear time (S5); raises Outside for any other step."""

    compiled = True

    def __init__(self, step: Split) -> None:
        super().__init__(step)
        found = _GROUPS.fullmatch(step.pattern) or _PLACES.fullmatch(step.pattern)
        if found is None or step.behavior != "isolated" or step.invert:
            raise Outside("no groups counted from the end")
        self._size, self._isolated = int(found["n"]), found.re is _GROUPS
        self._numbers = MachineStepSplitter(Split(f"{found['s']}+", "removed"))
        self._words: MachineStepSplitter | None = None
        if found["b"]:
            words = found["w"] or r"\w"
            match parse_pattern(found["s"]), parse_pattern(words):
                case Chars() as digits, Chars() as others if not (digits.members & ~others.members).any():
                    self._words = MachineStepSplitter(Split(f"{words}+", "removed"))
                case _:
                    raise Outside("a word may end inside a number")

    def cutter(self) -> Cutter | None:
        """Return where numbers end; None if the text after a number decides about it."""
        return self._numbers.cutter() if self._words is None else None

    def split(self, word_spans: WordSpans) -> WordSpans:
        """Apply the step."""
        words = self._numbers.borders(word_spans)
        numbers = self._numbers.match_ends(word_spans)[words[1:]]
        if self._words is not None:
            numbers &= self._words.match_ends(word_spans)[words[1:]]
        heads = np.flatnonzero((word_spans.text & 0xC0 != 0x80) & np.repeat(numbers, np.diff(words)))  # of their digits
        first, last = np.searchsorted(heads, words[:-1][numbers]), np.searchsorted(heads, words[1:][numbers])
        groups = (last - first) // self._size
        sums = np.cumsum(groups)
        nth = np.arange(1, groups.sum() + 1) - np.repeat(sums - groups, groups)  # from the end of its number
        cut = np.zeros(len(word_spans.text) + 1, np.bool_)
        cut[word_spans.words] = True
        cut[heads[np.repeat(last, groups) - self._size * nth]] = True
        if self._isolated:
            cut[words[:-1][numbers]] = cut[words[1:][numbers]] = True
        return word_spans.cut(np.flatnonzero(cut))


def _as_characters(word_spans: WordSpans) -> tuple[str, list[int], NDArray[np.int64]]:
    """Return the words' text as a str, the characters where words begin, and the byte offset of every character.

    Each byte that is not UTF-8 becomes a lone surrogate, a character of no class (S2).
    """
    heads = word_spans.text & 0xC0 != 0x80
    if heads[word_spans.words[:-1]].all():
        try:
            string = word_spans.text.tobytes().decode()
        except UnicodeDecodeError:
            pass
        else:
            places = np.append(np.flatnonzero(heads), len(word_spans.text))
            return string, np.searchsorted(places, word_spans.words).tolist(), places
    data = word_spans.text.tobytes()
    strings = [data[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(word_spans.words.tolist())]
    string = "".join(strings)
    codes = np.frombuffer(string.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xD800) & (codes < 0xE000)] = 1
    return string, [0, *accumulate(map(len, strings))], np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _from_its_start(pattern: str) -> str:
    r"""Rewrite `\s+(?!..)` to try a run from its start only: the same matches, without quadratic time.

    A match ends at the last position of the run where the look-ahead holds, so the rest of the run has no match.
    """
    run = re.match(r"\\[sSdDwW](?=\+\(\?!)", pattern)
    try:
        match parse_pattern(pattern) if run else None:
            case Then((Repeat(Chars(), 1, None, True, False), Look())):
                return f"(?<!{pattern[:2]}){pattern}"
    except Outside:
        pass
    return pattern


def removed(step: Split) -> bool:
    """Whether the step drops words."""
    return step.behavior == "removed"


@lru_cache(16)
def finder(step: Split) -> StepSplitter:
    """Return the fastest finder for a step; InputError for a pattern that no engine accepts."""
    for kind in (MachineStepSplitter, GroupsStepSplitter):
        with suppress(Outside):
            return kind(step)
    return RegexStepSplitter(step)


# ---------------------------------------------------------------------------------------------------------------------
# Routes for rules of several steps: step by step over a stretch of text, or by one machine that finds all words.

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

STRETCH = 1 << 20  # bytes of text per application of the steps
NO_BYTES = np.zeros(0, np.uint8)


class StepsRoute(SplitRoute):
    """Applies the steps one after another to a stretch of text, as arrays."""

    def __init__(self, rule: Rule) -> None:
        self._steps = [finder(step) if isinstance(step, Split) else step for step in rule]
        finders = [step for step in self._steps if isinstance(step, StepSplitter)]
        self.compiled = all(step.compiled for step in finders)
        self.name = "compiled automata, step by step" if self.compiled else "regex package"
        before = rule[: next((k for k, step in enumerate(rule) if isinstance(step, Split)), len(rule))]
        self._before, self._first = before, finders[0].cutter() if finders else None
        self._leading = any(isinstance(step, Prefix) and step.scheme == "first" for step in rule)
        self._byte_chars = any(isinstance(step, ByteChars) for step in rule)
        self.growth = 4 + 4 * sum(len(step.text.encode()) for step in rule if isinstance(step, Prefix))

    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        versions = {step.unicode_version for step in self._steps if isinstance(step, StepSplitter)}
        return next(iter(versions - {UNICODE_VERSION}), UNICODE_VERSION)

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last cut that the first step's machine proves safe, or 0: later steps see single words (S4)."""
        return 0 if self._leading else self._cut(text, at)

    def _cut(self, text: Bytes, at: int) -> int:
        if self._before or self._first is None:
            return 0
        from subwords.kernels.named import last_cut

        return last_cut(text, at, *self._first)

    def cuts_between(self, before: str, after: str) -> bool:
        """Whether the first step that splits proves it; a prefix before it changes where a text begins only."""
        if self._first is None or not all(isinstance(step, Replace | Prefix) for step in self._before):
            return False
        for step in (step for step in self._before if isinstance(step, Replace)):
            before, after = before.replace(step.old, step.new), after.replace(step.old, step.new)
        return bool(before and after) and self._first.cuts_between(before[-1], after[0])

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text."""
        return self._applied(whole_text(text, np.array([0, len(text)], np.int64), np.ones(1, np.bool_), tracked=True))

    def _applied(self, word_spans: WordSpans) -> WordSpans:
        for step in self._steps:
            if not len(word_spans.text):
                break
            match step:
                case StepSplitter():
                    word_spans = step.split(word_spans)
                case Prefix():
                    word_spans = add_prefix(word_spans, step.text.encode(), step.scheme == "first")
                case Replace():
                    word_spans = replace_character(word_spans, step.old.encode(), step.new.encode())
                case ByteChars() | SpelledBytes():
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
                stretch = whole_text(
                    text[base : int(part[-1])], part - base, np.ones(last - first, np.bool_), tracked=False
                )
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
            stretch = whole_text(text[base : int(part[-1])], part - base, np.ones(last - first, np.bool_), tracked=True)
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
            word_spans = self._applied(whole_text(text[at : at + cut], bounds, np.array([leads]), tracked=False))
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


class ChangingRoute(MachineRoute):
    """For rules whose words one machine finds, and a kernel then drops, prefixes or cuts: CLIP's, T5's, Falcon's.

    drops: the characters with which only dropped words begin, bool by code point. prefix: put before the other words
    that do not begin with it. digits: the kinds of bytes by which words are cut. See `layout.WordChanges`.
    """

    def __init__(
        self,
        machine: Machine,
        rule: Rule,
        *,
        drops: NDArray[np.generic] = NO_BYTES,
        prefix: bytes = b"",
        digits: Bytes = NO_BYTES,
    ) -> None:
        super().__init__(machine)
        self._rule, self.growth = rule, 1 + len(prefix)
        self._changes = WordChanges(drops.astype(np.uint8), np.frombuffer(prefix, np.uint8), digits)

    @cached_property
    def _kernels(self) -> tuple[Kernel, Kernel]:
        from subwords.kernels.named import change_words, changed_origins

        return change_words, changed_origins

    @cached_property
    def _by_steps(self) -> StepsRoute:
        return StepsRoute(self._rule)

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts; yield the words as they change."""
        for chunk in super().texts(text, bounds, buffers):
            yield self._changed(chunk, buffers)

    def _transducer(self, buffers: SplitBuffers, *, cuts: bool) -> Transducer:
        return super()._transducer(buffers, cuts=False)  # the kernel that changes words does not support RUN

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the machine, and that which changes words."""
        found = super().fast_path(buffers)
        widens = len(self._changes.prefix)
        return found and found._replace(keep=self._kernels[0], drops=self._changes, widens=widens)

    def _changed(self, chunk: WordChunk, buffers: SplitBuffers) -> WordChunk:
        """Return the words that remain, in the buffers; their numbers are written to `text_ends`."""
        words, widens = int(chunk.text_ends[-1]), len(self._changes.prefix)
        size = int(chunk.ends[words - 1]) if words else 0
        room = size + words * widens + layout.LANES
        kept = 1 + (size if len(self._changes.digits) else words)
        if len(buffers.kept_text) < room or len(buffers.kept_ends) < kept:
            buffers.kept_text = np.empty(room, np.uint8)
            buffers.kept_ends = np.empty(max(kept, len(chunk.ends)), np.uint32)
        to = buffers.kept_text, buffers.kept_ends
        self._kernels[0].by_size(size)(chunk.text, chunk.base, chunk.ends, chunk.text_ends, self._changes, *to)
        return WordChunk(buffers.kept_text, 0, buffers.kept_ends, chunk.text_ends, chunk.complete)

    def traced(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[TracedChunk]:
        """Split many texts; also say where the words come from."""
        for chunk in MachineRoute.texts(self, text, bounds, buffers):
            yield self._traced(chunk, buffers)

    def short_traced(self, text: Bytes, buffers: SplitBuffers) -> TracedChunk | None:
        """Split a short text in one call."""
        buffers.text_ends[0] = self._one(text, 0, len(text), buffers)
        return self._traced(WordChunk(text, 0, buffers.ends, buffers.text_ends[:1], True), buffers)

    def _traced(self, chunk: WordChunk, buffers: SplitBuffers) -> TracedChunk:
        words = int(chunk.text_ends[-1])  # `_changed` writes their number after it
        found = self._changed(chunk, buffers)
        if len(self._changes.digits):  # words that are only cut lie in the text as it is
            return TracedChunk(chunk._replace(ends=found.ends), NO_OFFSETS)
        begins, stops, origin = np.empty(words, np.int64), NO_OFFSETS, None
        if len(self._changes.prefix):
            kept = int(found.text_ends[-1])
            origin = begins, stops = np.empty((2, int(found.ends[kept - 1]) if kept else 0), np.int64)
            found = found._replace(text=found.text[: len(begins)].copy())  # its buffer is reused before its origin is
        trace = self._kernels[1].by_size(len(chunk.text))
        trace(chunk.text, chunk.base, chunk.ends, words, self._changes, begins, stops)
        return TracedChunk(found, begins if origin is None else NO_OFFSETS, origin)

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text."""
        return self._by_steps.word_spans(text)


AT_ONCE = 1 << 18  # bytes of text: their words and ends stay in the L2 cache


class KindsRoute(ChangingRoute):
    """For rules by which each character is dropped, or a word, or part of one: BERT's. One kernel by masks does it.

    kinds: of each character, see `kernels/split/words.py`. The machine finds cuts, and traces words.
    """

    def __init__(self, machine: Machine, rule: Rule, kinds: NDArray[np.uint8]) -> None:
        super().__init__(machine, rule, drops=kinds)
        odd = np.flatnonzero(kinds[0x80:]) + 0x80
        leads = distinct(np.select([odd < 0x800, odd < 0x10000], [0xC0 | odd >> 6, 0xE0 | odd >> 12], 0xF0 | odd >> 18))
        first, last = (np.append(np.diff(part), 2) > 1 for part in (leads[::-1] * -1, leads))
        ranges = np.stack([leads[first[::-1]], leads[last]], axis=1)
        self._kinds = Kinds(kinds, ranges.astype(np.uint8).ravel())

    @cached_property
    def _splitter(self) -> Kernel:
        from subwords.kernels.named import split_kinds

        return split_kinds

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts, about AT_ONCE bytes at a time; a long text is cut where that changes no word."""
        first, every = 0, len(bounds) - 1
        while first < every:
            last = int(np.searchsorted(bounds, bounds[first] + AT_ONCE, side="right")) - 1
            if last == first:
                yield from self._parts_of_long(text, int(bounds[first]), int(bounds[first + 1]), buffers)
                last += 1
            else:
                last = min(last, first + CHUNK_TEXTS, every)
                yield self._words(text, bounds[first : last + 1], buffers, True)
            first = last

    def _parts_of_long(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> Iterator[WordChunk]:
        while start < stop:
            size, place = AT_ONCE, stop
            while start + size < stop and (place := start + self.cut(text[start:stop], size)) == start:
                size *= 4
                place = stop
            if place - start > WINDOW:
                raise InputError(f"word too long: expected less than 2 GiB; the one at byte {start} may be longer")
            yield self._words(text, np.array([start, place], np.int64), buffers, place == stop)
            start = place

    def _words(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers, complete: bool) -> WordChunk:
        """Return the words of texts in one chunk."""
        size = int(bounds[-1] - bounds[0])
        if min(len(buffers.kept_text), len(buffers.kept_ends)) < size + layout.LANES:
            buffers.kept_text = np.empty(size + layout.LANES, np.uint8)
            buffers.kept_ends = np.empty(size + layout.LANES, np.uint32)
        kept, ends, text_ends = buffers.kept_text, buffers.kept_ends, buffers.text_ends[: len(bounds)]
        self._splitter.by_size(size)(text, bounds, self._kinds, buffers.tail, kept, ends, text_ends)
        return WordChunk(kept, 0, ends, text_ends[1:], complete)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the kernel."""
        return SplitCall(None, (buffers.tail,), keep=self._splitter, drops=self._kinds)


# ---------------------------------------------------------------------------------------------------------------------
# Rules that first isolate strings, such as user-defined pieces, in any number: a trie, followed by another route.

_ALTERNATIVE = re.compile(r"(?:[^][\\.+*?(){}|^$]|\\[][\\.+*?(){}|^$])+")
_ALTERNATIVES = re.compile(rf"{_ALTERNATIVE.pattern}(?:\|{_ALTERNATIVE.pattern})*")


def literal_strings(step: Split) -> list[str] | None:
    """Return the strings that a step isolates, each before its prefixes; None if the step does anything else."""
    if step.behavior != "isolated" or step.invert or not _ALTERNATIVES.fullmatch(step.pattern):
        return None
    found = _ALTERNATIVE.findall(step.pattern)
    symbols = [re.sub(r"\\(.)", r"\1", alternative, flags=re.DOTALL) for alternative in found]
    places = {symbol: place for place, symbol in reversed([*enumerate(symbols)])}
    for symbol, place in places.items():  # the first alternative that matches is the longest one
        if any(places.get(symbol[:k], place) < place for k in range(1, len(symbol))):
            return None
    return symbols


class SymbolsRoute(SplitRoute):
    """Isolates strings, then passes the strings and the text between them to another route.

    For the other route, two adjacent characters must suffice to decide whether a cut between them is safe.
    """

    name = "compiled trie"
    compiled = True

    def __init__(self, symbols: Sequence[str], rest: SplitRoute) -> None:
        self._symbols = [symbol.encode() for symbol in symbols]
        self._tables = _trie(self._symbols)
        self._longest = max(map(len, self._symbols))
        self._rest = rest
        self.growth = rest.growth

    def _occurrences(self, text: Bytes, bounds: Offsets) -> Offsets:
        """Return where symbols begin and end, shape (n, 2)."""
        from subwords.kernels.named import find_literals

        found = np.empty(256, np.int64)
        count = find_literals(text, bounds, self._tables, found)
        if 2 * count > len(found):
            found = np.empty(2 * count, np.int64)
            find_literals(text, bounds, self._tables, found)
        return found[: 2 * count].reshape(-1, 2)

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts; adjacent texts without symbols are split in one call."""
        found = self._occurrences(text, bounds)
        first = 0
        counts = np.searchsorted(found[:, 0], bounds)
        for k in np.flatnonzero(np.diff(counts)).tolist():
            if k > first:
                yield from self._rest.texts(text, bounds[first : k + 1], buffers)
            inside = found[counts[k] : counts[k + 1]].ravel()
            places = np.concatenate([bounds[k : k + 1], inside, bounds[k + 1 : k + 2]])
            yield from self._as_one(text, places[np.diff(places, prepend=-1) > 0], buffers)
            first = k + 1
        if first < len(bounds) - 1:
            yield from self._rest.texts(text, bounds[first:], buffers)

    def _as_one(self, text: Bytes, places: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split one text that is cut at `places`."""
        left = len(places) - 1
        for chunk in self._rest.texts(text, places, buffers):
            left -= len(chunk.text_ends) if chunk.complete else len(chunk.text_ends) - 1
            yield WordChunk(chunk.text, chunk.base, chunk.ends, chunk.text_ends[-1:], left == 0)

    def short_traced(self, text: Bytes, buffers: SplitBuffers) -> TracedChunk | None:
        """Split a short text in one step; None if it has symbols."""
        if len(self._occurrences(text, np.array([0, len(text)], np.int64))):
            return None
        return self._rest.short_traced(text, buffers)

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last cut of the other route that is inside no symbol, or 0 (S4).

        No cut is known to be safe where a symbol could begin before the text, which may continue another.
        """
        from subwords.kernels.named import crosses_place

        place = self._rest.cut(text, at)
        while place > 0 and crosses_place(text, max(0, place - self._longest + 1), place, self._tables):
            place = self._rest.cut(text, place - 1)
        return place if place >= self._longest else 0

    def cuts_between(self, before: str, after: str) -> bool:
        """Whether the other route may be cut there, and no symbol has the two characters side by side."""
        both = (before + after).encode("utf-8", "surrogateescape")
        return self._rest.cuts_between(before, after) and not any(both in each for each in self._symbols)

    def unicode_version(self) -> str:
        """The Unicode version of the other route's classes."""
        return self._rest.unicode_version()


def _trie(symbols: Sequence[bytes]) -> Literals:
    """Return the symbols as a trie for `kernels/split/words.py`."""
    columns = np.zeros(256, np.uint8)
    used = distinct(np.frombuffer(b"".join(symbols), np.uint8))
    # Some bytes never occur in UTF-8, so column 0 is free.
    columns[used] = np.arange(1, len(used) + 1)
    edges: dict[tuple[int, int], int] = {}
    ends = {0: 0}
    for symbol in symbols:
        node = 0
        for byte in symbol:
            node = edges.setdefault((node, byte), len(edges) + 1)
            ends.setdefault(node, 0)
        ends[node] = 1
    table = np.zeros((len(ends), len(used) + 1), np.int32)
    for (node, byte), child in edges.items():
        table[node, columns[byte]] = child
    firsts = (table[0, columns] != 0).astype(np.uint8)
    return Literals(columns, table.ravel(), np.array([ends[node] for node in range(len(ends))], np.uint8), firsts)
