"""Groups: the documents of a corpus by a column of its rows, or by the file they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from subwords.corpus.blocks import Block
from subwords.corpus.read import kind_of_file, read_blocks
from subwords.corpus.reading import Reading, Tally
from subwords.corpus.source import Source, describe_value, files_and_texts
from subwords.support.errors import CorpusError, InputError, readable

BY_FILE = "file"  # in place of the name of a column
ROOM_BYTES = 1 << 24  # bytes of text of all groups in memory
LINES = 1 << 22  # bytes of rows of JSON read at once

Row = tuple[str, bytes]


def grouped_blocks(
    source: Source, by: str, reading: Reading, *, block_size: int, on_bytes: Callable[[int], object], tally: Tally
) -> Iterator[tuple[str, Iterator[Block]]]:
    """Yield the name of a group and blocks of its next documents, again and again, in the order of each group.

    by: the field or column of rows that names the group, as text or an integer; "file" for one group per file, named
    by the file without its suffixes (by its path, if two are alike). Each blocks iterator is for immediate use.
    Raises InputError and CorpusError as `read_blocks`, and for rows that name no group.
    """
    options: Any = {"block_size": block_size, "tally": tally}
    if by == BY_FILE:
        files = files_and_texts(source)[0]
        if not files:
            raise InputError('by="file" needs a corpus of files: pass paths, or a dict of corpora by group')
        for name, path in zip(_group_names(files), files, strict=True):
            yield name, read_blocks(path, reading, on_bytes=on_bytes, **options)
        return
    waiting, size = dict[str, list[str]](), 0
    for group, text in _grouped_rows(source, by, reading, on_bytes, tally):
        waiting.setdefault(group, []).append(text.decode())
        size += len(text)
        if size >= ROOM_BYTES:
            for name, texts in waiting.items():
                yield name, read_blocks(iter(texts), reading, **options)
            waiting, size = {}, 0
    for name, texts in waiting.items():
        yield name, read_blocks(iter(texts), reading, **options)


def _group_names(files: list[Path]) -> list[str]:
    stems = [path.name.partition(".")[0] or path.name for path in files]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in files]


def _grouped_rows(
    source: Source, by: str, reading: Reading, on_bytes: Callable[[int], object], tally: Tally
) -> Iterator[Row]:
    from subwords.corpus.columns import csv_rows, file_rows, is_table, source_rows

    names = (reading.text_column, by)
    if is_table(source):
        for place, row in source_rows(source, names, reading, tally, on_bytes, needed=2):
            yield from _of_row(row, place, by, reading, tally)
        return
    files, texts = files_and_texts(source)
    for path in files:
        kind = kind_of_file(path)
        if kind == "text":
            raise InputError(
                f"{path}: by={by!r} needs rows (JSON Lines, Parquet, Arrow), not a text file; "
                'by="file" makes each file a group'
            )
        rows: Iterator[tuple[object, Any]]
        if kind == "csv":
            rows = csv_rows(path, reading, tally, LINES, on_bytes)
        else:
            rows = file_rows(path, kind, names, reading, tally, on_bytes, needed=2)
        for place, row in rows:
            yield from _of_row(row, place, by, reading, tally)
    for index, row in enumerate(texts):
        if not isinstance(row, dict):
            raise InputError(f"text {index}: by={by!r} needs rows, expected a dict, got {describe_value(row)}")
        yield from _of_row(row, f"row {index}", by, reading, tally)


def _of_row(row: Any, place: object, by: str, reading: Reading, tally: Tally) -> Iterator[Row]:
    from subwords.corpus.columns import decode_row

    if isinstance(row, dict) and isinstance(text := row.get(reading.text_column), bytes):
        # Invalid UTF-8 becomes lone surrogates, which `decode_row` treats as the options say.
        row[reading.text_column] = text.decode("utf-8", "surrogateescape")
    found = decode_row(row, place, reading, tally)
    group = row.get(by) if isinstance(row, dict) else None
    if isinstance(group, str) or (isinstance(group, int) and not isinstance(group, bool)):
        yield str(group), found
    elif isinstance(row, dict):
        came = f"{group!r:.40}" if by in row else f"no such field; it has {', '.join(map(repr, list(row)[:20]))}"
        if reading.errors != "skip":
            raise CorpusError(
                f'{place}: expected the name of a group in field {by!r}, got {came}; by="file" groups by file'
            )
        tally.refused(f"{place}: {came}", reading.errors)


# ---------------------------------------------------------------------------------------------------------------------
# Gold files: words with their morphemes.


def read_gold(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return words and their morphemes from lines of `word TAB mor pheme s`; CorpusError for any other line."""
    with readable(path, CorpusError):
        data = path.read_bytes()
    found = list[tuple[str, tuple[str, ...]]]()
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: expected UTF-8, got byte 0x{data[error.start]:02x} at {error.start}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        word, _, rest = line.partition("\t")
        parts = tuple(rest.split(" "))
        if "".join(parts) != word or not all(parts):
            raise CorpusError(
                f"{path}, line {number}: expected a word, a tab, and its morphemes with single spaces between, which "
                f"join to the word; found {line!r:.80}"
            )
        found.append((word, parts))
    if not found:
        raise CorpusError(f"{path}: expected words with their morphemes, found none")
    return found
