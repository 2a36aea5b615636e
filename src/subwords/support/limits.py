"""Limits of memory: "2GB" as a number of bytes, and how much of it is left for tables."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

from subwords.errors import InputError

__all__ = ["bytes_of", "room_of"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)
LEAST_ROOM = 32 << 20  # bytes


def bytes_of(amount: int | str) -> int:
    """Return a number of bytes; InputError if it is not positive, or if a unit is not known.

    >>> from subwords.support.limits import bytes_of
    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(4096)
    (2000000000, 1610612736, 4096)
    """
    found = 0
    if isinstance(amount, str) and (match := _AMOUNT.fullmatch(amount)):
        found = int(float(match[1]) * _UNITS[(match[2] or "").upper()])
    elif isinstance(amount, int) and not isinstance(amount, bool):
        found = amount
    if not 0 < found < 1 << 62:
        raise InputError(f'expected a number of bytes, or an amount such as "2GB" or "512MiB", not {amount!r:.60}')
    return found


def room_of(memory: int) -> int:
    """Return what is left of this many bytes of the process's memory; InputError if it is too little to work with."""
    room = memory - _in_use()
    if room < LEAST_ROOM:
        least = (memory - room + LEAST_ROOM) / 10**6
        raise InputError(f"memory={memory}: expected at least {least:.0f} MB; Python and libraries take most of it")
    return room


def _in_use() -> int:
    """Return the bytes of memory that this process has now, or had at the most if the system does not say."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return 100 << 20
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
