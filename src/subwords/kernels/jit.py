"""The one file (with its cache) that knows Numba: the decorators, typed pointers, 64-lane masks, and the three modes.

*compiled*: arrays become typed pointers at a kernel's door; no bounds logic, no reference counts.
*checked* (`SUBWORDS_KERNELS=checked`): the pointer function returns the array itself and every access is bounds-checked.
*interpreted* (`NUMBA_DISABLE_JIT=1`): plain Python, for coverage and debugging.

All modes run the same kernel source, so integers are written with explicit widths: `U64` for bits and hashes, `I64`
(or a plain literal) for positions and ids.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import config, njit, types
from llvmlite import binding, ir
from numba.core import cgutils
from numba.extending import intrinsic

from subwords.kernels.cache import KernelCache

__all__ = [
    "I64",
    "MODE",
    "U64",
    "advance",
    "fold_mask",
    "helper",
    "inlined",
    "kernel",
    "load64",
    "mix",
    "pointer",
    "popcount",
    "prefetch",
    "range_mask",
    "store64",
    "trailing_zeros",
    "write_bits",
]

I64 = np.int64
U64 = np.uint64
F = TypeVar("F", bound=Callable[..., Any])

MODE = "interpreted" if config.DISABLE_JIT else os.environ.get("SUBWORDS_KERNELS", "compiled")
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": MODE == "checked"}
# The one instruction that packs the positions of a mask; elsewhere LLVM would spell it out byte by byte.
PACKS_BYTES = MODE == "compiled" and bool(binding.get_host_cpu_features().get("avx512vbmi2"))


def kernel(function: F) -> F:
    """Compile an entry kernel: called from Python with arrays and integers, cached on disk, lazy, without the GIL."""
    dispatcher = njit(**_OPTIONS)(function)
    if MODE != "interpreted":
        dispatcher._cache = KernelCache(function, MODE)
    return dispatcher


def helper(function: F) -> F:
    """Compile a function only other kernels call; it lives in its callers' files."""
    return njit(no_cpython_wrapper=True, **_OPTIONS)(function)


def inlined(function: F) -> F:
    """Compile a small function into every caller: for what runs once a word or more often."""
    return njit(no_cpython_wrapper=True, forceinline=True, **_OPTIONS)(function)


if MODE == "compiled":

    @intrinsic
    def pointer(typingctx, array):
        """The typed pointer to an array's data."""
        if not isinstance(array, types.Array):
            return None

        def codegen(context, builder, signature, args):
            made = context.make_array(signature.args[0])(context, builder, args[0])
            return made.data

        return types.CPointer(array.dtype)(array), codegen

    def _lanes(builder, p, i):
        """Load 64 bytes at p + i, however aligned, as a vector."""
        vector = ir.VectorType(ir.IntType(8), 64)
        address = builder.bitcast(builder.gep(p, [i]), vector.as_pointer())
        return builder.load(address, align=1)

    def _splat(builder, value):
        zero = ir.Constant(ir.VectorType(ir.IntType(8), 64), None)
        one_lane = builder.insert_element(zero, value, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(one_lane, zero, ir.Constant(ir.VectorType(ir.IntType(32), 64), None))

    def _range(builder, lanes, lo, hi):
        """Bit k says lo <= lanes[k] <= hi, by one subtraction and one unsigned comparison."""
        byte = ir.IntType(8)
        lo, hi = builder.trunc(lo, byte), builder.trunc(hi, byte)
        shifted = builder.sub(lanes, _splat(builder, lo))
        inside = builder.icmp_unsigned("<=", shifted, _splat(builder, builder.sub(hi, lo)))
        return builder.bitcast(inside, ir.IntType(64))

    @intrinsic
    def range_mask(typingctx, p, i, lo, hi):
        """Bit k says lo <= p[i + k] <= hi, for 64 bytes."""

        def codegen(context, builder, signature, args):
            return _range(builder, _lanes(builder, args[0], args[1]), args[2], args[3])

        return types.uint64(p, types.int64, types.int64, types.int64), codegen

    @intrinsic
    def fold_mask(typingctx, p, i, lo, hi):
        """Bit k says lo <= (p[i + k] | 32) <= hi, for 64 bytes: a range of ASCII letters in either case."""

        def codegen(context, builder, signature, args):
            lanes = _lanes(builder, args[0], args[1])
            return _range(builder, builder.or_(lanes, _splat(builder, ir.Constant(ir.IntType(8), 32))), args[2], args[3])

        return types.uint64(p, types.int64, types.int64, types.int64), codegen

    @intrinsic
    def load64(typingctx, p, i):
        """The eight bytes at p + i as one little-endian integer, however aligned."""

        def codegen(context, builder, signature, args):
            word = ir.IntType(64).as_pointer()
            return builder.load(builder.bitcast(builder.gep(args[0], [args[1]]), word), align=1)

        return types.uint64(p, types.int64), codegen

    @intrinsic
    def advance(typingctx, p, k):
        """The pointer to p[k]."""

        def codegen(context, builder, signature, args):
            return builder.gep(args[0], [args[1]])

        return p(p, types.int64), codegen

    @intrinsic
    def store64(typingctx, p, i, value):
        """Write the halves of `value` to p[i] and p[i + 1], elements of 32 bits."""

        def codegen(context, builder, signature, args):
            address = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(64).as_pointer())
            builder.store(args[2], address, align=4)
            return context.get_dummy_value()

        return types.void(p, types.int64, types.uint64), codegen

    @intrinsic
    def prefetch(typingctx, p, i):
        """Ask for the cache line of p[i]."""

        def codegen(context, builder, signature, args):
            byte = ir.IntType(8).as_pointer()
            word = ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0i8"
            )
            address = builder.bitcast(builder.gep(args[0], [args[1]]), byte)
            builder.call(function, [address, word(0), word(3), word(1)])
            return context.get_dummy_value()

        return types.void(p, types.int64), codegen

    @intrinsic
    def trailing_zeros(typingctx, x):
        """The number of zero bits below the lowest one; 64 for 0."""

        def codegen(context, builder, signature, args):
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), codegen

    @intrinsic
    def popcount(typingctx, x):
        """The number of one bits."""

        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.int64(types.uint64), codegen

    @intrinsic
    def _pack_bits(typingctx, p, i, base, mask):
        """Write base + k to p from index i on for every bit k of mask, in order, and 64 elements in all."""

        def codegen(context, builder, signature, args):
            byte, word = ir.IntType(8), ir.IntType(32)
            lanes = ir.VectorType(byte, 64)
            every = ir.Constant(lanes, [ir.Constant(byte, k) for k in range(64)])
            mask = builder.bitcast(args[3], ir.VectorType(ir.IntType(1), 64))
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(lanes, [lanes, lanes, mask.type]),
                "llvm.x86.avx512.mask.compress.v64i8",
            )
            packed = builder.call(function, [every, ir.Constant(lanes, None), mask])
            start = builder.trunc(args[2], word)
            for part in range(4):
                chosen = ir.Constant(ir.VectorType(word, 16), [word(16 * part + k) for k in range(16)])
                wide = builder.zext(builder.shuffle_vector(packed, packed, chosen), ir.VectorType(word, 16))
                splat = builder.insert_element(ir.Constant(wide.type, None), start, word(0))
                splat = builder.shuffle_vector(splat, splat, ir.Constant(ir.VectorType(word, 16), None))
                address = builder.gep(args[0], [builder.add(args[1], ir.Constant(ir.IntType(64), 16 * part))])
                builder.store(builder.add(wide, splat), builder.bitcast(address, wide.type.as_pointer()), align=4)
            return context.get_dummy_value()

        return types.void(p, types.int64, types.int64, types.uint64), codegen

    @intrinsic
    def mix(typingctx, a, b):
        """The high half of the 128-bit product a * b, xor its low half: the step of a keyed hash."""

        def codegen(context, builder, signature, args):
            wide = ir.IntType(128)
            product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
            low = builder.trunc(product, ir.IntType(64))
            high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))
            return builder.xor(low, high)

        return types.uint64(types.uint64, types.uint64), codegen

