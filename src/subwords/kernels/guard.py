"""One kernel is compiled or loaded at a time, and neither a fork nor an interrupt can cut that short.

A fork copies locks but no threads: a child that is born while another thread compiles would wait for ever for the
locks of Numba, of LLVM and of Python's imports. So a fork waits until the kernel is done: seconds at the most.
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

__all__ = ["undisturbed"]

Result = TypeVar("Result")

LOCK = threading.RLock()  # held while a kernel is compiled or loaded
GATE = threading.RLock()  # passed on the way to LOCK: a fork that waits goes first, before all kernels that follow


class _Fork:
    """What happens around `os.fork`; all of it runs in the thread that forks, in this order."""

    thread = 0  # the one that forks, from `before` on until the locks are free again
    interrupted = False

    def before(self) -> None:
        """Take the locks. An exception would be lost here: an interrupt is sent again after the fork."""
        for lock in (GATE, LOCK, *_llvm_locks()):
            while not lock._is_owned():
                try:
                    lock.acquire()
                except KeyboardInterrupt:
                    self.interrupted = True
        self.thread = get_ident()

    def in_parent(self) -> None:
        """Go on as before."""
        again, self.interrupted, self.thread = self.interrupted, False, 0
        for lock in (*_llvm_locks(), LOCK, GATE):
            if lock._is_owned():
                lock.release()
        if again:
            start_new_thread(interrupt_main, ())

    def in_child(self) -> None:
        """Make locks free that a thread held which is not here."""
        self.interrupted, self.thread = False, 0
        for lock in (*_llvm_locks(), LOCK, GATE):
            lock._at_fork_reinit()
        if sys.version_info < (3, 12):
            _renew_property_locks()


def _llvm_locks() -> list[Any]:
    # llvmlite's own, which other users of it hold for the length of a call.
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
# These two, which Numba imports, register functions for forks. While a fork waits for Numba's import that is too late:
# only those for after the fork would run.
assert logging
assert concurrent.futures.thread
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORK.before, after_in_parent=_FORK.in_parent, after_in_child=_FORK.in_child)


@atexit.register
def _wait() -> None:
    # What an interrupted call left behind: LLVM must not be unloaded while it runs.
    with LOCK:
        pass


def undisturbed(run: Callable[[], Result]) -> Result:
    """Return run(), which no other thread runs meanwhile, which no fork copies half done, and which no Ctrl-C breaks.

    Python interrupts the main thread only, between any two instructions: in a destructor of llvmlite the interrupt
    would be lost, elsewhere it may leave Numba in an invalid state. So another thread runs it. The main one waits and
    is interrupted at once; what is being compiled is completed in the background and is there for the next call.
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
        # Not a Thread: an interrupt of its methods `start` and `join` can leave a lock taken for ever.
        start_new_thread(work, ())
    except RuntimeError:  # no threads: Python is about to end
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
