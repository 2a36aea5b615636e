"""What machine code reads of Python's objects: where an array has its data, and a tuple its items."""

from __future__ import annotations

import ctypes

import numpy as np

from subwords.errors import SubwordsError
from subwords.kernels.layout import CountTable

__all__ = ["HEADS", "check_heads"]

# Bytes before an array's data address, and before a tuple's items. They differ between versions of CPython: since 3.14
# a tuple keeps its hash. Code that is compiled ahead of time reads them from variables with these names.
HEADS = {"subwords_array_head": object.__basicsize__, "subwords_tuple_head": tuple.__basicsize__}


def check_heads() -> None:
    """Raise SubwordsError unless arrays and tuples are laid out as kernels read them."""
    array, items = HEADS.values()
    probe = np.arange(7)
    data = ctypes.c_void_p.from_address(id(probe) + array).value
    shape = ctypes.c_void_p.from_address(id(probe) + array + 16).value
    bundle = CountTable(probe, 1, 2, 3, 4)
    first = ctypes.c_void_p.from_address(id(bundle) + items).value
    if data != probe.ctypes.data or not shape or ctypes.c_ssize_t.from_address(shape).value != 7 or first != id(probe):
        raise SubwordsError(
            "expected arrays and tuples laid out as in CPython, found others; "
            "set SUBWORDS_KERNELS=checked, which is slower"
        )
