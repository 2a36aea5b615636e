"""Reading an answer by a grammar: all readings of its units at once, and what they agree on, one unit at a time (H7).

A reading is a thread: the fields that it closed, and where it stands in the next field or in the text before it. What
all threads agree on is committed and never taken back. There is no state but the threads, so the way in which units
come in pieces changes nothing.

If no reading is left, all is read again by the loosened grammar, once: by readings that go on as what was told.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from subwords.chat.reply_format import (
    ARGUMENTS,
    CONTENT,
    END,
    ID,
    KEY,
    NAME,
    NUMBER,
    OBJECT,
    REASONING,
    START,
    STRING,
    VALUE,
    WHOLE,
    Edges,
    is_control,
    loosened,
    object_keys,
)

MOST_THREADS = 48
_MOST_OPEN = 256  # fields that are closed and not committed
_MOST_NAME = 256  # characters of a name, a key or an id
_MOST_DEPTH = 100  # of values within values
_WHOLE_OFTEN = 32  # fields between two looks at what threads agree on, besides those at the end of what is fed
_IN_NAMES = re.compile(r"[^\s\"'<>(){}\[\],=|`\ud800-\udfff]")
_IN_IDS = re.compile(r"[\w.:\-]")
_IN_PRIMITIVES = re.compile(r"[-+.\w]")
_BARE = re.compile(r"([^\s{}\[\]:,]+)(:?)")  # a key that nothing quotes, or a value
_PYTHON = {"None": "null", "True": "true", "False": "false"}
_TEXTS = frozenset({REASONING, CONTENT, STRING})
_NAMES = frozenset({NAME, KEY, ID})
_IN_STRING = re.compile(r'["\\\ud800-\udfff]')
_CLOSING = {"}": "{", "]": "["}


class ReplyField:
    """A closed field: its characters, and the field before it."""

    __slots__ = ("before", "kind", "number", "start", "stop")

    def __init__(self, kind: str, start: int, stop: int, before: ReplyField | None) -> None:
        self.kind, self.start, self.stop, self.before = kind, start, stop, before
        self.number: int = 0 if before is None else before.number + 1


class Json(NamedTuple):
    """Where a scanner of JSON is: open brackets, what ends the string, after a backslash, after its end."""

    open: str
    quote: str
    escaped: bool
    done: bool


class Thread(NamedTuple):
    """A reading. literal: the text that it is in, at its character `state`; None in a field, which began at `start`."""

    last: ReplyField | None
    kind: str
    start: int
    state: Any
    literal: str | None


def scanned(kind: str, state: Any, unit: str, quotes: str) -> Any:
    """Return the state of a field after a unit; None if the field cannot have it. state: None where it begins."""
    if kind in _TEXTS:
        return None if is_control(unit) else True
    if kind in _NAMES:
        size, fits = (state or 0) + 1, (_IN_IDS if kind == ID else _IN_NAMES).match(unit)
        return size if fits and size <= _MOST_NAME else None
    if type(state) is Json:
        return _in_json(state, unit, quotes)
    if state is None and (unit == "{" or (kind != OBJECT and unit in f"[{quotes}")):
        return Json("", unit, False, False) if unit in quotes else Json(unit, "", False, False)
    size = (state or 0) + 1  # a number or a name, which is a value of its own only as VALUE
    return size if kind == VALUE and size <= _MOST_NAME and _IN_PRIMITIVES.match(unit) else None


def _in_json(state: Json, unit: str, quotes: str) -> Json | None:
    open, quote, escaped, done = state
    if done:
        return None
    if quote:
        if escaped or unit not in (quote, "\\"):
            return state._replace(escaped=False) if escaped else state
        if unit == quote:
            return Json(open, "", False, not open)
        return state._replace(escaped=quote == '"')
    if unit in quotes:
        return Json(open, unit, False, False)
    if unit in "{[":
        return Json(open + unit, "", False, False) if len(open) < _MOST_DEPTH else None
    if unit in "}]":
        return Json(open[:-1], "", False, len(open) == 1) if open[-1:] == _CLOSING[unit] else None
    return None if is_control(unit) else state


def closes(kind: str, state: Any) -> bool:
    """Whether a field may end in a state."""
    if kind in _TEXTS:
        return kind == STRING or state is not None
    return state.done if type(state) is Json else state is not None


def value_of(text: str) -> tuple[Any] | None:
    """Return the value that a template prints as JSON or as Python; None if it is none."""
    try:
        return (json.loads(text, parse_constant=_no_number, strict=False),)
    except (ValueError, RecursionError):
        pass
    try:
        found = literal_eval(text) if text in ("True", "False", "None") or text[:1] in ("[", "{") else _no_number(text)
        json.dumps(found, allow_nan=False)  # a set is no value
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return (found,)


def _no_number(text: str) -> Any:
    raise ValueError(f"not JSON: {text:.60}")


def arguments_of(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return the arguments of a call, as JSON and as a value: an object, or the text of one; None if it is neither."""
    value = value_of(text)
    if value is not None and isinstance(value[0], str):
        text, value = value[0], value_of(value[0])
    if value is None or not isinstance(value[0], dict):
        return None
    try:
        json.loads(text)
    except ValueError:  # Python, or line breaks within strings
        text = json.dumps(value[0], ensure_ascii=False)
    return text, value[0]


