"""The two functions of a shard: its counts, or its ids, as a file in the folder of a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from subwords.corpus.count import count_blocks, count_blocks_to
from subwords.corpus.reading import Reading, Tally
from subwords.resolve import normalizer, splitter
from subwords.scale.shards import Shard, blocks_of_shard
from subwords.sinks.marks import read_mark, write_mark
from subwords.spec import TokenizerSpec
from subwords.support.limits import room_of
from subwords.support.value import Value, digest_of
from subwords.training.count import normalizer_or_none, words_of

__all__ = ["CountWork", "Done", "EncodeWork", "Means", "Work", "done_of", "run_shard"]

BLOCK = 1 << 21  # bytes of text at once


@dataclass(frozen=True)
class Done:
    """The marker of a finished shard: the name of its file, and the input that was read."""

    number: int
    name: str
    documents: int
    tokens: int
    skipped: int
    replaced: int
    cut: int


class Means(NamedTuple):
    """What a worker may use. memory: bytes of the whole process; None for as much as it takes."""

    threads: int
    memory: int | None = None


class Work(Value, ABC):
    """What is done with each shard. A value: it is sent to workers, and its digest names the files it makes."""

    @abstractmethod
    def write(self, shard: Shard, path: Path, tally: Tally, means: Means) -> tuple[int, int]:
        """Write the file of a shard; return its numbers of documents and ids."""


@dataclass(frozen=True, eq=False)
class CountWork(Work):
    """Counts words. splitter, normalizer: their identities, as in `Provenance`."""

    reading: Reading
    splitter: str
    normalizer: str | None
    special_tokens: tuple[str, ...]

    def write(self, shard: Shard, path: Path, tally: Tally, means: Means) -> tuple[int, int]:
        """Write the counts of a shard."""
        words = words_of(splitter(self.splitter), normalizer_or_none(normalizer(self.normalizer or ())))
        blocks = blocks_of_shard(shard, self.reading, block_size=BLOCK, tally=tally, threads=means.threads)
        if means.memory is None:
            count_blocks(blocks, words, special_tokens=self.special_tokens, threads=means.threads).save(path)
        else:
            room = room_of(means.memory)
            count_blocks_to(path, blocks, words, special_tokens=self.special_tokens, threads=means.threads, room=room)
        return 0, 0


@dataclass(frozen=True, eq=False)
class EncodeWork(Work):
    """Encodes documents."""

    reading: Reading
    spec: TokenizerSpec
    special: str

    @cached_property
    def _engine(self) -> Any:
        from subwords.tokenizer import Tokenizer

        return Tokenizer(self.spec)._engine

    def write(self, shard: Shard, path: Path, tally: Tally, means: Means) -> tuple[int, int]:
        """Write the ids of a shard, and where its documents end."""
        from subwords.engine.documents import encode_documents, threads_within
        from subwords.sinks.formats import FORMATS
        from subwords.sinks.write import write_part

        threads, block = means.threads, BLOCK
        if means.memory is not None:
            threads, block = threads_within(room_of(means.memory), threads)
        blocks = blocks_of_shard(shard, self.reading, block_size=block, tally=tally, threads=threads)
        form = FORMATS["npy"]
        with closing(encode_documents(self._engine, blocks, special=self.special, threads=threads)) as ids:
            return write_part(path, ids, form, form.dtype_for(len(self.spec.model.vocab)))


def run_shard(work: Work, shard: Shard, folder: Path, means: Means) -> Done:
    """Do the work on a shard unless it is done; its marker appears when its file is complete."""
    name = digest_of((work.digest, shard.pieces))[:24]
    marker = folder / f"{name}.json"
    if (found := done_of(marker, shard.number)) is not None:
        return found
    tally = Tally()
    documents, tokens = work.write(shard, folder / f"{name}.part", tally, means)
    done = Done(shard.number, name, documents, tokens, tally.skipped, tally.replaced, tally.cut)
    write_mark(marker, asdict(done))
    return done


def done_of(marker: Path, number: int) -> Done | None:
    """Return what a marker says; None if there is none, or if it is damaged."""
    with suppress(TypeError):
        if found := read_mark(marker):
            return Done(**{**found, "number": number})
    return None
