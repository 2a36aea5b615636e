"""Limits of templates (H5): what an operation may reach or make, and what a rendering may take.

No operation of a template is interrupted while it runs. So whatever is longer than a moment is weighed before it runs,
and counted: where the count has grown by enough, the clock and the memory are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from operator import index
from threading import local
from time import thread_time
from types import MethodType
from typing import Any, SupportsIndex

from jinja2 import Undefined
from jinja2.runtime import LoopContext, Macro
from jinja2.utils import Cycler, Namespace

from subwords.support.memory import in_use

MOST_TEXT = 1 << 26  # characters of any string that a template makes
MOST_WORK = 1 << 32  # characters of all that a rendering makes and reaches, about a second
MOST_SECONDS = 20  # of the processor
MOST_MEMORY = 1 << 30  # bytes that the process grows by in a rendering
LARGE_STRING = 1 << 12  # characters of a string that counts
NODE = 64  # characters that an element of a list or dict counts as
FIELD = 256  # characters that a field of a format counts as
MOST_PARTS = 1 << 19  # of a text
MOST_WIDTH = 100_000  # that text is padded or indented to
MOST_BITS = 4096  # of integers
_LOOK = 1 << 24  # characters between two looks at the clock
_MOMENT = 0.25  # seconds between two looks at the memory
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\d{6}|\*)|\{[^}]*\d{6}|\{[^}]*\{")  # in a format: 100,000 or unknown
_FIELD, _DIGITS = re.compile(r"%[^a-zA-Z%]*|\{[^}]*"), re.compile(r"\d+")
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_SEARCHING = frozenset({"strip", "lstrip", "rstrip", "trim", "rfind", "rindex", "rsplit", "rpartition"})
_LIGHT = frozenset({int, bool, float, type(None), Macro, Undefined})
_MADE = frozenset({list, tuple, dict})
_LOOP = ("_iterable", "_current", "_before", "_after", "_last_changed_value")


class LimitError(ValueError):
    """A template that makes too much or runs too long."""


class Weighed(dict[Any, Any]):
    """A dict of the caller's: neither it nor what is in it changes, and nothing in it is shared.

    Where it is met for the first time, it weighs nothing: all of them are as long as what the caller gave. Then it is
    weighed once.
    """

    __slots__ = ("_weight",)
    _weight: int


# ---------------------------------------------------------------------------------------------------------------------
# What a rendering takes.


class _Work(local):
    left = look = MOST_WORK  # what may still be made; where `left` is when the clock is looked at
    until = seen = inf  # seconds of the processor: when it must end, and when the memory was looked at
    memory: int | None = None  # of the process at the first look
    shared = False


_work = _Work()


def begin_work() -> None:
    """Begin to count what a rendering takes: each operation may be short enough, and all of them too much."""
    if _work.shared:
        look()
        return
    now = thread_time()
    _work.left, _work.look, _work.until = MOST_WORK, MOST_WORK - _LOOK, now + MOST_SECONDS
    _work.seen, _work.memory = now, None


@contextmanager
def one_budget() -> Iterator[None]:
    """Count all renderings within as one."""
    begin_work()
    _work.shared = True
    try:
        yield
    finally:
        _work.shared = False


def spend(size: int) -> None:
    """Count what is made or reached; LimitError if all of it is too much."""
    _work.left -= size
    if _work.left < _work.look:
        look()


def look() -> None:
    """Raise LimitError if a rendering has taken too much."""
    _work.look = _work.left - _LOOK
    if _work.left < 0:
        raise LimitError(f"it makes or reads more than {MOST_WORK:,} characters in all")
    now = thread_time()
    if now > _work.until:
        raise LimitError(f"it takes more than {MOST_SECONDS} seconds")
    if now > _work.seen + _MOMENT:
        _work.seen, memory = now, in_use()
        _work.memory = memory if _work.memory is None else _work.memory
        if memory - _work.memory > MOST_MEMORY:
            raise LimitError(f"the process grows by {memory - _work.memory:,} bytes meanwhile")


# ---------------------------------------------------------------------------------------------------------------------
# The weight of a value: the characters and elements that an operation may reach in it.


def limit(size: int) -> None:
    """Raise LimitError for what is too large."""
    if size > MOST_TEXT:
        raise LimitError(f"it makes {size:,} characters, more than {MOST_TEXT:,}; an element counts as {NODE}")


def weigh(*values: object) -> int:
    """Return how many characters some values have, an element counted as NODE of them; LimitError for too many.

    What is shared counts wherever it is: to compare, hash, sort or print lists, Python goes through it each time.
    """
    room = MOST_TEXT
    for value in values:
        room = room - len(value) if isinstance(value, str) else _left(value, room)
    weight = MOST_TEXT - room
    if weight > LARGE_STRING:
        limit(weight)
        spend(weight)
    return weight


def _left(value: Any, room: int, *, again: bool = False) -> int:
    """Return what a value leaves of some room; again: it is met again, and so is all that is in it."""
    kind = type(value)
    if isinstance(value, str):
        room -= len(value)
    elif kind in _LIGHT:
        if kind is int:
            check_bits(value.bit_length())
    elif isinstance(value, Weighed):
        if not again and not hasattr(value, "_weight"):
            value._weight = 0
            return room - NODE
        if not getattr(value, "_weight", 0):
            value._weight = MOST_TEXT - _left({**value}, MOST_TEXT, again=True)
        room -= value._weight
    else:
        parts = value if kind is list or kind is tuple else _parts(value)
        room -= NODE * (1 + len(parts))
        for each in () if type(parts) is range else parts:
            if room < 0:
                break
            room = room - len(each) if isinstance(each, str) else _left(each, room, again=again)
    if room < 0:
        limit(MOST_TEXT - room)
    return room


def _parts(value: Any) -> Collection[Any]:
    """Return what an operation on a value may reach."""
    if isinstance(value, Mapping):
        return (*value, *value.values())
    if isinstance(value, Namespace):
        return (value._Namespace__attrs,)
    if isinstance(value, Cycler):
        return value.items
    if isinstance(value, LoopContext):
        return [getattr(value, name) for name in _LOOP]
    if isinstance(value, MethodType):
        return (value.__self__,)
    return value if isinstance(value, Collection) else ()


def is_light(value: object) -> bool:
    """Whether an operation on a value takes no longer than a call of `weigh`."""
    return len(value) <= LARGE_STRING if isinstance(value, str) else type(value) in _LIGHT


def light(value: Any) -> Any:
    """Return a value that is compared or hashed, weighed; what the caller gave shares no parts."""
    short = isinstance(value, str) and len(value) <= LARGE_STRING
    if not (short or type(value) in _LIGHT or isinstance(value, Weighed)):
        weigh(value)
    return value


def searched(value: Any, items: Any) -> bool:
    """Return `value in items` of a template."""
    if isinstance(items, dict) and isinstance(value, str) and len(value) <= LARGE_STRING:
        spend(NODE)  # one look-up: nobody can choose the hashes of texts
    elif not is_light(value):
        weigh(value, () if isinstance(items, dict) else items)
    elif type(items) in _MADE or isinstance(items, Weighed):
        spend(NODE * len(items))
    elif not is_light(items):
        weigh(items)
    return value in items


def sliced(value: Any) -> Any:
    """Return a value that is copied, but for what is in it."""
    if isinstance(value, list | tuple | range):
        spend(len(value))
    return value


def counted_items(items: Iterable[Any], *, deep: bool = True) -> Iterator[Any]:
    """Yield the items of an iterator, weighed: of one that makes them as it goes, nothing else tells the size.

    deep: what is in them too, for what goes through all of it; else only what is made with them.
    """
    room = unspent = MOST_TEXT
    for number, item in enumerate(items, 1):
        if deep:
            room = _left(item, room)
        elif isinstance(item, str) or type(item) in _MADE:
            room -= len(item) if isinstance(item, str) else NODE * len(item)
            if room < 0:
                limit(MOST_TEXT - room)
        if not number & 63:
            room -= 64 * NODE
            spend(unspent - room)
            unspent = room
            look()  # whatever it took to make them
        yield item


# ---------------------------------------------------------------------------------------------------------------------
# What is made of values.


def check_bits(bits: int) -> None:
    """Raise LimitError for the bits of an integer."""
    if bits > MOST_BITS:
        raise LimitError(f"it makes an integer of {bits:,} bits, more than {MOST_BITS:,}")


def check_width(width: SupportsIndex) -> int:
    """Return a width of a template; LimitError if it is too large."""
    if (number := index(width)) > MOST_WIDTH:
        raise LimitError(f"it asks for a width of {number:,}, more than {MOST_WIDTH:,}")
    return number


def check_replaced(text: str, old: str, new: str, most: int) -> int:
    """Return how often text is replaced, at most `most` times unless that is negative; LimitError for too much."""
    str.replace("", old, new)  # raises TypeError for what is no string
    found = str.count(text, old)
    times = found if most < 0 else min(found, most)
    limit(len(text) + times * max(0, len(new) - len(old)))
    return times


def check_longer(text: str, name: str, *args: Any) -> None:
    """Raise LimitError for a method that pads text, expands its tabs or translates it to too much."""
    if name == "translate" and args:
        table = args[0]
        entries = table.values() if isinstance(table, Mapping) else table if isinstance(table, list | tuple) else ()
        limit(len(text) * max((len(entry) for entry in entries if isinstance(entry, str)), default=1))
    elif args:
        limit(len(text) + str.count(text, "\t") * check_width(args[0]))


def check_format(text: str, *values: object) -> None:
    """Raise LimitError for a format that may make much text: its fields take all values, and all widths."""
    if _WIDE.search(text.replace("{{", "")):
        raise LimitError(f"a format asks for {MOST_WIDTH:,} characters or more, or for a width that is a value")
    size = len(text) + (str.count(text, "{") + str.count(text, "%")) * (FIELD + weigh(*values))
    limit(size)
    limit(size + sum(int(digits) for field in _FIELD.findall(text) for digits in _DIGITS.findall(field)))


def check_method(text: str, name: str, argument: object) -> None:
    """Raise LimitError for a method of a text that takes or makes too much."""
    if name in _SEARCHING and isinstance(argument, str):  # for each character, or place, all of the argument
        spend(len(text) * len(argument) >> 4)
    if len(text) > MOST_PARTS and name in ("split", "rsplit"):
        separator = argument if isinstance(argument, str) else None
        if len(str.split(text, separator, MOST_PARTS)) > MOST_PARTS:
            raise LimitError(f"it makes more than {MOST_PARTS:,} parts of a text")
    if len(text) > MOST_PARTS and name == "splitlines" and sum(map(text.count, _LINE_ENDS)) > MOST_PARTS:
        raise LimitError(f"it makes more than {MOST_PARTS:,} parts of a text")
