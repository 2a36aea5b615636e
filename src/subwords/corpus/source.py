"""Resolves a source: files, folders and globs, or the texts themselves."""

from __future__ import annotations

import errno
import glob
import io
import operator
import os
import re
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, SupportsIndex, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from subwords.support.checks import encode_text
from subwords.support.errors import CorpusError, InputError, SubwordsWarning, missing, readable, unreadable
from subwords.support.files import is_remote, names_place, place_of

Source: TypeAlias = str | os.PathLike[str] | Iterable[str] | Iterable[os.PathLike[str]] | Mapping[bytes, int] | BinaryIO

_PACKED = r"(\.gz|\.zst|\.bz2)?\Z"
_TEXT_NAME = re.compile(rf".\.(txt|text|md){_PACKED}", re.IGNORECASE | re.DOTALL)
_ROWS_NAME = re.compile(rf".\.(jsonl|ndjson){_PACKED}", re.IGNORECASE | re.DOTALL)
_MANGLED = re.compile(r"[a-z0-9]{2,}:/[^/]")  # pathlib.Path("s3://bucket") is s3:/bucket
_CSV_NAME = re.compile(rf".\.(csv|tsv){_PACKED}", re.IGNORECASE | re.DOTALL)
_TABLE_NAME = re.compile(r".\.(parquet|arrow)\Z", re.IGNORECASE | re.DOTALL)


def source_size(source: Source) -> int | None:
    """Return the size in bytes on disk of a file, folder, glob or list of paths; None if unknown (texts, pipes).

    Raises `CorpusError` as `read_blocks` does.

    >>> source_size(["a text"]) is None
    True
    """
    if not (isinstance(source, str | list | tuple) or names_place(source)):
        return None  # reading an iterator would consume it
    files, _ = files_and_texts(source)
    try:
        stats = [path.stat() for path in files]
    except OSError as error:
        raise unreadable(CorpusError, f"{error.filename}: cannot read file: {error.strerror}", error) from error
    if not files or not all(stat.S_ISREG(entry.st_mode) for entry in stats):
        return None
    return sum(entry.st_size for entry in stats)


def check_there(source: object) -> None:
    """Raise CorpusError for paths of a source that do not exist: more useful than an error of other options."""
    if isinstance(source, str) or names_place(source):
        files_and_texts(cast(str, source))
    elif isinstance(source, list | tuple) and all(map(names_place, source)):
        files_and_texts(source)


def is_stream(source: object) -> TypeGuard[BinaryIO]:
    """Whether a source is an open file of bytes, such as standard input."""
    return isinstance(source, io.RawIOBase | io.BufferedIOBase)


def files_and_texts(source: Source) -> tuple[list[Path], Iterable[object]]:
    """Return the files of a source, or its texts; the other of the two is empty."""
    if isinstance(source, str) or names_place(source):
        return _files_at(cast(str, source)), ()
    if isinstance(source, bytes | bytearray | dict) or not isinstance(source, Iterable):
        raise InputError(
            f"source: expected a path, or an iterable of str or of pathlib.Path, got {describe_value(source)}"
        )
    if isinstance(source, list | tuple) and source and all(_names_file(item) for item in source):
        raise InputError(
            f"source: each of the {len(source)} texts is the name of an existing file, such as {source[0]!r}; "
            "pass pathlib.Path objects to read the files, or iter(texts) if these names are the text"
        )
    if isinstance(source, list | tuple) and source and all(_names_object(item) for item in source):
        raise InputError(
            f"source: each of the {len(source)} texts is a URL, such as {source[0]!r:.200}; "
            "pass upath.UPath objects to read the files, or iter(texts) if these URLs are the text"
        )
    items: Iterator[object] = iter(source)
    first = list(islice(items, 1))
    if not first or not names_place(first[0]):
        return [], chain(first, items)
    files: list[Path] = []
    for index, item in enumerate(chain(first, items)):
        if not names_place(item):
            raise InputError(
                f"source: expected paths only, got {describe_value(item)} at item {index}; do not mix paths and texts"
            )
        files += _files_at(cast(str, item))
    return files, ()


def _files_at(source: str | os.PathLike[str]) -> list[Path]:
    if is_remote(source):
        return _objects_at(place_of(cast(str, source)))
    name = os.fspath(place_of(source) if not isinstance(source, str) or source.startswith("file://") else source)
    path = Path(name)
    try:
        if name and path.is_dir():
            return _files_below(path)
        if name and path.exists():
            return [path]
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:  # usually a text instead of a name: reported below
            raise unreadable(CorpusError, f"{name}: cannot read file or folder: {error.strerror}", error) from error
    # Path.glob does not support absolute patterns.
    found = sorted(Path(match) for match in glob.glob(name, recursive=True))  # noqa: PTH207
    files = [match for match in found if not match.is_dir()]
    if not files:
        what = "matches the glob" if glob.has_magic(name) else "or folder"
        hint = "; a str is a path; to pass a text, use a list: [text]" if isinstance(source, str) else ""
        if _MANGLED.match(name):
            hint = "; a URL is a str or a upath.UPath, not a pathlib.Path"
        raise missing(CorpusError, f"no file {what} {name!r:.300}{hint}", name)
    return files


