"""Lists of ids: by a built-in function, which makes the int of each id once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["lists_of"]

SHARED = 4  # ids for each entry of the table of ints, at least, that the table is made for
MOST_IDS = 1 << 22  # a larger table is not made
AT_ONCE = 1 << 17  # texts in one call: other threads run between calls, and garbage is collected


def lists_of(ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[list[int]]:
    """Return ids[offsets[i] : offsets[i + 1]] as one list for every i."""
    most = int(ids.max(initial=0)) + 1
    if SHARED * most > len(ids) or most > MOST_IDS or not _available():
        flat = ids.tolist()
        return [flat[a:b] for a, b in pairwise(offsets.tolist())]
    make, release = _functions()
    ids, offsets = np.ascontiguousarray(ids, np.uint32), np.ascontiguousarray(offsets, np.int64)
    ints, lists, count = np.zeros(most, np.int64), list[list[int]](), len(offsets) - 1
    try:
        for first in range(0, count, AT_ONCE):
            part = np.array([first, min(first + AT_ONCE, count)], np.int64)
            lists += make((ids, offsets, part, ints))
    finally:
        release(ints)
    return lists


def _available() -> bool:
    from subwords.kernels.fastpath import available

    return available()


@cache
def _functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from subwords.kernels.fastpath import api, built_in
    from subwords.kernels.named import make_lists, release_ints

    return built_in(make_lists, (api(),)), built_in(release_ints, (api(),))
