"""Reading Python's objects as LLVM instructions; `heads.py` says where they have what."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from subwords.kernels.heads import HEADS

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
