"""Read token files: ids of many documents, of any size, in place.

>>> import numpy as np, tempfile
>>> from subwords import files
>>> with tempfile.TemporaryDirectory() as folder:
...     np.save(f"{folder}/ids.npy", np.array([5, 6, 0, 7, 0], np.uint16))
...     documents = files.open(f"{folder}/ids.npy", eos=0)
...     [ids.tolist() for ids in documents]
[[5, 6, 0], [7, 0]]
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from subwords.support.checks import check_choice, check_integer
from subwords.support.errors import FormatError, InputError
from subwords.support.files import place_of
from subwords.tokens.formats import FORMATS, format_of
from subwords.tokens.manifest import checked_files, manifest_path, read_manifest
from subwords.tokens.token_file import MappedFile, Shards, TokenFile, by_offsets
from subwords.tokens.write import misleading

__all__ = ["TokenFile", "check", "open"]

Format = Literal["npy", "bin", "megatron", "parquet", "datatrove", "llmc"]
MANIFEST = ".manifest.json"
DTYPES = ("uint8", "uint16", "uint32", "int32")  # uint8: of masks


def open(
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    dtype: Literal["uint8", "uint16", "uint32", "int32"] | None = None,
    eos: int | None = None,
) -> TokenFile:
    """Open a token file, or all shards by their manifest or by the name they were written by.

    `opened[i]` is the array of ids of document i, `opened[i:j]` are several documents.
    The format is found by content: a NumPy file, raw ids (.bin; dtype is needed without a manifest), Megatron's .bin
    and .idx (the name without suffix works too), Parquet with one column of lists, datatrove's .ds, llm.c's .bin. Ids
    are mapped, so opening takes no time and memory; of Parquet, a row group at a time is read. eos: for a file that
    does not say where documents end, the id that ends one.

    Raises InputError for a missing file or an invalid option, FormatError for a damaged file. Hazard: a file that is
    cut shorter while it is open ends the process.
    """
    file = place_of(path, local=True)
    if format is not None:
        check_choice("format", format, FORMATS)
    if not file.exists() and manifest_path(file).is_file():  # shards that were written by this name
        file = manifest_path(file)
    if file.name.endswith(MANIFEST):
        if format or dtype or eos is not None:
            raise InputError(f"{file}: the manifest says what its files are: leave out format, dtype and eos")
        return _shards(file)
    if not file.exists() and file.with_name(f"{file.name}.idx").exists():
        file = file.with_name(f"{file.name}.bin")
    if dtype is not None:
        check_choice("dtype", dtype, DTYPES)
    elif manifest_path(file).exists():
        dtype = _dtype_of(file)
    opened = _reopen(format or format_of(file).name, file, np.dtype(dtype) if dtype else None)
    return opened if eos is None else _ended_by(opened, eos)


def check(path: str | PathLike[str]) -> list[str]:
    """Compare token files with the sizes and checksums of their manifest; return the names of files that differ.

    An index of Megatron beside files of another format is named too: readers would take it for an index of these files.
    """
    place = place_of(path)
    return [*checked_files(place), *(file.name for file in misleading(place, read_manifest(place)))]


def _shards(path: Path) -> TokenFile:
    manifest = read_manifest(path)
    contents = manifest.contents
    check_choice("format", contents.format, FORMATS)
    check_choice("dtype", contents.dtype, DTYPES)
    dtype = np.dtype(contents.dtype).newbyteorder("<")
    files = [_reopen(contents.format, path.with_name(shard.files[0].name), dtype) for shard in manifest.shards]
    for file, shard in zip(files, manifest.shards, strict=True):
        if len(file) != shard.documents:
            raise FormatError(f"{file.path}: expected {shard.documents} documents, as {path} says, found {len(file)}")
    return Shards(path, files, contents.format, dtype).opened_by(_shards, path.absolute())


def _reopen(format: str, path: Path, dtype: np.dtype[Any] | None) -> TokenFile:
    return FORMATS[format].read(path, dtype).opened_by(_reopen, format, path.absolute(), dtype)


def _dtype_of(path: Path) -> Literal["uint8", "uint16", "uint32", "int32"] | None:
    """Return the type of ids that the manifest beside a file says, if it lists the file."""
    manifest = read_manifest(manifest_path(path))
    listed = any(file.name == path.name for shard in manifest.shards for file in shard.files)
    return manifest.contents.dtype if listed else None  # type: ignore[return-value]


def _ended_by(opened: TokenFile, eos: int) -> TokenFile:
    """Return the documents of a file without boundaries: each ends with this id; so are the ids after the last one."""
    check_integer("eos", eos, 0, (1 << 32) - 1)
    if not isinstance(opened, MappedFile) or len(opened) != 1:
        raise InputError(f"{opened.path}: the file says where its {len(opened)} documents end: leave out eos")
    offsets = np.append(0, np.flatnonzero(opened.ids == eos) + 1)
    if offsets[-1] < len(opened.ids):
        offsets = np.append(offsets, len(opened.ids))
    documents = len(offsets) - 1
    ended = MappedFile(opened.path, opened.format, opened.ids, documents, by_offsets(offsets))
    return ended.opened_by(_ended_by, opened, eos)


def __dir__() -> list[str]:
    return [*__all__]
