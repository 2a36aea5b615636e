"""BPE and WordPiece training in plain Python: everything is counted anew at each step, and every step is noted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, zip_longest
from math import log

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.train import BPESettings
from subwords.bpe.train import first_tokens as bpe_tokens
from subwords.corpus.counts import WordCounts
from subwords.errors import TrainingError
from subwords.kernels import layout
from subwords.learning.characters import character_rules
from subwords.learning.limits import check_words
from subwords.study.watched import MergeStep, PairScore, TrainingTrace, WordSplit
from subwords.wordpiece.likelihood import compare_gains
from subwords.wordpiece.train import WordPieceSettings, known_words
from subwords.wordpiece.train import first_tokens as wordpiece_tokens

__all__ = ["shown", "watch_bpe", "watch_wordpiece"]

Pair = tuple[bytes, bytes]
Word = tuple[bytes, int, tuple[bytes, ...]]  # the word, its count, its tokens


def watch_bpe(counts: WordCounts, settings: BPESettings, most_steps: int) -> TrainingTrace:
    """Return the steps of BPE training (B1-B8)."""
    check_words(counts)
    return _BPERun(counts, settings, *bpe_tokens(counts, settings)).watched(most_steps)


def watch_wordpiece(counts: WordCounts, settings: WordPieceSettings, most_steps: int) -> TrainingTrace:
    """Return the steps of WordPiece training (P1, P2)."""
    check_words(counts)
    counts, _ = known_words(counts, settings.max_chars)
    return _WordPieceRun(counts, settings, *wordpiece_tokens(counts, settings)[:2]).watched(most_steps)


def shown(token: bytes) -> str:
    """Return a token as text."""
    return token.decode("utf-8", "backslashreplace")


class _Run(ABC):
    """A training run: the words as tokens, the tokens so far and the merges so far."""

    algorithm: str

    def __init__(
        self,
        words: Iterable[tuple[bytes, int]],
        settings: BPESettings | WordPieceSettings,
        base: list[bytes],
        symbol_ids: NDArray[np.int32],
    ) -> None:
        self._settings, self._base = settings, base
        known = symbol_ids != layout.MISSING
        self._words: list[Word] = [
            (word, count, tuple(base[symbol_ids[symbol]] for symbol in run))
            for word, count in words
            for is_known, run in groupby(self._symbols(word), known.__getitem__)
            if is_known
        ]
        self._ids = {token: index for index, token in enumerate(base)}
        self._merges = list[Pair]()

    @abstractmethod
    def _symbols(self, word: bytes) -> list[int]:
        """Return the symbols of a word, as the trainer numbers them."""

    @abstractmethod
    def _join(self, pair: Pair) -> bytes:
        """Return what a pair merges to."""

    @abstractmethod
    def _scored(self, counts: Mapping[Pair, int]) -> tuple[list[PairScore], list[Pair]]:
        """Return all pairs with their scores, and those with the best score."""

    @abstractmethod
    def _may_merge(self, pair: Pair) -> bool:
        """Whether the settings let a pair merge."""

    def watched(self, most_steps: int) -> TrainingTrace:
        """Merge until the vocabulary has its size; return every step."""
        start, steps = _splits(self._words), list[MergeStep]()
        while len(self._ids) < self._settings.vocab_size:
            counts = {pair: count for pair, count in self._pairs().items() if self._may_merge(pair)}
            if not counts or max(counts.values()) < max(1, self._settings.min_frequency):
                break
            if len(steps) == most_steps:
                raise TrainingError(
                    f"more than {most_steps} steps to explain: lower vocab_size ({self._settings.vocab_size}), "
                    f"or raise `limit`"
                )
            steps.append(self._step(counts, len(steps) + 1))
        names = tuple(map(shown, self._base))
        return TrainingTrace(self.algorithm, start, names, tuple(steps), tuple(self._ids), tuple(self._merges))

    def _step(self, counts: Mapping[Pair, int], number: int) -> MergeStep:
        scored, tied = self._scored(counts)
        pair = self._chosen(tied)
        token, tie = self._join(pair), self._why(pair)
        self._merges.append(pair)
        self._words = [(word, count, self._merged(tokens, pair)) for word, count, tokens in self._words]
        self._ids.setdefault(token, len(self._ids))
        chosen = next(one for one, own in zip(scored, self._ranked(counts), strict=True) if own == pair)
        return MergeStep(number, tuple(scored), chosen, len(tied), shown(token), _splits(self._words), tie)

    def _why(self, pair: Pair) -> str:
        """Say why a pair wins among those of the best score."""
        if self._settings.tie_break == "first":
            return "this one occurs first"
        if self._settings.tie_break == "bytes":
            return "this one has the smallest bytes"
        return f"this one has the smallest ids: {self._ids[pair[0]]} and {self._ids[pair[1]]}"

    def _chosen(self, tied: list[Pair]) -> Pair:
        if self._settings.tie_break == "first":
            return tied[0]
        if self._settings.tie_break == "bytes":
            return min(tied)
        return min(tied, key=lambda pair: (self._ids[pair[0]], self._ids[pair[1]]))

    def _ranked(self, counts: Mapping[Pair, int]) -> list[Pair]:
        """Return the pairs that occur often enough."""
        return [pair for pair, count in counts.items() if count >= self._settings.min_frequency]

    def _pairs(self, times: Callable[[int], int] = lambda length: length - 1) -> dict[Pair, int]:
        """Count neighbours in order of first occurrence; `times`: of a token with itself in a run of so many."""
        counts: dict[Pair, int] = {}
        for _, count, tokens in self._words:
            runs = [(token, len([*run])) for token, run in groupby(tokens)]
            for (token, length), after in zip_longest(runs, runs[1:]):
                if length > 1:
                    counts[token, token] = counts.get((token, token), 0) + count * times(length)
                if after:
                    counts[token, after[0]] = counts.get((token, after[0]), 0) + count
        return counts

    def _merged(self, tokens: Sequence[bytes], pair: Pair) -> tuple[bytes, ...]:
        found, at = list[bytes](), 0
        while at < len(tokens):
            joins = tuple(tokens[at : at + 2]) == pair
            found.append(self._join(pair) if joins else tokens[at])
            at += 2 if joins else 1
        return tuple(found)


def _splits(words: Iterable[Word]) -> tuple[WordSplit, ...]:
    return tuple(WordSplit(shown(word), count, tuple(map(shown, tokens))) for word, count, tokens in words)


def _codes(word: bytes) -> list[int]:
    """Return the code points of a word; a surrogate for each byte that is not UTF-8."""
    return [*map(ord, word.decode("utf-8", "surrogateescape"))]


class _BPERun(_Run):
    algorithm = "bpe"
    _settings: BPESettings

    def _symbols(self, word: bytes) -> list[int]:
        return [*word] if self._settings.byte_level else _codes(word)

    def _join(self, pair: Pair) -> bytes:
        return pair[0] + pair[1]

    def _may_merge(self, pair: Pair) -> bool:
        most = self._settings.max_token_length
        token = self._join(pair)
        if most is not None and (len(token) if self._settings.byte_level else len(_codes(token))) > most:
            return False
        if not self._settings.whole_characters:
            return True
        rules = character_rules(pair)
        kinds = int(np.sqrt(len(rules.joined)))
        return bool(rules.joined[int(rules.classes[0]) * kinds + int(rules.classes[1])] != layout.APART)

    def _scored(self, counts: Mapping[Pair, int]) -> tuple[list[PairScore], list[Pair]]:
        best, ranked = max(counts.values()), self._ranked(counts)
        scored = [PairScore((shown(a), shown(b)), counts[a, b], float(counts[a, b])) for a, b in ranked]
        return scored, [pair for pair in ranked if counts[pair] == best]


class _WordPieceRun(_Run):
    algorithm = "wordpiece"
    _settings: WordPieceSettings

    @property
    def _prefix(self) -> bytes:
        return self._settings.prefix.encode()

    def _symbols(self, word: bytes) -> list[int]:
        return [code + layout.CODE_POINTS * (place > 0) for place, code in enumerate(_codes(word))]

    def _join(self, pair: Pair) -> bytes:
        return pair[0] + pair[1][len(self._prefix) :]

    def _may_merge(self, pair: Pair) -> bool:
        most = self._settings.max_token_length
        return most is None or sum(map(self._length, pair)) <= most

    def _length(self, token: bytes) -> int:
        inner = token.startswith(self._prefix) and len(token) > len(self._prefix)
        return len(_codes(token[len(self._prefix) :] if inner else token))

    def _pairs(self, times: Callable[[int], int] = lambda length: length - 1) -> dict[Pair, int]:
        # A merge joins every second token of a run; the gain needs the number of merges.
        return super()._pairs((lambda length: length // 2) if self._settings.score == "likelihood" else times)

    def _scored(self, counts: Mapping[Pair, int]) -> tuple[list[PairScore], list[Pair]]:
        tokens: dict[bytes, int] = {}
        for _, count, row in self._words:
            for token in row:
                tokens[token] = tokens.get(token, 0) + count
        ranked, total = self._ranked(counts), sum(tokens.values())
        found: list[tuple[Pair, float]]
        if self._settings.score == "likelihood":
            return self._gains(ranked, counts, tokens, total)
        exact = {
            (a, b): Fraction(counts[a, b], tokens[a] * tokens[b] if self._settings.score == "course" else 1)
            for a, b in ranked
        }
        best = max(exact.values())
        found = [(pair, float(score)) for pair, score in exact.items()]
        return _named(found, counts), [pair for pair, score in exact.items() if score == best]

    def _gains(
        self, ranked: list[Pair], counts: Mapping[Pair, int], tokens: Mapping[bytes, int], total: int
    ) -> tuple[list[PairScore], list[Pair]]:
        gains: dict[Pair, tuple[int, int, int]] = {}
        for a, b in ranked:
            n = counts[a, b]
            both = (tokens[a], tokens[b] - n if a == b else tokens[b])
            gains[a, b] = (n, max(both), min(both))
        tied = list[Pair]()
        for pair in ranked:
            order = compare_gains(gains[pair], gains[tied[0]], total) if tied else 1
            tied = [pair] if order > 0 else [*tied, pair] if order == 0 else tied
        return _named([(pair, _gain(gains[pair], total)) for pair in ranked], counts), tied


def _named(found: list[tuple[Pair, float]], counts: Mapping[Pair, int]) -> list[PairScore]:
    return [PairScore((shown(a), shown(b)), counts[a, b], score) for (a, b), score in found]


def _gain(counts: tuple[int, int, int], total: int) -> float:
    """Return the gain in log-likelihood of P1."""
    n, a, b = counts

    def x_ln_x(x: int) -> float:
        return x * log(x) if x else 0.0

    above = x_ln_x(n) + x_ln_x(a - n) + x_ln_x(b - n) + x_ln_x(total)
    return above - x_ln_x(a) - x_ln_x(b) - x_ln_x(total - n)
