"""Reads a column of text as blocks: Parquet files, Arrow files and streams, tables, datasets. Texts become no str."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.blocks import Block, blocks_of, invalid_place
from subwords.corpus.files import BOM, HEAD, need_pyarrow
from subwords.corpus.read import TextFile, kind_of_file, whole_lines
from subwords.corpus.reading import LONE_SURROGATE, Reading, Tally
from subwords.corpus.source import Source, files_and_texts
from subwords.kernels import layout
from subwords.support.checks import is_column
from subwords.support.errors import CorpusError, InputError, unreadable
from subwords.support.files import is_remote
from subwords.support.threads import streamed

Place = Callable[[int], str]  # the name of a row, for messages

MOST_ROWS = 1 << 16  # rows of Parquet read at once
ROWS = 1000  # rows of a dataset read at once
BLANK = b" \t\r\n"  # the whitespace of JSON, which makes no row
LINES = 1 << 20  # bytes of rows of JSON read at once, where they are kept as rows


def column_texts(array: Any, place: Place, reading: Reading, tally: Tally) -> tuple[memoryview, NDArray[np.int64]]:
    """Return the texts of an Arrow array, one after the other, and where each ends."""
    if array.null_count:
        first = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        tally.refused(f"{place(first)}: expected text, found null", reading.errors, array.null_count)
        array = array.drop_null()
    if not len(array):
        return memoryview(b""), np.zeros(0, np.int64)
    data = array.buffers()[2]
    found = _offsets(array).astype(np.int64)  # a copy, checked again: another process may write into a mapped file
    if not 0 <= found[0] <= found[-1] <= (data.size if data else 0) or (found[1:] < found[:-1]).any():
        raise CorpusError(f"{place(0)}: damaged Arrow column from here on: a text ends before it begins, or outside")
    text, ends = memoryview(data or b"")[int(found[0]) : int(found[-1])], found[1:] - found[0]
    if _is_valid(text, ends):
        return text, ends
    return _valid_texts(text, ends, place, reading, tally)


def _check_offsets(array: Any, place: Place) -> None:
    """Raise CorpusError unless an array of texts lies within its own memory: PyArrow does not check it."""
    arrow = need_pyarrow()
    try:
        array.validate()  # the sizes of what it is made of
        if arrow.types.is_dictionary(array.type):
            _check_offsets(array.dictionary, place)
            arrow.DictionaryArray.from_arrays(array.indices, array.dictionary)  # which checks the indices
        elif len(array) and not (_views if array.type == arrow.string_view() else _ascending)(array):
            why = "a text ends before it begins, or outside its buffer"
            raise CorpusError(f"{place(0)}: damaged Arrow column from here on: {why}")
    except arrow.ArrowException as error:
        raise CorpusError(f"{place(0)}: damaged Arrow column from here on: {error!s:.200}") from None


def _offsets(array: Any) -> NDArray[Any]:
    """Return where the texts of an array begin in its data, and where the last one ends."""
    wide = array.type in (need_pyarrow().large_string(), need_pyarrow().large_binary())
    stop = array.offset + len(array) + 1  # the buffer may be longer, and no whole number of offsets
    found: NDArray[Any] = np.frombuffer(array.buffers()[1], np.int64 if wide else np.int32, stop)
    return found[array.offset :]


def _ascending(array: Any) -> bool:
    found = _offsets(array)
    return bool(found[0] >= 0 and (found[1:] >= found[:-1]).all())


def _views(array: Any) -> bool:
    """Whether every text of a string view lies in one of its buffers: PyArrow's own check leaves out nulls."""
    _, views, *buffers = array.buffers()
    whole = np.frombuffer(views, np.int32, 4 * (array.offset + len(array)))
    found = whole.reshape(-1, 4)[array.offset :].astype(np.int64)
    sizes = np.array([0 if buffer is None else buffer.size for buffer in buffers], np.int64)
    lengths, _, buffer, start = found[found[:, 0] > 12].T  # shorter ones are in the view itself
    if (found[:, 0] < 0).any() or (buffer < 0).any() or (buffer >= len(sizes)).any():
        return False
    return bool((start >= 0).all() and (start + lengths <= sizes[buffer]).all())


