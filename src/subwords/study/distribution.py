"""Statistics of the counts of ids. Pure functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError

__all__ = ["Zipf", "check_order", "entropy", "gini", "renyi_efficiency", "zipf"]

Counts = NDArray[np.integer[Any]]

LEAST_RANKS = 3  # points of a line that has a fit to speak of


class Zipf(NamedTuple):
    """A line through log frequency over log rank, by least squares: its slope, R2, and the first and last rank."""

    slope: float
    r2: float
    first: int
    last: int


def check_order(order: object) -> None:
    """Raise InputError unless order is a number above 0; infinity is one."""
    if isinstance(order, bool) or not isinstance(order, int | float) or not order > 0:
        raise InputError(f"expected order to be a number above 0, not {order!r:.60}")


def entropy(counts: Counts, order: float = 1.0) -> float | None:
    """Return the Renyi entropy of this order in nats; order=1 is Shannon's. None without any count.

    Defined in ALGORITHMS.md, V6.

    >>> import numpy as np
    >>> entropy(np.array([1, 1, 1, 1])) == math.log(4)
    True
    """
    check_order(order)
    shares = counts[counts > 0] / max(1, int(counts.sum()))
    if not len(shares):
        return None
    if order == 1:
        return abs(float((shares * np.log(shares)).sum()))
    if math.isinf(order):
        return abs(float(np.log(shares.max())))
    # Relative to the largest share, no power underflows to a sum of 0.
    largest = float(shares.max())
    power = math.log(float(((shares / largest) ** order).sum())) + order * math.log(largest)
    return abs(power / (1 - order))


def renyi_efficiency(counts: Counts, *, order: float = 2.5, vocabulary: int | None = None) -> float | None:
    """Return the Renyi entropy divided by log of the size of the vocabulary; None for fewer than 2 types.

    Defined in ALGORITHMS.md, V6.

    vocabulary: None for the types that occur.

    Source: V. Zouhar et al., Tokenization and the Noiseless Channel, 2023.

    >>> import numpy as np
    >>> round(renyi_efficiency(np.array([2, 2, 1, 1, 1])), 4)
    0.9128
    """
    size = int((counts > 0).sum()) if vocabulary is None else vocabulary
    found = entropy(counts, order)
    return None if found is None or size < 2 else found / math.log(size)


def zipf(counts: Counts, ranks: tuple[int, int]) -> Zipf | None:
    """Return the fit of a line to log frequency over log rank, or None if fewer than 3 ranks are in the range.

    Defined in ALGORITHMS.md, V8.

    >>> import numpy as np
    >>> fit = zipf(np.array([3600, 1800, 1200, 900, 0]), (1, 10))
    >>> round(fit.slope, 6), round(fit.r2, 6), fit.last
    (-1.0, 1.0, 4)
    """
    first, last = ranks
    frequencies = -np.sort(-counts[counts > 0])
    last = min(last, len(frequencies))
    if last - first + 1 < LEAST_RANKS:
        return None
    x, y = np.log(np.arange(first, last + 1)), np.log(frequencies[first - 1 : last])
    x, y = x - x.mean(), y - y.mean()
    slope = float((x * y).sum() / (x * x).sum())
    spread = float((y * y).sum())
    r2 = 1.0 if spread == 0 else 1 - float(((y - slope * x) ** 2).sum()) / spread
    return Zipf(slope, r2, first, last)


def gini(costs: Sequence[float] | NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Return the Gini coefficient of costs, sum |ci - cj| / (2 n^2 mean); of each row, for two dimensions.

    Defined in ALGORITHMS.md, V10.

    >>> gini([1, 1, 1]), gini([0, 0, 3])
    (0.0, 0.6666666666666666)
    """
    values = np.sort(np.asarray(costs, np.float64), axis=-1)
    count = values.shape[-1]
    # Sorted, the sum of the absolute differences is linear: value i is larger than i others, smaller than the rest.
    places = 2 * np.arange(1, count + 1) - count - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (values * places).sum(axis=-1) / (count * values.sum(axis=-1))
    return found if found.ndim else float(found)
