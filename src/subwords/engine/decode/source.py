"""What turns ids, given one by one, into text."""

from __future__ import annotations

from abc import ABC, abstractmethod

from subwords.components.vocab import Vocab
from subwords.engine.decode.traced import Place, Traced, Utf8

__all__ = ["ByteSource", "Source"]


class Source(ABC):
    """Turns ids, given one by one, into text; for one text only. `size`: ids are below it."""

    size: int

    def text(self, index: int) -> str:
        """Take the next id; return the text that is final, for callers that need no places."""
        return self.feed(index, (0, 1)).text

    @abstractmethod
    def feed(self, index: int, place: Place) -> Traced:
        """Take the next id; return the text that is final."""

    @abstractmethod
    def finish(self) -> Traced:
        """Return what remains."""


class ByteSource(Source):
    """Joins the bytes of the tokens."""

    def __init__(self, vocab: Vocab) -> None:
        self.size = len(vocab)
        self._tokens = vocab.known
        self._utf8 = Utf8("replace")

    def feed(self, index: int, place: Place) -> Traced:
        """Return the complete characters."""
        return self._utf8.feed(self._tokens[index], place)

    def text(self, index: int) -> str:
        """Return the complete characters."""
        return self._utf8.text(self._tokens[index])

    def finish(self) -> Traced:
        """Return U+FFFD for an incomplete character."""
        return self._utf8.finish()
