"""Files, folders, globs and texts as blocks of valid UTF-8, holding no more than a few blocks in memory."""

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

__all__ = ["Block", "read_blocks"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some consecutive UTF-8 text: a part of one document, or many documents one after the other.

    `data` is never empty and is cut between characters. `ends` (int64, strictly ascending, possibly empty) are the
    offsets in `data` just behind each document that ends in this block; what follows the last of them goes on in the
    next block. The last block of a source always has `ends[-1] == len(data)`.
    `name` is the file's name or "text 12": the place, from 0, of the first text in the iterable. `offset` is where
    `data` begins in the decompressed file, or in the UTF-8 form of that text.
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

    Each file, or each text of an iterable, is a document; with `documents="line"` each of its lines is, "\n" included.
    Bytes are kept as they are: line ends are not translated, a byte order mark stays. What is empty gives no document.
    Files of gzip and zstd are decompressed. `errors="replace"` puts U+FFFD where `bytes.decode` does, and for
    each lone surrogate of a str. `on_bytes` is called with the number of bytes just read (on disk; of texts, in UTF-8).

    Raises `InputError` for an option or a text that cannot be used, `CorpusError` for files: missing, unreadable,
    damaged, not text (Parquet, zip, images, ...), not UTF-8, a folder or glob without text. Options, names, and the
    first bytes of files that are not named as text are checked at the call, the rest when reached.

    >>> [(block.data, block.ends.tolist()) for block in read_blocks(["one text", "another"])]
    [(b'one textanother', [8, 15])]
    """
    check_choice("documents", documents, ("file", "line"))
    check_choice("errors", errors, ("strict", "replace"))
    check_integer("block_size", block_size, 1, 1 << 40)
    files, texts = files_and_texts(source)
    if any(path.suffix.lower() == ".zst" for path in files):
        need_pyarrow()
    _check_contents(files)
    reader = _Reader(documents == "line", errors == "replace", block_size, on_bytes or (lambda _: None))
    return chain(reader.files(files), reader.texts(texts))


def _check_contents(files: Iterable[Path]) -> None:
    """Refuse at once, not after hours of counting, what is not text; a pipe cannot be looked into."""
    for path in files:
        if not names_text(path) and path.is_file():
            with open_text(path):
                pass


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reader:
    """The options of one reading."""

    lines: bool
    replace: bool
    block_size: int
    on_bytes: Callable[[int], object]

    def files(self, paths: list[Path]) -> Iterator[Block]:
        # 4 bytes more than a block: one character can be held back and something is left to hand on.
        buffer = bytearray(self.block_size + 4 if paths else 0)
        for path in paths:
            yield from self._file(path, buffer)

    def _file(self, path: Path, buffer: bytearray) -> Iterator[Block]:
        view = memoryview(buffer)
        offset = held = 0
        with open_text(path) as stream:
            ended, told = False, 0
            while not ended:
                filled = held + stream.fill(view[held:])
                told, before = stream.taken, told
                self.on_bytes(told - before)
                ended = filled < len(buffer)
                cut = filled if ended else self._cut(buffer)
                if cut:
                    yield self._block(self._checked(bytes(view[:cut]), path, offset), ended, str(path), offset)
                offset += cut
                held = filled - cut
                view[:held] = view[cut:filled]

    def texts(self, texts: Iterable[object]) -> Iterator[Block]:
        """Small texts many to a block, a long one in pieces."""
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
        """Where to cut a full buffer: behind its last line where lines are documents, else before its last character.

        Something is held back or a document ends here, so that a file's last block is never an empty one. After 4
        continuation bytes in a row the last of them is an error of its own, whatever comes before: a sound cut as well.
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
    if len(data) < STEP:  # not worth a kernel
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
