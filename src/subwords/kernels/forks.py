"""A fork waits until no other thread imports a module: in the child, the lock of that module would never be free."""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from collections.abc import Callable
from importlib import _bootstrap
from time import monotonic, sleep
from typing import Any

__all__ = ["BEFORE", "wait_for_imports"]

# What to call before a fork, registered with `os.register_at_fork` too. That comes too late for a fork that waits here
# for the import of the module that registers; such a fork finds the call in this list.
BEFORE: list[Callable[[], None]] = []

# These two modules of the standard library take a lock before a fork and release it afterwards. When one of them is
# imported while a fork waits here, it is too late for the first half, and the second half would fail.
_LOCKS = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}

PATIENCE = 10.0  # seconds; an import that takes longer is not waited for
UNDISTURBED = 0.1  # seconds that the thread that forks keeps the interpreter: no import can begin before the fork

_interval = 0.0  # the interpreter's own switch interval, while a fork has it changed


def wait_for_imports() -> None:
    """Return when no other thread imports anything, or after PATIENCE seconds; `_done` must follow."""
    global _interval
    known, deadline = len(BEFORE), monotonic() + PATIENCE
    locks = [name for name in _LOCKS if not _lock(name)]  # to be taken
    if getattr(_lock("logging"), "_is_owned", bool)():  # taken for this fork, and the imports may need it
        _lock("logging").release()
        locks.append("logging")
    _interval = _interval or sys.getswitchinterval()
    sys.setswitchinterval(max(_interval, UNDISTURBED))
    while True:
        for before in BEFORE[known:]:
            known += 1
            before()
        sleep(0.0001)  # the others wait from now on, and each for the new interval
        if monotonic() > deadline:
            break
        if not _others_import() and known == len(BEFORE):
            locks = [name for name in locks if not _lock(name) or not _lock(name).acquire(blocking=False)]
            if not any(map(_lock, locks)):
                return
    for name in filter(_lock, locks):
        _lock(name).acquire()


def _done() -> None:
    global _interval
    if _interval:
        sys.setswitchinterval(_interval)
        _interval = 0.0


def _lock(name: str) -> Any:
    return getattr(sys.modules.get(name), _LOCKS[name], None)


def _others_import() -> bool:
    locks = [reference() for reference in list(getattr(_bootstrap, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, get_ident()) for lock in locks)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports, after_in_parent=_done, after_in_child=_done)
