"""How one word becomes tokens, as steps to look at: merges, matches, or a lattice of pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, TypeAlias

from subwords.bpe.model import BPE
from subwords.study.token_facts import PairRanks, TokenFacts
from subwords.unigram.model import Unigram
from subwords.wordpiece.model import WordPiece

__all__ = ["Edge", "Lattice", "Lookup", "Match", "Matches", "Merge", "Merges", "Steps", "steps_of"]

MOST_BYTES = 300  # of a word whose steps are shown: more takes too long, and nobody reads it
MOST_CHARACTERS = 64  # of a word whose lattice is drawn
MOST_TRIED = 30  # candidates that are listed for one match


@dataclass(frozen=True, slots=True)
class Merge:
    """One merge: the symbols at `at` and `at` + 1 become `result`."""

    at: int
    left: int
    right: int
    result: int
    rank: int


@dataclass(frozen=True, slots=True)
class Merges:
    """A BPE word: its first symbols (None for an unknown one, with its text in `texts`) and the merges in order.

    whole: the word is a token, so that the encoder looks it up and merges nothing.
    """

    symbols: tuple[int | None, ...]
    texts: tuple[str, ...]
    steps: tuple[Merge, ...]
    whole: bool = False
    kind: Literal["merges"] = "merges"


@dataclass(frozen=True, slots=True)
class Match:
    """The longest piece at a place of a word; `tried`: longer candidates that are not in the vocabulary."""

    start: int
    stop: int
    id: int | None
    tried: tuple[str, ...]
    more_tried: int


@dataclass(frozen=True, slots=True)
class Matches:
    """A WordPiece word: its longest matches from left to right. unknown: why the word is unknown."""

    matches: tuple[Match, ...]
    unknown: str | None = None
    kind: Literal["matches"] = "matches"


@dataclass(frozen=True, slots=True)
class Edge:
    """A piece between two places of a word, in characters, with its score. path: 1 on the best path, 2 on the next."""

    start: int
    stop: int
    id: int | None
    score: float
    paths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Lattice:
    """A Unigram word: all pieces that fit, the score of the best path and of the runner-up; natural logarithms."""

    edges: tuple[Edge, ...]
    best: float
    second: float | None
    kind: Literal["lattice"] = "lattice"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A word without steps to show, and the reason."""

    reason: str
    kind: Literal["lookup"] = "lookup"


Steps: TypeAlias = Merges | Matches | Lattice | Lookup
_Find: TypeAlias = Callable[[int, int], tuple[int, int] | None]


def steps_of(facts: TokenFacts, word: str) -> Steps:
    """Return how a normalized word (pre-token) becomes tokens; bytes that are not characters are lone surrogates."""
    model = facts.tok.model
    if len(word.encode("utf-8", "surrogateescape")) > MOST_BYTES:
        return Lookup(f"The word has {len(word)} characters; steps are shown for words of up to {MOST_BYTES} bytes.")
    if isinstance(model, BPE):
        return _merges(model, facts.pairs, word)
    if isinstance(model, WordPiece):
        return _matches(model, word)
    if isinstance(model, Unigram):
        if len(word) > MOST_CHARACTERS:
            return Lookup(f"The word has {len(word)} characters: the lattice is drawn for up to {MOST_CHARACTERS}.")
        return _lattice(model, word)
    return Lookup("The model is a list of whole words: the word is looked up in it.")


# ------------------------------------------------------------------ BPE


def _merges(model: BPE, pairs: PairRanks, word: str) -> Merges:
    symbols, texts = _symbols(model, word)
    whole = model.whole_words and model.vocab.ids.get(word.encode("utf-8", "surrogateescape")) is not None
    first, steps = tuple(symbols), []
    find = cache(pairs.find)  # most pairs stay the same from step to step
    while (best := _best_pair(find, symbols)) is not None:
        rank, at, result = best
        left, right = symbols[at : at + 2]
        assert left is not None and right is not None
        steps.append(Merge(at, left, right, result, rank))
        symbols[at : at + 2] = [result]
    return Merges(first, tuple(texts), tuple(steps), whole)


