"""Reads a text file as blocks: as one document, as its lines, or as what is between separators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from subwords.corpus.blocks import Block, before_character, first_invalid, line_ends, merged_ends, without
from subwords.corpus.contents import BOM
from subwords.corpus.files import open_text
from subwords.corpus.lines import whole_lines
from subwords.corpus.reading import Reading, Tally
from subwords.errors import CorpusError, InputError
from subwords.support.remote import is_path

__all__ = ["TextFile", "block_of"]


TAIL = 1 << 12  # bytes
LEAST = 1 << 12  # bytes of lines that are read at once, whatever the size of blocks


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file, and how it is read."""

    path: Path | BinaryIO
    reading: Reading
    tally: Tally
    block_size: int
    on_bytes: Callable[[int], object]

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return str(self.path) if is_path(self.path) else "standard input" if self.path is sys.stdin.buffer else "stream"

    def blocks(self, part: tuple[int, int] | None = None) -> Iterator[Block]:
        """Yield the text; of a part of the file, in bytes, the lines that begin there."""
        by_lines = self.reading.documents == "line"
        if by_lines and (part or self.reading.errors == "skip"):
            return self._by_lines(part)
        if part is not None:
            raise InputError(f"{self.name}: only a file of lines or rows can be read in parts")
        return self._stream(by_lines)

    def _by_lines(self, part: tuple[int, int] | None) -> Iterator[Block]:
        """Yield whole lines; a line that is not UTF-8 may be left out."""
        before = 0
        for data, offset in whole_lines(self.path, max(self.block_size, LEAST), self.on_bytes, part):
            if first_invalid(data) is not None and self.reading.errors == "skip":
                lines = _split_lines(data)
                kept = [line for line in lines if first_invalid(line) is None]
                self.tally.skipped += len(lines) - len(kept)
                data = b"".join(kept)
            if data := self._checked(data, offset).removeprefix(BOM if offset == 0 else b""):
                yield self._block(data, True, before)
            before += len(data)

    def _stream(self, by_lines: bool) -> Iterator[Block]:
        separator = self.reading.separator.encode() if self.reading.separator else b""
        if self.reading.errors == "skip" and not self._is_text(bool(separator)):
            return
        # 4 bytes more than a block: one character can be held back without emptying the block.
        buffer = bytearray(self.block_size + 4 + len(separator))
        view = memoryview(buffer)
        offset = held = before = 0
        with open_text(self.path, self.name) as stream:
            ended, reported = False, 0
            while not ended:
                filled = held + stream.fill(view[held:])
                self.on_bytes(stream.taken - reported)
                reported = stream.taken
                ended = filled < len(buffer)
                cut = filled if ended else self._cut(buffer, by_lines, separator)
                if cut:
                    data = self._checked(bytes(view[:cut]), offset + stream.marked)
                    if not separator:
                        yield self._block(data, ended, offset)
                    else:
                        data, ends = without(separator, data, ended)
                        if data:
                            yield Block(data, merged_ends(ends, self.tally), self.name, before)
                        before += len(data)
                offset += cut
                held = filled - cut
                view[:held] = view[cut:filled]

    def _block(self, data: bytes, ended: bool, offset: int) -> Block:
        return block_of(data, ended, self.name, offset, self.reading.documents == "line")

    def _cut(self, buffer: bytearray, by_lines: bool, separator: bytes) -> int:
        """Return where to cut a full buffer: after its last line if lines are documents, or before its last character.

        Either bytes are held back or a document ends here, so a file's last block is never empty.
        """
        if by_lines and (newline := buffer.rfind(b"\n")) >= 0:
            return newline + 1
        if separator:  # its first bytes may be the last ones here
            return self._outside(buffer, separator)
        return before_character(buffer, len(buffer) - 1)

    def _outside(self, buffer: bytearray, separator: bytes) -> int:
        tail = len(buffer[_apart(buffer, separator) :].split(separator)[-1])
        at = len(buffer) - min(tail, len(separator))
        return at if at == len(buffer) - tail else before_character(buffer, at)

    def _is_text(self, separated: bool) -> bool:
        """Whether the whole file is UTF-8; else it is left out."""
        if not is_path(self.path):  # which cannot be read twice
            raise InputError(
                f'errors="skip" leaves out a whole {self.name}: ask for documents="line", or for "replace"'
            )
        path = cast(Path, self.path)
        if separated:
            raise InputError('errors="skip" leaves out whole files, lines or rows: leave out separator')
        held = b""
        view = memoryview(bytearray(1 << 20))
        with open_text(self.path) as stream:
            while count := stream.fill(view):
                data = held + bytes(view[:count])
                bad = first_invalid(data)
                held = b"" if bad is None else data[bad:]
                if len(held) > 3:
                    break
        if held:
            self.tally.skipped += 1
            self.on_bytes(path.stat().st_size)
        return not held

    def _checked(self, data: bytes, offset: int) -> bytes:
        if data.isascii() or (bad := first_invalid(data)) is None:
            return data
        if self.reading.errors == "replace":
            return data.decode(errors="replace").encode()
        raise CorpusError(
            f"{self.name}: expected UTF-8, got byte 0x{data[bad]:02x} at byte {offset + bad}; "
            'errors="replace" reads it as U+FFFD'
        )


def _apart(buffer: bytearray, separator: bytes) -> int:
    """Return a place near the end that no separator spans: from there on, it is found at the same places."""
    beside, step = len(separator) - 1, len(separator) + TAIL
    for at in range(len(buffer) - step, beside, -step):
        if separator not in buffer[at - beside : at + beside]:
            return at
    return 0


def _split_lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def block_of(data: bytes, ended: bool, name: str, offset: int, by_lines: bool) -> Block:
    """Return text as a block; `ended`: a document ends at its end."""
    ends = line_ends(data) if by_lines else np.empty(0, np.int64)
    if ended and not (len(ends) and ends[-1] == len(data)):
        ends = np.append(ends, np.int64(len(data)))
    return Block(data, ends, name, offset)
