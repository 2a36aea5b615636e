"""Batches of Arrow arrays: every kind of strings, slices and chunks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import subwords
from inside import MODE
from subwords import InputError

pa = pytest.importorskip("pyarrow")

TEXTS = [
    "low lower",
    "",
    "naïve 文字",
    "x" * (70_000 if MODE == "compiled" else 700),
    "a tail that is longer than twelve bytes",
    "é",
]
KINDS = [kind for name in ("string", "large_string", "string_view") if (kind := getattr(pa, name, None))]


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest", "naïve 文字"] * 9, vocab_size=300, special_tokens=["<s>"])


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_arrays_and_slices(tok: subwords.Tokenizer, kind: Any) -> None:
    expected, array = tok.encode_batch(TEXTS).to_lists(), pa.array(TEXTS, kind)
    assert tok.encode_batch(array).to_lists() == expected
    assert tok.encode_batch(array, threads=1).to_lists() == expected
    for part in (slice(1, 4), slice(2, 2), slice(5, None)):
        assert tok.encode_batch(array[part]).to_lists() == expected[part]


def test_chunks(tok: subwords.Tokenizer, kind: Any) -> None:
    expected = tok.encode_batch(TEXTS).to_lists()
    chunked = pa.chunked_array([TEXTS[:2], [], TEXTS[2:]], kind)
    assert tok.encode_batch(chunked).to_lists() == expected
    assert tok.encode_batch(chunked[1:4]).to_lists() == expected[1:4]
    assert tok.encode_batch(pa.chunked_array([], kind)).to_lists() == []


@pytest.mark.parametrize("special", ["text", "allow"])
def test_options_are_those_of_lists(tok: subwords.Tokenizer, special: Any) -> None:
    many = ["<s>low", "low"]
    expected = tok.encode_batch(many, special=special).to_lists()
    assert tok.encode_batch(pa.array(many), special=special).to_lists() == expected


def test_a_normalizer_sees_the_texts(kind: Any) -> None:
    made = subwords.train(["low lower"] * 9, vocab_size=16, algorithm="unigram", normalizer="sentencepiece")
    many = ["low  lower", "▁low", "", "ﬁ low"]
    assert made.encode_batch(pa.array(many, kind)).to_lists() == [made.encode(text) for text in many]


def test_nulls_are_refused_by_index(tok: subwords.Tokenizer, kind: Any) -> None:
    for array, index in [
        (pa.array(["a", None, "b"], kind), 1),
        (pa.array([None, "a", None], kind)[1:], 1),
        (pa.chunked_array([["a", "b"], ["c", None]], kind), 3),
    ]:
        with pytest.raises(InputError, match=f"text {index}: expected a string, not null"):
            tok.encode_batch(array)
    assert tok.encode_batch(pa.array([None, "low"], kind)[1:]).to_lists() == [tok.encode("low")]


def test_other_types_are_refused(tok: subwords.Tokenizer) -> None:
    for array in (pa.array([1, 2]), pa.array([b"a"]), pa.array([1, 1]).dictionary_encode()):
        with pytest.raises(InputError, match="expected a column of texts"):
            tok.encode_batch(array)
    with pytest.raises(InputError, match="expected a column of texts, not a table"):
        tok.encode_batch(pa.table({"a": ["x"]}))


def test_the_array_is_kept_and_given_back(tok: subwords.Tokenizer, kind: Any) -> None:
    before = pa.total_allocated_bytes()
    for _ in range(5):
        tok.encode_batch(pa.array(TEXTS * 50, kind))
        tok.encode_batch(pa.chunked_array([TEXTS * 50], kind))
    assert pa.total_allocated_bytes() - before < 1_000_000
