"""All pairs of tokens that join to a token, and merges that do not join: as a search in Python finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inside import joining_pairs
from inside import kernels_entry as entry
from inside import models_bpe_model as bpe_model
from subwords import FormatError
from subwords.machine import BPE, Vocab

TOKENS = st.lists(st.binary(min_size=0, max_size=12), max_size=60)
FEW_BYTES = st.lists(st.text("ab", max_size=19).map(str.encode), max_size=80)


@given(st.one_of(TOKENS, FEW_BYTES), st.sets(st.integers(0, 60)))
def test_pairs_are_those_of_a_search(tokens: list[bytes], left_out: set[int]) -> None:
    ids = {token: i for i, token in enumerate(tokens) if token and i not in left_out}  # of equal ones the last
    expected = [
        [ids[token[:cut]], ids[token[cut:]], i]
        for token, i in sorted(ids.items(), key=lambda item: item[1])
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    assert joining_pairs(Vocab(tokens), frozenset(left_out)).tolist() == expected


@given(st.lists(st.text("ab", min_size=1, max_size=19).map(str.encode), min_size=1, max_size=9), st.data())
def test_the_first_wrong_merge_is_refused(tokens: list[bytes], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, len(tokens) - 1)] * 3), min_size=1, max_size=4))
    right = [tokens[a] + tokens[b] == tokens[c] for a, b, c in rows]
    merges = np.array(rows, np.int64)
    symbols, first = Vocab(tokens), right.index(False) if False in right else -1
    assert bpe_model.first_wrong(symbols, merges, 0) == first
    assert entry.entry_kernel("first_wrong_join")(symbols.data, symbols.offsets, merges.ravel(), 0) == first
    if all(right):
        assert len(BPE(Vocab(tokens), merges).merges) == len(rows)
        return
    a, b, c = (tokens[i] for i in rows[right.index(False)])
    with pytest.raises(FormatError) as caught:
        BPE(Vocab(tokens), merges)
    assert str(caught.value).startswith(f"merge {right.index(False)} yields {c!r}; expected {a + b!r}")


def test_a_piece_with_nul_is_one_piece() -> None:
    pieces = [b"<unk>", b"c", b"x\0y"]
    model = BPE.from_scores(pieces, [0, -1, -2], unk_id=0, byte_fallback=False, special_ids=[0])
    assert sorted(model.parts) == [b"\0", b"x", b"y"]
