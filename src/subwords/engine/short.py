"""Functions for short texts: they do what comes before words, then call the door of an encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from subwords.kernels.layout import SHORT_TEXT

__all__ = ["Short"]


class Finds(Protocol):
    """Finds strings in text."""

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""


class Cuts(Finds, Protocol):
    """Finds tokens in text."""

    def cut(self, text: str) -> list[str | int]:
        """Return the ids of the tokens, and the text between them, in order."""


class Short(NamedTuple):
    """Functions of one text; None instead of a result means that they cannot do it, and that nothing was done."""

    encode: Callable[[object], list[int] | None]
    count_ids: Callable[[object], int | None]

    @classmethod
    def never(cls) -> Short:
        """Return functions that always return None."""
        return cls(_nothing, _nothing)

    @property
    def works(self) -> bool:
        """Whether the functions ever return a result."""
        return self.encode is not _nothing

    def unless(self, found: Finds | None) -> Short:
        """Return the functions for texts in which strings do not occur."""
        if not found:
            return self
        encode, count_ids, occurs = self.encode, self.count_ids, found.occurs
        return Short(
            lambda text: None if type(text) is not str or occurs(text) else encode(text),
            lambda text: None if type(text) is not str or occurs(text) else count_ids(text),
        )

    def after(self, change: Callable[[str], str | None]) -> Short:
        """Return the functions for texts that are changed first; `change` returns None for those that it refuses."""
        encode, count_ids = self.encode, self.count_ids

        def changed(text: object) -> str | None:
            return change(text) if type(text) is str and len(text) <= SHORT_TEXT else None

        return Short(
            lambda text: None if (after := changed(text)) is None else encode(after),
            lambda text: None if (after := changed(text)) is None else count_ids(after),
        )

    def around(self, tokens: Cuts) -> Short:
        """Return the functions for texts with tokens, each of which is one id."""
        if not tokens:
            return self
        encode, count_ids, occurs, cut = self.encode, self.count_ids, tokens.occurs, tokens.cut

        def all_ids(text: object) -> list[int] | None:
            if type(text) is not str or len(text) > SHORT_TEXT:
                return None
            if not occurs(text):
                return encode(text)
            found = list[int]()
            for piece in cut(text):
                if type(piece) is int:
                    found.append(piece)
                elif (ids := encode(piece)) is None:
                    return None
                else:
                    found += ids
            return found

        def count_all(text: object) -> int | None:
            if type(text) is not str or len(text) > SHORT_TEXT:
                return None
            if not occurs(text):
                return count_ids(text)
            found = 0
            for piece in cut(text):
                if type(piece) is int:
                    found += 1
                elif (count := count_ids(piece)) is None:
                    return None
                else:
                    found += count
            return found

        return Short(all_ids, count_all)


def _nothing(text: object) -> None:
    """Do nothing."""
