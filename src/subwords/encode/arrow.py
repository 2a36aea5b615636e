"""Arrow arrays of strings, read through Arrow's C interface, without a Python object for each text.

Source: "The Arrow C data interface" and "The Arrow PyCapsule Interface", arrow.apache.org.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.encode.batch import Places
from subwords.errors import InputError

__all__ = ["arrow_places", "texts_of"]

VIEWS = b"vu"
KINDS = {b"u": "int32", b"U": "int64", VIEWS: ""}  # the formats of strings, and the type of their offsets
# The formats of the numbers of a dictionary's values.
NUMBERS = dict(zip((b"c", b"C", b"s", b"S", b"i", b"I", b"l", b"L"), "bBhHiIqQ", strict=True))
VIEW, MOST_INSIDE = 16, 12  # bytes of a view, and of a string that is inside it

Found = tuple[NDArray[np.int64], NDArray[np.int64]]


class _Schema(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private")),
    )


class _Array(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private")),
    )


_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    _fields_ = (
        *(("get_schema", _GET), ("get_next", _GET)),
        *((name, ctypes.c_void_p) for name in ("get_last_error", "release", "private")),
    )


@contextmanager
def arrow_places(texts: Any) -> Iterator[Places]:
    """Give where the texts of an array are, as long as the context lasts.

    Raises InputError, with the index, for a missing text, and for other types than strings and dictionaries of them.
    """
    arrays: list[_Array] = []
    try:
        if hasattr(texts, "__arrow_c_array__"):
            schema_capsule, array_capsule = owners = texts.__arrow_c_array__()
            schema = _Schema.from_address(_pointer(schema_capsule, b"arrow_schema"))
            found = [_places(schema, _Array.from_address(_pointer(array_capsule, b"arrow_array")), 0)]
        else:
            owners = texts.__arrow_c_stream__()
            found = _from_stream(_Stream.from_address(_pointer(owners, b"arrow_array_stream")), arrays)
        addresses, lengths = (np.concatenate([np.empty(0, np.int64), *part]) for part in zip(*found, strict=True))
        yield Places(addresses, lengths, (texts, owners))
    finally:
        for array in arrays:
            _release(array)


def texts_of(places: Places) -> list[bytes]:
    """Return the texts as objects."""
    return list(map(ctypes.string_at, places.addresses.tolist(), places.lengths.tolist()))


def _pointer(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address: int = get(capsule, name)
    return address


def _release(thing: Any) -> None:
    if thing.release:
        _RELEASE(thing.release)(ctypes.addressof(thing))


def _from_stream(stream: _Stream, arrays: list[_Array]) -> list[Found]:
    """Return the addresses and lengths of the texts of each array of a stream; `arrays` gets what is to be released."""
    schema = _Schema()
    _check(stream.get_schema(ctypes.addressof(stream), ctypes.addressof(schema)))
    try:
        found, done = [_places(schema, _Array(), 0)], 0  # the type is checked even if there is no array
        while True:
            array = _Array()
            _check(stream.get_next(ctypes.addressof(stream), ctypes.addressof(array)))
            if not array.release:
                return found
            arrays.append(array)
            found.append(_places(schema, array, done))
            done += array.length
    finally:
        _release(schema)


def _check(code: int) -> None:
    if code:
        raise InputError(f"expected an Arrow array that can be read; its stream failed with error {code}")


def _places(schema: _Schema, array: _Array, done: int) -> Found:
    """Return the addresses and lengths of an array's texts; `done` texts were before it."""
    kind = bytes(schema.format or b"")
    if schema.dictionary:
        return _chosen(schema, array, done, kind)
    if kind not in KINDS:
        if kind == b"+s":
            raise InputError('expected a column of texts, not a table: pass one column of it, such as table["text"]')
        raise InputError(f"expected a column of texts (str), not of the type that Arrow writes {kind.decode()!r}")
    first, count = int(array.offset), int(array.length)
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    _check_valid(array, first, count, done)
    if kind == VIEWS:
        return _viewed(array, first, count)
    width: np.dtype[Any] = np.dtype(KINDS[kind])
    offsets = _copied((array.buffers[1] or 0) + first * width.itemsize, count + 1, width)
    return (array.buffers[2] or 0) + offsets[:-1], np.diff(offsets)


def _chosen(schema: _Schema, array: _Array, done: int, kind: bytes) -> Found:
    """Return the places of texts that are numbers of values, as in a pandas category."""
    held = _Array.from_address(array.dictionary) if array.dictionary else _Array()
    addresses, lengths = _places(_Schema.from_address(schema.dictionary), held, 0)
    first, count = int(array.offset), int(array.length)
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    _check_valid(array, first, count, done)
    width: np.dtype[Any] = np.dtype(NUMBERS[kind])
    numbers = _copied((array.buffers[1] or 0) + first * width.itemsize, count, width)
    return addresses[numbers], lengths[numbers]


def _check_valid(array: _Array, first: int, count: int, done: int) -> None:
    """Raise InputError for a missing text."""
    validity = array.buffers[0]
    if validity and array.null_count:
        bits = np.frombuffer(ctypes.string_at(validity, (first + count + 7) // 8), np.uint8)
        valid = np.unpackbits(bits, bitorder="little")[first : first + count]
        if not valid.all():
            raise InputError(
                f"text {done + int(valid.argmin())}: expected a string, not null: drop or fill nulls first"
            )


def _viewed(array: _Array, first: int, count: int) -> Found:
    """Return the places of strings described by 16 bytes each: their length, then themselves or their place."""
    at = (array.buffers[1] or 0) + VIEW * first
    views = _copied(at, 4 * count, np.dtype(np.int32)).reshape(count, 4)
    lengths, buffers = views[:, 0], [array.buffers[k] or 0 for k in range(2, array.n_buffers - 1)]
    inside = lengths <= MOST_INSIDE
    held = np.array([*buffers, 0], np.int64)[np.where(inside, -1, views[:, 2])] + views[:, 3]
    return np.where(inside, at + 4 + VIEW * np.arange(count), held), np.ascontiguousarray(lengths)


def _copied(address: int, count: int, width: np.dtype[Any]) -> NDArray[np.int64]:
    found: NDArray[Any] = np.frombuffer(ctypes.string_at(address, count * width.itemsize), width)
    return found.astype(np.int64)
