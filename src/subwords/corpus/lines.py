"""Reads whole lines of a file, or of a part of it: every line of the file belongs to exactly one part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from subwords.corpus.files import open_text

__all__ = ["whole_lines"]


def whole_lines(
    path: Path | BinaryIO, size: int, on_bytes: Callable[[int], object], part: tuple[int, int] | None = None
) -> Iterator[tuple[bytes, int]]:
    """Yield about `size` bytes of whole lines at a time, more if one line has more, and where they begin in the file.

    part: only the lines that begin there, from its first byte to before its second.
    """
    first, stop = part or (0, 1 << 62)
    offset = max(0, first - 1)  # where the buffer begins; the byte before the part shows whether a line begins there
    with open_text(path, expected="rows", start=offset) as stream:
        buffer, held, reported = bytearray(size), 0, 0
        begun, ended = first == 0, False
        while not ended and offset < stop:
            filled = held + stream.fill(memoryview(buffer)[held:])
            on_bytes(stream.taken - reported)
            reported, ended = stream.taken, filled < len(buffer)
            if not begun:
                line = buffer.find(b"\n", 0, filled) + 1
                begun, held = line > 0, filled - line if line else 0
                buffer[:held] = buffer[filled - held : filled]
                offset += filled - held
                ended = ended and not held
                continue
            cut = _whole(buffer, filled, stop - offset, ended)
            if cut:
                yield bytes(memoryview(buffer)[:cut]), offset
            elif not ended:  # one line is longer than the buffer
                buffer.extend(bytes(len(buffer)))
            held = filled - cut
            buffer[:held] = buffer[cut:filled]
            offset += cut


def _whole(buffer: bytearray, filled: int, stop: int, ended: bool) -> int:
    """Return how many bytes are whole lines that begin before `stop`."""
    last = buffer.find(b"\n", stop - 1, filled) if stop <= filled else -1
    if last >= 0:
        return last + 1
    return filled if ended else buffer.rfind(b"\n", 0, filled) + 1
