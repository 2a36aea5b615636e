"""Run another library's own tests twice: on that library, and with its class replaced by ours.

    pip download --no-deps --no-binary tiktoken tiktoken==0.14.0 && tar xzf tiktoken-0.14.0.tar.gz
    python -m tools.peer_suites tiktoken tiktoken-0.14.0 [--data ../shared/data] [-k EXPRESSION]

The library is hf, tiktoken, sentencepiece or transformers; the folder is its unpacked source distribution. Prints how
many tests passed, failed and were skipped, and the tests that fail with ours only. Exit code 1 if there are any.

Files that the tests would download come from the data folder; a test that needs another one is skipped in both runs.
A *call* is one of a public method of our object. A *call to the original* went to the library's object instead, for
the reason printed; components and their settings are not counted. Of tests that pass with ours, it counts those with
calls of our object only, those with calls to the original too, and those with neither.
For HF, the components and training stay the library's: our object is made of the library's tokenizer whenever
its `to_str()` has changed.
"""

from __future__ import annotations

import argparse
import base64
import functools
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import subwords

HUB = {  # what tests download, and where it is in the data folder
    "roberta-base-vocab.json": "roberta/vocab.json",
    "roberta-base-merges.txt": "roberta/merges.txt",
    "bert-base-uncased-vocab.txt": "bert/bert-base-uncased-vocab.txt",
    "openai-gpt-vocab.json": "openai-gpt/vocab.json",
    "openai-gpt-merges.txt": "openai-gpt/merges.txt",
    "gpt2": "gpt2/tokenizer.json",
    "t5-base": "t5/tokenizer.json",
    "encoder.json": "gpt2/vocab.json",
    "vocab.bpe": "gpt2/vocab.bpe",
}
TESTS = {  # where the tests are in the source distribution, and what of them runs
    "hf": ("bindings/python", ["tests"], ["--ignore=tests/test_benchmarks.py", "--ignore=tests/test_freethreaded.py"]),
    "tiktoken": ("", ["tests"], []),
    "sentencepiece": ("", ["test/sentencepiece_test.py", "test/numpy_test.py"], []),
    "transformers": ("", ["tests/test_peer_models.py"], []),
}
# Files of each tokenizer that transformers' common tests take, which its source distribution has without the models.
MODELS = {
    "google-bert/bert-base-uncased": ("Bert", {"tokenizer.json": "bert/bert-base-uncased-tokenizer.json"}),
    "openai-community/gpt2": ("GPT2", {"tokenizer.json": "gpt2/tokenizer.json", "merges.txt": "gpt2/vocab.bpe"}),
    "FacebookAI/roberta-base": ("Roberta", {"tokenizer.json": "roberta/tokenizer.json"}),
    "google-t5/t5-base": ("T5", {"tokenizer.json": "t5/tokenizer.json", "spiece.model": "t5/spiece.model"}),
}
COMPONENTS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")

calls: Counter[str] = Counter()  # of our objects, by method
originals: Counter[str] = Counter()  # calls that went to the library's object, by reason
inside = threading.local()


# ---------------------------------------------------------------------------------------------------------------------
# The pytest plugin: replaces a class before the tests are imported, counts calls, and writes one line per test.


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that counts its outermost calls."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if getattr(inside, "depth", 0):
            return function(*args, **options)
        calls[name] += 1
        with depth():
            return function(*args, **options)

    return call


@contextmanager
def depth() -> Iterator[None]:
    inside.depth = getattr(inside, "depth", 0) + 1
    try:
        yield
    finally:
        inside.depth -= 1


def count_methods(shape: type) -> None:
    """Count the calls of the public methods of a class."""
    for name, value in [*vars(shape).items()]:
        if inspect.isfunction(value) and (not name.startswith("_") or name in ("__len__", "__getitem__")):
            setattr(shape, name, counted(value.__name__, value))


def served(name: str) -> str:
    """Return the file that stands for a download; skips the test if there is none."""
    if name not in HUB:
        pytest.skip(f"needs a download: {name}")
    return str(data_folder() / HUB[name])


def data_folder() -> Path:
    return Path(os.environ["PEER_DATA"]) / "tokenizers"


def pytest_configure() -> None:
    ours = os.environ["PEER_RUN"] == "ours"
    {"hf": hf, "tiktoken": tiktoken, "sentencepiece": sentencepiece, "transformers": transformers}[
        os.environ["PEER_SUITE"]
    ](ours)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before, other = calls.total(), originals.total()
    yield
    write("counts", item.nodeid, [calls.total() - before, originals.total() - other])


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        said = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr or "")
        lines = [line[1:].strip() for line in said.splitlines() if line.startswith("E  ")]
        write(report.outcome, report.nodeid, (lines or said.splitlines() or [""])[0])


