"""Rules of merging: how many words a token may span (B9)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inside import MOST_CLASSES, word_rules
from inside import kernels_layout as layout

PIECES = st.lists(st.sampled_from([b"a", b" ", "▁".encode(), b"\xe2", b"\x96\x81", b"\x81"]), max_size=6).map(b"".join)


@given(st.lists(PIECES, max_size=8), st.sampled_from([b" ", "▁".encode()]), st.integers(1, 20))
def test_tokens_join_while_they_have_few_spaces(tokens: list[bytes], space: bytes, most: int) -> None:
    rules = word_rules(tokens, space, most)
    kinds = round(len(rules.joined) ** 0.5)
    least = min(most, MOST_CLASSES - 2)
    assert rules.lengths.tolist() == [len(token) for token in tokens]
    joins = rules.joined.reshape(kinds, kinds)[np.ix_(rules.classes, rules.classes)] != layout.APART
    assert joins.tolist() == [[a.count(space) + b.count(space) <= least for b in tokens] for a in tokens]
