"""Every public function, with each spelling of a tokenizer, a corpus, a path and ids: accepted, or a SubwordsError."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from subwords import InputError, SubwordsError
from subwords.scale import Run

TEXTS = ["low lower lowest slow"] * 9
OTHER_TEXTS = ["new newer newest low"] * 9
TOK = subwords.train(TEXTS, vocab_size=263)
OTHER = subwords.train(OTHER_TEXTS, vocab_size=263)

Call = Callable[[Any], Any]

# Calls of all public functions that take a tokenizer, with each in turn. What they return is compared by its repr.
WITH_TOKENIZER: dict[str, Call] = {
    "audit": lambda t: subwords.study.audit(t, rules=["unreachable-token"]),
    "boundary_difference": lambda t: subwords.study.boundary_difference(t, "l", "ow"),
    "canonicalize": lambda t: subwords.study.canonicalize(t, [75, 78]),
    "compare": lambda t: subwords.study.compare([t, OTHER], TEXTS, names=["a", "b"], progress=False),
    "compare, second": lambda t: subwords.study.compare([OTHER, t], TEXTS, names=["a", "b"], progress=False),
    "convert": lambda t: subwords.files.convert(t, "converted.json"),
    "export": lambda t: subwords.files.export(t, "exported").to_dict(),
    "export_page": lambda t: subwords.files.export_page([t], "page.html").name,
    "distribution": lambda t: subwords.sampling.distribution(t, "low", method="uniform"),
    "encode_with": lambda t: subwords.sampling.encode_with(t, "lower", method="fewest"),
    "evaluate": lambda t: subwords.study.evaluate(t, TEXTS, progress=False),
    "explain": lambda t: subwords.study.explain(t, "lower").to_dict(),
    "align": lambda t: subwords.study.align(t, OTHER, "low"),
    "align, second": lambda t: subwords.study.align(OTHER, t, "low"),
    "diff": lambda t: subwords.study.diff(t, OTHER, progress=False),
    "diff, second": lambda t: subwords.study.diff(OTHER, t, progress=False),
    "extend": lambda t: subwords.adapt.extend(t, OTHER_TEXTS, count=1, progress=False).vocab,
    "id_map": lambda t: subwords.adapt.id_map(t, OTHER),
    "id_map, second": lambda t: subwords.adapt.id_map(OTHER, t),
    "IdMap.check": lambda t: subwords.adapt.id_map(TOK, OTHER).check(t, OTHER),
    "is_canonical": lambda t: subwords.study.is_canonical(t, [75, 78]),
    "lock": lambda t: subwords.files.lock(t).digest,
    "merge": lambda t: subwords.adapt.merge(t, OTHER),
    "merge, second": lambda t: subwords.adapt.merge(OTHER, t),
    "prune": lambda t: subwords.adapt.prune(t, drop=[TOK.vocab_size - 1]),
    "replace": lambda t: subwords.adapt.replace(t, OTHER_TEXTS, count=1, progress=False),
    "segmentations": lambda t: subwords.sampling.segmentations(t, "low"),
    "undertrained": lambda t: subwords.study.undertrained(t, embeddings=np.ones((TOK.vocab_size + 4, 2))),
    "verify": lambda t: subwords.files.verify("tok.json", other=t),
    "verify_training": lambda t: subwords.study.verify_training(t, TEXTS),
    "vocabulary_map": lambda t: subwords.study.vocabulary_map(t, OTHER),
    "vocabulary_map, second": lambda t: subwords.study.vocabulary_map(OTHER, t),
    "why_not": lambda t: subwords.study.why_not(t, "lowest"),
}

# Calls of all public functions that read a corpus.
WITH_CORPUS: dict[str, Call] = {
    "audit": lambda c: subwords.study.audit(TOK, c, rules=["unused-token"], progress=False),
    "compare": lambda c: subwords.study.compare([TOK, OTHER], c, progress=False),
    "convert": lambda c: subwords.files.convert("tok.json", "converted.json", source=c, progress=False),
    "count": lambda c: subwords.count(c, progress=False),
    "encode_files": lambda c: TOK.encode_files(c, "ids.npy", progress=False),
    "diff": lambda c: subwords.study.diff(TOK, OTHER, source=c, progress=False),
    "evaluate": lambda c: subwords.study.evaluate(TOK, c, progress=False),
    "explain_training": lambda c: subwords.study.explain_training(c, vocab_size=258),
    "extend": lambda c: subwords.adapt.extend(TOK, c, count=1, progress=False),
    "mix": lambda c: subwords.WordCounts.mixed(
        {"a": c, "b": subwords.count(TEXTS, progress=False)}, weights={"a": 1.0, "b": 1.0}
    ),
    "replace": lambda c: subwords.adapt.replace(TOK, c, count=1, progress=False),
    "sweep": lambda c: subwords.study.sweep(c, vocab_sizes=[258], progress=False),
    "train": lambda c: subwords.train(c, vocab_size=258, progress=False),
    "train_parity": lambda c: subwords.research.train_parity({"a": c, "b": TEXTS}, vocab_size=258, progress=False),
    "verify": lambda c: subwords.files.verify("tok.json", c, progress=False),
    "verify_training": lambda c: subwords.study.verify_training(TOK, c),
}

# Functions whose first argument is something else, which other tests try.
NEITHER = {"accelerate", "bench", "evidence", "load", "normalizer", "splitter", "warmup", "open", "check", "check_lock"}

CORPORA: dict[str, Callable[[], Any]] = {
    "path": lambda: "corpus.txt",
    "Path": lambda: Path("corpus.txt"),
    "glob": lambda: "corp*.txt",
    "paths": lambda: [Path("corpus.txt"), Path("corpus.txt")],
    "list": lambda: [*OTHER_TEXTS],
    "tuple": lambda: (*OTHER_TEXTS,),
    "generator": lambda: (text for text in OTHER_TEXTS),
    "array": lambda: np.array(OTHER_TEXTS),
    "counts": lambda: subwords.count(OTHER_TEXTS, progress=False),
    "bytes": lambda: b"low lower",
    "int": lambda: 3,
    "float": lambda: 1.5,
    "None": lambda: None,
    "True": lambda: True,
    "object": object,
    "ints": lambda: [1, 2],
    "Nones": lambda: [None],
    "empty": list,
    "dict of ints": lambda: {"low": "a", 3: 4},
    "empty dict": dict,
    "no file": lambda: "none.txt",
    "empty str": lambda: "",
    "NUL": lambda: "a\0b",
    "surrogate": lambda: ["\ud800"],
    "floats": lambda: np.array([1.5, 2.5]),
    "tokenizer": lambda: TOK,
    "function": lambda: len,
}
WORK_EVERYWHERE = {"path", "Path", "list", "tuple"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    if "[verify]" in request.node.name:  # which asks the library of a tokenizer.json
        pytest.importorskip("tokenizers")
    monkeypatch.chdir(tmp_path)
    TOK.save("tok.json")
    Path("corpus.txt").write_text("\n".join(OTHER_TEXTS), "utf-8")
    return tmp_path


class Named:
    """An os.PathLike."""

    def __init__(self, path: object) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


def outcome(call: Call, value: Any) -> str:
    """Return what a call gives, as text, or the kind of its error; anything but a SubwordsError fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.sub(r"per_second=[^,]+", "", repr(call(value)))  # what differs in each run
        except SubwordsError as error:
            assert str(error)
            return type(error).__name__


