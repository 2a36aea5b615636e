"""Parquet with one column of lists of ids: what `datasets`, polars and Spark read. Needs PyArrow, the extra `arrow`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.spec.token_batch import TokenBlock
from subwords.support.errors import FormatError, InputError
from subwords.support.files import atomic_write
from subwords.support.names import install_hint
from subwords.tokens.token_file import Append, Sums, TokenFile, TokenFormat

COLUMN = "input_ids"  # the name that transformers' models take
GROUP = 1 << 22  # ids of a row group
HELD = 2  # row groups in memory while a file is read


@contextmanager
def _append_parquet(path: Path, dtype: np.dtype[Any], sums: Sums) -> Iterator[Append]:
    pyarrow = _pyarrow()
    with ExitStack() as stack:
        stream = stack.enter_context(atomic_write(path))
        kind = pyarrow.list_(pyarrow.from_numpy_dtype(dtype))
        schema = pyarrow.schema([(COLUMN, kind)])
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
        file = pyarrow.parquet.ParquetFile(path, memory_map=True)
    except OSError as error:
        raise InputError(f"cannot read file {path}: {error.strerror or error}") from None
    except pyarrow.ArrowException as error:
        raise FormatError(f"{path}: expected a Parquet file: {error}") from None
    return _ParquetFile(path, file, dtype)


class _ParquetFile(TokenFile):
    """The documents of a Parquet file: a row group is decompressed when one of its documents is asked for."""

    def __init__(self, path: Path, file: Any, dtype: np.dtype[Any] | None) -> None:
        column = _column(path, file.schema_arrow)
        kind = np.dtype(column.type.value_type.to_pandas_dtype())
        if dtype is not None and dtype != kind:
            raise InputError(f"{path}: expected {dtype}, found {kind}")
        groups = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
        self._firsts = np.cumsum([0, *groups])
        self.path, self.format, self.dtype = path, "parquet", kind

        def read(group: int) -> tuple[NDArray[Any], NDArray[Any]]:
            rows = file.read_row_group(group, columns=[column.name]).column(0).combine_chunks()
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
        raise InputError(f"Parquet files need PyArrow: {install_hint('arrow')}") from error
    return pyarrow


PARQUET = TokenFormat("parquet", ".parquet", ("uint16", "uint32"), _append_parquet, _read_parquet, lambda path: (path,))
