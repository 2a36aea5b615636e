"""Reads files, folders, globs, tables and texts as blocks of valid UTF-8, with only a few blocks in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from subwords.corpus.blocks import Block, line_ends
from subwords.corpus.contents import BOM, HEAD, container
from subwords.corpus.files import TextStream, head_of, need_pyarrow, open_text
from subwords.corpus.reading import LONE_SURROGATE, Reading, Tally
from subwords.corpus.sampling import chosen
from subwords.corpus.source import Source, files_and_texts, is_stream, names_rows, names_table, names_text, shown
from subwords.corpus.text_file import LEAST, TextFile, block_of
from subwords.errors import CorpusError, InputError
from subwords.support.checks import check_integer

__all__ = ["Block", "FileKind", "kind_of_file", "read_blocks", "read_file"]

FileKind = Literal["text", "rows", "parquet", "arrow"]

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
    with such a text; an Arrow table or a dataset; an open binary file of text. Hazard: a str is a path, a list of str
    is a list of texts.

    Files are text, JSON Lines, Parquet or Arrow; text and JSON Lines also compressed by gzip, zstd or bzip2. Each
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
        raise InputError(f"expected reading to be a Reading, not {shown(reading)}")
    reading, tally, on_bytes = reading or Reading(), tally or Tally(), on_bytes or (lambda _: None)
    if is_stream(source):
        blocks = TextFile(source, reading, tally, block_size, on_bytes).blocks()
    elif is_table(source):
        blocks = _lines(table_blocks(source, reading, tally, max(block_size, LEAST), on_bytes), reading)
    else:
        files, texts = files_and_texts(source)
        kinds = [kind_of_file(path) for path in files]
        if any(path.suffix.lower() == ".zst" for path in files) or {"parquet", "arrow"} & {*kinds}:
            need_pyarrow()
        how: Any = {"block_size": block_size, "on_bytes": on_bytes, "tally": tally, "threads": threads}
        blocks = chain(
            chain.from_iterable(
                read_file(path, reading, kind=kind, **how) for path, kind in zip(files, kinds, strict=True)
            ),
            _Texts(reading, tally, block_size, on_bytes).blocks(texts),
        )
    return chosen(blocks, reading, tally)


def read_file(
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
    size = max(block_size, LEAST)
    match kind:
        case "text":
            return TextFile(path, reading, tally, block_size, on_bytes).blocks(part)
        case "rows":
            from subwords.corpus.json_lines import json_blocks

            return _lines(json_blocks(path, reading, tally, size, on_bytes, part, threads), reading)
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
    rows = names_rows(path)
    if not rows:
        try:
            head = head_of(path)
        except OSError as error:
            raise CorpusError(f"{path}: cannot open file: {error.strerror}") from error
        if found := _TABLES.get(container(head)):
            return found
        if names_table(path):
            raise CorpusError(
                f"{path}: expected a Parquet or Arrow file, as its name says, found "
                f"{container(head) or 'other content'}; rename it to .txt if it is text"
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
class _Texts:
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
        from subwords.corpus.json_lines import row_text

        if not isinstance(row, dict):
            raise InputError(_not_text(row, index))
        return row_text(row, f"row {index}", self.reading, self.tally).decode()

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
    return f"text {index}: expected str, got {shown(item)}{hint}"
