"""Reads files, folders, globs and texts as blocks of valid UTF-8, with only a few blocks in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.files import STEP, need_pyarrow, open_text
from subwords.corpus.source import Source, files_and_texts, names_text, shown
from subwords.errors import CorpusError, InputError
from subwords.support.checks import check_choice, check_integer

__all__ = ["Block", "check_reading", "read_blocks"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive UTF-8 text: a part of one document, or several documents.

    data: never empty, cut between characters. ends (int64, strictly ascending, possibly empty): the end offsets in
    `data` of the documents that end in this block; the text after the last end continues in the next block. The last
    block of a source always has `ends[-1] == len(data)`. name: the file's name, or "text 12" with the index (from 0)
    of the first text in the iterable. offset: where `data` begins in the decompressed file, or in the UTF-8 form of
    that text.
    """

    data: bytes
    ends: NDArray[np.int64]
    name: str
    offset: int


def read_blocks(
    source: Source,
    *,
    documents: Literal["file", "line"] = "file",
    errors: Literal["strict", "replace"] = "strict",
    block_size: int = 4 << 20,
    on_bytes: Callable[[int], object] | None = None,
) -> Iterator[Block]:
    r"""Read a source as blocks of about `block_size` bytes of valid UTF-8.

    `source` is a file, a glob ("corpus/*.txt"; "**" for any depth), a folder (its visible .txt, .text and .md files at
    any depth, sorted, also as .gz or .zst), an iterable of `pathlib.Path`, or an iterable of str: the texts themselves.
    Hazard: a str is a path, a list of str is a list of texts.

    Each file, or each text of an iterable, is a document; with `documents="line"`, each of its lines with its "\n".
    Bytes stay unchanged: line ends are not translated, a byte order mark stays. Empty files and texts are no documents.
    Files of gzip and zstd are decompressed. `errors="replace"` inserts U+FFFD as `bytes.decode` does, and for each lone
    surrogate of a str. `on_bytes` is called with the number of bytes just read (on disk; for texts, in UTF-8).

    Raises `InputError` for an invalid option or text, and `CorpusError` for a file that is missing, unreadable,
    damaged, binary (Parquet, zip, images, ...) or not UTF-8, and for a folder or glob without text. Options, names, and
    the first bytes of files without a text suffix are checked at the call, everything else during iteration.

    >>> [(block.data, block.ends.tolist()) for block in read_blocks(["one text", "another"])]
    [(b'one textanother', [8, 15])]
    """
    check_reading(documents, errors)
    check_integer("block_size", block_size, 1, 1 << 40)
    files, texts = files_and_texts(source)
    if any(path.suffix.lower() == ".zst" for path in files):
        need_pyarrow()
    _check_contents(files)
    reader = _Reader(documents == "line", errors == "replace", block_size, on_bytes or (lambda _: None))
    return chain(reader.files(files), reader.texts(texts))


def check_reading(documents: object, errors: object) -> None:
    """Raise InputError for invalid options of reading."""
    check_choice("documents", documents, ("file", "line"))
    check_choice("errors", errors, ("strict", "replace"))


