"""Opens files of text and of rows: decompresses gzip, zstd and bzip2, rejects binary files."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from subwords.support.errors import CorpusError, readable
from subwords.support.files import is_path, is_remote
from subwords.support.names import install_hint

# ---------------------------------------------------------------------------------------------------------------------
# Detects the type of a file from its first bytes: text, compressed text, or a binary format.

HEAD = 1 << 16  # bytes examined: the first row of a JSON Lines file may be long

# Control characters that do not occur in text; signatures of printable letters count only in files with one of them.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")

_NUMPY = "a NumPy file"
POINTER = "a Git LFS pointer instead of the file"
_EXTRACT = "extract its text first"
_IN_PYTHON = 'pass the texts of a column in Python: (row["text"] for row in rows)'
_READ_BY = "subwords train, count and encode to a token file read it, by a name that does not end in .txt"


def _unpacked(by: str) -> str:
    return f"unpack it first ({by}); only .gz, .bz2 and .zst files are unpacked automatically"


# Binary files: signature, what to do.
_BINARY = {
    "a gzip file": (rb"\x1f\x8b\x08", _EXTRACT),
    "a zstd file": (rb"\x28\xb5\x2f\xfd", _EXTRACT),
    "a bzip2 file": (rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", _unpacked("bunzip2")),
    "an xz file": (rb"\xfd7zXZ\x00", _unpacked("unxz")),
    "an lz4 file": (rb"\x04\x22\x4d\x18", _unpacked("unlz4")),
    POINTER: (rb"version https://git-lfs", "fetch the file itself: git lfs pull"),
    "a zip file": (rb"PK(\x03\x04|\x05\x06\x00\x00|\x07\x08)", _unpacked("unzip")),
    "a 7z file": (rb"7z\xbc\xaf\x27\x1c", _unpacked("7z x")),
    "a RAR file": (rb"Rar!\x1a\x07", _unpacked("unrar x")),
    "a tar file": (rb".{257}ustar[\x00 ]", _unpacked("tar xf")),
    "an Arrow file": (rb"ARROW1\x00\x00|\xff\xff\xff\xff..[\x00-\x0f]\x00\x10\x00\x00\x00", _READ_BY),
    "an Avro file": (rb"Obj\x01", _IN_PYTHON),
    "an HDF5 file": (rb"\x89HDF\r\n\x1a\n", _EXTRACT),
    _NUMPY: (rb"\x93NUMPY", "files of ids are for decode; to encode, pass a text file"),
    "a pickle": (rb"\x80[\x02-\x05][\x95\]}()XcKqN\x8c]", _EXTRACT),
    "a SQLite database": (rb"SQLite format 3\x00", _EXTRACT),
    "a safetensors file": (rb'.{5}\x00\x00\x00\{"', _EXTRACT),
    "a PDF file": (rb"%PDF-[0-9]\.[0-9]", _EXTRACT),
    "a PNG image": (rb"\x89PNG\r\n\x1a\n", _EXTRACT),
    "a JPEG image": (rb"\xff\xd8\xff[\xdb\xe0-\xef]", _EXTRACT),
    "an Office document": (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _EXTRACT),
    "a program": (rb"\x7fELF[\x01\x02]", _EXTRACT),
    "a file of word counts": (
        rb"subwords-counts\x01",
        "use subwords train or, in Python, subwords.WordCounts.load",
    ),
}
_LETTERED = {
    "a Parquet file": (rb"PAR[1E]", _READ_BY),
    "a Feather file": (rb"FEA1", _IN_PYTHON),
    "an ORC file": (rb"ORC", _IN_PYTHON),
    "a GGUF file": (rb"GGUF", _EXTRACT),
    "a GIF image": (rb"GIF8[79]a", _EXTRACT),
    "a RIFF file (WAV, WebP, AVI)": (rb"RIFF", _EXTRACT),
    "an Ogg file": (rb"OggS", _EXTRACT),
    "a FLAC file": (rb"fLaC", _EXTRACT),
    "an MP3 file": (rb"ID3", _EXTRACT),
}
_MOST_NULS = 0.05  # maximum share of NUL bytes in text: UTF-16 has 0.5, 4-byte numbers more
_FEW_BYTES = 16  # bytes; fewer are too short to judge the share of NUL

_ROW = re.compile(rb'\s*\{\s*"')
_ROWS = re.compile(rb'\s*\{\s*"[^\n]*\}[ \t\r]*\n\s*\{\s*"')
_ARRAY = re.compile(rb"\s*\[\s*[\[{\"]")
_LIST_OF_ROWS = re.compile(rb'\s*\[\s*\{\s*"')
_ROWS_IN_PYTHON = {  # by how the rows begin
    "{": '(json.loads(row)["text"] for row in open(name))',
    "[": '(row["text"] for row in json.load(open(name)))',
}
BOM = b"\xef\xbb\xbf"


def compression(head: bytes) -> str | None:
    """Return ".gz", ".bz2" or ".zst" if a file's first bytes are the signature of that compression, else None."""
    packed = {"a gzip file": ".gz", "a bzip2 file": ".bz2"}.get(container(head) or "")
    return packed or (".zst" if _ZSTD.match(head) else None)


