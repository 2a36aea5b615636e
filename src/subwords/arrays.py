"""Large arrays straight from the operating system: zero, aligned to pages, untouched until used, given back at once."""

from __future__ import annotations

import mmap
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spare", "zeros"]

SMALL = 1 << 16  # bytes below which an ordinary array does
MOST_SPARE = 1 << 27  # bytes


def zeros(count: int, dtype: Any, *, random: bool = False) -> NDArray[Any]:
    """Return `count` zeros that begin at a cache line; `random` says that access will be, which wants huge pages.

    malloc keeps what threads free and aligns to 16 bytes: 30 MB more at the peak of a count, and slots of 32 bytes that
    straddle two cache lines (-20 % of encoding speed).
    """
    size = max(1, count) * np.dtype(dtype).itemsize
    if size < SMALL:
        room = np.zeros(size + 64, np.uint8)
        skip = -room.ctypes.data % 64
        small: NDArray[Any] = room[skip : skip + size].view(dtype)
        return small[:count]
    large: NDArray[Any] = np.frombuffer(_pages(size, huge=random), dtype)
    return large[:count]


def _pages(size: int, *, huge: bool) -> mmap.mmap:
    # Private, because memory that could be shared gets no huge pages: without them -15 % of encoding speed.
    pages = mmap.mmap(
        -1, size, **({"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {})
    )
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


class Spare:
    """Arrays for large results; the memory of one that nobody reads any more serves the next.

    malloc does the same below 32 MB; above, it gives memory back, and new memory costs 6 % of encoding speed. At most
    one array's memory waits, and no more than MOST_SPARE bytes.
    """

    def __init__(self) -> None:
        self._waiting: deque[mmap.mmap] = deque(maxlen=1)

    def empty(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return an array of `count` elements or more, whatever they are."""
        size = max(1, count) * np.dtype(dtype).itemsize
        try:
            pages = self._waiting.pop()
        except IndexError:
            pages = None
        if pages is None or len(pages) < size:
            pages = _pages(size, huge=True)
        lent: NDArray[Any] = np.asarray(_Lent(pages, self._waiting)).view(dtype)
        return lent


class _Lent:
    """Memory in use by arrays; goes back when the last of them is gone."""

    def __init__(self, pages: mmap.mmap, home: deque[mmap.mmap]) -> None:
        whole = np.frombuffer(pages, np.uint8)[: len(pages) // 16 * 16]
        self.__array_interface__ = whole.__array_interface__
        self._pages, self._home = pages, weakref.ref(home)  # a result does not keep what else waits there

    def __del__(self) -> None:
        home = self._home()
        if home is not None and len(self._pages) <= MOST_SPARE:
            home.append(self._pages)
