"""Specials: removes special tokens from the text of a corpus before it is split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["CorpusPart", "Specials"]

NEAR = 1 << 12  # bytes; shorter texts are searched in Python, longer ones by a kernel that releases the GIL


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A part of the corpus: the texts text[bounds[i]:bounds[i + 1]]; text[0] is at offset `place` of the corpus.

    begins, ends: False if the first text continues the previous part, or if the last one continues in the next part.
    documents: the number of the document in the part that each text is of; None if each text is a document.
    number, before: the number of the first text's document in the corpus, and bytes of that document before the part.
    """

    text: bytes
    bounds: NDArray[np.int64]
    place: int
    begins: bool
    ends: bool
    documents: NDArray[np.int64] | None = None
    number: int = 0
    before: int = 0


class Specials:
    """Removes special tokens from the text before counting (W3); of several matches at a position, the longest."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = sorted((token.encode() for token in tokens), key=len, reverse=True)
        self.reach = len(self.tokens[0]) if self.tokens else 0
        self._pattern = re.compile(b"|".join(map(re.escape, self.tokens)))

    def clear(self, data: bytes, begins: int, cut: int, context: int = 0) -> bool:
        """Whether no special token is at a cut or in `context` bytes before it, searching only the text close to it."""
        if not self.tokens:
            return True
        first = cut - self.reach - context
        return first >= 0 and not self._occur(data, max(begins, first), min(len(data), cut + self.reach))

    def last_before(self, data: bytes, begins: int, cut: int) -> int | None:
        """Return the end of the last special token that begins at a cut or before it; None without such a token.

        `begins` is the offset in `data` where the text begins.
        """
        last = None
        for start, stop in self._spans(data, begins, len(data)):
            if start > cut:
                break
            last = stop
        return last

    def remove(self, part: CorpusPart) -> CorpusPart:
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
        documents = np.searchsorted(part.bounds, edges[kept], "right") - 1
        return CorpusPart(text, bounds, part.place, bool(np.all(begins)), bool(np.all(ends)), documents)

    def _spans(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
        if not self._occur(data, start, stop):
            return iter(())
        return (match.span() for match in self._pattern.finditer(data, start, stop))

    def _occur(self, data: bytes, start: int, stop: int) -> bool:
        """Whether data[start:stop] contains any special token."""
        if stop - start < NEAR:
            return any(data.find(token, start, stop) >= 0 for token in self.tokens)
        from subwords.kernels.named import find_bytes

        text = np.frombuffer(data, np.uint8)
        return any(find_bytes(text, start, stop, np.frombuffer(token, np.uint8)) >= 0 for token in self.tokens)
