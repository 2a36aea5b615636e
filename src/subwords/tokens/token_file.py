"""TokenFile: the ids of the documents of a file, read in place."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from subwords.support.errors import FormatError, InputError, readable

# Where document i begins and ends in the ids.
Bounds = Callable[[int], tuple[int, int]]


def place(index: SupportsIndex, documents: int) -> int:
    """Return the number of a document, counted from 0; a negative index counts from the end."""
    try:
        at = operator.index(index)
    except TypeError:
        raise InputError(f"expected the number of a document, not {type(index).__name__}") from None
    if not -documents <= at < documents:
        raise IndexError(f"expected a document below {documents}, not {at}")
    return at % documents


class TokenFile(Sequence[NDArray[Any]]):
    """The documents of a token file: `file[i]` is the array of ids of document i, `file[i:j]` are several documents.

    It has `len` and indices, so it is a map-style dataset for PyTorch's DataLoader. A pickle holds the path and how to
    open it, no ids. path, format. dtype: of an id in the file. num_tokens: the number of all ids.
    """

    path: Path
    format: str
    dtype: np.dtype[Any]
    num_tokens: int
    _call: tuple[Callable[..., TokenFile], tuple[object, ...]]

    @abstractmethod
    def document(self, at: int) -> NDArray[Any]:
        """Return the ids of one document; 0 <= at < len(self)."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> TokenFile: ...
    def __getitem__(self, index: SupportsIndex | slice) -> NDArray[Any] | TokenFile:
        """Return the ids of one document; -1 is the last. A slice returns its documents, which are read when asked."""
        if isinstance(index, slice):
            return DocumentSlice(self, index)
        return self.document(place(index, len(self)))

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return map(self.document, range(len(self)))

    def __repr__(self) -> str:
        kind = f"{self.format}, {self.dtype}, {len(self)} documents, {self.num_tokens} ids"
        return f"{type(self).__name__}({str(self.path)!r}, {kind})"

    def opened_by(self, function: Callable[..., TokenFile], *arguments: object) -> TokenFile:
        """Note the call that opens this file again, for pickles, and return it."""
        self._call = function, arguments
        return self

    def __reduce__(self) -> tuple[Callable[..., TokenFile], tuple[object, ...]]:
        return self._call


class DocumentSlice(TokenFile):
    """Some documents of a token file, by a slice."""

    def __init__(self, whole: TokenFile, chosen: slice) -> None:
        try:
            self._places = range(len(whole))[chosen]
        except (TypeError, ValueError) as error:
            raise InputError(f"expected a slice of numbers of documents, not {chosen}: {error}") from None
        self._whole = whole
        self.path, self.format, self.dtype = whole.path, whole.format, whole.dtype
        self.opened_by(DocumentSlice, whole, chosen)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def num_tokens(self) -> int:  # type: ignore[override]
        """The number of all ids: each document is read for it."""
        return sum(map(len, self))

    def document(self, at: int) -> NDArray[Any]:
        """Return the ids of one document."""
        return self._whole.document(self._places[at])

    def __repr__(self) -> str:
        return f"Part({len(self)} documents of {self._whole!r})"


class MappedFile(TokenFile):
    """A token file whose ids are mapped, not loaded: `file[i]` is a part of `file.ids`, without a copy.

    A file without boundaries of documents is one document.
    """

    def __init__(self, path: Path, form: str, ids: NDArray[Any], documents: int, bounds: Bounds) -> None:
        self.path = path
        self.format = form
        self.ids = ids
        self.dtype = ids.dtype
        self.num_tokens = len(ids)
        self._documents = documents
        self._bounds = bounds

    def __len__(self) -> int:
        return self._documents

    def document(self, at: int) -> NDArray[Any]:
        """Return the ids of one document, without a copy."""
        start, stop = self._bounds(at)
        if not 0 <= start <= stop <= len(self.ids):
            raise FormatError(
                f"{self.path}: expected document {at} within the {len(self.ids)} ids of the file, found it at "
                f"{start} to {stop}: the file is damaged, or its index belongs to another"
            )
        return self.ids[start:stop]


