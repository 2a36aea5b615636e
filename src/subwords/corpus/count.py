"""Counting: blocks of text to WordCounts, on several threads, in one fixed order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import get_ident
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.corpus.provenance import Provenance
from subwords.corpus.read import Block
from subwords.corpus.word_table import WordTable
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import Splitter
from subwords.support.threads import in_threads

if TYPE_CHECKING:
    from subwords.normalize.pipeline import Pipeline

__all__ = ["count_blocks", "provenance_of"]

NEAR = 1 << 12  # bytes: a search in fewer is not worth a kernel, which does not hold the interpreter's lock
CHUNK_WORDS = 1 << 18  # words split at once: a thread that comes back to Python often waits for the others there


@dataclass(frozen=True, slots=True)
class _Piece:
    """Texts with special tokens or without: text[bounds[i]:bounds[i + 1]]; text[0] is at `place` of the corpus.

    begins, ends: not if the first text goes on from the piece before, or the last one in the next.
    """

    text: bytes
    bounds: NDArray[np.int64]
    place: int
    begins: bool
    ends: bool


def provenance_of(words: Splitter | Pipeline, special_tokens: Sequence[str]) -> Provenance:
    """Return how words are made by a splitter, with a normalizer or without."""
    if isinstance(words, Splitter):
        return Provenance(words.identity, None, words.unicode_version, tuple(special_tokens))
    splitter = words.splitter
    return Provenance(splitter.identity, words.normalizer.identity, splitter.unicode_version, tuple(special_tokens))


def count_blocks(
    blocks: Iterable[Block], splitter: Splitter | Pipeline, *, special_tokens: Sequence[str] = (), threads: int = 1
) -> WordCounts:
    """Count the words of blocks of text; the result does not depend on threads or on where blocks end (W1, S4)."""
    provenance = provenance_of(splitter, special_tokens)
    specials = _Specials(special_tokens)
    pieces = _pieces(blocks, splitter, specials)
    tables = [WordTable() for _ in range(threads)]
    unused, owned = (
        [(table, SplitBuffers(CHUNK_WORDS)) for table in tables],
        dict[int, tuple[WordTable, SplitBuffers]](),
    )

    def run(piece: _Piece) -> None:
        # A table keeps the place where it first saw a word: it must get its pieces in the order of the corpus, as every
        # single thread does.
        owner = get_ident()
        if owner not in owned:
            owned[owner] = unused.pop()
        table, buffers = owned[owner]
        piece = specials.remove(piece)
        text, place = np.frombuffer(piece.text, np.uint8), piece.place * splitter.growth
        table.count(splitter.texts(text, piece.bounds, buffers, begins=piece.begins, ends=piece.ends), place)

    in_threads(run, pieces, threads)
    owned.clear()
    unused.clear()
    return WordCounts(*WordTable.joined(tables).words(), provenance)


def _pieces(blocks: Iterable[Block], splitter: Splitter | Pipeline, specials: _Specials) -> Iterator[_Piece]:
    """Cut blocks where no word and no special token is cut; what follows the last cut waits for the next block."""
    waiting: list[bytes] = []
    held = place = 0
    begins_text = True
    for block in blocks:
        behind, data, ends = False, block.data, block.ends
        whole = begins = int(ends[-1]) if len(ends) else 0
        if begins < len(data):
            cut = splitter.cut(np.frombuffer(data, np.uint8), len(data) - specials.reach)
            if cut > begins and not specials.clear(data, begins, cut):
                data, ends = b"".join([*waiting, data]), ends + held
                begins, cut = begins + held if len(ends) else 0, cut + held
                waiting, held = [], 0
                cut, behind = specials.behind(data, begins, cut)
            whole = max(begins, cut)
        if whole:
            text = b"".join([*waiting, memoryview(data)[:whole]]) if waiting or whole < len(data) else data
            bounds = np.concatenate([np.zeros(1, np.int64), ends + held])
            ends_text = bool(bounds[-1] == len(text))
            if not ends_text:
                bounds = np.append(bounds, len(text))
            yield _Piece(text, bounds, place, begins_text, ends_text)
            begins_text = ends_text or (behind and whole > begins)
            place += len(text)
            waiting, held, data = [], 0, data[whole:]
        if data:
            waiting.append(data)
            held += len(data)
    if waiting:
        yield _Piece(b"".join(waiting), np.array([0, held], np.int64), place, begins_text, True)


class _Specials:
    """Special tokens are cut out of the text before counting (W3), the longest first where several match."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = sorted((token.encode() for token in tokens), key=len, reverse=True)
        self.reach = len(self.tokens[0]) if self.tokens else 0
        self._pattern = re.compile(b"|".join(map(re.escape, self.tokens)))

    def clear(self, data: bytes, begins: int, cut: int) -> bool:
        """Whether a cut divides no special token, as far as can be told without searching all that came before."""
        if not self.tokens:
            return True
        first = cut - self.reach
        return first >= 0 and not self._occur(data, max(begins, first), min(len(data), cut + self.reach))

    def behind(self, data: bytes, begins: int, cut: int) -> tuple[int, bool]:
        """Return the cut of the text that begins at `begins`, moved behind a special token there, and if one was."""
        for start, stop in self._spans(data, begins, len(data)):
            if start <= cut <= stop:
                return stop, True
            if start > cut:
                break
        return cut, False

    def remove(self, piece: _Piece) -> _Piece:
        """Return the piece without special tokens: what is between them are texts of their own."""
        if not self._occur(piece.text, 0, len(piece.text)):
            return piece
        bounds = piece.bounds.tolist()
        spans = [span for a, b in pairwise(bounds) for span in self._spans(piece.text, a, b)]
        edges = np.unique(np.concatenate([piece.bounds, np.array(spans, np.int64).ravel()]))
        kept = np.flatnonzero(~np.isin(edges[:-1], [a for a, _ in spans]))
        text = b"".join(piece.text[edges[k] : edges[k + 1]] for k in kept)
        lengths = np.diff(edges)[kept]
        # Where a token was, a text begins or ends.
        begins, ends = piece.begins or edges[kept[:1]].any(), piece.ends or edges[kept[-1:] + 1] != len(piece.text)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return _Piece(text, bounds, piece.place, bool(np.all(begins)), bool(np.all(ends)))

    def _spans(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
        if not self._occur(data, start, stop):
            return iter(())
        return (match.span() for match in self._pattern.finditer(data, start, stop))

    def _occur(self, data: bytes, start: int, stop: int) -> bool:
        """Whether any of the tokens is in data[start:stop]."""
        if stop - start < NEAR:
            return any(data.find(token, start, stop) >= 0 for token in self.tokens)
        from subwords.kernels.text.find import find_bytes

        text = np.frombuffer(data, np.uint8)
        return any(find_bytes(text, start, stop, np.frombuffer(token, np.uint8)) >= 0 for token in self.tokens)