def _is_valid(text: memoryview, ends: NDArray[np.int64]) -> bool:
    if invalid_place(text) is not None:
        return False
    starts = ends[:-1][ends[:-1] < len(text)]
    return not ((np.frombuffer(text, np.uint8)[starts] & 0xC0) == 0x80).any()


def _valid_texts(
    text: memoryview, ends: NDArray[np.int64], place: Place, reading: Reading, tally: Tally
) -> tuple[memoryview, NDArray[np.int64]]:
    kept, start = list[bytes](), 0
    for row, stop in enumerate(ends.tolist()):
        data = bytes(text[start:stop])
        start = stop
        try:
            data.decode()
        except UnicodeDecodeError as error:
            what = f"expected UTF-8, got byte 0x{data[error.start]:02x} at byte {error.start} of the text"
            tally.refused(f"{place(row)}: {what}", reading.errors)
            data = data.decode(errors="replace").encode() if reading.errors == "replace" else b""
        kept.append(data)
    return memoryview(b"".join(kept)), np.cumsum([len(data) for data in kept], dtype=np.int64)


def _column(schema: Any, reading: Reading, name: str) -> Any:
    """Return the type of the column of text; CorpusError if there is none."""
    arrow = need_pyarrow()
    if reading.text_column not in schema.names:
        found = _listed(schema.names)
        raise CorpusError(
            f"{name}: expected a column {reading.text_column!r}, found {found}; text_column names another"
        )
    _check_once(schema.names, reading.text_column, name)
    found = schema.field(reading.text_column).type
    values = found.value_type if arrow.types.is_dictionary(found) else found
    texts = (arrow.string(), arrow.large_string(), arrow.string_view(), arrow.binary(), arrow.large_binary())
    if values not in texts:
        raise CorpusError(f"{name}: expected text in column {reading.text_column!r}, found {found}")
    return found


def _check_once(names: Sequence[str], column: str, place: str) -> None:
    if (count := names.count(column)) > 1:
        raise CorpusError(f"{place}: expected one column {column!r}, found {count}")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}" or "none"


def _contiguous(array: Any) -> Any:
    """Return an array of texts one after the other in memory."""
    arrow = need_pyarrow()
    if arrow.types.is_dictionary(array.type):
        values = _contiguous(array.dictionary)  # PyArrow chooses nothing among views
        array = arrow.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    if array.type != arrow.string_view():
        return array
    try:
        return array.cast(arrow.large_string())
    except arrow.ArrowNotImplementedError:  # PyArrow 17
        texts = [text.as_buffer().to_pybytes() if text.is_valid else None for text in array]
        return arrow.array(texts, arrow.large_binary())


def _size(part: Any) -> int:
    """Return the bytes of an array or batch."""
    try:
        return int(part.nbytes)
    except need_pyarrow().ArrowTypeError:  # PyArrow 17, for views
        return int(part.get_total_buffer_size())


class _RowReader:
    """Makes blocks of the arrays of one source, which follow each other."""

    def __init__(self, name: str, reading: Reading, tally: Tally, size: int, first: int = 0) -> None:
        self._name, self._reading, self._tally, self._size = name, reading, tally, size
        self._row, self._offset = first, 0

    def blocks(self, array: Any) -> Iterator[Block]:
        """Yield the blocks of the next array."""
        _check_offsets(array, partial(self._place, self._row))
        array = _contiguous(array)
        text, ends = column_texts(array, partial(self._place, self._row), self._reading, self._tally)
        self._row += len(array)
        yield from blocks_of(text, ends, self._name, self._offset, self._size, self._tally)
        self._offset += len(text)

    def _place(self, first: int, row: int) -> str:
        return f"{self._name}: row {first + row}"


