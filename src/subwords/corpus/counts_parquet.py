"""Reads and writes WordCounts as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.provenance import Provenance, bytes_of_text
from subwords.errors import CorpusError, FormatError
from subwords.support.atomic import atomic_write, place_of
from subwords.support.install import install_hint

if TYPE_CHECKING:
    from subwords.corpus.counts import WordCounts

__all__ = ["read_parquet", "write_parquet"]

_KEY = b"subwords"  # the provenance
_SIZE = b"subwords.text_bytes"
# Readers and writers keep a whole row group in memory.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 64 << 20


def write_parquet(counts: WordCounts, path: str | PathLike[str]) -> None:
    """Write counts as the columns `word` (large_binary), `count` (uint64) and, if counted, `documents` (uint64).

    Their provenance and the bytes of the text are in the metadata.

    CorpusError without PyArrow; InputError if the file cannot be written.

    >>> import tempfile
    >>> import subwords
    >>> from subwords.corpus.counts_parquet import write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(subwords.count(["a b a"]), f"{folder}/counts.parquet")
    ...     dict(subwords.WordCounts.load(f"{folder}/counts.parquet"))
    {b'a': 1, b' b': 1, b' a': 1}
    """
    pa = _pyarrow()
    import pyarrow.parquet as pq

    metadata = {_KEY: json.dumps(vars(counts.provenance))}
    metadata |= {} if counts.text_bytes is None else {_SIZE: str(counts.text_bytes)}
    schema = _schema(pa, counts.documents is not None).with_metadata(metadata)
    with (
        atomic_write(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as out,
    ):
        for start, stop in _groups(counts.offsets):
            offsets = np.ascontiguousarray(counts.offsets[start : stop + 1] - counts.offsets[start])
            data = np.ascontiguousarray(counts.data[counts.offsets[start] : counts.offsets[stop]])
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            words = pa.Array.from_buffers(pa.large_binary(), stop - start, buffers)
            numbers = [counts.counts] if counts.documents is None else [counts.counts, counts.documents]
            columns = [words, *(pa.array(np.ascontiguousarray(array[start:stop])) for array in numbers)]
            out.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=stop - start)


def read_parquet(
    path: str | PathLike[str],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64], Provenance, NDArray[np.uint64] | None, int | None]:
    """Return the fields of counts that `write_parquet` wrote, read into memory.

    FormatError for a damaged file or other columns, types or metadata; CorpusError for an unreadable file or without
    PyArrow.
    """
    pa = _pyarrow()
    import pyarrow.parquet as pq

    path = place_of(path)
    try:
        with path.open("rb") as file:
            table = pq.ParquetFile(file, page_checksum_verification=True)
            has_documents = "documents" in table.schema_arrow.names
            provenance, text_bytes = _metadata(table.schema_arrow, _schema(pa, has_documents), path)
            data, offsets, counts, documents = _arrays(table, path)
    except pa.ArrowException as error:
        raise FormatError(f"{path}: invalid Parquet file of word counts: {error}") from None
    except OSError as error:
        if error.filename is None:  # from Parquet, not from the file system
            raise FormatError(f"{path}: invalid Parquet file of word counts: {error}") from None
        raise CorpusError(f"cannot read word counts at {path}: {error.strerror}") from None
    return data, offsets, counts, provenance, documents if has_documents else None, text_bytes


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise CorpusError(f".parquet files need PyArrow: {install_hint('arrow')}") from error
    return pyarrow


def _schema(pa: Any, documents: bool = False) -> Any:
    numbers = ["count", "documents"] if documents else ["count"]
    return pa.schema(
        [pa.field("word", pa.large_binary(), False), *(pa.field(name, pa.uint64(), False) for name in numbers)]
    )


def _groups(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    start, words = 0, len(offsets) - 1
    while start < words:
        stop = int(np.searchsorted(offsets, offsets[start] + _GROUP_BYTES, "right")) - 1
        stop = min(max(stop, start + 1), start + _GROUP_ROWS, words)
        yield start, stop
        start = stop


def _metadata(schema: Any, expected: Any, path: Path) -> tuple[Provenance, int | None]:
    columns = [(field.name, field.type) for field in schema]
    if columns != [(field.name, field.type) for field in expected]:
        came = ", ".join(f"{name} ({kind})" for name, kind in columns)
        raise FormatError(f"{path}: expected the columns word (large_binary) and count (uint64), found {came}")
    stored = (schema.metadata or {}).get(_KEY)
    if stored is None:
        raise FormatError(
            f"{path}: missing provenance of the words: expected JSON under the key 'subwords' in the metadata"
        )
    try:
        size = schema.metadata.get(_SIZE)
        return Provenance.from_fields(json.loads(stored)), bytes_of_text(None if size is None else json.loads(size))
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: invalid provenance of the words in the metadata: {error}") from None


def _arrays(
    table: Any, path: Path
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the bytes, offsets, counts and numbers of documents (empty without) of all words, group after group."""
    data, lengths, counts = [np.zeros(0, np.uint8)], [np.zeros(1, np.int64)], [np.zeros(0, np.uint64)]
    documents = [np.zeros(0, np.uint64)]
    for group in range(table.num_row_groups):
        rows = table.read_row_group(group)
        if any(column.null_count for column in rows.columns):
            raise FormatError(f"{path}: expected a word and a count in every row; row group {group} holds nulls")
        for words in rows.column("word").chunks:
            _, bounds, content = words.buffers()
            ends = np.frombuffer(bounds, np.int64)[words.offset : words.offset + len(words) + 1]
            lengths.append(np.diff(ends))
            data.append(np.frombuffer(content or b"", np.uint8)[ends[0] : ends[-1]])
        counts.append(rows.column("count").to_numpy())
        if "documents" in rows.column_names:
            documents.append(rows.column("documents").to_numpy())
    offsets = np.cumsum(np.concatenate(lengths))
    return np.concatenate(data), offsets, np.concatenate(counts), np.concatenate(documents)
