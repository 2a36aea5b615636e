"""The `regex` package: matches in Python, one after the other; the fastest loop over them that there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.engines.protocol import Engine, serve

Span = tuple[int, int]


class Regex(Engine):
    """It takes str, so decoding the bytes is part of its time.

    Of the last pattern's matches not even the places are asked for: that would take half as long again.
    """

    packages = ("regex", "numpy")

    def splitter(self, rule: dict[str, Any]) -> Any:
        return [self.library.compile(pattern) for pattern in rule["patterns"]]

    def count_words(self, splitter: Any, data: bytes) -> int:
        text = data.decode()
        *before, last = splitter
        return sum(sum(1 for _ in last.finditer(text, start, stop)) for start, stop in _words(before, text))

    def word_ends(self, splitter: Any, data: bytes) -> Any:
        import numpy as np

        text = data.decode()
        ends = np.fromiter((stop for _, stop in _words(splitter, text)), np.int64)
        begins = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)
        return np.append(begins, len(data))[ends]


def _words(patterns: Iterable[Any], text: str) -> Iterator[Span]:
    """Cut a text by one pattern after the other: matches, and what lies between them."""
    spans = iter([(0, len(text))])
    for pattern in patterns:
        spans = _cut(pattern, text, spans)
    return spans


def _cut(pattern: Any, text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for at, end in spans:
        for match in pattern.finditer(text, at, end):
            start, stop = match.span()
            if at < start:
                yield at, start
            yield start, stop
            at = stop
        if at < end:
            yield at, end


if __name__ == "__main__":
    serve("regex", Regex)
