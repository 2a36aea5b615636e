"""The primitives of kernels as LLVM instructions, which LLVM lowers to the best ones of the processor."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from subwords.kernels.entry import HEADS

# ------------------------------------------------------------------ declarations, and 64 bytes as a vector


def declared(builder, name, returns, arguments):
    """The LLVM intrinsic of this name."""
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(returns, arguments), name)


def loaded(builder, p, i):
    """Load 64 bytes at p + i, however aligned, as a vector."""
    vector = ir.VectorType(ir.IntType(8), 64)
    address = builder.bitcast(builder.gep(p, [i]), vector.as_pointer())
    return builder.load(address, align=1)


def splat(builder, value):
    """One byte in all of 64 lanes."""
    zero = ir.Constant(ir.VectorType(ir.IntType(8), 64), None)
    one_lane = builder.insert_element(zero, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one_lane, zero, ir.Constant(ir.VectorType(ir.IntType(32), 64), None))


# ------------------------------------------------------------------ Python's objects

WORD = ir.IntType(64)
# Whether code is compiled for other processes too: it then reads HEADS from variables.
PORTABLE = False


def _head(builder: Any, name: str) -> Any:
    if not PORTABLE:
        return ir.Constant(WORD, HEADS[name])
    module = builder.module
    place = module.globals.get(name) or ir.GlobalVariable(module, WORD, name)
    value = builder.load(place)
    value.set_metadata("invariant.load", module.add_metadata([]))
    return value


def _word_at(builder, thing, place):
    return builder.load(builder.bitcast(builder.gep(thing, [place]), WORD.as_pointer()))


def data_of(builder, array, kind):
    """The address of an array's data, as a pointer of a type."""
    return builder.inttoptr(_word_at(builder, array, _head(builder, "subwords_array_head")), kind)


def length_of(builder, array):
    """The length of an array. After the data come the number of dimensions and the place of the dimensions."""
    place = builder.add(_head(builder, "subwords_array_head"), ir.Constant(WORD, 16))
    return builder.load(builder.inttoptr(_word_at(builder, array, place), WORD.as_pointer()))


def item_of(builder, items, number):
    """The address of an object in a tuple."""
    place = builder.add(_head(builder, "subwords_tuple_head"), ir.Constant(WORD, 8 * number))
    return builder.inttoptr(_word_at(builder, items, place), ir.IntType(8).as_pointer())


@intrinsic
def tuple_head(typingctx):
    """The number of bytes before a tuple's items."""

    def codegen(context, builder, signature, args):
        return _head(builder, "subwords_tuple_head")

    return types.int64(), codegen


# ------------------------------------------------------------------ addresses: the primitives of `fastpath.py`


def _loaded(width):
    """A function that loads an unsigned integer of some bits from an address."""

    def codegen(context, builder, signature, args):
        value = builder.load(builder.inttoptr(args[0], ir.IntType(width).as_pointer()))
        return value if width == 64 else builder.zext(value, ir.IntType(64))

    return codegen


@intrinsic
def load_at(typingctx, address):
    """The integer of 64 bits at an address."""
    return types.int64(types.int64), _loaded(64)


@intrinsic
def id_at(typingctx, address):
    """The integer of 32 bits at an address."""
    return types.int64(types.int64), _loaded(32)


@intrinsic
def byte_at(typingctx, address):
    """The byte at an address."""
    return types.int64(types.int64), _loaded(8)


def _stored(width):
    def codegen(context, builder, signature, args):
        kind = ir.IntType(width)
        value = args[1] if width == 64 else builder.trunc(args[1], kind)
        builder.store(value, builder.inttoptr(args[0], kind.as_pointer()))
        return context.get_dummy_value()

    return codegen


@intrinsic
def store_at(typingctx, address, value):
    """Write an integer of 64 bits."""
    return types.void(types.int64, types.int64), _stored(64)


@intrinsic
def store_byte_at(typingctx, address, value):
    """Write a byte."""
    return types.void(types.int64, types.int64), _stored(8)


