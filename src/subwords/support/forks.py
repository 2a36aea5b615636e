"""A fork waits until no other thread imports a module: in the child, the lock of that module would never be free."""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from importlib import _bootstrap
from time import monotonic, sleep

__all__ = ["wait_for_imports"]

# These two modules of the standard library take a lock before a fork and release it afterwards. When one of them is
# imported while a fork waits here, it is too late for the first half, and the second half would fail.
_LOCKS = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}

PATIENCE = 10.0  # seconds; an import that takes longer is not waited for


def wait_for_imports() -> None:
    """Return when no other thread imports anything, or after PATIENCE seconds."""
    if not _others_import():
        return
    earlier = {name for name in _LOCKS if hasattr(sys.modules.get(name), _LOCKS[name])}
    deadline = monotonic() + PATIENCE
    while _others_import() and monotonic() < deadline:
        sleep(0.001)
    for name in _LOCKS.keys() - earlier:
        if lock := getattr(sys.modules.get(name), _LOCKS[name], None):
            lock.acquire()


def _others_import() -> bool:
    locks = [reference() for reference in list(getattr(_bootstrap, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, get_ident()) for lock in locks)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports)
