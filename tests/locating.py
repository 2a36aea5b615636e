"""Plain twins of `kernels/text/locate.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from inside import kernels_layout as layout


class Place(NamedTuple):
    byte_span: tuple[int, int]
    span: tuple[int, int]
    word: int


def places(
    text: bytes,
    words: Sequence[tuple[int, int]],
    ids: Sequence[int],
    sizes: Sequence[int],
    marks: tuple[int, int],
) -> list[Place] | None:
    """The places of the ids of a text, whose words are ranges of its bytes; None if they do not add up."""
    found, rest = [], [*ids]
    for number, (begin, end) in enumerate(words):
        at = begin
        while at < end:
            given = sizes[rest.pop(0)] if rest else layout.UNSURE
            unknown = given == layout.UNKNOWN_RUN
            size = unknown_bytes(text[at:end]) if unknown else covered(given, marks, at == begin, end - at)
            if size is None:
                return None
            found.append(
                Place((at, at + size), (characters(text[: at + 1]) - 1, characters(text[: at + size])), number)
            )
            at += size
    return None if rest else found


def kind_of(char: str) -> int:
    """How some characters continue a run of unknown ones, in tests."""
    return layout.CONTINUES_RUN if char in "bé文" else layout.ENDS_RUN if char.isascii() else layout.MAY_CONTINUE


def unknown_bytes(rest: bytes) -> int | None:
    """The size of the unknown id with which a rest of a word begins, whose characters are of the kinds of `kind_of`."""
    chars = rest.decode("utf-8", "surrogateescape")  # a word may begin or end in a character
    kinds = [kind_of(char) for char in chars]
    if kinds[0] == layout.ENDS_RUN:
        return None
    count = next((k for k, kind in enumerate(kinds) if k and kind != layout.CONTINUES_RUN), len(kinds))
    if count < len(kinds) and kinds[count] != layout.ENDS_RUN:
        return None
    return len(chars[:count].encode("utf-8", "surrogateescape"))


def covered_text(text: bytes, ids: Sequence[int], sizes: Sequence[int], prefix: int) -> list[Place] | None:
    """The places of ids that cover a text and the byte before it, if there is one; None if they do not."""
    if not text:
        return None
    found, at = [], -1 if prefix else 0
    whole = [*accumulate(len(char.encode()) for char in text.decode())]
    for index in ids:
        if sizes[index] <= 0 or at + sizes[index] > len(text):
            return None
        begin, end, at = at, at + sizes[index], at + sizes[index]
        if prefix and end <= 0:
            found.append(Place((0, whole[0]), (0, 1), 0) if prefix == layout.FIRST_PREFIX else Place((0, 0), (0, 0), 0))
            continue
        begin = max(begin, 0)
        if prefix:
            begin = max([0, *(place for place in whole if place <= begin)])
            inside = [
                place for place in [0, *whole] if (place >= end if prefix == layout.FIRST_PREFIX else place <= end)
            ]
            end = min(inside) if prefix == layout.FIRST_PREFIX else max(inside)
        found.append(Place((begin, end), (characters(text[: begin + 1]) - 1, characters(text[:end])), 0))
    return found if at == len(text) else None


def covered(size: int, marks: tuple[int, int], first: bool, rest: int) -> int | None:
    """The bytes of a word that an id covers if `rest` of them remain."""
    leading, trailing = marks
    if size == layout.WHOLE_WORD and first:
        return rest
    if size < 0:
        return None
    size -= 0 if first else leading
    if size - trailing == rest:
        return rest
    return size if 0 < size < rest else None


def characters(data: bytes) -> int:
    """How many characters begin in some bytes."""
    return sum(byte >> 6 != 2 for byte in data)


def framed(
    pieces: Sequence[Sequence[int]],
    fills: Sequence[Sequence[tuple[int, int]]],
    row: Sequence[tuple[Any, ...]],
    length: int,
    names: int,
) -> list[list[tuple[Any, ...]]]:
    """The entries (id, byte span, span, word, name, type, special, attention) of rows, given a range for each slot."""
    found = []
    for ranges in fills:
        entries: list[tuple[Any, ...]] = []
        own = sum(1 if slot == layout.INSERTED else stop - start for slot, start, stop in _sized(pieces, ranges))
        for slot, _, index, name, kind, flags in pieces:
            masks = kind, flags & 1, flags >> 1
            inserted = (index, (0, 0), (0, 0), -1, name + names)
            times = 1 if slot == layout.INSERTED else max(0, length - own)
            entries += [(*entry, *masks) for entry in (row[slice(*ranges[slot])] if slot >= 0 else [inserted] * times)]
        found.append(entries)
    return found


def _sized(pieces: Sequence[Sequence[int]], ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    yield from ((slot, *(ranges[slot] if slot >= 0 else (0, 0))) for slot, *_ in pieces)