@intrinsic
def copy_at(typingctx, target, source):
    """Copy 16 bytes, wherever they are."""

    def codegen(context, builder, signature, args):
        place = ir.VectorType(ir.IntType(8), 16).as_pointer()
        value = builder.load(builder.inttoptr(args[1], place), align=1)
        builder.store(value, builder.inttoptr(args[0], place), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def call_at(typingctx, address, *arguments):
    """Call the C function at an address with integers and addresses."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word] * len(arguments)).as_pointer()
        values = [builder.extract_value(args[1], k) for k in range(len(arguments))]
        return builder.call(builder.inttoptr(args[0], function), values)

    return types.int64(types.int64, types.StarArgTuple([types.int64] * len(arguments))), codegen


@intrinsic
def store_id_at(typingctx, address, value):
    """Write an integer of 32 bits."""
    return types.void(types.int64, types.int64), _stored(32)


ADDRESSES: dict[str, Any] = {
    "load_at": load_at,
    "id_at": id_at,
    "byte_at": byte_at,
    "store_at": store_at,
    "store_id_at": store_id_at,
    "store_byte_at": store_byte_at,
    "copy_at": copy_at,
    "call_at": call_at,
}


# ------------------------------------------------------------------ lanes of 32 bits: the primitives of `arithmetic.py`

LANE = ir.IntType(32)


class Lanes(types.Type):
    """A vector of `count` unsigned integers of 32 bits."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Lanes({count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(LANE, fe_type.count))


def _lanes_loaded(count):
    @intrinsic
    def load(typingctx, p):
        def codegen(context, builder, signature, args):
            vector = ir.VectorType(LANE, count).as_pointer()
            return builder.load(builder.bitcast(args[0], vector), align=4)

        return Lanes(count)(p), codegen

    return load


@intrinsic
def lowest_lane(typingctx, lanes):
    """The smallest lane."""

    def codegen(context, builder, signature, args):
        name = f"llvm.vector.reduce.umin.v{lanes.count}i32"
        least = builder.call(declared(builder, name, LANE, [args[0].type]), [args[0]])
        return builder.zext(least, ir.IntType(64))

    return types.uint64(lanes), codegen


@intrinsic
def put_lane(typingctx, lanes, i, value):
    """The same lanes with `value` in lane i."""

    def codegen(context, builder, signature, args):
        vector, i, value = args
        kind, zeros = vector.type, ir.Constant(ir.VectorType(LANE, lanes.count), [0] * lanes.count)
        some = ir.Constant(kind, ir.Undefined)

        def spread(number):
            first = builder.insert_element(some, builder.trunc(number, LANE), ir.Constant(LANE, 0))
            return builder.shuffle_vector(first, some, zeros)

        places = ir.Constant(kind, list(range(lanes.count)))
        return builder.select(builder.icmp_unsigned("==", places, spread(i)), spread(value), vector)

    return lanes(lanes, types.int64, types.uint64), codegen


LANES: dict[str, Any] = {
    "few_lanes": _lanes_loaded(16),
    "some_lanes": _lanes_loaded(32),
    "many_lanes": _lanes_loaded(64),
    "lowest_lane": lowest_lane,
    "put_lane": put_lane,
}


# ------------------------------------------------------------------ packing (AVX-512 VBMI2)


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


@intrinsic
def pack64(typingctx, q, j, p, i, mask):
    """Copy the bytes of the set bits, packed."""

    def codegen(context, builder, signature, args):
        q, j, p, i, mask = args
        packed = _compress(builder, loaded(builder, p, i), mask)
        builder.store(packed, builder.bitcast(builder.gep(q, [j]), packed.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(q, types.int64, p, types.int64, types.uint64), codegen


@intrinsic
def pack64_by_words(typingctx, q, j, p, i, mask):
    """The same with BMI2, eight bytes at a time."""

    def codegen(context, builder, signature, args):
        q, j, p, i, mask = args
        ones, byte = ir.Constant(WORD, 0x0101010101010101), ir.Constant(WORD, 0xFF)
        spread, gather = (declared(builder, f"llvm.x86.bmi.{name}.64", WORD, [WORD, WORD]) for name in ("pdep", "pext"))
        parts = []
        for k in range(8):
            bits = builder.and_(builder.lshr(mask, ir.Constant(WORD, 8 * k)), byte)
            place = builder.gep(p, [builder.add(i, ir.Constant(WORD, 8 * k))])
            chosen = builder.mul(builder.call(spread, [bits, ones]), byte)
            word = builder.load(builder.bitcast(place, WORD.as_pointer()), align=1)
            parts.append((builder.call(gather, [word, chosen]), builder.ctpop(bits)))
        for word, count in parts:
            builder.store(word, builder.bitcast(builder.gep(q, [j]), WORD.as_pointer()), align=1)
            j = builder.add(j, count)
        return context.get_dummy_value()

    return types.void(q, types.int64, p, types.int64, types.uint64), codegen


PACKING: dict[str, Any] = {
    "pack64": pack64,
    "write_bits": write_bits,
    "write_flagged_bits": write_flagged_bits,
    "classify": classify,
    "classify_members": classify_members,
}


# ------------------------------------------------------------------ the primitives of `jit.py`


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
def extract(typingctx, x, mask):
    """Put the bits of x at the places of the set bits of mask together."""

    def codegen(context, builder, signature, args):
        return builder.call(declared(builder, "llvm.x86.bmi.pext.64", WORD, [WORD, WORD]), args)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def add64(typingctx, q, j, p, i, lo, hi, more):
    """Add a number to the bytes of q where those of p are in a range."""

    def codegen(context, builder, signature, args):
        byte = ir.IntType(8)
        lo, hi, more = (splat(builder, builder.trunc(each, byte)) for each in args[4:])
        lanes, place = loaded(builder, args[2], args[3]), builder.gep(args[0], [args[1]])
        inside = builder.icmp_unsigned("<=", builder.sub(lanes, lo), builder.sub(hi, lo))
        old = loaded(builder, args[0], args[1])
        new = builder.select(inside, builder.add(old, more), old)
        builder.store(new, builder.bitcast(place, new.type.as_pointer()), align=1)
        return context.get_dummy_value()

    places = types.int64
    return types.void(q, places, p, places, places, places, places), codegen


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
    "add64": add64,
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
    if "bmi2" in features:
        found |= {"char_at": char_at, "deposit": deposit, "extract": extract, "pack64": pack64_by_words}
    if "avx512vbmi2" in features:
        # One instruction packs the positions of a mask; otherwise LLVM would emit code for each byte.
        found |= PACKING
    return found
