"""The textbook way to read one field of rows of JSON: an object for each row, by Python's json."""

from __future__ import annotations

import json

__all__ = ["field_texts"]


def field_texts(data: bytes, name: str) -> list[bytes | None]:
    """Return the text of a field of each row, in UTF-8; None for rows that are not sound or have no such text.

    data: valid UTF-8, rows end with a line feed. Rows of whitespace are left out.

    >>> field_texts(b'{"text": "a"}\\n\\n{"id": 3}', "text")
    [b'a', None]
    """
    return [_text(line, name) for line in data.split(b"\n") if line.strip(b" \t\r")]


def _text(line: bytes, name: str) -> bytes | None:
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    text = row.get(name) if isinstance(row, dict) else None
    try:
        return text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:  # a lone surrogate
        return None
