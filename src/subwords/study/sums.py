"""Sums: what is added up over the documents of a group, and bootstrap intervals of ratios of these sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.support.checks import check_integer

__all__ = ["BUCKETS", "Bootstrap", "DocumentSums", "Estimate"]

BUCKETS = 1 << 12  # documents that are kept apart; any further one joins one of them
AT_ONCE = 1 << 18  # draws in memory
MOST_RESAMPLES = 100_000

Sums = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value and its bootstrap interval; `low` and `high` are None without one."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "none"
        shown = f"{self.value:.4g}"
        return shown if self.low is None or self.high is None else f"{shown} ({self.low:.4g} to {self.high:.4g})"


class DocumentSums:
    """Sums over documents of some integers for each document, in bounded memory.

    The first BUCKETS documents have a row each. Any further one is added to a row that a hash of its number chooses,
    so two objects with the same number of documents put equal numbers into equal rows.
    """

    def __init__(self, columns: int) -> None:
        self.documents = 0
        self._rows = np.zeros((BUCKETS, columns), np.int64)

    def add(self, rows: NDArray[np.int64]) -> None:
        """Add documents, int64 of shape (documents, columns)."""
        numbers = np.arange(self.documents, self.documents + len(rows), dtype=np.uint64)
        self.documents += len(rows)
        places = np.where(numbers < BUCKETS, numbers, _mixed(numbers) % np.uint64(BUCKETS)).astype(np.int64)
        for column in range(rows.shape[1]):
            # Sums of floats are exact below 2^53.
            self._rows[:, column] += np.bincount(places, rows[:, column], BUCKETS).astype(np.int64)

    @property
    def rows(self) -> NDArray[np.int64]:
        """One row for each document, or for each of the BUCKETS sets of documents."""
        return self._rows[: min(self.documents, BUCKETS)]

    @property
    def totals(self) -> list[int]:
        """The sum of each column."""
        totals: list[int] = self._rows.sum(axis=0).tolist()
        return totals


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of numbers: the finalizer of SplitMix64 (Steele et al., 2014)."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """How intervals are made: percentiles of resampled documents (V3). resamples=0: no intervals."""

    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        number = isinstance(self.confidence, int | float) and not isinstance(self.confidence, bool)
        if not number or not 0 < self.confidence < 1:
            raise InputError(f"expected confidence to be a number between 0 and 1, not {self.confidence!r:.60}")
        check_integer("resamples", self.resamples, 0, MOST_RESAMPLES)
        check_integer("seed", self.seed, 0, 2**63 - 1)

    def resampled(self, rows: NDArray[np.int64]) -> Sums:
        """Return the sums of the columns in each resample, shape (resamples, columns); empty for fewer than 2 rows.

        The draws depend on the seed and the number of rows only: equal numbers of rows are resampled alike.
        """
        count = len(rows)
        if count < 2 or not self.resamples:
            return np.zeros((0, rows.shape[1]))
        rng = np.random.default_rng(self.seed)
        values, found = rows.astype(np.float64), list[Sums]()
        step = max(1, AT_ONCE // count)
        for first in range(0, self.resamples, step):
            number = min(step, self.resamples - first)
            drawn = rng.integers(0, count, (number, count))
            drawn += count * np.arange(number)[:, None]
            weights = np.bincount(drawn.ravel(), minlength=number * count).reshape(number, count)
            found.append(weights.astype(np.float64) @ values)
        return np.concatenate(found)

    def interval(self, value: float | None, resampled: Sums) -> Estimate:
        """Return a value with the percentiles of its resampled values; those that are not finite are left out."""
        kept = resampled[np.isfinite(resampled)]
        if value is None or not len(kept):
            return Estimate(value)
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(kept, [tail, 1 - tail]).tolist()
        return Estimate(value, low, high)

    def ratio(self, totals: list[int], resampled: Sums, above: int, below: int) -> Estimate:
        """Return the ratio of two columns; None for a denominator of 0."""
        return self.of(lambda sums: sums[..., above] / sums[..., below], totals, resampled)

    def of(self, function: Callable[[Sums], Sums], totals: list[int], resampled: Sums) -> Estimate:
        """Return a function of the sums of the columns."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(function(np.array(totals, np.float64)))
            return self.interval(value if np.isfinite(value) else None, function(resampled))
