"""One step that cuts pieces at the matches of a pattern: by machines, or by the `regex` package where there is none."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.split.automaton import automaton
from subwords.split.machine import Machine, machine
from subwords.split.pattern import Chars, Look, Outside, Repeat, Then, parse
from subwords.split.pieces import Pieces
from subwords.split.rules import Split

__all__ = ["Finder", "finder"]

SECONDS = 10  # that the `regex` package may take for a piece, and as many again for every 10 MB
# Which borders of matches a behaviour cuts at; with `invert` the last two change places.
TOLD = {"merged_with_previous": "ends", "merged_with_next": "starts"}
INVERSE = {"ends": "starts", "starts": "ends"}


class Finder(ABC):
    """A Split step, ready to be applied."""

    compiled: bool

    def __init__(self, step: Split) -> None:
        self.step = step

    @abstractmethod
    def split(self, pieces: Pieces) -> Pieces:
        """Apply the step."""

    def machine(self) -> Machine:
        """Return a machine that tells where the step's pieces end, if it keeps them all."""
        raise Outside("no machine")

    def cutter(self) -> tuple[NDArray[Any], ...] | None:
        """What `last_cut` needs to cut a text in front of this step; None where no place is known to be safe."""
        return None


class MachineFinder(Finder):
    """By machines; raises Outside where the pattern has none."""

    compiled = True

    def __init__(self, step: Split) -> None:
        super().__init__(step)
        node = parse(step.pattern)
        if step.behavior == "contiguous":
            node = Repeat(node, 1, None)
        self._automaton = automaton(node)
        told = TOLD.get(step.behavior, "borders")
        self._borders = machine(self._automaton, INVERSE.get(told, told) if step.invert else told)
        if step.behavior == "removed":
            self._ends = machine(self._automaton, "ends", last=False)

    def machine(self) -> Machine:
        """Return the one machine."""
        if self.step.behavior == "removed":
            raise Outside("pieces are dropped")
        return self._borders

    @cached_property
    def _tables(self) -> list[tuple[NDArray[Any], ...]]:
        from subwords.split.frame import frame

        return [frame(self._borders), *([frame(self._ends)] if self.step.behavior == "removed" else [])]

    def cutter(self) -> tuple[NDArray[Any], ...]:
        """Return classes, and where to cut between them."""
        from subwords.split.frame import cutter

        return cutter(self._borders)

    def split(self, pieces: Pieces) -> Pieces:
        """Apply the step."""
        borders = _told(pieces, self._tables[0])
        words = np.concatenate([np.zeros(1, np.int64), borders])
        if self.step.behavior != "removed":
            return pieces.cut(words)
        ends = np.zeros(len(pieces.text) + 1, np.bool_)
        ends[_told(pieces, self._tables[1])] = True
        matches = ends[borders]
        return pieces.cut(words).kept(matches if self.step.invert else ~matches)


def _told(pieces: Pieces, tables: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    """All that a machine tells about the pieces, as places in their text."""
    from subwords.kernels.split_machine import LEAST, split_texts
    from subwords.split.frame import scratch

    ends = np.empty(len(pieces.text) + LEAST, np.uint32)
    marks = np.empty(len(pieces.words) + 1, np.int64)
    text = np.ascontiguousarray(pieces.text)
    done = split_texts(text, pieces.words, 0, (*tables, *scratch()), ends, marks)
    if done < len(pieces.words) - 1:
        raise InputError("expected a rule of several steps to split texts under 2 GiB")
    return ends[: int(marks[done])].astype(np.int64)


class RegexFinder(Finder):
    """By the `regex` package."""

    compiled = False

    def __init__(self, step: Split) -> None:
        super().__init__(step)
        from subwords.reference.pattern import find

        find(step.pattern, "")
        self._pattern = _from_its_start(step.pattern)

    def split(self, pieces: Pieces) -> Pieces:
        """Apply the step, piece by piece."""
        from subwords.reference.pattern import segments

        words, keep = [0], []
        for begin, stop in zip(pieces.words.tolist(), pieces.words[1:].tolist(), strict=False):
            # surrogateescape makes each invalid byte a character of no class (S2).
            string = pieces.text[begin:stop].tobytes().decode("utf-8", "surrogateescape")
            limit = SECONDS * (1 + len(string) / 1e7)
            try:
                found = segments(
                    string,
                    self._pattern,
                    "isolated" if removed(self.step) else self.step.behavior,
                    self.step.invert,
                    limit,
                )
            except TimeoutError:
                raise InputError(
                    f"expected a pattern that splits {len(string)} characters in {limit:.0f} s; "
                    f"{self.step.pattern!r:.80} took longer: it goes over the text again and again"
                ) from None
            at = begin
            for first, last, matches in found:
                at += len(string[first:last].encode("utf-8", "surrogateescape"))
                if first < last:
                    words.append(at)
                    keep.append(not matches)
        cut = pieces.cut(np.array(words, np.int64))
        return cut.kept(np.array(keep, np.bool_)) if removed(self.step) else cut


def _from_its_start(pattern: str) -> str:
    r"""Return `\s+(?!..)` so that a run is tried from its start only: the same matches, without quadratic time.

    A match ends at the last place of the run where the look-ahead holds, so nothing is left to be found in its rest.
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
    """Whether the step drops pieces."""
    return step.behavior == "removed"


@lru_cache(16)
def finder(step: Split) -> Finder:
    """Return the fastest way to find what a step cuts at; InputError for a pattern that no engine takes."""
    try:
        return MachineFinder(step)
    except Outside:
        pass
    import regex

    try:
        return RegexFinder(step)
    except regex.error as error:
        raise InputError(f"expected a regex; {step.pattern!r:.200}: {error}") from None
