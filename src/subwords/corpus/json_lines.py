"""Reads JSON Lines: the text of one field of each row, by a kernel; rows that it cannot decide one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.blocks import Block, blocks_of, first_invalid
from subwords.corpus.contents import BOM
from subwords.corpus.lines import whole_lines
from subwords.corpus.reading import LONE_SURROGATE, Reading, Tally
from subwords.kernels import layout
from subwords.support.threads import streamed

__all__ = ["json_blocks", "loaded_row", "row_text"]


def json_blocks(
    path: Path,
    reading: Reading,
    tally: Tally,
    size: int,
    on_bytes: Callable[[int], object],
    part: tuple[int, int] | None = None,
    threads: int = 1,
) -> Iterator[Block]:
    """Yield the texts of a file of rows, or of the rows that begin within a part of it, in bytes."""
    before = 0

    def parsed(lines: tuple[bytes, int]) -> tuple[memoryview, NDArray[np.int64], Tally]:
        data, offset = lines
        found = Tally()
        text, ends = _texts(data.removeprefix(BOM) if offset == 0 else data, path, offset, reading, found)
        return text, ends, found

    lines = whole_lines(path, size, on_bytes, part)
    with closing(streamed(parsed, lines, threads, window=threads + 1)) as texts:
        for text, ends, found in texts:
            tally.add(found)
            yield from blocks_of(text, ends, str(path), before, size, tally)
            before += len(text)


def _texts(
    data: bytes, path: Path, offset: int, reading: Reading, tally: Tally
) -> tuple[memoryview, NDArray[np.int64]]:
    """Return the texts of rows, one after the other, and where each ends."""
    from subwords.kernels.named import field_texts

    if first_invalid(data) is not None:
        return _row_by_row(data, path, offset, reading, tally)
    out, ends = np.empty(len(data) + layout.LANES, np.uint8), np.empty(data.count(b"\n") + 1, np.int64)
    counters, text = np.zeros(3, np.int64), out.data
    rows, name = np.frombuffer(data, np.uint8), np.frombuffer(reading.text_column.encode(), np.uint8)
    while field_texts(rows, name, out, ends, counters) != layout.DONE:
        at, written, count = counters.tolist()
        stop = data.find(b"\n", at) + 1 or len(data)
        found = _row(data[at:stop], f"{path}: row at byte {offset + at}", reading, tally)
        text[written : written + len(found)] = found
        ends[count] = written + len(found)
        counters[:] = stop, written + len(found), count + 1
    return text[: counters[layout.JSON_ROW.written]], ends[: counters[layout.JSON_ROW.width]]


def _row_by_row(
    data: bytes, path: Path, offset: int, reading: Reading, tally: Tally
) -> tuple[memoryview, NDArray[np.int64]]:
    texts = list[bytes]()
    for line in data.split(b"\n"):
        if line.strip():
            texts.append(_row(line, f"{path}: row at byte {offset}", reading, tally))
        offset += len(line) + 1
    return memoryview(b"".join(texts)), np.cumsum([len(text) for text in texts], dtype=np.int64)


def _row(line: bytes, place: str, reading: Reading, tally: Tally) -> bytes:
    """Return the text of a row, b"" if it is left out."""
    found = loaded_row(line, place, reading, tally)
    if found is None:
        return b""
    row, damaged = found
    counted = Tally()
    result = row_text(row, place, reading, counted)
    if not damaged:
        tally.add(counted)
    return result


def loaded_row(line: bytes, place: str, reading: Reading, tally: Tally) -> tuple[Any, bool] | None:
    """Return a row, and whether bytes of it were replaced; None if it is left out."""
    damaged = False
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        tally.refused(f"{place}: expected UTF-8, got byte 0x{line[error.start]:02x}", reading.errors)
        if reading.errors == "skip":
            return None
        text, damaged = line.decode(errors="replace"), True
    try:
        return json.loads(text), damaged
    except (ValueError, RecursionError) as error:
        if not damaged:
            tally.refused(f"{place}: expected a JSON object, {error!s:.80}", reading.errors)
        return None


def row_text(row: Any, place: str, reading: Reading, tally: Tally) -> bytes:
    """Return the text of a row in UTF-8, b"" if it has none and may be without."""
    field = reading.text_column
    text = row.get(field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        if not isinstance(row, dict):
            came = f"an object, found {type(row).__name__}"
        elif field in row:
            came = f"text in field {field!r}, found {json.dumps(text, default=str):.40}"
        else:
            fields = ", ".join(map(repr, list(row)[:20])) or "none"
            came = f"a field {field!r}, found {fields}; text_column names another"
        tally.refused(f"{place}: expected {came}", reading.errors)
        return b""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        tally.refused(f"{place}: expected characters, got the lone surrogate {code}", reading.errors)
        return b"" if reading.errors == "skip" else LONE_SURROGATE.sub("\ufffd", text).encode()
