"""explain_training: the steps of training on a small corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import groupby, zip_longest
from math import log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.corpus.source import Source, source_size
from subwords.kernels import layout
from subwords.models.bpe.train import initial_tokens as bpe_tokens
from subwords.models.families import family_named
from subwords.models.learning import character_rules, check_words
from subwords.models.settings import BPESettings, UnigramSettings, WordPieceSettings
from subwords.models.unigram.segmenter import best_path
from subwords.models.unigram.train import SeedIndex, learned_from, losses_of, train_unigram
from subwords.models.wordpiece.train import compare_gains, known_words
from subwords.models.wordpiece.train import first_tokens as wordpiece_tokens
from subwords.normalize.resolve import NormalizerLike, SplitterLike
from subwords.support.checks import check_choice, check_integer
from subwords.support.errors import TrainingError
from subwords.support.render import Written, chip, page_chips, panel
from subwords.support.report import Report, Table
from subwords.training.count import counts_of
from subwords.training.train import family_settings, splitting_rules

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading


# ---------------------------------------------------------------------------------------------------------------------
# What training did, step by step, as data, text and HTML.

MOST_NAMED = 100  # first tokens, on a page
MOST_SHOWN = 8  # pairs or pieces of a step, in text


@dataclass(frozen=True)
class WordSplit:
    """A word, how often it occurs, and the tokens that it is split into."""

    word: str
    count: int
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class PairScore:
    """Two neighbouring tokens: how often they occur, and the score by which training compares them.

    score: the count for BPE; for WordPiece that of its `score` (ALGORITHMS.md, P1); the likelihood gain is in nats.
    """

    pair: tuple[str, str]
    count: int
    score: float


@dataclass(frozen=True)
class MergeStep:
    """A merge: all pairs in order of first occurrence, the one that was chosen, and the words afterwards.

    tied: the number of pairs that have the best score. tie: why the chosen one won, if there are several.
    """

    number: int
    pairs: tuple[PairScore, ...]
    chosen: PairScore
    tied: int
    token: str
    words: tuple[WordSplit, ...]
    tie: str = ""


@dataclass(frozen=True)
class PieceLoss:
    """A piece of a Unigram model: its count and score, and the loss of the corpus if it were removed.

    count: how often the best paths use it, or, for "course", how often it occurs. loss: in nats; None for characters,
    which are always kept, and for pieces that no path needs.
    """

    piece: str
    count: int
    score: float
    loss: float | None
    kept: bool


@dataclass(frozen=True)
class PieceStep:
    """A round of Unigram training: all pieces with their scores and losses, and the best paths of the words.

    loss: of the corpus, the sum of the negative scores of the best paths, in nats, without words that have unknown
    characters. removed: the pieces that are dropped. why: the step of the round.
    """

    number: int
    why: str
    pieces: tuple[PieceLoss, ...]
    words: tuple[WordSplit, ...]
    loss: float
    removed: tuple[str, ...]


@dataclass(frozen=True)
class TrainingTrace(Report):
    """What training did with a small corpus, made by `explain_training`. Immutable.

    words: as training begins. alphabet: the first tokens. vocab, merges: the result; merges are () for Unigram. Tokens
    in text form spell bytes that are not a character as \\xc3.
    """

    algorithm: str
    words: tuple[WordSplit, ...]
    alphabet: tuple[str, ...]
    steps: tuple[MergeStep, ...] | tuple[PieceStep, ...]
    vocab: tuple[bytes, ...]
    merges: tuple[tuple[bytes, bytes], ...]

    def tables(self) -> list[Table]:
        """Return the steps: merges, or the rounds of Unigram training."""
        rows: list[tuple[object, ...]] = []
        for step in self.steps:
            if isinstance(step, MergeStep):
                rows.append((step.number, *map(repr, step.chosen.pair), repr(step.token), step.chosen.count, step.tied))
            else:
                rows.append((step.number, step.why, len(step.pieces), len(step.removed), step.loss))
        merged = any(isinstance(step, MergeStep) for step in self.steps)
        columns = ("left", "right", "token", "count", "tied") if merged else ("why", "pieces", "removed", "loss")
        return [Table(("step", *columns), rows, "Steps of training", "tab:training")]

    def lines(self, written: Written = repr) -> Iterator[str]:
        """Yield the words, and each step with the best candidates. written: how a token is written."""
        first = f"{len(self.alphabet)} first tokens"
        yield f"{self.algorithm}: {len(self.words)} words, {first}, {len(self.vocab)} at the end"
        for word in self.words:
            yield f"  {word.count} x {word.word!r}: {_written_tokens(word.tokens, written)}"
        before = self.words
        for step in self.steps:
            yield _title(step, written)
            if isinstance(step, MergeStep):
                for pair in _best(step)[1:MOST_SHOWN]:
                    yield f"    then {_written_tokens(pair.pair, written)}: {_score(self.algorithm, pair)}"
            else:
                yield from _losses(step, written)
            for old, word in zip(before, step.words, strict=True):
                if old.tokens != word.tokens:
                    yield f"  {word.count} x {word.word!r}: {_written_tokens(word.tokens, written)}"
            before = step.words

    def _repr_html_(self) -> str:
        """Return the words, and each step with its candidates, in the style of the local page."""
        title = escape(f"{self.algorithm}: {len(self.words)} words become {len(self.vocab)} tokens")
        named = f": {page_chips(self.alphabet)}" if len(self.alphabet) <= MOST_NAMED else ""
        about = f"<p class='soft'>{len(self.alphabet)} first tokens{named}</p>"
        parts = [panel(title, about + _word_rows(self.words))]
        before = self.words
        for step in self.steps:
            changed = [new for old, new in zip(before, step.words, strict=True) if old.tokens != new.tokens]
            before = step.words
            rows: list[Sequence[str]]
            if isinstance(step, MergeStep):
                head = f"Step {step.number}: {page_chips(step.chosen.pair)} become {chip(step.token, 'fresh')}"
                rows = [
                    (
                        page_chips(pair.pair),
                        str(pair.count),
                        f"{pair.score:.6g}",
                        "chosen" if pair is step.chosen else "",
                    )
                    for pair in _best(step)
                ]
                table = _table(("pair", "count", "score", ""), rows)
            else:
                head = f"Step {step.number}: {escape(step.why)}"
                rows = [
                    (
                        *(chip(piece.piece), str(piece.count), f"{piece.score:.4f}"),
                        *("" if piece.loss is None else f"{piece.loss:.4f}", "kept" if piece.kept else "removed"),
                    )
                    for piece in step.pieces
                ]
                table = _table(("piece", "count", "score", "loss if removed", ""), rows)
            said = f"<p class='say'>{escape(_title(step).partition(': ')[2])}</p>"
            listed = f"<details><summary>{len(rows)} candidates</summary>{table}</details>"
            parts.append(panel(head, said + _word_rows(changed) + listed))
        return "".join(parts)


def _written_tokens(tokens: Sequence[str], written: Written) -> str:
    return " ".join(map(written, tokens))


def _score(algorithm: str, pair: PairScore) -> str:
    return f"count {pair.count}" if algorithm == "bpe" else f"score {pair.score:.6g}, count {pair.count}"


def _best(step: MergeStep) -> list[PairScore]:
    """Return the pairs by falling score, the chosen one first."""
    rest = sorted((pair for pair in step.pairs if pair is not step.chosen), key=lambda pair: -pair.score)
    return [step.chosen, *rest]


def _title(step: MergeStep | PieceStep, written: Written = repr) -> str:
    if isinstance(step, PieceStep):
        return f"step {step.number}: {step.why}; {len(step.pieces)} pieces, loss {step.loss:.4f}"
    chosen = step.chosen
    score = _score("bpe" if chosen.score == chosen.count else "", chosen)
    tied = f"; {step.tied} pairs tied, and {step.tie}" if step.tied > 1 else ""
    return f"step {step.number}: merge {_written_tokens(chosen.pair, written)} to {written(step.token)}: {score}{tied}"


def _losses(step: PieceStep, written: Written) -> Iterator[str]:
    if step.removed:
        yield f"  removed {len(step.removed)}: {_written_tokens(step.removed, written)}"
    known = [piece for piece in step.pieces if piece.loss is not None]
    for piece in sorted(known, key=lambda piece: piece.loss or 0.0)[:MOST_SHOWN]:
        kept = "kept" if piece.kept else "removed"
        yield f"    {written(piece.piece)}: score {piece.score:.4f}, loss if removed {piece.loss:.4f}, {kept}"


def _word_rows(words: Sequence[WordSplit]) -> str:
    rows = [(escape(repr(word.word)), str(word.count), page_chips(word.tokens)) for word in words]
    return _table(("word", "count", "tokens"), rows) if rows else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the head is text, the cells are HTML."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


# ---------------------------------------------------------------------------------------------------------------------
# BPE and WordPiece training in plain Python: everything is counted anew at each step, and every step is noted.

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


def token_text(token: bytes) -> str:
    """Return a token as text."""
    return token.decode("utf-8", "backslashreplace")


class _TrainingRun(ABC):
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
        names = tuple(map(token_text, self._base))
        return TrainingTrace(self.algorithm, start, names, tuple(steps), tuple(self._ids), tuple(self._merges))

    def _step(self, counts: Mapping[Pair, int], number: int) -> MergeStep:
        scored, tied = self._scored(counts)
        pair = self._chosen(tied)
        token, tie = self._join(pair), self._why(pair)
        self._merges.append(pair)
        self._words = [(word, count, self._merged(tokens, pair)) for word, count, tokens in self._words]
        self._ids.setdefault(token, len(self._ids))
        chosen = next(one for one, own in zip(scored, self._ranked(counts), strict=True) if own == pair)
        return MergeStep(number, tuple(scored), chosen, len(tied), token_text(token), _splits(self._words), tie)

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
    return tuple(WordSplit(token_text(word), count, tuple(map(token_text, tokens))) for word, count, tokens in words)


def _codes(word: bytes) -> list[int]:
    """Return the code points of a word; a surrogate for each byte that is not UTF-8."""
    return [*map(ord, word.decode("utf-8", "surrogateescape"))]


class _BPERun(_TrainingRun):
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
        scored = [PairScore((token_text(a), token_text(b)), counts[a, b], float(counts[a, b])) for a, b in ranked]
        return scored, [pair for pair in ranked if counts[pair] == best]


class _WordPieceRun(_TrainingRun):
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
        return _pair_scores(found, counts), [pair for pair, score in exact.items() if score == best]

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
        return _pair_scores([(pair, _gain(gains[pair], total)) for pair in ranked], counts), tied


def _pair_scores(found: list[tuple[Pair, float]], counts: Mapping[Pair, int]) -> list[PairScore]:
    return [PairScore((token_text(a), token_text(b)), counts[a, b], score) for (a, b), score in found]


def _gain(counts: tuple[int, int, int], total: int) -> float:
    """Return the gain in log-likelihood of P1."""
    n, a, b = counts

    def x_ln_x(x: int) -> float:
        return x * log(x) if x else 0.0

    above = x_ln_x(n) + x_ln_x(a - n) + x_ln_x(b - n) + x_ln_x(total)
    return above - x_ln_x(a) - x_ln_x(b) - x_ln_x(total - n)


# ---------------------------------------------------------------------------------------------------------------------
# Unigram training with a note of every round: the pieces, their losses, and what is removed.

Words = list[tuple[str, int]]
SHARE = 0.1  # of the pieces, removed in each round of the course's training


def watch_unigram(counts: WordCounts, settings: UnigramSettings, most_steps: int) -> TrainingTrace:
    """Return the rounds of Unigram training (U1-U3)."""
    words, steps = _texts(learned_from(counts, settings)), list[PieceStep]()

    def note(why: str, lattice: SeedIndex, scores: NDArray[np.float64], kept: NDArray[np.bool_] | None) -> None:
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


MOST_BYTES, MOST_WORDS, MOST_LETTERS = 1 << 20, 1000, 10_000
Algorithm = Literal["bpe", "wordpiece", "unigram", "unigram-course"]


def explain_training(
    source: Source | WordCounts,
    *,
    algorithm: Algorithm = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    reading: Reading | None = None,
    limit: int = 1000,
    **options: Any,
) -> TrainingTrace:
    """Return the steps of training on a small corpus: words, splits, the score of every pair or piece, each choice.

    The result has the vocabulary and the merges of `subwords.train` with the same options. algorithm: also
    "unigram-course", Unigram as courses teach it; it starts from all substrings, scores them by their share of all
    counts, and removes those whose loss is smallest. other options: as in `subwords.train`. limit: more steps
    are an error. Raises TrainingError for more than 1,000 different words, 10,000 bytes in them or 1 MB of text.

    >>> import subwords
    >>> found = subwords.study.explain_training(["hugs hug pug"], vocab_size=7, alphabet="corpus")
    >>> print(found)
    bpe: 3 words, 6 first tokens, 7 at the end
      1 x 'hugs': 'h' 'u' 'g' 's'
      1 x ' hug': ' ' 'h' 'u' 'g'
      1 x ' pug': ' ' 'p' 'u' 'g'
    step 1: merge 'u' 'g' to 'ug': count 3
        then 'h' 'u': count 2
        then 'g' 's': count 1
        then ' ' 'h': count 1
        then ' ' 'p': count 1
        then 'p' 'u': count 1
      1 x 'hugs': 'h' 'ug' 's'
      1 x ' hug': ' ' 'h' 'ug'
      1 x ' pug': ' ' 'p' 'ug'
    >>> found.merges
    ((b'u', b'g'),)
    """
    check_choice("algorithm", algorithm, ("bpe", "wordpiece", "unigram", "unigram-course"))
    check_integer("limit", limit, 1, 1_000_000)
    family = family_named(algorithm.removesuffix("-course"))
    settings = family_settings(family.name, {**options, "vocab_size": vocab_size, "special_tokens": special_tokens})
    size = None if isinstance(source, WordCounts) else source_size(source)
    if size is not None and size > MOST_BYTES:
        raise TrainingError(f"expected at most {MOST_BYTES} bytes of text to explain training on, not {size}")
    rules = splitting_rules(family.name, settings, splitter, normalizer)
    counts = counts_of(source, rules, reading=reading, progress=False)
    if len(counts) > MOST_WORDS or len(counts.data) > MOST_LETTERS:
        raise TrainingError(
            f"expected at most {MOST_WORDS} different words of {MOST_LETTERS} bytes together to explain training on, "
            f"not {len(counts)} of {len(counts.data)}: pass a part of the corpus"
        )
    watch = watch_course if algorithm == "unigram-course" else family.tool("explain_training")
    found: TrainingTrace = watch(counts, settings, limit)
    return found
