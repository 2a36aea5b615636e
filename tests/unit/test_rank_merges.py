"""All pairs of tokens that join to a token: the same by hashes and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inside import Vocab, joining_pairs
from inside import models_bpe_merges as rank_merges

TOKENS = st.lists(st.binary(min_size=0, max_size=6), max_size=60).map(lambda found: [*dict.fromkeys(found)])
FEW_BYTES = st.lists(st.text("ab", max_size=7).map(str.encode), max_size=80).map(lambda found: [*dict.fromkeys(found)])


@given(st.one_of(TOKENS, FEW_BYTES), st.sets(st.integers(0, 60)))
def test_pairs_are_those_of_a_search(tokens: list[bytes], left_out: set[int]) -> None:
    ids = {token: i for i, token in enumerate(tokens) if token and i not in left_out}
    expected = [
        [ids[token[:cut]], ids[token[cut:]], i]
        for token, i in ids.items()
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    vocab = Vocab(tokens)
    assert joining_pairs(vocab, frozenset(left_out)).tolist() == expected
    assert rank_merges._one_by_one(vocab, np.array([*ids.values()], np.int64)).tolist() == expected


@pytest.mark.parametrize(("name", "value"), [("_CODE", 0), ("_BASE", 1)])
def test_equal_hashes_change_nothing(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [b"a", b"b", b"ab", b"ba", b"aba", b"abab"]
    expected = joining_pairs(Vocab(tokens)).tolist()
    monkeypatch.setattr(rank_merges, name, value)  # with a base of 1, the order of bytes is lost
    assert rank_merges._by_hashes(Vocab(tokens), np.arange(6)) is None
    assert joining_pairs(Vocab(tokens)).tolist() == expected
    # Distinct hashes of all tokens, but one is also that of other bytes: "cb" is not "bc".
    if name == "_BASE":
        assert joining_pairs(Vocab([b"a", b"bc", b"acb"])).tolist() == []
