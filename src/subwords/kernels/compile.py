"""Kernels to machine code. Only this file uses private interfaces of Numba.

To Numba, an array parameter is a `Buffer` and a named tuple a `Bundle`: pointers to the Python objects. Compiled code
reads an array's data and length, and a tuple's items, from these objects. So a compiled kernel is a plain C function of
objects and integers, which runs in a process without Numba.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, overload, register_model

from subwords.kernels import llvm
from subwords.kernels.llvm import instructions, item_of, length_of
from subwords.kernels.modes import HELPERS, INLINED, MODE, PRIMITIVES, SPLICED

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel, Parameter


DTYPES = {f"{kind}{bits}s": np.dtype(f"{kind.lower()}{bits // 8}") for kind in "UI" for bits in (8, 16, 32, 64)}
DTYPES["F64s"] = np.dtype("f8")
OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": MODE == "checked"}
# Passes of Numba for what kernels do not have, such as closures and expressions of arrays. Without them, the same
# machine code is made in 16.5 seconds instead of 18 (GPT-2's first ids).
NEEDLESS = {
    *("with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function", "Rewrite dynamic raises"),
    *("rewrite_semantic_constants", "generic_rewrites", "inline_overloads", "nopython_rewrites"),
    *("find_literally", "literal_unroll", "LiteralPropagation"),
    *("nopython_supported_feature_validation", "dump_parfor_diagnostics"),
}


class _Passes(CompilerBase):
    """The passes that a kernel needs."""

    def define_pipelines(self) -> list[Any]:
        found = DefaultPassBuilder.define_nopython_pipeline(self.state)
        found.passes = [each for each in found.passes if each[0].name() not in NEEDLESS]
        found.finalize()
        return [found]


# Only kernels call helpers: without wrappers for Python and C they compile a sixth faster.
INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Not of primitives, which are Python that no kernel contains where a processor has an instruction for them.
FEW_PASSES: dict[str, Any] = {"pipeline_class": _Passes, **INNER} if MODE == "compiled" else INNER


class Buffer(types.Type):
    """A one-dimensional contiguous array, passed as its object."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"Buffer({dtype})")


class Bundle(types.Type):
    """A named tuple of such arrays or of such tuples, passed as its object."""

    def __init__(self, fields: dict[str, types.Type]) -> None:
        self.fields = fields
        super().__init__(name=f"Bundle({', '.join(f'{name}: {kind.name}' for name, kind in fields.items())})")


register_model(Buffer)(models.OpaqueModel)
register_model(Bundle)(models.OpaqueModel)


@infer_getattr
class _BundleField(AttributeTemplate):
    key = Bundle

    def generic_resolve(self, bundle: Bundle, name: str) -> types.Type | None:
        return bundle.fields.get(name)


@lower_getattr_generic(Bundle)
def _lower_field(context: Any, builder: Any, bundle: Bundle, value: Any, name: str) -> Any:
    return item_of(builder, value, list(bundle.fields).index(name))


class _Source(JITCodeLibrary):
    """Functions that are linked into a kernel, without optimisation, and without machine code apart.

    Numba would do both for each of them, and again for the kernel: twice the time.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@contextmanager
def _not_executed() -> Iterator[Any]:
    """Keep what this thread compiles as LLVM's intermediate code; yields the code generator.

    Nothing is garbage until a kernel is done: looking for it took a seventh of the time.
    """
    context = cpu_target.target_context
    codegen = context.codegen()
    with global_compiler_lock:
        before, collects = codegen._library_class, gc.isenabled()
        gc.disable()
        codegen._library_class = _Source
        # Numba identifies a function by its executable: any C function does, since no two are equal.
        context.get_executable = lambda library, fndesc, env: [].append
        try:
            yield codegen
        finally:
            codegen._library_class = before
            del context.get_executable
            if collects:
                gc.enable()


def machine_code(kernel: Kernel) -> bytes:
    """Compile a kernel for this process: an object file with one function, named `kernel.symbol`."""
    with _not_executed() as codegen:
        return codegen._tm.emit_object(_module(kernel, codegen))


def intermediate_code(kernel: Kernel) -> str:
    """Compile a kernel to LLVM's optimised intermediate code, for the features that Numba is told of."""
    with _not_executed() as codegen:
        return str(_module(kernel, codegen))


def compile_for_web(machine: Any) -> None:
    """Compile from now on for WebAssembly, whose kernels take 64 bits for an address too, as `call_at` gives them.

    machine: LLVM's target machine. LLVM optimises by the sizes of its data layout: it cannot be another one later.
    """
    codegen = cpu_target.target_context.codegen()
    codegen._tm, codegen._data_layout, codegen._target_data = machine, str(machine.target_data), machine.target_data
    codegen._tm_features = f"+{llvm.WEB}"
    llvm.PORTABLE = llvm.WEB


