"""The primitives of `jit.py` as LLVM instructions, which LLVM lowers to the best instructions of the processor."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from subwords.kernels.llvm_addresses import ADDRESSES
from subwords.kernels.llvm_bytes import declared, loaded, splat
from subwords.kernels.llvm_lanes import LANES
from subwords.kernels.llvm_objects import data_of, tuple_head
from subwords.kernels.llvm_packing import PACKING


@intrinsic
def pointer(typingctx, array):
    """The typed pointer to an array's data."""

    def codegen(context, builder, signature, args):
        return data_of(builder, args[0], context.get_data_type(signature.return_type))

    return types.CPointer(array.dtype)(array), codegen


def _range(builder, lanes, lo, hi):
    """Bit k is set if lo <= lanes[k] <= hi, by one subtraction and one unsigned comparison."""
    byte = ir.IntType(8)
    lo, hi = builder.trunc(lo, byte), builder.trunc(hi, byte)
    shifted = builder.sub(lanes, splat(builder, lo))
    inside = builder.icmp_unsigned("<=", shifted, splat(builder, builder.sub(hi, lo)))
    return builder.bitcast(inside, ir.IntType(64))


@intrinsic
def range_mask(typingctx, p, i, lo, hi):
    """Bit k is set if lo <= p[i + k] <= hi, for 64 bytes."""

    def codegen(context, builder, signature, args):
        return _range(builder, loaded(builder, args[0], args[1]), args[2], args[3])

    return types.uint64(p, types.int64, types.int64, types.int64), codegen


@intrinsic
def fold_mask(typingctx, p, i, lo, hi):
    """Bit k is set if lo <= (p[i + k] | 32) <= hi, for 64 bytes: a range of ASCII letters in either case."""

    def codegen(context, builder, signature, args):
        lanes = loaded(builder, args[0], args[1])
        return _range(builder, builder.or_(lanes, splat(builder, ir.Constant(ir.IntType(8), 32))), args[2], args[3])

    return types.uint64(p, types.int64, types.int64, types.int64), codegen


@intrinsic
def bit_mask(typingctx, p, i, bit):
    """Bit k is set if p[i + k] has `bit`, for 64 bytes."""

    def codegen(context, builder, signature, args):
        lanes = loaded(builder, args[0], args[1])
        bits = builder.and_(lanes, splat(builder, builder.trunc(args[2], ir.IntType(8))))
        return builder.bitcast(builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, None)), ir.IntType(64))

    return types.uint64(p, types.int64, types.int64), codegen


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
def copy64(typingctx, q, j, p, i):
    """Copy 64 bytes."""

    def codegen(context, builder, signature, args):
        to, at = builder.gep(args[0], [args[1]]), builder.gep(args[2], [args[3]])
        vector = ir.VectorType(ir.IntType(8), 64).as_pointer()
        builder.store(builder.load(builder.bitcast(at, vector), align=1), builder.bitcast(to, vector), align=1)
        return context.get_dummy_value()

    return types.void(q, types.int64, p, types.int64), codegen


@intrinsic
def copy16(typingctx, q, j, p, i, n):
    """Copy the first n of 16 elements of 32 bits, under a mask."""

    def codegen(context, builder, signature, args):
        word, bit = ir.IntType(32), ir.IntType(1)
        vector, flags = ir.VectorType(word, 16), ir.VectorType(bit, 16)
        number = builder.trunc(args[4], word)
        some = ir.Constant(vector, ir.Undefined)
        spread = builder.shuffle_vector(
            builder.insert_element(some, number, ir.Constant(word, 0)), some, ir.Constant(vector, [0] * 16)
        )
        mask = builder.icmp_unsigned("<", ir.Constant(vector, list(range(16))), spread)
        place = vector.as_pointer()
        to = builder.bitcast(builder.gep(args[0], [args[1]]), place)
        at = builder.bitcast(builder.gep(args[2], [args[3]]), place)
        load = declared(builder, "llvm.masked.load.v16i32.p0v16i32", vector, [place, word, flags, vector])
        store = declared(builder, "llvm.masked.store.v16i32.p0v16i32", ir.VoidType(), [vector, place, word, flags])
        value = builder.call(load, [at, ir.Constant(word, 4), mask, some])
        builder.call(store, [value, to, ir.Constant(word, 4), mask])
        return context.get_dummy_value()

    return types.void(q, types.int64, p, types.int64, types.int64), codegen


@intrinsic
def char_at(typingctx, p, i):
    """The code point of the valid character at p[i]: its bytes without the UTF-8 marker bits."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(32)
        masks = ir.Constant(ir.ArrayType(word, 16), [0x7F000000] * 12 + [0x1F3F0000] * 2 + [0x0F3F3F00, 0x073F3F3F])
        table = ir.GlobalVariable(builder.module, masks.type, builder.module.get_unique_name("character_bits"))
        table.linkage, table.global_constant, table.initializer = "internal", True, masks
        bytes_ = builder.load(builder.bitcast(builder.gep(args[0], [args[1]]), word.as_pointer()), align=1)
        bytes_ = builder.bswap(bytes_)
        kind = builder.lshr(bytes_, ir.Constant(word, 28))
        mask = builder.load(builder.gep(table, [ir.Constant(word, 0), kind], inbounds=True))
        function = declared(builder, "llvm.x86.bmi.pext.32", word, [word, word])
        return builder.zext(builder.call(function, [bytes_, mask]), ir.IntType(64))

    return types.int64(p, types.int64), codegen


@intrinsic
def deposit(typingctx, x, mask):
    """Put the low bits of x, in order, at the places of the set bits of mask."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        function = declared(builder, "llvm.x86.bmi.pdep.64", word, [word, word])
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def prefetch(typingctx, p, i):
    """Prefetch the cache line of p[i]."""

    def codegen(context, builder, signature, args):
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function = declared(builder, "llvm.prefetch.p0i8", ir.VoidType(), [byte, word, word, word])
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
def leading_zeros(typingctx, x):
    """The number of zero bits above the highest one; 64 for 0."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def popcount(typingctx, x):
    """The number of one bits."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


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


@intrinsic
def clear64(typingctx, p, i):
    """Write 64 zero bytes."""

    def codegen(context, builder, signature, args):
        vector = ir.VectorType(ir.IntType(8), 64)
        place = builder.bitcast(builder.gep(args[0], [args[1]]), vector.as_pointer())
        builder.store(ir.Constant(vector, None), place, align=1)
        return context.get_dummy_value()

    return types.void(p, types.int64), codegen


_EVERYWHERE: dict[str, Any] = {
    **LANES,
    "pointer": pointer,
    "bit_mask": bit_mask,
    "clear64": clear64,
    "range_mask": range_mask,
    "fold_mask": fold_mask,
    "load64": load64,
    "advance": advance,
    "copy64": copy64,
    "copy16": copy16,
    "store64": store64,
    "prefetch": prefetch,
    "trailing_zeros": trailing_zeros,
    "leading_zeros": leading_zeros,
    "popcount": popcount,
    "mix": mix,
    **ADDRESSES,
    "tuple_head": tuple_head,
}


def instructions(features: set[str]) -> dict[str, Any]:
    """Return the primitives that are a few instructions on processors with these features, by name."""
    found = dict(_EVERYWHERE)
    if "avx512vbmi2" in features:
        # One instruction packs the positions of a mask; otherwise LLVM would emit code for each byte.
        found |= PACKING
    if "bmi2" in features:
        found |= {"char_at": char_at, "deposit": deposit}
    return found