def parquet_blocks(
    path: Path,
    reading: Reading,
    tally: Tally,
    size: int,
    on_bytes: Callable[[int], object],
    groups: tuple[int, int] | None = None,
) -> Iterator[Block]:
    """Yield the column of text of a Parquet file, or of its row groups from the first number to before the second."""
    with _errors(path), _parquet(path) as file:
        _column(file.schema_arrow, reading, str(path))
        every = file.metadata
        first, last = groups or (0, every.num_row_groups)
        rows = _RowReader(str(path), reading, tally, size, sum(every.row_group(i).num_rows for i in range(first)))
        share = path.stat().st_size / max(1, every.num_rows)
        done = reported = 0
        for group in range(first, last):
            found = every.row_group(group)
            at_once = int(size / max(1, found.total_byte_size) * found.num_rows)
            for batch in file.iter_batches(min(max(at_once, 1), MOST_ROWS), [group], [reading.text_column]):
                yield from rows.blocks(batch.column(0))
                done += batch.num_rows
                on_bytes(int(done * share) - reported)
                reported = int(done * share)


def arrow_blocks(
    path: Path, reading: Reading, tally: Tally, size: int, on_bytes: Callable[[int], object]
) -> Iterator[Block]:
    """Yield the column of text of an Arrow file or stream on disk, which is mapped."""
    with _errors(path), _arrow_batches(path) as (schema, batches):
        _column(schema, reading, str(path))
        rows, before = _RowReader(str(path), reading, tally, size), 0
        for batch in batches:
            batch.validate()
            yield from rows.blocks(batch.column(batch.schema.get_field_index(reading.text_column)))
            on_bytes(_size(batch))
            before += _size(batch)
        on_bytes(path.stat().st_size - before)


