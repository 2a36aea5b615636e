"""Whole characters, the textbook way: which tokens of bytes may merge so that none cuts a character (B8)."""

from __future__ import annotations

from functools import cache

__all__ = ["cuts_no_character"]


def cuts_no_character(left: bytes, right: bytes) -> bool:
    r"""Whether two tokens are whole characters, or the beginning of one character and the byte after it.

    >>> cuts_no_character(b"a", "é".encode()), cuts_no_character(b"\xe6\x96", b"\x87"), cuts_no_character(b"a", b"\xc3")
    (True, True, False)
    """
    if _is_text(left) and _is_text(right):
        return True
    longer = left + right
    return len(right) == 1 and any(chr(code).encode().startswith(longer) for code in _begun(left))


def _is_text(token: bytes) -> bool:
    try:
        return bool(token.decode())
    except UnicodeDecodeError:
        return False


@cache
def _begun(token: bytes) -> list[int]:
    """Return the characters whose first bytes are the token and one more: the first of each kind."""
    found = []
    for byte in range(0x80, 0xC0):
        for rest in (b"", b"\x80", b"\x80\x80"):
            try:
                text = (token + bytes([byte]) + rest).decode()
            except UnicodeDecodeError:
                continue
            found += [ord(text)] if len(text) == 1 else []
    return found
