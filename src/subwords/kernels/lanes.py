"""Primitives on vectors of 32-bit lanes: values that stay in registers. Compiled, they are those of `llvm.py`."""

from __future__ import annotations

import numpy as np

from subwords.kernels.jit import U64, primitive

__all__ = ["few_lanes", "lowest_lane", "many_lanes", "put_lane", "some_lanes"]


@primitive
def few_lanes(p):
    """The first 16 elements of p, uint32, as a value that is never changed in place."""
    return np.array([p[k] for k in range(16)], np.uint32)


@primitive
def some_lanes(p):
    """The same of 32 elements."""
    return np.array([p[k] for k in range(32)], np.uint32)


@primitive
def many_lanes(p):
    """The same of 64 elements."""
    return np.array([p[k] for k in range(64)], np.uint32)


@primitive
def lowest_lane(lanes):
    """The smallest lane."""
    return U64(lanes.min())


@primitive
def put_lane(lanes, i, value):
    """The same lanes with `value` in lane i."""
    changed = lanes.copy()
    changed[i] = value
    return changed
