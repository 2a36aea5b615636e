"""The primitives of kernels as LLVM instructions, which LLVM lowers to the best ones of the processor.

A primitive is a row: the types of its parameters and of its result, and a function that takes LLVM's builder and the
arguments, and emits the instructions. Its twin in Python, of the same name, says what it does.
"""

from __future__ import annotations

import inspect
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from subwords.kernels.entry import HEADS, WEB_HEADS

BIT, BYTE, LANE, WORD = map(ir.IntType, (1, 8, 32, 64))
FLAGS, BYTES, WIDE = ir.VectorType(BIT, 64), ir.VectorType(BYTE, 64), ir.VectorType(LANE, 16)

# ------------------------------------------------------------------ what primitives are made of


def _called(builder, name, returns, *args):
    """Call the LLVM intrinsic of this name."""
    kind = ir.FunctionType(returns, [each.type for each in args])
    return builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), args)


def _address_of(builder, p, i, kind):
    """The address of p[i], as a pointer to a type."""
    return builder.bitcast(builder.gep(p, [i]), kind.as_pointer())


def _loaded(builder, p, i, kind=BYTES):
    """Load a value at p + i, however aligned: 64 bytes, or of another type."""
    return builder.load(_address_of(builder, p, i, kind), align=1)


def _stored(builder, value, p, i, align=1):
    """Store a value at p + i."""
    builder.store(value, _address_of(builder, p, i, value.type), align=align)


def _splat(builder, value, count=64):
    """One value in all lanes."""
    some = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    one_lane = builder.insert_element(some, value, LANE(0))
    return builder.shuffle_vector(one_lane, some, ir.Constant(ir.VectorType(LANE, count), None))


def _splat_byte(builder, value):
    """The low byte of a number in all of 64 lanes."""
    return _splat(builder, builder.trunc(value, BYTE))


# ------------------------------------------------------------------ Python's objects

# Whether code is compiled for other processes too: it then reads HEADS from variables. Or WEB.
PORTABLE: bool | str = False
WEB = "simd128"  # the feature that only processors of WebAssembly have


def _head(builder: Any, name: str) -> Any:
    if PORTABLE == WEB:
        return WORD(WEB_HEADS[name])
    if not PORTABLE:
        return WORD(HEADS[name])
    module = builder.module
    place = module.globals.get(name) or ir.GlobalVariable(module, WORD, name)
    value = builder.load(place)
    value.set_metadata("invariant.load", module.add_metadata([]))
    return value


def _word_at(builder, thing, place):
    return builder.load(_address_of(builder, thing, place, WORD))


def _data_of(builder, array, kind):
    """The address of an array's data, as a pointer of a type."""
    return builder.inttoptr(_word_at(builder, array, _head(builder, "subwords_array_head")), kind)


def length_of(builder, array):
    """The length of an array. After the data come the number of dimensions and the place of the dimensions."""
    place = builder.add(_head(builder, "subwords_array_head"), WORD(16))
    return builder.load(builder.inttoptr(_word_at(builder, array, place), WORD.as_pointer()))


def item_of(builder, items, number):
    """The address of an object in a tuple."""
    place = builder.add(_head(builder, "subwords_tuple_head"), WORD(8 * number))
    return builder.inttoptr(_word_at(builder, items, place), BYTE.as_pointer())


@intrinsic
def _pointer(typingctx, array):
    """The typed pointer to an array's data."""

    def codegen(context, builder, signature, args):
        return _data_of(builder, args[0], context.get_data_type(signature.return_type))

    return types.CPointer(array.dtype)(array), codegen


@intrinsic
def _call_at(typingctx, address, *arguments):
    """Call the C function at an address with integers and addresses."""

    def codegen(context, builder, signature, args):
        function = ir.FunctionType(WORD, [WORD] * len(arguments)).as_pointer()
        values = [builder.extract_value(args[1], k) for k in range(len(arguments))]
        return builder.call(builder.inttoptr(args[0], function), values)

    return types.int64(types.int64, types.StarArgTuple([types.int64] * len(arguments))), codegen


