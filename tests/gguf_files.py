"""GGUF files written without subwords: of metadata only, as llama.cpp reads them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

# The types of values that the tests write, by their numbers in the format.
UINT32, INT32, FLOAT32, BOOL, STRING = 4, 5, 6, 7, 8
ARRAY = 9
CODES = {1: "b", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?"}


def packed(kind: int, value: Any) -> bytes:
    if kind == STRING:
        data = value.encode() if isinstance(value, str) else value
        return struct.pack("<Q", len(data)) + data
    return struct.pack(f"<{CODES[kind]}", value)


def gguf_bytes(entries: Iterable[tuple[str, int, Any]]) -> bytes:
    """A GGUF 3 file without tensors; an entry is a key, a type and a value, or a list of values."""
    entries = list(entries)
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries))
    for key, kind, value in entries:
        data += packed(STRING, key)
        if isinstance(value, list):
            data += struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(packed(kind, one) for one in value)
        else:
            data += struct.pack("<I", kind) + packed(kind, value)
    return data + bytes(-len(data) % 32)
