"""How many threads to use, and work on several of them that Ctrl-C ends at once."""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from threading import local
from typing import Any, Generic, TypeVar

from subwords.errors import InputError

__all__ = ["check_stopped", "in_threads", "thread_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # items for each thread that are taken from the caller's iterable before they are needed

MOST = 1024  # each has tables of its own, of some megabytes


def thread_count(threads: int | None) -> int:
    """Return the number asked for, or the number of processors this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST:
        raise InputError(f"expected threads to be a positive integer up to {MOST}, or None, not {threads!r:.60}")
    return threads


def in_threads(run: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return run(item) for every item, in their order, which is also the order they are begun in.

    Items are taken in this thread, a few ahead. After an exception, here or in `run`, no more items are begun; it is
    raised when all threads have ended: that of the first item, if there are several.

    >>> in_threads(str.upper, ["a", "b"], 2)
    ['A', 'B']
    """
    if threads == 1:
        return [run(item) for item in items]
    return _Team(run).work(items, threads)


class _Stopped(BaseException):
    """Ends the work of a thread; nobody sees it."""


class _Here(local):
    team: _Team[Any, Any] | None = None


_HERE = _Here()


def check_stopped() -> None:
    """End the item that this thread of `in_threads` is at, if nobody waits for it any more; cheap."""
    team = _HERE.team
    if team is not None and team.stopped:
        raise _Stopped


class _Team(Generic[Item, Result]):
    """Threads that take items in turn.

    Not a ThreadPoolExecutor: that one works on after an interrupt. And the weak references to its threads have
    callbacks: an interrupt is lost when the main thread runs them.
    """

    def __init__(self, run: Callable[[Item], Result]) -> None:
        self.run = run
        self.stopped = False  # nobody waits for results
        self._closed = False  # no item is begun any more
        self._todo: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
        self._done: SimpleQueue[int | None] = SimpleQueue()  # items, and None for a thread
        self._results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def work(self, items: Iterable[Item], threads: int) -> list[Result]:
        """Run all."""
        started = begun = ended = 0
        try:
            for item in items:
                self._todo.put((begun, item))
                begun += 1
                if started < threads:
                    start_new_thread(self._take, ())
                    started += 1
                while begun - ended > (1 + AHEAD) * threads and not self._closed:
                    self._done.get()
                    ended += 1
                if self._closed:
                    break
        except BaseException:
            self.stopped = self._closed = True
            raise
        finally:
            for _ in range(threads):
                self._todo.put(None)
            self._wait(started)
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[number] for number in range(begun)]

    def _wait(self, threads: int) -> None:
        try:
            while threads:
                threads -= self._done.get() is None
        except BaseException:
            self.stopped = self._closed = True
            raise

    def _take(self) -> None:
        _HERE.team = self
        while (task := self._todo.get()) is not None:
            number, item = task
            if not self._closed:
                try:
                    self._results[number] = self.run(item)
                except BaseException as error:
                    self._closed = True
                    self._errors[number] = error
            self._done.put(number)
        self._done.put(None)
