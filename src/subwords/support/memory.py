"""Large arrays from the system, and how much memory is left."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.support.errors import InputError

SMALL_ARRAY = 1 << 16  # bytes; smaller arrays are allocated by NumPy
MOST_SPARE = 1 << 27  # bytes


def zeros(count: int, dtype: Any, *, random: bool = False) -> NDArray[Any]:
    """Return an array of `count` zeros, aligned to a cache line; `random`: use huge pages, for random access.

    malloc keeps memory that threads free (30 MB more at the peak of a count) and aligns to 16 bytes, so that slots of
    32 bytes straddle two cache lines (-20 % encoding speed).
    """
    size = max(1, count) * np.dtype(dtype).itemsize
    if size < SMALL_ARRAY:
        room = np.zeros(size + 64, np.uint8)
        skip = -room.ctypes.data % 64
        small: NDArray[Any] = room[skip : skip + size].view(dtype)
        return small[:count]
    large: NDArray[Any] = np.frombuffer(_pages(size, huge=random), dtype)
    return large[:count]


def _pages(size: int, *, huge: bool) -> mmap.mmap:
    # MAP_PRIVATE, because shared memory gets no huge pages: -15 % encoding speed without them.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        pages = mmap.mmap(-1, size, **private)
    except OSError as error:
        raise MemoryError(f"no memory for {size:,} bytes") from error
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def memory_at(address: int, size: int) -> NDArray[np.uint8]:
    """Return the bytes at an address as an array, read-only. Hazard: it does not keep what owns them."""
    found: NDArray[np.uint8] = np.frombuffer(_view()(address, size, _READ_FLAG), np.uint8)
    return found


_READ_FLAG = 0x100  # PyBUF_READ


@cache
def _view() -> Callable[[int, int, int], memoryview]:
    import ctypes

    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
    return make(("PyMemoryView_FromMemory", ctypes.pythonapi))


def release(array: NDArray[Any]) -> None:
    """Give the memory of a mapped file back, if the array is of one: it is read again when it is used."""
    pages = getattr(array, "_mmap", None)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


class Spare:
    """Arrays for large results; reuses the memory of results that are no longer referenced.

    malloc does the same below 32 MB; above, it returns memory to the system, and new memory costs 6 % of encoding
    speed. At most two results and MOST_SPARE bytes are tracked.

    No code runs when a result is freed: Ctrl-C in a destructor or in a weak reference's callback would be lost.
    """

    def __init__(self) -> None:
        # Memory and its base array, of which all others are views. An entry outside the deque belongs to one thread.
        self._lent: deque[tuple[mmap.mmap, weakref.ref[NDArray[np.uint8]]]] = deque()

    def empty(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialized array of at least `count` elements."""
        size = (max(1, count) * np.dtype(dtype).itemsize + 15) & -16
        pages, used = self._sorted_out(size)
        pages = pages or _pages(size, huge=True)
        whole = np.frombuffer(pages, np.uint8)[:]
        if len(pages) <= MOST_SPARE:
            # NumPy collapses chains of views: every view references this array, the one whose base is not an array.
            base = whole.base
            assert isinstance(base, np.ndarray)
            used.append((pages, weakref.ref(base)))
            while len(used) > 2 or sum(len(each) for each, _ in used) > MOST_SPARE:
                del used[0]
        self._lent.extend(used)
        lent: NDArray[Any] = whole.view(dtype)
        return lent

    def _sorted_out(self, size: int) -> tuple[mmap.mmap | None, list[Any]]:
        """Return free memory of at least `size` bytes, or None, and the list of memory in use.

        The largest free memory is chosen, so that a growing result need not move; the rest is released.
        """
        free: mmap.mmap | None = None
        used: list[Any] = []
        for _ in range(len(self._lent)):
            try:
                pages, array = self._lent.popleft()
            except IndexError:  # another thread took the entry
                break
            if array() is not None:
                used.append((pages, array))
            elif len(pages) >= max(size, len(free) if free is not None else 0):
                free = pages
        return free, used


# ---------------------------------------------------------------------------------------------------------------------
# How much of the memory of a process is left for tables.

LEAST_ROOM = 32 << 20  # bytes


def room_of(memory: int) -> int:
    """Return what is left of this many bytes of the process's memory; InputError if it is too little to work with."""
    room = memory - in_use()
    if room < LEAST_ROOM:
        least = (memory - room + LEAST_ROOM) / 10**6
        raise InputError(f"memory={memory}: expected at least {least:.0f} MB; Python and libraries take most of it")
    return room


def limit_process(*, memory: int | None = None, seconds: float | None = None) -> None:
    """Limit what this process may take from now on, where the system can: bytes of memory, seconds of its processors.

    Beyond them, allocations raise MemoryError, and the system ends the process.
    """
    if sys.platform == "win32":
        return
    import resource

    if memory is not None:
        with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
            most = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + memory
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if seconds is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + seconds) + 1
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def in_use() -> int:
    """Return the bytes of memory that this process has now, or had at the most if the system does not say."""
    if sys.platform == "win32":  # Wine shows it /proc, and no os.sysconf
        return 100 << 20
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
