"""Documents: the ids of the documents of a corpus, some megabytes of text at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from subwords.corpus.blocks import CorpusPart, Cut, Specials, cut_blocks
from subwords.engine.batch import Places
from subwords.models.segmenter import TextError, UnknownSymbolError
from subwords.spec.token_batch import TokenBatch, TokenBlock, batch_of
from subwords.support.errors import InputError
from subwords.support.threads import ahead, streamed, thread_count

if TYPE_CHECKING:
    from subwords.corpus.blocks import Block
    from subwords.engine.engine import Engine


Result = TypeVar("Result")

READ_AHEAD = 2  # parts that are read in advance
WINDOW = 3  # parts per thread: their ids are in memory at once
LEAST_BLOCK, MOST_BLOCK = 1 << 16, 1 << 21  # bytes of text at once
TABLES = 100 << 20  # bytes of a thread's table of words, and what it writes to, at the most
TIMES = 4 * WINDOW  # the bytes of a block that a thread has in memory: texts and ids


def threads_within(room: int, threads: int) -> tuple[int, int]:
    """Return how many threads can encode within this many bytes, and the size of their blocks; InputError for none.

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
    encoder = PartEncoder(engine, special)

    def run(part: CorpusPart) -> TokenBlock:
        batch = encoder.encode(part)
        return TokenBlock(batch.ids, batch.offsets[1:] if part.ends else batch.offsets[1:-1])

    return in_parts(blocks, encoder.cut, run, threads)


def in_parts(
    blocks: Iterable[Block], cut: Cut | None, run: Callable[[CorpusPart], Result], threads: int | None
) -> Generator[Result, None, None]:
    """Yield run(part) for the parts of blocks, in order; `run` is called on several threads."""
    count = thread_count(threads)
    parts = cut_blocks(blocks, cut, Specials(()))
    if count == 1:
        yield from map(run, parts)
        return
    # One thread reads, some encode, and the caller's thread takes the results.
    with closing(ahead(parts, READ_AHEAD)) as ready:
        yield from streamed(run, ready, count, window=WINDOW * count)


class PartEncoder:
    """Encodes parts of a corpus. `cut`: where documents may be cut, for `in_parts`; None if nowhere."""

    def __init__(self, engine: Engine, special: str = "text") -> None:
        self._engine, self._special = engine, special
        self._streams = special == "text" and engine.streams
        self.cut = engine.encoder.splitter.cut if self._streams else None

    def encode(self, part: CorpusPart) -> TokenBatch:
        """Return the ids of the texts of a part; the last text may continue in the next part.

        InputError with the number of the document, from 0, for text that cannot be encoded.
        """
        try:
            if self._streams:
                return self._engine.encoder.encode_part(part.text, part.bounds, begins=part.begins, ends=part.ends)
            batch = self._in_place(part)
            if batch is None:
                batch = self._engine.encode_batch(self._texts(part), self._special, 1)
        except UnknownSymbolError as error:
            raise self._unknown(part, error) from None
        except TextError as error:
            raise InputError(f"document {part.number + error.number}: {error.message}") from None
        return batch_of(batch.ids, np.ascontiguousarray(batch.offsets))

    def _in_place(self, part: CorpusPart) -> TokenBatch | None:
        """Return the ids of texts read where they are; None if strings are faster, or needed."""
        if self._engine.plain is not None:
            return None
        address = np.frombuffer(part.text, np.uint8).ctypes.data
        places = Places(address + part.bounds[:-1], np.diff(part.bounds), part.text)
        return self._engine.encode_places(places, self._special, 1)

    def _texts(self, part: CorpusPart) -> list[str]:
        return [part.text[start:stop].decode() for start, stop in pairwise(part.bounds.tolist())]

    def _unknown(self, part: CorpusPart, error: UnknownSymbolError) -> InputError:
        """Return the error for a symbol without an id, with its place in its document."""
        from subwords.engine.unknown import spot_of

        for number, text in enumerate(self._texts(part)):
            if spot := spot_of(self._engine, text, self._special):
                if part.before and not number:  # how many characters were before is not known
                    spot = spot._replace(character=None, byte=part.before + spot.byte)
                return InputError(f"document {part.number + number}: {spot.told()}")
        return InputError(str(error))
