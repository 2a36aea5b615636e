"""Mingram: a Unigram model of the fewest pieces; ties are decided by probability (U7)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.engine.encoder import word_ids
from subwords.models.bpe.train import initial_tokens, train_bpe
from subwords.models.learning import Step
from subwords.models.settings import BPESettings, MingramSettings
from subwords.models.unigram.model import BYTE_PIECES, Unigram
from subwords.models.unigram.train import logarithms
from subwords.spec.vocab import Vocab
from subwords.support.errors import TrainingError

MOST_SYMBOLS = 1 << 20  # more than there are characters
ROUNDS = 2  # of counting the pieces of the best segmentations
WEIGHT = 1e-5  # of a logarithm of a probability, beside 1 for each piece


def train_mingram(
    counts: WordCounts, settings: MingramSettings, *, threads: int | None = None, on_step: Step | None = None
) -> Unigram:
    """Learn a Unigram model that writes a text with the fewest pieces, from word counts.

    Defined in ALGORITHMS.md, U7.

    The pieces are those of BPE with seed_factor times as many tokens, or more if too many of them are used nowhere; the
    most used ones are kept. All counts are integers, so equal counts give equal models everywhere. TrainingError if
    there are too few pieces, or if vocab_size has no room for the characters.

    Hazard: scores differ by as little as 1e-7. A .model file holds 32-bit floats, in which some of them are equal, so
    SentencePiece may choose another one of several segmentations with the fewest pieces; tokenizer.json is exact.

    >>> import subwords
    >>> tok = subwords.train(["hug hugs hugging hugger"] * 9, algorithm="mingram", vocab_size=16)
    >>> tok.tokenize("hugs hugger")
    ['\u2581hug', 's', '\u2581hugg', 'er']

    Source: S. Land, MinGram, arXiv 2606.27019.
    """
    return _mingram_model(learned_pieces(counts, settings, threads=threads, on_step=on_step), settings)


def learned_pieces(
    counts: WordCounts,
    settings: MingramSettings,
    *,
    threads: int | None = None,
    on_step: Step | None = None,
) -> dict[str, float]:
    """Return the learned pieces and their scores, best first."""
    reserved = {*settings.reserved}
    size = settings.vocab_size - len(reserved)
    if size < 1:
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too small: {len(reserved)} tokens are special or bytes"
        )
    alphabet, _ = initial_tokens(counts, BPESettings(vocab_size=MOST_SYMBOLS, byte_level=False))
    if size < len(alphabet):
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too small: the text has {len(alphabet)} characters, and there are "
            f"{len(reserved)} special and byte tokens. Raise vocab_size"
        )
    number = max(math.ceil(size * settings.seed_factor), len(alphabet))
    while True:
        seeds = train_bpe(counts, BPESettings(vocab_size=number, byte_level=False), threads=threads, on_step=on_step)
        pieces, model = _used([piece for piece in seeds.vocab if piece.decode() not in reserved], counts, threads)
        if len(pieces) >= size or len(seeds.vocab) < number:
            break
        number += number // 2 + size - len(pieces)  # more of the seeds than expected are used nowhere
    uses = _uses(model, counts, threads)
    required = _are_characters(pieces)
    if size > len(pieces):
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too large: these counts give at most {len(pieces) + len(reserved)} "
            "tokens. Lower vocab_size, or train on more text"
        )
    order = sorted(range(len(pieces)), key=lambda k: (not required[k], -uses[k], pieces[k]))[:size]
    model = _with([pieces[k] for k in order], uses[order])
    uses = _uses(model, counts, threads)
    scores = _mingram_scores(uses)
    ranked = sorted(range(size), key=lambda k: (-scores[k], pieces[order[k]]))
    return {pieces[order[k]].decode(): float(scores[k]) for k in ranked}


def _used(pieces: list[bytes], counts: WordCounts, threads: int | None) -> tuple[list[bytes], Unigram]:
    """Return the pieces that the best segmentations use, and all characters; and their model."""
    model = _with(pieces, np.ones(len(pieces)))
    for _ in range(ROUNDS):
        uses = _uses(model, counts, threads)
        kept = (uses > 0) | _are_characters(pieces)
        pieces = [piece for piece, keep in zip(pieces, kept.tolist(), strict=True) if keep]
        model = _with(pieces, uses[kept])
    return pieces, model


def _are_characters(pieces: list[bytes]) -> NDArray[np.bool_]:
    return np.fromiter((len(piece.decode()) == 1 for piece in pieces), np.bool_, len(pieces))


def _mingram_scores(uses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -1 for each piece, plus a little of the logarithm of its share; unused ones count as 1."""
    used = np.maximum(uses, 1.0)
    return WEIGHT * logarithms(used / used.sum()) - 1.0


def _with(pieces: list[bytes], uses: NDArray[np.float64]) -> Unigram:
    scores = np.concatenate([np.zeros(1), _mingram_scores(uses)])
    return Unigram(Vocab([b"", *pieces]), scores, unk_id=0, special_ids=frozenset([0]))


def _uses(model: Unigram, counts: WordCounts, threads: int | None) -> NDArray[np.float64]:
    """Return how often each piece occurs in the best segmentations; exact below 2**53."""
    found = word_ids(model, counts, threads)
    weights = np.repeat(counts.counts.astype(np.float64), np.diff(found.offsets))
    uses: NDArray[np.float64] = np.bincount(found.ids, weights=weights, minlength=len(model.vocab)).astype(np.float64)
    return uses[1:]


def _mingram_model(pieces: dict[str, float], settings: MingramSettings) -> Unigram:
    specials = len(settings.specials)
    unseen = specials + len(BYTE_PIECES) * settings.byte_fallback
    return Unigram(
        Vocab([token.encode() for token in (*settings.reserved, *pieces)]),
        np.array([0.0] * len(settings.reserved) + [*pieces.values()]),
        unk_id=None if settings.unk_token is None else settings.specials.index(settings.unk_token),
        byte_fallback=settings.byte_fallback,
        special_ids=frozenset(range(unseen)),
    )
