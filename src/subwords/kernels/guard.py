"""One kernel at a time is compiled or loaded, and neither a fork nor an interrupt stops that halfway.

A fork copies locks but no threads. A child forked while another thread compiles would wait forever for the locks of
Numba, LLVM and Python's imports. So a fork waits until the kernel is done: a few seconds at most.
"""

from __future__ import annotations

import atexit
import concurrent.futures.thread
import logging
import os
import sys
import threading
from _thread import allocate_lock, get_ident, interrupt_main, start_new_thread
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from subwords.kernels.forks import BEFORE

__all__ = ["undisturbed"]

Result = TypeVar("Result")

LOCK = threading.RLock()  # held while a kernel is compiled or loaded
GATE = threading.RLock()  # taken before LOCK: a fork that waits has priority over the next kernels


class _Fork:
    """Called around `os.fork`, in this order, in the thread that forks."""

    thread = 0  # the thread that forks, while it holds the locks
    interrupted = False

    def before(self) -> None:
        """Take the locks. An exception would be lost here, so an interrupt is sent again after the fork."""
        for lock in (GATE, LOCK, *_llvm_locks()):
            while not lock._is_owned():
                try:
                    lock.acquire()
                except KeyboardInterrupt:
                    self.interrupted = True
        self.thread = get_ident()

    def in_parent(self) -> None:
        """Release the locks."""
        again, self.interrupted, self.thread = self.interrupted, False, 0
        for lock in (*_llvm_locks(), LOCK, GATE):
            if lock._is_owned():
                lock.release()
        if again:
            start_new_thread(interrupt_main, ())

    def in_child(self) -> None:
        """Reset locks whose owner does not exist in the child."""
        self.interrupted, self.thread = False, 0
        for lock in (*_llvm_locks(), LOCK, GATE):
            lock._at_fork_reinit()
        if sys.version_info < (3, 12):
            _renew_property_locks()


def _llvm_locks() -> list[Any]:
    # The lock of llvmlite, which its other users hold during a call. It is private: without it nothing is done.
    ffi = sys.modules.get("llvmlite.binding.ffi")
    lock = getattr(getattr(getattr(ffi, "lib", None), "_lock", None), "_lock", None)
    return [lock] if hasattr(lock, "_is_owned") and hasattr(lock, "_at_fork_reinit") else []


def _renew_property_locks() -> None:
    # Before Python 3.12 each cached_property has a lock for all objects, held while the value is made.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "subwords":
            for found in list(vars(module).values()):
                if isinstance(found, type):
                    for member in vars(found).values():
                        if isinstance(member, cached_property):
                            member.lock = threading.RLock()  # type: ignore[attr-defined]


_FORK = _Fork()
# Numba imports these two, which register functions for forks. While a fork waits for that import it is too late: only
# the functions for after the fork would run.
assert logging
assert concurrent.futures.thread
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORK.before, after_in_parent=_FORK.in_parent, after_in_child=_FORK.in_child)
    BEFORE.append(_FORK.before)


@atexit.register
def _wait() -> None:
    # An interrupted call may still compile in the background: LLVM must not be unloaded meanwhile.
    with LOCK:
        pass


def undisturbed(run: Callable[[], Result]) -> Result:
    """Return run(): one thread at a time, never during a fork, and not interrupted by Ctrl-C.

    Python interrupts only the main thread, between any two instructions. In a destructor of llvmlite the interrupt
    would be lost; elsewhere it could leave Numba in an invalid state. So another thread calls `run`. The main thread
    waits and can be interrupted at once; compilation continues in the background for the next call.
    """
    if get_ident() != threading.main_thread().ident or _FORK.thread == get_ident():
        return _in_turn(run)
    results: list[Result] = []
    errors: list[BaseException] = []
    done = allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            results.append(_in_turn(run))
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    try:
        # Not a Thread: an interrupt in its methods `start` and `join` can leave a lock taken forever.
        start_new_thread(work, ())
    except RuntimeError:  # no new threads: Python is shutting down
        return _in_turn(run)
    done.acquire()
    if errors:
        raise errors[0]
    return results[0]


def _in_turn(run: Callable[[], Result]) -> Result:
    with GATE:
        pass
    with LOCK:
        return run()
