"""What the files of LLVM instructions share: declarations, and 64 bytes as a vector."""

from __future__ import annotations

from llvmlite import ir


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
