"""Vocab: the bytes of every token, as two flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.support.value import Value, read_only

__all__ = ["Vocab"]


class Vocab(Value, Sequence[bytes]):
    """Token bytes by id, immutable.

    data[offsets[i]:offsets[i + 1]] are the bytes of id i (uint8, padded by 64 bytes; int64); an id without a token has
    0 bytes.

    >>> from subwords.components.vocab import Vocab
    >>> vocab = Vocab([b"a", b"b", b"ab"])
    >>> vocab[2], vocab.ids[b"ab"]
    (b'ab', 2)
    """

    __slots__ = ("data", "offsets")

    def __init__(self, tokens: Sequence[bytes] | bytes, offsets: NDArray[np.int64] | None = None) -> None:
        """Take the bytes of every token, or all bytes concatenated and the offsets of the tokens."""
        if offsets is None:
            lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))  # type: ignore[arg-type]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            tokens = b"".join(tokens)  # type: ignore[arg-type]
        self.offsets = read_only(offsets)
        self.data = np.frombuffer(bytes(tokens) + bytes(64), np.uint8)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[type[Vocab], tuple[bytes, NDArray[np.int64]]]:
        return Vocab, (self.data[: self.offsets[-1]].tobytes(), self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise InputError(f"expected an id from 0 to {len(self) - 1}, not {index}")
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        return (data[a:b] for a, b in pairwise(bounds))

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """The id of every token; the smallest one if several ids have the same bytes."""
        found = dict(zip(self, range(len(self)), strict=True))
        if len(found) < len(self):
            found = {}
            for index, token in enumerate(self):
                found.setdefault(token, index)
        return found
