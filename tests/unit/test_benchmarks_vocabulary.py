"""Benchmarks of training where vocabularies need not be equal: what is verified instead."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package

from benchmarks.definition import parse
from benchmarks.engines.protocol import Engine, RefusedError
from benchmarks.engines.subwords import Subwords
from benchmarks.engines.tokenizers import Tokenizers
from benchmarks.inputs import Inputs
from benchmarks.process import Launcher
from benchmarks.report import report
from benchmarks.run import run
from benchmarks.summary import summarized
from benchmarks.verify import model_digest, vocabulary_problem

import subwords

WORDPIECE = """
name = "train_wordpiece"
title = "Train"
task = "train"
rounds = 2
oracle = ["tokenizers"]
peer = "subwords"
[parameters]
vocab_size = 3
special_tokens = ["[UNK]"]
score = "count"
threads = 1
sample = 100
[[cases]]
name = "opticks"
corpus = "opticks"
[[engines]]
name = "subwords"
"""


class FakeTrainer(Launcher):
    """Saves one vocabulary after the other; what engines make of the file is in `read`."""

    def __init__(self, vocabs: list[dict[str, int]], read: dict[str, str]) -> None:
        super().__init__()
        self.vocabs, self.read = vocabs, read

    def run(self, engine: str, job: Any, *, timeout: float) -> dict[str, Any]:
        if job["task"] == "train":
            Path(job["output"]).write_text(json.dumps({"model": {"vocab": self.vocabs.pop(0)}}))
        elif job["task"] == "encode":
            assert Path(job["file"]).stat().st_size <= 100
            return {"status": "ok", "digest": self.read[engine]} if engine in self.read else {"status": "refused"}
        return {"status": "ok", "versions": {engine: "1.0"}, "seconds": {"call": 1.0}, "peak_bytes": 1}


RIGHT = {"[UNK]": 0, "a": 1, "##b": 2}


@pytest.mark.parametrize(
    ("vocabs", "read", "status", "verified"),
    [
        ([RIGHT, RIGHT], {"tokenizers": "x", "subwords": "x"}, "ok", "as requested; same ids in tokenizers, subwords"),
        ([RIGHT, RIGHT], {"subwords": "x"}, "ok", "as requested; same ids in subwords"),
        ([RIGHT, RIGHT], {}, "n/a (no engine loads it)", "no"),
        ([RIGHT, RIGHT], {"tokenizers": "x", "subwords": "y"}, "n/a (different ids: tokenizers and subwords)", "no"),
        ([{"[UNK]": 0, "a": 1}], {"subwords": "x"}, "n/a (2 tokens, not 3)", "no"),
        ([RIGHT, {"[UNK]": 0, "a": 2, "##b": 1}], {"subwords": "x"}, "n/a (another result in a later round)", None),
    ],
)
def test_run_of_a_vocabulary_that_nothing_need_equal(
    tmp_path: Path, vocabs: list[dict[str, int]], read: dict[str, str], status: str, verified: str | None
) -> None:
    launcher = FakeTrainer(vocabs, read)
    result = run(parse(WORDPIECE, "x.toml"), Inputs(tmp_path / "data", tmp_path, launcher), launcher)
    (row,) = result["cases"][0]["engines"]
    assert row["status"] == status
    assert len(row["runs"]) == (2 if status == "ok" else 0)
    if verified:
        assert row["verified"] == verified
        assert (verified if status == "ok" else status) in report(summarized(result))


@pytest.mark.parametrize(
    ("vocab", "problem"),
    [
        (RIGHT, None),
        ({"a": 0, "[UNK]": 1, "##b": 2}, "special tokens a"),
        ({"[UNK]": 0, "a": 1, "##b": 3}, "ids that are not 0, 1, 2, ..."),
        ({"[UNK]": 0}, "1 tokens, not 3"),
    ],
)
def test_what_is_wrong_with_a_vocabulary(tmp_path: Path, vocab: dict[str, int], problem: str | None) -> None:
    path = tmp_path / "tok.json"
    path.write_text(json.dumps({"model": {"vocab": vocab}}))
    assert vocabulary_problem(path, 3, ["[UNK]"]) == problem


def test_digest_is_of_the_merges_or_of_the_vocabulary(tmp_path: Path) -> None:
    def digest(**model: Any) -> str:
        (tmp_path / "tok.json").write_text(json.dumps({"model": model}))
        return model_digest(tmp_path / "tok.json")

    assert digest(vocab=RIGHT) == digest(vocab=dict(reversed(RIGHT.items())))
    assert digest(vocab=RIGHT) != digest(vocab={"[UNK]": 0, "a": 2, "##b": 1})
    assert digest(vocab={}, merges=["a b"]) == digest(vocab=RIGHT, merges=[["a", "b"]])
    assert digest(vocab={}, merges=["a b"]) != digest(vocab={}, merges=["b a"])


def test_scores_an_engine_does_not_train_by_are_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"vocab_size": 30, "special_tokens": ["[UNK]"], "threads": 1}
    with pytest.raises(RefusedError, match="does not train WordPiece"):
        Engine(None).train_wordpiece("x", "y", score="count", **options)
    with pytest.raises(RefusedError, match="does not train by course"):
        Tokenizers(None).train_wordpiece("x", "y", score="course", **options)
    (tmp_path / "text.txt").write_text("hug hugs hugging " * 9)
    Subwords(subwords).train_wordpiece(
        str(tmp_path / "text.txt"), str(tmp_path / "tok.json"), score="course", **(options | {"vocab_size": 12})
    )
    assert vocabulary_problem(tmp_path / "tok.json", 12, ["[UNK]"]) is None
