"""WordPiece in plain Python, for single tokens."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["longest_match"]


def longest_match(pieces: Mapping[bytes, int], prefix: bytes, token: bytes, left_out: int = -1) -> list[int]:
    """Return the longest matches of WordPiece from the left, without the piece `left_out`; [] if there are none.

    A token that begins with the prefix is matched as the end of a word.

    >>> longest_match({b"a": 0, b"##b": 1, b"##bc": 2}, b"##", b"abc"), longest_match({b"##b": 1}, b"##", b"##bb")
    ([0, 2], [1, 1])
    """
    inside = bool(prefix) and token.startswith(prefix) and len(token) > len(prefix)
    rest, found = token.removeprefix(prefix) if inside else token, list[int]()
    while rest:
        before = prefix if inside or found else b""
        for end in range(len(rest), 0, -1):
            index = pieces.get(before + rest[:end], left_out)
            if index != left_out:
                break
        else:
            return []
        found.append(index)
        rest = rest[end:]
    return found
