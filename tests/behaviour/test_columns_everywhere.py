"""Every function that takes texts gives for a column of them, of any library, what it gives for a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from subwords import CorpusError, InputError, study

TEXTS = ["low lower lowest", "newest widest", "naïve 你好", "low lower", "low lower lowest"] * 4


def _arrow(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(pytest.importorskip("pyarrow"))


def _pandas(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(pytest.importorskip("pandas"))


def _polars(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(pytest.importorskip("polars"))


KINDS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: np.array(TEXTS),
    "numpy object": lambda: np.array(TEXTS, object),
    "arrow": _arrow(lambda pa: pa.array(TEXTS)),
    "arrow large": _arrow(lambda pa: pa.array(TEXTS, pa.large_string())),
    "arrow view": _arrow(lambda pa: pa.array(TEXTS, pa.string_view())),
    "arrow slice": _arrow(lambda pa: pa.array(["x", *TEXTS, "y"])[1:-1]),
    "arrow dictionary": _arrow(lambda pa: pa.array(TEXTS).dictionary_encode()),
    "arrow chunks": _arrow(lambda pa: pa.chunked_array([TEXTS[:2], [], TEXTS[2:]])),
    "arrow table": _arrow(lambda pa: pa.table({"body": TEXTS})),
    "arrow batch": _arrow(lambda pa: pa.record_batch({"body": TEXTS})),
    "arrow batch slice": _arrow(lambda pa: pa.record_batch({"body": ["x", *TEXTS, "y"]}).slice(1, len(TEXTS))),
    "arrow struct slice": _arrow(lambda pa: pa.array([{"body": text} for text in ["x", *TEXTS, "y"]])[1:-1]),
    "pandas": _pandas(lambda pd: pd.Series(TEXTS)),
    "pandas object": _pandas(lambda pd: pd.Series(TEXTS, dtype=object)),
    "pandas category": _pandas(lambda pd: pd.Series(TEXTS, dtype="category")),
    "pandas index": _pandas(lambda pd: pd.Index(TEXTS)),
    "pandas frame": _pandas(lambda pd: pd.DataFrame({"body": TEXTS})),
    "polars": _polars(lambda pl: pl.Series(TEXTS)),
    "polars category": _polars(lambda pl: pl.Series(TEXTS, dtype=pl.Categorical)),
    "polars frame": _polars(lambda pl: pl.DataFrame({"body": TEXTS})),
}


@cache
def base() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest newest widest"] * 9, vocab_size=268)


def _files(texts: Any, folder: Path) -> Any:
    base().encode_files(texts, folder / "ids.npy")
    return [ids.tolist() for ids in subwords.files.open(folder / "ids.npy")]


def _converted(texts: Any, folder: Path) -> Any:
    return str(subwords.files.convert(base(), folder / "made.json", source=texts))


USES: dict[str, Callable[[Any, Path], Any]] = {
    "count": lambda texts, _: dict(subwords.count(texts)),
    "count lines": lambda texts, _: dict(subwords.count(texts, reading=subwords.Reading(documents="line"))),
    "train bpe": lambda texts, _: subwords.train(texts, vocab_size=262),
    "train unigram": lambda texts, _: subwords.train(texts, algorithm="unigram", vocab_size=26),
    "explain_training": lambda texts, _: study.explain_training(texts, vocab_size=260).merges,
    "verify_training": lambda texts, _: str(study.verify_training(base(), texts)),
    "extend": lambda texts, _: subwords.adapt.extend(base(), texts, count=3),
    "prune": lambda texts, _: subwords.adapt.prune(base(), source=texts, vocab_size=260).tokenizer,
    "replace": lambda texts, _: subwords.adapt.replace(base(), texts, count=1).tokenizer,
    "evaluate": lambda texts, _: study.evaluate(base(), texts).bytes_per_token,
    "evaluate groups": lambda texts, _: str(study.evaluate(base(), {"a": texts, "b": texts})),
    "compare": lambda texts, _: str(study.compare([base(), "demo"], texts)),
    "several sizes": lambda texts, _: str(study.sweep(texts, vocab_sizes=[258, 260], held_out=texts)),
    "audit": lambda texts, _: str(study.audit(base(), texts)),
    "diff": lambda texts, _: study.diff(base(), base().with_tokens(["low"], special=False), source=texts).texts,
    "convert": _converted,
    "encode_files": _files,
    "encode_batch": lambda texts, _: base().encode_batch(texts).to_lists(),
    "count_tokens": lambda texts, _: base().count_tokens(texts).tolist(),
    "call": lambda texts, _: [one.ids.tolist() for one in base()(texts)],
    "call pairs": lambda texts, _: [one.ids.tolist() for one in base()(texts, texts)],
    "train_parity": lambda texts, _: subwords.research.train_parity(
        {"a": texts, "b": ["low"]}, vocab_size=258, progress=False
    ),
}


@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@pytest.mark.parametrize("use", USES)
def test_columns_are_lists(use: str, tmp_path: Path) -> None:
    expected = USES[use](TEXTS, tmp_path)
    for kind, make in KINDS.items():
        try:
            column = make()
        except pytest.skip.Exception:
            continue
        assert USES[use](column, tmp_path) == expected, kind


def test_bytes_after_the_offsets_are_left_alone() -> None:  # found by fuzzing
    pa = pytest.importorskip("pyarrow")
    offsets = np.array([0, 3], np.int32).tobytes() + b"x"
    column = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(b"low")])
    assert dict(subwords.count(column)) == {b"low": 1}


def test_what_is_no_column_of_texts() -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(CorpusError, match='row 1: expected text, found null; errors="skip"'):
        subwords.count(pa.array(["a", None]))
    assert dict(subwords.count(pa.array(["a", None]), reading=subwords.Reading(errors="skip"))) == {b"a": 1}
    with pytest.raises(InputError, match="text 1: expected a string, not null"):
        base().encode_batch(pa.table({"body": ["a", None]}))
    for wrong in (pa.array([1, 2]), pa.table({"body": [1, 2]}), pa.array([["a"], ["b"]])):
        with pytest.raises(CorpusError, match="expected text in column"):
            subwords.count(wrong)
        with pytest.raises(InputError, match="expected a column of texts"):
            base().encode_batch(wrong)
    with pytest.raises(CorpusError, match="expected one column 'text', found 2"):
        subwords.count(pa.table([["low"], ["low"]], names=["text", "text"]))
    two = pa.table({"a": ["low"], "b": ["low"]})
    with pytest.raises(CorpusError, match="expected a column 'text', found 'a', 'b'; text_column names another"):
        subwords.count(two)
    with pytest.raises(InputError, match="expected a column of texts, not a table"):
        base().encode_batch(two)
    with pytest.raises(CorpusError, match="expected a column 'title', found 'body'"):  # a name that was asked for
        subwords.count(pa.table({"body": ["a"]}), reading=subwords.Reading(text_column="title"))
    with pytest.raises(subwords.SubwordsError, match=r"column of texts, or a table with one|expected str, got int 3"):
        subwords.count(pytest.importorskip("pandas").Series(["a", 3]))
