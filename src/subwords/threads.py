"""How many threads to use."""

from __future__ import annotations

import os

from subwords.errors import InputError

__all__ = ["thread_count"]


def thread_count(threads: int | None) -> int:
    """Return the number asked for, or the number of processors this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"expected threads to be a positive integer or None, not {threads!r}")
    return threads
