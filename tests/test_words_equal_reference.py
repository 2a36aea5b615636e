"""Words in ids, as training goes on from them: cuts by neighbours, and runs of ids, are the textbook's (E9, B9)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import BPE, Provenance, cut_words, engine_encoder, neighbours_of, symbol_words_of_ids, word_ids
from inside import kernels_layout as layout
from strategies import byte_texts, texts
from subwords import TokenBatch, WordCounts
from subwords.reference.bpe import parts_of, runs_of_ids

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


@given(words=st.lists(byte_texts(20).filter(bool), min_size=1, max_size=9))
def test_words_are_cut_where_no_token_is(model: BPE, words: list[bytes]) -> None:
    counts, near = counts_of(words), neighbours_of(model)
    assert near is not None
    ends, text_ends = np.empty(len(counts.data), np.uint32), np.empty(len(words), np.int64)
    cut_words(counts.data, counts.offsets, near, ends, text_ends)
    expected = [parts_of(word, model.vocab) for word in words]
    assert np.diff(text_ends, prepend=0).tolist() == [*map(len, expected)]
    sizes = np.diff(ends[: text_ends[-1]].astype(np.int64), prepend=0).tolist()
    assert sizes == [len(part) for parts in expected for part in parts]


def test_neighbours_are_those_of_tokens(model: BPE) -> None:
    near = neighbours_of(model)
    assert near is not None
    pairs = {token[i : i + 2] for token in model.vocab for i in range(len(token) - 1)}
    assert {bytes(divmod(int(at), 256)) for at in np.flatnonzero(near)} == pairs


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


def test_models_that_look_words_up_are_not_cut(model: BPE) -> None:
    from dataclasses import replace

    assert neighbours_of(replace(model, whole_words=True)) is None
    characters = subwords.train([TEXT], vocab_size=60, byte_level=False).model
    assert isinstance(characters, BPE)
    assert neighbours_of(characters) is None


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=6), st.integers(1, 3)), max_size=9),
    st.sets(st.integers(0, 5)),
)
def test_runs_of_ids(words: list[tuple[list[int], int]], apart: set[int]) -> None:
    offsets = np.cumsum([0, *(len(ids) for ids, _ in words)], dtype=np.int64)
    batch = TokenBatch(np.array([index for ids, _ in words for index in ids], np.uint32), offsets)
    split = np.isin(np.arange(6), [*apart])
    found = symbol_words_of_ids(batch, np.array([n for _, n in words], np.uint64), split, in_order=True)
    ends = [k for k, symbol in enumerate(found.symbols.tolist()) if symbol == layout.END]
    runs = [found.symbols[a + 1 : b].tolist() for a, b in pairwise(ends)]
    assert runs == runs_of_ids([ids for ids, _ in words], apart)
    places = [a + 1 for a in ends[:-1]]
    weights = [int(found.weights[np.searchsorted(found.starts[:-1], place, "right") - 1]) for place in places]
    assert weights == [n for ids, n in words for _ in runs_of_ids([ids], apart)]
    assert int(found.starts[-1]) == layout.END
