"""Entry kernels: machine code that is bound when first called, without the Python source that it was compiled from.

What is bound needs to know one thing of a kernel, which parameters are integers: machine code is kept with it
(`machine_code.py`). The source is imported only to compile a kernel, or to run it checked or interpreted.
"""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import RLock
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from subwords.kernels.modes import ASKED, MODE, NOTICES
from subwords.support.errors import SubwordsError, in_main_interpreter

# The type of an array, "Int", or the fields of a named tuple.
Parameter = str | dict[str, "Parameter"]
# A kernel that releases the GIL, and the same kernel keeping it.
Bound = tuple[Callable[..., int], Callable[..., int]]
SHORT_INPUT = 1 << 12  # bytes of input that take a kernel only microseconds


class Kernel:
    """An entry kernel, known by the name of its function: lazy, compiled once, called with the GIL or without."""

    def __init__(self, name: str, function: Callable[..., int] | None = None) -> None:
        self.name = name
        self.symbol = f"subwords_{name}"
        self.declared = function
        self._bound: Bound | None = None

    @property
    def function(self) -> Callable[..., int]:
        """The function that is compiled."""
        if self.declared is None:
            _import_source(self.name)
        if self.declared is None:
            raise SubwordsError(f"expected the name of a kernel of this package, not {self.name!r}")
        return self.declared

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The types of its parameters, from their annotations."""
        function = self.function
        names = [name for parameter, name in function.__annotations__.items() if parameter != "return"]
        return tuple(_parameter(str(name), function.__globals__) for name in names)

    @property
    def kinds(self) -> str:
        """One letter for each parameter: i, an integer, or o, an object."""
        return "".join("i" if parameter == "Int" else "o" for parameter in self.parameters)

    @property
    def is_at_hand(self) -> bool:
        """Whether it needs not be compiled, nor read by what compiles: it came with the package, or was used before."""
        from subwords.kernels.machine_code import shipped_address

        return self._bound is not None or (MODE == "compiled" and shipped_address(self) != 0)

    def without_gil(self) -> Callable[..., int]:
        """The callable that releases the GIL; frequent callers keep it."""
        return (self._bound or self._bind())[0]

    def with_gil(self) -> Callable[..., int]:
        """The callable that keeps the GIL: for short inputs.

        Threads that release and take the GIL every few microseconds would spend most of their time waiting.
        """
        return (self._bound or self._bind())[1]

    def by_size(self, size: int) -> Callable[..., int]:
        """One of these two, for an input of `size` bytes."""
        return (self._bound or self._bind())[size <= SHORT_INPUT]

    def _bind(self) -> Bound:
        # A lock for each process: a child does not wait for a thread of its parent.
        with _LOCKS.setdefault(os.getpid(), RLock()):
            bound = self._bound = self._bound or self._loaded()
        NOTICES.warn()
        return bound

    def _loaded(self) -> Bound:
        if MODE == "interpreted":
            function = _quiet(self.function)
            return function, function
        from subwords.kernels.machine_code import load_code, shipped

        if MODE == "compiled" and (found := shipped(self)) is not None:
            return found
        try:
            if MODE == "checked":
                from subwords.kernels.compile import checked

                function = checked(self)
                return function, function
            return load_code(self)
        except ModuleNotFoundError as error:
            if error.name not in ("numba", "llvmlite"):
                raise
            why = NOTICES.without or (
                "SUBWORDS_KERNELS=jit asks to compile the kernels here"
                if ASKED == "jit"
                else "this package came without machine code"
            )
            raise SubwordsError(
                f"{why}, and {error.name} is not installed, which compiles kernels: {_way_out()}"
            ) from error

    def __call__(self, *args: Any) -> int:
        """Run it."""
        return self.without_gil()(*args)


def _way_out() -> str:
    """Return what to do without machine code: there is no Numba for some processors, and none for musl."""
    import sysconfig

    from subwords.kernels.machine_code import processor_kind

    interpreted = "SUBWORDS_KERNELS=interpreted runs them as plain Python, at about 700 characters a second"
    kind, is_musl = processor_kind().lower(), "musl" in str(sysconfig.get_config_var("SOABI"))
    if kind not in ("x86_64", "amd64", "aarch64", "arm64") or is_musl:
        return f"Numba has no package for {'musl' if is_musl else kind}; {interpreted}"
    return f"pip install 'subwords[jit]', or in a clone '.[jit]'; {interpreted}"


# One thread at a time compiles or loads a kernel, so that each is compiled once.
_LOCKS: dict[int, RLock] = {}
# All whose names this process has used so far.
KNOWN: dict[str, Kernel] = {}


def entry_kernel(name: str) -> Kernel:
    """Return the kernel of this name; there is one object for each, so its machine code is loaded once."""
    return KNOWN.get(name) or KNOWN.setdefault(name, Kernel(name))


def _import_source(name: str) -> None:
    from pathlib import Path

    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if f"\ndef {name}(" in path.read_text("utf-8"):
            import_module(".".join((str(__package__), *path.relative_to(folder).with_suffix("").parts)))


def _parameter(name: Any, names: dict[str, Any]) -> Parameter:
    kind = names.get(name)
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        return str(name)
    fields: dict[str, Any] = kind.__annotations__
    names = vars(sys.modules[kind.__module__])
    return {field: _parameter(getattr(part, "__forward_arg__", part), names) for field, part in fields.items()}


def _quiet(function: Callable[..., int]) -> Callable[..., int]:
    import numpy as np

    def run(*args: Any) -> int:
        # Hashes and masks wrap around on purpose.
        with np.errstate(over="ignore"):
            return int(function(*args))

    return run


# ---------------------------------------------------------------------------------------------------------------------
# Built-in functions whose body is a kernel, and what such a kernel knows of Python's objects; see `fastpath.py`.

# Bytes before an array's data address, and before a tuple's items. They differ between versions of CPython: since 3.14
# a tuple keeps its hash. Code that is compiled ahead of time reads them from variables with these names.
HEADS = {"subwords_array_head": object.__basicsize__, "subwords_tuple_head": tuple.__basicsize__}
# Those of memory images for WebAssembly, which are no objects of Python; as in CPython before 3.14.
WEB_HEADS = {"subwords_array_head": 16, "subwords_tuple_head": 24}

HEAD = 16  # bytes of an object before its own fields; its type is the last eight of them
TYPE = 8
DATA, SIZES = HEAD, HEAD + 16  # of an array: the address of its data, that of its size; ctypes has the former there too
LIST_ITEMS = HEAD + 8  # of a list: where the address of its items is
API = 0  # the item of what every built-in function carries: the table below

_FUNCTIONS = (
    *("Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyList_New", "PyList_SetItem", "PyList_GetItem", "PyList_Size"),
    *("PyLong_FromLongLong", "PyLong_AsLongLong", "PyUnicode_GetLength", "PyUnicode_AsUTF8AndSize"),
    *("PyUnicode_DecodeUTF8", "PyBytes_AsString", "PyBytes_Size", "PyList_Append"),
    *("PyGC_Disable", "PyGC_Enable", "PyBytes_FromStringAndSize", "PyObject_Vectorcall"),
    *("PyEval_SaveThread", "PyEval_RestoreThread"),
)
TAKE, RELEASE, CLEAR, LIST_NEW, LIST_SET, LIST_GET, LIST_SIZE = range(7)
INT_NEW, INT_VALUE, STR_LENGTH, STR_UTF8, STR_NEW, BYTES_DATA, BYTES_SIZE, LIST_APPEND = range(7, 15)
GC_OFF, GC_ON, BYTES_NEW, CALL, GIL_OFF, GIL_ON = range(15, 21)
# After the functions: None, True, False and types; then how strings are laid out, see `_str_layout`.
NONE, YES, NO, STR_TYPE, BYTES_TYPE, INT_TYPE, LIST_TYPE, ASCII_PLACE, ASCII_BIT, KIND_SHIFT, STR_DATA = range(21, 32)
COMPACT = 8  # beside the bytes of a character: the characters follow the head of the string


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
    from subwords.kernels.machine_code import shipped_address

    if MODE == "compiled" and (found := shipped_address(kernel)):
        return found
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
        ctypes.cast(make, ctypes.c_void_p).value or 0
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
    known = MODE == "compiled" and sys.implementation.name == "cpython" and gil and usual and _lists_as_expected()
    return known and in_main_interpreter()


def _lists_as_expected() -> bool:
    # Arrays and tuples are probed by machine_code.py.
    probe = [object(), object()]
    items = ctypes.c_void_p.from_address(id(probe) + LIST_ITEMS).value or id(probe)
    numbers = (ctypes.c_int64 * 2)(*map(id, probe))
    same = [ctypes.c_void_p.from_address(items + 8 * k).value for k in range(2)] == [*numbers]
    return same and ctypes.c_void_p.from_address(id(numbers) + DATA).value == ctypes.addressof(numbers)


@cache
def api() -> ctypes.Array[ctypes.c_int64]:
    """Return the table of Python's functions and objects."""
    found = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _FUNCTIONS]
    every = (*found, *map(id, (None, True, False, str, bytes, int, list)), *_str_layout())
    return (ctypes.c_int64 * len(every))(*every)


