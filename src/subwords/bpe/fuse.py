"""Fuse adjacent unknown ids into one, across words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.results.token_batch import TokenBatch

__all__ = ["fused", "fused_words"]


def fused(batch: TokenBatch, unk_id: int) -> TokenBatch:
    """Return the ids of each text with runs of unk_id reduced to one.

    Source: SentencePiece, which joins adjacent unknown pieces.

    >>> import numpy as np
    >>> from subwords.bpe.fuse import fused
    >>> from subwords.results.token_batch import TokenBatch
    >>> fused(TokenBatch(np.array([0, 0, 5, 0, 0], np.uint32), np.array([0, 4, 5])), 0).to_lists()
    [[0, 5, 0], [0]]
    """
    kept = _kept(batch, unk_id)
    starts = batch.offsets[:-1]
    kept[starts[starts < len(kept)]] = True
    return _without(batch, kept)


def fused_words(batch: TokenBatch, unk_id: int) -> TokenBatch:
    """Return the ids of the words of one text with runs of unk_id reduced to one: the later words have no id.

    >>> import numpy as np
    >>> from subwords.bpe.fuse import fused_words
    >>> from subwords.results.token_batch import TokenBatch
    >>> fused_words(TokenBatch(np.array([0, 0, 5], np.uint32), np.array([0, 1, 2, 3])), 0).to_lists()
    [[0], [], [5]]
    """
    return _without(batch, _kept(batch, unk_id))


def _kept(batch: TokenBatch, unk_id: int) -> NDArray[np.bool_]:
    kept = np.ones(len(batch.ids), np.bool_)
    unknown = batch.ids == unk_id
    kept[1:] = ~(unknown[1:] & unknown[:-1])
    return kept


def _without(batch: TokenBatch, kept: NDArray[np.bool_]) -> TokenBatch:
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return TokenBatch(batch.ids[kept], places[batch.offsets])
