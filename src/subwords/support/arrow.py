"""Arrow's C interface: arrays of other libraries are read, and lists of ids handed over, without a Python object each.

Source: "The Arrow C data interface" and "The Arrow PyCapsule Interface", arrow.apache.org.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.support.errors import InputError

# The formats of integers.
NUMBERS = dict(zip((b"c", b"C", b"s", b"S", b"i", b"I", b"l", b"L"), "bBhHiIqQ", strict=True))
MOST_BYTES = 1 << 62  # bytes of a buffer of unknown size
LISTS = {b"+l": "int32", b"+L": "int64"}  # the formats of lists, and the type of their offsets


class ArrowSchema(ctypes.Structure):
    """The type of an array."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private")),
    )


class ArrowArray(ctypes.Structure):
    """An array."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private")),
    )


Structure = TypeVar("Structure", ArrowSchema, ArrowArray)

_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    _fields_ = (
        *(("get_schema", _GET), ("get_next", _GET)),
        *((name, ctypes.c_void_p) for name in ("get_last_error", "release", "private")),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Reading.


@contextmanager
def arrow_arrays(column: Any) -> Iterator[tuple[ArrowSchema, list[ArrowArray]]]:
    """Give the type and the arrays of a column, as long as the context lasts; InputError if it cannot be read."""
    arrays, schema = list[ArrowArray](), ArrowSchema()
    if hasattr(column, "__arrow_c_array__"):
        # The capsules release what is in them, after the context.
        schema_capsule, array_capsule = column.__arrow_c_array__()
        found = ArrowArray.from_address(_address(array_capsule, b"arrow_array"))
        yield ArrowSchema.from_address(_address(schema_capsule, b"arrow_schema")), [found]
        return
    capsule = column.__arrow_c_stream__()
    stream = _Stream.from_address(_address(capsule, b"arrow_array_stream"))
    try:
        _check_code(stream.get_schema(ctypes.addressof(stream), ctypes.addressof(schema)))
        while True:
            array = ArrowArray()
            _check_code(stream.get_next(ctypes.addressof(stream), ctypes.addressof(array)))
            if not array.release:
                break
            arrays.append(array)
        yield schema, arrays
    finally:
        for one in (*arrays, schema):
            if one.release:
                _RELEASE(one.release)(ctypes.addressof(one))


def _address(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address: int = get(capsule, name)
    return address


def _check_code(code: int) -> None:
    if code:
        raise InputError(f"expected an Arrow array that can be read; its stream failed with error {code}")


def check_valid(array: ArrowArray, first: int, count: int, done: int, what: str = "text") -> None:
    """Raise InputError for a missing value; `done` of them were before the array. what: the values of the column."""
    validity = array.buffers[0]
    if validity and array.null_count:
        bits = np.frombuffer(ctypes.string_at(validity, (first + count + 7) // 8), np.uint8)
        valid = np.unpackbits(bits, bitorder="little")[first : first + count]
        if not valid.all():
            expected = "a string" if what == "text" else "ids"
            place = done + int(valid.argmin())
            raise InputError(f"{what} {place}: expected {expected}, not null: drop or fill nulls first")


Sizes = dict[int, int]  # the bytes of buffers by their addresses, as far as they are known


def sizes_of(column: Any, *, numbered: bool = False) -> Sizes:
    """Return the sizes of the buffers of PyArrow's arrays, which the interface leaves out. numbered: dictionaries."""
    kind = type(column)
    if not kind.__module__.startswith("pyarrow"):
        return {}
    arrays = column.chunks if kind.__name__ == "ChunkedArray" else [column]
    if numbered:
        arrays = [*arrays, *(array.dictionary for array in arrays)]
    buffers = (each for array in arrays for each in getattr(array, "buffers", list)() if each is not None)
    return {each.address: each.size for each in buffers}


def copied(at: int | None, first: int, count: int, width: np.dtype[Any], sizes: Sizes) -> NDArray[np.int64]:
    """Return a private copy of integers of a buffer as int64, from the first on; InputError if it is too short."""
    if at is None or first < 0 or (first + count) * width.itemsize > sizes.get(at, MOST_BYTES):
        raise InputError(f"damaged Arrow array: a buffer is too short for {first + count} values")
    found: NDArray[Any] = np.frombuffer(ctypes.string_at(at + first * width.itemsize, count * width.itemsize), width)
    return found.astype(np.int64)


