"""Which tokens the model can produce for some word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.words import ids_of_words
from subwords.families import segmenter_of
from subwords.spec import TokenizerSpec

__all__ = ["ordinary_ids", "unreachable_ids"]


def ordinary_ids(spec: TokenizerSpec) -> NDArray[np.int64]:
    """Return the ids that text should yield: with a token, neither special nor added, no byte of unknown text."""
    model = spec.model
    kept = np.diff(model.vocab.offsets) > 0
    unknown = set() if model.unk_id is None else {model.unk_id}
    kept[[*model.special_ids, *model.unused_ids, *unknown, *(token.id for token in spec.added_tokens)]] = False
    kept[model.byte_ids[model.byte_ids >= 0]] = False
    return np.flatnonzero(kept)


def unreachable_ids(spec: TokenizerSpec, threads: int | None = None) -> NDArray[np.int64]:
    """Return the ordinary ids that the model makes of no word."""
    ids, model = ordinary_ids(spec), spec.model
    tokens, segmenter = list(model.vocab), segmenter_of(model)
    return ids[~segmenter.reachable(tokens, ids, lambda words: ids_of_words(model, words, threads))[ids]]
