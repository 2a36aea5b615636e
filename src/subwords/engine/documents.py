"""Documents: the ids of the documents of a corpus, some megabytes of text at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from subwords.corpus.parts import parts_of
from subwords.corpus.specials import Part, Specials
from subwords.results.token_block import TokenBlock
from subwords.support.threads import in_threads, thread_count

if TYPE_CHECKING:
    from subwords.corpus.blocks import Block
    from subwords.engine.engine import Engine

__all__ = ["encode_documents"]

ROUND = 8  # parts per thread: their ids are in memory at once


def encode_documents(
    engine: Engine, blocks: Iterable[Block], *, special: str = "text", threads: int | None = None
) -> Iterator[TokenBlock]:
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

    while found := in_threads(run, islice(parts, ROUND * count), count):
        yield from found
