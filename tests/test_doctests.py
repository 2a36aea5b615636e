"""Every example in a docstring is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import subwords

MODULES = ["subwords", *(module.name for module in pkgutil.walk_packages(subwords.__path__, "subwords."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name == "subwords.polars":
        pytest.importorskip("polars")
    if name.startswith("subwords.web."):
        request.getfixturevalue("wasm")
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("name", subwords.__all__)
def test_public_names_have_an_example(name: str) -> None:
    """In their own docstring, or in that of a public method; a namespace in those of its functions."""
    value = getattr(subwords, name)
    kinds = subwords.SubwordsError, subwords.SubwordsWarning
    if not issubclass(value if isinstance(value, type) else object, kinds):
        members = vars(value).items() if isinstance(value, type) else ()
        if isinstance(value, ModuleType):
            members = ((name, getattr(value, name)) for name in value.__all__)
        documented = [value, *(member for key, member in members if not key.startswith("_"))]
        assert any(">>>" in (one.__doc__ or "") for one in documented)