def pytest_collectreport(report: Any) -> None:
    if report.outcome != "passed":
        why = str(report.longrepr)
        kind = "skipped" if "ModuleNotFoundError" in why else report.outcome  # a module of tests, in both runs
        write(kind, report.nodeid, why.splitlines()[-1])


def pytest_sessionfinish() -> None:
    write("calls", "", [calls, originals])


def write(kind: str, test: str, value: Any) -> None:
    with open(os.environ["PEER_OUT"], "a", encoding="utf-8") as file:
        file.write(json.dumps([kind, test, value]) + "\n")


# ---------------------------------------------------------------------------------------------------------------------
# The replacements.


def tiktoken(ours: bool) -> None:
    import tiktoken as library
    from tiktoken import load, model, registry

    load.read_file_cached = lambda place, expected_hash=None: rank_file(place)
    if not ours:
        return
    from subwords.interop.tiktoken import TiktokenShape

    count_methods(TiktokenShape)

    @functools.cache
    def get_encoding(name: str) -> Any:
        return subwords.load(name).as_tiktoken(name)

    class Encoding(library.Encoding):
        """Made of the same parts as tiktoken's; the result is ours."""

        def __new__(cls, name: str, **parts: Any) -> Any:
            ranks, names = parts["mergeable_ranks"], parts["special_tokens"]
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "ranks.tiktoken")
                lines = (f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
                file.write_text("".join(lines))
                rule = subwords.splitter(parts["pat_str"])
                return subwords.load(file, splitter=rule, special_ids=names).as_tiktoken(name)

    library.get_encoding = registry.get_encoding = model.get_encoding = get_encoding
    library.Encoding = Encoding


def rank_file(place: str) -> bytes:
    name = place.rsplit("/", 1)[-1]
    found = data_folder() / "tiktoken" / name
    return found.read_bytes() if found.exists() else Path(served(name)).read_bytes()


def sentencepiece(ours: bool) -> None:
    import sentencepiece as library

    if not ours:
        return
    from subwords.interop.sentencepiece import SentencePieceShape

    count_methods(SentencePieceShape)

    class SentencePieceProcessor(SentencePieceShape):
        """Ours, made as SentencePiece's is: of a file or its content, at once or later by `Load`."""

        def __init__(self, model_file: Any = None, model_proto: Any = None) -> None:
            if model_file or model_proto:
                self.load(model_file, model_proto)

        def load(self, model_file: Any = None, model_proto: Any = None) -> bool:
            if model_proto is None:
                model_proto = Path(os.fsdecode(model_file)).read_bytes()
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "a.model").write_bytes(model_proto)
                vars(self).update(vars(subwords.load(Path(folder, "a.model")).as_sentencepiece()))
            return True

        def load_from_serialized_proto(self, serialized: bytes) -> bool:
            return self.load(model_proto=serialized)

        @classmethod
        def from_file(cls, model_file: Any) -> Any:
            return cls(model_file)

        @classmethod
        def from_proto(cls, model_proto: bytes) -> Any:
            return cls(model_proto=model_proto)

        Load = LoadFromFile = load_from_file = load
        LoadFromSerializedProto = load_from_serialized_proto

    SentencePieceProcessor.__module__, SentencePieceProcessor.__qualname__ = "sentencepiece", "SentencePieceProcessor"
    library.SentencePieceProcessor = SentencePieceProcessor


def hf(ours: bool) -> None:
    import huggingface_hub
    import tokenizers as library
    from tokenizers import implementations

    def download(repo_id: str, filename: str, **options: Any) -> str:
        return served(repo_id if filename == "tokenizer.json" else filename)

    huggingface_hub.hf_hub_download = download  # the library's `from_pretrained` calls it, too
    if ours:
        count_methods(importlib.import_module("subwords.interop.hf").HFEncoding)
        original = library.Tokenizer
        library.Tokenizer = proxy(original)
        for module in vars(implementations).values():
            if getattr(module, "Tokenizer", None) is original:
                module.Tokenizer = library.Tokenizer


