"""WordPiece in plain Python, for single tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

__all__ = ["longest_match", "matches"]


def longest_match(pieces: Mapping[bytes, int], prefix: bytes, token: bytes, left_out: int = -1) -> list[int]:
    """Return the longest matches of WordPiece from the left, without the piece `left_out`; [] if there are none.

    A token that begins with the prefix is matched as the end of a word.

    >>> longest_match({b"a": 0, b"##b": 1, b"##bc": 2}, b"##", b"abc"), longest_match({b"##b": 1}, b"##", b"##bb")
    ([0, 2], [1, 1])
    """
    inside = bool(prefix) and token.startswith(prefix) and len(token) > len(prefix)
    text = token.removeprefix(prefix) if inside else token
    found = [*matches(pieces, prefix, text, left_out, inside=inside)]
    return [index for index, _ in found] if found and found[-1][1] == len(text) else []


def matches(
    pieces: Mapping[bytes, int], prefix: bytes, text: bytes, left_out: int = -1, *, inside: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the id and the end of each longest match from the left, up to a place where no piece matches.

    inside: whether the text is the end of a word.
    """
    at = 0
    while at < len(text):
        before = prefix if inside or at else b""
        for end in range(len(text), at, -1):
            index = pieces.get(before + text[at:end], left_out)
            if index != left_out:
                break
        else:
            return
        yield index, end
        at = end
