"""All token formats: .npy, raw ids, Megatron, llm.c, datatrove and Parquet; which of them a file has; masks."""

from __future__ import annotations

import hashlib
import io
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subwords.machine import TokenBlock
from subwords.support.checks import check_choice
from subwords.support.errors import FormatError, InputError, readable, unreadable
from subwords.support.files import atomic_write, check_pointer, is_remote, local_copy
from subwords.support.names import install_hint
from subwords.tokens.manifest import Contents
from subwords.tokens.token_file import Append, Bounds, MappedFile, Sums, TokenFile, TokenFormat, by_offsets, mapped

# ---------------------------------------------------------------------------------------------------------------------
# Parquet with one column of lists of ids: what `datasets`, polars and Spark read. Needs PyArrow, the extra `files`.

COLUMN = "input_ids"  # the name that transformers' models take
GROUP = 1 << 22  # ids of a row group
HELD = 2  # row groups in memory while a file is read


@contextmanager
def _append_parquet(path: Path, dtype: np.dtype[Any], sums: Sums, column: str = COLUMN) -> Iterator[Append]:
    pyarrow = _pyarrow()
    with ExitStack() as stack:
        stream = stack.enter_context(atomic_write(path))
        kind = pyarrow.list_(pyarrow.from_numpy_dtype(dtype))
        schema = pyarrow.schema([(column, kind)])
        writer = pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd")
        stack.enter_context(writer)

        waiting = _Waiting(dtype)

        def write(groups: Iterator[TokenBlock]) -> None:
            for ids, ends in groups:
                offsets = np.concatenate([np.zeros(1, np.int64), ends])
                rows = pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), pyarrow.array(ids))
                writer.write_table(pyarrow.table([rows.cast(kind)], schema))

        yield lambda ids, ends: write(waiting.add(ids, ends))
        write(waiting.rest())


