"""Words in ids, as training goes on from them, however long words are cut (E9, B9)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import engine_encoder
from strategies import texts
from subwords import WordCounts
from subwords.machine import BPE, Provenance, word_ids

TEXT = "it's the naïve way, low lower lowest 文字 12 <s> \u0e17\u0e35\u0e48 " * 9
LINES = r"[^\n]+|\n+"


def counts_of(words: list[bytes]) -> WordCounts:
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    data = np.frombuffer(b"".join(words), np.uint8)
    return WordCounts(data, offsets, np.ones(len(words), np.uint64), Provenance(""))


@pytest.fixture(scope="module", params=["gpt2", LINES])
def model(request: pytest.FixtureRequest) -> BPE:
    found = subwords.train([TEXT], vocab_size=330, splitter=request.param).model
    assert isinstance(found, BPE)
    return found


@given(words=st.lists(texts(30).filter(bool).map(str.encode), min_size=1, max_size=9))
def test_cut_words_have_the_same_ids(model: BPE, words: list[bytes]) -> None:
    counts, found = counts_of(words), []
    for long in (0, 1 << 30):  # all words are long, and none is
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine_encoder, "LONG_WORD", long)
            found.append(word_ids(model, counts).to_lists())
    assert found[0] == found[1]


def test_models_that_look_words_up_find_them_in_counts(model: BPE) -> None:
    from dataclasses import replace

    held = replace(model, whole_words=True, merges=model.merges[:1])  # most tokens are only found as words
    words = [token for token in model.vocab if token]
    assert word_ids(held, counts_of(words)).to_lists() == [[model.vocab.ids[word]] for word in words]
