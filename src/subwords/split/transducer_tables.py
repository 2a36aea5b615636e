"""A machine as arrays, the way the kernels read it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.split.pack import LANES
from subwords.kernels.split.transducer import BLOCKS, COUNT, GROUP, HOLDS, KEEPS, ROOM, SPAN, TELLS, TOP
from subwords.split.pattern import Outside
from subwords.split.transducer import Machine

__all__ = ["cutter", "frame", "scratch"]

MOST_ENTRIES = 1 << 22  # 32 MB


def frame(machine: Machine) -> tuple[NDArray[np.generic], ...]:
    """Return classes, pairs, second, table and safe of `kernels/split/transducer.py`; Outside where they would be huge."""
    n, states = machine.count, len(machine.moves)
    width = n * n + n + 1
    if states * width > MOST_ENTRIES:
        raise Outside("its table would be too large")
    of_byte = np.concatenate([machine.classes[:128], np.arange(128) % n]).astype(np.uint32)
    pairs = (of_byte * n + of_byte[:, None]).astype(np.uint16)  # by the second byte and the first one: little-endian
    single = _entries(machine.borders, machine.keeps, machine.tells)
    table = np.empty((states, width), np.uint64)
    rows = machine.moves.astype(np.uint64) * np.uint64(width) << np.uint64(32)
    rows |= machine.holds()[machine.moves].astype(np.uint64) * HOLDS
    table[:, n * n :] = single | rows
    middle = machine.moves[:, :n]
    both = single[:, :n, None] >> np.uint64(1) & BORDERS | single[:, :n, None] & (KEEPS | TELLS)
    table[:, : n * n] = (both | single[middle][:, :, :n] | rows[middle][:, :, :n]).reshape(states, -1)
    second = np.append(of_byte, np.uint32(n))
    assert len(second) == COUNT + 1
    safe = machine.cuts().astype(np.uint8)
    return machine.classes | np.uint8(128), pairs.ravel(), second, table.ravel(), safe.ravel()


def cutter(machine: Machine) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return classes and places to cut as `last_cut` reads them."""
    safe = np.zeros((128, 128), np.uint8)
    safe[: machine.count, : machine.count] = machine.cuts()
    return machine.classes | np.uint8(128), safe.ravel()


BORDERS = np.uint64((1 << TOP + 1) - 1)


def _entries(borders: NDArray[np.uint32], keeps: NDArray[np.bool_], tells: NDArray[np.bool_]) -> NDArray[np.uint64]:
    entries: NDArray[np.uint64] = np.zeros(borders.shape, np.uint64)
    for d in range(TOP):
        entries |= (borders >> np.uint32(d) & np.uint32(1)).astype(np.uint64) << np.uint64(TOP - d)
    entries |= keeps.astype(np.uint64) * KEEPS
    entries |= tells.astype(np.uint64) * TELLS
    return entries


def scratch() -> tuple[NDArray[np.generic], ...]:
    """Return room for one thread: stream, words of 64 bits, recent."""
    words = 6 * ROOM + 2 * BLOCKS
    return np.empty(SPAN + 4 * LANES, np.uint8), np.empty(words, np.uint64), np.empty(GROUP, np.uint32)
