"""Batches: many texts, in parts for threads."""

from __future__ import annotations

__all__ = ["parts_of"]

PART = 1 << 18  # bytes of short texts per task of a thread


def parts_of(texts: list[bytes]) -> list[list[bytes]]:
    """Return consecutive texts of about PART bytes each."""
    parts: list[list[bytes]] = []
    size = PART
    for text in texts:
        if size >= PART:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    return parts