def proxy(original: Any) -> Any:
    """Return a class with the library's components and training, and our object for all else."""
    from subwords.interop.hf import HFShape

    ours = {name for name in vars(HFShape) if not name.startswith("_")}
    changing = {name for name in ours if name.startswith(("add_", "enable_", "no_"))}
    changing -= {"num_special_tokens_to_add"}

    class Tokenizer:
        def __init__(self, model: Any) -> None:
            self._begin(original(model))

        def _begin(self, made: Any) -> None:
            vars(self).update(_made=made, _key=None, _shape=None, encode_special_tokens=False)

        def _current(self) -> Any:
            """Return our object for the present state of the library's; None if it cannot be made."""
            key = self._made.to_str()
            if key != self._key:
                vars(self).update(_key=key, _shape=None)
                with suppress(subwords.SubwordsError):
                    vars(self).update(_shape=of_json(key).as_hf())
            return self._shape

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if name in COMPONENTS or name not in ours:
                hasattr(original, name) and name not in COMPONENTS and originals.update([f"{name}: not in the door"])
                return getattr(self._made, name)
            shape = self._current()
            if shape is None:
                originals[f"{name}: a tokenizer that load refuses"] += 1
                return getattr(self._made, name)
            calls[name] += 1
            shape.encode_special_tokens = self._made.encode_special_tokens = self.encode_special_tokens
            found = getattr(shape, name)
            return functools.partial(self._change, name, found) if name in changing else found

        def _change(self, name: str, change: Callable[..., Any], *args: Any, **options: Any) -> Any:
            result = change(*args, **options)
            getattr(self._made, name)(*args, **options)
            vars(self).update(_key=self._made.to_str())  # our object has made the same change by itself
            return result

        def __setattr__(self, name: str, value: Any) -> None:
            vars(self).update({name: value}) if name == "encode_special_tokens" else setattr(self._made, name, value)

        def __reduce__(self) -> Any:
            return Tokenizer.from_str, (self._made.to_str(),)

        def __repr__(self) -> str:
            return repr(self._made)

        def __str__(self) -> str:
            return str(self._made)

        @classmethod
        def _of(cls, made: Any) -> Any:
            found = cls.__new__(cls)
            found._begin(made)
            return found

        @classmethod
        def from_str(cls, *args: Any, **options: Any) -> Any:
            return cls._of(original.from_str(*args, **options))

        @classmethod
        def from_file(cls, *args: Any, **options: Any) -> Any:
            return cls._of(original.from_file(*args, **options))

        @classmethod
        def from_buffer(cls, *args: Any, **options: Any) -> Any:
            return cls._of(original.from_buffer(*args, **options))

        @classmethod
        def from_pretrained(cls, *args: Any, **options: Any) -> Any:
            return cls._of(original.from_pretrained(*args, **options))

    Tokenizer.__module__, Tokenizer.__qualname__ = "tokenizers", "Tokenizer"
    return Tokenizer


