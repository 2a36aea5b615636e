"""Values: objects with equality by content, arrays included, and pickles without cached properties."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

LATER = {"later": True}  # metadata of a field that came later: None leaves a digest as it was without the field


class Value:
    """Base of frozen dataclasses with arrays: equality and hash by content, pickles without cached properties.

    Two values are equal if they have the same type and the same `digest`.
    """

    def __getstate__(self) -> dict[str, Any]:
        cached = {name for kind in type(self).__mro__ for name, at in vars(kind).items() if _is_cached(at)}
        return {name: value for name, value in vars(self).items() if name not in cached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles lose the read-only flag of arrays.
        self.__dict__.update({name: _locked(value) for name, value in state.items()})

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content in hexadecimal, the same in every process and on every machine."""
        return digest_of(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Value):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def _is_cached(attribute: object) -> bool:
    return isinstance(attribute, cached_property)


def _locked(value: Any) -> Any:
    return read_only(value) if isinstance(value, np.ndarray) else value


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array.

    >>> import numpy as np
    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def unshared(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that other code of this process cannot write into: itself if its memory is read-only, or a copy.

    Kernels trust what was checked before: an array that changes after its check ends the process. `frozen` copies none.
    """
    view = array.view()
    try:
        view.flags.writeable = True
    except ValueError:
        if view.flags.c_contiguous:  # as kernels take it for granted
            return view
    return np.frombuffer(array.tobytes(), array.dtype)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same memory as read-only for good; the caller forgets the given one."""
    return np.asarray(memoryview(array.data).toreadonly())


def digest_of(value: object) -> str:
    """Return the SHA-256, in hexadecimal, of dataclasses, tuples, frozensets, arrays and plain values.

    Fields with `compare=False` are ignored. TypeError for other types.

    >>> digest_of((1, "a")) == digest_of((1, "a")), digest_of((1, "a")) == digest_of((1, b"a"))
    (True, False)
    """
    found = hashlib.sha256()
    for part in _typed_content(value):
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def _typed_content(value: Any) -> Iterator[bytes | memoryview]:
    """Yield the content of a value with types and lengths, so that different values yield different parts."""
    yield type(value).__name__.encode()
    match value:
        case None | bool() | int() | float():
            yield repr(value).encode()
        case str():
            yield value.encode("utf-8", "surrogatepass")
        case bytes():
            yield value
        case np.ndarray():
            yield f"{value.dtype.str} {value.shape}".encode()
            yield np.ascontiguousarray(value).tobytes()
        case range():
            yield repr(value).encode()
        case tuple():
            yield str(len(value)).encode()
            for item in value:
                yield from _typed_content(item)
        case frozenset():
            yield str(len(value)).encode()
            for item in sorted(value):
                yield from _typed_content(item)
        case Value() if not is_dataclass(value):
            for part in value.__reduce__()[1]:
                yield from _typed_content(part)
        case _ if is_dataclass(value):
            for field in fields(value):
                if field.compare and not (
                    LATER.items() <= field.metadata.items() and getattr(value, field.name) is None
                ):
                    yield from _typed_content(getattr(value, field.name))
        case _:
            raise TypeError(f"expected a plain value to digest, not {type(value).__name__}")
