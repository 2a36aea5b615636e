"""The public surface changes only on purpose: tests/surface.txt holds it, and `python -m tools.surface` writes it."""

from __future__ import annotations

import inspect
import re
from difflib import unified_diff

from tools.surface import NAMESPACES, PLACE, text

import subwords

ADVICE = "a change of the public surface is a line in CHANGELOG.md; write the file again with `python -m tools.surface`"


def test_the_surface_is_the_one_on_file() -> None:
    kept, made = PLACE.read_text("utf-8").splitlines(), text().splitlines()
    changes = [line for line in unified_diff(kept, made, lineterm="", n=0) if re.match(r"[-+](?![-+])", line)]
    assert not changes, "\n".join([ADVICE, *changes])


def test_the_surface_has_the_attributes_that_classes_have() -> None:
    lines = {re.split(r"[(:= ]", line)[0] for line in PLACE.read_text("utf-8").splitlines()}
    spaces = {"subwords": subwords, **{f"subwords.{name}": getattr(subwords, name) for name in NAMESPACES}}
    values = {f"{space}.{name}": getattr(module, name) for space, module in spaces.items() for name in module.__all__}
    assert {name for name, value in values.items() if not inspect.ismodule(value)} <= lines
    attributes = {
        f"{name}.{key}"
        for name, value in values.items()
        if inspect.isclass(value)
        for base in value.__mro__
        if base.__module__.startswith("subwords")
        for key, what in vars(base).items()
        if not key.startswith("_") and type(what).__name__ != "OtherName"  # which says what to use here
    }
    assert len(attributes) > 150
    assert attributes <= lines, sorted(attributes - lines)


# What returns Any, and why. All other results have a type.
UNTYPED = {
    "to_frame": "an object of pandas, which need not be installed",
    "plot": "an object of matplotlib, which need not be installed",
    "to_transformers": "an object of transformers, which need not be installed",
    **dict.fromkeys(("encode", "nbest_encode", "decode", "decode_ids", "decode_pieces"), "SentencePiece's `out_type`"),
}


def test_results_have_types() -> None:
    lines = PLACE.read_text("utf-8").splitlines()
    untyped = {re.split(r"[(:= ]", line)[0] for line in lines if re.search(r"(->|:) Any( =.*)?$", line)}
    assert {name.split(".")[-1] for name in untyped} == {*UNTYPED}
    assert not any(name.startswith("subwords.Tokenizer.") for name in untyped - {"subwords.Tokenizer.to_transformers"})
