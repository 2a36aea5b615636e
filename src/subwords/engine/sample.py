"""Other segmentations of a text: at random, or the best of a Unigram model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from subwords.encode.unknown import UnknownSymbolError
from subwords.errors import InputError
from subwords.families import family_of, need, segmenter_of
from subwords.support.checks import refuse_given
from subwords.unigram.model import Unigram

if TYPE_CHECKING:
    from subwords.bpe.model import BPE
    from subwords.components.model import Model
    from subwords.engine.engine import Engine
    from subwords.unigram.sample import Paths

__all__ = ["Seed", "best", "sample", "sample_bpe", "sample_unigram"]

# A string: numpy.random is only imported by those who sample.
Seed: TypeAlias = "int | Sequence[int] | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator | None"


def best(engine: Engine, model: Model, text: str, n: int) -> list[tuple[list[int], float]]:
    """Return the ids and scores of the n best segmentations; see `Tokenizer.nbest`."""
    with _paths_of(engine, need(model, Unigram, "nbest"), text) as found:
        paths = [(ids.tolist(), score) for ids, score in found.best(n)]
    # Equal sums may differ after rounding, which depends on the order of addition: see `Unigram.running`.
    return [(_ids_of(engine, text), paths[0][1])] if n == 1 else paths


def sample(
    engine: Engine,
    model: Model,
    text: str,
    *,
    temperature: float | None,
    nbest: int | None,
    dropout: float | None,
    seed: Seed,
) -> list[int]:
    """Return the ids of one segmentation, drawn at random; see `Tokenizer.sample`."""
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected a seed for numpy.random.default_rng, not {seed!r:.60}: {error}") from None
    draw = family_of(model).tool("sample")
    ids: list[int] = draw(engine, model, text, rng, temperature=temperature, nbest=nbest, dropout=dropout)
    return ids


def sample_unigram(
    engine: Engine,
    model: Unigram,
    text: str,
    rng: np.random.Generator,
    *,
    temperature: float | None,
    nbest: int | None,
    dropout: float | None,
) -> list[int]:
    """Return the ids of one segmentation into pieces, drawn by their scores."""
    nbest = -1 if nbest is None else nbest
    with _paths_of(engine, model, text) as paths:
        refuse_given("sample for Unigram models", dropout=dropout)
        ids: list[int] = paths.draw(10.0 if temperature is None else temperature, nbest, rng).tolist()
    return _ids_of(engine, text) if nbest in (0, 1) else ids


def sample_bpe(
    engine: Engine,
    model: BPE,
    text: str,
    rng: np.random.Generator,
    *,
    temperature: float | None,
    nbest: int | None,
    dropout: float | None,
) -> list[int]:
    """Return the ids of one segmentation, in which merges are skipped at random."""
    from subwords.bpe.sample import checked_dropout, draw

    refuse_given("sample for BPE models", temperature=temperature, nbest=nbest)
    ids = _ids_of(engine, text)
    dropout = checked_dropout(model, dropout)
    if dropout == 0 or model.words_only:
        return ids
    drawn: list[int] = draw(segmenter_of(model), engine.words(text), dropout, rng).tolist()
    return drawn


def _ids_of(engine: Engine, text: str) -> list[int]:
    ids: list[int] = engine.encode(text, "text").tolist()
    return ids


@contextmanager
def _paths_of(engine: Engine, model: Unigram, text: str) -> Iterator[Paths]:
    """Give the segmentations of a text; InputError for an unknown symbol."""
    from subwords.unigram.sample import Paths

    words = engine.words(text)
    try:
        yield Paths(segmenter_of(model), words)
    except UnknownSymbolError as symbol:
        from subwords.engine.unknown import spot_in

        raise InputError(spot_in(text.encode(), words, symbol).told()) from None
