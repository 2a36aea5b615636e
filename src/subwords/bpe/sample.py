"""BPE-dropout: segmentations that skip merges at random."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.bpe.plain import first_symbols, merge
from subwords.bpe.segmenter import BPESegmenter
from subwords.errors import InputError
from subwords.split.word_spans import WordSpans

__all__ = ["DROPOUT", "checked_dropout", "draw", "draw_word"]

DROPOUT = 0.1  # what the paper uses for training


def checked_dropout(model: BPE, dropout: object) -> float:
    """Return a probability; None is the model's own, or 0.1 if it has none. InputError for other values."""
    if dropout is None:
        return DROPOUT if model.dropout is None else model.dropout
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        raise InputError(f"expected dropout to be a number from 0 to 1, not {dropout!r:.60}")
    return float(dropout)


def draw(
    segmenter: BPESegmenter, word_spans: WordSpans, dropout: float, rng: np.random.Generator
) -> NDArray[np.uint32]:
    """Return the ids of one segmentation: each merge that could be done next is skipped with this probability.

    A word that is a token is segmented too, but a user-defined one. Unknown symbols must have an id or be dropped.

    Source: Provilkov et al., BPE-Dropout, 2020; skipped merges come back as in HF tokenizers 0.23, Word::merge_all.
    """
    text, model = word_spans.text, segmenter.model
    users = {model.vocab[index]: index for index in model.user_ids}
    ids: list[int] = []
    for begin, end in pairwise(word_spans.words.tolist()):
        word = text[begin:end].tobytes()
        if word in users:
            ids.append(users[word])
        else:
            ids += draw_word(segmenter, word, lambda: rng.random() < dropout)
    return np.array(ids, np.uint32)


def draw_word(segmenter: BPESegmenter, word: bytes, skips: Callable[[], bool]) -> list[int]:
    """Return the ids of one word; `skips` says whether to skip a merge for now."""
    symbols = merge(segmenter.pairs, first_symbols(segmenter.model, word), skips)
    return segmenter.parted([symbol.id for symbol in symbols])
