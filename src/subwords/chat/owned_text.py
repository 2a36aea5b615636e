"""Strings that know where each character comes from: a template's own text, a field of a message, ... (H1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from operator import index
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

from markupsafe import Markup

from subwords.chat.limits import (
    LARGE_STRING,
    MOST_BITS,
    NODE,
    LimitError,
    Weighed,
    check_bits,
    check_format,
    check_longer,
    check_replaced,
    is_light,
    light,
    limit,
    spend,
    weigh,
)

RUN = 256  # characters that a change of origin takes as long as
PART = 1 << 13  # characters that a part of a text counts as: half a million of them
MOST_RUNS = 1 << 20  # changes of origin in a string: each takes as much memory as 100 characters
FEW_RUNS = 64  # of two strings that are added without a loop
_HUGE_NUMBER = 1 << MOST_BITS
_PLAIN_FIELDS = re.compile(r"%[s%]|%")

TEMPLATE, OUTSIDE = -1, -2  # instead of the number of a message


class Owner(NamedTuple):
    """Where characters come from.

    message: its number; -1 for the template or if it is unknown, -2 for tools, documents and variables. field: the key
    of the message. trusted: whether control tokens are looked for in them. marked: inside `{% generation %}`. split: in
    a part that a template split from the text.
    """

    message: int
    field: str
    trusted: bool
    marked: bool = False
    split: bool = False


Runs: TypeAlias = tuple[tuple[int, Owner], ...]  # the end of each range of characters, and its origin

LITERAL, LOST = Owner(TEMPLATE, "", True), Owner(TEMPLATE, "", False)


@lru_cache(1 << 12)
def _untrusted(origin: Owner) -> Owner:
    return origin._replace(trusted=False)


@lru_cache(1 << 12)
def _split(origin: Owner) -> Owner:
    return origin if origin.trusted else origin._replace(split=True)


@lru_cache(1 << 12)
def whole(origin: Owner) -> Owner:
    """Return the origin of a part as that of the text it was split from."""
    return origin._replace(split=False)


@lru_cache(1 << 12)
def _marked(origin: Owner) -> Owner:
    return origin._replace(marked=True)


class Record(Weighed):
    """A dict of the caller's, with its origin, and the number of the message that it is, or -1.

    A template cannot read attributes that begin with an underscore.
    """

    __slots__ = ("_origin", "_turn")

    def __init__(self, entries: Mapping[Any, Any], origin: Owner, turn: int = -1) -> None:
        super().__init__(entries)
        self._origin, self._turn = origin, turn


class OwnedText(str):
    """A string whose runs of characters know their origin. A plain `str` is untrusted, and so is `OwnedText(text)`."""

    __slots__ = ("_runs",)
    _runs: Runs

    def __new__(cls, *args: Any) -> OwnedText:
        """Return a string of unknown origin: a sandbox calls the type of a string to format it."""
        text = str(*args)
        return text if type(text) is OwnedText else made(text, LOST)

    def __str__(self) -> str:
        return self

    # ------------------------------------------------------------------ parts: every character keeps its origin

    def __getitem__(self, key: SupportsIndex | slice) -> OwnedText:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return part(self, start, max(start, stop))
            return join([part(self, at, at + 1) for at in range(start, stop, step)])
        at = index(key)  # raises TypeError: the sandbox then looks for an attribute
        str.__getitem__(self, at)  # raises IndexError
        at %= len(self)
        return part(self, at, at + 1)

    def __iter__(self) -> Iterator[OwnedText]:
        return (untrusted(part(self, at, at + 1)) for at in range(len(self)))

    def strip(self, chars: str | None = None, /) -> OwnedText:
        """Return the text without whitespace, or `chars`, at both ends."""
        start = len(self) - len(str.lstrip(self, chars))
        return _argued(cut(self, start, start + len(str.strip(self, chars))), chars)

    def lstrip(self, chars: str | None = None, /) -> OwnedText:
        """Return the text without whitespace, or `chars`, at its start."""
        return _argued(cut(self, len(self) - len(str.lstrip(self, chars)), len(self)), chars)

    def rstrip(self, chars: str | None = None, /) -> OwnedText:
        """Return the text without whitespace, or `chars`, at its end."""
        return _argued(cut(self, 0, len(str.rstrip(self, chars))), chars)

    def removeprefix(self, prefix: str, /) -> OwnedText:
        """Return the text without a prefix."""
        return _argued(cut(self, len(self) - len(str.removeprefix(self, prefix)), len(self)), prefix)

    def removesuffix(self, suffix: str, /) -> OwnedText:
        """Return the text without a suffix."""
        return _argued(cut(self, 0, len(str.removesuffix(self, suffix))), suffix)

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        """Return the text between separators."""
        return self._parts(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        """Return the text between separators, found from the end."""
        return self._parts(str.rsplit(self, sep, maxsplit), sep)

    def _parts(self, parts: list[str], sep: str | None) -> list[str]:
        found: list[str] = []
        at = 0
        for piece in parts:
            start = at if sep is not None else str.find(self, piece, at)
            found.append(_argued(part(self, start, start + len(piece)), sep))
            at = start + len(piece) + (0 if sep is None else len(sep))
        return found

    def splitlines(self, keepends: bool = False) -> list[str]:
        """Return the lines."""
        found: list[str] = []
        at = 0
        for line in str.splitlines(self, True):
            size = len(line) if keepends else len(line.splitlines()[0])
            found.append(part(self, at, at + size))
            at += len(line)
        return found

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        """Return the text before the first separator, it, and the text after it."""
        return self._three(str.partition(self, sep), sep)

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        """Return the text before the last separator, it, and the text after it."""
        return self._three(str.rpartition(self, sep), sep)

    def _three(self, parts: tuple[str, str, str], sep: str) -> tuple[str, str, str]:
        ends = (0, len(parts[0]), len(parts[0]) + len(parts[1]), len(self))
        one, two, three = (_argued(part(self, *ends[at : at + 2]), sep) for at in range(3))
        return one, two, three

    # ------------------------------------------------------------------ several strings

    def __add__(self, other: str, /) -> OwnedText:
        return join((self, other)) if isinstance(other, str) and not isinstance(other, Markup) else NotImplemented

    def __radd__(self, other: str, /) -> OwnedText:
        return join((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: SupportsIndex, /) -> OwnedText:
        number = max(index(count), 0)
        limit(number * len(self))
        runs = self._runs
        if len(runs) == 1 and number and self:
            return made(str(str.__mul__(self, number)), runs[0][1])
        return join([self] * number) if self else self

    __rmul__ = __mul__

    def join(self, strings: Iterable[str], /) -> OwnedText:
        """Return the strings with this text between them; it is not trusted between parts of one text (H2)."""
        pieces: list[str] = []
        before = frozenset[tuple[int, str]]()
        for string in strings:
            texts = _split_texts(string)
            if pieces and self:
                pieces.append(untrusted(self) if texts & before else self)
            pieces.append(string)
            before = texts
        return join(pieces)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> OwnedText:
        """Replace text; what is put into text of others is no longer trusted (H2)."""
        times = check_replaced(self, old, new, index(count))
        if not times:
            return self
        if not (is_trusted(self) and is_trusted(old)):
            new = untrusted(new)
        pieces: list[str] = []
        at = 0
        for number in range(times):
            if old:
                place = str.find(self, old, at)
            else:
                place = number  # before each character, and in the end
            pieces += (cut(self, at, place), new)
            at = place + len(old)
        return _argued(join([*pieces, cut(self, at, len(self))]), old)

    def __mod__(self, values: Any, /) -> OwnedText:
        """Format; `%s` keeps the origin of each character."""
        check_format(self, values)
        fields = _PLAIN_FIELDS.findall(self)
        given = values if isinstance(values, tuple) else (values,)
        if isinstance(values, Mapping) or "%" in fields or fields.count("%s") != len(given):
            return owned(str.__mod__(self, values), self, values)
        pieces: list[str] = []
        at, rest = 0, iter(given)
        for match in _PLAIN_FIELDS.finditer(self):
            pieces.append(cut(self, at, match.start()))
            pieces.append(cut(self, at := match.start(), at + 1) if match[0] == "%%" else printed(next(rest)))
            at = match.end()
        return join([*pieces, cut(self, at, len(self))])


class Safe(Markup):
    """What the filter `safe` returns: added to other text, it escapes that, as `Markup` does."""

    __slots__ = ("_runs",)
    _runs: Runs

    def __new__(cls, *args: Any) -> Safe:
        """Return text of unknown origin: `Markup` makes its results so."""
        found = super().__new__(cls, *args)
        found._runs = ((len(found), LOST),)
        return found

    def __str__(self) -> str:
        return with_runs(str.__str__(self), self._runs)

    def __html__(self) -> Safe:
        return self

    def __add__(self, other: Any, /) -> Safe:
        return NotImplemented if not isinstance(other, str) else _safe_join(self, _escaped(other))

    def __radd__(self, other: Any, /) -> Safe:
        return NotImplemented if not isinstance(other, str) else _safe_join(_escaped(other), self)

    # What makes longer text, within the limits of `OwnedText`.

    def __mod__(self, values: Any, /) -> Safe:
        check_format(self, values)
        return super().__mod__(values)

    def join(self, strings: Iterable[Any], /) -> Safe:
        """Return the strings with this text between them."""
        pieces = [*strings]
        limit(len(self) * len(pieces))
        weigh(pieces)
        return super().join(pieces)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Safe:
        """Replace text."""
        check_replaced(self, old, self.escape(new), index(count))
        return super().replace(old, new, count)


def _mapping(name: str) -> Callable[[OwnedText], str]:
    """Return a method that changes each character."""
    change: Callable[[str], str] = getattr(str, name)
    return wraps(change)(lambda self: _mapped(self, change))


def _making(plain: type[str], name: str) -> Callable[..., str]:
    """Return a method that makes text within the limits."""
    make: Callable[..., str] = getattr(plain, name)

    @wraps(make)
    def method(self: OwnedText | Safe, *args: Any, **options: Any) -> str:
        check_longer(self, name, *args, *options.values())
        text = make(self, *args, **options)
        return text if isinstance(self, Safe) else owned(text, self, *args)

    return method


for _name in ("upper", "lower", "casefold", "swapcase", "capitalize"):
    setattr(OwnedText, _name, _mapping(_name))
for _name in ("title", "center", "ljust", "rjust", "zfill", "expandtabs", "translate"):
    setattr(OwnedText, _name, _making(str, _name))
    setattr(Safe, _name, _making(Markup, _name))
for _type, _name in ((OwnedText, "str"), (Record, "dict"), (Safe, "Markup")):  # so templates and their errors call them
    _type.__name__ = _type.__qualname__ = _name
    _type.__module__ = "builtins"


def mark_safe(value: object) -> Safe:
    """Return text that is not escaped again."""
    text = printed(value)
    found = str.__new__(Safe, text)
    found._runs = owner_runs(text)
    return found


def _escaped(text: str) -> str:
    changed = Markup.escape(text) if not isinstance(text, Safe) else text
    return text if len(changed) == len(text) else owned(str.__str__(changed), text)


def _safe_join(left: str, right: str) -> Safe:
    return mark_safe(join((printed(left), printed(right))))


def changed_record(record: Record, key: str, value: object) -> Record:
    """Return a dict of the caller's with another entry."""
    return Record({**record, key: value}, record._origin, record._turn)


