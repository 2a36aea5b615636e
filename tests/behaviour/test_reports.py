"""Every result shows itself in the same ways: as a dict for JSON, as tables, as text, in a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import subwords

TEXT = ["low lower lowest, so slow | 50 %", "newer & wider"]


@cache
def tok() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest newer wider"] * 9, vocab_size=270)


@cache
def smaller() -> subwords.Tokenizer:
    return subwords.train(["low lower"] * 9, vocab_size=258)


def parity(folder: Path) -> Any:
    texts = {"one": TEXT, "other": ["newer newest"] * 3}
    return subwords.research.train_parity(texts, vocab_size=260)


def saved(folder: Path) -> Path:
    tok().save(folder / "tok.json")
    return folder / "tok.json"


def locked(folder: Path) -> Path:
    subwords.files.lock(tok(), folder / "tokenizer.lock")
    return folder / "tokenizer.lock"


RESULTS: dict[str, Callable[[Path], Any]] = {
    "audit": lambda folder: subwords.study.audit(tok(), TEXT),
    "boundary_difference": lambda folder: subwords.study.boundary_difference(tok(), "l", "ow"),
    "compare": lambda folder: subwords.study.compare([tok(), smaller()], TEXT),
    "convert": lambda folder: subwords.files.convert(saved(folder), folder / "tok.tiktoken"),
    "diff": lambda folder: subwords.study.diff(smaller(), tok().with_(chat_template="{{ 1 }}"), source=TEXT),
    "encode_files": lambda folder: tok().encode_files(TEXT, folder / "ids.npy"),
    "evaluate": lambda folder: subwords.study.evaluate(tok(), TEXT),
    "evaluate, groups": lambda folder: subwords.study.evaluate(tok(), {"one": TEXT, "other": ["low"]}),
    "explain": lambda folder: subwords.study.explain(tok(), TEXT[0]),
    "explain_training": lambda folder: subwords.study.explain_training(TEXT, vocab_size=260),
    "explain_training, unigram": lambda folder: subwords.study.explain_training(
        TEXT, algorithm="unigram", vocab_size=30
    ),
    "lock": lambda folder: subwords.files.lock(tok()),
    "lock, check": lambda folder: subwords.files.check_lock(locked(folder), tokenizer=smaller()),
    "merge": lambda folder: subwords.adapt.merge(smaller(), tok()),
    "prune": lambda folder: subwords.adapt.prune(tok(), drop=[" lower"], compact=True),
    "sweep": lambda folder: subwords.study.sweep(TEXT, vocab_sizes=[258, 260]),
    "train_parity": parity,
    "verify": lambda folder: subwords.files.verify(saved(folder), TEXT),
    "verify_training": lambda folder: subwords.study.verify_training(tok(), TEXT),
    "why_not": lambda folder: subwords.study.why_not(tok(), "newest"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_itself(name: str, tmp_path: Path) -> None:
    found = RESULTS[name](tmp_path)
    assert json.loads(json.dumps(found.to_dict())).keys() == found.to_dict().keys() != set()
    table = found.tables()[0]
    assert all(len(row) == len(table.columns) for row in table.rows)
    head, rule, *rows = found.to_markdown().split("\n\n")[0].split("\n")
    assert [cell.strip() for cell in head.strip("|").split(" | ")] == [*table.columns]
    assert {*rule} <= {*"|-:"}
    if all(line.isascii() for line in rows):
        assert {len(line) for line in (head, rule, *rows)} == {len(head)}, "columns align"
    assert len(rows) == len(table.rows) > (name in ("verify_training", "explain_training, unigram")) - 1
    latex = found.to_latex()
    assert (
        latex.count(r"\begin{table}") == latex.count(r"\end{table}") == sum(bool(one.title) for one in found.tables())
    )
    frame = found.to_frame()
    assert (len(frame), [*frame.columns]) in [(len(one.rows), [*one.columns]) for one in found.tables()]
    assert found._repr_html_().startswith(("<table>", "<pre>", "<section"))
    assert str(found)
