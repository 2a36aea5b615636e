"""Memory for tables and results."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from subwords import arrays
from subwords.arrays import Spare, zeros


@pytest.mark.parametrize("count", [0, 1, 1000, 1 << 17])
def test_zeros_are_zero_and_begin_at_a_cache_line(count: int) -> None:
    got = zeros(count, np.uint64, random=True)
    assert got.shape == (count,)
    assert not got.any()
    assert got.ctypes.data % 64 == 0


def test_spare_memory_is_used_again_when_nobody_reads_it() -> None:
    spare = Spare()
    first = spare.empty(1 << 18, np.uint32)
    first[:] = 7
    address = first.ctypes.data
    part = first[5:9]
    del first
    second = spare.empty(1 << 18, np.uint32)
    second[:] = 8
    assert part.tolist() == [7] * 4  # a view keeps its memory
    del part
    gc.collect()
    third = spare.empty(100, np.uint32)
    assert third.ctypes.data == address
    assert second[0] == 8


def test_large_memory_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_SPARE", 1000)
    spare = Spare()
    del (array := [spare.empty(1 << 18, np.uint32)])[0]
    gc.collect()
    assert array == []
    assert not spare._waiting
