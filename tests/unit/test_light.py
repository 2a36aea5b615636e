"""Small functions instead of modules whose import takes long."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from inside import distinct, random_bits


@given(arrays(np.int32, array_shapes(min_dims=1, max_dims=2, min_side=0), elements=st.integers(-3, 3)))
def test_distinct_is_unique(array: np.ndarray) -> None:
    found = distinct(array)
    assert found.dtype == array.dtype
    assert found.tolist() == np.unique(array).tolist()


@given(st.integers(1, 64))
def test_random_bits_use_all_their_bits_and_no_more(count: int) -> None:
    seen = [random_bits(count) for _ in range(64)]
    assert max(seen) < 1 << count
    assert np.bitwise_or.reduce(np.array(seen, np.uint64)) == (1 << count) - 1
