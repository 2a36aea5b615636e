"""Whether merges make every token from its symbols, as formats without merges or without whole words need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from subwords.bpe.model import BPE
from subwords.bpe.whole_words import lost_words
from subwords.families import segmenter_of

__all__ = ["makes_all", "not_made"]


def makes_all(model: BPE) -> bool:
    """Whether merges alone make every token, so that `whole_words` changes no id.

    >>> import subwords
    >>> makes_all(subwords.train(["ab ab"], vocab_size=257).model)
    True
    """
    ids = [i for i in range(len(model.vocab)) if i not in model.special_ids]
    return not_made(replace(model, whole_words=False), ids) is None


def not_made(model: BPE, ids: Iterable[int]) -> bytes | None:
    """Return the first of some tokens that, as a word, is not segmented to itself; None if there is none.

    >>> import subwords
    >>> not_made(subwords.train(["ab ab"], vocab_size=257).model, range(257))
    """
    wanted = np.array(sorted(i for i in ids if model.vocab[i]), np.int64)  # thousands of empty words would be slow
    lost = lost_words(segmenter_of(model), model.vocab, wanted)
    return model.vocab[int(lost[0])] if len(lost) else None