def _load_at(kind):
    return lambda b, at: b.zext(b.load(b.inttoptr(at, kind.as_pointer()), align=1), WORD)


def _store_at(kind):
    return lambda b, at, value: b.store(b.trunc(value, kind), b.inttoptr(at, kind.as_pointer()), align=1)


def _copy_at(b, target, source):
    place = ir.VectorType(BYTE, 16).as_pointer()
    b.store(b.load(b.inttoptr(source, place), align=1), b.inttoptr(target, place), align=1)


def _narrow_at(bits):
    """Store the low bytes of 16 characters of so many bits; the bits that any of them has."""
    kind = ir.VectorType(ir.IntType(bits), 16)

    def emit(b, target, source):
        found = b.load(b.inttoptr(source, kind.as_pointer()), align=1)
        low = found if bits == 8 else b.trunc(found, ir.VectorType(BYTE, 16))
        b.store(low, b.inttoptr(target, low.type.as_pointer()), align=1)
        return b.zext(_called(b, f"llvm.vector.reduce.or.v16i{bits}", kind.element, found), WORD)

    return emit


# ------------------------------------------------------------------ lanes of 32 bits


class Lanes(types.Type):
    """A vector of `count` unsigned integers of 32 bits."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Lanes({count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        vector = ir.VectorType(LANE, fe_type.count)
        super().__init__(dmm, fe_type, vector.as_pointer() if PORTABLE == WEB else vector)


def _load_lanes(count):
    return lambda b, p: b.load(_lanes_at(count)(b, p), align=4)


def _lowest_lane(b, lanes):
    return b.zext(_called(b, f"llvm.vector.reduce.umin.v{lanes.type.count}i32", LANE, lanes), WORD)


def _put_lane(b, lanes, i, value):
    count = lanes.type.count
    i, value = _splat(b, b.trunc(i, LANE), count), _splat(b, b.trunc(value, LANE), count)
    return b.select(b.icmp_unsigned("==", ir.Constant(lanes.type, [*range(count)]), i), value, lanes)


# Where a vector has four lanes, to put one of many takes an instruction for each: lanes stay where they were loaded.


def _lanes_at(count):
    vector = ir.VectorType(LANE, count).as_pointer()
    return lambda b, p: b.bitcast(p, vector)


def _store_lane_at(b, lanes, i, value):
    _stored(b, b.trunc(value, LANE), b.bitcast(lanes, LANE.as_pointer()), i, 4)
    return lanes


# ------------------------------------------------------------------ packing (AVX-512 VBMI2)


def _compress(b, lanes, mask):
    """The lanes whose bits are set, packed together; zeros after them."""
    return _called(b, "llvm.x86.avx512.mask.compress.v64i8", BYTES, lanes, BYTES(None), b.bitcast(mask, FLAGS))


def _widened(b, packed, part):
    """A quarter of 64 bytes, in lanes of 32 bits."""
    return b.zext(b.shuffle_vector(packed, packed, WIDE([16 * part + k for k in range(16)])), WIDE)


def _write_bits(b, p, i, base, mask, flags=None):
    places = BYTES([*range(64)])
    if flags is not None:  # bit 7 of a place is its flag until it has 32 bits
        places = b.select(b.bitcast(flags, FLAGS), BYTES([k | 128 for k in range(64)]), places)
    packed, start = _compress(b, places, mask), _splat(b, b.trunc(base, LANE), 16)
    for part in range(4):
        wide = _widened(b, packed, part)
        if flags is None:
            ends = b.add(wide, start)
        else:
            flag = b.shl(b.and_(wide, WIDE([128] * 16)), WIDE([24] * 16))
            ends = b.or_(b.add(b.and_(wide, WIDE([63] * 16)), start), flag)
        _stored(b, ends, p, b.add(i, WORD(16 * part)), 4)
    return b.add(i, b.ctpop(mask))


def _code_points(b, lead, second, third):
    """The code points of characters of up to three bytes, in lanes of 32 bits."""

    def bits(value, mask, shift):
        return b.shl(b.and_(value, WIDE([mask] * 16)), WIDE([shift] * 16))

    of_three = b.or_(b.or_(bits(lead, 0x0F, 12), bits(second, 0x3F, 6)), bits(third, 0x3F, 0))
    of_two = b.or_(bits(lead, 0x1F, 6), bits(second, 0x3F, 0))
    longer = b.select(b.icmp_unsigned("<", lead, WIDE([0xE0] * 16)), of_two, of_three)
    return b.select(b.icmp_unsigned("<", lead, WIDE([0x80] * 16)), lead, longer)


def _char_parts(b, p, i, starts):
    """Yield (number of the first, code points of 16 characters) for the characters of a block."""
    bytes_ = [_compress(b, _loaded(b, p, b.add(i, WORD(k))), starts) for k in range(3)]
    count = b.ctpop(starts)
    for part in range(4):
        with b.if_then(b.icmp_unsigned(">", count, WORD(16 * part))):
            yield WORD(16 * part), _code_points(b, *(_widened(b, lanes, part) for lanes in bytes_))


def _gather(b, table, codes, width):
    """The elements of `width` bytes of a table by code point, in lanes of 32 bits with other bits above."""
    every = ir.Constant(ir.VectorType(BIT, 16), [1] * 16)
    return _called(b, "llvm.x86.avx512.mask.gather.dpi.512", WIDE, WIDE(None), table, codes, every, LANE(width))


def _store_parts(b, array, at, values, bits):
    """Store lanes of 32 bits as elements of `bits` bits."""
    _stored(b, b.trunc(values, ir.VectorType(ir.IntType(bits), 16)), array, at, bits // 8)


def _classify(b, q, n, classes, p, i, starts):
    for first, codes in _char_parts(b, p, i, starts):
        _store_parts(b, q, b.add(n, first), _gather(b, classes, codes, 1), 8)


def _classify_members(b, q, r, kept, n, classes, p, i, starts):
    table = b.bitcast(classes, BYTE.as_pointer())
    for first, codes in _char_parts(b, p, i, starts):
        at, found = b.add(n, first), _gather(b, table, codes, 2)
        _store_parts(b, q, at, found, 8)
        _store_parts(b, r, at, b.lshr(found, WIDE([8] * 16)), 8)
        _store_parts(b, kept, at, codes, 16)


def _pack64(b, q, j, p, i, mask):
    _stored(b, _compress(b, _loaded(b, p, i), mask), q, j)


def _put_at(bits):
    """Write the UTF-8 of 16 characters of so many bits: its size, or 0 if there is a surrogate."""
    kind = ir.VectorType(ir.IntType(bits), 16)

    def many(value):
        return WIDE([value] * 16)

    def emit(b, target, source):
        found = b.load(b.inttoptr(source, kind.as_pointer()), align=1)
        char = found if bits == 32 else b.zext(found, WIDE)

        def part(shift, mark, place):  # six bits of each character, as a byte of its UTF-8
            low = b.and_(b.lshr(char, many(shift)), many(0x3F))
            return b.shl(b.or_(low, many(mark)), many(8 * place))

        def together(mark, size):  # the first byte has all bits that are left
            value = b.or_(b.lshr(char, many(6 * size - 6)), many(mark))
            for place in range(1, size):
                value = b.or_(value, part(6 * (size - 1 - place), 0x80, place))
            return value

        words, kept = char, many(0xFF)
        for least, mark, size in ((0x80, 0xC0, 2), (0x800, 0xE0, 3), (0x10000, 0xF0, 4)):
            if least < 1 << bits:
                longer = b.icmp_unsigned(">=", char, many(least))
                words = b.select(longer, together(mark, size), words)
                kept = b.select(longer, many((1 << 8 * size) - 1), kept)
        mask = b.bitcast(b.icmp_unsigned("!=", b.bitcast(kept, BYTES), BYTES(None)), WORD)
        packed = _compress(b, b.bitcast(words, BYTES), mask)
        b.store(packed, b.inttoptr(target, BYTES.as_pointer()), align=1)
        surrogates = b.icmp_unsigned("==", b.lshr(char, many(11)), many(0x1B))
        any_one = b.icmp_unsigned("!=", b.bitcast(surrogates, ir.IntType(16)), ir.IntType(16)(0))
        return b.select(any_one, WORD(0), b.ctpop(mask))

    return emit


def _pack64_by_words(b, q, j, p, i, mask):
    """The same with BMI2, eight bytes at a time."""
    parts = []
    for k in range(8):
        bits = b.and_(b.lshr(mask, WORD(8 * k)), WORD(0xFF))
        place = b.add(i, WORD(8 * k))
        chosen = b.mul(_called(b, "llvm.x86.bmi.pdep.64", WORD, bits, WORD(0x0101010101010101)), WORD(0xFF))
        word = _loaded(b, p, place, WORD)
        parts.append((_called(b, "llvm.x86.bmi.pext.64", WORD, word, chosen), b.ctpop(bits)))
    for word, count in parts:
        _stored(b, word, q, j)
        j = b.add(j, count)


# ------------------------------------------------------------------ bytes and bits


def _range(b, lanes, lo, hi):
    """Bit k is set if lo <= lanes[k] <= hi, by one subtraction and one unsigned comparison."""
    lo, hi = b.trunc(lo, BYTE), b.trunc(hi, BYTE)
    return b.icmp_unsigned("<=", b.sub(lanes, _splat(b, lo)), _splat(b, b.sub(hi, lo)))


def _range_flags(b, p, i, lo, hi):
    return _range(b, _loaded(b, p, i), lo, hi)


def _fold_flags(b, p, i, lo, hi):
    return _range(b, b.or_(_loaded(b, p, i), _splat(b, BYTE(32))), lo, hi)


def _bit_flags(b, p, i, bit):
    bits = b.and_(_loaded(b, p, i), _splat_byte(b, bit))
    return b.icmp_unsigned("!=", bits, BYTES(None))


def _mask(flags):
    """The flags of 64 bytes as the bits of a word."""
    return lambda b, *args: b.bitcast(flags(b, *args), WORD)


def _mask_by_parts(flags):
    """The same for WebAssembly, for which LLVM would take each of them by itself."""

    def emit(b, *args):
        lanes, mask = b.sext(flags(b, *args), BYTES), WORD(0)
        for part in range(0, 64, 16):
            some = b.shuffle_vector(lanes, lanes, ir.Constant(ir.VectorType(LANE, 16), [*range(part, part + 16)]))
            bits = b.zext(_called(b, "llvm.wasm.bitmask.v16i8", LANE, some), WORD)
            mask = b.or_(mask, b.shl(bits, WORD(part)))
        return mask

    return emit


def _add64(b, q, j, p, i, lo, hi, more):
    inside, old = _range(b, _loaded(b, p, i), lo, hi), _loaded(b, q, j)
    _stored(b, b.select(inside, b.add(old, _splat_byte(b, more)), old), q, j)


def _copy16(b, q, j, p, i, n):
    """Under a mask."""
    mask = b.icmp_unsigned("<", WIDE([*range(16)]), _splat(b, b.trunc(n, LANE), 16))
    to, at = _address_of(b, q, j, WIDE), _address_of(b, p, i, WIDE)
    some = ir.Constant(WIDE, ir.Undefined)
    value = _called(b, "llvm.masked.load.v16i32.p0v16i32", WIDE, at, LANE(4), mask, some)
    _called(b, "llvm.masked.store.v16i32.p0v16i32", ir.VoidType(), value, to, LANE(4), mask)


def _char_at(b, p, i):
    """Its bytes without the UTF-8 marker bits, which depend on the first four bits."""
    masks = ir.Constant(ir.ArrayType(LANE, 16), [0x7F000000] * 12 + [0x1F3F0000] * 2 + [0x0F3F3F00, 0x073F3F3F])
    table = ir.GlobalVariable(b.module, masks.type, b.module.get_unique_name("character_bits"))
    table.linkage, table.global_constant, table.initializer = "internal", True, masks
    bytes_ = b.bswap(_loaded(b, p, i, LANE))
    mask = b.load(b.gep(table, [LANE(0), b.lshr(bytes_, LANE(28))], inbounds=True))
    return b.zext(_called(b, "llvm.x86.bmi.pext.32", LANE, bytes_, mask), WORD)


def _prefetch(b, p, i):
    _called(b, "llvm.prefetch.p0i8", ir.VoidType(), _address_of(b, p, i, BYTE), LANE(0), LANE(3), LANE(1))


def _mix(b, x, y):
    wide = ir.IntType(128)
    product = b.mul(b.zext(x, wide), b.zext(y, wide))
    return b.xor(b.trunc(product, WORD), b.trunc(b.lshr(product, wide(64)), WORD))


def _scatter_by_words(b, low, high, x, y):
    """Without a product of 128 bits: from the upper half of a sum, whose highest bits depend on all bytes."""
    total = b.add(b.mul(low, x), b.mul(high, y))
    return b.xor(b.lshr(total, WORD(32)), b.lshr(total, WORD(47)))


# ------------------------------------------------------------------ the rows

KINDS: dict[str, Any] = {
    "i64": types.int64,
    "u64": types.uint64,
    "void": types.void,
    **{f"lanes{count}": Lanes(count) for count in (16, 32, 64)},
}

EVERYWHERE: dict[str, tuple[str, Any]] = {
    # Addresses and objects.
    "load_at": ("i64 -> i64", _load_at(WORD)),
    "id_at": ("i64 -> i64", _load_at(LANE)),
    "byte_at": ("i64 -> i64", _load_at(BYTE)),
    "store_at": ("i64 i64 -> void", _store_at(WORD)),
    "store_id_at": ("i64 i64 -> void", _store_at(LANE)),
    "store_byte_at": ("i64 i64 -> void", _store_at(BYTE)),
    "copy_at": ("i64 i64 -> void", _copy_at),
    "narrow8_at": ("i64 i64 -> i64", _narrow_at(8)),
    "narrow16_at": ("i64 i64 -> i64", _narrow_at(16)),
    "narrow32_at": ("i64 i64 -> i64", _narrow_at(32)),
    "tuple_head": ("-> i64", lambda b: _head(b, "subwords_tuple_head")),
    # Lanes of 32 bits.
    "few_lanes": ("p -> lanes16", _load_lanes(16)),
    "some_lanes": ("p -> lanes32", _load_lanes(32)),
    "many_lanes": ("p -> lanes64", _load_lanes(64)),
    "store_lanes": ("p lanes -> void", lambda b, p, lanes: _stored(b, lanes, p, WORD(0), 4)),
    "lowest_lane": ("lanes -> u64", _lowest_lane),
    "put_lane": ("lanes i64 u64 -> lanes", _put_lane),
    # 64 bytes.
    "bit_mask": ("p i64 i64 -> u64", _mask(_bit_flags)),
    "range_mask": ("p i64 i64 i64 -> u64", _mask(_range_flags)),
    "fold_mask": ("p i64 i64 i64 -> u64", _mask(_fold_flags)),
    "add64": ("q i64 p i64 i64 i64 i64 -> void", _add64),
    "clear64": ("p i64 -> void", lambda b, p, i: _stored(b, BYTES(None), p, i)),
    "copy64": ("q i64 p i64 -> void", lambda b, q, j, p, i: _stored(b, _loaded(b, p, i), q, j)),
    "copy16": ("q i64 p i64 i64 -> void", _copy16),
    # Words, pointers and bits.
    "load64": ("p i64 -> u64", lambda b, p, i: _loaded(b, p, i, WORD)),
    "store64": ("p i64 u64 -> void", lambda b, p, i, value: _stored(b, value, p, i, 4)),
    "advance": ("p i64 -> p", lambda b, p, k: b.gep(p, [k])),
    "prefetch": ("p i64 -> void", _prefetch),
    "trailing_zeros": ("u64 -> i64", lambda b, x: b.cttz(x, BIT(0))),
    "leading_zeros": ("u64 -> i64", lambda b, x: b.ctlz(x, BIT(0))),
    "popcount": ("u64 -> i64", lambda b, x: b.ctpop(x)),
    "mix": ("u64 u64 -> u64", _mix),
}
WITH_BMI2: dict[str, tuple[str, Any]] = {
    "char_at": ("p i64 -> i64", _char_at),
    "deposit": ("u64 u64 -> u64", lambda b, x, mask: _called(b, "llvm.x86.bmi.pdep.64", WORD, x, mask)),
    "extract": ("u64 u64 -> u64", lambda b, x, mask: _called(b, "llvm.x86.bmi.pext.64", WORD, x, mask)),
    "pack64": ("q i64 p i64 u64 -> void", _pack64_by_words),
}
# One instruction packs the positions of a mask; otherwise LLVM would emit code for each byte.
WITH_VBMI2: dict[str, tuple[str, Any]] = {
    "pack64": ("q i64 p i64 u64 -> void", _pack64),
    **{f"put{bits}_at": ("i64 i64 -> i64", _put_at(bits)) for bits in (8, 16, 32)},
    "write_bits": ("p i64 i64 u64 -> i64", _write_bits),
    "write_flagged_bits": ("p i64 i64 u64 u64 -> i64", _write_bits),
    "classify": ("q i64 classes p i64 u64 -> void", _classify),
    "classify_members": ("q r codes i64 classes p i64 u64 -> void", _classify_members),
}
ON_THE_WEB: dict[str, tuple[str, Any]] = {
    **{f"{name}_lanes": (f"p -> lanes{n}", _lanes_at(n)) for name, n in (("few", 16), ("some", 32), ("many", 64))},
    "store_lanes": ("p lanes -> void", lambda b, p, lanes: None),
    "lowest_lane": ("lanes -> u64", lambda b, lanes: _lowest_lane(b, b.load(lanes, align=4))),
    "put_lane": ("lanes i64 u64 -> lanes", _store_lane_at),
    "touches": ("-> i64", lambda b: WORD(1)),
    "scatter": ("u64 u64 u64 u64 -> u64", _scatter_by_words),
    "bit_mask": ("p i64 i64 -> u64", _mask_by_parts(_bit_flags)),
    "range_mask": ("p i64 i64 i64 -> u64", _mask_by_parts(_range_flags)),
    "fold_mask": ("p i64 i64 i64 -> u64", _mask_by_parts(_fold_flags)),
}
NOT_ON_THE_WEB = ("copy16", "mix")  # stores under a mask, and products of 128 bits: their twins are compiled


def _primitive(name, kinds, emit):
    """The primitive of a row. A word that names no type stands for the type of the argument, as in "p i64 -> p"."""
    *words, _, result = kinds.split()

    def typed(typingctx, *arguments):
        known = dict(zip(words, arguments, strict=True)) | KINDS

        def codegen(context, builder, signature, args):
            value = emit(builder, *args)
            return context.get_dummy_value() if result == "void" else value

        return known[result](*(known[word] for word in words)), codegen

    # Numba calls `typed` by this signature: `*arguments` would be one tuple.
    places = [inspect.Parameter(f"at{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(len(words) + 1)]
    typed.__name__, typed.__signature__ = name, inspect.Signature(places)
    return intrinsic(typed)


def instructions(features: set[str]) -> dict[str, Any]:
    """Return the primitives that are a few instructions on processors with these features, by name."""
    rows = EVERYWHERE | (WITH_BMI2 if "bmi2" in features else {}) | (WITH_VBMI2 if "avx512vbmi2" in features else {})
    if WEB in features:
        rows = {name: row for name, row in (rows | ON_THE_WEB).items() if name not in NOT_ON_THE_WEB}
    made = {name: _primitive(name, *row) for name, row in rows.items()}
    return {"pointer": _pointer, "call_at": _call_at, **made}
