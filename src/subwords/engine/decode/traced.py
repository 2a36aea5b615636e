"""Texts with the ids that each character comes from."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, TypeAlias

__all__ = ["NOTHING", "Match", "Place", "Token", "Traced", "Utf8", "as_token", "joined", "matches_of", "replaced"]

Place: TypeAlias = tuple[int, int]  # the positions of ids: the first, and the last plus one
Match: TypeAlias = tuple[int, int, bool]  # start and end of a part of a text, and whether it is a match

_REPLACEMENT = "\ufffd"
_STRAY = range(0xDC80, 0xDD00)  # what surrogateescape writes for a byte


class Traced(NamedTuple):
    """A text and, for each character, the place of its ids."""

    text: str
    places: list[Place]

    def part(self, start: int, stop: int) -> Traced:
        """Return a part of the text."""
        return Traced(self.text[start:stop], self.places[start:stop])


class Token(NamedTuple):
    """A token in a list of tokens; `place` is that of its ids, also if it has no characters."""

    text: str
    places: list[Place]
    place: Place

    @staticmethod
    def of(text: str, place: Place) -> Token:
        """Return a token whose characters all have its place."""
        return Token(text, [place] * len(text), place)


NOTHING = Traced("", [])


def as_token(text: Traced) -> Token:
    """Return a text as a token."""
    return Token(text.text, text.places, (text.places[0][0], text.places[-1][1]) if text.places else (0, 1))


def joined(parts: Iterable[Traced | Token]) -> Traced:
    """Return the texts in a row."""
    found = [part for part in parts if part[0]]
    if len(found) < 2:
        return Traced(found[0][0], found[0][1]) if found else NOTHING
    return Traced("".join([part[0] for part in found]), [place for part in found for place in part[1]])


def matches_of(pattern: str, text: str) -> list[Match]:
    """Return the parts of a text: occurrences of `pattern`, found as in `str.replace`, and the text between them."""
    if not pattern:
        found: list[Match] = [(0, 0, True)]
        for i in range(len(text)):
            found += [(i, i + 1, False), (i + 1, i + 1, True)]
        return found
    found, done = [], 0
    while (at := text.find(pattern, done)) >= 0:
        found += [(done, at, False), (at, at + len(pattern), True)]
        done = at + len(pattern)
    return [*found, (done, len(text), False)]


def replaced(traced: Traced | Token, matches: Iterable[Match], content: str, place: Place = (0, 1)) -> Traced:
    """Return a text with its matches replaced; `place` is that of what is inserted into an empty text.

    What replaces characters has their places, what is inserted that of the character before it.
    """
    text, places = traced[0], traced[1]
    parts = []
    for start, stop, matching in matches:
        if not matching:
            parts.append(Traced(text[start:stop], places[start:stop]))
            continue
        if start < stop:
            where = (places[start][0], places[stop - 1][1])
        else:
            where = places[max(0, start - 1)] if places else place
        parts.append(Traced(content, [where] * len(content)))
    return joined(parts)


class Utf8:
    """Bytes that arrive in pieces, to characters. errors: as in `bytes.decode`, "replace" or "surrogateescape".

    Every byte that is not part of a character becomes U+FFFD with "surrogateescape"; with "replace", a truncated
    character does as a whole.
    """

    __slots__ = ("_data", "_errors", "_places")

    def __init__(self, errors: str) -> None:
        self._errors = errors
        self._data = b""
        self._places: list[Place] = []

    def feed(self, data: bytes, place: Place) -> Traced:
        """Take bytes; return the characters that are complete."""
        return self.feed_all(data, [place] * len(data))

    def text(self, data: bytes) -> str:
        """Take bytes as `feed` does, with errors="replace", for callers that need no places."""
        if not self._data and data.isascii():
            return data.decode()
        data = self._data + data
        text, used = codecs.utf_8_decode(data, self._errors, False)
        self._data = data[used:]
        self._places = [(0, 0)] * len(self._data)
        return text

    def feed_all(self, data: bytes, places: list[Place]) -> Traced:
        """Take bytes with a place each; return the characters that are complete."""
        if not self._data and data.isascii():
            return Traced(data.decode(), places)
        self._data += data
        self._places += places
        return self._decoded(final=False)

    def finish(self) -> Traced:
        """Return what remains; more bytes may follow, as a new text."""
        return self._decoded(final=True) if self._data else NOTHING

    def _decoded(self, *, final: bool) -> Traced:
        text, used = codecs.utf_8_decode(self._data, self._errors, final)
        places = self._places
        found, at = [], 0
        for size in _sizes(text, self._data):
            found.append((places[at][0], places[at + size - 1][1]))
            at += size
        self._data, self._places = self._data[used:], places[used:]
        return Traced(text if self._errors == "replace" else text.translate(_shown()), found)


@cache
def _shown() -> dict[int, str]:
    return dict.fromkeys(_STRAY, _REPLACEMENT)


def _sizes(text: str, data: bytes) -> list[int]:
    """Return the number of bytes that each character of a decoded text stands for."""
    if text.isascii():
        return [1] * len(text)
    sizes: list[int] = []
    at = 0
    for char in text:
        if ord(char) in _STRAY:
            size = 1
        elif char == _REPLACEMENT and data[at : at + 3] != b"\xef\xbf\xbd":
            size = _truncated(data[at : at + 4])
        else:
            size = len(char.encode())
        sizes.append(size)
        at += size
    return sizes


def _truncated(data: bytes) -> int:
    """Return the number of bytes at the start of `data` that one U+FFFD replaces."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end
    raise AssertionError("these bytes were replaced")
