"""`count_tokens` of a list or a column; columns of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import subwords
from subwords import InputError, Special, Text

TEXTS = ["low lower", "", "naïve 你好", "low", "low lower", "<end> low"]


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest"] * 9, vocab_size=264, special_tokens=["<end>"])


def columns() -> dict[str, Any]:
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    return {
        "list": TEXTS,
        "generator": (text for text in TEXTS),
        "numpy": np.array(TEXTS, object),
        "arrow": pa.array(TEXTS),
        "chunks": pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        "dictionary": pa.array(TEXTS).dictionary_encode(),
        "sliced dictionary": pa.array(["x", *TEXTS, "y"]).dictionary_encode()[1:-1],
        "large dictionary": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2, 3, 0, 4], pa.int8()), pa.array([*TEXTS[:4], TEXTS[5]], pa.large_string())
        ),
        "pandas": pd.Series(TEXTS),
        "category": pd.Series(TEXTS, dtype="category"),
        "polars": pl.Series(TEXTS),
        "polars category": pl.Series(TEXTS, dtype=pl.Categorical),
    }


@pytest.mark.parametrize("kind", ["list", "generator", "numpy", "arrow", "chunks", "pandas", "category", "polars"])
def test_columns(tok: subwords.Tokenizer, kind: str) -> None:
    counts = tok.count_tokens(columns()[kind])
    assert counts.dtype == np.int64 and counts.tolist() == [len(tok.encode(text)) for text in TEXTS]


@pytest.mark.parametrize("kind", ["dictionary", "sliced dictionary", "large dictionary", "polars category"])
def test_dictionaries(tok: subwords.Tokenizer, kind: str) -> None:
    assert tok.encode_batch(columns()[kind]).to_lists() == [tok.encode(text) for text in TEXTS]
    assert tok.count_tokens(columns()[kind]).tolist() == [len(tok.encode(text)) for text in TEXTS]


@pytest.mark.parametrize("kind", ["chunks", "dictionary", "category", "polars", "pandas", "numpy"])
def test_encodings_of_columns(tok: subwords.Tokenizer, kind: str) -> None:
    assert [one.ids.tolist() for one in tok(columns()[kind])] == [tok.encode(text) for text in TEXTS]
    assert len(tok(columns()[kind], columns()[kind])) == len(TEXTS)


def test_options(tok: subwords.Tokenizer) -> None:
    made = tok.with_(template="<end> $A")
    for special in ("text", "allow"):
        found = made.count_tokens(TEXTS, special=special, template=True)  # type: ignore[arg-type]
        expected = [len(made.encode(text, special=special, template=True)) for text in TEXTS]  # type: ignore[arg-type]
        assert found.tolist() == expected
    assert tok.count_tokens([]).tolist() == []
    assert tok.count_tokens([Text("low"), Special("<end>")]) == 2


def test_tables_and_nulls_are_refused(tok: subwords.Tokenizer) -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    for table in (pd.DataFrame({"text": TEXTS, "b": 1}), pa.table({"text": TEXTS, "b": TEXTS})):
        with pytest.raises(InputError, match="expected a column of texts, not a table: pass one column"):
            tok.count_tokens(table)
        with pytest.raises(InputError, match="expected a column of texts, not a table: pass one column"):
            tok(table)
    for column in (pa.array(["a", None]).dictionary_encode(), pd.Series(["a", None], dtype="category")):
        with pytest.raises(InputError, match="text 1: expected "):  # pandas 2 gives a NaN
            tok.count_tokens(column)
    for wrong in (3, None, {"a": 1}, [1, 2]):
        with pytest.raises(InputError):
            tok.count_tokens(wrong)  # type: ignore[call-overload]
