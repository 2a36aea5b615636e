"""The steps of a trace as data, and the steps of one word in each family. Doing them again gives ids."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np

from subwords import WordCounts
from subwords.machine import (
    BPE,
    Pairs,
    Symbol,
    Unigram,
    WordLevel,
    WordPiece,
    matches,
    merge_plainly,
    segmenter_of,
    word_symbols,
)
from subwords.study.verification import learned_merges, one_merge_each
from subwords.support.errors import InputError

Span: TypeAlias = tuple[int, int]  # in characters of the input
Pair: TypeAlias = tuple[int, int]
NO_PAIRS: Pairs = {}


@dataclass(frozen=True)
class Change:
    """Text that the normalizer changed: its span in the input, and what it became."""

    span: Span
    before: str
    after: str


@dataclass(frozen=True)
class Merge:
    """Two neighbours become a token. place: of the left one among the tokens at this moment. count: in the counts."""

    rank: int
    left: int
    right: int
    result: int
    place: int
    count: int | None = None


@dataclass(frozen=True)
class Merging:
    """BPE: the symbols of a word, the merges in order, and the ids at the end.

    ids differ from what the merges leave only where `split` is true: some tokens are split again afterwards.
    """

    symbols: tuple[int, ...]
    merges: tuple[Merge, ...]
    ids: tuple[int, ...]
    split: bool = False

    @property
    def left(self) -> tuple[int, ...]:
        """What the merges leave."""
        row = [*self.symbols]
        for merge in self.merges:
            assert (row[merge.place], row[merge.place + 1]) == (merge.left, merge.right)
            row[merge.place : merge.place + 2] = [merge.result]
        return tuple(row)

    def replayed(self) -> tuple[int, ...]:
        """Return the ids that the merges give."""
        return self.ids if self.split else self.left

    def spans(self) -> list[Span]:
        """Return the range of symbols that each merge covers."""
        row, found = [(i, i + 1) for i in range(len(self.symbols))], list[Span]()
        for merge in self.merges:
            found.append((row[merge.place][0], row[merge.place + 1][1]))
            row[merge.place : merge.place + 2] = [found[-1]]
        return found


@dataclass(frozen=True)
class Known:
    """A word that is a token as a whole. why: the property of the model that looks it up.

    merging: what merges alone would make of it, for models that have merges.
    """

    id: int
    why: str
    merging: Merging | None = None

    def replayed(self) -> tuple[int, ...]:
        """Return the id."""
        return (self.id,)


@dataclass(frozen=True)
class Match:
    """The longest piece at a place of a word: its range in characters, and how many longer ones were tried."""

    id: int
    start: int
    stop: int
    tried: int


@dataclass(frozen=True)
class Unknown:
    """A word without pieces: one id, or none. why: what was not found. matches: WordPiece's, up to that place."""

    id: int | None
    why: str
    matches: tuple[Match, ...] = ()

    def replayed(self) -> tuple[int, ...]:
        """Return the id."""
        return () if self.id is None else (self.id,)


@dataclass(frozen=True)
class Matching:
    """WordPiece: the longest matches from left to right."""

    matches: tuple[Match, ...]

    def replayed(self) -> tuple[int, ...]:
        """Return the ids."""
        return tuple(match.id for match in self.matches)


@dataclass(frozen=True)
class Piece:
    """A piece of a lattice: its range in characters of the word, and its score. id: None for an unknown character."""

    id: int | None
    start: int
    stop: int
    score: float


@dataclass(frozen=True)
class Lattice:
    """Unigram: all pieces of a word, the best path, the second best one, and their scores.

    best, runner_up: places in `pieces`; runner_up is None if there is only one path. gap: the difference of the scores.
    ids: of the best path, where unknown characters have become the unknown token or bytes.
    """

    pieces: tuple[Piece, ...]
    best: tuple[int, ...]
    score: float
    runner_up: tuple[int, ...] | None
    gap: float | None
    ids: tuple[int, ...]
    unknown: tuple[tuple[int, ...], ...] = ()

    def replayed(self) -> tuple[int, ...]:
        """Return the ids of the best path; `unknown` has those of each run of unknown characters."""
        found, runs, before = list[int](), iter(self.unknown), False
        for place in self.best:
            index = self.pieces[place].id
            if index is not None:
                found.append(index)
            elif not before:
                found += next(runs)
            before = index is None
        return tuple(found)


Segmentation: TypeAlias = Merging | Known | Unknown | Matching | Lattice


