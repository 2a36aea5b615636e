"""Marks: small JSON files beside others; where there is a mark, the file it is for is complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from subwords.errors import InputError
from subwords.support.atomic import atomic_write
from subwords.support.remote import is_remote

__all__ = ["read_mark", "write_mark"]


def write_mark(path: Path, fields: dict[str, Any]) -> None:
    """Write a mark; it appears complete or not at all."""
    with atomic_write(path, "w") as stream:
        json.dump(fields, stream)


def read_mark(path: Path) -> dict[str, Any] | None:
    """Return the fields of a mark; None if there is none, or if it is damaged.

    InputError if an object store does not answer: the work would be done again, or taken for that of others.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        if is_remote(path) and isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise InputError(f"cannot read file {path}: {error.strerror}") from error
        return None
    return found if isinstance(found, dict) else None
