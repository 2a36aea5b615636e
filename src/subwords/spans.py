"""Ids of a text together with where in it each comes from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.encoder import Encoder
from subwords.split.pieces import Pieces

__all__ = ["Located", "located"]


class Located(NamedTuple):
    """Ids (uint32), the range of source bytes of each (int64, (n, 2)), and the word it belongs to (int64)."""

    ids: NDArray[np.uint32]
    spans: NDArray[np.int64]
    words: NDArray[np.int64]


def located(encoder: Encoder, pieces: Pieces) -> Located:
    """Return the ids of the words of one text; a token of a word stands for its bytes, and those for their origin."""
    batch = encoder.encode_words(pieces.text, pieces.words)
    counts = np.diff(batch.offsets)
    words = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    ends = encoder.segmenter.token_ends(batch.ids, batch.offsets, pieces)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    first = np.diff(words, prepend=-1) > 0
    starts[first] = pieces.words[words[first]]
    if not len(ends):
        return Located(batch.ids, np.zeros((0, 2), np.int64), words)
    spans = np.stack([pieces.origin[0, starts], pieces.origin[1, ends - 1]], axis=1)
    return Located(batch.ids, spans, words)
