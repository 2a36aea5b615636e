"""A temporary file of arrays, which several threads write and read."""

from __future__ import annotations

import tempfile
from threading import Lock
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from subwords.errors import CorpusError

__all__ = ["SpillFile"]


class SpillFile:
    """A file that is deleted with the object, even if the process is killed (not on Windows)."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="subwords-", buffering=0)  # noqa: SIM115
        self._lock, self._end = Lock(), 0

    def append(self, *arrays: NDArray[Any]) -> int:
        """Write arrays one after the other; return where the first one begins. CorpusError if the disk is full."""
        with self._lock:
            begin = self._end
            try:
                self._file.seek(begin)
                for array in arrays:
                    rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                    while rest:
                        rest = rest[self._file.write(rest) :]
            except OSError as error:
                folder = tempfile.gettempdir()
                raise CorpusError(
                    f"cannot write words that do not fit in memory to {folder}: {error.strerror}; free some space, or "
                    "set TMPDIR to another folder"
                ) from None
            self._end = self._file.tell()
            return begin

    def read(self, at: int, dtype: DTypeLike, count: int) -> NDArray[Any]:
        """Return the array that begins at this byte."""
        found = np.empty(count, dtype)
        rest = found.view(np.uint8).data
        with self._lock:
            self._file.seek(at)
            while rest:
                size = self._file.readinto(rest)  # type: ignore[attr-defined]
                if not size:
                    raise CorpusError("a temporary file of words is shorter than what was written to it")
                rest = rest[size:]
        return found

    def __enter__(self) -> SpillFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
