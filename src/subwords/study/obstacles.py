"""Obstacles: why a word is not one token of its model, and what it would be without the obstacle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from subwords.bpe.model import BPE
from subwords.bpe.plain import Pairs, Symbol, first_symbols, merge
from subwords.components.model import Model
from subwords.families import family_of, segmenter_of
from subwords.study.segment_bpe import BPEWords
from subwords.study.segment_unigram import UnigramWords
from subwords.study.segment_wordpiece import WordPieceWords
from subwords.study.steps import Lattice, Merging
from subwords.unigram.model import GRAINS, Unigram
from subwords.wordlevel.model import WordLevel
from subwords.wordpiece.model import WordPiece

__all__ = [
    "Obstacle",
    "bpe_obstacle",
    "obstacle_of",
    "unigram_obstacle",
    "wordlevel_obstacle",
    "wordpiece_obstacle",
]

MOST_REMOVED = 8  # merges that a counterfactual leaves out

Ids = tuple[int, ...]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Obstacle:
    """Something that keeps a string from being one token.

    kind: "added token", "special token", "spelling", "normalizer" or "splitter" before the model; "not learned",
    "shadowed", "lower score", "unknown", "too long" or "no merge" in it. why: one sentence. places: characters of the
    string, if it is cut or changed there. instead: the condition without the obstacle ("if it were in the vocabulary"),
    "" if none is known. ids_then: the ids in that case, computed; None if `instead` is "". Ids beyond the vocabulary
    are those of new tokens. merges: for "shadowed", the ranks of the merges that get in the way.
    """

    kind: str
    why: str
    places: tuple[int, ...] = ()
    instead: str = ""
    ids_then: tuple[int, ...] | None = None
    merges: tuple[int, ...] = ()


def obstacle_of(model: Model, word: bytes) -> Obstacle | None:
    """Return why a word is not one token; None if it is one."""
    found: Obstacle | None = family_of(model).tool("why_not")(model, word)
    return found


def wordlevel_obstacle(model: WordLevel, word: bytes) -> Obstacle | None:
    """Return why a word is not one of the words of a model; None if it is."""
    if word in model.vocab.ids and model.vocab.ids[word] not in model.special_ids:
        return None
    return _not_learned(word, "if it were one of the words", (len(model.vocab),))


def _not_learned(word: bytes, instead: str, then: tuple[int, ...]) -> Obstacle:
    return Obstacle("not learned", f"{_shown(word)} is not in the vocabulary", (), instead, then)


def _shown(word: bytes) -> str:
    return repr(word.decode("utf-8", "backslashreplace"))


def _special(model: Model, index: int) -> Obstacle | None:
    if index not in model.special_ids:
        return None
    return Obstacle("special token", f"token {index} is special, unused or a byte: the model never yields it for text")


# ------------------------------------------------------------------ WordPiece


def wordpiece_obstacle(model: WordPiece, word: bytes) -> Obstacle | None:
    """Return why a word is not one piece; None if it is one."""
    size, index = len(word.decode("utf-8", "surrogateescape")), model.vocab.ids.get(word)
    if index is not None and (special := _special(model, index)):
        return special
    if size > model.max_chars:
        longer = replace(model, max_chars=size)
        why = f"it has {size} characters, more than {model.max_chars} (max_chars): the word is unknown"
        then = WordPieceWords(longer).segmented(word, [0.0]).replayed()
        return Obstacle("too long", why, (), f"with max_chars={size}", then)
    if index is not None:
        return None
    longer = replace(model, vocab=model.vocab.with_more([word]))
    return _not_learned(word, "if it were in the vocabulary", WordPieceWords(longer).segmented(word, [0.0]).replayed())


# ------------------------------------------------------------------ Unigram


def unigram_obstacle(model: Unigram, word: bytes) -> Obstacle | None:
    """Return why a word is not one piece; None if it is one."""
    found = UnigramWords(model).segmented(word, [0.0])
    if len(found.best) == 1 and found.pieces[found.best[0]].id is not None:
        return None
    index = model.vocab.ids.get(word)
    if index is not None and (special := _special(model, index)):
        return special
    needed = float(np.floor(found.score * GRAINS + 1) / GRAINS)  # scores are multiples of 1 / GRAINS
    instead = f"with a score of {needed:.4f}"
    if index is None:
        scores = np.append(model.scores, needed)
        changed = replace(model, vocab=model.vocab.with_more([word]), scores=scores)
        return _not_learned(word, f"if it were in the vocabulary {instead}", _ids(changed, word))
    scores = model.scores.copy()
    scores[index] = needed
    own = next(piece.score for piece in found.pieces if piece.id == index)
    why = f"its score is {own:.4f}, and the best path has {found.score:.4f}: {_path(found, word)}"
    return Obstacle("lower score", why, (), instead, _ids(replace(model, scores=scores), word))


def _ids(model: Unigram, word: bytes) -> tuple[int, ...]:
    return UnigramWords(model).segmented(word, [0.0]).ids


def _path(found: Lattice, word: bytes) -> str:
    text = word.decode("utf-8", "surrogateescape")
    parts = (text[found.pieces[k].start : found.pieces[k].stop] for k in found.best)
    return " ".join(repr(part.encode("utf-8", "surrogateescape").decode("utf-8", "replace")) for part in parts)


# ------------------------------------------------------------------ BPE


def bpe_obstacle(model: BPE, word: bytes) -> Obstacle | None:
    """Return why a word is not one token; None if it is one."""
    index, found = model.vocab.ids.get(word + model.suffix), BPEWords(model).segmented(word, [0.0])
    ids = found.replayed()
    if len(ids) == 1 and ids[0] != model.unk_id:
        return None
    if index is not None and (special := _special(model, index)):
        return special
    if index is not None and index in model.unused_ids:
        return Obstacle("special token", f"token {index} is unused: it is split into its parts after merging")
    if not isinstance(found, Merging):
        instead, then = "", None
        if model.words_only:
            instead, then = "if it were in the vocabulary", (len(model.vocab),)
        return Obstacle("unknown", "none of its characters is in the vocabulary", (), instead, then)
    symbols = [*first_symbols(model, word)]
    if model.unk_id is not None and any(symbol.id == model.unk_id for symbol in symbols):
        return Obstacle("unknown", "the alphabet lacks at least one of its characters")
    run = _Run(model, symbols)
    return run.unlearned(word) if index is None else run.shadowed(index)


class _Step(NamedTuple):
    """A merge as it happened: its pair, and the range of symbols that it covers."""

    pair: Pair
    span: tuple[int, int]


class _Changed(Mapping[Pair, tuple[int, int]]):
    """Pairs and what they merge to, with some left out and some more."""

    def __init__(self, pairs: Pairs, removed: set[Pair], more: Mapping[Pair, tuple[int, int]]) -> None:
        self._pairs, self._removed, self._more = pairs, removed, more

    def __getitem__(self, pair: Pair) -> tuple[int, int]:
        if pair in self._removed:
            raise KeyError(pair)
        return self._more[pair] if pair in self._more else self._pairs[pair]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair in {**self._pairs, **self._more} if pair not in self._removed)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Run:
    """The merging of one word, as it is or with other merges."""

    def __init__(self, model: BPE, symbols: list[Symbol]) -> None:
        self._model, self._symbols, self._pairs = model, symbols, segmenter_of(model).pairs

    def merged(self, removed: set[Pair], more: Mapping[Pair, tuple[int, int]]) -> tuple[list[_Step], list[int]]:
        """Return the merges, and the tokens that are left."""
        tokens, spans = [symbol.id for symbol in self._symbols], [(i, i + 1) for i in range(len(self._symbols))]
        pairs, steps = _Changed(self._pairs, removed, more), list[_Step]()

        def note(left: int, right: int) -> None:
            pair, span = (tokens[left], tokens[right]), (spans[left][0], spans[right][1])
            steps.append(_Step(pair, span))
            tokens[left], spans[left] = pairs[pair][1], span

        row = merge(pairs, self._symbols, on_merge=note)
        return steps, [symbol.id for symbol in row]

    def unlearned(self, word: bytes) -> Obstacle:
        """Return the obstacle of a word that is not in the vocabulary: more merges would join its tokens."""
        tokens, more = self.merged(set(), {})[1], dict[Pair, tuple[int, int]]()
        last = len(self._pairs) + len(self._model.symbols) if self._model.ranks is None else 1 << 40
        new, joint = len(self._model.symbols), tokens[0]
        for k, token in enumerate(tokens[1:]):
            more[joint, token] = last + k, new + k
            joint = new + k
        names = " + ".join(map(self._name, tokens))
        number = "1 more merge" if len(tokens) == 2 else f"{len(tokens) - 1} more merges"
        return _not_learned(word, f"with {number} at the end, {names},", tuple(self.merged(set(), more)[1]))

    def shadowed(self, index: int) -> Obstacle:
        """Return the merges that keep a token of the vocabulary from being made."""
        needed = self._needed(index)
        if needed is None:
            return Obstacle("no merge", f"token {index} is in the vocabulary, but no merge makes it")
        own, removed = {step.pair for step in needed}, dict[Pair, tuple[int, int]]()
        spans = {step.span for step in needed}
        steps, tokens = self.merged(set(), {})
        while len(tokens) > 1 and len(removed) < MOST_REMOVED:
            wrong = next((step for step in steps if step.span not in spans), None)
            if wrong is None or wrong.pair in own:
                break
            removed[wrong.pair] = self._pairs[wrong.pair]
            steps, tokens = self.merged({*removed}, {})
        first = next((step for step in self.merged(set(), {})[0] if step.span not in spans), None)
        return self._shadow(needed, first, removed, tuple(tokens))

    def _shadow(
        self,
        needed: Sequence[_Step],
        first: _Step | None,
        removed: Mapping[Pair, tuple[int, int]],
        then: tuple[int, ...],
    ) -> Obstacle:
        last = needed[-1].pair
        own = f"{self._named(last)} (rank {self._pairs[last][0]})"
        if first is None:
            return Obstacle("no merge", f"the merge that makes it, {own}, has parts that its text does not become")
        rank = self._pairs[first.pair][0]
        why = f"the merge that makes it, {own}, finds no pair: {self._named(first.pair)} (rank {rank}) comes first"
        if not removed or len(then) > 1:
            return Obstacle("shadowed", why, merges=(rank,))
        ranks = tuple(rank for rank, _ in removed.values())
        names = " and ".join(map(self._named, removed))
        return Obstacle("shadowed", why, (), f"without the merge{'s' * (len(ranks) > 1)} {names}", then, ranks)

    def _needed(self, index: int) -> list[_Step] | None:
        """Return the merges that make a token of these symbols, in an order in which they can happen."""
        merges, found = self._model.merges, list[_Step]()
        todo: list[tuple[int, int, int]] = [(index, 0, len(self._symbols))]
        while todo:
            token, start, stop = todo.pop()
            if stop - start == 1:
                if self._symbols[start].id != token:
                    return None
                continue
            rows = merges[merges[:, 2] == token]
            sizes = ((self._size(int(row[0])), row) for row in rows)
            fitting = [(size, row) for size, row in sizes if start + size < stop]
            if not fitting:
                return None
            size, row = fitting[0]  # the merge of the lowest rank
            found.append(_Step((int(row[0]), int(row[1])), (start, stop)))
            todo += [(int(row[0]), start, start + size), (int(row[1]), start + size, stop)]
        return found[::-1]

    def _size(self, token: int) -> int:
        """Return the number of symbols of a token."""
        content = self._model.symbols[token].removeprefix(self._model.prefix).removesuffix(self._model.suffix)
        return len(content) if self._model.byte_level else len(content.decode("utf-8", "surrogateescape"))

    def _named(self, pair: Pair) -> str:
        return " + ".join(map(self._name, pair))

    def _name(self, token: int) -> str:
        return _shown(self._model.symbols[token])