def _check_contents(files: Iterable[Path]) -> None:
    """Reject binary files at once, not after hours of counting; a pipe cannot be checked."""
    for path in files:
        if not names_text(path) and path.is_file():
            with open_text(path):
                pass


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reader:
    """The options of one call of `read_blocks`."""

    lines: bool
    replace: bool
    block_size: int
    on_bytes: Callable[[int], object]

    def files(self, paths: list[Path]) -> Iterator[Block]:
        # 4 bytes more than a block: one character can be held back without emptying the block.
        buffer = bytearray(self.block_size + 4 if paths else 0)
        for path in paths:
            yield from self._file(path, buffer)

    def _file(self, path: Path, buffer: bytearray) -> Iterator[Block]:
        view = memoryview(buffer)
        offset = held = 0
        with open_text(path) as stream:
            ended, reported = False, 0
            while not ended:
                filled = held + stream.fill(view[held:])
                self.on_bytes(stream.taken - reported)
                reported = stream.taken
                ended = filled < len(buffer)
                cut = filled if ended else self._cut(buffer)
                if cut:
                    yield self._block(self._checked(bytes(view[:cut]), path, offset), ended, str(path), offset)
                offset += cut
                held = filled - cut
                view[:held] = view[cut:filled]

    def texts(self, texts: Iterable[object]) -> Iterator[Block]:
        """Yield many short texts per block; long texts are cut into several blocks."""
        batch: list[str] = []
        size = first = 0
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(_not_text(text, index))
            length = len(text)
            if batch and (size >= self.block_size or length > self.block_size):
                block = self._batch(batch, first)
                batch, size = [], 0
                yield block
            if length > self.block_size:
                yield from self._long_text(text, index)
            elif batch or text:
                if not batch:
                    first = index
                batch.append(text)
                size += length
        if batch:
            yield self._batch(batch, first)

    def _batch(self, texts: list[str], first: int) -> Block:
        try:
            data = "".join(texts).encode()
        except UnicodeEncodeError:
            texts = [self._encoded(text, index, 0).decode() for index, text in enumerate(texts, first)]
            data = "".join(texts).encode()
        self.on_bytes(len(data))
        sizes = [len(text) if text.isascii() else len(text.encode()) for text in texts if text]
        ends = np.cumsum(sizes, dtype=np.int64)
        if self.lines:
            ends = np.union1d(_line_ends(data), ends)
        return Block(data, ends, f"text {first}", 0)

    def _long_text(self, text: str, index: int) -> Iterator[Block]:
        offset = 0
        for start in range(0, len(text), self.block_size):
            stop = start + self.block_size
            data = self._encoded(text[start:stop], index, start)
            self.on_bytes(len(data))
            yield self._block(data, stop >= len(text), f"text {index}", offset)
            offset += len(data)

    def _block(self, data: bytes, ended: bool, name: str, offset: int) -> Block:
        ends = _line_ends(data) if self.lines else np.empty(0, np.int64)
        if ended and not (len(ends) and ends[-1] == len(data)):
            ends = np.append(ends, np.int64(len(data)))
        return Block(data, ends, name, offset)

    def _cut(self, buffer: bytearray) -> int:
        """Return where to cut a full buffer: after its last line if lines are documents, or before its last character.

        Either bytes are held back or a document ends here, so a file's last block is never empty. The last of 4
        consecutive continuation bytes is always invalid, so a cut before it is correct too.
        """
        if self.lines and (newline := buffer.rfind(b"\n")) >= 0:
            return newline + 1
        last = len(buffer) - 1
        return next((at for at in range(last, last - 4, -1) if buffer[at] & 0xC0 != 0x80), last)

    def _checked(self, data: bytes, path: Path, offset: int) -> bytes:
        if data.isascii() or (bad := _first_invalid(data)) is None:
            return data
        if self.replace:
            return data.decode(errors="replace").encode()
        raise CorpusError(
            f"{path}: expected UTF-8, got byte 0x{data[bad]:02x} at byte {offset + bad}; "
            'errors="replace" reads it as U+FFFD'
        )

    def _encoded(self, text: str, index: int, start: int) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            if self.replace:
                return _LONE_SURROGATE.sub("\ufffd", text).encode()
            raise InputError(
                f"text {index}: expected characters, got the lone surrogate U+{ord(text[error.start]):04X} "
                f'at character {start + error.start}; errors="replace" reads it as U+FFFD'
            ) from error


def _line_ends(data: bytes) -> NDArray[np.int64]:
    return (np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1).astype(np.int64, copy=False)


def _first_invalid(data: bytes) -> int | None:
    if len(data) < STEP:  # too short for a kernel to pay off
        try:
            data.decode()
        except UnicodeDecodeError as error:
            return error.start
        return None
    from subwords.kernels.text.utf8 import first_invalid

    bad = first_invalid(np.frombuffer(data, np.uint8))
    return None if bad < 0 else bad


def _not_text(item: object, index: int) -> str:
    hint = ': for rows, pass (row["text"] for row in rows)' if isinstance(item, dict) else ""
    if isinstance(item, os.PathLike):
        hint = ": do not mix paths with texts"
    return f"text {index}: expected str, got {shown(item)}{hint}"
