"""Text with every character visible: spaces, control characters, bidi controls and bytes that are not characters."""

from __future__ import annotations

import unicodedata

__all__ = ["CHARACTERS", "SPACE", "escaped", "printable", "shortened", "visible"]

SPACE = "\u2423"  # the open box
CIRCLE = "\u25cc"  # carries a mark that has no character before it
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", " ": SPACE}
CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


def visible(text: str) -> str:
    r"""Return a text on one line: a space becomes U+2423, other characters that are not printable are escaped.

    Bytes that are not part of a character are lone surrogates, as the error handler "surrogateescape" makes them.

    >>> print(visible(" caf\xe9\n"), visible("\udcc3"), visible("a\u202eb"))
    ␣café\n \xc3 a\u202eb
    """
    return "".join(map(escaped, text))


def printable(text: str) -> str:
    r"""Return a text on one line: spaces and backslashes stay, only what is not printable is escaped.

    >>> print(printable("\\s+ or \x1b"))
    \s+ or \x1b
    """
    return "".join(character if character.isprintable() else escaped(character) for character in text)


def escaped(character: str) -> str:
    r"""Return how `visible` shows a character.

    >>> print(escaped("\t"), escaped("x"), escaped("\x1b"))
    \t x \x1b
    """
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is not part of a character
    if character.isprintable() and character != SPACE:
        return character
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, most: int) -> str:
    """Return a visible text of at most about `most` characters; it says how much is left out.

    A mark at the start gets a dotted circle: it would otherwise combine with whatever stands before the text.

    >>> shortened("a long text", 4), shortened("\u0301e", 4)
    ('a␣lo… (7 more)', '◌́e')
    """
    more = len(text) - most
    start = CIRCLE if text and unicodedata.category(text[0]).startswith("M") else ""
    return f"{start}{visible(text[:most])}{f'… ({more} more)' if more > 0 else ''}"
