"""Unigram encoding: the model in the layout of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, groupby, islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Edges, IdSizes, UnigramModel, UnigramScratch, UnigramWorkspace, WordTable
from subwords.models.segmenter import NO_KINDS, Segmenter, TableStrings, units_of
from subwords.models.unigram.model import BYTE_PIECES, Unigram
from subwords.spec.splitter import SPACE, Rule, Split
from subwords.spec.vocab import Vocab
from subwords.support.errors import InputError
from subwords.support.names import is_among

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel
    from subwords.split.word_spans import WordSpans


_SPACED: dict[str, Rule] = {run: (Split(f"▁{run}[^▁]*|[^▁]+"),) for run in ("", "+")}  # as `space_rule` makes them


class UnigramSegmenter(Segmenter):
    """Segments words by the greatest sum of scores (U5)."""

    shows_unknown = True

    def __init__(self, model: Unigram) -> None:
        self.model = model
        self.unk_id = model.unk_id

    @property
    def apart(self) -> bool:  # type: ignore[override]
        """Whether no sum of scores runs across words, or rounding does not matter."""
        return self.model.exact or not self.model.running

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        from subwords.kernels.named import encode_unigram

        return encode_unigram

    @cached_property
    def arrays(self) -> UnigramModel:
        """The model in the layout of the kernel."""
        model = self.model
        settings = np.zeros(layout.UNIGRAM.width, np.int64)
        settings[layout.MODEL.unk] = layout.MISSING if model.unk_id is None else model.unk_id
        settings[layout.UNIGRAM.running] = model.running and not model.exact
        scores = np.append(model.path_scores, model.unk_score)
        units, links, records, symbols = units_of(model.vocab, self.table_strings.ids.astype(np.int64), characters=True)
        return UnigramModel(units, links, records, symbols, scores, model.byte_ids, settings)

    @property
    def table_strings(self) -> TableStrings:  # type: ignore[override]
        """The pieces."""
        offsets = self.model.vocab.offsets
        ids = np.flatnonzero(np.diff(offsets) > 0)
        ids = ids[~is_among(ids, self.model.special_ids)]
        roots = np.zeros(len(ids), np.int64)
        return TableStrings(ids.astype(np.int32), offsets[ids], offsets[ids + 1], roots, characters=True)

    def finer(self, rule: Rule) -> Rule:
        """Also cut around characters that no piece contains: every path has a boundary there.

        Only characters that are pieces themselves, because adjacent unknown ones become one unk and must stay together.

        Only if sums run across words or are exact; otherwise restarting the sum could round differently.
        """
        run = next((run for run, spaced in _SPACED.items() if rule == spaced), None)
        if run is None or not (self.model.running or self.model.exact):
            return rule
        special = self.model.special_ids
        if self.model.unk_id is not None and self.model.unk_id not in special:  # its text joins with unknown neighbours
            return rule
        vocab, sizes = self.model.vocab, np.diff(self.model.vocab.offsets)
        usable = np.ones(len(vocab), np.bool_)
        usable[list(special)] = False
        leads = vocab.data[vocab.offsets[:-1]]
        single = sizes == 1 + (leads >= 0xC0).astype(np.int64) + (leads >= 0xE0) + (leads >= 0xF0)
        known, alone = _token_code_points(vocab, usable), _token_code_points(vocab, usable & single)
        others = known[known != ord(SPACE)]
        if not 0 < len(others) < len(known) or not is_among(known, alone).all():
            return rule
        inside = "".join(map(ranged, runs_of(others.tolist())))
        return (Split(f"▁{run}[{inside}]*|[{inside}]+|[^▁{inside}]+"),)

    def scratch(self, length: int, before: UnigramScratch | None) -> UnigramScratch:
        """Return buffers for the keys, for each position of a word, and for the sums of a text."""
        places = length + 1
        return UnigramScratch(
            keys=np.zeros(layout.KEYS, np.uint64) if before is None else before.keys,
            best=np.zeros(layout.PLACE_SUMS * places),
            steps=np.zeros(layout.PLACE_STEPS * places, np.int32),
            sums=np.zeros(layout.SUM.width) if before is None else before.sums,
        )

    def workspace(self, table: WordTable, scratch: UnigramScratch, counters: NDArray[np.int64]) -> UnigramWorkspace:
        """Return everything that the kernel works on."""
        return UnigramWorkspace(table, self.arrays, scratch, counters)

    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes; the ids of a run of unknown characters all end with the run."""
        from subwords.kernels.named import path_ends

        scratch = self.scratch(int(np.diff(word_spans.words).max(initial=layout.SHORT_WORD)), None)
        ends = np.empty(len(ids), np.int64)
        count = path_ends(np.ascontiguousarray(word_spans.text), word_spans.words, self.arrays, scratch, ends)
        assert count == len(ids)
        return ends

    def token_ranges(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the byte range of each id; as in HF, byte pieces of a run all get the range of the run.

        In SentencePiece's own files each byte piece gets its own range.
        """
        ranges = super().token_ranges(ids, offsets, word_spans)
        if self.model.running or not self.model.byte_fallback:
            return ranges
        # Text that spells a byte piece, <0x41>, is longer than any character.
        of_byte = np.isin(ids, self.model.byte_ids) & (ranges[1] - ranges[0] < len(BYTE_PIECES[0]))
        joined = of_byte[1:] & of_byte[:-1]
        joined[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(ids))] - 1] = False
        run = np.cumsum(np.append(True, ~joined))[: len(ids)] - 1
        first = np.flatnonzero(np.append(True, ~joined)[: len(ids)])
        last = np.append(first[1:] - 1, len(ids) - 1)[: len(first)]
        return np.stack([ranges[0, first[run]], ranges[1, last[run]]])

    @cached_property
    def id_sizes(self) -> IdSizes:  # type: ignore[override]
        """The bytes that each id covers; those of unk depend on the text, those of byte pieces may share a range."""
        model, sizes = self.model, np.diff(self.model.vocab.offsets).astype(np.int32)
        sizes[model.byte_ids[model.byte_ids >= 0]] = 1 if model.running else layout.UNSURE
        marks = np.zeros(layout.SIZE_MARK.width, np.int64)
        if model.unk_id is None:
            return IdSizes(sizes, marks, NO_KINDS)
        if model.unk_id not in model.special_ids:  # its text joins with unknown neighbours
            sizes[model.unk_id] = layout.UNSURE
            return IdSizes(sizes, marks, NO_KINDS)
        sizes[model.unk_id] = layout.UNKNOWN_RUN
        return IdSizes(sizes, marks, self._kinds())

    def _kinds(self) -> NDArray[np.uint8]:
        """Return for every character how it continues a run of unknown ones.

        No best path goes to a character alone as an unknown one if it is a piece, nor on from one that begins no piece
        by anything else. If longer pieces begin with it, the sums decide.
        """
        usable = np.ones(len(self.model.vocab), np.bool_)
        usable[list(self.model.special_ids)] = False
        codes, single = _first_characters(self.model.vocab, usable)
        kinds = np.full(layout.INVALID + 1, layout.CONTINUES_RUN, np.uint8)
        kinds[codes] = layout.MAY_CONTINUE
        kinds[codes[single]] = layout.ENDS_RUN
        kinds[layout.INVALID] = layout.MAY_CONTINUE
        return kinds


def _first_characters(vocab: Vocab, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the code points with which some tokens begin, and which of them are all of their token."""
    starts, sizes = vocab.offsets[:-1], np.diff(vocab.offsets)
    starts, sizes = starts[chosen & (sizes > 0)], sizes[chosen & (sizes > 0)]
    data = np.append(vocab.data, np.zeros(4, np.uint8))
    bytes_of = [data[starts + k].astype(np.int64) for k in range(4)]
    lead, rest = bytes_of[0], [byte & 0x3F for byte in bytes_of[1:]]
    widths = 1 + (lead >= 0xC0).astype(np.int64) + (lead >= 0xE0) + (lead >= 0xF0)
    two, three = (lead & 31) << 6 | rest[0], (lead & 15) << 12 | rest[0] << 6 | rest[1]
    four = (lead & 7) << 18 | rest[0] << 12 | rest[1] << 6 | rest[2]
    return np.choose(widths - 1, [lead, two, three, four]), widths == sizes


def _token_code_points(vocab: Vocab, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the code points in some tokens, in order."""
    data = vocab.data[: vocab.offsets[-1]]
    text = data[np.repeat(chosen, np.diff(vocab.offsets))].tobytes().decode()
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    seen = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen)


def runs_of(codes: list[int]) -> list[tuple[int, int]]:
    """Return the first and last number of each run of consecutive numbers."""
    breaks = np.flatnonzero(np.diff(codes) > 1)
    firsts, lasts = [codes[0], *(codes[k + 1] for k in breaks)], [*(codes[k] for k in breaks), codes[-1]]
    return list(zip(firsts, lasts, strict=True))


def ranged(run: tuple[int, int]) -> str:
    """Return a run of code points as a range of a character class."""
    first, last = (f"\\x{{{code:X}}}" for code in run)
    return first if run[0] == run[1] else f"{first}-{last}"


# ---------------------------------------------------------------------------------------------------------------------
# Unigram in plain Python, for single words.

Text = TypeVar("Text", str, bytes)


def best_path(text: Text, score_of: Callable[[Text], float | None], longest: int) -> tuple[list[Text], float]:
    """Return the pieces of the greatest sum of scores and the sum; at a tie, the one with the longer last piece.

    score_of: of a piece of up to `longest` characters or bytes; None if it is not one. ([], -inf) if no pieces join to
    the text.

    >>> best_path("aab", {"a": -1.0, "b": -2.0, "ab": -2.5}.get, 2)
    (['a', 'ab'], -3.5)
    """
    best, last = [0.0] + [-inf] * len(text), [0] * (len(text) + 1)
    for stop in range(1, len(text) + 1):
        for start in range(max(0, stop - longest), stop):
            score = score_of(text[start:stop]) if best[start] > -inf else None
            if score is not None and best[start] + score > best[stop]:
                best[stop], last[stop] = best[start] + score, start
    found, stop = list[Text](), len(text) if best[-1] > -inf else 0
    while stop:
        found.append(text[last[stop] : stop])
        stop = last[stop]
    return found[::-1], best[-1]


# ---------------------------------------------------------------------------------------------------------------------
# Unigram n-best and sampling.

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
            n = find_edges(self._text, self._words, model, edges)
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
