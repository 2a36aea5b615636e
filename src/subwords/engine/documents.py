"""Documents: the ids of the documents of a corpus, some megabytes of text at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from subwords.corpus.parts import parts_of
from subwords.corpus.specials import Part, Specials
from subwords.errors import InputError
from subwords.results.token_block import TokenBlock
from subwords.support.threads import ahead, streamed, thread_count

if TYPE_CHECKING:
    from subwords.corpus.blocks import Block
    from subwords.engine.engine import Engine

__all__ = ["encode_documents", "threads_within"]

READ = 2  # parts that are read in advance
WINDOW = 3  # parts per thread: their ids are in memory at once
LEAST_BLOCK, MOST_BLOCK = 1 << 16, 1 << 21  # bytes of text at once
TABLES = 100 << 20  # bytes of a thread's table of words, and what it writes to, at the most
TIMES = 4 * WINDOW  # the bytes of a block that a thread has in memory: texts and ids


def threads_within(room: int, threads: int) -> tuple[int, int]:
    """Return how many threads can encode within so many bytes, and the size of their blocks; InputError for none.

    >>> from subwords.engine.documents import threads_within
    >>> threads_within(500 << 20, 8)
    (4, 2097152)
    """
    while threads > 1 and room // threads < TABLES + TIMES * MOST_BLOCK:
        threads -= 1
    block = (room // threads - TABLES) // TIMES
    if block < LEAST_BLOCK:
        need = (TABLES + TIMES * LEAST_BLOCK) / 10**6
        raise InputError(
            f"expected {need:.0f} MB of memory besides what Python and libraries take, not {room / 1e6:.0f}"
        )
    return threads, min(block, MOST_BLOCK)


def encode_documents(
    engine: Engine, blocks: Iterable[Block], *, special: str = "text", threads: int | None = None
) -> Generator[TokenBlock, None, None]:
    """Yield the ids of the documents of blocks, in order; the same for any size of blocks and number of threads.

    A document is cut only where that changes no id; where no such places are known, it is in memory as a whole.
    """
    count = thread_count(threads)
    streams = special == "text" and engine.streams
    parts = parts_of(blocks, engine.encoder.splitter.cut if streams else None, Specials(()))

    def run(part: Part) -> TokenBlock:
        if streams:
            batch = engine.encoder.encode_part(part.text, part.bounds, begins=part.begins, ends=part.ends)
            return TokenBlock(batch.ids, batch.offsets[1:] if part.ends else batch.offsets[1:-1])
        texts = [part.text[start:stop].decode() for start, stop in pairwise(part.bounds.tolist())]
        batch = engine.encode_batch(texts, special, 1)
        return TokenBlock(batch.ids, np.ascontiguousarray(batch.offsets[1:]))

    if count == 1:
        yield from map(run, parts)
        return
    # One thread reads, some encode, and the caller's thread writes.
    with closing(ahead(parts, READ)) as ready:
        yield from streamed(run, ready, count, window=WINDOW * count)
