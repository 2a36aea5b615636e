"""Documents, as they are defined: which ones a sample has (W5), and how many have each word (W6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["document_frequencies", "is_kept"]

HEAD = 4096  # bytes
MASK = 2**64 - 1


def is_kept(document: bytes, share: float, seed: int) -> bool:
    """Whether a sample of this share has the document."""
    state = 0xCBF29CE484222325  # FNV-1a
    for byte in document[:HEAD]:
        state = (state ^ byte) * 0x100000001B3 & MASK
    state ^= seed * 0x9E3779B97F4A7C15 & MASK
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):  # the finalizer of MurmurHash3
        state = (state ^ state >> 33) * factor & MASK
    state ^= state >> 33
    return (state >> 11) / 2**53 < share


def document_frequencies(documents: Iterable[Sequence[bytes]]) -> dict[bytes, int]:
    """Return how many documents, given as their words, have each word."""
    return dict(Counter(word for words in documents for word in {*words}))
