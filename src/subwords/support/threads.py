"""The number of threads, and a thread pool that Ctrl-C stops at once."""

from __future__ import annotations

import os
import sys
from _thread import start_new_thread
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from itertools import repeat
from queue import Empty, SimpleQueue
from threading import local
from typing import Any, Generic, TypeVar

from subwords.support.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

WINDOW = 3  # items per thread that are taken from the caller's iterable, before the first of them has its result

PATIENCE = 0.5  # seconds: Ctrl-C must end a command that reads a terminal

MOST_THREADS = 1024  # threads; each has its own tables of some megabytes


def thread_count(threads: int | None) -> int:
    """Return `threads` or, for None, the number of processors available to this process."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        came = f"{threads!r:.60}"
        raise InputError(f"expected threads to be a positive integer up to {MOST_THREADS}, or None, not {came}")
    return threads


def in_threads(run: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return run(item) for every item; items are started and returned in their order.

    As `streamed`, with a window of a few items: when all threads have ended, an exception is raised (of several, that
    of the first item).

    >>> in_threads(str.upper, ["a", "b"], 2)
    ['A', 'B']
    """
    if threads == 1:
        return [run(item) for item in items]
    return [*streamed(run, items, threads, window=WINDOW * threads)]


def streamed(
    run: Callable[[Item], Result], items: Iterable[Item], threads: int, *, window: int
) -> Generator[Result, None, None]:
    """Yield run(item) for every item, in order, while threads work on the next ones.

    window: items whose results are not yielded yet. The caller's thread takes items from the iterable, and works on
    the results while threads run. After an exception, no item is started, and it is raised in the place of its result.
    Hazard: the threads end when the iterator does: close one that is not used up.

    >>> list(streamed(str.upper, ["a", "b"], 2, window=4))
    ['A', 'B']
    """
    return (run(item) for item in items) if threads == 1 else _Team(run).stream(iter(items), threads, window)


def ahead(items: Iterable[Item], count: int) -> Generator[Item, None, None]:
    """Yield items that a thread takes from the iterable, at most `count` of them in advance.

    Hazard: the thread ends when the iterator does: close one that is not used up. A thread that waits for an item at
    that time (of a pipe whose writer says nothing) is not waited for longer than PATIENCE.

    >>> list(ahead("ab", 3))
    ['a', 'b']
    """
    taken: Iterator[Any] = iter(items)
    team: _Team[None, Any] = _Team(lambda _: next(taken, _END))
    with closing(team.stream(repeat(None), 1, count, PATIENCE)) as found:
        for item in found:
            if item is _END:
                return
            yield item


_END = object()


class _Stopped(BaseException):
    """Stops the item of a worker thread; never reaches the caller."""


class _Here(local):
    team: _Team[Any, Any] | None = None


_HERE = _Here()


def check_stopped() -> None:
    """Stop the current item of this thread if `in_threads` was interrupted; cheap enough for loops."""
    team = _HERE.team
    if team is not None and team.stopped:
        raise _Stopped


class _Team(Generic[Item, Result]):
    """A pool of threads that take items from one queue.

    A ThreadPoolExecutor continues to work after an interrupt, and loses an interrupt that arrives while the main thread
    runs the callbacks of its weak references. Loops have methods of their own: in `try`, Python 3.12 and 3.13
    run neither `except` nor `finally` for an interrupt that comes at the jump back from a condition.
    """

    def __init__(self, run: Callable[[Item], Result]) -> None:
        self.run = run
        self.stopped = False  # the results are no longer needed
        self._end = sys.maxsize  # no item from this number on is started: the first that failed
        self._begun: list[int] = []  # threads
        self._ended: list[None] = []  # as many as have ended
        self._todo: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
        # Says that there is something new: an interrupt may take the message from the queue and lose it.
        self._news: SimpleQueue[None] = SimpleQueue()
        self._results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def stream(
        self, items: Iterator[Item], threads: int, window: int, patience: float | None = None
    ) -> Generator[Result, None, None]:
        """Run all items, and yield their results; at the end, wait for the threads, `patience` seconds at most."""
        try:
            yield from self._in_order(items, threads, window)
        finally:
            self.stopped, self._end = True, -1
            self._todo.put(None)
            if not sys.is_finalizing():  # where threads no longer run
                with suppress(Empty):
                    self._wait(patience)

    def _in_order(self, items: Iterator[Item], threads: int, window: int) -> Generator[Result, None, None]:
        begun = yielded = 0
        open_ended = True
        while True:
            while open_ended and begun - yielded < window and begun < self._end:
                for item in items:
                    self._start((begun, item), threads)
                    begun += 1
                    break
                else:
                    open_ended = False
                    self._todo.put(None)  # now, not at the end: threads that wait for it would wake up once more
            if yielded == begun:
                return
            while yielded not in self._results and yielded not in self._errors:
                self._news.get()
            if yielded in self._errors:
                raise self._errors[yielded]
            yield self._results.pop(yielded)
            yielded += 1

    def _start(self, item: tuple[int, Item], threads: int) -> None:
        self._todo.put(item)
        if len(self._begun) < threads:
            # One call, so that no interrupt comes between the start of a thread and its count.
            self._begun.extend(map(start_new_thread, (self._take,), ((),)))

    def _wait(self, patience: float | None) -> None:
        while len(self._ended) < len(self._begun):
            self._news.get(timeout=patience)

    def _take(self) -> None:
        _HERE.team = self
        while (task := self._todo.get()) is not None:
            number, item = task
            if number < self._end:  # an item before one that failed still gets its result: it is waited for
                try:
                    self._results[number] = self.run(item)
                except BaseException as error:
                    self._errors[number] = error
                    self._end = min(self._end, number)
            self._news.put(None)
        self._todo.put(None)  # for the next thread
        self._ended.append(None)
        self._news.put(None)
