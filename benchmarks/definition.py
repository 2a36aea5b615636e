"""What is measured, as data: definitions/*.toml read into these objects, and nothing in them left unchecked."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["ENGINES", "FASTEST", "TASKS", "Case", "Definition", "EngineUse", "parse", "read_folder"]

TASKS = (
    "train",
    "encode",
    "calls",
    "startup",
    "adversarial",
    "split",
    "growing",
    "limits",
    "chat",
    "requests",
    "coverage",
    "web",
)
ENGINES = (
    "subwords",
    "gigatoken",
    "tokenizers",
    "tokenizers-rc",
    "fastokens",
    "tiktoken",
    "rustbpe",
    "sentencepiece",
    "regex",
    "blingfire",
    "nanotoken",
    "gigabpe",
    "iree",
    "encode-again",
    "back-off",
    "transformers",
    "transformers-sanitized",
    "renderers",
    "mistral-common",
    "toktok-rs",
    "kitoken",
    "tokie",
    "hypertok",
    "gpt-tokenizer",
    "js-tiktoken",
    "ai-tokenizer",
    "@huggingface/tokenizers",
)
FASTEST = "fastest"  # as a peer: the fastest of the others, for each case and each column anew

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """One input: a corpus by name, cut to `bytes`, and what differs from the definition.

    "english" is corpora/english.txt in the data folder, "fresh/zh" is fresh/zh.txt, "english+code" both in one file,
    "opticks" the example text of this repository, "adversarial/*" one case for every file of that folder. A list of
    corpora is a case for each.
    """

    name: str
    corpus: str
    bytes: int | None = None
    engines: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EngineUse:
    """One engine: how much of each input it gets, in how many rounds at most, and whether the oracle judges it."""

    name: str
    bytes: int | None = None
    rounds: int | None = None
    compare: bool = True
    note: str = ""


@dataclass(frozen=True)
class Definition:
    """One table."""

    name: str
    title: str
    task: str
    rounds: int
    peer: str
    cases: tuple[Case, ...]
    engines: tuple[EngineUse, ...]
    oracle: tuple[str, ...]
    timeout: float = 600.0
    parameters: dict[str, Any] = field(default_factory=dict)


def parse(text: str, where: str) -> Definition:
    """Return the definition a TOML text holds; ValueError says where and what was expected."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: expected TOML: {error}") from None
    for key in ("cases", "engines"):
        if not isinstance(data.get(key), list) or not data[key]:
            raise ValueError(f"{where}: expected at least one [[{key}]]")
    for case in data["cases"]:
        case["engines"] = tuple(case.get("engines", ()))
    data["cases"] = tuple(_build(Case, one, where) for case in data["cases"] for one in _of_each_corpus(case))
    data["engines"] = tuple(_build(EngineUse, engine, where) for engine in data["engines"])
    data["oracle"] = tuple(data.get("oracle", ()))
    definition = _build(Definition, data, where)
    _check(definition, where)
    return definition


def read_folder(folder: Path) -> list[Definition]:
    """Return the definitions of a folder's .toml files, in the order of their names."""
    found = [parse(path.read_text("utf-8"), path.name) for path in sorted(folder.glob("*.toml"))]
    if not found:
        raise ValueError(f"expected .toml files in {folder.name}/")
    return found


def _of_each_corpus(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The cases of a list of corpora, whose names end in that of the corpus."""
    if not isinstance(case.get("corpus"), list):
        return [case]
    return [case | {"corpus": one, "name": f"{case.get('name')}, {one.rpartition('/')[2]}"} for one in case["corpus"]]


def _build(kind: type[T], data: dict[str, Any], where: str) -> T:
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - set(known)):
        raise ValueError(f"{where}: expected the keys {', '.join(known)}; not {unknown[0]!r}")
    needed = [key for key, one in known.items() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [key for key in needed if key not in data]:
        raise ValueError(f"{where}: expected a value for {missing[0]!r}")
    return kind(**data)


def _check(definition: Definition, where: str) -> None:
    if definition.task not in TASKS:
        raise ValueError(f"{where}: expected task to be one of {', '.join(TASKS)}; not {definition.task!r}")
    if definition.rounds < 1:
        raise ValueError(f"{where}: expected at least one round, not {definition.rounds}")
    used = [engine.name for engine in definition.engines]
    peers = [] if definition.peer == FASTEST else [definition.peer]
    named = [*used, *definition.oracle, *peers, *(name for case in definition.cases for name in case.engines)]
    for name in named:
        if name not in ENGINES:
            raise ValueError(f"{where}: expected engines among {', '.join(ENGINES)}; not {name!r}")
    if peers and definition.peer not in used:
        raise ValueError(f"{where}: expected the peer {definition.peer!r} to be among the engines")
    if not definition.oracle:
        raise ValueError(f"{where}: expected an oracle; no time counts without one")
    names = [case.name for case in definition.cases]
    for kind, values in (("engine", used), ("case", names)):
        if len(set(values)) < len(values):
            raise ValueError(f"{where}: expected each {kind} once, not {', '.join(values)}")