def call_of_object(text: str, keys: Sequence[str]) -> tuple[str, str, str | None] | None:
    """Return name, arguments as JSON and id of a call that is one object; None if it is none.

    Also None if its keys are in the order of the template: then its fields are read one by one.
    """
    (value,) = value_of(text) or (None,)
    if not isinstance(value, dict) or [*value] in ([*keys], [*keys[:2]]):
        return None
    name, given, index = (value.get(key) for key in (*keys, "")[:3])
    found = arguments_of(json.dumps(given))
    if (
        found is None
        or not isinstance(name, str)
        or not 0 < len(name) <= _MOST_NAME
        or not all(map(_IN_NAMES.match, name))
    ):
        return None
    return name, found[0], index if isinstance(index, str) else None


def as_json(units: str, quote: str, spell: Callable[[str], str] = str) -> str:
    """Return a value in which a control token quotes texts, and nothing quotes keys, as JSON."""
    return "".join(
        json.dumps(spell(part), ensure_ascii=False) if at % 2 else _BARE.sub(_bare_as_json, part)
        for at, part in enumerate(units.split(quote))
    )


def _bare_as_json(bare: re.Match[str]) -> str:
    return f"{json.dumps(bare[1], ensure_ascii=False)}:" if bare[2] else _PYTHON.get(bare[1], bare[1])


def _is_later(thread: Thread, last: ReplyField | None, at: int) -> bool:
    """Whether a reading goes on in a text after the place where another one closed it, whose next field begins."""
    if thread.literal is None and thread.kind in _TEXTS and thread.start < at:
        return thread.last is None if last is None else thread.start == last.start
    if last is None or thread.last is None or last.kind not in _TEXTS:
        return False
    return thread.last.start == last.start and thread.last.stop > last.stop


