"""NumPy files and raw ids, and where documents begin in a second NumPy file: .npy, .bin, llm.c's .bin.

Raw ids are what nanoGPT maps (uint16); OLMo's .npy is raw too, in spite of its name. llm.c's files (llm.c, dataloader)
begin with 256 int32: magic, version, number of ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError, InputError
from subwords.results.token_block import TokenBlock
from subwords.sinks.layout import Append, Sums, TokenFormat
from subwords.sinks.parts import Ends, spooled_ends, summed_write, write_npy_header, write_numbers
from subwords.sinks.token_file import MappedFile, TokenFile, by_offsets, mapped
from subwords.support.atomic import atomic_write
from subwords.support.remote import is_remote, local_copy

__all__ = ["BIN", "LLMC", "NPY", "npy_blocks", "offsets_path"]

STEP = 1 << 20  # ids that are read at once
LLMC_HEADER = 256  # int32
# The magic number and the version by type of an id.
LLMC_KINDS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
LLMC_MOST = (1 << 31) - 1  # ids of a file


def offsets_path(path: Path) -> Path:
    """Return the file with the starts of documents that belongs to a file of ids."""
    return path.with_name(f"{path.stem}.offsets.npy")


def _files(path: Path) -> tuple[Path, ...]:
    return path, offsets_path(path)


# Writes the header of a file: its number of ids is known at the end.
Header = Callable[[IO[bytes], np.dtype[Any], int], None]


@contextmanager
def _written(path: Path, dtype: np.dtype[Any], sums: Sums, header: Header | None) -> Iterator[Append]:
    with ExitStack() as stack:
        # The files appear in the opposite order, so where there are offsets, there are the ids.
        index = stack.enter_context(summed_write(offsets_path(path), sums))
        stream = stack.enter_context(atomic_write(path) if header else summed_write(path, sums))
        ends = stack.enter_context(spooled_ends(path))
        if header:
            header(stream, dtype, 0)

        def append(ids: NDArray[Any], stops: NDArray[np.int64]) -> None:
            write_numbers(stream, ids, dtype)
            ends.append(len(ids), stops)

        yield append
        if header:
            stream.seek(0)
            header(stream, dtype, ends.tokens)
        _write_offsets(index, ends)


def _write_offsets(stream: IO[bytes], ends: Ends) -> None:
    kind = np.dtype("<i8")
    write_npy_header(stream, kind, ends.documents + 1)
    write_numbers(stream, np.zeros(1, kind), kind)
    for batch in ends.batches():
        write_numbers(stream, batch, kind)


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
        raise InputError(f"cannot read file {path}: {error.strerror}") from None
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path}: expected a NumPy file: {error}") from None
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.kind not in "iu":
        kind = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "an archive"
        raise FormatError(f"{path}: expected integers in one dimension, found {kind}")
    return found


# ------------------------------------------------------------------ npy


def _write_npy(path: Path, dtype: np.dtype[Any], sums: Sums) -> Any:
    return _written(path, dtype, sums, write_npy_header)


def _read_npy(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    ids = mapped_npy(path)
    if dtype is not None and ids.dtype != dtype:
        raise InputError(f"{path}: expected {dtype}, found {ids.dtype}")
    return _file(path, "npy", ids)


def npy_blocks(path: Path) -> Iterator[TokenBlock]:
    """Yield the documents of a .npy with its offsets, some megabytes at a time; of a store, from temporary copies."""
    if is_remote(path):
        try:
            with local_copy(path) as ids, local_copy(offsets_path(path)) as offsets:
                yield from _npy_blocks(ids, offsets)
        except OSError as error:
            raise InputError(f"cannot read file {path}: {error.strerror or error}") from error
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


def _write_bin(path: Path, dtype: np.dtype[Any], sums: Sums) -> Any:
    return _written(path, dtype, sums, None)


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


def _write_llmc(path: Path, dtype: np.dtype[Any], sums: Sums) -> Any:
    return _written(path, dtype, sums, _llmc_header)


def _read_llmc(path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    magic, version, count = (int(n) for n in mapped(path, "<i4", count=LLMC_HEADER)[:3])
    name = next((name for name, kind in LLMC_KINDS.items() if kind == (magic, version)), None)
    if name is None:
        raise FormatError(f"{path}: expected a file of llm.c, found magic number {magic} and version {version}")
    if dtype is not None and dtype.name != name:
        raise InputError(f"{path}: expected {dtype}, found {name}")
    return _file(path, "llmc", mapped(path, np.dtype(name).newbyteorder("<"), offset=4 * LLMC_HEADER, count=count))


NPY = TokenFormat("npy", ".npy", ("uint16", "uint32"), _write_npy, _read_npy, _files)
BIN = TokenFormat("bin", ".bin", ("uint16", "uint32"), _write_bin, _read_bin, _files)
LLMC = TokenFormat("llmc", ".bin", ("uint16", "uint32"), _write_llmc, _read_llmc, _files)