else:
    # The same functions in plain Python: compiled with bounds checks in checked mode, run as they are when interpreted.

    @helper
    def pointer(array):
        """The array itself."""
        return array

    @helper
    def range_mask(p, i, lo, hi):
        """Bit k says lo <= p[i + k] <= hi, for 64 bytes."""
        mask = U64(0)
        for k in range(64):
            if lo <= p[i + k] <= hi:
                mask |= U64(1) << U64(k)
        return mask

    @helper
    def fold_mask(p, i, lo, hi):
        """Bit k says lo <= (p[i + k] | 32) <= hi, for 64 bytes."""
        mask = U64(0)
        for k in range(64):
            if lo <= (p[i + k] | 32) <= hi:
                mask |= U64(1) << U64(k)
        return mask

    @helper
    def load64(p, i):
        """The eight bytes at p + i as one little-endian integer."""
        value = U64(0)
        for k in range(8):
            value |= U64(p[i + k]) << U64(8 * k)
        return value

    @helper
    def advance(p, k):
        """The array from p[k] on."""
        return p[k:]

    @helper
    def store64(p, i, value):
        """Write the halves of `value` to p[i] and p[i + 1]."""
        p[i] = value & U64(0xFFFFFFFF)
        p[i + 1] = value >> U64(32)

    @helper
    def prefetch(p, i):
        """Do nothing: an address too far is no error for a processor either."""

    @helper
    def trailing_zeros(x):
        """The number of zero bits below the lowest one; 64 for 0."""
        n = 0
        while n < 64 and (x >> U64(n)) & U64(1) == U64(0):
            n += 1
        return n

    @helper
    def popcount(x):
        """The number of one bits."""
        n = 0
        while x != U64(0):
            x &= x - U64(1)
            n += 1
        return n

    @helper
    def mix(a, b):
        """The high half of the 128-bit product a * b, xor its low half."""
        half, low = U64(32), U64(0xFFFFFFFF)
        a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
        p00, p01, p10, p11 = a0 * b0, a0 * b1, a1 * b0, a1 * b1
        middle = (p00 >> half) + (p01 & low) + (p10 & low)
        high = p11 + (p01 >> half) + (p10 >> half) + (middle >> half)
        return high ^ ((p00 & low) | (middle << half))


if PACKS_BYTES:

    @inlined
    def write_bits(p, i, base, mask):
        """Write base + k to p from index i on for every bit k of mask and return the index after; 64 places are used."""
        _pack_bits(p, i, base, mask)
        return i + popcount(mask)

else:

    @inlined
    def write_bits(p, i, base, mask):
        """Write base + k to p from index i on for every bit k of mask and return the index after; 64 places are used."""
        stop = i + popcount(mask)
        while mask != U64(0):
            for k in range(4):  # four at a time: the loop's end is mispredicted less often
                p[i + k] = base + trailing_zeros(mask)
                mask &= mask - U64(1)
            i += 4
        return stop