@dataclass(frozen=True)
class Word:
    """A word (pre-token): its text as the model reads it, its span in the input, and how it got its ids.

    step: the number of the step of the splitter that cut before it, None at the start of the text. alternative: which
    alternative of the splitter's pattern matched it, counted from 0; None for text between matches, and for rules that
    are not a single pattern. ids: of the word alone; at the border of two words, unknown ids may become one.
    """

    text: str
    span: Span
    step: int | None
    alternative: int | None
    segmentation: Segmentation

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the word."""
        return self.segmentation.replayed()


@dataclass(frozen=True)
class Added:
    """An added token that was found in the text before anything else."""

    id: int
    text: str
    span: Span

    def replayed(self) -> list[int]:
        """Return the id."""
        return [self.id]


@dataclass(frozen=True)
class Stretch:
    """Text between added tokens. normalized: the text after the normalizer. joins: the unknown token, if neighbours of
    it become one.
    """

    text: str
    span: Span
    normalized: str
    changes: tuple[Change, ...]
    words: tuple[Word, ...]
    joins: int | None = None

    def replayed(self) -> list[int]:
        """Return the ids of the words."""
        ids = [index for word in self.words for index in word.ids]
        lone = self.joins
        return [index for i, index in enumerate(ids) if index != lone or i == 0 or ids[i - 1] != lone]


# ---------------------------------------------------------------------------------------------------------------------
# The merges of a word, one by one, and what they were worth when they were learned.


class BPEWords:
    """Segments words by a BPE model."""

    def __init__(self, model: BPE, counts: WordCounts | None = None) -> None:
        self._model, self._counts = model, counts
        self._segmenter = segmenter_of(model)
        self._pairs = self._segmenter.pairs

    @cached_property
    def _learned(self) -> dict[tuple[int, int], int]:
        if self._counts is None:
            return {}
        return {found.pair: found.count for found in learned_merges(one_merge_each(self._model), self._counts)}

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its ids."""
        model, index = self._model, self._model.vocab.ids.get(word)
        if index is not None and index in model.user_ids - model.special_ids - model.unused_ids:
            return Known(index, "a user-defined token is not segmented")
        if index is not None and model.whole_words and index not in model.special_ids | model.unused_ids:
            why = "the whole word is a token: it is looked up before merging"
            return Known(index, why, self.merging([*word_symbols(model, word)]))
        if model.words_only:
            return Unknown(model.unk_id, "the model has whole words only; this word is not one of them")
        symbols = [*word_symbols(model, word)]
        if not symbols:
            return Unknown(None, "no symbol of the word is in the vocabulary, and unknown ones are left out")
        return self.merging(symbols)

    def merging(self, symbols: list[Symbol], without: Container[Pair] = (), more: Pairs = NO_PAIRS) -> Merging:
        """Return the merges of symbols; as they would be without some pairs, and with more of them."""

        def merge_of(pair: Pair) -> Pair | None:
            return None if pair in without else more.get(pair) or self._pairs.get(pair)

        tokens, alive, merges = [symbol.id for symbol in symbols], [*range(len(symbols))], list[Merge]()

        def note(left: int, right: int) -> None:
            pair = tokens[left], tokens[right]
            rank, result = more.get(pair) or self._pairs[pair]
            # The place of a first symbol becomes the place among the tokens of the moment.
            merges.append(Merge(rank, *pair, result, alive.index(left), self._learned.get(pair)))
            tokens[left] = result
            alive.remove(right)

        after = [symbol.id for symbol in merge_plainly(merge_of, symbols, on_merge=note)]
        ids = self._segmenter.parted(after)
        return Merging(tuple(symbol.id for symbol in symbols), tuple(merges), tuple(ids), ids != after)


# ---------------------------------------------------------------------------------------------------------------------
# The lattice of a word: all its pieces, the best path and the second best one (U5).

RESET = 100_000.0  # SentencePiece starts the sum again beyond