class Grammar:
    """The edges of a format, by the first unit of their text.

    quote: a control token that quotes texts in values. closers: of a loosened grammar, the control tokens that no
    reasoning may quote. There, whitespace in the text between fields may differ, and of the text before the end only
    its first unit and its last need be there.
    """

    def __init__(self, edges: Edges, quote: str = "", closers: Collection[str] | None = None) -> None:
        self.edges, self.quote, self.closers = edges, quote, closers or ()
        self.loose: bool = closers is not None
        self.keys: list[str] = object_keys(edges) or []
        self.quotes: str = quote or '"'
        self.ends = {text[-1] for pairs in edges.values() for text, kind in pairs if kind == END and text}
        self.by_first: dict[str, dict[str, list[tuple[str, str]]]] = {}
        self.numbered: dict[str, list[tuple[str, str]]] = {}  # text that begins with a number
        self.endless: set[str] = set()  # kinds after which nothing need follow
        self.stops: dict[str, re.Pattern[str]] = {}  # of texts: units that are not only more of it
        for kind, pairs in edges.items():
            by_first = defaultdict[str, list[tuple[str, str]]](list)
            for literal, after in pairs:
                if literal:
                    by_first[literal[0]].append((literal, after))
                elif after == END:
                    self.endless.add(kind)
            self.numbered[kind] = by_first.pop(NUMBER, [])
            self.by_first[kind] = dict(by_first)
            others = r"\d" if self.numbered[kind] else ""
            self.stops[kind] = re.compile(f"[\ud800-\udfff{others}{''.join(map(re.escape, by_first))}]")

    def is_value(self, kind: str, units: list[str]) -> bool:
        """Whether a field of a kind may have this text."""
        if kind == VALUE:
            return value_of(as_json("".join(units), self.quote) if self.quote else "".join(units)) is not None
        if kind == OBJECT:
            return call_of_object("".join(units), self.keys) is not None
        return kind != ARGUMENTS or arguments_of("".join(units)) is not None

    def after(self, kind: str, unit: str) -> Iterator[tuple[str, str]]:
        """Yield the texts that follow a kind and begin with a unit, with the kind after each."""
        yield from self.by_first.get(kind, {}).get(unit, ())
        if unit.isdecimal():
            yield from self.numbered.get(kind, ())

    @cached_property
    def loosened(self) -> Grammar:
        """The same with what models write besides; itself, if it is loosened."""
        if self.loose:
            return self
        ends = {text[-1:] for text, kind in self.edges[CONTENT] if kind == END}
        first = (next(filter(is_control, text), "") for text, _ in self.edges.get(REASONING, ()))
        return Grammar(loosened(self.edges), self.quote, ends.union(first))


