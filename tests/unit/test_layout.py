"""Layouts that kernels and Python share are in kernels/layout.py, once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import subwords
from inside import every_kernel
from inside import kernels_layout as layout

SOURCE = Path(subwords.__file__).parent
FILES = [file for file in sorted(SOURCE.rglob("*.py")) if not file.name.endswith("layout.py")]
ARRAYS = {"U8s", "U16s", "U32s", "U64s", "I32s", "I64s", "F64s"}
NAMES = vars(layout)
CONSTANTS = {name for name, value in NAMES.items() if isinstance(value, (int, float, tuple)) and name.isupper()}
TUPLES = [value for value in NAMES.values() if isinstance(value, type) and getattr(value, "__annotations__", None)]


def assigned(file: Path) -> Iterator[str]:
    """The names that a module assigns at its top."""
    for node in ast.parse(file.read_text("utf-8")).body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def test_no_kernel_defines_a_name_of_the_layout_again() -> None:
    kernels = [file for file in FILES if "kernels" in file.relative_to(SOURCE).parts]
    assert {(file.name, name) for file in kernels for name in assigned(file) if name in CONSTANTS} == set()
    assert len(CONSTANTS) > 100


@pytest.mark.parametrize("kind", TUPLES, ids=lambda kind: kind.__name__)
def test_fields_are_arrays_or_tuples_of_them(kind: type) -> None:
    known = {*ARRAYS, *(each.__name__ for each in TUPLES)}
    parts = [getattr(part, "__forward_arg__", part) for part in kind.__annotations__.values()]
    assert set(parts) <= known
    assert not {"count", "index"} & set(kind.__annotations__), "methods of every tuple"


def spelled(parameter: object) -> Iterator[object]:
    if isinstance(parameter, dict):
        for part in parameter.values():
            yield from spelled(part)
    else:
        yield parameter


def test_parameters_of_kernels_are_arrays_integers_and_tuples_of_the_layout() -> None:
    kernels = every_kernel()
    ours = [kernel for kernel in kernels if kernel.function.__module__.startswith("subwords.kernels.")]
    assert len(ours) > 50
    for kernel in ours:
        assert set(spelled(dict(enumerate(kernel.parameters)))) <= {*ARRAYS, "Int"}, kernel.name


ROWS = {name: value for name, value in NAMES.items() if isinstance(value, ModuleType)}


@pytest.mark.parametrize("name", ROWS)
def test_columns_of_a_row_are_numbered_in_order(name: str) -> None:
    columns = [value for key, value in vars(ROWS[name]).items() if not key.startswith("__")]
    if "width" in vars(ROWS[name]):
        assert columns.pop() == ROWS[name].width > columns[-1]
    assert columns == list(range(columns[0], columns[0] + len(columns)))
    assert len(ROWS) > 30