def container(head: bytes) -> str | None:
    """Return the name of the binary format of a file's first bytes, or None if it may be text.

    >>> container(b"\\x93NUMPY\\x01\\x00v\\x00"), container(b"PAR1S and PAR2S")
    ('a NumPy file', None)
    """
    kinds = _BINARY | _LETTERED if _CONTROL.search(head[:512]) else _BINARY
    return next((kind for kind, (signature, _) in kinds.items() if re.match(signature, head, re.DOTALL)), None)


def check_text(head: bytes, name: str, path: Path | None = None) -> None:
    """Raise CorpusError if a file or stream that begins with `head` is not text, by its first bytes.

    name: for messages. path: files with JSON rows are rejected if their name ends in .json, .jsonl or .ndjson; without
    a path they are text. Invalid UTF-8 is accepted.
    """
    if kind := container(head):
        raise CorpusError(f"{name}: expected text, found {kind}; {way_out(kind)}")
    if _is_utf16(head):
        raise CorpusError(
            f"{name}: expected text in UTF-8, found UTF-16; convert it first, for example with iconv -f UTF-16 -t UTF-8"
        )
    nuls = head.count(0)
    if len(head) >= _FEW_BYTES and nuls > _MOST_NULS * len(head):
        raise CorpusError(
            f"{name}: expected text, found binary data: {nuls} of the first {len(head)} bytes are NUL; "
            "if it is text, read it in Python and pass a list of str"
        )
    if path is not None and path.name.lower().endswith(".json") and _is_tokenizer(head):
        raise CorpusError(
            f"{name}: expected text, found a tokenizer: pass the corpus to use it on; to use its JSON as "
            "text, rename the file to .txt"
        )
    if path is not None and (shown := _json_rows(head, path)):
        raise CorpusError(
            f"{name}: expected text, found JSON rows that begin with {shown!r}; pass the texts in Python: "
            f"{_ROWS_IN_PYTHON[shown[0]]}; to use the JSON as text, rename the file to .txt"
        )


def check_ids(head: bytes, name: str) -> None:
    """Raise CorpusError if a file or stream that begins with `head` is neither text nor a NumPy file."""
    kind = container(head)
    if kind and kind != _NUMPY:
        raise CorpusError(f"{name}: expected ids as text or as a NumPy file, found {kind}; {way_out(kind)}")


def way_out(kind: str) -> str:
    """Return what to do with a file of a binary format."""
    return (_BINARY | _LETTERED)[kind][1]


def _is_tokenizer(head: bytes) -> bool:
    """Whether a JSON file is a tokenizer.json or the configuration beside it."""
    if not head.removeprefix(BOM).lstrip().startswith(b"{"):
        return False
    return b'"tokenizer_class"' in head or (b'"truncation"' in head and b'"added_tokens"' in head)


def _is_utf16(head: bytes) -> bool:
    if not head.startswith((b"\xff\xfe", b"\xfe\xff")) or len(head) < 4:
        return False
    try:
        head[: len(head) & ~1].decode("utf-16")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"  # the head ends inside a pair
    return True


def _json_rows(head: bytes, path: Path) -> str | None:
    """Return the first characters if a file has JSON rows, by its name and its content; else None."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    if not name.endswith((".jsonl", ".ndjson", ".json")):
        return None
    text = head.removeprefix(BOM)
    patterns = (_ROWS, _LIST_OF_ROWS) if name.endswith(".json") else (_ROW, _ARRAY)
    if not any(pattern.match(text) for pattern in patterns):
        return None
    return text.lstrip()[:24].decode("utf-8", "replace")


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

    def arriving(self) -> Iterator[bytes]:
        """Yield the rest of the file as it arrives, at most STEP bytes at a time."""
        buffer = memoryview(bytearray(STEP))
        with _reading(self._name):
            while count := self._stream.readinto(buffer):
                yield bytes(buffer[:count])

    def read(self, most: int | None = None) -> bytes:
        """Return the rest of the file, or its next `most` bytes."""
        found = io.BytesIO()  # getvalue() shares its buffer; joining parts would need twice the memory
        view = memoryview(bytearray(1 << 20))
        while count := self.fill(view if most is None else view[: most - found.tell()]):
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
    with readable(path, CorpusError, f"{path}: cannot open file"):
        return cast(io.RawIOBase, path.open("rb")) if is_remote(path) else io.FileIO(path)


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
        try:
            import bz2  # a Python that was compiled where its library was missing has none
        except ImportError as error:
            raise CorpusError("this Python has no bz2, which .bz2 needs: unpack the file first (bunzip2)") from error
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
    with _reading(name):
        while count := stream.readinto(view[filled : filled + STEP]):
            filled += count
    return filled


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{name}: cannot read file to its end: {error}") from error


def need_pyarrow() -> Any:
    """Return the module pyarrow; CorpusError if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise CorpusError(f".zst, Parquet and Arrow need PyArrow: {install_hint('files')}") from error
    return pyarrow