def _str_layout() -> tuple[int, int, int, int]:
    """Return how to read strings: place and bit that mark ASCII, the shift of their form, and where characters are.

    If unknown, no bit, so that no string counts as ASCII, or no place of characters.
    """
    place = HEAD + 16  # after the length and the hash
    narrow, wide = ["", "a", "ab" * 40, "\x7f"], ["\x80" * 9, "é" * 40, "abc中", "中" * 40, "a😀", "\ud800" * 3]
    for bit in (6, 20):  # up to Python 3.13, and later
        words = [ctypes.c_int64.from_address(id(text) + place).value for text in (*narrow, *wide)]
        if [word >> bit & 1 for word in words] == [1] * len(narrow) + [0] * len(wide):
            return place, 1 << bit, bit - 4, _place_of_characters(wide, [word >> bit - 4 & 15 for word in words[4:]])
    return place, 0, 0, 0


def _place_of_characters(texts: list[str], forms: list[int]) -> int:
    """Return where the characters of strings are that are not ASCII; 0 if unknown. forms: COMPACT + bytes of each."""
    if not {*forms} <= {COMPACT + 1, COMPACT + 2, COMPACT + 4}:
        return 0
    pairs = zip(texts, forms, strict=True)  # not by codecs: to import two of them takes 0.4 ms of a start
    expected = [b"".join(ord(one).to_bytes(form - COMPACT, sys.byteorder) for one in text) for text, form in pairs]
    place = sys.getsizeof(texts[0]) - len(texts[0]) - 1
    found = [ctypes.string_at(id(text) + place, len(data)) for text, data in zip(texts, expected, strict=True)]
    return place if found == expected else 0
