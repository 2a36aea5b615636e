"""The fast path: built-in functions whose body is a kernel, which reads `str` and makes lists.

ctypes takes 0.1 microseconds for each argument and makes no Python objects, so a short `encode` through it spends 6 of
its 8 microseconds on the way. The functions here are called by the interpreter itself. They work on addresses of
objects, call functions of Python's limited C API by address (`API`), and call other kernels, which are C functions too.

What holds everywhere here:
- The GIL is held: no other thread runs Python code, except while a function of the API runs Python code. Only making a
  list may do that (the garbage collector, before Python 3.12), so a state is out of its slot while a call uses it.
- A result is a new reference, or 0 after an exception was set. None: the call had no effect; use the general path.
- Every path gives back what it took.

The fast path needs CPython with the GIL, compiled kernels, and objects laid out as expected; `available` checks that.
Otherwise callers use their general path, which has the same results: it is the twin of these functions.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.jit import I64, Kernel, declare, helper, inlined, primitive
from subwords.kernels.modes import MODE

HEAD = 16  # bytes of an object before its own fields; its type is the last eight of them
TYPE = 8
DATA, SIZES = HEAD, HEAD + 16  # of an array: the address of its data, that of its size
LIST_ITEMS = HEAD + 8  # of a list: where the address of its items is
API = 0  # the item of what every built-in function carries: the table below

# ------------------------------------------------------------------ functions and objects of Python

_FUNCTIONS = (
    *("Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyList_New", "PyList_SetItem", "PyList_GetItem", "PyList_Size"),
    *("PyLong_FromLongLong", "PyLong_AsLongLong", "PyUnicode_GetLength", "PyUnicode_AsUTF8AndSize"),
    *("PyUnicode_AsUTF8String", "PyUnicode_DecodeUTF8", "PyBytes_AsString", "PyBytes_Size", "PyList_Append"),
    *("PyGC_Disable", "PyGC_Enable", "PyBytes_FromStringAndSize"),
)
TAKE, RELEASE, CLEAR, LIST_NEW, LIST_SET, LIST_GET, LIST_SIZE = range(7)
INT_NEW, INT_VALUE, STR_LENGTH, STR_UTF8, STR_ENCODED, STR_NEW, BYTES_DATA, BYTES_SIZE, LIST_APPEND = range(7, 16)
GC_OFF, GC_ON, BYTES_NEW = 16, 17, 18
# After the functions: None, True, False and types; then how to recognize ASCII strings.
NONE, YES, NO, STR_TYPE, BYTES_TYPE, INT_TYPE, LIST_TYPE, ASCII_PLACE, ASCII_BIT = range(19, 28)

# ------------------------------------------------------------------ primitives: they exist only as machine code


@primitive
def load_at(address):
    """The integer of 64 bits at an address."""
    raise NotImplementedError


@primitive
def id_at(address):
    """The unsigned integer of 32 bits at an address."""
    raise NotImplementedError


@primitive
def byte_at(address):
    """The byte at an address."""
    raise NotImplementedError


@primitive
def store_at(address, value):
    """Write an integer of 64 bits to an address."""
    raise NotImplementedError


@primitive
def store_id_at(address, value):
    """Write an integer of 32 bits to an address."""
    raise NotImplementedError


@primitive
def store_byte_at(address, value):
    """Write a byte to an address."""
    raise NotImplementedError


@primitive
def tuple_head():
    """The number of bytes before a tuple's items."""
    raise NotImplementedError


@primitive
def copy_at(target, source):
    """Copy 16 bytes from one address to another."""
    raise NotImplementedError


@primitive
def call_at(address, *arguments):
    """Call the C function at an address with integers and addresses; a 32-bit result has a random upper half."""
    raise NotImplementedError


# ------------------------------------------------------------------ what the functions are made of


@inlined
def item(items, k):
    """The address of an object in a tuple; the tuple keeps it."""
    return load_at(items + tuple_head() + 8 * k)


@inlined
def data_of(array):
    """The address of an array's data."""
    return load_at(array + DATA)


@inlined
def api_of(carried, function):
    """The address of a function or an object of Python."""
    return load_at(data_of(item(carried, API)) + 8 * function)


@inlined
def new_reference(carried, thing):
    """The object, with a reference for the caller."""
    call_at(api_of(carried, TAKE), thing)
    return thing


@inlined
def nothing(carried):
    """None: the caller uses the general path."""
    return new_reference(carried, api_of(carried, NONE))


@inlined
def is_ascii(carried, text):
    """Whether a `str` is known to be ASCII, so that reading its UTF-8 makes no copy that lives as long as it."""
    return load_at(text + api_of(carried, ASCII_PLACE)) & api_of(carried, ASCII_BIT) != 0


@inlined
def set_item(items, k, thing):
    """Put an object, whose reference this takes, into a list that was just made: PyList_SetItem took 3 ns longer."""
    store_at(load_at(items + LIST_ITEMS) + 8 * k, thing)


@helper
def has_mark(address, size):
    """Whether UTF-8 has a U+2581."""
    for k in range(size - 2):
        if byte_at(address + k) == 0xE2 and byte_at(address + k + 1) == 0x96 and byte_at(address + k + 2) == 0x81:
            return True
    return False


