"""The recipes of docs/doors.md, each run with the real package that it imports; skipped where that is not installed."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "doors.md"
RECIPES = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def packages(recipe: str) -> list[str]:
    """The packages that a recipe imports, its own first."""
    found = list[str]()
    for node in ast.walk(ast.parse(recipe)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return [name.split(".")[0] for name in found if not name.startswith("subwords")]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("recipe", RECIPES, ids=[packages(recipe)[0] for recipe in RECIPES])
def test_recipes_run_with_the_real_packages(recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in packages(recipe):
        pytest.importorskip(package, reason=f"pip install {package.replace('_', '-')}", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    assert "assert " in recipe
    names: dict[str, object] = {"__name__": "recipe"}
    monkeypatch.setitem(sys.modules, "recipe", type(sys)("recipe"))
    exec(compile(recipe, "docs/doors.md", "exec", dont_inherit=True), names)


def test_every_door_of_the_tables_has_a_recipe() -> None:
    named = {package for recipe in RECIPES for package in packages(recipe)}
    doors = {"pyarrow", "polars", "duckdb", "pandas", "datasets", "langchain_text_splitters", "llama_index", "litellm"}
    assert doors | {"chonkie", "datatrove", "dolma"} <= named
