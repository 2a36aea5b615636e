"""Extend a WordPiece or Unigram model: merge its pieces further, and keep what its own rule then uses (P5, U6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.extend_bpe import Extension, Learned, MergeLimits
from subwords.adapt.words import apart_ids, symbols_of, threshold_of, word_ids
from subwords.components.model import Model
from subwords.corpus.counts import WordCounts
from subwords.corpus.provenance import Provenance
from subwords.errors import InputError
from subwords.kernels.layout import MergeRules
from subwords.learning.limits import Step
from subwords.learning.merging import CountLoop
from subwords.results.token_batch import TokenBatch
from subwords.unigram.em import logarithms
from subwords.unigram.model import GRAINS, Unigram
from subwords.wordpiece.model import WordPiece

__all__ = ["extend_unigram", "extend_wordpiece"]

ROUNDS = 20  # of replacing pieces that are not used
MORE = 64  # candidates besides twice as many as asked for: those that are not used are replaced


def extend_wordpiece(
    model: WordPiece,
    counts: WordCounts,
    settings: Extension,
    *,
    threads: int | None = None,
    on_step: Step | None = None,
) -> Learned:
    """Return up to `add` pieces that a model gets, which all occur when it encodes the counted words."""
    tokens = _Extending(model, counts, threads).learned(settings, on_step)[0]
    return Learned(tokens)


def extend_unigram(
    model: Unigram, counts: WordCounts, settings: Extension, *, threads: int | None = None, on_step: Step | None = None
) -> Learned:
    """Return up to `add` pieces and their scores, which all occur when the model encodes the counted words."""
    tokens, found = _ExtendingUnigram(model, counts, threads).learned(settings, on_step)
    return Learned(tokens, scores=[found.score(len(model.vocab) + k) or 0.0 for k in range(len(tokens))])


class _Extending:
    """The search for pieces that the counted words use; the scores of pieces do not matter."""

    rescores = False  # whether pieces get scores by how often they are used

    def __init__(self, model: Model, counts: WordCounts, threads: int | None) -> None:
        self.model, self.counts, self.threads = model, counts, threads
        self.total = float(_uses(model, counts, threads).sum())

    def grown(self, tokens: list[bytes], times: list[float]) -> Model:
        """Return the model with more pieces, used so many times."""
        return self.model.grown(tokens)

    def learned(self, settings: Extension, on_step: Step | None) -> tuple[list[bytes], Model]:
        """Return the new pieces, and the model with them."""
        _check(settings)
        tokens, times = _candidates(self.model, self.counts, settings, self.threads, on_step or (lambda *_: None))
        left: int = min(settings.count, len(tokens))
        chosen = list(range(left))
        weights = dict(enumerate(times))
        for turn in range(ROUNDS):
            found = self.grown([tokens[k] for k in chosen], [weights[k] for k in chosen])
            used = self._used(found)
            if used.all() and (turn or not self.rescores):
                return [tokens[k] for k in chosen], found
            # Integer counts of the best paths: expectation maximisation as Viterbi training does it.
            weights |= {k: float(use) for k, use in zip(chosen, used.tolist(), strict=True) if use}
            missing = int((used == 0).sum())
            stop: int = min(left + missing, len(tokens)) if turn < ROUNDS // 2 else left
            chosen = [k for k, use in zip(chosen, used.tolist(), strict=True) if use] + [*range(left, stop)]
            left = stop
        while True:
            found = self.grown([tokens[k] for k in chosen], [weights[k] for k in chosen])
            used = self._used(found)
            if used.all():
                return [tokens[k] for k in chosen], found
            # A piece that no best path uses is on none without it either: the paths stay.
            chosen = [k for k, use in zip(chosen, used.tolist(), strict=True) if use]

    def _used(self, found: Model) -> NDArray[np.float64]:
        """Return how often each new piece is used."""
        return _uses(found, self.counts, self.threads)[len(self.model.vocab) :]


class _ExtendingUnigram(_Extending):
    """The same for Unigram: a piece has the logarithm of its share of all pieces as score."""

    model: Unigram
    rescores = True

    def grown(self, tokens: list[bytes], times: list[float]) -> Unigram:
        """Return the model with more pieces, used so many times."""
        model = self.model
        learned = np.ones(len(model.vocab), np.bool_)
        learned[list(model.special_ids | model.user_ids)] = False
        # No score is below the least one, which decides about unknown characters.
        least = float(model.scores[learned].min()) if learned.any() else 0.0
        shares = logarithms(np.array(times, np.float64) / self.total)
        scores = np.maximum(np.ceil(least * GRAINS), np.round(shares * GRAINS)) / GRAINS
        return _spared(model, model.grown(tokens, scores=scores.tolist()), learned)


def _check(settings: Extension) -> None:
    if settings.whole_characters or settings.max_words is not None:
        name = "whole_characters" if settings.whole_characters else "max_words"
        raise InputError(f"{name} is for BPE: pieces of WordPiece and Unigram are characters of one word")


def _candidates(
    model: Model, counts: WordCounts, settings: Extension, threads: int | None, on_step: Step
) -> tuple[list[bytes], list[float]]:
    """Return the strings of merged neighbours, best first, and how often each was merged."""
    base = list(model.vocab)
    prefix = model.marks[0]
    ids = word_ids(model, counts, threads)
    words = symbols_of(ids, counts.counts, apart_ids(model), in_order=settings.tie_break == "first")
    lengths = np.fromiter((len(token.removeprefix(prefix).decode("utf-8", "replace")) for token in base), np.int32)
    taken = np.flatnonzero(lengths > 1).astype(np.int32)
    rules = MergeRules(lengths, np.zeros(len(base), np.uint8), np.zeros(1, np.uint8), taken)
    most = len(base) + 2 * settings.count + MORE
    limits = MergeLimits(most, settings.tie_break, settings.min_frequency, settings.max_token_length)
    threshold = threshold_of(ids, counts.counts, settings.count)
    loop = CountLoop(words, threshold, base, limits, len(prefix), rules)
    loop.run(on_step)
    return list(loop.vocab.after(len(base))), loop.learned[1].astype(np.float64).tolist()


def _spared(model: Unigram, found: Unigram, learned: NDArray[np.bool_]) -> Unigram:
    """Lower new scores until each old piece that was the best path of its own text is the best again."""
    ids = np.flatnonzero(learned & (np.diff(model.vocab.offsets) > 0))
    texts = _as_words([model.vocab[k] for k in ids.tolist()])
    own = _alone(word_ids(model, texts), ids)
    scores, size = found.scores.copy(), len(model.vocab)
    for _ in range(ROUNDS):
        found = replace(found, scores=scores)
        paths = word_ids(found, texts)
        lost = np.flatnonzero(own & ~_alone(paths, ids))
        if not len(lost):
            break
        sums, path_scores = scores.copy(), found.path_scores
        for k in lost.tolist():
            path = paths.ids[paths.offsets[k] : paths.offsets[k + 1]]
            new = path[path >= size]
            ahead = max(0.0, float(path_scores[path].sum() - path_scores[ids[k]]))
            sums[new] = np.minimum(sums[new], scores[new] - np.ceil(ahead / max(1, len(new)) * GRAINS + 1) / GRAINS)
        scores = sums
    return found


def _as_words(texts: list[bytes]) -> WordCounts:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return WordCounts(np.frombuffer(b"".join(texts), np.uint8), offsets, np.ones(len(texts), np.uint64), Provenance(""))


def _alone(paths: TokenBatch, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which words are one id, the given one."""
    found: NDArray[np.bool_] = np.diff(paths.offsets) == 1
    found[found] = paths.ids[paths.offsets[:-1][found]] == ids[found]
    return found


def _uses(model: Model, counts: WordCounts, threads: int | None) -> NDArray[np.float64]:
    """Return how often each id occurs in the counted words; exact below 2**53."""
    found = word_ids(model, counts, threads)
    weights = np.repeat(counts.counts.astype(np.float64), np.diff(found.offsets))
    uses: NDArray[np.float64] = np.bincount(found.ids, weights=weights, minlength=len(model.vocab)).astype(np.float64)
    return uses[: len(model.vocab)]