def copied_spans(
    at: int | None, first: int, count: int, width: np.dtype[Any], sizes: Sizes, held: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each of `count` values begins, and its size; InputError unless they are in the buffer `held`.

    Offsets are checked after they are copied, because another thread may write into the buffer of offsets meanwhile.
    """
    found = copied(at, first, count + 1, width, sizes)
    lengths = found[1:] - found[:-1]
    if found[0] < 0 or lengths.min() < 0 or found[-1] > sizes.get(held or 0, MOST_BYTES):
        raise InputError("damaged Arrow array: a value ends before it begins, or outside its buffer")
    return found[:-1], lengths


def read_lists(column: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the ids of a column of lists of integers, joined, and their offsets.

    Raises InputError for another type, a missing list or id, and an id that is not of uint32.
    """
    parts, lengths, done, sizes = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)], 0, sizes_of(column)
    with arrow_arrays(column) as (schema, arrays):
        kind = bytes(schema.format or b"")
        inside = only_child(schema) if kind in LISTS else None
        value = bytes(inside.format or b"") if inside is not None else b""
        if value not in NUMBERS:
            found = f"{'lists' if inside is not None else 'values'} of the type that Arrow writes {(value or kind)!r}"
            raise InputError(f"expected a column of lists of ids, not {found}")
        for array in arrays:
            first, rows = int(array.offset), int(array.length)
            if not rows:
                continue
            check_valid(array, first, rows, done, "list")
            width: np.dtype[Any] = np.dtype(LISTS[kind])
            begins, row_sizes = copied_spans(array.buffers[1], first, rows, width, sizes)
            held, number = only_child(array), np.dtype(NUMBERS[value])
            begin, size = int(held.offset + begins[0]), int(begins[-1] + row_sizes[-1] - begins[0])
            if size:
                check_valid(held, begin, size, 0, "list value")
                parts.append(copied(held.buffers[1], begin, size, number, sizes))
            lengths.append(row_sizes)
            done += rows
    ids = np.concatenate(parts)
    if len(ids) and not (int(ids.min()) >= 0 and int(ids.max()) < 1 << 32):
        raise InputError(f"expected ids from 0 to {2**32 - 1}, not {int(ids.min())} to {int(ids.max())}")
    return ids.astype(np.uint32), np.cumsum(np.concatenate(lengths))


def only_child(thing: Structure) -> Structure:
    """Return the only child of a schema or an array."""
    return type(thing).from_address(ctypes.c_void_p.from_address(thing.children).value or 0)


# ---------------------------------------------------------------------------------------------------------------------
# Handing over: a list array whose buffers are those of the NumPy arrays, which stay until the reader releases it.

_KEPT: dict[int, tuple[object, ...]] = {}  # what a structure points to, by the number in its `private`
_MADE: dict[int, Any] = {}  # the structures in capsules, by their addresses
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_NULLABLE = 2
_NUMBERS = count(1)


def kept_structures() -> int:
    """Return how many structures were handed over and are not released yet."""
    return len(_KEPT)


def _drop(thing: Any) -> None:
    """Release a structure, wherever its reader moved it, and the children that nobody moved."""
    for number in range(thing.n_children):
        child = type(thing).from_address(ctypes.c_void_p.from_address(thing.children + _POINTER * number).value or 0)
        if child.release:
            _drop(child)
    thing.release = None
    _KEPT.pop(thing.private, None)


# What readers call with the address to which they moved a structure.
_RELEASES = {kind: _RELEASE(lambda at, kind=kind: _drop(kind.from_address(at))) for kind in (ArrowSchema, ArrowArray)}


def _keep(thing: Any, *held: object) -> None:
    """Set what releases a structure, and keep what it points to until then."""
    thing.private = number = next(_NUMBERS)
    thing.release = ctypes.cast(_RELEASES[type(thing)], ctypes.c_void_p).value
    _KEPT[number] = held


def _schema(kind: bytes, name: bytes, children: Sequence[ArrowSchema] = ()) -> ArrowSchema:
    pointers = (ctypes.c_void_p * len(children))(*map(ctypes.addressof, children))
    made = ArrowSchema(format=kind, name=name, flags=_NULLABLE, n_children=len(children))
    made.children = ctypes.addressof(pointers) if children else None
    _keep(made, pointers, children, kind, name)
    return made


def _array(length: int, values: NDArray[Any], children: Sequence[ArrowArray] = ()) -> ArrowArray:
    pointers = (ctypes.c_void_p * len(children))(*map(ctypes.addressof, children))
    buffers = (ctypes.c_void_p * 2)(None, values.ctypes.data)
    made = ArrowArray(length=length, n_buffers=2, n_children=len(children))
    made.buffers = ctypes.cast(buffers, ctypes.POINTER(ctypes.c_void_p))
    made.children = ctypes.addressof(pointers) if children else None
    _keep(made, pointers, children, buffers, values)
    return made


def lists_capsules(ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> tuple[object, object]:
    """Return the two capsules of a large list array of uint32, as `__arrow_c_array__` does."""
    ids, offsets = np.ascontiguousarray(ids, np.uint32), np.ascontiguousarray(offsets, np.int64)
    schema = _schema(b"+L", b"", [_schema(b"I", b"item")])
    array = _array(len(offsets) - 1, offsets, [_array(len(ids), ids)])
    return _capsule(schema, b"arrow_schema"), _capsule(array, b"arrow_array")


# Names of capsules have to outlive them.
_NAMES = {name: ctypes.create_string_buffer(name) for name in (b"arrow_schema", b"arrow_array")}


def _capsule(thing: Any, name: bytes) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    address = ctypes.addressof(thing)
    _MADE[address] = thing
    destroy = ctypes.cast(_DESTROYS[name], ctypes.c_void_p)
    return new(address, ctypes.addressof(_NAMES[name]), destroy)


_POINTER_OF = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _destroyed(capsule: int, name: bytes) -> None:
    """Release what nobody took out of a capsule, and forget the structure."""
    thing = _MADE.pop(_POINTER_OF(capsule, ctypes.addressof(_NAMES[name])), None)
    if thing is not None and thing.release:
        _drop(thing)


_DESTROYS = {name: _DESTROY(lambda capsule, name=name: _destroyed(capsule, name)) for name in _NAMES}
