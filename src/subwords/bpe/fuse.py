"""Unknown neighbours as one, across words."""

from __future__ import annotations

import numpy as np

from subwords.result import TokenBatch

__all__ = ["fused"]


def fused(batch: TokenBatch, unk_id: int) -> TokenBatch:
    """Return the ids without those that repeat unk_id within a text.

    Source: SentencePiece, whose unknown pieces are one wherever they meet.

    >>> import numpy as np
    >>> from subwords.bpe.fuse import fused
    >>> from subwords.result import TokenBatch
    >>> fused(TokenBatch(np.array([0, 0, 5, 0, 0], np.uint32), np.array([0, 4, 5])), 0).to_lists()
    [[0, 5, 0], [0]]
    """
    kept = np.ones(len(batch.ids), np.bool_)
    unknown = batch.ids == unk_id
    kept[1:] = ~(unknown[1:] & unknown[:-1])
    starts = batch.offsets[:-1]
    kept[starts[starts < len(kept)]] = True
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return TokenBatch(batch.ids[kept], places[batch.offsets])
