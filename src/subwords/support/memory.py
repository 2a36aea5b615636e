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

    malloc does the same below 32 MB; above, it gives memory back, and new memory costs 6 % of encoding speed. The
    memory of two results is known here, and no more than MOST_SPARE bytes.

    Nothing runs when a result is dropped: Ctrl-C in a destructor or in a weak reference's callback is lost.
    """

    def __init__(self) -> None:
        # Memory, and the array that all others on it are views of. What is not in the deque belongs to one thread.
        self._lent: deque[tuple[mmap.mmap, weakref.ref[NDArray[np.uint8]]]] = deque()

    def empty(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return an array of `count` elements or more, whatever they are."""
        size = max(1, count) * np.dtype(dtype).itemsize
        pages, used = self._sorted_out(size)
        pages = pages or _pages(size, huge=True)
        whole = np.frombuffer(pages, np.uint8)[: len(pages) // 16 * 16]
        if len(pages) <= MOST_SPARE:
            # NumPy shortens chains of views: every view keeps this array, the first without a base of its own kind.
            base = whole.base
            assert isinstance(base, np.ndarray)
            used.append((pages, weakref.ref(base)))
            while len(used) > 2 or sum(len(each) for each, _ in used) > MOST_SPARE:
                del used[0]
        self._lent.extend(used)
        lent: NDArray[Any] = whole.view(dtype)
        return lent

    def _sorted_out(self, size: int) -> tuple[mmap.mmap | None, list[Any]]:
        """Memory of `size` bytes or more that nobody reads, if there is any, and what is in use.

        Of several the largest: a result that grows then need not move. The rest is given back.
        """
        free: mmap.mmap | None = None
        used: list[Any] = []
        for _ in range(len(self._lent)):
            try:
                pages, array = self._lent.popleft()
            except IndexError:  # another thread was here
                break
            if array() is not None:
                used.append((pages, array))
            elif len(pages) >= max(size, len(free) if free is not None else 0):
                free = pages
        return free, used
