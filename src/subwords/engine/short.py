"""Functions for short texts: they check what a tokenizer must check, then call the door of its encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

__all__ = ["Short"]


class Finds(Protocol):
    """Finds strings in text."""

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""


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

    def unless(self, found: Finds | None, *, ascii_only: bool = False) -> Short:
        """Return the functions for texts in which strings do not occur, and for ASCII texts only."""
        if not found and not ascii_only:
            return self
        encode, count_ids = self.encode, self.count_ids

        def refused(text: object) -> bool:
            return type(text) is not str or (ascii_only and not text.isascii()) or bool(found and found.occurs(text))

        return Short(
            lambda text: None if refused(text) else encode(text),
            lambda text: None if refused(text) else count_ids(text),
        )


def _nothing(text: object) -> None:
    """Do nothing."""
