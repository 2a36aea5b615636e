"""Recipes of the guide, each run with the real package that it imports; skipped where that is not installed."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[1] / "docs"
RECIPES = [
    recipe
    for page in sorted(GUIDE.glob("*.md"))
    for recipe in re.findall(r"^```py\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if "import subwords\n" in recipe  # those of grammar engines go on from a table: test_token_table.py
]


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
    exec(compile(recipe, "a page of docs", "exec", dont_inherit=True), names)


LOOPS = (GUIDE / "training-loops.md").read_text("utf-8")
INTERFACES = {  # classes of docs/training-loops.md, and those of real packages that they stand for
    "TokenBuilder": ("verl", "utils/tokenizer/continuous_token.py", "ContinuousTokenBuilder"),
    "MergeResult": ("verl", "utils/tokenizer/continuous_token.py", "MergeResult"),
    "ToolLoop": ("trl", "trainer/grpo_trainer.py", "GRPOTrainer"),
    "SubwordsPlugin": ("axolotl", "integrations/base.py", "BasePlugin"),
    "TitanTokenizer": ("torchtitan", "components/tokenizer.py", "BaseTokenizer"),
    "MegatronLibrary": (
        "megatron",
        "core/tokenizers/text/libraries/abstract_tokenizer.py",
        "MegatronTokenizerTextAbstract",
    ),
}


def classes(source: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", INTERFACES)
def test_training_loops_have_the_interface_of_the_real_package(name: str) -> None:
    """Read, not imported: these packages need PyTorch."""
    package, file, theirs = INTERFACES[name]
    found = importlib.util.find_spec(package)
    places = [] if found is None else [Path(each) / file for each in found.submodule_search_locations or ()]
    source = next((place for place in places if place.is_file()), None)
    if source is None:
        pytest.skip(f"pip install --no-deps {package}")
    recipes = "\n".join(re.findall(r"^```python\n(.*?)^```$", LOOPS, re.MULTILINE | re.DOTALL))
    ours, real = classes(recipes)[name], classes(source.read_text("utf-8"))[theirs]
    fields = [[each.target.id for each in one.body if isinstance(each, ast.AnnAssign)] for one in (ours, real)]  # type: ignore[union-attr]
    assert not fields[0] or fields[0] == fields[1]
    methods, wanted = (
        {each.name: each for each in one.body if isinstance(each, ast.FunctionDef)} for one in (ours, real)
    )
    abstract = {key for key, each in wanted.items() if "abstractmethod" in map(ast.unparse, each.decorator_list)}
    assert abstract <= methods.keys()
    for key in methods.keys() & wanted.keys():
        given, asked = methods[key].args, wanted[key].args
        if not asked.vararg and key != "__init__" and not given.kwarg:
            assert [each.arg for each in given.args][: len(asked.args)] == [each.arg for each in asked.args], key
            assert {each.arg for each in asked.kwonlyargs} <= {each.arg for each in given.kwonlyargs}, key


def test_every_door_of_the_tables_has_a_recipe() -> None:
    named = {package for recipe in RECIPES for package in packages(recipe)}
    doors = {"pyarrow", "polars", "duckdb", "pandas", "datasets", "langchain_text_splitters", "llama_index", "litellm"}
    assert doors | {"chonkie", "datatrove", "sentence_transformers"} <= named
