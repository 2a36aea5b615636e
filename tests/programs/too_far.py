"""A kernel is given an id that its vocabulary does not have: checked mode must notice."""

from __future__ import annotations

import numpy as np

from subwords.kernels.text.utf8 import join_ids

ids, spans = np.array([0, 1, 9]), np.array([3, 3 << 32 | 2])
try:
    join_ids(ids, spans, np.zeros(99, np.uint8), np.zeros(99, np.uint8))
    raise AssertionError("nobody noticed")
except IndexError:
    pass
