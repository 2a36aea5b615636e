"""Threads that want the same kernel at the same time compile it once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from forking import kernels
from subwords.kernels.modes import NOTICES

kernel = kernels(1)[0]
with ThreadPoolExecutor(4) as pool:
    assert {*pool.map(kernel, [3] * 4, [4] * 4)} == {7}
assert NOTICES._number == 1, NOTICES._number