class _Waiting:
    """Documents that wait for a full row group, so that groups do not depend on how the documents come."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._parts: list[NDArray[Any]] = []
        self._ends: list[NDArray[np.int64]] = []
        self._size = 0

    def add(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> Iterator[TokenBlock]:
        """Take consecutive ids; yield the full groups: the document that makes a group full is its last."""
        self._parts.append(ids)
        self._ends.append(ends + self._size)
        self._size += len(ids)
        if self._size >= GROUP and len(ends):
            yield from self._groups(whole=True)

    def rest(self) -> Iterator[TokenBlock]:
        """Yield the documents that are left."""
        return self._groups(whole=False)

    def _groups(self, *, whole: bool) -> Iterator[TokenBlock]:
        ids = np.concatenate([np.zeros(0, self._dtype), *self._parts]).astype(self._dtype, copy=False)
        ends = np.concatenate([np.zeros(0, np.int64), *self._ends])
        first = begin = 0
        while first < len(ends):
            last = int(np.searchsorted(ends, begin + GROUP)) + 1
            if last > len(ends):
                if whole:
                    break
                last = len(ends)
            stop = int(ends[last - 1])
            yield TokenBlock(ids[begin:stop], ends[first:last] - begin)
            first, begin = last, stop
        self._parts, self._ends, self._size = [ids[begin:]], [ends[first:] - begin], len(ids) - begin


def _read_parquet(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    pyarrow = _pyarrow()
    try:
        with readable(path):
            file = pyarrow.parquet.ParquetFile(path, memory_map=True)
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:  # of the names of columns
        raise FormatError(f"{path}: expected a Parquet file: {error}") from None
    return _ParquetFile(path, file, dtype)


class _ParquetFile(TokenFile):
    """The documents of a Parquet file: a row group is decompressed when one of its documents is asked for."""

    def __init__(self, path: Path, file: Any, dtype: np.dtype[Any] | None) -> None:
        pyarrow, column = _pyarrow(), _column(path, file.schema_arrow)
        kind = np.dtype(column.type.value_type.to_pandas_dtype())
        if dtype is not None and dtype != kind:
            raise InputError(f"{path}: expected {dtype}, found {kind}")
        groups = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
        self._firsts = np.cumsum([0, *groups])
        self.path, self.format, self.dtype = path, "parquet", kind

        def read(group: int) -> tuple[NDArray[Any], NDArray[Any]]:
            try:
                rows = file.read_row_group(group, columns=[column.name]).column(0).combine_chunks()
            except (OSError, pyarrow.ArrowException) as error:
                raise FormatError(f"{path}: damaged row group {group} of a Parquet file: {error}") from None
            if len(rows) != groups[group]:
                raise FormatError(f"{path}: expected {groups[group]} documents in row group {group}, found {len(rows)}")
            if rows.null_count or rows.values.null_count:
                raise FormatError(f"{path}: expected lists of ids, found nulls in row group {group}")
            return rows.values.to_numpy(), rows.offsets.to_numpy()

        self._group = lru_cache(HELD)(read)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    @cached_property
    def num_tokens(self) -> int:  # type: ignore[override]
        """The number of all ids: the file is read for it."""
        return sum(int(offsets[-1] - offsets[0]) for _, offsets in map(self._group, range(len(self._firsts) - 1)))

    def document(self, at: int) -> NDArray[Any]:
        """Return the ids of one document."""
        group = int(np.searchsorted(self._firsts, at, "right")) - 1
        ids, offsets = self._group(group)
        row = at - int(self._firsts[group])
        return ids[int(offsets[row]) : int(offsets[row + 1])]


def _column(path: Path, schema: Any) -> Any:
    import pyarrow.types as types

    lists = [field for field in schema if types.is_list(field.type) and types.is_integer(field.type.value_type)]
    named = [field for field in lists if field.name == COLUMN] or lists
    if len(named) != 1:
        raise FormatError(f"{path}: expected a column {COLUMN!r} of lists of integers, found {schema.names}")
    return named[0]


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f"Parquet files need PyArrow: {install_hint('files')}") from error
    return pyarrow


PARQUET = TokenFormat("parquet", ".parquet", ("uint16", "uint32"), _append_parquet, _read_parquet, lambda path: (path,))


# ---------------------------------------------------------------------------------------------------------------------
# What the writers of token formats share: raw numbers, NumPy headers, running totals kept on disk.

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


# ---------------------------------------------------------------------------------------------------------------------
# NumPy files and raw ids, and where documents begin in a second NumPy file: .npy, .bin, llm.c's .bin.
#
# Raw ids are what nanoGPT maps (uint16); OLMo's .npy is raw too, in spite of its name. llm.c's files (llm.c,
# dataloader) begin with 256 int32: magic, version, number of ids.

LLMC_HEADER = 256  # int32
# The magic number and the version by type of an id.
LLMC_KINDS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
LLMC_MOST = (1 << 31) - 1  # ids of a file


def offsets_path(path: Path) -> Path:
    """Return the file with the starts of documents that belongs to a file of ids."""
    return path.with_name(f"{path.stem}.offsets.npy")


def _flat_files(path: Path) -> tuple[Path, ...]:
    return path, offsets_path(path)


# Writes the header of a file: its number of ids is known at the end.
Header = Callable[[IO[bytes], np.dtype[Any], int], None]


@contextmanager
def _append_ids(
    path: Path, dtype: np.dtype[Any], sums: Sums, index: Path, header: Header | None = None
) -> Iterator[tuple[Append, IO[bytes], Ends]]:
    """Write ids, and yield what takes them, the file beside them, which is written last, and the ends of documents."""
    with ExitStack() as stack:
        # The files appear in the opposite order, so where there is an index, there are the ids.
        beside = stack.enter_context(summed_write(index, sums))
        stream = stack.enter_context(atomic_write(path) if header else summed_write(path, sums))
        ends = stack.enter_context(spooled_ends(path))
        if header:
            header(stream, dtype, 0)

        def append(ids: NDArray[Any], stops: NDArray[np.int64]) -> None:
            write_numbers(stream, ids, dtype)
            ends.append(len(ids), stops)

        yield append, beside, ends
        if header:
            stream.seek(0)
            header(stream, dtype, ends.tokens)


@contextmanager
def _append_flat(path: Path, dtype: np.dtype[Any], sums: Sums, *, header: Header | None) -> Iterator[Append]:
    with _append_ids(path, dtype, sums, offsets_path(path), header) as (append, index, ends):
        yield append
        kind = np.dtype("<i8")
        write_npy_header(index, kind, ends.documents + 1)
        write_numbers(index, np.zeros(1, kind), kind)
        for batch in ends.batches():
            write_numbers(index, batch, kind)


def _file(path: Path, form: str, ids: NDArray[Any]) -> TokenFile:
    """Return the token file of these ids, with the offsets beside it, if there are any."""
    index = offsets_path(path)
    if not index.exists():
        return MappedFile(path, form, ids, 1, lambda _: (0, len(ids)))
    offsets = mapped_npy(index)
    if offsets.dtype != np.dtype("<i8") or not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids):
        raise FormatError(
            f"{index}: expected the offsets of documents, int64 from 0 to {len(ids)}: is it of another file?"
        )
    return MappedFile(path, form, ids, len(offsets) - 1, by_offsets(offsets))


def mapped_npy(path: Path) -> NDArray[Any]:
    """Return the numbers of a NumPy file, mapped; FormatError unless they are integers in one dimension."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise unreadable(InputError, f"cannot read file {path}: {error.strerror}", error, path) from None
    except Exception as error:  # NumPy evaluates a header as Python does: a hostile one raises anything
        other = "allow_pickle" in str(error)  # NumPy's advice for whatever is no .npy: an unsafe way to read it
        told = "its first bytes are different" if other else error
        raise FormatError(f"{path}: expected a NumPy file of integers: {told}") from None
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.kind not in "iu":
        kind = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "an archive"
        raise FormatError(f"{path}: expected integers in one dimension, found {kind}")
    return found


