"""One kernel at a time is compiled or loaded; an interrupt does not stop that halfway, and a fork waits for a compiler.

A fork copies locks but no threads. A child forked while another thread compiles would wait forever for the locks of
Numba, LLVM and Python's imports. So from the first kernel that a process compiles on, `os.fork` waits until no kernel
is being compiled: a few seconds at most. A process that finds its machine code leaves forks alone: loading takes
milliseconds, and `warmup` before a fork does it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from _thread import allocate_lock, get_ident, interrupt_main, start_new_thread
from collections.abc import Callable
from functools import cache, cached_property
from typing import TypeVar

Result = TypeVar("Result")


class _Turn:
    """Whose turn it is to compile or load, in one process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held while a kernel is compiled or loaded
        self.gate = threading.RLock()  # taken before it: a fork that waits has priority over the next kernels
        self.forking = 0  # the thread that forks, while it holds both
        self.interrupted = False

    def take(self) -> None:
        """Take both before a fork. An exception would be lost here, so an interrupt is sent again after the fork."""
        for lock in (self.gate, self.lock):
            while not lock._is_owned():  # type: ignore[attr-defined]
                try:
                    lock.acquire()
                except KeyboardInterrupt:
                    self.interrupted = True
        self.forking = get_ident()

    def release(self) -> None:
        """Release both after a fork; in the child nobody has them."""
        again, self.interrupted, self.forking = self.interrupted, False, 0
        for lock in (self.lock, self.gate):
            if lock._is_owned():  # type: ignore[attr-defined]
                lock.release()
        if again:
            start_new_thread(interrupt_main, ())


# By process: a child never waits for a thread that only its parent has.
_TURNS: dict[int, _Turn] = {}


def _turn() -> _Turn:
    return _TURNS.get(os.getpid()) or _TURNS.setdefault(os.getpid(), _Turn())


@cache
def hold_forks() -> None:
    """Let forks, and the end of the process, wait for the kernel that is being compiled, from now on."""
    # Numba imports these two, which register functions for forks. While a fork waits for that import it is too late:
    # only the functions for after the fork would run.
    import concurrent.futures.thread
    import logging  # noqa: F401

    assert concurrent.futures.thread
    # An interrupted call may still compile in the background: LLVM must not be unloaded before it ends.
    atexit.register(lambda: _in_turn(bool))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lambda: _turn().take(), after_in_parent=lambda: _turn().release(), after_in_child=_renew_locks
        )


def _renew_locks() -> None:
    # Before Python 3.12 each cached_property has a lock for all objects, held while the value is made: it may have
    # needed the kernel that the fork waited for.
    if sys.version_info < (3, 12):
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "subwords":
                for found in list(vars(module).values()):
                    if isinstance(found, type):
                        for member in vars(found).values():
                            if isinstance(member, cached_property):
                                member.lock = threading.RLock()  # type: ignore[attr-defined]


def undisturbed(run: Callable[[], Result]) -> Result:
    """Return run(): one thread at a time, and not interrupted by Ctrl-C.

    Python interrupts only the main thread, between any two instructions. In a destructor of llvmlite the interrupt
    would be lost; elsewhere it could leave Numba in an invalid state. So another thread calls `run`. The main thread
    waits and can be interrupted at once; compilation continues in the background for the next call.
    """
    if get_ident() != threading.main_thread().ident or _turn().forking == get_ident():
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
    turn = _turn()
    with turn.gate:
        pass
    with turn.lock:
        return run()