def _module(kernel: Kernel, codegen: Any) -> Any:
    """Return the optimised module of a kernel.

    Kernels raise nothing. Without code that would report exceptions, a module needs no function of Numba or Python.
    """
    function = _activated(kernel)
    parameters = tuple(map(_type, kernel.parameters))
    dispatcher = njit(**FEW_PASSES, **OPTIONS)(function)
    dispatcher.compile(types.int64(*parameters))
    compiled = dispatcher.overloads[parameters]
    context, module, word = compiled.target_context, ir.Module(kernel.name), ir.IntType(64)
    pointer = ir.IntType(8).as_pointer()
    places = [word if each == "Int" or llvm.PORTABLE == llvm.WEB else pointer for each in kernel.parameters]
    entry = ir.Function(module, ir.FunctionType(word, places), kernel.symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    inner, given = context.declare_function(module, compiled.fndesc), list[Any](entry.args)
    for number, (place, each) in enumerate(zip(places, kernel.parameters, strict=True)):
        if place is word and each != "Int":
            given[number] = builder.inttoptr(given[number], pointer)
    _, result = context.call_conv.call_function(builder, inner, types.int64, parameters, given)
    builder.ret(result)
    library = codegen.create_library(kernel.name)
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)
    library.finalize()
    JITCodeLibrary._optimize_final_module(library)
    return library._final_module


def checked(kernel: Kernel) -> Callable[..., int]:
    """Compile a kernel with bounds checks on the arrays themselves, whose types are checked too."""
    dispatcher = njit(nogil=True, **OPTIONS)(_activated(kernel))

    def run(*args: Any) -> int:
        for parameter, value in zip(kernel.parameters, args, strict=True):
            _check_argument(kernel.name, parameter, value)
        return int(dispatcher(*args))

    return run


def _check_argument(place: str, parameter: Parameter, value: Any) -> None:
    if isinstance(parameter, dict):
        assert value._fields == tuple(parameter), (place, value._fields, tuple(parameter))
        for (name, part), item in zip(parameter.items(), value, strict=True):
            _check_argument(f"{place}, {name}", part, item)
    elif parameter == "Int":
        assert isinstance(value, (int, np.integer)), (place, value)
    else:
        assert value.dtype == DTYPES[parameter] and value.ndim == 1 and value.flags.c_contiguous, (place, parameter)


def _type(parameter: Parameter) -> types.Type:
    if isinstance(parameter, dict):
        return Bundle({name: _type(part) for name, part in parameter.items()})
    return types.int64 if parameter == "Int" else Buffer(getattr(types, DTYPES[parameter].name))


def _activated(kernel: Kernel) -> Callable[..., int]:
    """Import a kernel, and put the compiled forms of helpers and primitives where it looks for them."""
    source = kernel.function
    for function in (*HELPERS, *INLINED, *SPLICED, *PRIMITIVES):
        if function not in _COMPILED:
            _COMPILED[function] = _compiled(function)
    for name, module in list(sys.modules.items()):
        if name.startswith("subwords.kernels.") and name != __name__:
            for key, value in list(vars(module).items()):
                if inspect.isfunction(value) and value in _COMPILED:
                    setattr(module, key, _COMPILED[value])
    return source


@cache
def _instructions() -> dict[str, Any]:
    # The features of the processor that Numba compiles for: NUMBA_CPU_NAME may name another than this one.
    features = cpu_target.target_context.codegen()._tm_features
    return instructions({each[1:] for each in features.split(",") if each.startswith("+")})


def _compiled(function: Callable[..., Any]) -> Any:
    if MODE == "compiled" and function in PRIMITIVES and function.__name__ in _instructions():
        return _instructions()[function.__name__]
    passes = INNER if function in PRIMITIVES else FEW_PASSES
    if function in SPLICED:
        return njit(inline="always", **passes, **OPTIONS)(function)
    # Checked code need not be fast: not inlined it compiles in half the time.
    return njit(forceinline=MODE == "compiled" and function not in HELPERS, **passes, **OPTIONS)(function)


_COMPILED: dict[Callable[..., Any], Any] = {}


@intrinsic
def _length(typingctx, array):
    def codegen(context, builder, signature, args):
        return length_of(builder, args[0])

    return types.int64(array), codegen


@overload(len)
def _len(array):
    if isinstance(array, Buffer):
        return lambda array: _length(array)
    return None
