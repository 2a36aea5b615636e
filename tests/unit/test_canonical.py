"""Canonical ids: those of encoding; what changes where two texts meet."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from small_data import file_of
from strategies import texts
from subwords import InputError

TOK = subwords.train(["low lower lowest " * 9], vocab_size=270, special_tokens=["<s>"])


@given(texts())
def test_ids_of_encode_are_canonical(text: str) -> None:
    ids = TOK.encode(text)
    assert subwords.study.is_canonical(TOK, ids)
    assert subwords.study.canonicalize(TOK, ids) == ids


@given(st.lists(st.integers(0, TOK.vocab_size - 1), max_size=12))
def test_any_ids_become_canonical_and_keep_their_text(ids: list[int]) -> None:
    found = subwords.study.canonicalize(TOK, ids)
    assert subwords.study.canonicalize(TOK, found) == found
    assert TOK.decode_bytes(found) == TOK.decode_bytes(ids)
    assert subwords.study.is_canonical(TOK, ids) == (found == ids)


def test_special_tokens_stay() -> None:
    ids = [0, *TOK.encode("low"), 0, 0, *b"l"]
    assert [index for index in subwords.study.canonicalize(TOK, ids) if index == 0] == [0, 0, 0]
    assert subwords.study.canonicalize(TOK, []) == []
    with pytest.raises(InputError):
        subwords.study.canonicalize(TOK, [10**6])


@given(texts(), texts())
def test_boundaries(first: str, second: str) -> None:
    apart, whole = [*TOK.encode(first), *TOK.encode(second)], TOK.encode(first + second)
    found = subwords.study.boundary_difference(TOK, first, second)
    assert (found is None) == (apart == whole)
    if found is not None:
        assert (list(found.apart), list(found.whole)) == (apart, whole)
        assert apart[: found.start] == whole[: found.start]
        assert apart[len(apart) - found.stop :] == whole[len(whole) - found.stop :]
        changed = apart[found.start : len(apart) - found.stop], whole[found.start : len(whole) - found.stop]
        assert changed[0] != changed[1]


@pytest.mark.parametrize("name", ["gpt2/tokenizer.json", "t5/spiece.model", "phi-3/tokenizer.json"])
def test_real_files(data: Path, name: str) -> None:
    tok = subwords.load(file_of(data, name))
    for text in ("Hello, world!", "naive"):
        assert subwords.study.is_canonical(tok, tok.encode(text)), text
