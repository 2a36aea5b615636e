"""Vectors of 32-bit lanes as values that stay in registers: the primitives of `jit.py` whose names end in `lane(s)`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from subwords.kernels.llvm_bytes import declared

WORD = ir.IntType(32)


class Lanes(types.Type):
    """A vector of `count` unsigned integers of 32 bits."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Lanes({count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(WORD, fe_type.count))


def _loaded(count):
    @intrinsic
    def load(typingctx, p):
        def codegen(context, builder, signature, args):
            vector = ir.VectorType(WORD, count).as_pointer()
            return builder.load(builder.bitcast(args[0], vector), align=4)

        return Lanes(count)(p), codegen

    return load


@intrinsic
def lowest_lane(typingctx, lanes):
    """The smallest lane."""

    def codegen(context, builder, signature, args):
        name = f"llvm.vector.reduce.umin.v{lanes.count}i32"
        least = builder.call(declared(builder, name, WORD, [args[0].type]), [args[0]])
        return builder.zext(least, ir.IntType(64))

    return types.uint64(lanes), codegen


@intrinsic
def put_lane(typingctx, lanes, i, value):
    """The same lanes with `value` in lane i."""

    def codegen(context, builder, signature, args):
        vector, i, value = args
        kind, zeros = vector.type, ir.Constant(ir.VectorType(WORD, lanes.count), [0] * lanes.count)
        some = ir.Constant(kind, ir.Undefined)

        def spread(number):
            first = builder.insert_element(some, builder.trunc(number, WORD), ir.Constant(WORD, 0))
            return builder.shuffle_vector(first, some, zeros)

        places = ir.Constant(kind, list(range(lanes.count)))
        return builder.select(builder.icmp_unsigned("==", places, spread(i)), spread(value), vector)

    return lanes(lanes, types.int64, types.uint64), codegen


LANES: dict[str, Any] = {
    "few_lanes": _loaded(16),
    "some_lanes": _loaded(32),
    "many_lanes": _loaded(64),
    "lowest_lane": lowest_lane,
    "put_lane": put_lane,
}
