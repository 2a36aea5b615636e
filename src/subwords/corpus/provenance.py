"""Provenance: the normalizer, splitter and special tokens that produced word counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["MOST", "Provenance", "bytes_of_text"]

MOST = 2**63 - 1  # of what is counted


@dataclass(frozen=True)
class Provenance:
    """The origin of words; counts of different provenance can neither be added nor used together in training."""

    splitter: str
    normalizer: str | None = None
    unicode: str | None = None
    special_tokens: tuple[str, ...] = ()

    def difference(self, other: Provenance) -> str | None:
        """Return the first difference in words, first what `other` says; None if there is no difference."""
        for field in ("splitter", "normalizer", "unicode", "special_tokens"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine != theirs:
                return f"{field} {theirs!r}, not {mine!r}"
        return None

    @classmethod
    def from_fields(cls, fields: Any) -> Provenance:
        """Return the provenance from a file's fields; ValueError or TypeError if they are invalid."""
        if not isinstance(fields, dict) or not isinstance(fields.get("special_tokens"), list):
            raise TypeError(f"invalid provenance {fields!r:.200}")
        found = cls(**{**fields, "special_tokens": tuple(fields["special_tokens"])})
        optional = [text for text in (found.normalizer, found.unicode) if text is not None]
        if {*map(type, (found.splitter, *optional, *found.special_tokens))} != {str}:
            raise TypeError(f"invalid provenance {fields!r:.200}")
        return found


def bytes_of_text(stored: object) -> int | None:
    """Return the bytes of the text as a file holds them; None without them; ValueError if they are invalid."""
    if stored is None:
        return None
    if not isinstance(stored, int) or isinstance(stored, bool) or not 0 <= stored <= MOST:
        raise ValueError(f"invalid text_bytes {stored!r:.60}")
    return stored
