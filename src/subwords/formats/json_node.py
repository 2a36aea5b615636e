"""A JSON cursor: each value knows its file and path, and raises an error with its place if it is not as expected."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from subwords.support.errors import FormatError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST_SHOWN = 60
DEEPEST = 100  # sequences within each other


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a JSON document, None if absent. `file` ("" if there is none) and `path` are its place.

    depth: the number of arrays around it, counted by `items`.
    """

    file: str
    path: str
    value: Any
    depth: int = 0

    @property
    def place(self) -> str:
        """The place of the value, for messages."""
        return f"{self.file}: {self.path or 'top level'}" if self.file else self.path or "top level"

    def __getitem__(self, key: str) -> Node:
        return self.get(key)

    def get(self, key: str, default: Any = None) -> Node:
        """Return the value of a key of this object, or `default` if the key is absent."""
        path = f"{self.path}.{key}" if self.path else key
        return Node(self.file, path, self.object().get(key, default), self.depth)

    def items(self) -> Iterator[Node]:
        """Yield the elements of this array."""
        for i, value in enumerate(self.array()):
            yield Node(self.file, f"{self.path}[{i}]", value, self.depth + 1)

    def sequence(self, key: str) -> Iterator[Node]:
        """Yield the elements of the array `key` of this Sequence; FormatError if too many are within each other."""
        if self.depth >= DEEPEST:
            raise self.wrong(f"at most {DEEPEST} nested sequences", "one more")
        return self[key].items()

    def flat(self, key: str) -> Iterator[Node]:
        """Yield the elements of a Sequence and of those within it; other objects themselves."""
        if self["type"].value != "Sequence":
            yield self
            return
        for item in self.sequence(key):
            yield from item.flat(key)

    def wrong(self, expected: str, came: str | None = None) -> FormatError:
        """Return the error for an unexpected value."""
        return FormatError(f"{self.place}: expected {expected}, not {came or show_json(self.value)}")

    def unsupported(self, instead: str) -> FormatError:
        """Return the error for a valid component that is not supported."""
        return FormatError(f"{self.place}: {self._kind()} is not supported; expected {instead}")

    def _kind(self) -> str:
        if not isinstance(self.value, dict) or "type" not in self.value:
            return show_json(self.value)
        steps = [
            step.get("type")
            for part in self.value.values()
            if isinstance(part, list)
            for step in part
            if isinstance(step, dict)
        ]
        return show_json(self.value["type"]) + (f" of {', '.join(map(show_json, steps))}" if steps else "")

    def object(self) -> dict[str, Any]:
        """Return the value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def array(self) -> list[Any]:
        """Return the value, which must be an array."""
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return self.value

    def string(self) -> str:
        """Return the value, which must be a string without lone surrogates."""
        if not isinstance(self.value, str):
            raise self.wrong("a string")
        if not is_unicode(self.value):
            raise self.wrong("a string without lone surrogates")
        return self.value

    def character(self) -> str:
        """Return the value, which must be a string of one character."""
        if len(self.string()) != 1:
            raise self.wrong("one character")
        return self.string()

    def digest(self) -> str:
        """Return the value, which must be a SHA-256 in hexadecimal."""
        if not _DIGEST.fullmatch(self.string()):
            raise self.wrong("a SHA-256 in hexadecimal")
        return self.string()

    def choice(self, choices: Sequence[str]) -> str:
        """Return the value, which must be one of `choices`."""
        if not isinstance(self.value, str) or self.value not in choices:
            raise self.wrong(f"one of {', '.join(choices)}")
        return self.value

    def boolean(self, default: bool | None = None) -> bool:
        """Return the value, which must be true or false; the default, if given, replaces an absent value."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self, largest: int) -> int:
        """Return the value, which must be an integer from 0 to `largest`."""
        if type(self.value) is not int or not 0 <= self.value <= largest:
            raise self.wrong(f"an integer from 0 to {largest}")
        return self.value

    def verbatim(self) -> str:
        """Return the value as JSON text; FormatError if JSON cannot represent it."""
        try:
            text = json.dumps(self.value, ensure_ascii=False, allow_nan=False)
            text.encode()
        except (ValueError, RecursionError) as error:
            raise self.wrong("a value that JSON can represent", f"this: {error}") from None
        return text

    @property
    def twice(self) -> str:
        """The place and the key that this object has twice, for a warning; "" if there is none."""
        if not isinstance(self.value, _Twice):
            return ""
        return f"{self.place}: {show_json(self.value.key)} is there twice; the last one counts"

    def distinct(self) -> dict[str, Any]:
        """Return the value, which must be an object without duplicate keys."""
        if isinstance(self.value, _Twice):
            raise self.wrong("distinct keys", f"{show_json(self.value.key)} twice")
        return self.object()


def parse_json(data: bytes, name: str) -> Node:
    """Parse a JSON file whose top level is an object; FormatError with line and column otherwise."""
    try:
        top = Node(name, "", json.loads(data.decode(), object_pairs_hook=_from_pairs))
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: expected JSON in UTF-8; byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno} (character {error.pos})"
        raise FormatError(f"{name}: expected JSON; at {where}: {error.msg}") from None
    except RecursionError:
        raise FormatError(f"{name}: expected a tokenizer; the JSON is nested too deeply") from None
    except ValueError as error:  # a number with more digits than Python converts
        raise FormatError(f"{name}: expected JSON; {error}") from None
    top.object()
    return top


class _Twice(dict[str, Any]):
    """An object with a duplicate key, `key`."""

    key: str


def _from_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = _Twice(found)
    twice.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return twice


def show_json(value: Any) -> str:
    """Return a JSON value in short form, for messages."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    try:
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    except (TypeError, ValueError):  # a Python value that JSON lacks, or a number with too many digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}... ({len(text)} characters)"


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can encode a text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
