"""Read and write ids: NumPy files and raw ids, in bounded memory, with the offsets of texts."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from subwords.cli.console import open_output
from subwords.corpus.files import TextStream
from subwords.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NPY", "array_output", "line_batches", "offsets_output", "parse_ids", "read_offsets"]

NPY = b"\x93NUMPY"

_BATCH = 1 << 22  # bytes of text in memory at once
_COPY = 1 << 20
_LIST = re.compile(r"\s*(?:[A-Za-z][\w.]*\(\s*)?[\[(](?P<ids>[^\[\]()]*)[\])](?:,[^()]*)?\)?[\s,]*")
_PIECE = re.compile(r"[^\s,]+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")

Write = Callable[["NDArray[Any]"], None]


def line_batches(stream: TextStream) -> Iterator[list[bytes]]:
    """Yield the lines of a stream without line feeds, in batches of about _BATCH bytes."""
    held: list[bytes] = []  # the chunks of an incomplete line
    buffer = bytearray(_BATCH)
    while count := stream.fill(memoryview(buffer)):
        data = bytes(memoryview(buffer)[:count])
        end = data.rfind(b"\n")
        if end < 0:
            held.append(data)
            continue
        lines = b"".join([*held, data[:end]]).split(b"\n")
        held = [data[end + 1 :]] if end + 1 < count else []
        yield lines
    if held:
        yield [b"".join(held)]


@contextmanager
def array_output(path: Path | None, form: str, dtype: str) -> Iterator[Write]:
    """Open an output for ids: one-dimensional, little-endian; ids written are not kept in memory.

    The header of an npy holds the number of ids. A file's header is rewritten at the end; standard output and pipes
    get everything at the end, from a temporary file.
    """
    with open_output(path) as stream:
        if form == "bin":
            yield lambda ids: _write(stream, ids, dtype)
            return
        total = 0

        def write(ids: NDArray[Any]) -> None:
            nonlocal total
            total += len(ids)
            _write(body, ids, dtype)

        if path is not None and stream.seekable():
            body = stream
            _write_header(stream, dtype, 0)
            yield write
            stream.seek(0)
            _write_header(stream, dtype, total)
            return
        with tempfile.TemporaryFile() as body:
            yield write
            _copy_npy(body, stream, dtype, total)


@contextmanager
def offsets_output(path: Path | None) -> Iterator[Write]:
    """Open the NumPy file of offsets (the start of each text in the ids); write it the lengths of texts.

    The file is created when the block ends, so its errors cannot be confused with those of another output.
    """
    if path is None:
        yield lambda lengths: None
        return
    import numpy as np

    with tempfile.TemporaryFile() as body:
        last, total = 0, 1
        _write(body, np.zeros(1, np.int64), "int64")

        def write(lengths: NDArray[Any]) -> None:
            nonlocal last, total
            ends = np.cumsum(lengths, dtype=np.int64) + last
            last, total = int(ends[-1]) if len(ends) else last, total + len(ends)
            _write(body, ends, "int64")

        yield write
        with open_output(path) as stream:
            _copy_npy(body, stream, "int64", total)


def _write(stream: IO[bytes], array: NDArray[Any], dtype: str) -> None:
    import numpy as np

    stream.write(np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<")).data)


def _write_header(stream: IO[bytes], dtype: str, total: int) -> None:
    # The header's length does not depend on the total: NumPy reserves 21 digits.
    import numpy as np

    descr = np.lib.format.dtype_to_descr(np.dtype(dtype).newbyteorder("<"))
    header = {"descr": descr, "fortran_order": False, "shape": (total,)}
    np.lib.format.write_array_header_1_0(stream, header)


def _copy_npy(body: IO[bytes], stream: IO[bytes], dtype: str, total: int) -> None:
    _write_header(stream, dtype, total)
    body.seek(0)
    shutil.copyfileobj(body, stream, _COPY)


def parse_ids(data: bytes, dtype: str | None, name: str) -> NDArray[np.integer[Any]] | list[int]:
    """Return ids from raw bytes, a NumPy file, or integers as people write and programs print them."""
    import numpy as np

    try:
        if dtype:
            return np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        if data.startswith(NPY):
            loaded: NDArray[np.integer[Any]] = np.load(io.BytesIO(data), allow_pickle=False)
            return loaded
    except (ValueError, EOFError) as error:
        what = f"ids in a NumPy file: {error}" if not dtype else f"ids of type {dtype}: {error}"
        raise InputError(f"{name}: expected {what}") from None
    try:
        return [int(word) for word in data.split()]
    except ValueError:
        return _pasted_ids(data.decode("utf-8", "backslashreplace"), name)


def _pasted_ids(text: str, name: str) -> list[int]:
    """Return ids with commas, or a list or an array as Python, JSON and NumPy print it."""
    listed = _LIST.fullmatch(text)
    start, stop = listed.span("ids") if listed else (0, len(text))
    ids: list[int] = []
    for match in _PIECE.finditer(text, start, stop):
        piece = match[0]
        if not _INTEGER.fullmatch(piece):
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            hint = ""
            if not piece.isprintable() or "\\x" in piece:
                hint = "; raw ids need --dtype uint16 or uint32"
            elif piece == "...":
                hint = "; NumPy prints a long array without its middle: save it with numpy.save"
            raise InputError(
                f"{name}: expected ids as integers, with spaces, line ends or commas between, not {piece!r:.40} "
                f"(number {len(ids) + 1}, line {line}, column {column}){hint}"
            )
        ids.append(int(piece))
    return ids


def read_offsets(path: Path, total: int) -> NDArray[np.int64]:
    """Return the offsets of texts in `total` ids; InputError if the file does not hold valid offsets."""
    import numpy as np

    expected = f"{path}: expected offsets of texts, int64, ascending from 0 to {total}"
    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{expected}, in a NumPy file: {error}") from None
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise InputError(f"{expected}; found {getattr(found, 'dtype', 'an archive')} of shape {np.shape(found)}")
    offsets = found.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
        raise InputError(f"{expected}; they go from {offsets[0]} to {offsets[-1]}: do they belong to another file?")
    return offsets
