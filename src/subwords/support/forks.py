"""A fork waits until no other thread imports a module: in the child, the lock of that module would never be free."""

from __future__ import annotations

import concurrent.futures.thread
import logging
import os
from _thread import get_ident
from importlib import _bootstrap
from time import monotonic, sleep

__all__ = ["wait_for_imports"]

# These two register functions for forks when they are imported. While a fork waits for that import it is too late:
# only those for after the fork would run, and release locks that nobody took.
assert logging
assert concurrent.futures.thread

PATIENCE = 10.0  # seconds; an import that takes longer is not waited for


def wait_for_imports() -> None:
    """Return when no other thread imports anything, or after PATIENCE seconds."""
    deadline = monotonic() + PATIENCE
    while _others_import() and monotonic() < deadline:
        sleep(0.001)


def _others_import() -> bool:
    locks = [reference() for reference in list(getattr(_bootstrap, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, get_ident()) for lock in locks)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports)
