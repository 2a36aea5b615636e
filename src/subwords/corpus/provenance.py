"""Provenance: how the words of word counts were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Provenance"]


@dataclass(frozen=True)
class Provenance:
    """How the words were made: counts of different provenance are neither added nor trained on together."""

    splitter: str
    normalizer: str | None = None
    unicode: str | None = None
    special_tokens: tuple[str, ...] = ()

    def difference(self, other: Provenance) -> str | None:
        """Return the first thing that differs, in words, or None."""
        for field in ("splitter", "normalizer", "unicode", "special_tokens"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine != theirs:
                return f"{field} {mine!r} and {theirs!r}"
        return None

    @classmethod
    def from_fields(cls, fields: Any) -> Provenance:
        """Return the provenance whose fields a file holds; what cannot be one is a ValueError or TypeError."""
        if not isinstance(fields, dict) or not isinstance(fields.get("special_tokens"), list):
            raise TypeError(f"it says {fields!r:.200} of how the words were made")
        found = cls(**{**fields, "special_tokens": tuple(fields["special_tokens"])})
        optional = [text for text in (found.normalizer, found.unicode) if text is not None]
        if {*map(type, (found.splitter, *optional, *found.special_tokens))} != {str}:
            raise TypeError(f"it says {fields!r:.200} of how the words were made")
        return found