# ------------------------------------------------------------------ npy


def _read_npy(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    ids = mapped_npy(path)
    if dtype is not None and ids.dtype != dtype:
        raise InputError(f"{path}: expected {dtype}, found {ids.dtype}")
    return _file(path, "npy", ids)


def npy_blocks(path: Path) -> Iterator[TokenBlock]:
    """Yield the documents of a .npy with its offsets, some megabytes at a time; of a store, from temporary copies."""
    if is_remote(path):
        with readable(path), local_copy(path) as ids, local_copy(offsets_path(path)) as offsets:
            yield from _npy_blocks(ids, offsets)
        return
    yield from _npy_blocks(path, offsets_path(path))


def _npy_blocks(path: Path, offsets: Path) -> Iterator[TokenBlock]:
    # What is mapped counts as memory of the process: only offsets are.
    mapped_ids, ends = mapped_npy(path), mapped_npy(offsets)[1:]
    count, dtype, at = len(mapped_ids), mapped_ids.dtype, getattr(mapped_ids, "offset", 0)
    del mapped_ids
    first = 0
    with path.open("rb") as stream:
        stream.seek(at)
        for start in range(0, max(1, count), STEP):
            stop = min(start + STEP, count)
            last = int(np.searchsorted(ends, stop, "right")) if stop < count else len(ends)
            yield TokenBlock(np.fromfile(stream, dtype, stop - start), np.asarray(ends[first:last]) - start)
            first = last


# ------------------------------------------------------------------ raw


def _read_bin(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    if dtype is None:
        raise InputError(f'{path}: raw ids do not say their type: expected dtype="uint16" or "uint32"')
    return _file(path, "bin", mapped(path, dtype))


# ------------------------------------------------------------------ llm.c


def _llmc_header(stream: IO[bytes], dtype: np.dtype[Any], count: int) -> None:
    if count > LLMC_MOST:
        raise InputError(f"a file of llm.c holds at most {LLMC_MOST} ids, not {count}: write shards, with shard_size")
    header = np.zeros(LLMC_HEADER, "<i4")
    header[:3] = *LLMC_KINDS[dtype.name], count
    write_numbers(stream, header, header.dtype)


def _read_llmc(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    magic, version, count = (int(n) for n in mapped(path, "<i4", count=LLMC_HEADER)[:3])
    name = next((name for name, kind in LLMC_KINDS.items() if kind == (magic, version)), None)
    if name is None:
        raise FormatError(f"{path}: expected a file of llm.c, found magic number {magic} and version {version}")
    if dtype is not None and dtype.name != name:
        raise InputError(f"{path}: expected {dtype}, found {name}")
    return _file(path, "llmc", mapped(path, np.dtype(name).newbyteorder("<"), offset=4 * LLMC_HEADER, count=count))


NPY, BIN, LLMC = (
    TokenFormat(name, suffix, ("uint16", "uint32"), partial(_append_flat, header=header), read, _flat_files)
    for name, suffix, header, read in (
        ("npy", ".npy", write_npy_header, _read_npy),
        ("bin", ".bin", None, _read_bin),
        ("llmc", ".bin", _llmc_header, _read_llmc),
    )
)


# ---------------------------------------------------------------------------------------------------------------------
# Megatron-LM's .bin and .idx (megatron/core/datasets/indexed_dataset.py).
#
# .bin: raw ids. .idx, little-endian: "MMIDIDX\0\0", uint64 version 1, uint8 code of the type, uint64 sequences, uint64
# documents + 1, int32 length of each sequence, int64 its first byte in .bin, int64 first sequence of each document and
# the number of sequences. Here a document is one sequence, or none if it has no ids: so does Megatron's own tool.
# Hazard: Megatron has no uint32, and takes int32 for vocabularies from 65,500 on, though uint16 holds more; so do we.

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<9sQBQQ")
CODES = {1: "u1", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 8: "u2"}
MOST_IDS = (1 << 31) - 1  # ids of a sequence


def index_path(path: Path) -> Path:
    """Return the .idx of a .bin."""
    return path.with_suffix(".idx")


def has_index(path: Path) -> bool:
    """Whether an .idx of Megatron is beside a file."""
    try:
        with index_path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _megatron_files(path: Path) -> tuple[Path, ...]:
    return path.with_suffix(".bin"), index_path(path)


@contextmanager
def _append_megatron(path: Path, dtype: np.dtype[Any], sums: Sums) -> Iterator[Append]:
    with ExitStack() as stack:
        # The files appear in the opposite order, so where there is an index, there are the ids.
        index = stack.enter_context(summed_write(index_path(path), sums))
        stream = stack.enter_context(summed_write(path.with_suffix(".bin"), sums))
        ends = stack.enter_context(spooled_ends(path))
        sequences = 0

        def append(ids: NDArray[Any], stops: NDArray[np.int64]) -> None:
            nonlocal sequences
            lengths = ends.append(len(ids), stops)
            if len(lengths) and lengths.max() > MOST_IDS:
                raise InputError(f"format megatron holds documents of at most {MOST_IDS} ids, not {lengths.max()}")
            write_numbers(stream, ids, dtype)
            sequences += int(np.count_nonzero(lengths))

        yield append
        code = next(code for code, kind in CODES.items() if np.dtype(f"<{kind}") == dtype)
        index.write(HEADER.pack(MAGIC, 1, code, sequences, ends.documents + 1))
        _write_index(index, ends, dtype.itemsize)


def _write_index(index: IO[bytes], ends: Ends, size: int) -> None:
    """Write lengths and places of sequences, and the first sequence of each document: in one pass each."""
    for _, lengths in _bounds_of(ends):
        write_numbers(index, lengths[lengths > 0], np.dtype("<i4"))
    for begins, lengths in _bounds_of(ends):
        write_numbers(index, begins[lengths > 0] * size, np.dtype("<i8"))
    sequences = 0
    write_numbers(index, np.zeros(1), np.dtype("<i8"))
    for _, lengths in _bounds_of(ends):
        firsts = np.cumsum(lengths > 0) + sequences
        write_numbers(index, firsts, np.dtype("<i8"))
        sequences = int(firsts[-1])


def _bounds_of(ends: Ends) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield where documents begin, and their lengths, many at a time."""
    last = 0
    for batch in ends.batches():
        begins = np.concatenate([[last], batch[:-1]])
        yield begins, batch - begins
        last = int(batch[-1])


def _read_megatron(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    index = index_path(path)
    with readable(index), index.open("rb") as stream:
        head = stream.read(HEADER.size)
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise FormatError(f"{index}: expected an index of Megatron, which begins with MMIDIDX")
    _, version, code, sequences, documents = HEADER.unpack(head)
    if version != 1 or code not in CODES or not documents:
        raise FormatError(f"{index}: expected version 1 and a type of {sorted(CODES)}, found {version} and {code}")
    kind = np.dtype(f"<{CODES[code]}")
    if dtype is not None and dtype != kind:
        raise InputError(f"{path}: expected {dtype}, found {kind}")
    at = HEADER.size
    lengths = mapped(index, "<i4", offset=at, count=sequences)
    places = mapped(index, "<i8", offset=at + 4 * sequences, count=sequences)
    firsts = mapped(index, "<i8", offset=at + 12 * sequences, count=documents)
    ids = mapped(path.with_suffix(".bin"), kind)
    return MappedFile(
        path, "megatron", ids, documents - 1, _document_bounds(index, lengths, places, firsts, kind.itemsize)
    )


def _document_bounds(
    index: Path, lengths: NDArray[Any], places: NDArray[Any], firsts: NDArray[Any], size: int
) -> Bounds:
    """Return where documents are: from the first of their sequences to the end of the last."""

    def bounds(document: int) -> tuple[int, int]:
        first, last = int(firsts[document]), int(firsts[document + 1])
        if not 0 <= first <= last <= len(lengths):
            raise FormatError(f"{index}: expected sequences of document {document}, found {first} to {last}")
        if first == last:
            return 0, 0
        return int(places[first]) // size, int(places[last - 1]) // size + int(lengths[last - 1])

    return bounds


MEGATRON = TokenFormat(
    "megatron", ".bin", ("uint16", "int32"), _append_megatron, _read_megatron, _megatron_files, most=65_499
)


# ---------------------------------------------------------------------------------------------------------------------
# datatrove's .ds: raw ids, .ds.index with the ends of documents (uint64), .ds.metadata (pipeline/tokens).

UNITS = ("T", "kT", "MT", "GT", "TT", "PT")


@contextmanager
def _append_datatrove(path: Path, dtype: np.dtype[Any], sums: Sums) -> Iterator[Append]:
    with (
        atomic_write(_beside(path, "metadata"), "w") as metadata,  # appears last: where it is, there is all
        _append_ids(path, dtype, sums, _beside(path, "index")) as (append, index, ends),
    ):
        yield append
        for batch in ends.batches():
            write_numbers(index, batch, np.dtype("<u8"))
        metadata.write(f"subwords|{dtype.itemsize}\n{ends.tokens}\n{_rounded(ends.tokens)}")


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def _datatrove_files(path: Path) -> tuple[Path, ...]:
    return path, _beside(path, "index"), _beside(path, "metadata")


def _rounded(count: int) -> str:
    """Return a number of tokens as three digits and a unit, as `humanize.metric` writes it."""
    power = min(len(UNITS) - 1, (len(str(count)) - 1) // 3)
    digits = 2 - (len(str(count)) - 1) % 3
    return f"{count / 1000**power:.{digits}f} {UNITS[power]}"


def _read_datatrove(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    ends = mapped(_beside(path, "index"), "<u8")
    total = int(ends[-1]) if len(ends) else 0
    with readable(path):
        size = dtype.itemsize if dtype else 4 if total and path.stat().st_size == 4 * total else 2
    ids = mapped(path, f"<u{size}")
    if total != len(ids):
        raise FormatError(f"{path}: expected {total} ids, as its index says, found {len(ids)} of {size} bytes")
    return MappedFile(path, "datatrove", ids, len(ends), lambda i: (int(ends[i - 1]) if i else 0, int(ends[i])))


DATATROVE = TokenFormat("datatrove", ".ds", ("uint16", "uint32"), _append_datatrove, _read_datatrove, _datatrove_files)


FORMATS = {form.name: form for form in (NPY, BIN, MEGATRON, PARQUET, DATATROVE, LLMC)}


def format_named(name: str | None, path: Path) -> TokenFormat:
    """Return the format of this name, or without a name the usual one of the path's suffix."""
    if name is not None:
        check_choice("format", name, FORMATS)
        return FORMATS[name]
    usual = {form.suffix: form for form in (NPY, BIN, PARQUET, DATATROVE)} | {".idx": MEGATRON}
    found = usual.get(path.suffix.lower())
    if found is None:
        raise InputError(
            f"{path}: expected a name that ends in {', '.join(usual)}, or format= one of {', '.join(FORMATS)}"
        )
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Conversations: what is said of each id is in files of the same format beside the ids.
#
# On the way, an id has marks in its highest bits: no vocabulary is as large.

MASKED, BEGINS, PADDED = (1 << bit for bit in (31, 30, 29))  # the assistant writes it; a conversation begins; padding
ID = PADDED - 1
MASK, SEGMENTS = "mask", "segments"
MOST_SEGMENTS = (1 << 16) - 1  # of a row


def beside_ids(path: Path, kind: str) -> Path:
    """Return the file of a kind that belongs to a file of ids.

    >>> beside_ids(Path("out/chats.npy"), MASK).name
    'chats.mask.npy'
    """
    return path.with_name(f"{path.stem}.{kind}{path.suffix or '.bin'}")


def kinds_beside(contents: Contents) -> dict[str, str]:
    """Return what is beside ids, and the type of its numbers."""
    if not contents.masked:
        return {}
    return {MASK: "uint8"} if contents.pack is None else {MASK: "uint8", SEGMENTS: "uint16"}


def with_marks(form: TokenFormat, contents: Contents) -> TokenFormat:
    """Return a format that writes the marks of ids beside them: the mask, and for rows of a size, their segments."""
    if form not in (NPY, BIN, MEGATRON, PARQUET):
        raise InputError(f"format {form.name} holds no masks: expected npy, bin, megatron or parquet")
    kinds, row = kinds_beside(contents), contents.pack
    columns = {MASK: "assistant_masks", SEGMENTS: "segments"}

    @contextmanager
    def write(path: Path, dtype: np.dtype[Any], sums: Sums) -> Iterator[Append]:
        with ExitStack() as stack:
            # The files appear in the opposite order, so where there are ids, there are masks.
            ids_only, beside = stack.enter_context(form.write(path, dtype, sums)), list[Append]()
            for kind, numbers in kinds.items():
                named: Any = {"column": columns[kind]} if form is PARQUET else {}
                number = np.dtype(numbers).newbyteorder("<")
                beside.append(stack.enter_context(form.write(beside_ids(path, kind), number, sums, **named)))

            def append(ids: NDArray[Any], stops: NDArray[np.int64]) -> None:
                ids_only((ids & ID).astype(dtype), stops)
                beside[0]((ids >> 31).astype(np.uint8), stops)
                if row is not None:
                    rows = ids.reshape(-1, row)
                    places = np.cumsum((rows & BEGINS) > 0, axis=1, dtype=np.uint16)
                    beside[1](np.where(rows & PADDED, np.uint16(0), places).ravel(), stops)

            yield append

    def files(path: Path) -> tuple[Path, ...]:
        return tuple(file for one in (path, *(beside_ids(path, kind) for kind in kinds)) for file in form.files(one))

    return replace(form, write=write, files=files, marked=True)


def format_of(path: Path) -> TokenFormat:
    """Return the format of an existing file, by its content and the files beside it."""
    with readable(path), path.open("rb") as stream:
        head = stream.read(32)
    check_pointer(head, path)
    head = head[:8]
    if head.startswith(b"\x93NUMPY"):
        return NPY
    if head.startswith(b"PAR1"):
        return PARQUET
    if path.suffix == ".ds":
        return DATATROVE
    if head.startswith(MAGIC[:8]) or has_index(path):
        return MEGATRON
    if len(head) == 8 and tuple(np.frombuffer(head, "<i4").tolist()) in LLMC_KINDS.values():
        return LLMC
    return BIN