def _files_below(folder: Path) -> list[Path]:
    files: list[Path] = []

    def refuse(error: OSError) -> None:
        raise CorpusError(f"{error.filename}: cannot read folder: {error.strerror}") from error

    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(here, name) for name in names if not name.startswith(".")]
    return _corpus_of(files, folder)


def _objects_at(place: Any) -> list[Path]:
    """Return the files of a URL: an object, those below a folder, or those that match."""
    with readable(place, CorpusError, f"{place}: cannot read file or folder"):
        if place.is_file():
            return [place.seen()]
        if place.is_dir():
            return _corpus_of(place.files_below(), place)
        files: list[Path] = place.matches() if glob.has_magic(str(place)) else []
        if not files:
            place.check_bucket()
    if not files:
        what = "no object matches the glob" if glob.has_magic(str(place)) else "no such object or folder"
        raise missing(CorpusError, f"{place}: {what}: check the name", place)
    return files


def _corpus_of(files: list[Path], folder: Path) -> list[Path]:
    """Return the files of a folder that are its corpus: those of rows, or if it has none, of text, or else of CSV.

    Warns of files of the kinds that come later, which are not read; a .md file beside rows is about them.
    """
    kinds = (lambda path: names_rows(path) or names_table(path)), names_text, names_csv
    found: list[Path] = []
    unread: list[Path] = []
    for is_named in kinds:
        named = sorted(path for path in files if is_named(path) and path.is_file())
        if found:
            unread += [path for path in named if ".md" not in path.name.lower()]
        else:
            found = named
    if unread:
        warnings.warn(
            f"{folder}: {len(unread)} of its files, such as {unread[0].name}, are not read: those like {found[0].name} "
            "come first, and a folder is read for one kind of file; select the others with a glob",
            SubwordsWarning,
            stacklevel=2,
        )
    if not found:
        raise CorpusError(
            f"{folder}: no corpus in this folder: expected visible files at any depth, .txt, .text, .md, .jsonl, "
            ".ndjson, .csv or .tsv, also as .gz, .zst or .bz2, or .parquet or .arrow; select other files with a glob"
        )
    return found


def names_text(path: Path) -> bool:
    """Whether a file's name has a suffix of text files, plain or compressed."""
    return _TEXT_NAME.search(path.name) is not None


def names_rows(path: Path) -> bool:
    """Whether a file's name has a suffix of JSON Lines, plain or compressed."""
    return _ROWS_NAME.search(path.name) is not None


def names_csv(path: Path) -> bool:
    """Whether a file's name has the suffix of a table of text with a header, plain or compressed."""
    return _CSV_NAME.search(path.name) is not None


def names_table(path: Path) -> bool:
    """Whether a file's name has the suffix of Parquet or Arrow."""
    return _TABLE_NAME.search(path.name) is not None


def _names_object(item: object) -> bool:
    """Whether a text is the URL of an object store: a corpus may be of URLs of the web."""
    return isinstance(item, str) and is_remote(item) and not item.startswith(("http:", "https:")) and " " not in item


def _names_file(item: object) -> bool:
    try:
        return isinstance(item, str) and Path(item).is_file()
    except OSError:
        return False


def describe_value(item: object) -> str:
    """Return the type and the start of a value, for a message."""
    return f"{type(item).__name__} {item!r:.60}"


# ---------------------------------------------------------------------------------------------------------------------
# Texts and words that are given with their counts, as a dict or Counter.


def decode_text(key: str | bytes) -> str:
    """Return a text that may be given in UTF-8."""
    try:
        return key if isinstance(key, str) else key.decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(f"expected texts in UTF-8, not {key!r:.60}: byte {error.start} is 0x{byte:02x}") from None


def times_of(key: object, value: object) -> int:
    """Return how often a text or word occurs; InputError unless it is an integer of at least 0."""
    try:
        times = operator.index(cast(SupportsIndex, value))
    except TypeError:
        times = -1
    if times < 0 or isinstance(value, bool):
        raise InputError(
            f"source: expected a dict of texts and their counts, {{'a text': 5}}, not {key!r:.60}: {value!r:.60}"
        )
    return times


def words_and_counts(
    words: Mapping[str, int] | Mapping[bytes, int], removed: AbstractSet[bytes]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]:
    """Return words as the arrays of `WordCounts`, without those of count 0 and those in `removed`."""
    if not isinstance(words, Mapping):
        raise InputError(f"expected a dict of words and their counts, not {type(words).__name__} {words!r:.60}")
    found = dict[bytes, int]()
    for key, value in words.items():
        if not isinstance(key, str | bytes):
            raise InputError(f"expected words as str or bytes, not {type(key).__name__} {key!r:.60}")
        if not key:
            raise InputError("expected words of at least one character: an empty word has no tokens")
        word, times = encode_text(key) if isinstance(key, str) else key, times_of(key, value)
        if times and word not in removed:
            found[word] = found.get(word, 0) + times  # the same word may be given as str and as bytes
    if (total := sum(found.values())) >= 1 << 63:
        raise InputError(f"too many words: expected a total below 2**63, not {total}")
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([*map(len, found)], dtype=np.int64)])
    return np.frombuffer(b"".join(found), np.uint8), offsets, np.array([*found.values()], np.uint64)
