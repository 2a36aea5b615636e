"""The description of a token format: its files, the types of its ids, its writer and its reader."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from subwords.sinks.token_file import TokenFile

__all__ = ["Append", "Sums", "TokenFormat"]

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
    None). files(path): all files that writing makes, the ids first.
    """

    name: str
    suffix: str
    dtypes: tuple[str, ...]
    write: Callable[[Path, np.dtype[Any], Sums], AbstractContextManager[Append]]
    read: Callable[[Path, np.dtype[Any] | None], TokenFile]
    files: Callable[[Path], tuple[Path, ...]]
    most: int | None = None

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
