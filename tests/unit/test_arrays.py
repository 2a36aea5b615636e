"""Memory for tables and results."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

import subwords
from inside import in_threads
from inside import support_memory as arrays


@pytest.mark.parametrize("count", [0, 1, 1000, 1 << 17])
def test_zeros_are_zero_and_begin_at_a_cache_line(count: int) -> None:
    got = arrays.zeros(count, np.uint64, random=True)
    assert got.shape == (count,)
    assert not got.any()
    assert got.ctypes.data % 64 == 0


def test_spare_memory_is_used_again_when_nobody_reads_it() -> None:
    spare = arrays.Spare()
    first = spare.empty(1 << 18, np.uint32)
    first[:] = 7
    address = first.ctypes.data
    part = first[5:9]
    del first
    second = spare.empty(1 << 18, np.uint32)
    second[:] = 8
    assert part.tolist() == [7] * 4  # a view keeps its memory
    del part
    third = spare.empty(100, np.uint32)
    assert third.ctypes.data == address
    assert second[0] == 8


VIEWS: dict[str, Callable[[np.ndarray], object]] = {
    "slice": lambda array: array[3:9],
    "slice of a slice": lambda array: array[3:9][1:3],
    "another type": lambda array: array.view(np.uint8)[7:],
    "another shape": lambda array: array.reshape(2, -1)[1].T,
    "buffer": lambda array: memoryview(array)[4:8],
    "array of a buffer": lambda array: np.frombuffer(memoryview(array), np.uint16),
    "object without copy": lambda array: np.asarray(array, copy=None),
}


@pytest.mark.parametrize("view", VIEWS)
def test_memory_is_in_use_while_anything_shows_it(view: str) -> None:
    spare = arrays.Spare()
    array = spare.empty(1 << 18, np.uint32)
    address = array.ctypes.data
    shown = VIEWS[view](array)
    del array
    assert spare.empty(1 << 18, np.uint32).ctypes.data != address
    del shown
    assert address in {each.ctypes.data for each in [spare.empty(1 << 18, np.uint32) for _ in range(2)]}


def test_ids_of_one_text_do_not_keep_the_memory_of_a_larger_result() -> None:
    tok = subwords.load("demo")
    large = tok.encode_to_numpy("the cat sat on the mat. " * 600_000)
    del large
    kept = tok.encode_to_numpy("the cat sat on the mat. " * 20_000)
    while isinstance(kept.base, np.ndarray):
        kept = kept.base
    assert kept.nbytes < 1 << 22


def test_too_little_memory_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(arrays.mmap, "mmap", refused)
    for make in (lambda: arrays.zeros(1 << 20, np.uint8), lambda: arrays.Spare().empty(1 << 20, np.uint8)):
        with pytest.raises(MemoryError):
            make()


def test_threads_never_get_the_same_memory() -> None:
    spare = arrays.Spare()

    def run(number: int) -> None:
        for _ in range(300):
            array = spare.empty(1 << 15, np.uint32)
            array[:] = number
            assert (array == number).all()

    in_threads(run, range(4), 4)


def test_large_memory_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_SPARE", 1000)
    spare = arrays.Spare()
    array = spare.empty(1 << 18, np.uint32)
    assert array.any() in (True, False)
    assert not spare._lent


def test_no_python_code_runs_when_a_result_is_dropped() -> None:
    # Ctrl-C would be lost there: Python prints exceptions of destructors and of callbacks, and goes on.
    spare, ran = arrays.Spare(), []
    array = spare.empty(1 << 18, np.uint32)
    sys.setprofile(lambda frame, event, argument: ran.append(event))
    try:
        del array
    finally:
        sys.setprofile(None)
    assert [event for event in ran if not event.startswith("c_")] == []


def test_of_memory_that_nobody_reads_the_largest_serves() -> None:
    # A result grows by moving: given the smaller one first, every text would ask for new memory.
    spare = arrays.Spare()
    small, large = spare.empty(1 << 17, np.uint8), spare.empty(1 << 20, np.uint8)
    place = large.ctypes.data
    del small, large
    again = spare.empty(1 << 17, np.uint8)
    assert (again.ctypes.data, len(again)) == (place, 1 << 20)