def turn_of(value: object) -> int:
    """Return the number of the message that a value is, or -1.

    A dict with a role that the template made is the first message whose text it has.
    """
    kind = type(value)
    if kind is Record:
        return value._turn  # type: ignore[attr-defined, no-any-return]
    if kind is dict and "role" in value:  # type: ignore[operator]
        for each in value.values():  # type: ignore[attr-defined]
            if type(each) is OwnedText:
                messages = [origin.message for _, origin in each._runs if origin.message >= 0]
                if messages:
                    return min(messages)
    return -1


# ---------------------------------------------------------------------------------------------------------------------
# Making strings.


def made(text: str, origin: Owner) -> OwnedText:
    """Return a string of one origin."""
    if len(text) > LARGE_STRING:
        spend(len(text))
    found = str.__new__(OwnedText, text)
    found._runs = ((len(text), origin),) if text else ()
    return found


def with_runs(text: str, runs: Runs) -> OwnedText:
    """Return a string with given runs."""
    if len(text) > LARGE_STRING:
        spend(len(text))
    found = str.__new__(OwnedText, text)
    found._runs = runs
    return found


def literal(text: str) -> OwnedText:
    """Return text of a template; the empty one is trusted too."""
    return with_runs(text, ((len(text), LITERAL),))


def owner_runs(text: str) -> Runs:
    """Return the runs of any string."""
    return text._runs if isinstance(text, OwnedText | Safe) else ((len(text), LOST),)


