"""JSON read with care: every value knows its file and its path, and says so when it is not what was expected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from subwords.errors import FormatError

__all__ = ["Node", "parse", "shown"]

_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a JSON document: `file` ("": none) and `path` say where it stands; an absent one is None.

    depth: how many arrays it is in, counted by `items`.
    """

    file: str
    path: str
    value: Any
    depth: int = 0

    @property
    def place(self) -> str:
        """Where the value stands, for messages."""
        return f"{self.file}: {self.path or 'top level'}" if self.file else self.path or "top level"

    def __getitem__(self, key: str) -> Node:
        return self.get(key)

    def get(self, key: str, default: Any = None) -> Node:
        """Return the value of a key of an object; `default` where it is absent."""
        path = f"{self.path}.{key}" if self.path else key
        return Node(self.file, path, self.object().get(key, default), self.depth)

    def items(self) -> Iterator[Node]:
        """Yield the items of an array."""
        for i, value in enumerate(self.array()):
            yield Node(self.file, f"{self.path}[{i}]", value, self.depth + 1)

    def wrong(self, expected: str, came: str | None = None) -> FormatError:
        """Return the error of a value that is not what was expected."""
        return FormatError(f"{self.place}: expected {expected}, not {came or shown(self.value)}")

    def unsupported(self, instead: str) -> FormatError:
        """Return the error of a component that is understood but not supported."""
        return FormatError(f"{self.place}: {self._kind()} is not supported; expected {instead}")

    def _kind(self) -> str:
        if not isinstance(self.value, dict) or "type" not in self.value:
            return shown(self.value)
        steps = [
            step.get("type")
            for part in self.value.values()
            if isinstance(part, list)
            for step in part
            if isinstance(step, dict)
        ]
        return shown(self.value["type"]) + (f" of {', '.join(map(shown, steps))}" if steps else "")

    def object(self) -> dict[str, Any]:
        """Return the value, an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def array(self) -> list[Any]:
        """Return the value, an array."""
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return self.value

    def string(self) -> str:
        """Return the value, a string that UTF-8 can hold."""
        if not isinstance(self.value, str):
            raise self.wrong("a string")
        if not is_unicode(self.value):
            raise self.wrong("a string without lone surrogates")
        return self.value

    def character(self) -> str:
        """Return the value, a string of one character."""
        if len(self.string()) != 1:
            raise self.wrong("one character")
        return self.string()

    def choice(self, choices: Sequence[str]) -> str:
        """Return the value, one of some strings."""
        if not isinstance(self.value, str) or self.value not in choices:
            raise self.wrong(f"one of {', '.join(choices)}")
        return self.value

    def boolean(self, default: bool | None = None) -> bool:
        """Return the value, true or false; where it is absent, the default if there is one."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self, largest: int) -> int:
        """Return the value, an integer from 0 to `largest`."""
        if type(self.value) is not int or not 0 <= self.value <= largest:
            raise self.wrong(f"an integer from 0 to {largest}")
        return self.value

    def verbatim(self) -> str:
        """Return the value as JSON text; FormatError if JSON cannot hold it."""
        try:
            text = json.dumps(self.value, ensure_ascii=False, allow_nan=False)
            text.encode()
        except (ValueError, RecursionError) as error:
            raise self.wrong("a value that JSON can hold", f"this: {error}") from None
        return text

    def distinct(self) -> dict[str, Any]:
        """Return the value, an object with no key twice."""
        if isinstance(self.value, _Twice):
            raise self.wrong("every key once", f"{shown(self.value.key)} twice")
        return self.object()


def parse(data: bytes, name: str) -> Node:
    """Return the top level of a JSON file, an object; anything else is a FormatError that says where it breaks off."""
    try:
        top = Node(name, "", json.loads(data.decode(), object_pairs_hook=_from_pairs))
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: expected JSON in UTF-8; byte {error.start} is none") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno} (character {error.pos})"
        raise FormatError(f"{name}: expected JSON; at {where}: {error.msg}") from None
    except RecursionError:
        raise FormatError(f"{name}: expected a tokenizer; its JSON is nested too deep for one") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise FormatError(f"{name}: expected JSON; {error}") from None
    top.object()
    return top


class _Twice(dict[str, Any]):
    """An object that was written with `key` twice."""

    key: str


def _from_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = _Twice(found)
    twice.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return twice


def shown(value: Any) -> str:
    """Return a JSON value as a message shows it: short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    try:
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    except (TypeError, ValueError):  # of a mapping that no JSON file was read into; or of too many digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}... ({len(text)} characters)"


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
