"""Shards: parts of a corpus that are read on their own, and never cut a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from subwords.corpus.blocks import Block
from subwords.corpus.files import is_packed
from subwords.corpus.read import FileKind, kind_of_file, read_file
from subwords.corpus.reading import Reading, Tally
from subwords.corpus.sampling import chosen
from subwords.errors import CorpusError
from subwords.support.remote import version_of

__all__ = ["Piece", "Shard", "blocks_of_shard", "shards_of"]


@dataclass(frozen=True)
class Piece:
    """A file, or a part of it: lines that begin between two bytes, or row groups.

    modified: its time in ns, or what an object store says of its version. place: the file; `path` is its name.
    """

    path: str
    kind: FileKind
    part: tuple[int, int] | None
    size: int
    modified: int | str
    place: Path = field(compare=False)


@dataclass(frozen=True)
class Shard:
    """Consecutive pieces of a corpus."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """The number of bytes on disk."""
        return sum(piece.size for piece in self.pieces)


def shards_of(files: Sequence[Path], reading: Reading, *, size: int) -> list[Shard]:
    """Return files as shards of about `size` bytes, in their order; CorpusError for a file that cannot be read.

    JSON Lines, and text whose lines are documents, are cut anywhere unless they are compressed; Parquet between row
    groups; other files are not cut.
    """
    shards: list[Shard] = []
    pieces: list[Piece] = []
    for piece in chain.from_iterable(_pieces(path, reading, size) for path in files):
        if pieces and sum(one.size for one in pieces) + piece.size > size:
            shards.append(Shard(len(shards), tuple(pieces)))
            pieces = []
        pieces.append(piece)
    if pieces:
        shards.append(Shard(len(shards), tuple(pieces)))
    return shards


def _pieces(path: Path, reading: Reading, size: int) -> Iterator[Piece]:
    kind = kind_of_file(path)
    try:
        found, version = path.stat(), version_of(path)
        packed = is_packed(path)
    except OSError as error:
        raise CorpusError(f"{path}: cannot read file: {error.strerror}") from error
    if not path.is_file():
        raise CorpusError(f"{path}: expected a file: a pipe cannot be read in shards")
    total = found.st_size
    by_lines = kind == "rows" or (kind == "text" and reading.documents == "line")
    if kind == "parquet":
        for part, share in _row_groups(path, total, size):
            yield Piece(str(path), kind, part, share, version, path)
    elif by_lines and not packed and total > size:
        for start in range(0, total, size):
            stop = min(start + size, total)
            yield Piece(str(path), kind, (start, stop), stop - start, version, path)
    else:
        yield Piece(str(path), kind, None, total, version, path)


def _row_groups(path: Path, total: int, size: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield ranges of row groups, and their share of the bytes."""
    from subwords.corpus.columns import row_group_rows

    rows = row_group_rows(path)
    first = held = 0
    for group, count in enumerate(rows):
        share = total * count // max(1, sum(rows))
        if held and held + share > size:
            yield (first, group), held
            first, held = group, 0
        held += share
    yield (first, len(rows)), held


def blocks_of_shard(
    shard: Shard,
    reading: Reading,
    *,
    block_size: int,
    tally: Tally,
    threads: int,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Iterator[Block]:
    """Read a shard."""
    blocks = chain.from_iterable(
        read_file(
            piece.place,
            reading,
            kind=piece.kind,
            block_size=block_size,
            on_bytes=on_bytes,
            tally=tally,
            part=piece.part,
            threads=threads,
        )
        for piece in shard.pieces
    )
    return chosen(blocks, reading, tally)