def by_offsets(offsets: NDArray[Any]) -> Bounds:
    """Return bounds by the starts of documents and the end of the last."""
    return lambda i: (int(offsets[i]), int(offsets[i + 1]))


def mapped(path: Path, dtype: Any, *, offset: int = 0, count: int | None = None) -> NDArray[Any]:
    """Return numbers of a file, mapped: `count` of them from a byte on, or all that follow.

    FormatError if the file is too short or ends within a number; InputError if it cannot be read.
    """
    kind = np.dtype(dtype)
    with readable(path):
        size = path.stat().st_size - offset
    if count is None:
        if size < 0 or size % kind.itemsize:
            raise FormatError(f"{path}: expected numbers of {kind.itemsize} bytes ({kind}), found {size} bytes")
        count = size // kind.itemsize
    elif not 0 <= count <= size // kind.itemsize:
        raise FormatError(
            f"{path}: expected {count} numbers ({kind}) from byte {offset} on, found {max(0, size)} bytes"
        )
    if not count:
        return np.zeros(0, kind)
    with readable(path):
        return np.memmap(path, kind, "r", offset, (count,))


# ---------------------------------------------------------------------------------------------------------------------
# The description of a token format: its files, the types of its ids, its writer and its reader.

# Takes consecutive ids, and where documents end in them: the fields of a `TokenBlock`.
Append = Callable[["NDArray[Any]", "NDArray[np.int64]"], None]
# The SHA-256 of files.
Sums = dict[Path, str]


@dataclass(frozen=True)
class TokenFormat:
    """A token format.

    dtypes: the types an id may have, the smallest first. most: the largest vocabulary for the smallest of them, if it
    is not all that the type holds. write(path, dtype, sums): a context that yields an `Append`; its files appear when
    it ends, and then sums has the checksums of those that were summed while they were written. read(path, dtype or
    None). files(path): all files that writing makes, the ids first. marked: whether ids come with marks, as `MASKED`.
    """

    name: str
    suffix: str
    dtypes: tuple[str, ...]
    write: Callable[[Path, np.dtype[Any], Sums], AbstractContextManager[Append]]
    read: Callable[[Path, np.dtype[Any] | None], TokenFile]
    files: Callable[[Path], tuple[Path, ...]]
    most: int | None = None
    marked: bool = False

    def dtype_for(self, vocab_size: int, asked: str | None = None) -> np.dtype[Any]:
        """Return the type of an id; InputError if the format has no such type, or it cannot hold the vocabulary."""
        if asked is not None and asked not in self.dtypes:
            raise InputError(f"format {self.name} holds ids as {' or '.join(self.dtypes)}, not as {asked!r:.40}")
        for name in (asked,) if asked else self.dtypes:
            holds = int(np.iinfo(name).max) + 1
            if self.most is not None and name == self.dtypes[0] and not asked:
                holds = min(holds, self.most)
            if vocab_size <= holds:
                return np.dtype(name).newbyteorder("<")
        widest = asked or self.dtypes[-1]
        raise InputError(f"{widest} holds ids below {int(np.iinfo(widest).max) + 1}; the vocabulary has {vocab_size}")


# ---------------------------------------------------------------------------------------------------------------------
# The documents of several token files as one.


class Shards(TokenFile):
    """The documents of several token files of one format, in their order."""

    def __init__(self, path: Path, files: Sequence[TokenFile], form: str, dtype: np.dtype[Any]) -> None:
        self.path = path
        self.format = form
        self.dtype = dtype
        self.files = tuple(files)
        self._firsts = np.cumsum([0, *map(len, files)])

    @property
    def num_tokens(self) -> int:  # type: ignore[override]
        """The number of all ids."""
        return sum(file.num_tokens for file in self.files)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def document(self, at: int) -> NDArray[Any]:
        """Return the ids of one document."""
        file = int(np.searchsorted(self._firsts, at, "right")) - 1
        return self.files[file].document(at - int(self._firsts[file]))
