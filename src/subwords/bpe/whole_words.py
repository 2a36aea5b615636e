"""Tokens as whole words (E2): those that merges do not make, and so must be looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.encode.encoder import Encoder
from subwords.encode.segmenter import TokenWords
from subwords.split.splitter import SplitterEngine

if TYPE_CHECKING:
    from subwords.encode.segmenter import Segmenter

__all__ = ["as_words", "lost_words"]


def lost_words(segmenter: Segmenter, vocab: Vocab, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some ascending ids whose token, as a word, has other ids than itself alone."""
    words = as_words(vocab, ids)
    if words is None:
        return ids
    bounds = np.concatenate([np.zeros(1, np.int64), words.ends])
    made = Encoder(segmenter, SplitterEngine(())).encode_words(words.data, bounds)
    alone = np.diff(made.offsets) == 1
    alone[alone] = made.ids[made.offsets[:-1][alone]] == ids[alone]
    lost: NDArray[np.int64] = ids[~alone]
    return lost


def as_words(vocab: Vocab, ids: NDArray[np.int64]) -> TokenWords | None:
    """Return the tokens of ascending ids; None if there are none."""
    if not len(ids):
        return None
    kept = np.zeros(len(vocab), np.bool_)
    kept[ids] = True
    lengths = np.diff(vocab.offsets)
    data = vocab.data[: vocab.offsets[-1]][np.repeat(kept, lengths)]
    return TokenWords(data, np.cumsum(lengths[ids]), ids.astype(np.int32))
