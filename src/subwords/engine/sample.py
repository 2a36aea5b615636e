"""Other segmentations of a text: at random, or the best of a Unigram model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from subwords.encode.unknown import UnknownSymbolError
from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.engine import Engine
    from subwords.families import Model
    from subwords.unigram.sample import Paths

__all__ = ["paths_of", "with_dropout"]


def with_dropout(
    engine: Engine, text: str, ids: list[int], dropout: float | None, rng: np.random.Generator
) -> list[int]:
    """Return the ids of a text of a BPE model, drawn at random; `ids` are those without dropout."""
    from subwords.bpe.sample import checked_dropout, draw
    from subwords.bpe.segmenter import BPESegmenter

    segmenter = engine.segmenter
    assert isinstance(segmenter, BPESegmenter)
    dropout = checked_dropout(segmenter.model, dropout)
    if dropout == 0 or segmenter.model.words_only:
        return ids
    drawn: list[int] = draw(segmenter, engine.words(text), dropout, rng).tolist()
    return drawn


@contextmanager
def paths_of(engine: Engine, model: Model, text: str) -> Iterator[Paths]:
    """Give the segmentations of a text; InputError if the model is not Unigram, or for an unknown symbol."""
    from subwords.unigram.sample import Paths
    from subwords.unigram.segmenter import UnigramSegmenter

    if not isinstance(engine.segmenter, UnigramSegmenter):
        needed = "nbest needs a Unigram model, sample that or BPE"
        raise InputError(f"{needed}; this is {type(model).__name__}")
    words = engine.words(text)
    try:
        yield Paths(engine.segmenter, words)
    except UnknownSymbolError as symbol:
        from subwords.engine.unknown import spot_in

        raise InputError(spot_in(text.encode(), words, symbol).told()) from None
