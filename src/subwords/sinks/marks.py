"""Marks: small JSON files beside others; where there is a mark, the file it is for is complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from subwords.support.atomic import atomic_write

__all__ = ["read_mark", "write_mark"]


def write_mark(path: Path, fields: dict[str, Any]) -> None:
    """Write a mark; it appears complete or not at all."""
    with atomic_write(path, "w") as stream:
        json.dump(fields, stream)


def read_mark(path: Path) -> dict[str, Any] | None:
    """Return the fields of a mark; None if there is none, or if it is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
