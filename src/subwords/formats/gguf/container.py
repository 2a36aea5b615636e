"""The container: GGUF's metadata, a list of typed values by key. Tensors are not read."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError
from subwords.formats.json_node import shown

__all__ = ["BOOL", "FLOAT32", "INT8", "INT32", "MAGIC", "STRING", "UINT8", "UINT32", "Metadata", "read", "written"]

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32

# Types of values: the numbers of the format. Numbers have a code of the struct module, which NumPy shares.
UINT8, INT8, UINT32, INT32, FLOAT32, BOOL, STRING, _ARRAY = 0, 1, 4, 5, 6, 7, 8, 9
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_NAMES = {**dict.fromkeys((0, 1, 2, 3, 4, 5, 10, 11), "an integer"), 6: "a float", 12: "a float", 7: "a boolean"}
_INTEGERS = frozenset((0, 1, 2, 3, 4, 5, 10, 11))

_MOST_KEYS, _LONGEST_KEY = 1 << 16, (1 << 16) - 1
_MOST_STRINGS = 1 << 24

_Value = tuple[int, Any]  # the type and the value; for an array the type of its elements and a list or an array


class Metadata:
    """The values of the keys of a file; a method for each kind of value raises FormatError for another kind."""

    def __init__(self, values: dict[str, tuple[int, Any]], name: str) -> None:
        self._values = values
        self.name = name

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, expected: str, came: object) -> FormatError:
        """Return the error for an unexpected value."""
        return FormatError(f"{self.name}: {key}: expected {expected}, not {came}")

    def text(self, key: str) -> str | None:
        """Return a string, None if the key is absent."""
        kind, value = self._values.get(key, (STRING, None))
        if kind != STRING or isinstance(value, list):
            raise self.wrong(key, "a string", _shown_kind(kind, value))
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            raise self.wrong(key, "UTF-8", f"the byte {error.start}") from None

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean."""
        kind, value = self._values.get(key, (BOOL, int(default)))
        if kind != BOOL or isinstance(value, np.ndarray) or value not in (0, 1):
            raise self.wrong(key, "true or false", _shown_kind(kind, value))
        return bool(value)

    def index(self, key: str, size: int) -> int | None:
        """Return an id below `size`, None if the key is absent."""
        kind, value = self._values.get(key, (UINT32, None))
        if kind not in _INTEGERS or isinstance(value, np.ndarray):
            raise self.wrong(key, f"an id below {size}", _shown_kind(kind, value))
        if value is not None and not 0 <= value < size:
            raise self.wrong(key, f"an id below {size}", value)
        return None if value is None else int(value)

    def texts(self, key: str) -> list[str]:
        """Return an array of strings, which must exist."""
        kind, value = self._required(key, "an array of strings")
        if kind != STRING or not isinstance(value, list):
            raise self.wrong(key, "an array of strings", _shown_kind(kind, value))
        try:
            return [text.decode() for text in value]
        except UnicodeDecodeError:
            wrong = next(i for i, text in enumerate(value) if text != text.decode("utf-8", "replace").encode())
            raise self.wrong(key, "UTF-8", f"{value[wrong]!r:.60} at index {wrong}") from None

    def numbers(self, key: str, kinds: Sequence[int], length: int | None = None) -> NDArray[Any]:
        """Return an array of numbers of one of these types, with at least `length` elements; it must exist."""
        kind, value = self._required(key, "an array of numbers")
        if kind not in kinds or not isinstance(value, np.ndarray):
            expected = f"an array of type {' or '.join(map(str, kinds))}"
            raise self.wrong(key, expected, _shown_kind(kind, value))
        if length is not None and len(value) < length:
            raise self.wrong(key, f"a value for each of {length} tokens", len(value))
        return value[:length]

    def _required(self, key: str, expected: str) -> _Value:
        if key not in self._values:
            raise FormatError(f"{self.name}: {key} is missing; expected {expected}")
        return self._values[key]


def _shown_kind(kind: int, value: object) -> str:
    if isinstance(value, (list, np.ndarray)):
        return f"an array of {len(value)} values of type {kind}"
    return f"the string {shown(value.decode('utf-8', 'replace'))}" if isinstance(value, bytes) else f"{value}"


