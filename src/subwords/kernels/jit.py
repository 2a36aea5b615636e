"""The decorators of kernels, and the primitives that kernels are written with.

A kernel is a plain Python function over arrays and integers, annotated with U8s, U16s, U32s, U64s, I32s, I64s, F64s
(one-dimensional, contiguous: the caller must see to it), Int, and classes of `layout.py`: named tuples of such
arrays, or of such tuples. A call costs 0.1 microseconds for each argument: arrays that rarely change are passed as one.
Three modes run the same source:

*compiled* (the default): arrays become typed pointers when the kernel is entered; no bounds checks, no reference
counts. A wheel has the machine code, or else it is stored on disk, and a process that finds it there never imports
Numba. `SUBWORDS_KERNELS=jit` compiles here even if a wheel has it; `v2`, `v3`, `v4` and `v4-vbmi2` take
the wheel's code for that level of x86-64.
*checked* (`SUBWORDS_KERNELS=checked`): the pointer is the array itself, and Numba checks every access.
*interpreted* (`SUBWORDS_KERNELS=interpreted`, or `NUMBA_DISABLE_JIT=1`): Python runs the functions as they are.

So that all modes agree, integers have explicit widths: `U64` for bits and hashes, `I64` (or a plain literal) for
positions and ids.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from subwords.kernels.entry import Kernel, entry_kernel
from subwords.kernels.modes import HELPERS, INLINED, PRIMITIVES, SPLICED

F32 = np.float32
F64 = np.float64
I64 = np.int64
U64 = np.uint64
ZERO, ONE, HALF, LOW, ALL = U64(0), U64(1), U64(32), U64(0xFFFFFFFF), U64(0xFFFFFFFFFFFFFFFF)
Int = int  # a parameter of 64 bits

F = TypeVar("F", bound=Callable[..., Any])

# All that have been declared so far; `every_kernel` declares the rest.
KERNELS: list[Kernel] = []


def every_kernel() -> list[Kernel]:
    """Import every folder of kernels, and return all kernels of the package."""
    from pkgutil import walk_packages

    folder = import_module(__package__)
    for module in walk_packages(folder.__path__, f"{__package__}."):
        if module.name.count(".") > __package__.count(".") + 1:  # the files beside this one hold no kernels
            import_module(module.name)
    return KERNELS


def kernel(function: Callable[..., int]) -> Kernel:
    """Declare an entry kernel: called from Python with arrays and integers, returns an integer.

    Its name is that of the function: no two kernels have the same.
    """
    KERNELS.append(declare(function))
    return KERNELS[-1]


def declare(function: Callable[..., int]) -> Kernel:
    """Return the kernel that has the name of a function, which is its source."""
    found = entry_kernel(function.__name__)
    assert found.declared is None or found.declared.__module__ == function.__module__, function
    found.declared = function
    return found


def helper(function: F) -> F:
    """Declare a function that only other kernels call."""
    HELPERS.append(function)
    return function


def inlined(function: F) -> F:
    """Declare a small function that is inlined into every caller: for code that runs once per word or more often."""
    INLINED.append(function)
    return function


def spliced(function: F) -> F:
    """Declare a function with one caller, spliced into it: otherwise Numba compiles it, and all it calls, twice."""
    SPLICED.append(function)
    return function


def primitive(function: F) -> F:
    """Declare a function that compiled mode replaces by a few LLVM instructions."""
    PRIMITIVES.append(function)
    return function


@primitive
def pointer(array):
    """The array itself."""
    return array


@primitive
def range_mask(p, i, lo, hi):
    """Bit k is set if lo <= p[i + k] <= hi, for 64 bytes."""
    mask = U64(0)
    for k in range(64):
        if lo <= p[i + k] <= hi:
            mask |= U64(1) << U64(k)
    return mask


@primitive
def fold_mask(p, i, lo, hi):
    """Bit k is set if lo <= (p[i + k] | 32) <= hi, for 64 bytes."""
    mask = U64(0)
    for k in range(64):
        if lo <= (p[i + k] | 32) <= hi:
            mask |= U64(1) << U64(k)
    return mask


@primitive
def bit_mask(p, i, bit):
    """Bit k is set if p[i + k] has `bit`, a power of two, for 64 bytes."""
    mask = U64(0)
    for k in range(64):
        if p[i + k] & bit != 0:
            mask |= U64(1) << U64(k)
    return mask


@primitive
def load64(p, i):
    """The eight bytes at p + i as one little-endian integer."""
    value = U64(0)
    for k in range(8):
        value |= U64(p[i + k]) << U64(8 * k)
    return value


@primitive
def advance(p, k):
    """The array from p[k] on."""
    return p[k:]


@primitive
def store64(p, i, value):
    """Write the halves of `value` to p[i] and p[i + 1]."""
    p[i] = value & U64(0xFFFFFFFF)
    p[i + 1] = value >> U64(32)


@primitive
def copy64(q, j, p, i):
    """Copy 64 bytes from p + i to q + j; they do not overlap."""
    for k in range(64):
        q[j + k] = p[i + k]


@primitive
def copy16(q, j, p, i, n):
    """Copy min(n, 16) elements of 32 bits from p[i] on to q[j] on; they do not overlap."""
    for k in range(min(n, 16)):
        q[j + k] = p[i + k]


@primitive
def char_at(p, i):
    """The code point of the valid character at p[i]; reads four bytes."""
    lead = I64(p[i])
    bits = lead << 18 | (I64(p[i + 1]) & 0x3F) << 12 | (I64(p[i + 2]) & 0x3F) << 6 | (I64(p[i + 3]) & 0x3F)
    if lead < 0x80:
        return lead
    if lead < 0xE0:
        return bits >> 12 & 0x7FF
    if lead < 0xF0:
        return bits >> 6 & 0xFFFF
    return bits & 0x1FFFFF


@primitive
def clear64(p, i):
    """Write 64 zero bytes."""
    for k in range(64):
        p[i + k] = 0


@primitive
def deposit(x, mask):
    """Put the low bits of x, in order, at the places of the set bits of mask."""
    out = U64(0)
    while mask != U64(0):
        low = mask & (U64(0) - mask)
        if x & U64(1) != U64(0):
            out |= low
        x >>= U64(1)
        mask ^= low
    return out


@primitive
def extract(x, mask):
    """Put the bits of x at the places of the set bits of mask together, in order: the inverse of `deposit`."""
    out, k = U64(0), U64(0)
    while mask != U64(0):
        low = mask & (U64(0) - mask)
        if x & low != U64(0):
            out |= U64(1) << k
        k += U64(1)
        mask ^= low
    return out


@primitive
def add64(q, j, p, i, lo, hi, more):
    """Add `more` to q[j + k] where lo <= p[i + k] <= hi, for 64 bytes; they do not overlap."""
    for k in range(64):
        if lo <= p[i + k] <= hi:
            q[j + k] = (I64(q[j + k]) + more) & 0xFF


@primitive
def prefetch(p, i):
    """Prefetch the cache line of p[i]; does nothing here."""


@primitive
def trailing_zeros(x):
    """The number of zero bits below the lowest one; 64 for 0."""
    n = 0
    while n < 64 and (x >> U64(n)) & U64(1) == U64(0):
        n += 1
    return n


@primitive
def leading_zeros(x):
    """The number of zero bits above the highest one; 64 for 0."""
    n = 0
    while n < 64 and (x << U64(n)) >> U64(63) == U64(0):
        n += 1
    return n


@primitive
def popcount(x):
    """The number of one bits."""
    n = 0
    while x != U64(0):
        x &= x - U64(1)
        n += 1
    return n


@primitive
def mix(a, b):
    """The high half of the 128-bit product a * b, xor its low half."""
    half, low = U64(32), U64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    p00, p01, p10, p11 = a0 * b0, a0 * b1, a1 * b0, a1 * b1
    middle = (p00 >> half) + (p01 & low) + (p10 & low)
    high = p11 + (p01 >> half) + (p10 >> half) + (middle >> half)
    return high ^ ((p00 & low) | (middle << half))
