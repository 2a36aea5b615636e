"""Unigram training with a note of every round: the pieces, their losses, and what is removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.errors import TrainingError
from subwords.kernels import layout
from subwords.study.watched import PieceLoss, PieceStep, TrainingTrace, WordSplit
from subwords.unigram.em import losses_of
from subwords.unigram.plain import best_path
from subwords.unigram.seeds import Lattice
from subwords.unigram.train import UnigramSettings, learned_from, train_unigram

__all__ = ["watch_course", "watch_unigram"]

Words = list[tuple[str, int]]
SHARE = 0.1  # of the pieces, removed in each round of the course's training


def watch_unigram(counts: WordCounts, settings: UnigramSettings, most_steps: int) -> TrainingTrace:
    """Return the rounds of Unigram training (U1-U3)."""
    words, steps = _texts(learned_from(counts, settings)), list[PieceStep]()

    def note(why: str, lattice: Lattice, scores: NDArray[np.float64], kept: NDArray[np.bool_] | None) -> None:
        if len(steps) == most_steps:
            raise _too_many(most_steps, settings.vocab_size)
        names = [*map(lattice.string, range(len(lattice)))]
        lost, used = losses_of(lattice, scores, 1)
        left = np.ones(len(lattice), np.bool_) if kept is None else kept
        losses = [None if loss in (layout.ALWAYS, layout.NEVER) else loss for loss in lost.tolist()]
        rows = zip(names, used.tolist(), scores.tolist(), losses, left.tolist(), strict=True)
        pieces = tuple(PieceLoss(*row) for row in rows)
        steps.append(_step(len(steps) + 1, why, pieces, words))

    model = train_unigram(counts, settings, threads=1, on_round=note)
    alphabet = tuple(sorted({char for word, _ in words for char in word}))
    start = tuple(WordSplit(word, count, tuple(word)) for word, count in words)
    return TrainingTrace("unigram", start, alphabet, tuple(steps), tuple(model.vocab), ())


def watch_course(counts: WordCounts, settings: UnigramSettings, most_steps: int) -> TrainingTrace:
    """Return the rounds of Unigram training as courses teach it.

    The pieces are all characters, and all substrings that are shorter than a word they are in. The score of a piece is
    the logarithm of its share of all counts. Each round removes a tenth of the pieces, those whose removal raises the
    loss of the corpus least, but no characters, until vocab_size is reached.
    """
    words, steps = _texts(learned_from(counts, settings)), list[PieceStep]()
    found, characters = _substrings(words), {char for word, _ in words for char in word}
    if not len(characters) <= settings.vocab_size:
        raise TrainingError(f"vocab_size {settings.vocab_size} is too small: there are {len(characters)} characters")
    while len(found) > settings.vocab_size:
        if len(steps) == most_steps:
            raise _too_many(most_steps, settings.vocab_size)
        scores = _shares(found)
        losses = {piece: _loss_without(words, scores, piece) for piece in found if len(piece) > 1}
        number = min(max(1, int(SHARE * len(found))), len(found) - settings.vocab_size)
        dropped = {*sorted(losses, key=lambda piece: losses[piece])[:number]}  # stable: the first of equal losses
        pieces = tuple(
            PieceLoss(piece, count, scores[piece], losses.get(piece), piece not in dropped)
            for piece, count in found.items()
        )
        steps.append(_step(len(steps) + 1, f"remove {number} of the smallest loss", pieces, words))
        found = {piece: count for piece, count in found.items() if piece not in dropped}
    scores = _shares(found)
    last = tuple(PieceLoss(piece, count, scores[piece], None, True) for piece, count in found.items())
    steps.append(_step(len(steps) + 1, "the pieces that are left", last, words))
    start = tuple(WordSplit(word, count, tuple(word)) for word, count in words)
    vocab = tuple(piece.encode() for piece in sorted(found, key=lambda piece: -scores[piece]))
    return TrainingTrace("unigram-course", start, tuple(sorted(characters)), tuple(steps), vocab, ())


def _too_many(most_steps: int, vocab_size: int) -> TrainingError:
    return TrainingError(f"more than {most_steps} steps to explain: raise vocab_size ({vocab_size}), or raise `limit`")


def _texts(counts: Iterable[tuple[bytes, int]]) -> Words:
    return [(word.decode("utf-8", "replace"), count) for word, count in counts]


def _step(number: int, why: str, pieces: tuple[PieceLoss, ...], words: Words) -> PieceStep:
    scores, splits, loss = {piece.piece: piece.score for piece in pieces}, list[WordSplit](), 0.0
    for word, count in words:
        tokens, score = best_path(word, scores.get, len(word))
        splits.append(WordSplit(word, count, tuple(tokens or word)))
        loss -= count * score if tokens else 0.0  # a word with unknown characters has no path
    removed = tuple(piece.piece for piece in pieces if not piece.kept)
    return PieceStep(number, why, pieces, tuple(splits), loss, removed)


def _substrings(words: Words) -> dict[str, int]:
    """Count all substrings of the words, without words that are in no other word."""
    counts: dict[str, int] = {}
    inner = {char for word, _ in words for char in word}
    for word, count in words:
        for start in range(len(word)):
            for stop in range(start + 1, len(word) + 1):
                counts[word[start:stop]] = counts.get(word[start:stop], 0) + count
                if stop - start < len(word):
                    inner.add(word[start:stop])
    return {piece: count for piece, count in counts.items() if piece in inner}


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {piece: log(count / total) for piece, count in counts.items()}


def _loss_without(words: Words, scores: Mapping[str, float], piece: str) -> float:
    """Return how much the loss of the corpus rises without a piece."""
    left, found = {other: score for other, score in scores.items() if other != piece}, 0.0
    for word, count in words:
        if piece in word:
            found += count * (best_path(word, scores.get, len(word))[1] - best_path(word, left.get, len(word))[1])
    return found
