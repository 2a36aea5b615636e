"""datatrove's .ds: raw ids, .ds.index with the ends of documents (uint64), .ds.metadata (pipeline/tokens)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError, InputError
from subwords.sinks.layout import Append, Sums, TokenFormat
from subwords.sinks.parts import spooled_ends, summed_write, write_numbers
from subwords.sinks.token_file import MappedFile, TokenFile, mapped
from subwords.support.atomic import atomic_write

__all__ = ["DATATROVE"]

UNITS = ("T", "kT", "MT", "GT", "TT", "PT")


@contextmanager
def _written(path: Path, dtype: np.dtype[Any], sums: Sums) -> Iterator[Append]:
    with ExitStack() as stack:
        # The files appear in the opposite order, so where there is metadata, there is all.
        metadata = stack.enter_context(atomic_write(_beside(path, "metadata"), "w"))
        index = stack.enter_context(summed_write(_beside(path, "index"), sums))
        stream = stack.enter_context(summed_write(path, sums))
        ends = stack.enter_context(spooled_ends(path))

        def append(ids: NDArray[Any], stops: NDArray[np.int64]) -> None:
            write_numbers(stream, ids, dtype)
            ends.append(len(ids), stops)

        yield append
        for batch in ends.batches():
            write_numbers(index, batch, np.dtype("<u8"))
        metadata.write(f"subwords|{dtype.itemsize}\n{ends.tokens}\n{_rounded(ends.tokens)}")


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def _files(path: Path) -> tuple[Path, ...]:
    return path, _beside(path, "index"), _beside(path, "metadata")


def _rounded(count: int) -> str:
    """Return a number of tokens as three digits and a unit, as `humanize.metric` writes it."""
    power = min(len(UNITS) - 1, (len(str(count)) - 1) // 3)
    digits = 2 - (len(str(count)) - 1) % 3
    return f"{count / 1000**power:.{digits}f} {UNITS[power]}"


def _read(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    ends = mapped(_beside(path, "index"), "<u8")
    total = int(ends[-1]) if len(ends) else 0
    size = _size_of_an_id(path, total) if dtype is None else dtype.itemsize
    ids = mapped(path, f"<u{size}")
    if total != len(ids):
        raise FormatError(f"{path}: expected {total} ids, as its index says, found {len(ids)} of {size} bytes")
    return MappedFile(path, "datatrove", ids, len(ends), lambda i: (int(ends[i - 1]) if i else 0, int(ends[i])))


def _size_of_an_id(path: Path, total: int) -> int:
    """Return the bytes of an id, by the size of the file: 2 or 4."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read file {path}: {error.strerror}") from None
    return 4 if total and size == 4 * total else 2


DATATROVE = TokenFormat("datatrove", ".ds", ("uint16", "uint32"), _written, _read, _files)
