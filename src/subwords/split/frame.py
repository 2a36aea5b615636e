"""A machine as arrays, the way the kernels read it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.split_machine import COUNT, GROUP, KEEPS, SPAN, TELLS, TOP
from subwords.split.machine import Machine
from subwords.split.pattern import Outside

__all__ = ["frame", "scratch"]

MOST_ENTRIES = 1 << 22  # 32 MB


def frame(machine: Machine) -> tuple[NDArray[np.generic], ...]:
    """Return classes, first, second, table and safe of `kernels/split_machine.py`; Outside where they would be huge."""
    n, states = machine.count, len(machine.moves)
    width = n * n + n + 1
    if states * width > MOST_ENTRIES:
        raise Outside("its table would be too large")
    classes = machine.classes | np.uint8(128)
    of_byte = np.concatenate([machine.classes[:128], np.arange(128) % n]).astype(np.uint32)
    first = np.append(of_byte * n, n).astype(np.uint32)
    assert len(first) == COUNT + 1
    single = _entries(machine.borders, machine.keeps, machine.tells)
    table = np.empty((states, width), np.uint64)
    rows = machine.moves.astype(np.uint64) * np.uint64(width) << np.uint64(32)
    table[:, n * n :] = single | rows
    middle = machine.moves[:, :n]
    pairs = single[:, :n, None] >> np.uint64(1) & BORDERS | single[:, :n, None] & ~BORDERS
    table[:, : n * n] = (pairs | single[middle][:, :, :n] | rows[middle][:, :, :n]).reshape(states, -1)
    return classes, first, of_byte, table.ravel(), machine.cuts().astype(np.uint8).ravel()


BORDERS = np.uint64((1 << TOP + 1) - 1)


def _entries(borders: NDArray[np.uint32], keeps: NDArray[np.bool_], tells: NDArray[np.bool_]) -> NDArray[np.uint64]:
    entries: NDArray[np.uint64] = np.zeros(borders.shape, np.uint64)
    for d in range(TOP):
        entries |= (borders >> np.uint32(d) & np.uint32(1)).astype(np.uint64) << np.uint64(TOP - d)
    entries |= keeps.astype(np.uint64) * KEEPS
    entries |= tells.astype(np.uint64) * TELLS
    return entries


def scratch() -> tuple[NDArray[np.generic], ...]:
    """Return room for one thread: stream, offsets, bits."""
    groups = SPAN // GROUP + 4
    return np.empty(SPAN + 256, np.uint8), np.empty(SPAN + 256, np.uint32), np.empty(2 * groups, np.uint64)
