"""Rules that first isolate strings, such as user-defined pieces, in any number: a trie, followed by another route."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import Split
from subwords.kernels.layout import Literals
from subwords.split.routes import Route, SplitBuffers, WordChunk, word_bounds
from subwords.split.word_spans import WordSpans, start
from subwords.support.light import distinct

__all__ = ["SymbolsRoute", "symbols_of"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

_ALTERNATIVE = re.compile(r"(?:[^][\\.+*?(){}|^$]|\\[][\\.+*?(){}|^$])+")
_ALTERNATIVES = re.compile(rf"{_ALTERNATIVE.pattern}(?:\|{_ALTERNATIVE.pattern})*")


def symbols_of(step: Split) -> list[str] | None:
    """Return the strings that a step isolates, each before its prefixes; None if the step does anything else."""
    if step.behavior != "isolated" or step.invert or not _ALTERNATIVES.fullmatch(step.pattern):
        return None
    found = _ALTERNATIVE.findall(step.pattern)
    symbols = [re.sub(r"\\(.)", r"\1", alternative, flags=re.DOTALL) for alternative in found]
    places = {symbol: place for place, symbol in reversed([*enumerate(symbols)])}
    for symbol, place in places.items():  # the first alternative that matches is the longest one
        if any(places.get(symbol[:k], place) < place for k in range(1, len(symbol))):
            return None
    return symbols


class SymbolsRoute(Route):
    """Isolates strings, then passes the strings and the text between them to another route.

    For the other route, two adjacent characters must suffice to decide whether a cut between them is safe.
    """

    name = "compiled trie"
    compiled = True

    def __init__(self, symbols: Sequence[str], rest: Route) -> None:
        self._tables = _trie([symbol.encode() for symbol in symbols])
        self._longest = max(len(symbol.encode()) for symbol in symbols)
        self._rest = rest
        self.growth = rest.growth

    def _occurrences(self, text: Bytes, bounds: Offsets) -> Offsets:
        """Return where symbols begin and end, shape (n, 2)."""
        from subwords.kernels.named import find_literals

        found = np.empty(256, np.int64)
        count = find_literals(text, bounds, self._tables, found)
        if 2 * count > len(found):
            found = np.empty(2 * count, np.int64)
            find_literals(text, bounds, self._tables, found)
        return found[: 2 * count].reshape(-1, 2)

    def texts(self, text: Bytes, bounds: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split many texts; adjacent texts without symbols are split in one call."""
        found = self._occurrences(text, bounds)
        first = 0
        counts = np.searchsorted(found[:, 0], bounds)
        for k in np.flatnonzero(np.diff(counts)).tolist():
            if k > first:
                yield from self._rest.texts(text, bounds[first : k + 1], buffers)
            inside = found[counts[k] : counts[k + 1]].ravel()
            places = np.concatenate([bounds[k : k + 1], inside, bounds[k + 1 : k + 2]])
            yield from self._as_one(text, places[np.diff(places, prepend=-1) > 0], buffers)
            first = k + 1
        if first < len(bounds) - 1:
            yield from self._rest.texts(text, bounds[first:], buffers)

    def _as_one(self, text: Bytes, places: Offsets, buffers: SplitBuffers) -> Iterator[WordChunk]:
        """Split one text that is cut at `places`."""
        left = len(places) - 1
        for chunk in self._rest.texts(text, places, buffers):
            left -= len(chunk.text_ends) if chunk.complete else len(chunk.text_ends) - 1
            yield WordChunk(chunk.text, chunk.base, chunk.ends, chunk.text_ends[-1:], left == 0)

    def split_short(self, text: Bytes, buffers: SplitBuffers) -> int | None:
        """Split a short text in one step; None if it has symbols."""
        if len(self._occurrences(text, np.array([0, len(text)], np.int64))):
            return None
        return self._rest.split_short(text, buffers)

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last cut of the other route that is inside no symbol, or 0 (S4).

        No cut is known to be safe where a symbol could begin before the text, which may continue another.
        """
        from subwords.kernels.named import crosses_place

        place = self._rest.cut(text, at)
        while place > 0 and crosses_place(text, max(0, place - self._longest + 1), place, self._tables):
            place = self._rest.cut(text, place - 1)
        return place if place >= self._longest else 0

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text."""
        whole = start(text, np.array([0, len(text)], np.int64), np.ones(1, np.bool_), tracked=True)
        return whole.cut(word_bounds(self.texts(text, whole.texts, SplitBuffers())))

    def unicode_version(self) -> str:
        """The Unicode version of the other route's classes."""
        return self._rest.unicode_version()


def _trie(symbols: Sequence[bytes]) -> Literals:
    """Return the symbols as a trie for `kernels/split/literals.py`."""
    columns = np.zeros(256, np.uint8)
    used = distinct(np.frombuffer(b"".join(symbols), np.uint8))
    # Some bytes never occur in UTF-8, so column 0 is free.
    columns[used] = np.arange(1, len(used) + 1)
    edges: dict[tuple[int, int], int] = {}
    ends = {0: 0}
    for symbol in symbols:
        node = 0
        for byte in symbol:
            node = edges.setdefault((node, byte), len(edges) + 1)
            ends.setdefault(node, 0)
        ends[node] = 1
    table = np.zeros((len(ends), len(used) + 1), np.int32)
    for (node, byte), child in edges.items():
        table[node, columns[byte]] = child
    firsts = (table[0, columns] != 0).astype(np.uint8)
    return Literals(columns, table.ravel(), np.array([ends[node] for node in range(len(ends))], np.uint8), firsts)
