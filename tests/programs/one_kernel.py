"""One small kernel: the first byte that is no UTF-8, where any byte of a text may be damaged."""

from __future__ import annotations

import numpy as np

from subwords.kernels.text.utf8 import first_invalid

text = ("low, naïve 文字 😀 " * 9).encode()
assert first_invalid(np.frombuffer(text, np.uint8)) == -1
for at in range(len(text)):
    damaged = text[:at] + b"\xff" + text[at + 1 :]
    try:
        damaged.decode()
    except UnicodeDecodeError as error:
        assert first_invalid(np.frombuffer(damaged, np.uint8)) == error.start
