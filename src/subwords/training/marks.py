"""Looks at a sample of a corpus for marks, such as accents and vowel signs, that a normalizer removes."""

from __future__ import annotations

import unicodedata
from collections import Counter

from subwords.normalize.normalizer import Normalizer

__all__ = ["Marks"]

LOOK = 1 << 11  # bytes of every fourth block: more would slow counting down
EVERY = 4
LEAST = 0.01  # share of the letters; English has fewer letters with accents


class Marks:
    """Called with the text of a corpus, block by block; counts the marks that the normalizer removes from a sample."""

    def __init__(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer
        self._blocks = 0
        self._letters = 0
        self._lost: Counter[str] = Counter()

    def __call__(self, data: bytes) -> None:
        """Look at the beginning of a block, of every fourth one."""
        self._blocks += 1
        if self._blocks % EVERY != 1:
            return
        text = data[:LOOK].decode("utf-8", "ignore")
        if text.isascii():
            self._letters += len(text) - text.count(" ")
            return
        found = unicodedata.normalize("NFD", text)
        self._letters += sum(unicodedata.category(char).startswith("L") for char in found)
        self._lost += _marks(found) - _marks(unicodedata.normalize("NFD", self._normalizer.normalize(text)))

    def warning(self) -> str | None:
        """Return what to say of the marks, or None if there are few."""
        lost = self._lost.total()
        if lost < LEAST * max(1, self._letters):
            return None
        names = ", ".join(unicodedata.name(mark, f"U+{ord(mark):04X}") for mark, _ in self._lost.most_common(3))
        return (
            f"marks are lost: the default normalizer removes {lost} for {self._letters} letters of a sample ({names}, "
            f'...), and text does not come back with them; normalizer="bert-cased" keeps them'
        )


def _marks(text: str) -> Counter[str]:
    return Counter(char for char in text if unicodedata.category(char) == "Mn")
