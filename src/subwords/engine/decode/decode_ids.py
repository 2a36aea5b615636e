"""Ids to bytes, for every model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.errors import InputError

__all__ = ["as_ids", "decode_bytes"]


def decode_bytes(vocab: Vocab, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bytes:
    """Return the joined token bytes of the ids."""
    from subwords.kernels.text.decode import bytes_of_ids, decode_ids

    flat = as_ids(ids)
    size = bytes_of_ids.sized(len(flat))(flat, vocab.offsets)
    if size < 0:
        at = -1 - size
        raise InputError(f"expected ids from 0 to {len(vocab) - 1}; ids[{at}] is {flat[at]}")
    out = np.empty(size, np.uint8)
    decode_ids.sized(size)(flat, vocab.data, vocab.offsets, out)
    return out.tobytes()


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
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InputError(f"expected one dimension of integer ids, not {ids.ndim} dimensions of {ids.dtype}")
    if ids.dtype == np.uint64 and ids.max() >= 2**63:
        raise InputError(f"expected ids below 2**63; one is {ids.max()}")
    return np.ascontiguousarray(ids, np.int64)