def cut(text: OwnedText, start: int, stop: int) -> OwnedText:
    """Return text[start:stop], with start <= stop."""
    large = len(text._runs) > FEW_RUNS or stop - start > LARGE_STRING
    spend(PART + (min(stop, len(text)) - start + RUN * len(text._runs) if large else 0))
    found, runs = str.__new__(OwnedText, str.__getitem__(text, slice(start, stop))), text._runs
    size = len(found)
    if not size:
        found._runs = ((0, runs[0][1]),) if runs else ()
    elif len(runs) == 1:
        found._runs = ((size, runs[0][1]),)
    else:
        found._runs = tuple((min(end, stop) - start, origin) for end, origin in _between(runs, start, stop))
    return found


def part(text: OwnedText, start: int, stop: int) -> OwnedText:
    """Return text[start:stop] as a part of the text."""
    found = cut(text, start, stop)
    if len(found._runs) == 1:
        ((end, origin),) = found._runs
        found._runs = ((end, origin if origin.trusted or origin.split else _split(origin)),)
    else:
        found._runs = tuple([(end, _split(origin)) for end, origin in found._runs])
    return found


def _split_texts(text: str) -> frozenset[tuple[int, str]]:
    """Return the message and field of each text that a string has parts of; parts of unknown texts count as one."""
    owners = [origin for _, origin in owner_runs(text)]
    return frozenset([(each.message, each.field) for each in owners if each.split or each == LOST])