def _best_pair(find: _Find, symbols: list[int | None]) -> tuple[int, int, int] | None:
    """Return rank, place and result of the pair that merges next: the lowest rank, then the leftmost."""
    found = [
        (hit[0], at, hit[1])
        for at, (left, right) in enumerate(pairwise(symbols))
        if left is not None and right is not None and (hit := find(left, right)) is not None
    ]
    return min(found, default=None)


def _symbols(model: BPE, word: str) -> tuple[list[int | None], list[str]]:
    """Return the ids of the bytes or characters that a word starts as, and their texts."""
    data = word.encode("utf-8", "surrogateescape")
    codes = list(data) if model.byte_level else [ord(character) for character in word]
    texts = [bytes([code]).decode("utf-8", "surrogateescape") if model.byte_level else chr(code) for code in codes]
    symbols: list[int | None] = []
    names: list[str] = []
    for place, (code, text) in enumerate(zip(codes, texts, strict=True)):
        known = model.forms.get(code, [-1] * 4)[(place > 0) + 2 * (place == len(codes) - 1)]
        spelled = [known] if known >= 0 else _fallback(model, text)
        symbols += spelled
        names += [text] * len(spelled)
    return symbols, names


def _fallback(model: BPE, text: str) -> list[int | None]:
    ids = model.byte_ids[list(text.encode("utf-8", "surrogateescape"))].tolist()
    return [None] if min(ids) < 0 else ids


# ------------------------------------------------------------------ WordPiece


def _matches(model: WordPiece, word: str) -> Matches:
    if len(word) > model.max_chars:
        return Matches((), f"The word has {len(word)} characters; longer than {model.max_chars} is unknown.")
    found: list[Match] = []
    at = 0
    while at < len(word):
        found.append(match := _longest(model, word, at))
        if match.id is None:
            place = f"No piece of the vocabulary fits at character {at}"
            return Matches(tuple(found), f"{place}: the whole word becomes the unk token.")
        at = match.stop
    return Matches(tuple(found))


def _longest(model: WordPiece, word: str, start: int) -> Match:
    prefix = model.prefix if start else ""
    tried: list[str] = []
    for stop in range(len(word), start, -1):
        candidate = prefix + word[start:stop]
        index = model.vocab.ids.get(candidate.encode("utf-8", "surrogateescape"))
        if index is not None and index not in model.special_ids:
            return Match(start, stop, index, tuple(tried[-MOST_TRIED:]), max(0, len(tried) - MOST_TRIED))
        tried.append(candidate)
    return Match(start, len(word), None, tuple(tried[-MOST_TRIED:]), max(0, len(tried) - MOST_TRIED))


# ------------------------------------------------------------------ Unigram


def _lattice(model: Unigram, word: str) -> Lattice:
    edges = _edges(model, word)
    paths = _two_best(edges, len(word))
    members = [(set(places), number) for number, (_, places) in enumerate(paths, 1)]
    marked = tuple(
        Edge(edge.start, edge.stop, edge.id, round(edge.score, 6), tuple(n for on, n in members if place in on))
        for place, edge in enumerate(edges)
    )
    scores = [round(score, 6) for score, _ in paths]
    return Lattice(marked, scores[0] if scores else 0.0, scores[1] if len(scores) > 1 else None)


def _edges(model: Unigram, word: str) -> list[Edge]:
    ids, excluded = model.vocab.ids, model.special_ids
    found: list[Edge] = []
    for start in range(len(word)):
        known = False
        for stop in range(start + 1, len(word) + 1):
            index = ids.get(word[start:stop].encode("utf-8", "surrogateescape"))
            if index is not None and index not in excluded:
                known = known or stop == start + 1
                found.append(Edge(start, stop, index, float(model.path_scores[index])))
        if not known:
            found.append(Edge(start, start + 1, None, model.unk_score))
    return found


def _two_best(edges: list[Edge], size: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return the scores and the edges of the best path and, if there are two, of the next one."""
    best: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(size + 1)]
    best[0] = [(0.0, ())]
    for place, edge in enumerate(edges):  # in order of their starts: paths to a start are complete before it is left
        ways = [(score + edge.score, (*path, place)) for score, path in best[edge.start]]
        best[edge.stop] = sorted([*best[edge.stop], *ways], key=lambda way: -way[0])[:2]
    return best[size] if size else []
