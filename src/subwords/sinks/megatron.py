r"""Megatron-LM's .bin and .idx (megatron/core/datasets/indexed_dataset.py).

.bin: raw ids. .idx, little-endian: "MMIDIDX\0\0", uint64 version 1, uint8 code of the type, uint64 sequences, uint64
documents + 1, int32 length of each sequence, int64 its first byte in .bin, int64 first sequence of each document and
the number of sequences. Here a document is one sequence, or none if it has no ids: so does Megatron's own tool. Hazard:
Megatron has no uint32, and takes int32 for vocabularies from 65,500 on, though uint16 holds more; so do we.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError, InputError
from subwords.sinks.layout import Append, Sums, TokenFormat
from subwords.sinks.parts import Ends, spooled_ends, summed_write, write_numbers
from subwords.sinks.token_file import Bounds, MappedFile, TokenFile, mapped

__all__ = ["MAGIC", "MEGATRON", "has_index", "index_path"]

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<9sQBQQ")
CODES = {1: "u1", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 8: "u2"}
LONGEST = (1 << 31) - 1  # ids of a sequence


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


def _files(path: Path) -> tuple[Path, ...]:
    return path.with_suffix(".bin"), index_path(path)


@contextmanager
def _written(path: Path, dtype: np.dtype[Any], sums: Sums) -> Iterator[Append]:
    with ExitStack() as stack:
        # The files appear in the opposite order, so where there is an index, there are the ids.
        index = stack.enter_context(summed_write(index_path(path), sums))
        stream = stack.enter_context(summed_write(path.with_suffix(".bin"), sums))
        ends = stack.enter_context(spooled_ends(path))
        sequences = 0

        def append(ids: NDArray[Any], stops: NDArray[np.int64]) -> None:
            nonlocal sequences
            lengths = ends.append(len(ids), stops)
            if len(lengths) and lengths.max() > LONGEST:
                raise InputError(f"format megatron holds documents of at most {LONGEST} ids, not {lengths.max()}")
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


def _read(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    index = index_path(path)
    try:
        with index.open("rb") as stream:
            head = stream.read(HEADER.size)
    except OSError as error:
        raise InputError(f"cannot read file {index}: {error.strerror}") from None
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


MEGATRON = TokenFormat("megatron", ".bin", ("uint16", "int32"), _written, _read, _files, most=65_499)
