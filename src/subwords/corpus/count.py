"""Counts the words of blocks of text on several threads, with a result in one fixed order."""

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
from subwords.corpus.word_table import WordTable, words_of
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import Splitter
from subwords.support.threads import in_threads

if TYPE_CHECKING:
    from subwords.normalize.pipeline import Pipeline

__all__ = ["count_blocks", "provenance_of"]

NEAR = 1 << 12  # bytes; shorter texts are searched in Python, longer ones by a kernel that releases the GIL
CHUNK_WORDS = 1 << 18  # words split at once: fewer returns to Python mean less waiting for the GIL


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the corpus: the texts text[bounds[i]:bounds[i + 1]]; text[0] is at offset `place` of the corpus.

    begins, ends: False if the first text continues the previous part, or if the last one continues in the next part.
    """

    text: bytes
    bounds: NDArray[np.int64]
    place: int
    begins: bool
    ends: bool


def provenance_of(words: Splitter | Pipeline, special_tokens: Sequence[str]) -> Provenance:
    """Return the provenance of the words of a splitter, with or without a normalizer."""
    if isinstance(words, Splitter):
        return Provenance(words.identity, None, words.unicode_version, tuple(special_tokens))
    splitter = words.splitter
    return Provenance(splitter.identity, words.normalizer.identity, splitter.unicode_version, tuple(special_tokens))


def count_blocks(
    blocks: Iterable[Block], splitter: Splitter | Pipeline, *, special_tokens: Sequence[str] = (), threads: int = 1
) -> WordCounts:
    """Count the words of blocks of text; the result is independent of threads and block borders (W1, S4)."""
    provenance = provenance_of(splitter, special_tokens)
    specials = _Specials(special_tokens)
    parts = _parts(blocks, splitter, specials)
    tables = [WordTable() for _ in range(threads)]
    unused, owned = (
        [(table, SplitBuffers(CHUNK_WORDS)) for table in tables],
        dict[int, tuple[WordTable, SplitBuffers]](),
    )

    def run(part: _Part) -> None:
        # A table stores the offset of each word's first occurrence, so it needs its parts in the order of the corpus.
        # Each thread gets its parts in this order.
        owner = get_ident()
        if owner not in owned:
            owned[owner] = unused.pop()
        table, buffers = owned[owner]
        part = specials.remove(part)
        text, place = np.frombuffer(part.text, np.uint8), part.place * splitter.growth
        table.count(splitter.texts(text, part.bounds, buffers, begins=part.begins, ends=part.ends), place)

    in_threads(run, parts, threads)
    owned.clear()
    unused.clear()
    return WordCounts(*words_of(tables, threads), provenance)


def _parts(blocks: Iterable[Block], splitter: Splitter | Pipeline, specials: _Specials) -> Iterator[_Part]:
    """Cut blocks outside of words and special tokens; the text after the last cut is joined to the next block."""
    waiting: list[bytes] = []
    held = place = 0
    begins_text = True
    for block in blocks:
        after_special, data, ends = False, block.data, block.ends
        whole = begins = int(ends[-1]) if len(ends) else 0
        if begins < len(data):
            cut = splitter.cut(np.frombuffer(data, np.uint8), len(data) - specials.reach)
            if cut > begins and not specials.clear(data, begins, cut):
                data, ends = b"".join([*waiting, data]), ends + held
                begins, cut = begins + held if len(ends) else 0, cut + held
                waiting, held = [], 0
                cut, after_special = specials.moved_after(data, begins, cut)
            whole = max(begins, cut)
        if whole:
            text = b"".join([*waiting, memoryview(data)[:whole]]) if waiting or whole < len(data) else data
            bounds = np.concatenate([np.zeros(1, np.int64), ends + held])
            ends_text = bool(bounds[-1] == len(text))
            if not ends_text:
                bounds = np.append(bounds, len(text))
            yield _Part(text, bounds, place, begins_text, ends_text)
            begins_text = ends_text or (after_special and whole > begins)
            place += len(text)
            waiting, held, data = [], 0, data[whole:]
        if data:
            waiting.append(data)
            held += len(data)
    if waiting:
        yield _Part(b"".join(waiting), np.array([0, held], np.int64), place, begins_text, True)


class _Specials:
    """Removes special tokens from the text before counting (W3); of several matches at a position, the longest."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = sorted((token.encode() for token in tokens), key=len, reverse=True)
        self.reach = len(self.tokens[0]) if self.tokens else 0
        self._pattern = re.compile(b"|".join(map(re.escape, self.tokens)))

    def clear(self, data: bytes, begins: int, cut: int) -> bool:
        """Whether a cut is surely outside of special tokens, searching only the text close to it."""
        if not self.tokens:
            return True
        first = cut - self.reach
        return first >= 0 and not self._occur(data, max(begins, first), min(len(data), cut + self.reach))

    def moved_after(self, data: bytes, begins: int, cut: int) -> tuple[int, bool]:
        """Return the cut, moved after a special token that contains or touches it, and whether there was one.

        `begins` is the offset in `data` where the text begins.
        """
        for start, stop in self._spans(data, begins, len(data)):
            if start <= cut <= stop:
                return stop, True
            if start > cut:
                break
        return cut, False

    def remove(self, part: _Part) -> _Part:
        """Return the part without special tokens; the stretches between them become separate texts."""
        if not self._occur(part.text, 0, len(part.text)):
            return part
        bounds = part.bounds.tolist()
        spans = [span for a, b in pairwise(bounds) for span in self._spans(part.text, a, b)]
        edges = np.unique(np.concatenate([part.bounds, np.array(spans, np.int64).ravel()]))
        kept = np.flatnonzero(~np.isin(edges[:-1], [a for a, _ in spans]))
        text = b"".join(part.text[edges[k] : edges[k + 1]] for k in kept)
        lengths = np.diff(edges)[kept]
        # A text begins or ends at each removed token.
        begins, ends = part.begins or edges[kept[:1]].any(), part.ends or edges[kept[-1:] + 1] != len(part.text)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return _Part(text, bounds, part.place, bool(np.all(begins)), bool(np.all(ends)))

    def _spans(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
        if not self._occur(data, start, stop):
            return iter(())
        return (match.span() for match in self._pattern.finditer(data, start, stop))

    def _occur(self, data: bytes, start: int, stop: int) -> bool:
        """Whether data[start:stop] contains any special token."""
        if stop - start < NEAR:
            return any(data.find(token, start, stop) >= 0 for token in self.tokens)
        from subwords.kernels.text.find import find_bytes

        text = np.frombuffer(data, np.uint8)
        return any(find_bytes(text, start, stop, np.frombuffer(token, np.uint8)) >= 0 for token in self.tokens)
