"""The documents of several token files as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.sinks.token_file import TokenFile

__all__ = ["Shards"]


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
