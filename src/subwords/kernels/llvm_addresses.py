"""The primitives of `fastpath.py` as LLVM instructions: memory and functions by address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


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
