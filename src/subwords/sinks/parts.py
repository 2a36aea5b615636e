"""What the writers of token formats share: raw numbers, NumPy headers, running totals kept on disk."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.sinks.layout import Sums
from subwords.support.atomic import atomic_write
from subwords.support.remote import is_remote

__all__ = ["Ends", "spool", "spooled_ends", "summed_write", "write_npy_header", "write_numbers"]

STEP = 1 << 20  # numbers in memory at once


def write_numbers(stream: IO[bytes], numbers: NDArray[Any], dtype: np.dtype[Any]) -> None:
    """Write numbers as raw bytes of a type."""
    stream.write(np.ascontiguousarray(numbers, dtype).data)


def write_npy_header(stream: IO[bytes], dtype: np.dtype[Any], count: int) -> None:
    """Write the header of a one-dimensional NumPy file; its length does not depend on the count."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(stream, header)


class _Summed(io.RawIOBase):
    """A stream that is only written to, and sums what is written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.state = stream, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.state.update(data)
        return self._stream.write(data)


@contextmanager
def summed_write(path: Path, sums: Sums) -> Iterator[IO[bytes]]:
    """Write a file from its first byte to its last, as `atomic_write`; at the end its checksum is in `sums`."""
    with atomic_write(path) as stream:
        summed: Any = _Summed(stream)
        yield summed
    sums[path] = summed.state.hexdigest()


class Ends:
    """The ends of documents in the ids of a file: as many as there are, in bounded memory."""

    def __init__(self, body: IO[bytes]) -> None:
        self._body = body
        self._last = 0
        self.documents = 0
        self.tokens = 0

    def append(self, tokens: int, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add this many ids, and the documents that end in them; return the number of ids of each of these."""
        ends = ends + self.tokens
        lengths = np.diff(ends, prepend=np.int64(self._last))
        write_numbers(self._body, ends, np.dtype("<i8"))
        self._last = int(ends[-1]) if len(ends) else self._last
        self.documents += len(ends)
        self.tokens += tokens
        return lengths

    def batches(self) -> Iterator[NDArray[np.int64]]:
        """Yield the ends, many at a time."""
        self._body.seek(0)
        while data := self._body.read(8 * STEP):
            yield np.frombuffer(data, "<i8")
        self._body.seek(0, 2)


@contextmanager
def spooled_ends(beside: Path) -> Iterator[Ends]:
    """Yield new `Ends`, kept in a temporary file in the folder of a file."""
    with spool(beside) as body:
        yield Ends(body)


def spool(beside: Path) -> AbstractContextManager[IO[bytes]]:
    """Open a temporary file in the folder of a file: the usual folder may be in memory. For a URL it is in that one.

    It has no name, so nothing is left of it when the process is killed.
    """
    try:
        return tempfile.TemporaryFile(dir=None if is_remote(beside) else beside.resolve().parent)
    except OSError as error:
        raise InputError(f"cannot write a file beside {beside}: {error.strerror}") from None
