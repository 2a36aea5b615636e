"""Ids to bytes, for every model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.errors import InputError
from subwords.kernels import layout

__all__ = ["as_ids", "decode_bytes", "joined", "size_of"]


def decode_bytes(vocab: Vocab, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bytes:
    """Return the joined token bytes of the ids."""
    flat, spans = as_ids(ids), vocab.spans
    size = size_of(flat, spans)
    assert size is not None, "no flags"
    return joined(flat, size, spans, vocab.data).tobytes()


def size_of(ids: NDArray[np.int64], spans: NDArray[np.int64]) -> int | None:
    """Return the number of bytes of ids, see `kernels/text/decode.py`; None if a break separates single bytes."""
    from subwords.kernels.named import size_of_ids

    size = size_of_ids.by_size(len(ids))(ids, spans)
    if size < 0 and size != layout.NO_SIZE:
        at = -1 - size
        raise InputError(f"expected ids from 0 to {len(spans) - 1}; ids[{at}] is {ids[at]}")
    return None if size < 0 else size


def joined(ids: NDArray[np.int64], size: int, spans: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the `size` bytes of valid ids."""
    from subwords.kernels.named import join_ids

    out = np.empty(size + layout.LANES, np.uint8)
    join_ids.by_size(size)(ids, spans, data, out)
    return out[:size]


def as_ids(ids: Iterable[int] | NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return ids as a one-dimensional int64 array; InputError for anything else."""
    if not isinstance(ids, np.ndarray):
        if isinstance(ids, (str, bytes, bytearray, memoryview, Mapping, AbstractSet)):
            raise InputError(f"expected a list or an array of ids, not {type(ids).__name__}")
        try:
            ids = np.array(list(ids))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"expected integer ids: {error}") from None
    if ids.size == 0:
        return np.zeros(0, np.int64)
    if ids.ndim != 1:
        raise InputError(f"expected one list of ids, not an array of {ids.ndim} dimensions")
    if ids.dtype.kind not in "iu":
        raise InputError(f"expected integer ids, not {ids.dtype}")
    if ids.dtype == np.uint64 and ids.max() >= 2**63:
        raise InputError(f"expected ids below 2**63; one is {ids.max()}")
    return np.ascontiguousarray(ids, np.int64)
