"""Unigram n-best and sampling."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count, groupby, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.kernels.layout import Edges
from subwords.split.word_spans import WordSpans
from subwords.unigram.segmenter import UnigramSegmenter

__all__ = ["Paths"]

MOST_NBEST = 1024  # SentencePiece's limit
MOST_OPEN = 5_000_000  # partial paths in the queue
COLDEST = 1e-6  # a temperature: below, weights overflow
Ids = NDArray[np.uint32]


class _Edges(NamedTuple):
    """The pieces that match in a text, ordered by start: starts, ends, ids and scores."""

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    pieces: NDArray[np.int32]
    scores: NDArray[np.float64]


class Paths:
    """All segmentations of the words of one text."""

    def __init__(self, segmenter: UnigramSegmenter, word_spans: WordSpans) -> None:
        self._segmenter = segmenter
        self._text = np.ascontiguousarray(word_spans.text)
        self._words = word_spans.words
        self._edges = self._found()

    def _found(self) -> _Edges:
        from subwords.kernels.named import find_edges

        model = self._segmenter.arrays
        room = 4 * len(self._text)
        while True:
            edges = Edges(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32))
            n = find_edges(self._text, self._words, model.units, model.records, edges)
            if n <= room:
                begins, ends, pieces = (array[:n] for array in edges)
                return _Edges(begins, ends, pieces, model.scores[pieces])
            room = n

    def best(self, n: int) -> list[tuple[Ids, float]]:
        """Return the ids and scores of the n best paths, best first; fewer if there are no more.

        Source: A* from the end, as in SentencePiece; the best score up to each position is the heuristic.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_NBEST:
            raise InputError(f"expected n from 1 to {MOST_NBEST}, not {n!r:.60}")
        if not len(self._text):
            return [(np.zeros(0, np.uint32), 0.0)]
        return [(self._ids(path), score) for path, score in islice(self._ranked(), n)]

    def _ranked(self) -> Iterator[tuple[list[int], float]]:
        """Yield the edges and the score of each path, best first.

        Between equal priorities, last in, first out: first-in, first-out order would expand every tied prefix before
        completing one.
        """
        begins, ends, _, scores = (part.tolist() for part in self._edges)
        start, stop = begins[0], ends[-1]
        best: dict[int, float] = {start: 0.0}
        into: dict[int, list[int]] = {}
        for k, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            best[end] = max(best.get(end, -np.inf), best[begin] + scores[k])
            into.setdefault(end, []).append(k)
        order = count(0, -1)
        # (negated bound, order, position, score from there on, edges from there on as nested pairs)
        open_paths: list[tuple[float, int, int, float, tuple[int, object] | None]] = []
        heappush(open_paths, (-best[stop], next(order), stop, 0.0, None))
        while open_paths:
            _, _, place, score, path = heappop(open_paths)
            if place == start:
                yield list(_unrolled(path)), score
                continue
            if -next(order) > MOST_OPEN:
                raise InputError(f"nbest exceeds {MOST_OPEN} partial segmentations of this text; ask for fewer")
            for k in into[place]:
                more = score + scores[k]
                heappush(open_paths, (-(best[begins[k]] + more), next(order), begins[k], more, (k, path)))

    def draw(self, temperature: float, nbest: int, rng: np.random.Generator) -> Ids:
        """Return the ids of a path drawn with probability proportional to exp(score / temperature).

        nbest: draw from the N best; a negative value draws from all.
        """
        if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not temperature >= COLDEST:
            raise InputError(f"expected temperature to be a number from {COLDEST:.6f} on, not {temperature!r:.60}")
        if isinstance(nbest, bool) or not isinstance(nbest, int):
            raise InputError(f"expected nbest to be an integer, not {nbest!r:.60}")
        if not len(self._text):
            return np.zeros(0, np.uint32)
        if nbest >= 0:
            found = self.best(max(1, nbest))
            scores = np.array([score for _, score in found])
            shares = np.exp((scores - scores.max()) / temperature)
            return found[int(rng.choice(len(found), p=shares / shares.sum()))][0]
        return self._ids(self._drawn(temperature, rng))

    def _drawn(self, temperature: float, rng: np.random.Generator) -> list[int]:
        from subwords.kernels.named import draw_path, sum_paths

        begins, ends, pieces, scores = self._edges
        weights, totals = scores / temperature, np.empty(int(ends[-1]) + 1)
        sum_paths(begins, ends, weights, totals)
        order = np.argsort(ends, kind="stable")
        path = np.empty(len(self._text), np.int64)
        taken = draw_path(
            Edges(begins[order], ends[order], pieces), weights[order], totals, rng.random(len(path)), path
        )
        drawn: list[int] = order[path[:taken][::-1]].tolist()
        return drawn

    def _ids(self, path: list[int]) -> Ids:
        """Return the ids of edges; a run of unknown characters becomes byte pieces or one unk id."""
        begins, ends, pieces, _ = self._edges
        ids: list[int] = []
        for known, run in groupby(path, lambda k: pieces[k] >= 0):
            edges = list(run)
            ids += pieces[edges].tolist() if known else self._unknown(int(begins[edges[0]]), int(ends[edges[-1]]))
        return np.array(ids, np.uint32)

    def _unknown(self, start: int, stop: int) -> list[int]:
        model = self._segmenter.model
        found: list[int] = model.byte_ids[self._text[start:stop]].tolist()
        if min(found) >= 0:
            return found
        if model.unk_id is None:
            raise self._segmenter.unknown(self._text[start:stop].tobytes(), 0).moved(start)
        return [model.unk_id]


def _unrolled(path: tuple[int, object] | None) -> Iterator[int]:
    while path is not None:
        yield path[0]
        path = path[1]  # type: ignore[assignment]
