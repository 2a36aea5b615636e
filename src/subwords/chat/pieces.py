"""A rendered conversation: its characters with their origins and turns, its control tokens, and what `encode` takes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords import AddedToken, Special, Text
from subwords.chat.owned_text import LITERAL, LOST, Owner, owner_runs, whole
from subwords.chat.template import Written
from subwords.machine import AddedTokenFinder

Found: TypeAlias = tuple[int, int, AddedToken]  # where a control token begins and ends, in characters
Spans: TypeAlias = NDArray[np.int64]


class TextRun(NamedTuple):
    """Characters of one origin and turn. stop: where they end. turn: the number of a message, or -1."""

    stop: int
    origin: Owner
    turn: int


def masked(ranges: Iterable[tuple[int, int]], spans: Spans) -> NDArray[np.bool_]:
    """Return which tokens share a character with a range; spans: of the tokens, int64 of shape (n, 2)."""
    found = np.zeros(len(spans), np.bool_)
    for start, stop in ranges:
        if start < stop:
            first, last = np.searchsorted(spans[:, 1], start, "right"), np.searchsorted(spans[:, 0], stop, "left")
            found[first:last] = True
    return found & (spans[:, 0] < spans[:, 1])


class Control:
    """The control tokens of a tokenizer and a template (H3).

    added: more tokens that are told of where a caller spells them, or text yields them. refused: the ids of control
    tokens that text of a caller must not yield. unknown: ids that stand for unknown text. as_text: the control tokens
    that are not special, which `Text` would find.
    """

    def __init__(
        self,
        tokens: Iterable[AddedToken],
        added: Iterable[AddedToken] = (),
        refused: Iterable[int] = (),
        unknown: Iterable[int] = (),
    ) -> None:
        self.tokens: dict[str, AddedToken] = {token.content: token for token in tokens}
        told = {token.content: token for token in added}
        self.added: dict[str, AddedToken] = self.tokens | told
        self.told: list[int] = [token.id for token in told.values()]
        self.refused: list[int] = [*refused]
        self.ids: list[int] = [token.id for token in self.tokens.values()]
        self.doubtful: list[int] = [*self.refused, *unknown]
        self._specials = {content: Special(content) for content in self.tokens}
        self.as_text: frozenset[str] = frozenset(token.content for token in self.tokens.values() if not token.special)
        self._finder = _finder(self.tokens)
        characters = {*"".join(self.added)}
        self._hidden: str = next(chr(code) for code in range(0x110000) if chr(code) not in characters)

    def special(self, token: AddedToken) -> Special:
        """Return the part that is a control token."""
        return self._specials[token.content]

    @cached_property
    def _finder_of_added(self) -> AddedTokenFinder:
        return _finder(self.added)

    def find(self, text: str, runs: Sequence[TextRun]) -> list[Found]:
        """Return the tokens in trusted characters, in order (H2): the leftmost, then the longest."""
        return self._find(self._finder, text, runs)

    def _find(self, finder: AddedTokenFinder, text: str, runs: Sequence[TextRun]) -> list[Found]:
        visible, start = list[str](), 0
        for stop, origin, _ in runs:
            visible.append(text[start:stop] if origin.trusted else self._hidden * (stop - start))
            start = stop
        shown = "".join(visible)
        found = [*finder.literal.found(text, shown)]
        if finder.normalized:
            for start, stop, _ in reversed(found):
                shown = shown[:start] + self._hidden * (stop - start) + shown[stop:]
            found = sorted([*found, *finder.normalized.found(text, shown)], key=lambda each: each[0])
        return found

    def typed(self, text: str, found: Iterable[Found]) -> list[tuple[int, int]]:
        """Return where an added token is spelled by text that is not one of the control tokens found."""
        runs = list[TextRun]()
        for start, stop, _ in found:
            runs += (TextRun(start, LITERAL, -1), TextRun(stop, LOST, -1))
        runs.append(TextRun(len(text), LITERAL, -1))
        return [(start, stop) for start, stop, _ in self._find(self._finder_of_added, text, runs)]


def _finder(tokens: Mapping[str, AddedToken]) -> AddedTokenFinder:
    return AddedTokenFinder({token: token.content for token in tokens.values()}, refuse_special=False)


class Rendering:
    """A conversation as text: runs cover it, `found` are its control tokens."""

    def __init__(self, pieces: Iterable[Written], control: Control, stop: int | None = None) -> None:
        """Join pieces; stop: leave out the characters from there on."""
        self.control: Control = control
        texts, runs, at = list[str](), list[TextRun](), 0
        last: tuple[Owner, int] | None = None
        for text, turn in pieces:
            texts.append(text)
            for end, origin in owner_runs(text):
                origin = whole(origin) if origin.split else origin
                here = turn if turn >= 0 else max(origin.message, -1)
                if last is not None and origin is last[0] and here == last[1]:
                    runs[-1] = TextRun(at + end, origin, here)
                else:
                    runs.append(TextRun(at + end, origin, here))
                    last = (origin, here)
            at += len(text)
        self.text: str = "".join(texts)
        if stop is not None:
            self.text = self.text[:stop]
            runs = [run._replace(stop=min(run.stop, stop)) for run, start in _with_starts(runs) if start < stop]
        self.runs: list[TextRun] = runs

    @cached_property
    def found(self) -> list[Found]:
        """The control tokens."""
        return self.control.find(self.text, self.runs)

    def trusted(self) -> Iterator[str]:
        """Yield the text that is trusted, each stretch of it whole."""
        for is_trusted, runs in groupby(_with_starts(self.runs), lambda each: each[0].origin.trusted):
            if is_trusted:
                yield "".join(self.text[start : run.stop] for run, start in runs)

    def spelled(self) -> list[Found]:
        """Return the control tokens that the text spells, whoever wrote them."""
        return self.control.find(self.text, [TextRun(len(self.text), LITERAL, -1)])

    @cached_property
    def parts(self) -> tuple[Text | Special, ...]:
        """The text between control tokens, and these: what `Tokenizer.encode` takes."""
        return (*self.parts_from(0),)

    def parts_from(self, first: int) -> list[Text | Special]:
        """Return the parts from a control token on, by its number; 0: from the beginning of the text."""
        parts: list[Text | Special] = []
        at = self.found[first][0] if first else 0
        for start, stop, token in self.found[first:]:
            if at < start:
                parts.append(Text(self.text[at:start], as_text=self.control.as_text))
            parts.append(self.control.special(token))
            at = stop
        if at < len(self.text):
            parts.append(Text(self.text[at:], as_text=self.control.as_text))
        return parts

    def controls(self, ids: NDArray[np.uint32], spans: Callable[[], Spans]) -> NDArray[np.bool_]:
        """Return which ids are control tokens; spans: asked for if text may have yielded one of the ids."""
        found = np.isin(ids, self.control.ids)
        return found & self.written(spans()) if np.isin(ids[found], self.control.doubtful).any() else found

    def written(self, spans: Spans) -> NDArray[np.bool_]:
        """Return which ids are the control tokens that were found; spans: the characters of each id."""
        return masked(((start, stop) for start, stop, _ in self.found), spans)

    @cached_property
    def _of_callers(self) -> NDArray[np.bool_]:
        """Which characters are not trusted, and False for the place after the last one."""
        trusted = np.array([run.origin.trusted for run in self.runs], np.bool_)
        return np.append(np.repeat(~trusted, np.diff(self.stops, prepend=0)), False)

    def typed(self, ids: NDArray[np.uint32], spans: Spans) -> NDArray[np.bool_]:
        """Return which ids are text of a caller that spells an added token, or yields its id (H3)."""
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._of_callers)])
        spelled = (each for each in self.control.typed(self.text, self.found) if sums[each[1]] > sums[each[0]])
        yielded = np.isin(ids, self.control.told) & self._of_callers[spans[:, 0]]
        return (masked(spelled, spans) | yielded) & ~self.controls(ids, lambda: spans)

    def refused(self, ids: NDArray[np.uint32], spans: Spans) -> Iterator[tuple[Owner, str, AddedToken]]:
        """Yield who wrote a text from which a model makes a control token, that text, and the token."""
        wrong = np.isin(ids, self.control.refused) & self._of_callers[spans[:, 0]] & ~self.written(spans)
        tokens = {token.id: token for token in self.control.tokens.values()}
        for at in np.flatnonzero(wrong).tolist():
            start, stop = spans[at].tolist()
            run = self.runs[int(np.searchsorted(self.stops, start, "right"))]
            yield run.origin, self.text[start:stop], tokens[int(ids[at])]

    @cached_property
    def stops(self) -> Spans:
        """Where the runs end."""
        return np.array([run.stop for run in self.runs], np.int64)

    def turn(self, number: int) -> tuple[int, int]:
        """Return the characters of the turn of a message, from the first to the last; (0, 0) if it has none."""
        return self._hulls.get(number, (0, 0))

    @cached_property
    def _hulls(self) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        for run, start in _with_starts(self.runs):
            found[run.turn] = (found.get(run.turn, (start, 0))[0], run.stop)
        return found

    @cached_property
    def _by_owner(self) -> dict[int, list[tuple[int, int, str]]]:
        found: dict[int, list[tuple[int, int, str]]] = {}
        for run, start in _with_starts(self.runs):
            if run.origin.message >= 0:
                found.setdefault(run.origin.message, []).append((start, run.stop, run.origin.field))
        return found

    def owned(self, message: int, field: str) -> list[tuple[int, int]]:
        """Return the ranges of characters that a field of a message owns."""
        return [(start, stop) for start, stop, name in self._by_owner.get(message, ()) if name == field]

    def content(self, message: int, start: int, stop: int) -> tuple[int, int] | None:
        """Return where the content of a message begins and ends within a range; None if there is none.

        It is what the message owns but for its role, and what is not the template's, such as a number.
        """
        found: tuple[int, int] | None = None
        at = start
        for run in self.runs[int(np.searchsorted(self.stops, start, "right")) :]:
            if at >= stop:
                break
            (owner, field, trusted, *_), end = run.origin, min(run.stop, stop)
            if (owner == message and field != "role") or (owner == -1 and not trusted):
                found = (found[0] if found else at, end)
            at = end
        return found

    @cached_property
    def marks(self) -> list[tuple[int, int]]:
        """The ranges inside `{% generation %}`."""
        return [(start, run.stop) for run, start in _with_starts(self.runs) if run.origin.marked]

    @cached_property
    def owners(self) -> NDArray[np.int32]:
        """The owner of each run: a message, -1 for the template outside turns, -2 for tools, documents, variables."""
        owners = [run.turn if run.origin.message == -1 else run.origin.message for run in self.runs]
        return np.array(owners, np.int32)

    @cached_property
    def _begins(self) -> list[int]:
        return [found[0] for found in self.found]

    def tokens(self, start: int, stop: int) -> range:
        """Return the numbers of the control tokens within a range."""
        first, last = bisect_left(self._begins, start), bisect_left(self._begins, stop)
        if first < last and self.found[last - 1][1] > stop:
            last -= 1
        return range(first, last)

    def token_at(self, place: int) -> int | None:
        """Return the number of the control token that begins at a character, or None."""
        number = bisect_left(self._begins, place)
        return number if self._begins[number : number + 1] == [place] else None

    def units(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the control tokens whole, and the other characters one by one, of a range."""
        units, at = list[tuple[int, int]](), start
        for number in self.tokens(start, stop):
            first, last, _ = self.found[number]
            units += [*((k, k + 1) for k in range(at, first)), (first, last)]
            at = last
        return [*units, *((k, k + 1) for k in range(at, stop))]


def _with_starts(runs: Sequence[TextRun]) -> Iterable[tuple[TextRun, int]]:
    return zip(runs, (0, *(run.stop for run in runs)), strict=False)