class UnigramWords:
    """Segments words by a Unigram model. carries: whether the sum of a word starts from that of the words before."""

    def __init__(self, model: Unigram) -> None:
        self._model = model
        self._scores = model.path_scores
        self.carries = model.running and not model.exact
        self._rounded: Callable[[float], float] = (lambda x: float(np.float32(x))) if self.carries else float
        self._lattice = lru_cache(10_000)(self._made)

    @cached_property
    def _longest(self) -> int:
        sizes = np.diff(self._model.vocab.offsets)
        return int(sizes.max(initial=1))

    def segmented(self, word: bytes, carried: list[float]) -> Lattice:
        """Return all pieces of a word and its best paths. carried: the sum before the word; it is changed."""
        text, pieces = word.decode("utf-8", "surrogateescape"), self._lattice(word)
        into: dict[int, list[int]] = {}
        for number, piece in enumerate(pieces):
            into.setdefault(piece.stop, []).append(number)
        best, total = self._best(pieces, len(text), carried[0])
        carried[0] = total if self.carries else 0.0
        score = sum(pieces[place].score for place in best)
        second = _second(pieces, into, best)
        gap = None if second is None else score - sum(pieces[place].score for place in second)
        runs = [
            tuple(self._unknown(word, text, [pieces[place] for place in group]))
            for lost, group in groupby(best, lambda place: pieces[place].id is None)
            if lost
        ]
        found = Lattice(tuple(pieces), tuple(best), score, second, gap, (), tuple(runs))
        return replace(found, ids=found.replayed())

    def carry(self, word: bytes, carried: list[float]) -> None:
        """Change the sum before a word to the sum after it."""
        carried[0] = self._best(self._lattice(word), len(word.decode("utf-8", "surrogateescape")), carried[0])[1]

    def _made(self, word: bytes) -> list[Piece]:
        text = word.decode("utf-8", "surrogateescape")
        return [piece for start in range(len(text)) for piece in self._pieces(text, start)]

    def _pieces(self, text: str, start: int) -> list[Piece]:
        found, alone, ids = list[Piece](), False, self._model.vocab.ids
        for stop in range(start + 1, min(len(text), start + self._longest) + 1):
            index = ids.get(text[start:stop].encode("utf-8", "surrogateescape"))
            if index is not None and index not in self._model.special_ids:
                found.append(Piece(index, start, stop, float(self._scores[index])))
                alone |= stop == start + 1
        return found if alone else [*found, Piece(None, start, start + 1, self._model.unk_score)]

    def _best(self, pieces: list[Piece], size: int, base: float) -> tuple[list[int], float]:
        """Return the best path; at a tie the one with the longer last piece. The sums are those of the model's file."""
        best: dict[int, tuple[float, int]] = {0: (base, -1)}
        at = -1
        for number, piece in enumerate(pieces):
            if piece.start != at:
                at = piece.start
                offset = best[at][0]
                if self.carries and abs(offset) > RESET:
                    for place in [place for place in best if place >= at]:
                        best[place] = self._rounded(best[place][0] - offset), best[place][1]
            total = self._rounded(best[at][0] + self._rounded(piece.score))
            if piece.stop not in best or total > best[piece.stop][0]:
                best[piece.stop] = total, number
        path, place = list[int](), size
        while place:
            path.append(best[place][1])
            place = pieces[path[-1]].start
        return path[::-1], best[size][0]

    def _unknown(self, word: bytes, text: str, run: list[Piece]) -> list[int]:
        """Return the ids of a run of unknown characters."""
        model, found = self._model, list[int]()
        for piece in run:
            data = text[piece.start : piece.stop].encode("utf-8", "surrogateescape")
            own = model.byte_ids[list(data)].tolist()
            if model.byte_fallback and min(own) >= 0:
                found += own
            elif model.unk_id is None:
                raise InputError(f"{data.decode('utf-8', 'replace')!r} is not in the vocabulary; there is no unk token")
            elif not found or found[-1] != model.unk_id:
                found.append(model.unk_id)
        return found


def _second(pieces: list[Piece], into: dict[int, list[int]], best: list[int]) -> tuple[int, ...] | None:
    """Return the path of the greatest score that is not `best`: it leaves `best` at one place."""
    ahead: dict[int, tuple[float, int]] = {0: (0.0, -1)}  # to each place: the score, the last piece
    for number, piece in enumerate(pieces):
        total = ahead[piece.start][0] + piece.score
        if piece.stop not in ahead or total > ahead[piece.stop][0]:
            ahead[piece.stop] = total, number
    rest, found, chosen = 0.0, -np.inf, None
    for back, place in enumerate(reversed(best)):
        for number in into[pieces[place].stop]:
            total = ahead[pieces[number].start][0] + pieces[number].score + rest
            if number != place and total > found:
                found, chosen = total, (number, len(best) - back)
        rest += pieces[place].score
    if chosen is None:
        return None
    path, at = [chosen[0]], pieces[chosen[0]].start
    while at:
        path.append(ahead[at][1])
        at = pieces[path[-1]].start
    return (*path[::-1], *best[chosen[1] :])


# ---------------------------------------------------------------------------------------------------------------------
# The longest matches of a word, and the words that are tokens.


class WordPieceWords:
    """Segments words by a WordPiece model (P3)."""

    def __init__(self, model: WordPiece) -> None:
        self._model = model
        self._pieces = {piece: index for index, piece in enumerate(model.vocab) if index not in model.special_ids}

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its ids."""
        model, size = self._model, _characters(word)
        if size > model.max_chars:
            return Unknown(model.unk_id, f"the word has {size} characters, more than {model.max_chars} (max_chars)")
        found, at, done = list[Match](), 0, 0  # places in characters and in bytes
        for index, end in matches(self._pieces, model.prefix.encode(), word):
            stop = _characters(word[:end])
            found.append(Match(index, at, stop, size - stop))
            at, done = stop, end
        if done < len(word):
            begun = f" after {at} characters" if at else ""
            why = f"no piece begins {word[done:].decode('utf-8', 'replace')!r}{begun}: the whole word is unknown"
            return Unknown(model.unk_id, why, tuple(found))
        return Matching(tuple(found))


def _characters(word: bytes) -> int:
    return len(word.decode("utf-8", "surrogateescape"))


class WordLevelWords:
    """Looks up words in a WordLevel model (L1)."""

    def __init__(self, model: WordLevel) -> None:
        self._model = model

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its id."""
        index = self._model.vocab.ids.get(word)
        if index is None or index in self._model.special_ids:
            return Unknown(self._model.unk_id, "the word is not in the vocabulary")
        return Known(index, "the word is a token")