def looked_up(found: Any, key: object) -> Any:
    """Return what a template found by a key; text is not trusted if the key is a part of the caller's text (H2)."""
    is_part = isinstance(key, OwnedText) and any(origin.split for _, origin in key._runs)
    return untrusted(found) if isinstance(found, str) and is_part else found


def part_of(look_up: Callable[[Any, Any], Any], value: Any, key: Any) -> Any:
    """Return `value[key]` of a template whose key is no constant: a part of a text is not trusted (H2)."""
    found = value[key] if isinstance(key, slice) else look_up(value, key)
    is_part = isinstance(value, str) and isinstance(found, str) and not isinstance(key, str)
    return untrusted(found) if is_part else found


def _between(runs: Runs, start: int, stop: int) -> Iterator[tuple[int, Owner]]:
    begin = 0
    for run in runs:
        if run[0] > start and begin < stop:
            yield run
        begin = run[0]


def join(pieces: Sequence[str]) -> OwnedText:
    """Return the strings joined; what is no string raises TypeError."""
    size, changes = sum(map(len, pieces)), sum(len(piece._runs) for piece in pieces if type(piece) is OwnedText)
    if size > LARGE_STRING or changes > FEW_RUNS:
        limit(size)
        if changes > MOST_RUNS:
            raise LimitError(f"it joins more than {MOST_RUNS:,} texts of different origin")
        spend(size + RUN * changes)
    text = "".join(pieces)
    runs: list[tuple[int, Owner]] = []
    last, at = None, 0
    for piece in pieces:
        if type(piece) is OwnedText:
            for end, origin in piece._runs:
                if origin is last:
                    runs[-1] = (at + end, origin)
                elif end:
                    runs.append((at + end, origin))
                    last = origin
            at += len(piece)
        elif piece:
            at += len(piece)
            runs.append((at, LOST))
            last = None
    found = str.__new__(OwnedText, text)
    found._runs = tuple(runs)
    return found


def add(left: Any, right: Any) -> Any:
    """Return `left + right` of a template."""
    if type(left) is OwnedText and type(right) is OwnedText:
        size, before, after = len(left), left._runs, right._runs
        if not left or not right or len(before) + len(after) > FEW_RUNS or size + len(right) > LARGE_STRING:
            return join((left, right))
        found = str.__new__(OwnedText, str.__add__(left, right))  # most texts of a template: half the time of `join`
        if before[-1][1] is after[0][1]:
            before = before[:-1]
        found._runs = (*before, *[(size + end, origin) for end, origin in after])
        return found
    if isinstance(left, list | tuple | str) and isinstance(right, list | tuple | str):
        if (size := len(left) + len(right)) > FEW_RUNS:
            limit(size if isinstance(left, str) else NODE * size)
            spend(size)
        if type(left) is str and type(right) is str:
            return made(left + right, LOST)
    return left + right


