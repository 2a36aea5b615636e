"""Blocks: consecutive text of a corpus, and where its documents end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.reading import LEAST_CAP, Tally
from subwords.kernels import layout

__all__ = ["Block", "before_character", "blocks_of", "capped", "first_invalid", "line_ends", "merged_ends", "without"]

LONG = 1 << 17  # bytes from which on a kernel finds invalid UTF-8 sooner than Python


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive UTF-8 text: a part of one document, or several documents.

    data: never empty, cut between characters. ends (int64, strictly ascending, possibly empty): the end offsets in
    `data` of the documents that end in this block; the text after the last end continues in the next block. The last
    block of a source always has `ends[-1] == len(data)`. name: the file's name, or "text 12" with the index (from 0)
    of the first text in the iterable. offset: where `data` begins in the text of the file, after
    decompression, without separators and without bytes that are not text, or in the UTF-8 form of that text.
    """

    data: bytes
    ends: NDArray[np.int64]
    name: str
    offset: int


def blocks_of(
    data: memoryview, ends: NDArray[np.int64], name: str, offset: int, size: int, tally: Tally
) -> Iterator[Block]:
    """Yield documents as blocks of at most about `size` bytes; a longer document is cut between characters.

    ends (int64, ascending): where each document ends in the data; the last at its end. Empty ones are left out.
    """
    ends = merged_ends(ends, tally)
    start = done = 0
    while start < len(data):
        stop = min(start + size, len(data))
        last = int(np.searchsorted(ends, stop, "right"))
        stop = int(ends[last - 1]) if last > done else before_character(data, stop)
        yield Block(bytes(data[start:stop]), ends[done:last] - start, name, offset + start)
        start, done = stop, last


def merged_ends(ends: NDArray[np.int64], tally: Tally) -> NDArray[np.int64]:
    """Return ascending ends without those of empty documents, which the tally counts."""
    found = ends[np.diff(ends, prepend=np.int64(0)) > 0]
    tally.empty += len(ends) - len(found)
    return found


def before_character(data: memoryview | bytes | bytearray, at: int) -> int:
    """Return where to cut data before its byte `at`: not within a character.

    The last of 4 consecutive continuation bytes is always invalid, so a cut before it is correct too.
    """
    if at >= len(data):
        return len(data)
    return next((place for place in range(at, max(0, at - 4), -1) if data[place] & 0xC0 != 0x80), at)


def line_ends(data: bytes) -> NDArray[np.int64]:
    r"""Return where the lines of data end, each with its "\n"; not the end of a last line without it."""
    from subwords.kernels.named import ends_after

    ends = np.empty(len(data), np.int64)
    return ends[: ends_after(np.frombuffer(data, np.uint8), ord("\n"), ends)].copy()


def first_invalid(data: bytes | memoryview) -> int | None:
    """Return the place of the first byte that is not UTF-8."""
    if len(data) < LONG:
        try:
            str(data, "utf-8")
        except UnicodeDecodeError as error:
            return error.start
        return None
    from subwords.kernels.named import first_invalid as find

    bad = find(np.frombuffer(data, np.uint8))
    return None if bad < 0 else bad


def without(separator: bytes, data: bytes, ended: bool) -> tuple[bytes, NDArray[np.int64]]:
    """Return data without separators, and where a document ends in it; `ended`: one ends at the end of the data."""
    from subwords.kernels.named import cut_out

    out, ends = np.empty(len(data) + layout.LANES, np.uint8), np.empty(len(data) // len(separator) + 1, np.int64)
    count = cut_out(np.frombuffer(data, np.uint8), np.frombuffer(separator, np.uint8), out, ends)
    size = ends[count] = len(data) - count * len(separator)
    return out[:size].tobytes(), ends[: count + ended].copy()


def capped(blocks: Iterable[Block], most: int, tally: Tally) -> Iterator[Block]:
    """Yield blocks with the first `most` bytes of each document, cut between characters; the tally counts the cuts."""
    room = most  # bytes that this document may still have; 0: it is full, and the rest of it is dropped
    held = b""  # the last character of a document that is almost full: its end is set when it is known
    for block in blocks:
        data, ends = held + block.data, block.ends + len(held)
        edges = [0, *ends.tolist()]
        is_open = edges[-1] < len(data)
        if is_open:
            edges.append(len(data))
        lengths = np.diff(edges)
        if not held and int(lengths.max()) <= room - LEAST_CAP:
            room = most if not is_open else (room if len(lengths) == 1 else most) - int(lengths[-1])
            yield block
            continue
        held = b""
        parts, kept_ends, size = list[bytes](), list[int](), 0
        for start, stop in pairwise(edges):
            ended = not (is_open and stop == len(data))
            kept, dropped = stop, stop - start > room
            if dropped:
                kept = before_character(data, start + room)
                tally.cut += room > 0
            elif not ended and stop - start > room - LEAST_CAP:
                kept = before_character(data, stop - 1)
                held = data[kept:]
            parts.append(data[start:kept])
            size += kept - start
            if room and (ended or dropped):
                kept_ends.append(size)
            room = most if ended else 0 if dropped else room - (kept - start)
        if size:
            yield Block(b"".join(parts), np.array(kept_ends, np.int64), block.name, block.offset)
