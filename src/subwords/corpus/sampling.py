"""Samples documents by a hash of their text: the same documents in any order of files, threads and shards (W5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.blocks import Block, capped
from subwords.corpus.reading import Reading, Tally

__all__ = ["chosen", "sampled"]

HEAD = 1 << 12  # bytes of a document that decide


def chosen(blocks: Iterable[Block], reading: Reading, tally: Tally) -> Iterator[Block]:
    """Yield the blocks of the sample that is asked for, its documents cut as asked for."""
    if reading.sample is not None:
        blocks = sampled(blocks, reading.sample, reading.sample_seed or 0)
    return iter(blocks) if reading.max_document_bytes is None else capped(blocks, reading.max_document_bytes, tally)


def sampled(blocks: Iterable[Block], share: float, seed: int) -> Iterator[Block]:
    """Yield blocks of about this share of the documents. Any smaller share of the same seed is a part of them.

    The first HEAD bytes of a document decide: equal documents are all kept or all left out.
    """
    from subwords.kernels.named import keep_texts

    limit = ceil(share * 2**53)
    held, fate = (
        b"",
        -1,
    )  # of the document that has begun: its text while that is too short, and whether it is kept
    for block in blocks:
        data, ends = held + block.data if held else block.data, block.ends + len(held)
        offset, held = block.offset - len(held), b""
        is_open = not len(ends) or int(ends[-1]) < len(data)
        bounds = np.concatenate([np.zeros(1, np.int64), ends, np.full(int(is_open), len(data), np.int64)])
        kept = np.empty(len(bounds) - 1, np.uint8)
        keep_texts(np.frombuffer(data, np.uint8), bounds, seed, HEAD, limit, kept)
        if fate >= 0:
            kept[0] = fate
        if not is_open:
            fate = -1
        elif fate < 0 or len(bounds) > 2:
            fate = int(kept[-1])
            if len(data) - int(bounds[-2]) < HEAD:
                held, fate = data[int(bounds[-2]) :], -1
                bounds, kept, is_open = bounds[:-1], kept[:-1], False
        if found := _part(data, bounds, kept, is_open):
            yield Block(*found, block.name, offset)


def _part(
    data: bytes, bounds: NDArray[np.int64], kept: NDArray[np.uint8], is_open: bool
) -> tuple[bytes, NDArray[np.int64]] | None:
    """Return the text of the documents that are kept, and where they end in it."""
    lengths = np.diff(bounds)
    if not kept.any():
        return None
    if kept.all():
        text = data[: int(bounds[-1])]
    else:
        text = np.frombuffer(data, np.uint8)[: int(bounds[-1])][np.repeat(kept.view(bool), lengths)].tobytes()
    ends = np.cumsum(lengths[kept.view(bool)])
    return text, ends[:-1] if is_open and kept[-1] else ends
