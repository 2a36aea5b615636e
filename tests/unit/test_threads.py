"""Work on several threads: in order, ended by errors and interrupts, and with nothing left running."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import pytest

from inside import _Team, ahead, check_stopped, in_threads, streamed, thread_count
from subwords import InputError


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    before = _thread._count()
    yield
    end = time.monotonic() + 5
    while _thread._count() > before and time.monotonic() < end:
        time.sleep(0.001)
    assert _thread._count() == before


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_results_are_in_order(threads: int, count: int) -> None:
    assert in_threads(lambda n: n * n, iter(range(count)), threads) == [n * n for n in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_streamed_results_are_in_order(threads: int, count: int) -> None:
    def run(n: int) -> int:
        time.sleep(0.001 * (n % 3))
        return n * n

    found = streamed(run, iter(range(count)), threads, window=threads + 1)
    assert [*found] == [n * n for n in range(count)]


def test_no_more_than_a_window_is_begun() -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        for n in range(100):
            begun.append(n)
            yield n

    for n, found in enumerate(streamed(lambda n: n, items(), 3, window=5)):
        assert found == n
        assert len(begun) <= n + 5


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_in_the_place_of_its_result(threads: int) -> None:
    def run(n: int) -> int:
        if n >= 5:
            raise InputError(f"item {n}")
        return n

    got = []
    with pytest.raises(InputError, match="item 5"):
        for n in streamed(run, range(100), threads, window=8):
            got.append(n)
    assert got == [0, 1, 2, 3, 4]


def test_results_before_an_error_come_wherever_threads_change() -> None:
    """A thread that has taken item 4, but not begun it, when item 5 fails: its result is waited for."""
    found: list[int] = []

    def run(n: int) -> int:
        if n == 5:
            raise InputError("item 5")
        return n

    def rounds() -> None:
        for _ in range(500):
            with suppress(InputError):
                found.extend(streamed(run, range(12), 4, window=9))

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        worker = threading.Thread(target=rounds, daemon=True)
        worker.start()
        worker.join(60)
    finally:
        sys.setswitchinterval(usual)
    assert found == [0, 1, 2, 3, 4] * 500


def test_an_error_of_the_items_and_an_end_before_the_last_one() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        list(streamed(lambda n: n, items(), 2, window=9))
    found = streamed(lambda n: n, iter(range(1000)), 2, window=9)
    assert next(found) == 0
    found.close()


def test_items_that_a_thread_takes() -> None:
    here = threading.get_ident()
    begun: list[int] = []

    def items(count: int) -> Iterator[int]:
        for n in range(count):
            assert threading.get_ident() != here
            begun.append(n)
            yield n
        if count == 7:
            raise InputError("no more")

    assert [*ahead(items(0), 3)] == []
    assert [*ahead(items(50), 3)] == [*range(50)]
    begun.clear()
    found = ahead(items(50), 3)
    for n in range(9):
        assert next(found) == n
        assert len(begun) <= n + 3
    found.close()
    got = []
    with pytest.raises(InputError, match="no more"):
        for n in ahead(items(7), 4):
            got.append(n)
    assert got == [*range(7)]


def test_a_thread_gets_its_items_in_order() -> None:
    found: dict[int, list[int]] = {}
    in_threads(lambda n: found.setdefault(threading.get_ident(), []).append(n), range(500), 3)
    assert all(numbers == sorted(numbers) for numbers in found.values())
    assert threading.get_ident() not in found


def test_items_are_taken_a_few_ahead() -> None:
    taken, ended, running = [], [], threading.Event()

    def items() -> Iterator[int]:
        for n in range(100):
            taken.append(n)
            yield n

    def run(n: int) -> int:
        running.wait(0.005)
        waiting = len(taken) - len(ended)  # of n itself it would depend on how long another item takes
        ended.append(n)
        return waiting

    assert max(in_threads(run, items(), 2)) < 10


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_error_is_raised_and_no_more_is_begun(threads: int) -> None:
    begun = []

    def run(n: int) -> None:
        begun.append(n)
        if n in (3, 4):
            time.sleep(0.01 * (5 - n))  # the second of them comes first
            raise KeyError(n)

    with pytest.raises(KeyError, match="3"):
        in_threads(run, range(1000), threads)
    assert len(begun) < 20


def test_error_of_the_items_is_raised() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        in_threads(str, items(), 2)


def test_interrupt_ends_items_that_are_under_way() -> None:
    begun = threading.Semaphore(0)

    def run(n: int) -> None:
        begun.release()
        while True:
            check_stopped()
            time.sleep(0.001)

    def items() -> Iterator[int]:
        yield from range(2)
        begun.acquire()
        begun.acquire()
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_threads(run, items(), 2)
    assert time.monotonic() - started < 5


def test_nobody_is_stopped_outside() -> None:
    check_stopped()


@pytest.mark.parametrize("threads", [0, -1, True, 1.0, "2"])
def test_number_of_threads_that_cannot_be_used_is_refused(threads: object) -> None:
    with pytest.raises(InputError, match="expected threads to be a positive integer up to 1024, or None"):
        thread_count(threads)  # type: ignore[arg-type]


def test_an_interrupt_after_any_call_ends_the_threads() -> None:
    """An interrupt that comes when a call of C returns loses its result: a message from a queue, a thread's number."""
    codes = {method.__code__ for method in vars(_Team).values() if hasattr(method, "__code__")}
    interrupts = []

    def rounds() -> None:
        interrupted, left = True, 0

        def at_call(frame: FrameType, event: str, function: object) -> None:
            nonlocal left
            left -= event == "c_return" and frame.f_code in codes
            if left == 0:
                raise KeyboardInterrupt

        while interrupted:
            interrupted, left = False, len(interrupts) + 1
            sys.setprofile(at_call)
            try:
                in_threads(lambda n: time.sleep(0.0003), range(8), 2)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.setprofile(None)
            interrupts.append(interrupted)
        interrupts.append(True)

    worker = threading.Thread(target=rounds, daemon=True)
    worker.start()
    worker.join(60)
    assert interrupts[-2:] == [False, True]
    assert len(interrupts) > 25  # a call each to start, to measure and to take 8 items; how often news come varies


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
@pytest.mark.parametrize(
    "run",
    [
        lambda: in_threads(lambda n: time.sleep(0.0003), range(30), 2),
        lambda: [*streamed(lambda n: time.sleep(0.0003), range(30), 2, window=4)],
    ],
)
def test_an_interrupt_at_any_jump_back_ends_the_threads(run: Callable[[], object]) -> None:
    # The handlers of `try` do not cover some of these jumps in Python 3.12 and 3.13.
    watch, tool, interrupted = sys.monitoring, 4, True
    codes = [method.__code__ for method in vars(_Team).values() if hasattr(method, "__code__")]
    main, times, left = threading.get_ident(), 0, 0

    def at_jump(code: object, begin: int, end: int) -> None:
        nonlocal left
        if end < begin and threading.get_ident() == main:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    watch.use_tool_id(tool, "interrupts")
    watch.register_callback(tool, watch.events.JUMP, at_jump)
    before = _thread._count()
    try:
        while interrupted:
            times, interrupted = times + 1, False
            left = times
            for code in codes:
                watch.set_local_events(tool, code, watch.events.JUMP)
            try:
                run()
            except KeyboardInterrupt:
                interrupted = True
            finally:
                for code in codes:
                    watch.set_local_events(tool, code, 0)
            if interrupted:
                end = time.monotonic() + 5
                while _thread._count() > before and time.monotonic() < end:
                    time.sleep(0.001)
                assert _thread._count() == before, times
    finally:
        watch.register_callback(tool, watch.events.JUMP, None)
        watch.free_tool_id(tool)
    assert times > 20
