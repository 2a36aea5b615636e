"""A kernel is given an id that its vocabulary does not have: checked mode must notice."""

from __future__ import annotations

import numpy as np

from subwords.kernels.text.decode import decode_ids

ids, offsets = np.array([0, 1, 9]), np.array([0, 3, 5])
try:
    decode_ids(ids, np.zeros(64, np.uint8), offsets, np.zeros(64, np.uint8))
    raise AssertionError("nobody noticed")
except IndexError:
    pass
