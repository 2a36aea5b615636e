"""Opens files of text and of rows: decompresses gzip, zstd and bzip2, rejects binary files."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from subwords.corpus.contents import BOM, HEAD, check_ids, check_text, compression
from subwords.errors import CorpusError
from subwords.support.install import install_hint
from subwords.support.remote import is_path, is_remote

__all__ = ["STEP", "TextStream", "head_of", "is_packed", "need_pyarrow", "open_text"]

STEP = 1 << 17  # bytes per read
PACKED = (".gz", ".zst", ".bz2")


class TextStream:
    """The bytes of an open file, decompressed."""

    def __init__(self, raw: _Counted, stream: Any, name: str, marked: int) -> None:
        self.marked = marked  # bytes of a byte order mark, which is skipped
        self._raw = raw
        self._stream = stream
        self._name = name

    @property
    def taken(self) -> int:
        """The number of bytes read from the file on disk, before decompression."""
        return self._raw.taken

    def fill(self, view: memoryview) -> int:
        """Read until the view is full or the file ends; return the number of bytes."""
        return _fill(self._stream, view, self._name)

    def read(self) -> bytes:
        """Return the rest of the file."""
        found = io.BytesIO()  # getvalue() shares its buffer; joining parts would need twice the memory
        view = memoryview(bytearray(1 << 20))
        while count := self.fill(view):
            found.write(view[:count])
        return found.getvalue()


@contextmanager
def open_text(
    source: Path | BinaryIO,
    name: str | None = None,
    *,
    expected: Literal["text", "rows", "ids", "bytes"] = "text",
    start: int = 0,
) -> Iterator[TextStream]:
    """Open a file or a stream for reading; gzip, zstd and bzip2 are decompressed, detected by content or name.

    CorpusError if it cannot be read or has unexpected content. expected: "text", see `contents.check_text`, without a
    byte order mark at its start; "rows", the
    same or JSON; "ids", text or a NumPy file; "bytes", any content: then compression is detected only by name. start:
    the first byte to read, of a file that is not compressed.
    """
    path = cast(Path, source) if is_path(source) else None
    name = name or str(source)
    with ExitStack() as stack:
        raw = _Counted(stack.enter_context(_opened(path)) if path is not None else source)
        head = _head(raw, name)
        stream: Any = _Headed(head, raw)
        suffix = path.suffix.lower() if path is not None else ""
        packed = suffix if suffix in PACKED else None if expected == "bytes" else compression(head)
        if packed:
            stream = stack.enter_context(_decompressed(stream, packed))
            head = _head(stream, name)
            stream = _Headed(head, stream)
        marked = len(BOM) if expected == "text" and head.startswith(BOM) else 0
        if marked:
            stream.drop(marked)
        if expected in ("text", "rows"):
            check_text(head, name, path if expected == "text" else None)
        elif expected == "ids":
            check_ids(head, name)
        if start:
            raw.seek(start)
            stream = raw
        yield TextStream(raw, stream, name, marked)


def is_packed(path: Path) -> bool:
    """Whether `open_text` decompresses a file."""
    return path.suffix.lower() in PACKED or compression(head_of(path)) is not None


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file."""
    with cast(Any, path).open("rb", ahead=HEAD) if is_remote(path) else path.open("rb") as stream:
        head: bytes = stream.read(HEAD)
        return head


def _opened(path: Path) -> io.RawIOBase:
    try:
        return cast(io.RawIOBase, path.open("rb")) if is_remote(path) else io.FileIO(path)
    except OSError as error:
        raise CorpusError(f"{path}: cannot open file: {error.strerror}") from error


class _Counted:
    """A stream that counts the bytes read from it, because a pipe has no `tell`."""

    def __init__(self, stream: Any) -> None:
        # readinto1 makes one system call: the loop in C of `readinto` would delay Ctrl-C.
        self._readinto = getattr(stream, "readinto1", stream.readinto)
        self._stream = stream
        self._ended = False
        self.taken = 0

    def seek(self, place: int) -> None:
        self._ended = False
        self._stream.seek(place)

    def readinto(self, buffer: Any) -> int:
        if self._ended:  # a terminal would ask for a second Ctrl-D
            return 0
        count: int = self._readinto(buffer) or 0
        self._ended = not count and len(buffer) > 0
        self.taken += count
        return count


class _Headed(io.RawIOBase):
    """A stream whose first bytes were already read."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def drop(self, size: int) -> None:
        """Leave out the first bytes."""
        self._head = self._head[size:]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._head:
            count: int = self._rest.readinto(buffer) or 0
            return count
        count = min(len(buffer), len(self._head))
        memoryview(buffer)[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


def _decompressed(stream: _Headed, packed: str) -> AbstractContextManager[Any]:
    buffered = io.BufferedReader(stream, STEP)
    if packed == ".gz":
        return gzip.GzipFile(fileobj=buffered, mode="rb")
    if packed == ".bz2":
        return bz2.BZ2File(buffered)
    pyarrow = need_pyarrow()
    opened: AbstractContextManager[Any] = pyarrow.CompressedInputStream(pyarrow.PythonFile(buffered, mode="r"), "zstd")
    return opened


def _head(stream: Any, name: str) -> bytes:
    buffer = bytearray(HEAD)
    return bytes(memoryview(buffer)[: _fill(stream, memoryview(buffer), name)])


def _fill(stream: Any, view: memoryview, name: str) -> int:
    """Read until the view is full or the stream ends."""
    filled = 0
    try:
        while count := stream.readinto(view[filled : filled + STEP]):
            filled += count
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{name}: cannot read file to its end: {error}") from error
    return filled


def need_pyarrow() -> Any:
    """Return the module pyarrow; CorpusError if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise CorpusError(f".zst, Parquet and Arrow need PyArrow: {install_hint('arrow')}") from error
    return pyarrow
