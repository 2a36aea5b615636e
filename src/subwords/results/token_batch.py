"""TokenBatch: the ids of many texts in one flat array."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.support.value import Value, read_only

__all__ = ["TokenBatch"]


@dataclass(frozen=True, eq=False)
class TokenBatch(Value, Sequence[NDArray[np.uint32]]):
    """The ids of many texts: text i has ids[offsets[i]:offsets[i + 1]].

    ids: uint32, all texts joined. offsets: int64, shape (texts + 1,).

    >>> import subwords
    >>> batch = subwords.train(["ab ab"], vocab_size=257).encode_batch(["ab", "", "abab"])
    >>> batch.to_lists(), batch.offsets.tolist()
    ([[256], [], [256, 256]], [0, 1, 1, 3])
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", read_only(self.ids))
        object.__setattr__(self, "offsets", read_only(self.offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: SupportsIndex) -> NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, index: slice) -> TokenBatch: ...
    def __getitem__(self, index: SupportsIndex | slice) -> NDArray[np.uint32] | TokenBatch:
        """Return the ids of one text, or a batch of the texts of a slice."""
        if isinstance(index, slice):
            return self._sliced(index)
        try:
            at = operator.index(index)
        except TypeError:
            raise InputError(f"expected a text number or a slice, not {type(index).__name__}") from None
        if not -len(self) <= at < len(self):
            raise IndexError(f"expected an index below {len(self)}, not {at}")
        at %= len(self)
        return self.ids[self.offsets[at] : self.offsets[at + 1]]

    def _sliced(self, part: slice) -> TokenBatch:
        start, stop, step = part.indices(len(self))
        if step == 1:
            bounds = self.offsets[start : max(start, stop) + 1]
            return TokenBatch(self.ids[bounds[0] : bounds[-1]], bounds - bounds[0])
        rows = [self[i] for i in range(start, stop, step)]
        ids = np.concatenate([np.zeros(0, np.uint32), *rows])
        return TokenBatch(ids, np.cumsum([0, *map(len, rows)], dtype=np.int64))

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self.ids[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False))

    def to_lists(self) -> list[list[int]]:
        """Return one list of ids per text."""
        flat, bounds = self.ids.tolist(), self.offsets.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> TokenBatch:
        """Return the batch of a list of ids per text."""
        ids = np.array([i for row in lists for i in row], np.uint32)
        return cls(ids, np.cumsum([0, *map(len, lists)], dtype=np.int64))

    @classmethod
    def join(cls, parts: Sequence[TokenBatch]) -> TokenBatch:
        """Join several batches into one, in order."""
        if not parts:
            return cls(np.zeros(0, np.uint32), np.zeros(1, np.int64))
        if any(not isinstance(part, TokenBatch) for part in parts):
            raise InputError("expected a sequence of TokenBatch")
        shifts = np.cumsum([0, *(len(part.ids) for part in parts)])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(np.concatenate([part.ids for part in parts]), np.concatenate([np.zeros(1, np.int64), *offsets]))
