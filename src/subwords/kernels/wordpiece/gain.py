"""The score of a pair: floating point that sorts, and exact comparison where floating point cannot decide (P1).

Only additions, multiplications and divisions: the same bits on every machine, and no mathematical library to link.
"""

from __future__ import annotations

import numpy as np

from subwords.kernels.arithmetic import ln
from subwords.kernels.jit import U64, helper, inlined, mix

# The error of a gain of n merges is below this times n: a few roundings of terms below 64 * 16 * n.
TOLERANCE = 2.0**-37
ULPS = 16  # the joint error of two computed course scores, in units in the last place
FEW = 1 << 21  # three factors below it have a product below 2**63


@helper
def thinned(n, c, ln_c):
    """(c - n) * ln(1 - n / c), without the cancellation of small n."""
    rest = c - n
    if rest == 0:
        return 0.0
    if n >= c >> 4:
        return np.float64(rest) * (ln(rest) - ln_c)
    r = np.float64(n) / np.float64(c)
    # (1 - r) ln(1 - r) = -r + r^2 / (1 * 2) + r^3 / (2 * 3) + ...
    p = 1 / 20 * r + 1 / 12
    if r > 1e-4:
        p = ((1 / 182 * r + 1 / 156) * r + 1 / 132) * r + 1 / 110
        p = ((p * r + 1 / 90) * r + 1 / 72) * r + 1 / 56
        p = (((p * r + 1 / 42) * r + 1 / 30) * r + 1 / 20) * r + 1 / 12
    return np.float64(n) * (r * ((p * r + 1 / 6) * r + 1 / 2) - 1.0)


@helper
def gain(n, high, low, total, ln_high, ln_low, ln_total):
    """By how much n merges of tokens with these counts raise the log-likelihood of `total` tokens."""
    pointwise = ln(n) + ln_total - ln_high - ln_low
    return np.float64(n) * pointwise + thinned(n, high, ln_high) + thinned(n, low, ln_low) - thinned(n, total, ln_total)


@inlined
def high_half(a, b):
    """The high half of the 128-bit product."""
    return mix(a, b) ^ (a * b)


@helper
def product(x, y, z):
    """The product of three integers below 2**63, in three parts of 64 bits, the highest first."""
    a, b, c = U64(x), U64(y), U64(z)
    low, high = a * b, high_half(a, b)
    middle, carried = high * c, high_half(low, c)
    total = middle + carried
    top = high_half(high, c)
    if total < middle:
        top += U64(1)
    return top, total, low * c


@helper
def compare_ratios(n, high, low, m, upper, lower):
    """Negative, zero or positive as n / (high * low) is below, equal to or above m / (upper * lower)."""
    if n < FEW and high < FEW and low < FEW and m < FEW and upper < FEW and lower < FEW:
        return n * upper * lower - m * high * low
    a, b = product(n, upper, lower), product(m, high, low)
    order = 0
    for k in range(3):
        if order == 0 and a[k] != b[k]:
            order = 1 if a[k] > b[k] else -1
    return order
