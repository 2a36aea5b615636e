"""Primitives that pack bytes by a mask, for processors that do so in one instruction (AVX-512 VBMI2)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from subwords.kernels.llvm_bytes import declared, loaded


def _compress(builder, lanes, mask):
    """The lanes whose bits are set, packed together; zeros after them."""
    flags = builder.bitcast(mask, ir.VectorType(ir.IntType(1), 64))
    function = declared(
        builder, "llvm.x86.avx512.mask.compress.v64i8", lanes.type, [lanes.type, lanes.type, flags.type]
    )
    return builder.call(function, [lanes, ir.Constant(lanes.type, None), flags])


@intrinsic
def write_bits(typingctx, p, i, base, mask):
    """Write base + k to p from index i on for every set bit k of mask; the index after. Overwrites 64 elements."""

    def codegen(context, builder, signature, args):
        byte, word = ir.IntType(8), ir.IntType(32)
        every = ir.Constant(ir.VectorType(byte, 64), [ir.Constant(byte, k) for k in range(64)])
        packed = _compress(builder, every, args[3])
        start = builder.trunc(args[2], word)
        for part in range(4):
            chosen = ir.Constant(ir.VectorType(word, 16), [word(16 * part + k) for k in range(16)])
            wide = builder.zext(builder.shuffle_vector(packed, packed, chosen), ir.VectorType(word, 16))
            splat = builder.insert_element(ir.Constant(wide.type, None), start, word(0))
            splat = builder.shuffle_vector(splat, splat, ir.Constant(ir.VectorType(word, 16), None))
            address = builder.gep(args[0], [builder.add(args[1], ir.Constant(ir.IntType(64), 16 * part))])
            builder.store(builder.add(wide, splat), builder.bitcast(address, wide.type.as_pointer()), align=4)
        return builder.add(args[1], builder.ctpop(args[3]))

    return types.int64(p, types.int64, types.int64, types.uint64), codegen


@intrinsic
def write_flagged_bits(typingctx, p, i, base, mask, flags):
    """The same with bit 31 set for the set bits of `flags`: bit 7 of a position says so until it has 32 bits."""

    def codegen(context, builder, signature, args):
        byte, word = ir.IntType(8), ir.IntType(32)
        wide = ir.VectorType(word, 16)
        chosen = builder.bitcast(args[4], ir.VectorType(ir.IntType(1), 64))
        plain, marked = (ir.Constant(ir.VectorType(byte, 64), [byte(k | flag) for k in range(64)]) for flag in (0, 128))
        packed = _compress(builder, builder.select(chosen, marked, plain), args[3])
        start = builder.insert_element(ir.Constant(wide, None), builder.trunc(args[2], word), word(0))
        start = builder.shuffle_vector(start, start, ir.Constant(wide, None))
        for part in range(4):
            some = ir.Constant(wide, [word(16 * part + k) for k in range(16)])
            places = builder.zext(builder.shuffle_vector(packed, packed, some), wide)
            flag = builder.shl(builder.and_(places, ir.Constant(wide, [128] * 16)), ir.Constant(wide, [24] * 16))
            ends = builder.add(builder.and_(places, ir.Constant(wide, [63] * 16)), start)
            address = builder.gep(args[0], [builder.add(args[1], ir.Constant(ir.IntType(64), 16 * part))])
            builder.store(builder.or_(ends, flag), builder.bitcast(address, wide.as_pointer()), align=4)
        return builder.add(args[1], builder.ctpop(args[3]))

    return types.int64(p, types.int64, types.int64, types.uint64, types.uint64), codegen


def _code_points(builder, lead, second, third):
    """The code points of characters of up to three bytes, in lanes of 32 bits."""

    def bits(value, mask, shift):
        lane = value.type
        return builder.shl(builder.and_(value, ir.Constant(lane, [mask] * 16)), ir.Constant(lane, [shift] * 16))

    of_three = builder.or_(builder.or_(bits(lead, 0x0F, 12), bits(second, 0x3F, 6)), bits(third, 0x3F, 0))
    of_two = builder.or_(bits(lead, 0x1F, 6), bits(second, 0x3F, 0))
    least = [ir.Constant(lead.type, [value] * 16) for value in (0xE0, 0x80)]
    longer = builder.select(builder.icmp_unsigned("<", lead, least[0]), of_two, of_three)
    return builder.select(builder.icmp_unsigned("<", lead, least[1]), lead, longer)


def _char_parts(builder, p, i, starts):
    """Yield (number of the first, code points of 16 characters) for the characters of a block."""
    wide, place = ir.VectorType(ir.IntType(32), 16), ir.IntType(64)
    bytes_ = [_compress(builder, loaded(builder, p, builder.add(i, ir.Constant(place, k))), starts) for k in range(3)]
    count = builder.ctpop(starts)
    for part in range(4):
        with builder.if_then(builder.icmp_unsigned(">", count, ir.Constant(place, 16 * part))):
            chosen = ir.Constant(wide, [16 * part + k for k in range(16)])
            parts = [builder.zext(builder.shuffle_vector(lanes, lanes, chosen), wide) for lanes in bytes_]
            yield ir.Constant(place, 16 * part), _code_points(builder, *parts)


def _gather(builder, table, codes, width):
    """The elements of `width` bytes of a table by code point, in lanes of 32 bits with other bits above."""
    word, some = ir.IntType(32), ir.VectorType(ir.IntType(1), 16)
    kinds = [codes.type, table.type, codes.type, some, word]
    function = declared(builder, "llvm.x86.avx512.mask.gather.dpi.512", codes.type, kinds)
    every = ir.Constant(some, [1] * 16)
    return builder.call(function, [ir.Constant(codes.type, None), table, codes, every, word(width)])


def _store_parts(builder, array, at, values, bits):
    """Store lanes of 32 bits as elements of `bits` bits."""
    small = builder.trunc(values, ir.VectorType(ir.IntType(bits), 16))
    builder.store(small, builder.bitcast(builder.gep(array, [at]), small.type.as_pointer()), align=bits // 8)


@intrinsic
def classify(typingctx, q, n, classes, p, i, starts):
    """Write the classes of 16 characters at a time."""

    def codegen(context, builder, signature, args):
        q, n, classes, p, i, starts = args
        for first, codes in _char_parts(builder, p, i, starts):
            _store_parts(builder, q, builder.add(n, first), _gather(builder, classes, codes, 1), 8)
        return context.get_dummy_value()

    return types.void(q, types.int64, classes, p, types.int64, types.uint64), codegen


@intrinsic
def classify_members(typingctx, q, r, codes, n, classes, p, i, starts):
    """Write the classes, the upper halves and the code points of 16 characters at a time."""

    def codegen(context, builder, signature, args):
        q, r, kept, n, classes, p, i, starts = args
        table = builder.bitcast(classes, ir.IntType(8).as_pointer())
        for first, codes in _char_parts(builder, p, i, starts):
            at, found = builder.add(n, first), _gather(builder, table, codes, 2)
            _store_parts(builder, q, at, found, 8)
            _store_parts(builder, r, at, builder.lshr(found, ir.Constant(found.type, [8] * 16)), 8)
            _store_parts(builder, kept, at, codes, 16)
        return context.get_dummy_value()

    return types.void(q, r, codes, types.int64, classes, p, types.int64, types.uint64), codegen


PACKING: dict[str, Any] = {
    "write_bits": write_bits,
    "write_flagged_bits": write_flagged_bits,
    "classify": classify,
    "classify_members": classify_members,
}
