"""write_shards: batches of documents to token files, in shards, shuffled if asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.results.token_batch import TokenBatch
from subwords.sinks.layout import Append, TokenFormat
from subwords.sinks.manifest import Shard, part_file
from subwords.sinks.parts import Ends, spool, write_numbers

__all__ = ["shard_path", "with_ends", "write_shards"]

STEP = 1 << 20  # ids that are shuffled at once


def shard_path(path: Path, number: int) -> Path:
    """Return the path of a shard.

    >>> from pathlib import Path
    >>> shard_path(Path("out/corpus.bin"), 3).name
    'corpus-00003.bin'
    """
    return path.with_name(f"{path.stem}-{number:05}{path.suffix}")


def with_ends(batch: TokenBatch, bos: int | None, eos: int | None) -> TokenBatch:
    """Return the batch with these ids before and after each document."""
    before, after = int(bos is not None), int(eos is not None)
    if not before + after:
        return batch
    offsets = batch.offsets + (before + after) * np.arange(len(batch.offsets))
    ids = np.empty(len(batch.ids) + (before + after) * len(batch), np.uint32)
    own = np.ones(len(ids), bool)
    if bos is not None:
        ids[offsets[:-1]] = bos
        own[offsets[:-1]] = False
    if eos is not None:
        ids[offsets[1:] - 1] = eos
        own[offsets[1:] - 1] = False
    ids[own] = batch.ids
    return TokenBatch(ids, offsets)


def write_shards(
    path: Path,
    batches: Iterable[TokenBatch],
    form: TokenFormat,
    dtype: np.dtype[Any],
    *,
    shard_size: int | None = None,
    shuffle: int | None = None,
) -> list[Shard]:
    """Write documents to `path`, or with a shard size to shards of at most so many ids; a document is never cut.

    Each file appears complete or not at all. shuffle: a seed; the documents of each shard are then shuffled.
    """
    if shard_size is None:
        return [_write_shard(path, iter(batches), form, dtype, shuffle, 0)]
    shards: list[Shard] = []
    parts = _Parts(iter(batches), shard_size)
    while not shards or parts.more():
        shards.append(_write_shard(shard_path(path, len(shards)), parts.shard(), form, dtype, shuffle, len(shards)))
    return shards


class _Parts:
    """Batches, cut where a shard is full."""

    def __init__(self, batches: Iterator[TokenBatch], size: int) -> None:
        self._batches = batches
        self._size = size
        self._rest: TokenBatch | None = None

    def more(self) -> bool:
        """Whether any document is left."""
        while self._rest is None or not len(self._rest):
            self._rest = next(self._batches, None)
            if self._rest is None:
                return False
        return True

    def shard(self) -> Iterator[TokenBatch]:
        """Yield the documents of the next shard: at least one."""
        room, first = self._size, True
        while self.more():
            batch = self._rest
            assert batch is not None
            fits = int(np.searchsorted(batch.offsets, room, "right")) - 1
            fits = max(fits, int(first))
            if not fits:
                return
            yield batch[:fits]
            self._rest, first = batch[fits:], False
            room -= int(batch.offsets[fits])


def _write_shard(
    path: Path, batches: Iterator[TokenBatch], form: TokenFormat, dtype: np.dtype[Any], shuffle: int | None, number: int
) -> Shard:
    documents = tokens = 0
    with ExitStack() as stack:
        append = stack.enter_context(form.write(path, dtype))
        if shuffle is not None:
            append = stack.enter_context(_shuffled(path, append, dtype, np.random.default_rng([shuffle, number])))
        for batch in batches:
            documents, tokens = documents + len(batch), tokens + len(batch.ids)
            append(batch.ids, np.diff(batch.offsets))
    files = tuple(part_file(file) for file in form.files(path))
    return Shard(documents, tokens, files)


@contextmanager
def _shuffled(path: Path, append: Append, dtype: np.dtype[Any], rng: np.random.Generator) -> Iterator[Append]:
    """Yield a function that keeps documents in a temporary file; at the end they are appended in a random order."""
    with spool(path) as ids, spool(path) as body:
        ends = Ends(body)

        def keep(numbers: NDArray[Any], lengths: NDArray[np.int64]) -> None:
            write_numbers(ids, numbers, dtype)
            ends.append(lengths)

        yield keep
        if not ends.documents:
            return
        ids.flush()
        flat = np.memmap(ids, dtype, "r") if ends.tokens else np.zeros(0, dtype)
        stops = np.concatenate([np.zeros(1, np.int64), *ends.batches()])
        order = rng.permutation(ends.documents)
        lengths = np.diff(stops)[order]
        cuts = np.searchsorted(np.cumsum(lengths), np.arange(STEP, ends.tokens + STEP, STEP), "left") + 1
        first = 0
        for last in np.unique(np.append(cuts.clip(max=len(order)), len(order))).tolist():
            rows = [flat[stops[i] : stops[i + 1]] for i in order[first:last].tolist()]
            append(np.concatenate([np.zeros(0, dtype), *rows]), lengths[first:last])
            first = last
