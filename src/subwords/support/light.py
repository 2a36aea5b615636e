"""Small functions instead of modules whose import takes longer than the work: loading a tokenizer needs no other."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct", "is_among", "random_bits"]

Item = TypeVar("Item", bound=np.generic)


def distinct(array: NDArray[Item], *, in_order: bool = False) -> NDArray[Item]:
    """Return the distinct elements in order, as `np.unique`, which imports `numpy.ma` and hashes: 20 times as long.

    in_order: the array is sorted already.

    >>> import numpy as np
    >>> distinct(np.array([[3, 1], [1, 2]])).tolist()
    [1, 2, 3]
    """
    ordered = array if in_order else np.sort(array, axis=None)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def is_among(numbers: NDArray[Any], members: Iterable[int] | NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers from 0 on are members, as `np.isin`, which may import `numpy.ma`.

    >>> import numpy as np
    >>> is_among(np.array([[3, 1], [0, 2]]), {2, 3, 9}).tolist()
    [[True, False], [False, True]]
    """
    found = np.array([*members], np.int64)
    table: NDArray[np.bool_] = np.zeros(max(numbers.max(initial=0), found.max(initial=0)) + 1, np.bool_)
    table[found] = True
    among: NDArray[np.bool_] = table[numbers]
    return among


def random_bits(count: int) -> int:
    """Return a number of up to 64 unpredictable bits, as `secrets.randbits`.

    >>> 0 <= random_bits(8) < 256
    True
    """
    return int.from_bytes(os.urandom(8), "little") >> 64 - count
