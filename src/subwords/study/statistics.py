"""Statistics of evaluations: intervals by bootstrap, distributions of ids, borders of morphemes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.support.checks import check_integer
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from subwords import Tokenizer


MOST_UNITS = 1024  # documents, or bundles of them, that are resampled
ROWS = 64  # resamples at once


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def check_confidence(confidence: object, resamples: object, seed: object) -> None:
    """Raise InputError for invalid settings."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise InputError(f"expected confidence to be between 0 and 1, such as 0.95, not {confidence!r:.60}")
    check_integer("resamples", resamples, 0, 1_000_000)
    check_integer("seed", seed, 0, 2**63 - 1)


class Resampled:
    """Sums over resampled documents: each resample draws as many documents as there are, with replacement.

    Defined in ALGORITHMS.md, V5.

    columns: int64, a value for each document. sums: (resamples, columns); NaN for fewer than 2 documents. More than
    MOST_UNITS documents are dealt at random into that many bundles, which are then resampled. The draws depend on the
    seed and on the number of documents only: columns of the same documents are resampled alike, which makes differences
    paired.

    >>> import numpy as np
    >>> same = Resampled([np.array([2, 4, 6]), np.array([1, 2, 3])], resamples=100, seed=1)
    >>> same.interval(lambda sums: sums[:, 0] / sums[:, 1], 0.95)
    Interval(low=2.0, high=2.0)
    """

    def __init__(self, columns: Sequence[NDArray[np.int64]], *, resamples: int, seed: int) -> None:
        units: NDArray[np.float64]
        rng, count = np.random.default_rng(seed), len(columns[0])
        if count > MOST_UNITS:
            dealt = (np.arange(count) % MOST_UNITS).astype(np.uint16)  # small, so that shuffling is fast
            rng.shuffle(dealt)
            bundles = dealt.astype(np.intp)
            units = np.column_stack([np.bincount(bundles, column) for column in columns])
        else:
            units = np.column_stack(columns).astype(np.float64)
        drawn = [np.full((resamples if count < 2 else 0, len(columns)), np.nan)]
        for first in range(0, resamples if count > 1 else 0, ROWS):
            rows = min(ROWS, resamples - first)
            chosen = rng.integers(0, len(units), (rows, len(units))) + len(units) * np.arange(rows)[:, None]
            times = np.bincount(chosen.ravel(), minlength=rows * len(units)).reshape(rows, -1)
            drawn.append(times @ units)
        self.sums = np.concatenate(drawn)

    def values(self, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a function of the sums; infinite or NaN where there is nothing to divide by."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return statistic(self.sums)

    def interval(
        self, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], confidence: float
    ) -> Interval | None:
        """Return the percentile interval of a function of sums; None for fewer than 2 documents, or no resamples."""
        return percentiles(self.values(statistic), confidence)


def percentiles(values: NDArray[np.float64], confidence: float) -> Interval | None:
    """Return the interval of the middle values, a share `confidence` of the finite ones; None if there are none."""
    found = values[np.isfinite(values)]
    if not len(found):
        return None
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


# ---------------------------------------------------------------------------------------------------------------------
# Statistics of the counts of ids. Pure functions of arrays.

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


# ---------------------------------------------------------------------------------------------------------------------
# Gold: words with their morphemes, and how well the borders of tokens are those of morphemes.


class Boundaries(NamedTuple):
    """Borders inside words: precision, recall and F1 of the tokens' borders. None without borders.

    Defined in ALGORITHMS.md, V9.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    words: int


def boundaries(tokenizer: Tokenizer, gold: Iterable[tuple[str, tuple[str, ...]]]) -> Boundaries:
    """Return how well the borders of tokens inside words are those of morphemes; each word counts once.

    A word is encoded with a space before it, as within a sentence.
    """
    rows = [(word, {*accumulate(map(len, parts[:-1]))}) for word, parts in gold]
    hits = made = wanted = 0
    encodings = tokenizer([f" {word}" for word, _ in rows], template=False, truncation=False, padding=False)
    for (word, borders), encoding in zip(rows, encodings, strict=True):
        own = {int(start) - 1 for start in encoding.spans[:, 0].tolist()} & {*range(1, len(word))}
        hits, made, wanted = hits + len(own & borders), made + len(own), wanted + len(borders)
    precision, recall = (hits / made if made else None), (hits / wanted if wanted else None)
    f1 = None if precision is None or recall is None else 2 * hits / (made + wanted)
    return Boundaries(precision, recall, f1, len(rows))
