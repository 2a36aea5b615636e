"""One step that splits words at the matches of a pattern: by machines, or else by the `regex` package."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import Split
from subwords.errors import InputError
from subwords.kernels import layout
from subwords.split.automaton import automaton
from subwords.split.digit_groups import DigitGroups, borders_of, digit_groups
from subwords.split.pattern import Chars, Look, Outside, Repeat, Then, parse
from subwords.split.transducer import Machine, machine
from subwords.split.word_spans import WordSpans
from subwords.unicode.tables import UNICODE_VERSION

if TYPE_CHECKING:
    from subwords.split.transducer_tables import Cutter, Tables

__all__ = ["Finder", "finder"]

SECONDS = 10  # time limit of the `regex` package for one word, plus 10 s for every 10 million characters
# The borders of matches at which a behavior cuts; `invert` swaps "ends" and "starts".
EMITTED = {"merged_with_previous": "ends", "merged_with_next": "starts"}
INVERSE = {"ends": "starts", "starts": "ends"}


class Finder(ABC):
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


class MachineFinder(Finder):
    """Finds matches by machines; raises Outside for a pattern without one."""

    compiled = True

    def __init__(self, step: Split) -> None:
        super().__init__(step)
        node = parse(step.pattern)
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
        from subwords.split.transducer_tables import tables_of

        return [tables_of(self._borders), *([tables_of(self._ends)] if self.step.behavior == "removed" else [])]

    def cutter(self) -> Cutter:
        """Return the classes of characters, and between which of them a text may be cut."""
        from subwords.split.transducer_tables import cutter

        return cutter(self._borders)

    def split(self, word_spans: WordSpans) -> WordSpans:
        """Apply the step."""
        borders = _emitted(word_spans, self._tables[0])
        words = np.concatenate([np.zeros(1, np.int64), borders])
        if self.step.behavior != "removed":
            return word_spans.cut(words)
        ends = np.zeros(len(word_spans.text) + 1, np.bool_)
        ends[_emitted(word_spans, self._tables[1])] = True
        matches = ends[borders]
        return word_spans.cut(words).kept(matches if self.step.invert else ~matches)


def _emitted(word_spans: WordSpans, tables: Tables) -> NDArray[np.int64]:
    """Return all positions that a machine emits, as offsets in the text of the words."""
    from subwords.kernels.named import split_texts
    from subwords.split.transducer_tables import NO_CUTS, with_scratch

    ends = np.empty(len(word_spans.text) + layout.LEAST_ENDS, np.uint32)
    text_ends = np.empty(len(word_spans.words) + 1, np.int64)
    text = np.ascontiguousarray(word_spans.text)
    done = split_texts(text, word_spans.words, 0, with_scratch(tables, NO_CUTS), ends, text_ends)
    if done < len(word_spans.words) - 1:
        raise InputError("text too long for a rule of several steps: expected less than 2 GiB")
    return ends[: int(text_ends[done])].astype(np.int64)


class RegexFinder(Finder):
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


class GroupsFinder(Finder):
    """Cuts numbers into groups counted from their ends, in linear time."""

    compiled = True

    def __init__(self, step: Split, groups: DigitGroups) -> None:
        super().__init__(step)
        self._groups, self._runs = groups, MachineFinder(Split(groups.run))

    def cutter(self) -> Cutter | None:
        """Return where numbers end; None if the text after a number decides about it."""
        return self._runs.cutter() if self._groups.words is None else None

    def split(self, word_spans: WordSpans) -> WordSpans:
        """Apply the step."""
        runs = self._runs.split(word_spans).words
        return word_spans.cut(borders_of(word_spans.text, runs, word_spans.words, self._groups))


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
        match parse(pattern) if run else None:
            case Then((Repeat(Chars(), 1, None, True, False), Look())):
                return f"(?<!{pattern[:2]}){pattern}"
    except Outside:
        pass
    return pattern


def removed(step: Split) -> bool:
    """Whether the step drops words."""
    return step.behavior == "removed"


@lru_cache(16)
def finder(step: Split) -> Finder:
    """Return the fastest finder for a step; InputError for a pattern that no engine accepts."""
    try:
        return MachineFinder(step)
    except Outside:
        groups = digit_groups(step)
        return RegexFinder(step) if groups is None else GroupsFinder(step, groups)