def row_group_rows(path: Path) -> list[int]:
    """Return the number of rows of each row group of a Parquet file."""
    with _errors(path), _parquet(path) as file:
        return [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    need_pyarrow()
    from pyarrow import parquet

    if not is_remote(path):
        with parquet.ParquetFile(path, pre_buffer=False) as file:  # 1.1 times as fast
            yield file
        return
    # Parquet asks for ranges that it merges itself: what is read ahead of them would be read twice.
    with cast(Any, path).open("rb", ahead=HEAD) as stream, parquet.ParquetFile(stream, pre_buffer=True) as file:
        yield file


@contextmanager
def _arrow_batches(path: Path) -> Iterator[tuple[Any, Iterable[Any]]]:
    """Yield the schema and the batches of a file or stream of Arrow: mapped, or an object of a store as it is read."""
    arrow = need_pyarrow()
    with ExitStack() as stack:
        if is_remote(path):
            file = stack.enter_context(arrow.PythonFile(stack.enter_context(path.open("rb")), mode="r"))
        else:
            file = stack.enter_context(arrow.memory_map(str(path)))
        is_file = bytes(file.read(6)) == b"ARROW1"
        file.seek(0)
        reader = arrow.ipc.open_file(file) if is_file else arrow.ipc.open_stream(file)
        yield reader.schema, (map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    arrow = need_pyarrow()
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: of a column's name
        message = f"{path}: cannot read file: {str(error) or type(error).__name__:.200}"
        raise unreadable(CorpusError, message, cast(OSError, error), path) from error


def is_table(source: object) -> bool:
    """Whether a source is a table, stream or column of Arrow (PyArrow, Polars, DuckDB, ...), or a dataset."""
    return is_column(source) or (hasattr(source, "with_format") and hasattr(source, "column_names"))


def table_blocks(
    source: Any, reading: Reading, tally: Tally, size: int, on_bytes: Callable[[int], object]
) -> Iterator[Block]:
    """Yield the column of text of a source for which `is_table` is true; if the default is asked for, the only one."""
    name = type(source).__name__
    rows = _RowReader(name, reading, tally, size)
    for table in _tables(source):
        usual = reading.text_column == Reading().text_column and len(table.schema) == 1
        how = replace(reading, text_column=table.schema.names[0]) if usual else reading
        _column(table.schema, how, name)
        column = table.column(table.schema.get_field_index(how.text_column))
        for array in column.chunks if hasattr(column, "chunks") else [column]:
            yield from rows.blocks(array)
            on_bytes(_size(array))


def _tables(source: Any) -> Iterator[Any]:
    """Yield the tables or batches of a source for which `is_table` is true; a column is the only one of its table."""
    arrow = need_pyarrow()
    if isinstance(getattr(source, "column_names", None), dict):
        raise InputError(f"source: expected one split of a dataset, got those of {', '.join(source.column_names)}")
    try:
        if hasattr(source, "with_format"):
            yield from source.with_format("arrow").iter(ROWS)
        elif hasattr(source, "__arrow_c_stream__"):
            yield from _streamed(source)
        else:
            array = arrow.array(source)
            is_rows = arrow.types.is_struct(array.type)
            yield arrow.RecordBatch.from_struct_array(array) if is_rows else arrow.table({"text": array})
    except (arrow.ArrowException, TypeError) as error:  # TypeError: of values that Arrow has no type for
        name = type(source).__name__
        raise CorpusError(f"{name}: expected a column of texts, or a table with one: {error!s:.200}") from error


def _streamed(source: Any) -> Iterable[Any]:
    arrow = need_pyarrow()
    try:
        return cast(Iterable[Any], arrow.RecordBatchReader.from_stream(source))
    except arrow.ArrowInvalid as error:
        if "non-struct" not in str(error):
            raise
    return [arrow.table({"text": arrow.chunked_array(source)})]


def source_rows(
    source: Source,
    names: Sequence[str],
    reading: Reading,
    tally: Tally,
    on_bytes: Callable[[int], object],
    *,
    needed: int = 1,
) -> Iterator[tuple[object, Any]]:
    """Yield the rows of a source as JSON data, each with its place, for messages; InputError for files of text.

    names: the columns of tables that are read; each table needs the first `needed` of them.
    """
    if is_table(source):
        yield from _table_rows(source, "table", names, on_bytes, None, needed)
        return
    files, rows = files_and_texts(source)
    for path in files:
        yield from file_rows(path, kind_of_file(path), names, reading, tally, on_bytes)
    yield from ((f"row {number}", row) for number, row in enumerate(rows))


def file_rows(
    path: Path,
    kind: str,
    names: Sequence[str],
    reading: Reading,
    tally: Tally,
    on_bytes: Callable[[int], object],
    part: tuple[int, int] | None = None,
    *,
    needed: int = 1,
) -> Iterator[tuple[object, Any]]:
    """Yield the rows of a file, or of a part of it as in `read_corpus_file`; see `source_rows`."""
    if kind in ("text", "csv"):
        raise InputError(f"{path}: expected rows (JSON Lines, Parquet or Arrow), not a text file")
    if kind != "rows":
        with _errors(path):
            yield from _table_rows(path, kind, names, on_bytes, part, needed)
        return
    for data, offset in whole_lines(path, LINES, on_bytes, part):
        for line in data.split(b"\n"):
            content = line.removeprefix(BOM) if offset == 0 else line
            # To count the lines before this one takes time: it is for an error that ends the work.
            place = _LinePlace(path, offset) if reading.errors == "strict" else path
            offset += len(line) + 1
            found = loaded_row(content, place, reading, tally) if content.strip(BLANK) else None
            if found is not None:
                yield place, found[0]


class _LinePlace:
    """A line by the byte where it begins: as text, the file and the number of the line."""

    def __init__(self, path: Path, offset: int) -> None:
        self._path, self._offset = path, offset

    def __str__(self) -> str:
        number = 1
        for data, begins in whole_lines(self._path, LINES, lambda _: None):
            number += data.count(b"\n", 0, max(0, self._offset - begins))
            if begins + len(data) > self._offset:
                break
        return f"{self._path}: line {number}"


def _table_rows(
    source: Any,
    kind: str,
    names: Sequence[str],
    on_bytes: Callable[[int], object],
    groups: tuple[int, int] | None,
    needed: int,
) -> Iterator[tuple[object, Any]]:
    shown = type(source).__name__ if kind == "table" else str(source)
    number = sum(row_group_rows(source)[: groups[0]]) if groups else 0
    with ExitStack() as stack:
        for batch in _batches(source, kind, names, stack, groups):
            for name in names[:needed]:
                if name not in batch.schema.names:
                    found = _listed(batch.schema.names)
                    another = "; text_column names another" if name == names[0] else ""
                    raise CorpusError(f"{shown}: expected a column {name!r}, found {found}{another}")
            known = [name for name in names if name in batch.schema.names]
            for name in known:
                _check_once(batch.schema.names, name, shown)
            for values in zip(*(batch.column(name).to_pylist() for name in known), strict=True):
                yield f"{shown}: row {number}", dict(zip(known, values, strict=True))
                number += 1
            on_bytes(_size(batch))


def _batches(
    source: Any, kind: str, names: Sequence[str], stack: ExitStack, groups: tuple[int, int] | None = None
) -> Iterator[Any]:
    if kind == "parquet":
        file = stack.enter_context(_parquet(source))
        known = [name for name in names if name in file.schema_arrow.names] or None
        yield from file.iter_batches(ROWS, row_groups=range(*groups) if groups else None, columns=known)
    elif kind == "arrow":
        for batch in stack.enter_context(_arrow_batches(source))[1]:
            batch.validate(full=True)  # of what is in a file, nothing is checked before
            yield batch
    else:
        yield from _tables(source)


# ---------------------------------------------------------------------------------------------------------------------
# Reads tables of text with a header: fields between commas or tabs, quoted as Python's module csv has it.


def csv_rows(
    path: Path, reading: Reading, tally: Tally, size: int, on_bytes: Callable[[int], object]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place and the fields of each row; a short row lacks the last ones."""
    blocks = TextFile(path, replace(reading, documents="line", separator=None), tally, size, on_bytes).blocks()
    rows = _rows_of(_lines_of(blocks), "\t" if ".tsv" in path.name.lower() else ",")
    last = 0  # the last line of a row
    try:
        header, last, _ = next(rows, ([], 0, False))
        if reading.text_column not in header:
            raise CorpusError(
                f"{path}: expected a column {reading.text_column!r}, found {_listed(header)}; text_column names "
                "another; to read the file as plain text, rename it to .txt"
            )
        for row, line, is_open in rows:
            first, last = last + 1, line
            if is_open:  # its quote may have swallowed any number of rows
                told = "expected a quote at the end of its quoted field, got the end of the file"
                tally.refused(f"{path}: line {first}: {told}", reading.errors)
            elif row:
                yield f"{path}: line {line}", dict(zip(header, row, strict=False))
    except csv.Error as error:
        raise CorpusError(f"{path}: after line {last}: cannot read row: {error}") from None


# The limit of module csv, 131,072 characters in a field, is one of the whole process: who raises it holds this lock.
# There is one for each process: a fork may come while another thread holds it.
_LOCKS = dict[int, Lock]()
_ROWS = 32  # that are read before the limit is set back


def _rows_of(lines: Iterator[str], delimiter: str) -> Iterator[tuple[list[str], int, bool]]:
    """Yield rows with fields of any length, the last line of each, and whether the file ended inside a quoted field."""
    ended: list[bool] = []
    rows = csv.reader(chain(lines, _noted(ended)), delimiter=delimiter)
    while True:
        with _LOCKS.setdefault(os.getpid(), Lock()):
            before = csv.field_size_limit((1 << 31) - 1)
            try:
                batch = [(row, rows.line_num, bool(ended)) for row in islice(rows, _ROWS)]
            finally:
                csv.field_size_limit(before)
        yield from batch
        if len(batch) < _ROWS:
            return


def _noted(ended: list[bool]) -> Iterator[str]:
    """Yield nothing; note that a reader asked for more than there is."""
    ended.append(True)
    yield from ()


def csv_texts(
    path: Path, reading: Reading, tally: Tally, size: int, on_bytes: Callable[[int], object]
) -> Iterator[str]:
    """Yield the column of text of a table."""
    for place, row in csv_rows(path, reading, tally, size, on_bytes):
        if (text := row.get(reading.text_column)) is not None:
            yield text
        else:
            tally.refused(f"{place}: expected a field {reading.text_column!r}, found {len(row)} fields", reading.errors)


def _lines_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the lines of a text, which may begin in one block and end in another."""
    rest = ""
    for block in blocks:
        *lines, rest = (rest + block.data.decode()).split("\n")
        yield from (f"{line}\n" for line in lines)
    yield from [rest] if rest else []


# ---------------------------------------------------------------------------------------------------------------------
# Reads JSON Lines: the text of one field of each row, by a kernel; rows that it cannot decide one by one.


def json_blocks(
    path: Path,
    reading: Reading,
    tally: Tally,
    size: int,
    on_bytes: Callable[[int], object],
    part: tuple[int, int] | None = None,
    threads: int = 1,
) -> Iterator[Block]:
    """Yield the texts of a file of rows, or of the rows that begin within a part of it, in bytes."""
    before = 0

    def parsed(lines: tuple[bytes, int]) -> tuple[memoryview, NDArray[np.int64], Tally]:
        data, offset = lines
        found = Tally()
        text, ends = _texts(data.removeprefix(BOM) if offset == 0 else data, path, offset, reading, found)
        return text, ends, found

    lines = whole_lines(path, size, on_bytes, part)
    with closing(streamed(parsed, lines, threads, window=threads + 1)) as texts:
        for text, ends, found in texts:
            tally.add(found)
            yield from blocks_of(text, ends, str(path), before, size, tally)
            before += len(text)


def _texts(
    data: bytes, path: Path, offset: int, reading: Reading, tally: Tally
) -> tuple[memoryview, NDArray[np.int64]]:
    """Return the texts of rows, one after the other, and where each ends."""
    from subwords.kernels.named import field_texts

    if invalid_place(data) is not None:
        return _row_by_row(data, path, offset, reading, tally)
    out, ends = np.empty(len(data) + layout.LANES, np.uint8), np.empty(data.count(b"\n") + 1, np.int64)
    counters, text = np.zeros(3, np.int64), out.data
    rows, name = np.frombuffer(data, np.uint8), np.frombuffer(reading.text_column.encode(), np.uint8)
    while field_texts(rows, name, out, ends, counters) != layout.DONE:
        at, written, count = counters.tolist()
        stop = data.find(b"\n", at) + 1 or len(data)
        found = _row(data[at:stop], f"{path}: row at byte {offset + at}", reading, tally)
        text[written : written + len(found)] = found
        ends[count] = written + len(found)
        counters[:] = stop, written + len(found), count + 1
    return text[: counters[layout.JSON_ROW.written]], ends[: counters[layout.JSON_ROW.width]]


def _row_by_row(
    data: bytes, path: Path, offset: int, reading: Reading, tally: Tally
) -> tuple[memoryview, NDArray[np.int64]]:
    texts = list[bytes]()
    for line in data.split(b"\n"):
        if line.strip(BLANK):
            texts.append(_row(line, f"{path}: row at byte {offset}", reading, tally))
        offset += len(line) + 1
    return memoryview(b"".join(texts)), np.cumsum([len(text) for text in texts], dtype=np.int64)


def _row(line: bytes, place: str, reading: Reading, tally: Tally) -> bytes:
    """Return the text of a row, b"" if it is left out."""
    found = loaded_row(line, place, reading, tally)
    if found is None:
        return b""
    row, damaged = found
    counted = Tally()
    result = decode_row(row, place, reading, counted)
    if not damaged:
        tally.add(counted)
    return result


def loaded_row(line: bytes, place: object, reading: Reading, tally: Tally) -> tuple[Any, bool] | None:
    """Return a row, and whether bytes of it were replaced; None if it is left out."""
    damaged = False
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        tally.refused(f"{place}: expected UTF-8, got byte 0x{line[error.start]:02x}", reading.errors)
        if reading.errors == "skip":
            return None
        text, damaged = line.decode(errors="replace"), True
    try:
        return json.loads(text), damaged
    except (ValueError, RecursionError) as error:
        if not damaged:
            tally.refused(f"{place}: expected a JSON object, {error!s:.80}", reading.errors)
        return None


def decode_row(row: Any, place: object, reading: Reading, tally: Tally) -> bytes:
    """Return the text of a row in UTF-8, b"" if it has none and may be without."""
    field = reading.text_column
    text = row.get(field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        if not isinstance(row, dict):
            came = f"an object, found {type(row).__name__}"
        elif field in row:
            came = f"text in field {field!r}, found {json.dumps(text, default=str):.40}"
        else:
            fields = ", ".join(map(repr, list(row)[:20])) or "none"
            came = f"a field {field!r}, found {fields}; text_column names another"
        tally.refused(f"{place}: expected {came}", reading.errors)
        return b""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        tally.refused(f"{place}: expected characters, got the lone surrogate {code}", reading.errors)
        return b"" if reading.errors == "skip" else LONE_SURROGATE.sub("\ufffd", text).encode()
