"""TokenBatch: the ids of many texts, flat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError

__all__ = ["TokenBatch"]


@dataclass(frozen=True, eq=False)
class TokenBatch(Sequence[NDArray[np.uint32]]):
    """Ids of many texts: text i has ids[offsets[i]:offsets[i + 1]].

    ids: uint32, all texts joined. offsets: int64, shape (texts + 1,).

    >>> import subwords
    >>> batch = subwords.train(["ab ab"], vocab_size=257).encode_batch(["ab", "", "abab"])
    >>> batch.to_lists(), batch.offsets.tolist()
    ([[256], [], [256, 256]], [0, 1, 1, 3])
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.uint32]:  # type: ignore[override]
        if not -len(self) <= index < len(self):
            raise IndexError(f"expected an index below {len(self)}, not {index}")
        index %= len(self)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self.ids[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False))

    def to_lists(self) -> list[list[int]]:
        """Return a list of ids for each text."""
        flat, bounds = self.ids.tolist(), self.offsets.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> TokenBatch:
        """Return the batch of a list of ids for each text."""
        ids = np.array([i for row in lists for i in row], np.uint32)
        return cls(ids, np.cumsum([0, *map(len, lists)], dtype=np.int64))

    @classmethod
    def join(cls, parts: Sequence[TokenBatch]) -> TokenBatch:
        """Return one batch of the texts of several, in order."""
        if not parts:
            return cls(np.zeros(0, np.uint32), np.zeros(1, np.int64))
        if any(not isinstance(part, TokenBatch) for part in parts):
            raise InputError("expected a sequence of TokenBatch")
        shifts = np.cumsum([0, *(len(part.ids) for part in parts)])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(np.concatenate([part.ids for part in parts]), np.concatenate([np.zeros(1, np.int64), *offsets]))
