"""The letters that stand for bytes in a byte-level tokenizer.json, for engines that keep bytes."""

from __future__ import annotations

__all__ = ["bytes_to_text", "text_to_bytes"]

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
# The other bytes, in their order, are the characters from U+0100 on.
_LETTERS = {byte: byte for byte in _PRINTABLE} | {byte: 0x100 + i for i, byte in enumerate(_OTHERS)}
_BYTES = {letter: byte for byte, letter in _LETTERS.items()}


def bytes_to_text(data: bytes) -> str:
    """Return the letters of some bytes.

    >>> bytes_to_text(b" a")
    'Ġa'
    """
    return data.decode("latin-1").translate(_LETTERS)


def text_to_bytes(text: str) -> bytes:
    """Return the bytes some letters stand for; UnicodeEncodeError where a letter stands for none."""
    return text.translate(_BYTES).encode("latin-1")