@functools.lru_cache(maxsize=8)
def of_json(data: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tokenizer.json").write_text(data, "utf-8")
        return subwords.load(Path(folder, "tokenizer.json"))


def transformers(ours: bool) -> None:
    import transformers as library
    from transformers import testing_utils

    from subwords.interop import accelerate as door

    folder = Path.cwd()
    testing_utils.get_tests_dir = lambda *args: str(folder / "tests")
    base = library.PreTrainedTokenizerBase
    make, auto = base.from_pretrained.__func__, library.AutoTokenizer.from_pretrained.__func__
    tried = {"_encode_plus", "_encode_plus_of_slow", "_decode", "_batch_decode", "_pad"}
    tried |= {"_convert_ids_to_tokens", "_convert_tokens_to_ids"}

    def place(name: Any) -> Any:
        return str(folder / str(name)) if str(name) in MODELS else name

    def from_pretrained(cls: Any, name: Any, *args: Any, **options: Any) -> Any:
        found = make(cls, place(name), *args, **options)
        if not ours:
            return found
        try:
            with depth():
                return subwords.accelerate(found)
        except subwords.SubwordsError as error:
            originals[f"accelerate: {error}"[:150]] += 1
            return found

    base.from_pretrained = classmethod(from_pretrained)
    library.AutoTokenizer.from_pretrained = classmethod(
        lambda cls, name, *args, **options: auto(cls, place(name), *args, **options)
    )
    if ours:
        for name in tried:
            setattr(door, name, counted(name, getattr(door, name)))
        fall_back = door._State.fall_back

        def counting(self: Any, tokenizer: Any, reason: str, method: str, *args: Any, **options: Any) -> Any:
            originals[f"{method}: {reason}"] += 1
            return fall_back(self, tokenizer, reason, method, *args, **options)

        door._State.fall_back = counting


def write_models(folder: Path, data: Path) -> None:
    """Write a folder for each model, the text that the common tests read, and a module with a test class for each."""
    lines = ["import unittest", "import transformers", "from .test_tokenization_common import *"]
    for name, (kind, files) in MODELS.items():
        place = folder / name
        place.mkdir(parents=True)
        for file, source in files.items():
            (place / file).write_bytes((data / "tokenizers" / source).read_bytes())
        (place / "config.json").write_text(json.dumps({"model_type": kind.lower()}))
        (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{kind}Tokenizer"}))
        lines += [
            f"class {kind}TokenizationTest(TokenizerTesterMixin, unittest.TestCase):",
            f"    tokenizer_class = rust_tokenizer_class = transformers.{kind}Tokenizer",
            f"    from_pretrained_id = [{name!r}]",
        ]
    (folder / "tests" / "fixtures").mkdir()
    text = "\n".join(f"A text of several lines, number {i}: it's read by the tests." for i in range(40))
    (folder / "tests" / "fixtures" / "sample_text.txt").write_text(text)
    (folder / "tests" / "__init__.py").touch()
    (folder / "tests" / "test_peer_models.py").write_text("\n".join(lines))


# ---------------------------------------------------------------------------------------------------------------------
# The two runs.


def run(suite: str, sources: Path, data: Path, which: str, rest: list[str]) -> dict[str, Any]:
    """Run a suite; return for each kind of line that the plugin wrote its values by test."""
    where, tests, options = TESTS[suite]
    with tempfile.TemporaryDirectory() as scratch:  # without the library's sources, which would be imported
        out, place = Path(scratch, "out.jsonl"), Path(scratch, "python")
        out.touch()
        folder = tests[0].split("/")[0]
        shutil.copytree(sources / where / folder, place / folder)
        for name in ("conftest.py", "pytest.ini"):
            if (sources / where / name).exists():
                shutil.copy(sources / where / name, place)
        if suite == "transformers":
            write_models(place, data)
        environment = {
            "PEER_SUITE": suite,
            "PEER_RUN": which,
            "PEER_OUT": str(out),
            "PEER_DATA": str(data),
            "SUBWORDS_VOCABULARIES": str(data / "tokenizers" / "tiktoken"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, "-m", "pytest", "-p", "tools.peer_suites", "-p", "no:cacheprovider", "-q"]
        command += ["--no-header", "--tb=short", "--continue-on-collection-errors", *tests, *options, *rest]
        done = subprocess.run(command, cwd=place, env=os.environ | environment, capture_output=True, text=True)
        found: dict[str, Any] = {}
        for line in out.read_text("utf-8").splitlines():
            kind, test, value = json.loads(line)
            found.setdefault(kind, {})[test] = value
        if "passed" not in found:
            sys.exit(f"no test passed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    failed, skipped = found.setdefault("failed", {}), found.setdefault("skipped", {})
    found["passed"] = {test: "" for test in found["passed"] if test not in failed and test not in skipped}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=[*TESTS])
    parser.add_argument("sources", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    asked, rest = parser.parse_known_args()
    library, ours = (
        run(asked.suite, asked.sources.resolve(), asked.data.resolve(), which, rest) for which in ("library", "ours")
    )
    print(f"{asked.suite:15} {'passed':>7} {'failed':>7} {'skipped':>7}")
    for name, found in (("the library", library), ("with ours", ours)):
        print(f"{name:15} {len(found['passed']):7} {len(found['failed']):7} {len(found['skipped']):7}")
    used = [ours["counts"][test] for test in ours["passed"]]
    print(f"of those that pass with ours, {sum(a > 0 and not b for a, b in used)} call our object only, ", end="")
    print(f"{sum(b > 0 for a, b in used)} the original too, {sum(not a and not b for a, b in used)} neither")
    made, other = ours["calls"][""]
    print(f"calls: {sum(made.values()):,}; of these or beside them, to the original: {sum(other.values()):,}")
    for reason, count in sorted(other.items(), key=lambda item: -item[1]):
        print(f"  {count:7,}  {reason}")
    only = {test: why for test, why in ours["failed"].items() if test not in library["failed"]}
    print(f"tests that fail with ours only: {len(only)}")
    for test, why in only.items():
        print(f"  {test}\n      {why[:300]}")
    for test, why in library["failed"].items():
        print(f"  fails with the library: {test}: {why[:200]}")
    return bool(only)


if __name__ == "__main__":
    sys.exit(main())