def test_every_public_function_is_tried() -> None:
    spaces = [
        subwords,
        *(getattr(subwords, name) for name in subwords.__all__ if inspect.ismodule(getattr(subwords, name))),
    ]
    functions = {
        name: found for space in spaces for name in space.__all__ if inspect.isfunction(found := getattr(space, name))
    }
    tried = {name.partition(",")[0] for name in (*WITH_TOKENIZER, *WITH_CORPUS)}
    assert {*functions} - NEITHER == tried - {"IdMap.check", "encode_files", "mix"}
    for name, function in functions.items():
        first = next(iter(inspect.signature(function).parameters))
        assert (first in ("tokenizer", "tokenizers")) <= (name in {*WITH_TOKENIZER, *NEITHER})


@pytest.mark.parametrize("name", WITH_TOKENIZER)
def test_tokenizers(name: str, request: pytest.FixtureRequest) -> None:
    if name.startswith("export"):
        request.getfixturevalue("wasm")
    call = WITH_TOKENIZER[name]
    expected = outcome(call, TOK)
    assert "Error" not in expected
    for value in ("tok.json", Path("tok.json"), Named("tok.json"), str(Path("tok.json").absolute())):
        assert outcome(call, value) == expected, value
    for wrong in (3, 1.5, b"tok.json", [TOK], {"a": TOK}, TOK.spec, object(), Named(b"tok.json"), Named(3), True, len):
        with pytest.raises(InputError, match="expected"):
            call(wrong)
    for missing in ("none.json", Path("none"), "org/none", "o200k", "a\0b", "", "\ud800"):
        with pytest.raises(SubwordsError):
            call(missing)


