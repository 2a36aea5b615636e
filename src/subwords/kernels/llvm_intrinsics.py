"""The primitives of `jit.py` as LLVM instructions, which LLVM lowers to the best instructions of the processor."""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from subwords.kernels.llvm_addresses import ADDRESSES

# PyArrayObject: the object's head, then data, number of dimensions, and the place of the dimensions.
DATA = object.__basicsize__
DIMENSIONS = DATA + 16
# Whether one instruction packs the positions of a mask; otherwise LLVM would emit code for each byte.
PACKS_BYTES = bool(binding.get_host_cpu_features().get("avx512vbmi2"))
DEPOSITS_BITS = bool(binding.get_host_cpu_features().get("bmi2"))


def field(builder, array, offset):
    """The place `offset` bytes into an object."""
    return builder.gep(array, [ir.Constant(ir.IntType(64), offset)])


def _declared(builder, name, returns, arguments):
    """The LLVM intrinsic of this name."""
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(returns, arguments), name)


@intrinsic
def pointer(typingctx, array):
    """The typed pointer to an array's data."""

    def codegen(context, builder, signature, args):
        target = context.get_data_type(signature.return_type).as_pointer()
        return builder.load(builder.bitcast(field(builder, args[0], DATA), target))

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
    """Bit k is set if lo <= lanes[k] <= hi, by one subtraction and one unsigned comparison."""
    byte = ir.IntType(8)
    lo, hi = builder.trunc(lo, byte), builder.trunc(hi, byte)
    shifted = builder.sub(lanes, _splat(builder, lo))
    inside = builder.icmp_unsigned("<=", shifted, _splat(builder, builder.sub(hi, lo)))
    return builder.bitcast(inside, ir.IntType(64))


@intrinsic
def range_mask(typingctx, p, i, lo, hi):
    """Bit k is set if lo <= p[i + k] <= hi, for 64 bytes."""

    def codegen(context, builder, signature, args):
        return _range(builder, _lanes(builder, args[0], args[1]), args[2], args[3])

    return types.uint64(p, types.int64, types.int64, types.int64), codegen


@intrinsic
def fold_mask(typingctx, p, i, lo, hi):
    """Bit k is set if lo <= (p[i + k] | 32) <= hi, for 64 bytes: a range of ASCII letters in either case."""

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
        load = _declared(builder, "llvm.masked.load.v16i32.p0v16i32", vector, [place, word, flags, vector])
        store = _declared(builder, "llvm.masked.store.v16i32.p0v16i32", ir.VoidType(), [vector, place, word, flags])
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
        function = _declared(builder, "llvm.x86.bmi.pext.32", word, [word, word])
        return builder.zext(builder.call(function, [bytes_, mask]), ir.IntType(64))

    return types.int64(p, types.int64), codegen


@intrinsic
def deposit(typingctx, x, mask):
    """Put the low bits of x, in order, at the places of the set bits of mask."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        function = _declared(builder, "llvm.x86.bmi.pdep.64", word, [word, word])
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def prefetch(typingctx, p, i):
    """Prefetch the cache line of p[i]."""

    def codegen(context, builder, signature, args):
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function = _declared(builder, "llvm.prefetch.p0i8", ir.VoidType(), [byte, word, word, word])
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
def lowest(typingctx, p, blocks):
    """The smallest p[k], by high halves, with k as its low half: eight lanes at a time."""

    def codegen(context, builder, signature, args):
        word, lanes = ir.IntType(64), ir.VectorType(ir.IntType(64), 8)
        constant = lambda values: ir.Constant(lanes, [word(value) for value in values])  # noqa: E731
        p, blocks = args
        before = builder.block
        test, body, after = (builder.append_basic_block(f"lowest.{name}") for name in ("test", "body", "after"))
        builder.branch(test)
        builder.position_at_end(test)
        block, places, least = builder.phi(word), builder.phi(lanes), builder.phi(lanes)
        builder.cbranch(builder.icmp_signed("<", block, blocks), body, after)
        builder.position_at_end(body)
        start = builder.gep(p, [builder.mul(block, word(8))])
        values = builder.load(builder.bitcast(start, lanes.as_pointer()), align=8)
        values = builder.or_(builder.and_(values, constant([0xFFFFFFFF << 32] * 8)), places)
        lower = builder.select(builder.icmp_unsigned("<", values, least), values, least)
        following = builder.add(places, constant([8] * 8))
        block.add_incoming(word(0), before)
        block.add_incoming(builder.add(block, word(1)), body)
        places.add_incoming(constant(range(8)), before)
        places.add_incoming(following, body)
        least.add_incoming(constant([2**64 - 1] * 8), before)
        least.add_incoming(lower, body)
        builder.branch(test)
        builder.position_at_end(after)
        return builder.call(_declared(builder, "llvm.vector.reduce.umin.v8i64", word, [lanes]), [least])

    return types.uint64(p, types.int64), codegen


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


def _compress(builder, lanes, mask):
    """The lanes whose bits are set, packed together; zeros after them."""
    flags = builder.bitcast(mask, ir.VectorType(ir.IntType(1), 64))
    function = _declared(
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


@intrinsic
def classify(typingctx, q, n, classes, p, i, starts):
    """Write the classes of 16 characters at a time."""

    def codegen(context, builder, signature, args):
        q, n, classes, p, i, starts = args
        word, place = ir.IntType(32), ir.IntType(64)
        wide, some = ir.VectorType(word, 16), ir.VectorType(ir.IntType(1), 16)
        bytes_ = [
            _compress(builder, _lanes(builder, p, builder.add(i, ir.Constant(place, k))), starts) for k in range(3)
        ]
        count = builder.ctpop(starts)
        gather = _declared(builder, "llvm.x86.avx512.mask.gather.dpi.512", wide, [wide, classes.type, wide, some, word])

        for part in range(4):
            with builder.if_then(builder.icmp_unsigned(">", count, ir.Constant(place, 16 * part))):
                chosen = ir.Constant(wide, [word(16 * part + k) for k in range(16)])
                parts = [builder.zext(builder.shuffle_vector(lanes, lanes, chosen), wide) for lanes in bytes_]
                codes, every = _code_points(builder, *parts), ir.Constant(some, [1] * 16)
                found = builder.call(gather, [ir.Constant(wide, None), classes, codes, every, word(1)])
                found = builder.trunc(found, ir.VectorType(ir.IntType(8), 16))
                address = builder.gep(q, [builder.add(n, ir.Constant(place, 16 * part))])
                builder.store(found, builder.bitcast(address, found.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(q, types.int64, classes, p, types.int64, types.uint64), codegen


INSTRUCTIONS: dict[str, Any] = {
    "pointer": pointer,
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
    "lowest": lowest,
    "popcount": popcount,
    "mix": mix,
    **ADDRESSES,
}
if PACKS_BYTES:
    INSTRUCTIONS |= {"write_bits": write_bits, "classify": classify}
if DEPOSITS_BITS:
    INSTRUCTIONS |= {"char_at": char_at, "deposit": deposit}