def printed(value: object) -> str:
    """Return what a template prints for a value; that of a list or dict has the only owner in it."""
    kind = type(value)
    if kind is OwnedText:
        return value  # type: ignore[return-value]
    if type(value) is int or not is_light(value):
        weigh(value)
    return owned(str(value), value) if isinstance(value, list | tuple | dict) else str(value)


def _argued(text: OwnedText, *arguments: object) -> OwnedText:
    """Return the result of a method; it is not trusted if an argument is of somebody else (H2)."""
    for argument in arguments:
        if argument is not None and not is_trusted(argument):
            return untrusted(text)
    return text


def is_trusted(value: object) -> bool:
    """Whether every character is trusted; the empty string is only if it is a literal."""
    if type(value) is not OwnedText or not value._runs:
        return False
    return all(origin.trusted for _, origin in value._runs)


def untrusted(text: str) -> OwnedText:
    """Return the text with its owners, but not trusted."""
    return with_runs(text, tuple((end, _untrusted(origin)) for end, origin in owner_runs(text)))


def marked(text: str) -> OwnedText:
    """Return the text as one that the assistant generates."""
    return with_runs(text, tuple((end, _marked(origin)) for end, origin in owner_runs(text)))


def _mapped(text: OwnedText, change: Callable[[str], str]) -> OwnedText:
    whole = change(str.__str__(text))
    if len(whole) == len(text):  # no character gets shorter
        return with_runs(whole, text._runs)
    pieces = [made(change(str(str.__getitem__(text, slice(a, b)))), o) for a, b, o in ranges(text._runs)]
    found = join(pieces)
    return found if found == whole else owned(whole, text)


def ranges(runs: Runs) -> Iterator[tuple[int, int, Owner]]:
    """Yield where each run begins, ends, and its origin."""
    begin = 0
    for end, origin in runs:
        yield begin, end, origin
        begin = end


def owned(text: str, *values: object) -> OwnedText:
    """Return text made of values in any way: it is not trusted, and has their owner if they have only one."""
    limit(len(text))
    found: set[Owner] = set()
    _owners(values, found)
    owners = {(origin.message, origin.field) for origin in found if origin.message != TEMPLATE}
    split = any(origin.split for origin in found)
    if len(owners) == 1:
        message, field = owners.pop()
        return made(str.__str__(text), _owner(message, field, split))
    messages = {message for message, _ in owners}
    return made(str.__str__(text), _owner(messages.pop() if len(messages) == 1 else TEMPLATE, "", split))


@lru_cache(1 << 12)
def _owner(message: int, field: str, split: bool) -> Owner:
    return Owner(message, field, False, split=split)


def _owners(value: object, found: set[Owner]) -> None:
    if isinstance(value, OwnedText | Safe):
        found.update(origin for _, origin in value._runs)
    elif type(value) is Record:
        found.add(value._origin)
    elif isinstance(value, dict):
        for pair in value.items():
            _owners(pair, found)
    elif isinstance(value, list | tuple):
        for each in value:
            _owners(each, found)


# ---------------------------------------------------------------------------------------------------------------------
# Operators.


def times(left: Any, right: Any) -> Any:
    """Return `left * right` of a template."""
    if isinstance(left, int) and isinstance(right, int):
        check_bits(left.bit_length() + right.bit_length())
    for many, number in ((left, right), (right, left)):
        if isinstance(many, str | list | tuple) and isinstance(number, int):
            size = len(many) * number * (1 if isinstance(many, str) else NODE)
            limit(size)
            spend(0 if type(many) is OwnedText else max(0, size))  # which counts itself
    return left * right


def power(left: Any, right: Any) -> Any:
    """Return `left ** right` of a template."""
    if isinstance(left, int) and isinstance(right, int):
        check_bits(left.bit_length() * abs(right))
    return left**right


def modulo(left: Any, right: Any) -> Any:
    """Return `left % right` of a template."""
    if type(left) is int is type(right) and -_HUGE_NUMBER < left < _HUGE_NUMBER and 0 < right < _HUGE_NUMBER:
        return left % right
    if isinstance(left, str):
        return (made(left, LOST) if type(left) is str else left) % right
    weigh(left, right)
    return left % right


def quotient(left: Any, right: Any) -> Any:
    """Return `left // right` of a template."""
    weigh(left, right)
    return left // right


def minus(left: Any, right: Any) -> Any:
    """Return `left - right` of a template: of sets too, as the keys and items of dicts are."""
    return left - right if type(left) is int is type(right) else light(left) - light(right)
