"""The segmentations of a word into tokens of any vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from subwords.bpe.model import BPE
from subwords.components.model import Model
from subwords.encode.unknown import shortened
from subwords.errors import InputError
from subwords.families import family_of
from subwords.unigram.model import Unigram
from subwords.wordpiece.model import WordPiece

__all__ = ["WordLattice", "bpe_lattice", "unigram_lattice", "wordpiece_lattice"]

MOST_COUNTED = 20_000  # bytes; counts of segmentations are exact integers with about as many bits


class WordLattice(NamedTuple):
    """Tokens by their bytes: at the start of a word and after it; what becomes of other characters."""

    first: Mapping[bytes, int]
    later: Mapping[bytes, int]
    size: int  # bytes of the longest token
    bytes_of: tuple[int, ...]  # the id of each byte for characters without a token; empty if there are none
    unk_id: int | None
    by_bytes: bool
    whole: int | None  # the id of a word that has no segmentation: WordPiece's
    most_chars: int | None

    @classmethod
    def of(cls, model: Model) -> WordLattice:
        """Return the tokens of a model; InputError for those whose words are not sequences of tokens."""
        found: WordLattice = family_of(model).tool("segmentations")(model)
        return found

    def matches(self, word: bytes, at: int) -> list[tuple[int, int]]:
        """Return the end and id of each token that matches at a place, the shortest first."""
        tokens = self.later if at else self.first
        ends = range(at + 1, min(len(word), at + self.size) + 1)
        return [(end, tokens[word[at:end]]) for end in ends if word[at:end] in tokens]

    def _edges(self, word: bytes) -> list[list[tuple[int, int]]]:
        """Return the matches at each place; with those of unknown characters only if the word needs them."""
        edges = [self.matches(word, at) for at in range(len(word))]
        reached = {0}
        for at, row in enumerate(edges):
            if at in reached:
                reached.update(end for end, _ in row)
        if len(word) not in reached and self.whole is None:
            return [row or [(self._next(word, at), -1)] for at, row in enumerate(edges)]
        return edges

    def _next(self, word: bytes, at: int) -> int:
        end = at + 1
        while not self.by_bytes and end < len(word) and word[end] & 0xC0 == 0x80:
            end += 1
        return end

    def _too_long(self, word: bytes) -> bool:
        return self.most_chars is not None and len(word.decode("utf-8", "replace")) > self.most_chars

    def _ids(self, word: bytes, path: list[tuple[int, int, int]]) -> list[int]:
        ids: list[int] = []
        unknown = False
        for begin, end, index in path:
            if index >= 0:
                ids.append(index)
            elif self.bytes_of:
                ids += (self.bytes_of[byte] for byte in word[begin:end])
            elif self.unk_id is None:
                found = shortened(word[begin:end].decode("utf-8", "replace"))
                raise InputError(f"{found} is not in the vocabulary and the model has no unk token")
            elif not unknown:
                ids.append(self.unk_id)
            unknown = index < 0
        return ids

    def longest(self, word: bytes, rng: Random, p: float) -> list[int]:
        """Return the longest match from the left; each match but the shortest is ignored with probability p."""
        if self._too_long(word):
            return [self.whole or 0]
        at, path = 0, []
        while at < len(word):
            row = self.matches(word, at)
            if not row and self.whole is not None:
                return [self.whole]
            row = row or [(self._next(word, at), -1)]
            while len(row) > 1 and p and rng.random() < p:
                row.pop()
            path.append((at, *row[-1]))
            at = row[-1][0]
        return self._ids(word, path)

    def fewest(self, word: bytes) -> list[int]:
        """Return the segmentation of fewest tokens; of several, the one whose first difference is longest."""
        edges, stop = self._edges(word), len(word)
        costs = [stop + 1] * stop + [0]
        for at in reversed(range(stop)):
            costs[at] = min((costs[end] + 1 for end, _ in edges[at]), default=stop + 1)
        if self._too_long(word) or costs[0] > stop:
            return [self.whole or 0]
        at, path = 0, []
        while at < stop:
            end, index = max(edge for edge in edges[at] if costs[edge[0]] + 1 == costs[at])
            path.append((at, end, index))
            at = end
        return self._ids(word, path)

    def uniform(self, word: bytes, rng: Random) -> list[int]:
        """Return a segmentation; all have exactly the same probability."""
        counts, edges = self._counts(word)
        if self._too_long(word) or not counts[0]:
            return [self.whole or 0]
        at, path = 0, []
        while at < len(word):
            left = rng.randrange(counts[at])
            end, index = at, -1
            for end, index in edges[at]:  # noqa: B007
                left -= counts[end]
                if left < 0:
                    break
            path.append((at, end, index))
            at = end
        return self._ids(word, path)

    def _counts(self, word: bytes) -> tuple[list[int], list[list[tuple[int, int]]]]:
        if len(word) > MOST_COUNTED:
            raise InputError(f"expected words of at most {MOST_COUNTED} bytes for uniform; one has {len(word)}")
        edges = self._edges(word)
        counts = [0] * len(word) + [1]
        for at in reversed(range(len(word))):
            counts[at] = sum(counts[end] for end, _ in edges[at])
        return counts, edges

    def all_paths(self, word: bytes, most: int) -> list[list[int]]:
        """Return all segmentations; InputError if there are more than `most`."""
        counts, edges = self._counts(word)
        if self._too_long(word) or not counts[0]:
            return [[self.whole or 0]]
        if counts[0] > most:
            raise InputError(f"expected at most {most} segmentations; this word has more: use a shorter word")
        found, waiting = [], [(0, list[tuple[int, int, int]]())]
        while waiting:
            at, path = waiting.pop()
            if at == len(word):
                found.append(self._ids(word, path))
                continue
            for end, index in reversed(edges[at]):
                if counts[end]:
                    waiting.append((end, [*path, (at, end, index)]))
        return found


def wordpiece_lattice(model: WordPiece) -> WordLattice:
    """Return the pieces of a model, with and without its prefix."""
    usable = {t: i for i, t in enumerate(model.vocab) if i not in model.special_ids and t}
    later = {model.without_marks(t): i for t, i in usable.items() if model.continues(t) or not model.prefix}
    size = max(map(len, usable), default=0)
    return WordLattice(usable, later, size, (), None, False, model.unk_id, model.max_chars)


def unigram_lattice(model: Unigram) -> WordLattice:
    """Return the pieces of a model."""
    return _lattice(model, set())


def bpe_lattice(model: BPE) -> WordLattice:
    """Return the tokens of a model that merge; InputError if its words are not sequences of tokens."""
    if model.marked or model.words_only or model.parts:
        raise InputError("encode_with does not support BPE with a prefix, a suffix, words only or parts")
    return _lattice(model, {*model.user_ids, *model.unused_ids})


def _lattice(model: Model, left_out: set[int]) -> WordLattice:
    fallback = () if min(model.byte_ids) < 0 else tuple(model.byte_ids.tolist())
    left_out |= {*model.special_ids, *fallback, *([] if model.unk_id is None else [model.unk_id])}
    tokens = {t: i for i, t in enumerate(model.vocab) if i not in left_out and t}
    size = max(map(len, tokens), default=0)
    return WordLattice(tokens, tokens, size, fallback, model.unk_id, model.byte_level, None, None)