class Reader:
    """Follows all readings of units by a grammar, 48 at most; of those in which no field begins within the prompt.

    earliest: whether the first delimiter that is whole, with the beginning of the next field, counts.
    """

    def __init__(self, grammar: Grammar, prompt: str = "", *, earliest: bool = False) -> None:
        self.grammar, self._prompt, self._earliest = grammar, prompt, False
        self.units = list[str]()
        self.overflow = False  # whether readings were left out
        self.called = set[int]()  # where a name begins that some reading read to its end, with the text after it
        self.dead: int | None = None  # the unit that no reading could have
        self.last = list[Thread]()  # the readings before it
        self.opened: tuple[str, int, int] | None = None  # the field after the committed ones, before it
        self.committed: ReplyField | None = None
        self.agreed = list[ReplyField]()  # the committed fields
        self.threads = list[Thread]()
        self._closed = dict[int, ReplyField]()  # in this step, by the number of the thread
        for literal, kind in grammar.edges.get(START, ()):
            self._arrive(None, kind, 0) if not literal else self.threads.append(Thread(None, kind, -1, 0, literal))
        self.feed(prompt)
        size = len(prompt)
        self.threads = [
            each for each in self.threads if each.last is None and (each.literal is not None or each.start == size)
        ]
        self._earliest = earliest

    def again(self, grammar: Grammar, end: str = "") -> Reader | None:
        """Return a reader of the same units, and `end`, by a grammar; None if no reading goes on as what was told."""
        stop, open = (len(self.units), self.pending()) if self.dead is None else (self.dead + 1, self.opened)
        told = [(one.kind, one.start, one.stop) for one in self.agreed]
        found = Reader(grammar, self._prompt, earliest=self._earliest)
        found.feed("".join(self.units[len(self._prompt) : stop]))
        open = None if open is None or open[0] in WHOLE or open[1] == open[2] else open
        found.threads = [each for each in found.threads if found.goes_on(each, told, open)]
        if not found.threads:
            return None
        found.commit()
        found.feed("".join(self.units[stop:]) + end)
        return found

    def goes_on(self, thread: Thread, told: list[tuple[str, int, int]], open: tuple[str, int, int] | None) -> bool:
        """Whether a reading has these fields, and then one that begins like another and is as long or longer."""
        fields = [(one.kind, one.start, one.stop) for one in self.fields(thread.last)]
        if thread.literal is None:
            fields.append((thread.kind, thread.start, len(self.units)))
        more = fields[len(told) : len(told) + 1]
        goes_on = open is None or any(each[:2] == open[:2] and each[2] >= open[2] for each in more)
        return fields[: len(told)] == told and goes_on

    def feed(self, units: str) -> None:
        """Read more."""
        at, size = 0, len(units)
        while at < size:
            if not self.threads:
                self.units += units[at:]
                return
            stop = self._plain_until(units, at) if len(self.threads) == 1 else at
            if stop > at:
                self.units += units[at:stop]
                at = stop
            else:
                self._step(units[at])
                at += 1
        self.commit()

    def _plain_until(self, units: str, at: int) -> int:
        """Return up to where the only thread goes on as it is, or where it is."""
        thread = self.threads[0]
        if thread.literal is not None or thread.state is None:
            return at
        if thread.kind in _TEXTS:
            found = self.grammar.stops[thread.kind].search(units, at)
        elif type(thread.state) is Json and thread.state.quote and not thread.state.escaped:
            found = _IN_STRING.search(units, at)
        else:
            return at
        return len(units) if found is None else found.start()

    def _step(self, unit: str) -> None:
        at, before = len(self.units), self.threads
        self.threads, self._closed = [], {}
        for number, thread in enumerate(before):
            if thread.literal is not None:
                self._in_literal(number, thread, unit, at)
            elif thread.kind == END:
                self._after_end(thread, unit)
            else:
                self._in_field(number, thread, unit, at)
        threads = [*dict.fromkeys(self.threads)]
        if len(threads) > MOST_THREADS:
            threads.sort(key=lambda each: -1 if each.last is None else -each.last.number)
            threads, self.overflow = threads[:MOST_THREADS], True
        self.threads = threads
        if before and not threads:
            self.dead, self.last, self.threads = at, before, before
            self.commit()
            self.opened, self.threads = self.pending(), threads
        self.units.append(unit)
        if self._earliest and len(threads) > 1:
            self._drop_later(at + 1)
        floor = -1 if self.committed is None else self.committed.number
        deepest = max((each.last.number for each in threads if each.last is not None), default=0) - floor
        if self._closed and deepest % _WHOLE_OFTEN == 0 and len(threads) > 1:
            self.commit()
            floor = -1 if self.committed is None else self.committed.number
            if deepest > _MOST_OPEN and deepest - floor > _MOST_OPEN:
                self.threads, self.overflow = threads[:1], True

    def _drop_later(self, at: int) -> None:
        """Leave out the readings that go on in a text which another one left for a field that begins here."""
        begun = [each.last for each in self.threads if each.literal is None and each.start == at]
        kept = [each for each in self.threads if not any(_is_later(each, last, at) for last in begun)]
        self.overflow |= len(kept) < len(self.threads)
        self.threads = kept

    def _in_literal(self, number: int, thread: Thread, unit: str, at: int) -> None:
        last, kind, _, place, literal = thread
        assert literal is not None
        if literal[place] == NUMBER:
            if not unit.isdecimal():
                return
            self.threads.append(thread)  # the number may go on
        elif literal[place] != unit:
            if self.grammar.loose:
                self._in_loose_literal(number, thread, unit, at)
            return
        self._advance(last, literal, place + 1, kind, at + 1)

    def _in_loose_literal(self, number: int, thread: Thread, unit: str, at: int) -> None:
        """Go on in a text between fields where it is written otherwise."""
        last, kind, _, place, literal = thread
        assert literal is not None
        rest = literal[place:].lstrip()
        if unit.isspace():
            self.threads.append(thread)
        elif not rest:
            self._arrive(last, kind, at)
            begun = self.threads.pop()
            self._after_end(begun, unit) if kind == END else self._in_field(~number, begun, unit, at)
        elif rest[0] == unit:
            self._advance(last, literal, len(literal) - len(rest) + 1, kind, at + 1)
        elif kind == END and unit == literal[-1]:
            self._arrive(last, kind, at + 1, True)

    def _advance(self, last: ReplyField | None, literal: str, place: int, kind: str, at: int) -> None:
        if place < len(literal):
            self.threads.append(Thread(last, kind, -1, place, literal))
        else:
            self._arrive(last, kind, at, is_control(literal[-1]))

    def _arrive(self, last: ReplyField | None, kind: str, at: int, ended: bool = False) -> None:
        """Begin a field, or the end. ended: by a control token."""
        if last is not None and last.kind == NAME:
            self.called.add(last.start)
        self.threads.append(Thread(last, kind, at, ended if kind == END else None, None))

    def _after_end(self, thread: Thread, unit: str) -> None:
        """Go on after the end: blanks, and if the template writes none, the control token that a model writes."""
        if unit.isspace():
            self.threads.append(thread)
        elif is_control(unit) and not thread.state:
            self.threads.append(thread._replace(state=True))

    def _in_field(self, number: int, thread: Thread, unit: str, at: int) -> None:
        kind, state, grammar = thread.kind, thread.state, self.grammar
        if closes(kind, state):
            for literal, after in grammar.after(kind, unit):
                last = self._close(number, thread, at)
                if last is None:
                    break
                if literal[0] == NUMBER:
                    self.threads.append(Thread(last, after, -1, 0, literal))
                self._advance(last, literal, 1, after, at + 1)
            if kind in grammar.endless and is_control(unit) and (last := self._close(number, thread, at)):
                self.threads.append(Thread(last, END, at, True, None))
        moved = scanned(kind, state, unit, grammar.quotes)
        if moved is None and kind == REASONING and grammar.loose and unit not in grammar.closers:
            moved = True  # it quotes a call, of which nothing is told before the reasoning ends
        if state is None and grammar.loose and unit.isspace() and kind not in _TEXTS:
            self.threads.append(thread._replace(start=at + 1))
        if moved is not None:
            self.threads.append(thread if moved == state else thread._replace(state=moved))

    def _close(self, number: int, thread: Thread, at: int) -> ReplyField | None:
        """Return the field of a thread, closed; None if its text is no value."""
        if (found := self._closed.get(number)) is None:
            if not self.grammar.is_value(thread.kind, self.units[thread.start : at]):
                return None
            found = self._closed[number] = ReplyField(thread.kind, thread.start, at, thread.last)
        return found

    # ------------------------------------------------------------------ what is known

    def commit(self) -> None:
        """Commit the fields that all readings have."""
        if not self.threads:
            return
        paths = [self.fields(each.last, self.committed) for each in self.threads]
        shortest = min(map(len, paths))
        for at in range(shortest):
            if any(path[at] is not paths[0][at] for path in paths):
                return
            self.committed = paths[0][at]
            self.agreed.append(self.committed)

    def fields(self, last: ReplyField | None, after: ReplyField | None = None) -> list[ReplyField]:
        """Return the fields up to one, those after another."""
        found = list[ReplyField]()
        while last is not None and last is not after:
            found.append(last)
            last = last.before
        return found[::-1]

    def pending(self) -> tuple[str, int, int] | None:
        """Return the field after the committed ones, as far as all readings agree: its kind, start, and stop so far."""
        found: tuple[str, int, int] | None = None
        for thread in self.threads:
            path = self.fields(thread.last, self.committed)
            if path:
                one = path[0].kind, path[0].start, path[0].stop
            elif thread.literal is None and thread.kind != END:
                one = thread.kind, thread.start, len(self.units)
            else:
                return None
            if found is not None and found[:2] != one[:2]:
                return None
            found = one if found is None else (*one[:2], min(found[2], one[2]))
        return found

    def accepted(self) -> list[tuple[list[ReplyField], int]]:
        """Return the readings of all units: their fields and where the end was; the earliest delimiters first."""
        size, found = len(self.units), list[tuple[list[ReplyField], int]]()
        for thread in self.threads:
            if thread.literal is None and thread.kind == END:
                found.append((self.fields(thread.last), thread.start))
            elif thread.literal is None and thread.kind in self.grammar.endless and closes(thread.kind, thread.state):
                found.append((self.fields(ReplyField(thread.kind, thread.start, size, thread.last)), size))
        return sorted(found, key=lambda each: [(one.stop, one.kind == CONTENT, -one.start) for one in each[0]])

    def text(self, start: int, stop: int) -> str:
        """Return some units."""
        return "".join(self.units[start:stop])
