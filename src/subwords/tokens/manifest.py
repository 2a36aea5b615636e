"""The manifest of token files as JSON: their content, source, tokenizer and checksums."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subwords.support.errors import FormatError, InputError, readable, unreadable
from subwords.support.files import atomic_write, check_pointer, is_remote
from subwords.support.report import Report, Table

VERSION = 1
STEP = 1 << 20


@dataclass(frozen=True)
class Input:
    """A source of the documents, and its bytes as read."""

    name: str
    bytes: int


@dataclass(frozen=True)
class PartFile:
    """A file of a shard, by its name beside the manifest."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Shard:
    """Consecutive documents: the number of them and of their ids, and the files that hold them, the ids first."""

    documents: int
    tokens: int
    files: tuple[PartFile, ...]


@dataclass(frozen=True)
class Contents:
    """The properties that all shards share.

    tokenizer: the digest of its spec. bos, eos: the ids put before and after each document. shuffle: the seed by which
    the documents of each shard were shuffled. skipped, replaced, cut: how many documents of the corpus were left out,
    read with replacements, or cut short. masked: whether there are masks beside the ids, in files of a manifest of
    their own. pack: the ids of each document, if conversations were packed; then also pad, the id at the end of rows,
    how many ids are padding, and how many conversations there were and how many of them were longer than a row.
    """

    format: str
    dtype: str
    vocab_size: int
    tokenizer: str | None = None
    bos: int | None = None
    eos: int | None = None
    shuffle: int | None = None
    skipped: int = 0
    replaced: int = 0
    cut: int = 0
    masked: bool = False
    pack: int | None = None
    pad: int | None = None
    padding: int = 0
    conversations: int = 0
    split: int = 0
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True)
class Manifest(Report):
    """What token files contain, and their shards with sizes and checksums."""

    contents: Contents
    shards: tuple[Shard, ...]

    def tables(self) -> list[Table]:
        """Return the shards."""
        rows = [
            (one.files[0].name, one.documents, one.tokens, sum(file.bytes for file in one.files)) for one in self.shards
        ]
        return [Table(("file", "documents", "ids", "bytes"), rows, "Token files", "tab:token-files")]


def manifest_path(path: Path) -> Path:
    """Return the manifest of the token files that are written by this name."""
    return path.with_name(f"{path.stem}.manifest.json")


def part_file(path: Path, checksum: str | None = None) -> PartFile:
    """Return name, size and checksum of a file; the checksum may be known."""
    if checksum is not None:
        return PartFile(path.name, path.stat().st_size, checksum)
    state, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while data := stream.read(STEP):
            state.update(data)
            size += len(data)
    return PartFile(path.name, size, state.hexdigest())


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest."""
    with atomic_write(path, "w") as stream:
        json.dump({"version": VERSION, **manifest.to_dict()}, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


def read_manifest(path: Path) -> Manifest:
    """Return a manifest; FormatError unless it is one."""
    with readable(path):
        data = path.read_bytes()
    check_pointer(data, path)
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected the manifest of token files as JSON: {error}") from None
    try:
        if found["version"] != VERSION:
            raise FormatError(f"{path}: expected a manifest of version {VERSION}, found {found['version']!r:.40}")
        contents = found["contents"]
        inputs = tuple(Input(str(row["name"]), int(row["bytes"])) for row in contents.pop("inputs"))
        shards = tuple(
            Shard(int(row["documents"]), int(row["tokens"]), tuple(PartFile(**file) for file in row["files"]))
            for row in found["shards"]
        )
        manifest = Manifest(Contents(**contents, inputs=inputs), shards)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(f"{path}: expected the manifest of token files: {error!r:.200}") from None
    for shard in shards:
        if not shard.files or not all(_is_beside(file.name) for file in shard.files):
            raise FormatError(f"{path}: expected names of files beside the manifest, found {shard.files!r:.200}")
    return manifest


def _is_beside(name: object) -> bool:
    if not isinstance(name, str) or name.encode("utf-8", "ignore").decode() != name:  # a lone surrogate
        return False
    return Path(name).name == name not in ("", "..") and "\0" not in name


def checked_files(path: Path) -> list[str]:
    """Compare the files of a manifest with its sizes and checksums; return the names of those that differ."""
    files = [file for shard in read_manifest(path).shards for file in shard.files]
    return [file.name for file in files if not _is(path.with_name(file.name), file)]


def _is(path: Path, file: PartFile) -> bool:
    try:
        return path.stat().st_size == file.bytes and part_file(path) == file
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------------------
# Marks: small JSON files beside others; where there is a mark, the file it is for is complete.


def write_mark(path: Path, fields: dict[str, Any]) -> None:
    """Write a mark; it appears complete or not at all."""
    with atomic_write(path, "w") as stream:
        json.dump(fields, stream)


def read_mark(path: Path) -> dict[str, Any] | None:
    """Return the fields of a mark; None if there is none, or if it is damaged.

    InputError if an object store does not answer: the work would be done again, or taken for that of others.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        if is_remote(path) and isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise unreadable(InputError, f"cannot read file {path}: {error.strerror}", error, path) from error
        return None
    return found if isinstance(found, dict) else None
