"""Steps: what each part of the pipeline did with a text, as data. Doing them again gives ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "Added",
    "Change",
    "Known",
    "Lattice",
    "Match",
    "Matching",
    "Merge",
    "Merging",
    "Piece",
    "Segmentation",
    "Stretch",
    "Unknown",
    "Word",
]

Span: TypeAlias = tuple[int, int]  # in characters of the input


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

    def replayed(self) -> tuple[int, ...]:
        """Return the ids that the merges give."""
        row = [*self.symbols]
        for merge in self.merges:
            assert (row[merge.place], row[merge.place + 1]) == (merge.left, merge.right)
            row[merge.place : merge.place + 2] = [merge.result]
        return self.ids if self.split else tuple(row)


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
