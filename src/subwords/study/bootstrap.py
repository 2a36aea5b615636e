"""Bootstrap: intervals for ratios of sums over documents, by resampling documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.support.checks import check_integer

__all__ = ["Interval", "Resampled", "check_confidence"]

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

    columns: int64, a value for each document. More than MOST_UNITS documents are dealt at random into that many
    bundles, which are then resampled. The draws depend on the seed and on the number of documents only: columns of the
    same documents are resampled alike, which makes differences paired.

    >>> import numpy as np
    >>> same = Resampled([np.array([2, 4, 6]), np.array([1, 2, 3])], resamples=100, seed=1)
    >>> same.interval(lambda sums: sums[:, 0] / sums[:, 1], 0.95)
    Interval(low=2.0, high=2.0)
    """

    def __init__(self, columns: Sequence[NDArray[np.int64]], *, resamples: int, seed: int) -> None:
        units: NDArray[np.float64]
        rng, self._count = np.random.default_rng(seed), len(columns[0])
        if self._count > MOST_UNITS:
            dealt = (np.arange(self._count) % MOST_UNITS).astype(np.uint16)  # small, so that shuffling is fast
            rng.shuffle(dealt)
            bundles = dealt.astype(np.intp)
            units = np.column_stack([np.bincount(bundles, column) for column in columns])
        else:
            units = np.column_stack(columns).astype(np.float64)
        drawn = list[NDArray[np.float64]]()
        for first in range(0, resamples if len(units) else 0, ROWS):
            rows = min(ROWS, resamples - first)
            chosen = rng.integers(0, len(units), (rows, len(units))) + len(units) * np.arange(rows)[:, None]
            times = np.bincount(chosen.ravel(), minlength=rows * len(units)).reshape(rows, -1)
            drawn.append(times @ units)
        self._sums = np.concatenate([np.zeros((0, len(columns))), *drawn])

    def interval(
        self, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], confidence: float
    ) -> Interval | None:
        """Return the percentile interval of a function of sums; None for fewer than 2 documents, or no resamples."""
        if self._count < 2 or not len(self._sums):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            found = statistic(self._sums)
        found = found[np.isfinite(found)]
        if not len(found):
            return None
        low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
        return Interval(float(low), float(high))
