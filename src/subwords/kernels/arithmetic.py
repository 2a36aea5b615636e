"""Floating point from additions, multiplications and divisions only: the same bits on every machine."""

from __future__ import annotations

import numpy as np

from subwords.kernels.jit import I64, U64, helper, inlined, leading_zeros

LN2 = 0.6931471805599453
SQRT2 = 1.4142135623730951
SIGN = 0x7FFFFFFFFFFFFFFF


@inlined
def sortable(x):
    """The bits of a number as an integer of the same order."""
    bits = np.float64(x).view(np.int64)
    return bits if bits >= 0 else bits ^ I64(SIGN)


@helper
def ln(x):
    """The natural logarithm of a positive integer."""
    exponent = I64(63 - leading_zeros(U64(x)))
    y = np.float64(x) / np.float64(I64(1) << exponent)
    if y > SQRT2:
        y *= 0.5
        exponent += 1
    s = (y - 1.0) / (y + 1.0)
    z = s * s
    p = (1 / 21 * z + 1 / 19) * z + 1 / 17
    p = ((p * z + 1 / 15) * z + 1 / 13) * z + 1 / 11
    p = ((p * z + 1 / 9) * z + 1 / 7) * z + 1 / 5
    return exponent * LN2 + 2.0 * s * ((p * z + 1 / 3) * z + 1.0)
