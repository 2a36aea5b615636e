"""The lattice of a word: all its pieces, the best path and the second best one (U5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import groupby

import numpy as np

from subwords.errors import InputError
from subwords.study.steps import Lattice, Piece
from subwords.unigram.model import Unigram

__all__ = ["UnigramWords"]

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
        return Lattice(found.pieces, found.best, score, second, gap, found.replayed(), found.unknown)

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
