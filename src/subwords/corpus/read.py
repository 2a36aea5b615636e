"""Reads files, folders, globs, tables and texts as blocks of valid UTF-8, with only a few blocks in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np

from subwords.corpus.blocks import Block, before_character, chosen, invalid_place, line_ends, merged_ends, without
from subwords.corpus.files import BOM, HEAD, POINTER, TextStream, container, head_of, need_pyarrow, open_text, way_out
from subwords.corpus.reading import LONE_SURROGATE, Reading, Tally
from subwords.corpus.source import (
    Source,
    describe_value,
    files_and_texts,
    is_stream,
    names_csv,
    names_rows,
    names_table,
    names_text,
)
from subwords.support.checks import check_integer
from subwords.support.errors import CorpusError, InputError, readable
from subwords.support.files import is_path

# ---------------------------------------------------------------------------------------------------------------------
# Reads whole lines of a file, or of a part of it: every line of the file belongs to exactly one part.


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


# ---------------------------------------------------------------------------------------------------------------------
# Reads a text file as blocks: as one document, as its lines, or as what is between separators.

TAIL = 1 << 12  # bytes
LEAST_BYTES = 1 << 12  # bytes of lines that are read at once, whatever the size of blocks


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
        for data, offset in whole_lines(self.path, max(self.block_size, LEAST_BYTES), self.on_bytes, part):
            if invalid_place(data) is not None and self.reading.errors == "skip":
                lines = _split_lines(data)
                kept = [line for line in lines if invalid_place(line) is None]
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
        return before_character(buffer, len(buffer) - 1) or len(buffer) - 1  # something goes on with each block

    def _outside(self, buffer: bytearray, separator: bytes) -> int:
        tail = len(buffer[_apart(buffer, separator) :].split(separator)[-1])
        at = len(buffer) - min(tail, len(separator))
        return at if at == len(buffer) - tail else before_character(buffer, at) or at

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
                bad = invalid_place(data)
                held = b"" if bad is None else data[bad:]
                if len(held) > 3:
                    break
        if held:
            self.tally.skipped += 1
            self.on_bytes(path.stat().st_size)
        return not held

    def _checked(self, data: bytes, offset: int) -> bytes:
        if data.isascii() or (bad := invalid_place(data)) is None:
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


FileKind = Literal["text", "rows", "csv", "parquet", "arrow"]

_TABLES: dict[str | None, FileKind] = {"a Parquet file": "parquet", "an Arrow file": "arrow"}


def read_blocks(
    source: Source,
    reading: Reading | None = None,
    *,
    block_size: int = 4 << 20,
    on_bytes: Callable[[int], object] | None = None,
    tally: Tally | None = None,
    threads: int = 1,
) -> Iterator[Block]:
    r"""Read a source as blocks of about `block_size` bytes of valid UTF-8.

    `source` is a file, a glob ("corpus/*.txt"; "**" for any depth), a folder (its visible files of rows at any depth,
    or if it has none, of text), an iterable of `pathlib.Path`, an iterable of str: the texts themselves, or of dicts
    with such a text; an Arrow column or table or a dataset; an open binary file of text. Hazard: a str is a path, a
    list of str is a list of texts.

    Files are text, JSON Lines, CSV, Parquet or Arrow; the first three also compressed by gzip, zstd or bzip2. Each
    text file, row, or text of an iterable is a document, or each of its lines with its "\n", see `Reading`. Bytes stay
    unchanged: line ends are not translated. A byte order mark at the start of a file is skipped, and so are empty
    texts. `on_bytes` is called with the number of bytes just read (on disk; for texts, in UTF-8). threads: that
    parse rows of JSON.

    Raises `InputError` for an invalid option or text, and `CorpusError` for a file that is missing, unreadable,
    damaged, of another format or not UTF-8, and for a folder or glob without files. Names, and the first bytes of files
    without a known suffix, are checked at the call, everything else during iteration.

    >>> [(block.data, block.ends.tolist()) for block in read_blocks(["one text", "another"])]
    [(b'one textanother', [8, 15])]
    """
    from subwords.corpus.columns import is_table, table_blocks

    check_integer("block_size", block_size, 1, 1 << 40)
    if reading is not None and not isinstance(reading, Reading):
        raise InputError(f"expected reading to be a Reading, not {describe_value(reading)}")
    reading, tally, on_bytes = reading or Reading(), tally or Tally(), on_bytes or (lambda _: None)
    if is_stream(source):
        blocks = TextFile(source, reading, tally, block_size, on_bytes).blocks()
    elif is_table(source):
        blocks = _lines(table_blocks(source, reading, tally, max(block_size, LEAST_BYTES), on_bytes), reading)
    else:
        files, texts = files_and_texts(source)
        kinds = [kind_of_file(path) for path in files]
        if any(path.suffix.lower() == ".zst" for path in files) or {"parquet", "arrow"} & {*kinds}:
            need_pyarrow()
        how: Any = {"block_size": block_size, "on_bytes": on_bytes, "tally": tally, "threads": threads}
        blocks = chain(
            chain.from_iterable(
                read_corpus_file(path, reading, kind=kind, **how) for path, kind in zip(files, kinds, strict=True)
            ),
            IterableTexts(reading, tally, block_size, on_bytes).blocks(texts),
        )
    return chosen(blocks, reading, tally)


def read_corpus_file(
    path: Path,
    reading: Reading,
    *,
    kind: FileKind,
    block_size: int,
    on_bytes: Callable[[int], object],
    tally: Tally,
    part: tuple[int, int] | None = None,
    threads: int = 1,
) -> Iterator[Block]:
    """Read a file of a kind, or a part of it: row groups of Parquet, or the lines that begin between two bytes."""
    size = max(block_size, LEAST_BYTES)
    match kind:
        case "text":
            return TextFile(path, reading, tally, block_size, on_bytes).blocks(part)
        case "rows":
            from subwords.corpus.columns import json_blocks

            return _lines(json_blocks(path, reading, tally, size, on_bytes, part, threads), reading)
        case "csv":
            from subwords.corpus.columns import csv_texts

            texts = csv_texts(path, reading, tally, size, on_bytes)
            return IterableTexts(reading, tally, size, lambda _: None).blocks(texts)
        case "parquet":
            from subwords.corpus.columns import parquet_blocks

            return _lines(parquet_blocks(path, reading, tally, size, on_bytes, part), reading)
        case "arrow":
            from subwords.corpus.columns import arrow_blocks

            return _lines(arrow_blocks(path, reading, tally, size, on_bytes), reading)


def kind_of_file(path: Path) -> FileKind:
    """Return how a file is read; CorpusError if it is binary. A pipe is not looked into."""
    if names_text(path) or not path.is_file():
        return "text"
    if names_csv(path):
        return "csv"
    rows = names_rows(path)
    if not rows:
        with readable(path, CorpusError, f"{path}: cannot open file"):
            head = head_of(path)
        if table := _TABLES.get(container(head)):
            return table
        if names_table(path):
            found = container(head)
            way = way_out(POINTER) if found == POINTER else "rename it to .txt if it is text"
            raise CorpusError(
                f"{path}: expected a Parquet or Arrow file, as its name says, found {found or 'other content'}; {way}"
            )
    # Binary files are refused at once, not after hours of counting.
    with open_text(path, expected="rows" if rows else "text") as opened:
        return "rows" if rows and _begins_row(opened) else "text"


def _begins_row(stream: TextStream) -> bool:
    head = bytearray(HEAD)
    count = stream.fill(memoryview(head))
    return bytes(head[:count]).removeprefix(BOM).lstrip().startswith((b"{", b"["))


def _lines(blocks: Iterator[Block], reading: Reading) -> Iterator[Block]:
    """Yield blocks of rows whose lines are documents, if so asked."""
    if reading.documents != "line":
        return blocks
    return (
        Block(block.data, np.union1d(block.ends, line_ends(block.data)), block.name, block.offset) for block in blocks
    )


# --- texts of iterables ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IterableTexts:
    """The texts of an iterable, or rows with a text each, and how they are read."""

    reading: Reading
    tally: Tally
    block_size: int
    on_bytes: Callable[[int], object]

    def blocks(self, texts: Iterable[object]) -> Iterator[Block]:
        """Yield many short texts per block; long texts are cut into several blocks."""
        batch: list[str] = []
        size = first = 0
        for index, item in enumerate(texts):
            text = item if isinstance(item, str) else self._of_row(item, index)
            length = len(text)
            if batch and (size >= self.block_size or length > self.block_size):
                found = self._batch(batch, first)
                batch, size = [], 0
                yield from found
            if length > self.block_size:
                yield from self._long_text(text, index)
            elif batch or text:
                if not batch:
                    first = index
                batch.append(text)
                size += length
            else:
                self.tally.empty += 1
        if batch:
            yield from self._batch(batch, first)

    def _of_row(self, row: object, index: int) -> str:
        from subwords.corpus.columns import decode_row

        if not isinstance(row, dict):
            raise InputError(_not_text(row, index))
        return decode_row(row, f"row {index}", self.reading, self.tally).decode()

    def _batch(self, texts: list[str], first: int) -> list[Block]:
        try:
            data = "".join(texts).encode()
        except UnicodeEncodeError:
            texts = [self._encoded(text, index, 0).decode() for index, text in enumerate(texts, first)]
            data = "".join(texts).encode()
        self.on_bytes(len(data))
        self.tally.empty += texts.count("")
        sizes = [len(text) if text.isascii() else len(text.encode()) for text in texts if text]
        ends = np.cumsum(sizes, dtype=np.int64)
        if self.reading.documents == "line":
            ends = np.union1d(line_ends(data), ends)
        return [Block(data, ends, f"text {first}", 0)] if data else []

    def _long_text(self, text: str, index: int) -> Iterator[Block]:
        offset = 0
        if self.reading.errors == "skip" and LONE_SURROGATE.search(text):
            self.tally.skipped += 1
            return
        for start in range(0, len(text), self.block_size):
            stop = start + self.block_size
            data = self._encoded(text[start:stop], index, start)
            self.on_bytes(len(data))
            yield block_of(data, stop >= len(text), f"text {index}", offset, self.reading.documents == "line")
            offset += len(data)

    def _encoded(self, text: str, index: int, start: int) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            if self.reading.errors == "replace":
                return LONE_SURROGATE.sub("\ufffd", text).encode()
            if self.reading.errors == "skip":
                self.tally.skipped += 1
                return b""
            raise InputError(
                f"text {index}: expected characters, got the lone surrogate U+{ord(text[error.start]):04X} "
                f'at character {start + error.start}; errors="replace" reads it as U+FFFD'
            ) from error


def _not_text(item: Any, index: int) -> str:
    hint = ": do not mix paths with texts" if isinstance(item, os.PathLike) else ""
    hint = ": pass the text, not its word counts" if isinstance(item, tuple) else hint
    return f"text {index}: expected str, got {describe_value(item)}{hint}"
