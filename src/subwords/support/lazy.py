"""Lists of public names, said once: in the stub beside a package, which type checkers and Python read."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package: each name of its stub, imported when first used.

    A line of the stub is `from module import name as name`. As lazy_loader does, which imports `ast` for it: 4 ms.
    """
    homes = {}
    with open(f"{file}i", encoding="utf-8") as stub:
        for line in stub:
            first, _, rest = line.partition(" import ")
            if rest:
                homes[rest.split(" as ")[0]] = first.removeprefix("from ")
    names = sorted(homes)

    def find(name: str) -> Any:
        if name not in homes:
            raise _missing(package, name, names)
        home = homes[name]
        try:
            value = import_module(f"{home}.{name}") if home == "subwords" else getattr(import_module(home), name)
        except ImportError:
            from subwords.support.errors import in_main_interpreter

            in_main_interpreter()  # says why in another one
            raise
        setattr(import_module(package), name, value)
        return value

    return find, lambda: [*names], names


def _missing(package: str, name: str, names: list[str]) -> AttributeError:
    from subwords.support.names import OF_MODULE, hint, nearest

    if package == "subwords" and name in OF_MODULE:
        return hint("subwords", name, OF_MODULE[name])
    return AttributeError(f"module {package!r} has no attribute {name!r}{nearest(name, names)}")
