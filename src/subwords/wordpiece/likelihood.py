"""Exact comparison of two likelihood gains, for cases that floating point cannot decide (P1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, localcontext
from math import gcd

__all__ = ["compare_gains"]

Counts = tuple[int, int, int]  # merges, and the counts of both tokens; for a token with itself: n, c, c - n


def compare_gains(x: Counts, y: Counts, total: int) -> int:
    """Return -1, 0 or 1: merging a pair with the counts x gains less than, as much as, or more than with y.

    A gain is the logarithm of a product of powers of the counts. Two gains are equal if the powers cancel; otherwise
    they differ in some digit.
    """
    powers = Counter(_powers(x, total))
    powers.subtract(_powers(y, total))
    if _is_one(powers):
        return 0
    digits = 50
    while True:
        with localcontext(prec=digits):
            difference = sum((exponent * Decimal(base).ln() for base, exponent in powers.items() if base), Decimal(0))
            # Sixteen terms, each below 2**63 * 44.
            if abs(difference) > Decimal(10) ** (25 - digits):
                return 1 if difference > 0 else -1
        digits *= 2


def _powers(counts: Counts, total: int) -> dict[int, int]:
    """Return the exponents of the counts in the factor by which the likelihood rises; 0 ** 0 is 1."""
    n, left, right = counts
    powers = Counter[int]()
    for base, exponent in ((n, n), (left - n, left - n), (right - n, right - n), (total, total)):
        powers[base] += exponent
    for base in (left, right, total - n):
        powers[base] -= base
    return powers


def _is_one(powers: Mapping[int, int]) -> bool:
    """Whether a product of powers is 1: over coprime bases, all exponents must be 0."""
    todo = [(base, exponent) for base, exponent in powers.items() if base > 1 and exponent]
    coprime = list[tuple[int, int]]()
    while todo:
        base, exponent = todo.pop()
        for i, (other, power) in enumerate(coprime):
            common = gcd(base, other)
            if common > 1:
                del coprime[i]
                parts = ((common, exponent + power), (base // common, exponent), (other // common, power))
                todo += [(part, raised) for part, raised in parts if part > 1]
                break
        else:
            coprime.append((base, exponent))
    return all(exponent == 0 for _, exponent in coprime)
