"""Entry kernels: machine code that is bound when first called, without the Python source that it was compiled from.

What is bound needs to know one thing of a kernel, which parameters are integers: machine code is kept with it
(`machine_code.py`). The source is imported only to compile a kernel, or to run it checked or interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from sys import modules
from typing import Any

from subwords.kernels.guard import undisturbed
from subwords.kernels.modes import ASKED, MODE, NOTICES
from subwords.support.errors import SubwordsError

# The type of an array, "Int", or the fields of a named tuple.
Parameter = str | dict[str, "Parameter"]
# A kernel that releases the GIL, and the same kernel keeping it.
Bound = tuple[Callable[..., int], Callable[..., int]]
SHORT = 1 << 12  # bytes of input that take a kernel only microseconds


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
        return (self._bound or self._bind())[size <= SHORT]

    def _bind(self) -> Bound:
        bound = undisturbed(self._load)
        NOTICES.warn()
        return bound

    def _load(self) -> Bound:
        if self._bound is None:
            self._bound = self._loaded()
        return self._bound

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
                f"{why}, and {error.name} is not installed, which compiles kernels: pip install 'subwords[jit]', "
                "or set SUBWORDS_KERNELS=interpreted, which is very slow"
            ) from error

    def __call__(self, *args: Any) -> int:
        """Run it."""
        return self.without_gil()(*args)


# All whose names this process has used so far.
KNOWN: dict[str, Kernel] = {}


def entry_kernel(name: str) -> Kernel:
    """Return the kernel of this name; there is one object for each, so its machine code is loaded once."""
    return KNOWN.get(name) or KNOWN.setdefault(name, Kernel(name))


def _import_source(name: str) -> None:
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if f"\ndef {name}(" in path.read_text("utf-8"):
            import_module(".".join((str(__package__), *path.relative_to(folder).with_suffix("").parts)))


def _parameter(name: Any, names: dict[str, Any]) -> Parameter:
    kind = names.get(name)
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        return str(name)
    fields: dict[str, Any] = kind.__annotations__
    names = vars(modules[kind.__module__])
    return {field: _parameter(getattr(part, "__forward_arg__", part), names) for field, part in fields.items()}


def _quiet(function: Callable[..., int]) -> Callable[..., int]:
    import numpy as np

    def run(*args: Any) -> int:
        # Hashes and masks wrap around on purpose.
        with np.errstate(over="ignore"):
            return int(function(*args))

    return run
