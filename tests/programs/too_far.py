"""A kernel is given an end that is beyond its text: checked mode must notice."""

from __future__ import annotations

import numpy as np

from subwords.kernels.text.utf8 import find_bytes

try:
    find_bytes(np.zeros(3, np.uint8), 0, 9, np.ones(1, np.uint8))
    raise AssertionError("nobody noticed")
except IndexError:
    pass
