"""The work on a shard: what it is, its counts or its ids, as a file in the folder of a job."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subwords.corpus.blocks import Block, chosen
from subwords.corpus.count import count_blocks, count_blocks_to
from subwords.corpus.files import is_packed
from subwords.corpus.read import FileKind, kind_of_file, read_corpus_file
from subwords.corpus.reading import Reading, Tally
from subwords.normalize.resolve import normalizer, splitter
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.errors import CorpusError
from subwords.support.files import version_of
from subwords.support.memory import room_of
from subwords.support.value import Value, digest_of
from subwords.tokens.manifest import read_mark, write_mark
from subwords.training.count import normalizer_or_none, word_source

if TYPE_CHECKING:
    from subwords.chat.chat import Dataset

# ---------------------------------------------------------------------------------------------------------------------
# Shards: parts of a corpus that are read on their own, and never cut a document.


@dataclass(frozen=True)
class FileRange:
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
class CorpusShard:
    """Consecutive pieces of a corpus."""

    number: int
    pieces: tuple[FileRange, ...]

    @property
    def size(self) -> int:
        """The number of bytes on disk."""
        return sum(piece.size for piece in self.pieces)


def shards_of(files: Sequence[Path], reading: Reading, *, size: int) -> list[CorpusShard]:
    """Return files as shards of about `size` bytes, in their order; CorpusError for a file that cannot be read.

    JSON Lines, and text whose lines are documents, are cut anywhere unless they are compressed; Parquet between row
    groups; other files are not cut.
    """
    shards: list[CorpusShard] = []
    pieces: list[FileRange] = []
    for piece in chain.from_iterable(_pieces(path, reading, size) for path in files):
        if pieces and sum(one.size for one in pieces) + piece.size > size:
            shards.append(CorpusShard(len(shards), tuple(pieces)))
            pieces = []
        pieces.append(piece)
    if pieces:
        shards.append(CorpusShard(len(shards), tuple(pieces)))
    return shards


def _pieces(path: Path, reading: Reading, size: int) -> Iterator[FileRange]:
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
            yield FileRange(str(path), kind, part, share, version, path)
    elif by_lines and not packed and total > size:
        for start in range(0, total, size):
            stop = min(start + size, total)
            yield FileRange(str(path), kind, (start, stop), stop - start, version, path)
    else:
        yield FileRange(str(path), kind, None, total, version, path)


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
    shard: CorpusShard,
    reading: Reading,
    *,
    block_size: int,
    tally: Tally,
    threads: int,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Iterator[Block]:
    """Read a shard."""
    blocks = chain.from_iterable(
        read_corpus_file(
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


BLOCK = 1 << 21  # bytes of text at once
TEXT, MESSAGES = Reading().text_column, "messages"  # the fields that are read if no other is named


@dataclass(frozen=True)
class ShardResult:
    """The marker of a finished shard: the name of its file, and the input that was read."""

    number: int
    name: str
    documents: int
    tokens: int
    skipped: int
    replaced: int
    cut: int


class WorkerResources(NamedTuple):
    """What a worker may use. memory: bytes of the whole process; None for as much as it takes."""

    threads: int
    memory: int | None = None


class ShardTask(Value, ABC):
    """What is done with each shard. A value: it is sent to workers, and its digest names the files it makes."""

    @abstractmethod
    def write(self, shard: CorpusShard, path: Path, tally: Tally, means: WorkerResources) -> tuple[int, int]:
        """Write the file of a shard; return its numbers of documents and ids."""


@dataclass(frozen=True, eq=False)
class CountWork(ShardTask):
    """Counts words. splitter, normalizer: their identities, as in `Provenance`."""

    reading: Reading
    splitter: str
    normalizer: str | None
    special_tokens: tuple[str, ...]

    def write(self, shard: CorpusShard, path: Path, tally: Tally, means: WorkerResources) -> tuple[int, int]:
        """Write the counts of a shard."""
        words = word_source(splitter(self.splitter), normalizer_or_none(normalizer(self.normalizer or ())))
        blocks = blocks_of_shard(shard, self.reading, block_size=BLOCK, tally=tally, threads=means.threads)
        if means.memory is None:
            count_blocks(blocks, words, special_tokens=self.special_tokens, threads=means.threads).save(path)
        else:
            room = room_of(means.memory)
            count_blocks_to(path, blocks, words, special_tokens=self.special_tokens, threads=means.threads, room=room)
        return 0, 0


@dataclass(frozen=True, eq=False)
class EncodeWork(ShardTask):
    """Encodes documents."""

    reading: Reading
    spec: TokenizerSpec
    special: str

    @cached_property
    def _engine(self) -> Any:
        from subwords.tokenizer import Tokenizer, engine_of

        return engine_of(Tokenizer(self.spec))

    def write(self, shard: CorpusShard, path: Path, tally: Tally, means: WorkerResources) -> tuple[int, int]:
        """Write the ids of a shard, and where its documents end."""
        from subwords.engine.documents import encode_documents, threads_within
        from subwords.tokens.formats import FORMATS
        from subwords.tokens.write import write_part

        threads, block = means.threads, BLOCK
        if means.memory is not None:
            threads, block = threads_within(room_of(means.memory), threads)
        blocks = blocks_of_shard(shard, self.reading, block_size=block, tally=tally, threads=threads)
        form = FORMATS["npy"]
        with closing(encode_documents(self._engine, blocks, special=self.special, threads=threads)) as ids:
            return write_part(path, ids, form, form.dtype_for(len(self.spec.model.vocab)))


@dataclass(frozen=True, eq=False)
class ChatWork(ShardTask):
    """Encodes conversations. options: those of `ChatOptions`, as JSON."""

    reading: Reading
    spec: TokenizerSpec
    options: str

    @cached_property
    def dataset(self) -> Dataset:
        """What encodes them; InputError for invalid options."""
        from subwords.chat.chat import Dataset
        from subwords.tokenizer import Tokenizer, chatter_of

        column = self.reading.text_column
        key = MESSAGES if column == TEXT else column
        return Dataset(chatter_of(Tokenizer(self.spec)), json.loads(self.options), key)

    def write(self, shard: CorpusShard, path: Path, tally: Tally, means: WorkerResources) -> tuple[int, int]:
        """Write the marked ids of a shard, and where its conversations end."""
        from subwords.corpus.columns import file_rows
        from subwords.tokens.formats import FORMATS
        from subwords.tokens.write import write_part

        rows = chain.from_iterable(
            file_rows(piece.place, piece.kind, self.dataset.columns, self.reading, tally, lambda _: None, piece.part)
            for piece in shard.pieces
        )
        with closing(self.dataset.blocks(rows, self.reading, tally, means.threads)) as ids:
            return write_part(path, ids, FORMATS["npy"], np.dtype("<u4"))


def run_shard(work: ShardTask, shard: CorpusShard, folder: Path, means: WorkerResources) -> ShardResult:
    """Do the work on a shard unless it is done; its marker appears when its file is complete."""
    name = digest_of((work.digest, shard.pieces))[:24]
    marker = folder / f"{name}.json"
    if (found := done_of(marker, shard.number)) is not None:
        return found
    tally = Tally()
    documents, tokens = work.write(shard, folder / f"{name}.part", tally, means)
    done = ShardResult(shard.number, name, documents, tokens, tally.skipped, tally.replaced, tally.cut)
    write_mark(marker, asdict(done))
    return done


def done_of(marker: Path, number: int) -> ShardResult | None:
    """Return what a marker says; None if there is none, or if it is damaged."""
    with suppress(TypeError):
        if found := read_mark(marker):
            return ShardResult(**{**found, "number": number})
    return None