def test_a_name(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shared_data / "tokenizers/tiktoken/r50k_base.tiktoken").exists():
        pytest.skip("no r50k_base.tiktoken")
    monkeypatch.chdir(shared_data / "tokenizers/tiktoken")
    for name in ("gpt2", "r50k_base", "GPT2"):
        assert subwords.study.explain(name, "low").ids == subwords.load("gpt2").encode("low")
        assert subwords.study.evaluate(name, ["low lower"], progress=False).tokens == 2


def test_what_has_a_tokenizer_is_named() -> None:
    with pytest.raises(InputError, match=r"not Adapted; pass its \.tokenizer"):
        subwords.study.why_not(subwords.adapt.prune(TOK, drop=[262]), "low")  # type: ignore[arg-type]
    for wrong in ("tok.json", TOK, Path("tok.json"), 3, ["tok.json"]):
        with pytest.raises(InputError, match="expected"):
            subwords.study.compare(wrong, TEXTS)  # type: ignore[arg-type]
    found = subwords.study.compare(["tok.json", OTHER, Path("tok.json")], TEXTS, progress=False)
    assert found.names == ("tok.json", "2", "tok.json")
    with pytest.raises(InputError, match="expected names as a list of str"):
        subwords.study.compare([TOK, OTHER], TEXTS, names="ab", progress=False)


@pytest.mark.parametrize("name", WITH_CORPUS)
def test_corpora(name: str) -> None:
    for spelling, make in CORPORA.items():
        found = outcome(WITH_CORPUS[name], make())
        must_work = {"counts"} if name == "mix" else WORK_EVERYWHERE  # a mixture is of counts
        assert spelling not in must_work or "Error" not in found, (spelling, found)


PATHS: dict[str, Call] = {
    "load": subwords.load,
    "save": TOK.save,
    "convert": lambda p: subwords.files.convert("tok.json", p),
    "verify": subwords.files.verify,
    "evidence": subwords.files.evidence,
    "encode_files": lambda p: TOK.encode_files(TEXTS, p, progress=False),
    "tokens.open": subwords.files.open,
    "tokens.check": subwords.files.check,
    "WordCounts.save": lambda p: subwords.count(TEXTS, progress=False).save(p),
    "WordCounts.load": subwords.WordCounts.load,
    "IdMap.save": lambda p: subwords.adapt.id_map(TOK, OTHER).save(p),
    "IdMap.load": subwords.adapt.IdMap.load,
    "evaluate(gold)": lambda p: subwords.study.evaluate(TOK, TEXTS, gold=p, progress=False),
    "Run.folder": lambda p: subwords.count("corpus.txt", run=Run(folder=p), progress=False),
}
FILES = {
    "tokens.open": "ids.npy",
    "tokens.check": "ids.manifest.json",
    "encode_files": "new.npy",
    "WordCounts.load": "counts",
    "WordCounts.save": "counts",
    "IdMap.load": "map.json",
    "IdMap.save": "map.json",
    "evaluate(gold)": "gold.tsv",
    "Run.folder": "new",
}


@pytest.mark.parametrize("name", PATHS)
def test_paths(name: str) -> None:
    TOK.encode_files(TEXTS, "ids.npy", progress=False)
    subwords.count(TEXTS, progress=False).save("counts")
    subwords.adapt.id_map(TOK, OTHER).save("map.json")
    Path("gold.tsv").write_text("lower\tlow er\n", "utf-8")
    file = FILES.get(name, "tok.json" if name in ("load", "verify", "evidence") else "new.json")
    for value in (file, Path(file), Named(file)):
        found = outcome(PATHS[name], value)
        assert "Error" not in found, (value, found)
    for wrong in (3, None, 1.5, b"a", [], {}, True, Named(3), Named(b"a"), "", "a\0b", "\ud800", object()):
        if wrong is None and name in ("evaluate(gold)", "Run.folder"):
            continue
        found = outcome(PATHS[name], wrong)
        missing = os.name == "nt" and found.startswith("Missing")  # a lone surrogate may be in a name there
        assert found.endswith("Error") or missing, (wrong, found)