def read(stream: BinaryIO, name: str, wanted: Callable[[str], bool]) -> Metadata:
    """Return the values whose keys are `wanted`; the others are skipped, and nothing after the metadata is read.

    stream: open at its start, of a known size. Raises FormatError that names the key for lengths and counts that the
    file has no room for.

    Source: the GGUF specification of ggml, versions 2 and 3.
    """
    reader = _Reader(stream, name)
    if reader.take(4) != MAGIC:
        raise FormatError(f"{name}: expected a GGUF file, which begins with {MAGIC!r}")
    version = reader.number("I")
    if version not in _VERSIONS:
        if version & 0xFFFF == 0:
            raise FormatError(f"{name}: expected little-endian GGUF; this file is big-endian: convert it")
        raise FormatError(f"{name}: expected GGUF version 2 or 3, not {version}")
    reader.number("Q")  # tensors
    count = reader.number("Q")
    if count > _MOST_KEYS:
        raise FormatError(f"{name}: expected at most {_MOST_KEYS} keys, not {count}")
    values: dict[str, _Value] = {}
    seen: set[bytes] = set()
    for i in range(count):
        reader.place = f"key {i}"
        raw = reader.string(_LONGEST_KEY)
        key = raw.decode("utf-8", "replace")
        reader.place = shown(key)
        if raw in seen:
            raise FormatError(f"{name}: expected distinct keys; {shown(key)} occurs twice")
        seen.add(raw)
        value = reader.value(wanted(key))
        if value is not None:
            values[key] = value
    return Metadata(values, name)


class _Reader:
    """Reads a stream forward; `place` is the key that errors name."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._left = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        self._name = name
        self.place = "header"

    def wrong(self, message: str) -> FormatError:
        return FormatError(f"{self._name}: {self.place}: {message}")

    def _check(self, size: int) -> None:
        if size > self._left:
            raise self.wrong(f"truncated: expected {size} more bytes, not {self._left}")
        self._left -= size

    def take(self, size: int) -> bytes:
        self._check(size)
        data = self._stream.read(size)
        if len(data) != size:  # the file shrinks while it is read
            raise self.wrong(f"truncated: expected {size} more bytes, not {len(data)}")
        return data

    def skip(self, size: int) -> None:
        self._check(size)
        self._stream.seek(size, os.SEEK_CUR)

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code)))[0]

    def string(self, longest: int | None = None) -> bytes:
        size = self.number("Q")
        if longest is not None and size > longest:
            raise self.wrong(f"expected a key of at most {longest} bytes, not {size}")
        return self.take(size)

    def value(self, wanted: bool) -> _Value | None:
        """Return a value with its type, None if it is skipped."""
        kind = self.number("I")
        if kind == _ARRAY:
            return self._array(wanted)
        if kind == STRING:
            if wanted:
                return kind, self.string()
            self.skip(self.number("Q"))
        elif kind not in _CODES:
            raise self.wrong(f"expected a type of value from 0 to 12, not {kind}")
        elif wanted:
            return kind, self.number(_CODES[kind])
        else:
            self.skip(struct.calcsize(_CODES[kind]))
        return None

    def _array(self, wanted: bool) -> _Value | None:
        kind, count = self.number("I"), self.number("Q")
        if kind in _CODES:
            size = count * struct.calcsize(_CODES[kind])
            if wanted:
                return kind, np.frombuffer(self.take(size), f"<{_CODES[kind]}")
            self.skip(size)
            return None
        if kind != STRING:
            raise self.wrong(f"expected an array of numbers or strings, not of type {kind}")
        if count > _MOST_STRINGS or count * 8 > self._left:
            raise self.wrong(f"expected at most {min(_MOST_STRINGS, self._left // 8)} strings, not {count}")
        if wanted:
            return kind, [self.string() for _ in range(count)]
        for _ in range(count):
            self.skip(self.number("Q"))
        return None


def written(entries: Sequence[tuple[str, int, Any]]) -> bytes:
    """Return a GGUF 3 file without tensors; an entry is a key, a type and a value, or a list of values.

    >>> written([("a", BOOL, True)])[:8]
    b'GGUF\\x03\\x00\\x00\\x00'
    """
    parts = [MAGIC, struct.pack("<IQQ", 3, 0, len(entries))]
    for key, kind, value in entries:
        parts.append(_string(key))
        if isinstance(value, (list, np.ndarray)):
            parts.append(struct.pack("<IIQ", _ARRAY, kind, len(value)))
            if kind == STRING:
                parts += map(_string, value)
            else:
                parts.append(np.asarray(value).astype(f"<{_CODES[kind]}").tobytes())
        else:
            parts.append(struct.pack("<I", kind))
            parts.append(_string(value) if kind == STRING else struct.pack(f"<{_CODES[kind]}", value))
    size = sum(map(len, parts))
    return b"".join([*parts, bytes(-size % _ALIGNMENT)])  # tensor data would begin here


def _string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data