@helper
def copy_bytes(to, address, size):
    """Copy bytes; what they are copied to may not overlap them."""
    k = I64(0)
    while k + 8 <= size:
        store_at(to + k, load_at(address + k))
        k += 8
    while k < size:
        store_byte_at(to + k, byte_at(address + k))
        k += 1


@helper
def utf8_of(carried, text, most, size_at):
    """The UTF-8 of a `str`: (address, the object that owns it or 0); address 0 if it is not a str, too long or invalid.

    Its size is written to `size_at`. A str that is not ASCII would keep a copy of its UTF-8 for ever: it gets bytes.
    """
    if load_at(text + TYPE) != api_of(carried, STR_TYPE) or call_at(api_of(carried, STR_LENGTH), text) > most:
        return I64(0), I64(0)
    if is_ascii(carried, text):
        return call_at(api_of(carried, STR_UTF8), text, size_at), I64(0)
    owner = call_at(api_of(carried, STR_ENCODED), text)
    if owner == 0:  # a lone surrogate, or no memory
        call_at(api_of(carried, CLEAR))
        return I64(0), I64(0)
    size = call_at(api_of(carried, BYTES_SIZE), owner)
    if size > most:
        call_at(api_of(carried, RELEASE), owner)
        return I64(0), I64(0)
    store_at(size_at, size)
    return call_at(api_of(carried, BYTES_DATA), owner), owner


@helper
def new_list(carried, ids, n):
    """A list of n ids, unsigned integers of 32 bits at an address; 0 after an exception."""
    made = call_at(api_of(carried, LIST_NEW), n)
    if made == 0:
        return I64(0)
    for k in range(n):
        number = call_at(api_of(carried, INT_NEW), id_at(ids + 4 * k))
        if number == 0:
            call_at(api_of(carried, RELEASE), made)
            return I64(0)
        set_item(made, k, number)
    return made


@inlined
def new_text(carried, address, size, errors):
    """The `str` of UTF-8 at an address; `errors`: the address of a C string such as b"replace", or 0 for "strict".

    0 after an exception.
    """
    return call_at(api_of(carried, STR_NEW), address, size, errors)


# ------------------------------------------------------------------ kernels that work on addresses

ADDRESS_KERNELS: list[Kernel] = []


def address_kernel(function: Callable[..., int]) -> Kernel:
    """Declare a kernel that works on addresses.

    Most are the body of a built-in function: (what it carries, its argument) to the address of the result.
    """
    ADDRESS_KERNELS.append(declare(function))
    return ADDRESS_KERNELS[-1]


def every_address_kernel() -> list[Kernel]:
    """Import every file of the fast path, and return its kernels; none where it is not available."""
    if available():
        for name in ("fastpath_encode", "fastpath_decode", "fastpath_texts"):
            import_module(f"{__package__}.{name}")
    return ADDRESS_KERNELS if available() else []


# ------------------------------------------------------------------ built-in functions


class _Method(ctypes.Structure):
    """A PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


NO_ARGUMENT, ONE_ARGUMENT = 4, 8  # METH_NOARGS, METH_O


def address_of(kernel: Kernel) -> int:
    """Return the address of a kernel's C function."""
    return ctypes.cast(kernel.with_gil(), ctypes.c_void_p).value or 0  # type: ignore[arg-type]


@cache
def _method(kernel: Kernel, flags: int) -> _Method:
    # Never freed: the functions made of it may outlive everything else.
    method = _Method(kernel.name.encode(), address_of(kernel), flags, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    return method


def built_in(kernel: Kernel, carried: tuple[Any, ...], *, argument: bool = True) -> Callable[..., Any]:
    """Return the built-in function of a kernel; it keeps what it carries."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    made = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ctypes.cast(make, ctypes.c_void_p).value
    )
    function: Callable[..., Any] = made(
        ctypes.addressof(_method(kernel, ONE_ARGUMENT if argument else NO_ARGUMENT)), carried, None
    )
    return function


@cache
def available() -> bool:
    """Whether the fast path works in this process."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    usual = object.__basicsize__ == HEAD and sys.byteorder == "little"
    return MODE == "compiled" and sys.implementation.name == "cpython" and gil and usual and _lists_as_expected()


def _lists_as_expected() -> bool:
    # Arrays and tuples are probed by machine_code.py.
    probe = [object(), object()]
    items = ctypes.c_void_p.from_address(id(probe) + LIST_ITEMS).value or id(probe)
    return [ctypes.c_void_p.from_address(items + 8 * k).value for k in range(2)] == [*map(id, probe)]


@cache
def api() -> NDArray[np.int64]:
    """Return the table of Python's functions and objects."""
    found = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    return np.array([*found, *map(id, (None, True, False, str, bytes, int, list)), *_ascii_flag()], np.int64)


def _ascii_flag() -> tuple[int, int]:
    """Return the place and the bit that mark ASCII strings; if unknown, no bit, so that no string counts as one."""
    place = HEAD + 16  # after the length and the hash
    narrow, wide = ["", "a", "ab" * 40, "\x7f"], ["\x80", "é" * 40, "abc中", "中" * 40, "a😀", "\ud800"]
    for bit in (1 << 6, 1 << 20):  # up to Python 3.13, and later
        flags = [ctypes.c_int64.from_address(id(text) + place).value & bit for text in (*narrow, *wide)]
        if flags == [bit] * len(narrow) + [0] * len(wide):
            return place, bit
    return place, 0
