"""Median, spread and ratio of a few timings: no more than the tables show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Summary", "ratio", "summarize"]


@dataclass(frozen=True)
class Summary:
    """The median of some values and their range; `count` of them."""

    median: float
    least: float
    most: float
    count: int

    def overlaps(self, other: Summary) -> bool:
        """Whether the two ranges have a value in common."""
        return self.least <= other.most and other.least <= self.most


def summarize(values: Sequence[float]) -> Summary | None:
    """Return the summary of some values, None of none.

    >>> summarize([3.0, 1.0, 2.0])
    Summary(median=2.0, least=1.0, most=3.0, count=3)
    """
    return Summary(median(values), min(values), max(values), len(values)) if values else None


def ratio(peer: Summary | None, own: Summary | None) -> tuple[float, bool] | None:
    """Return how many times as fast as the peer (both are times), and whether the ranges are apart.

    Two single values have no ranges, so they count as not apart.
    """
    if peer is None or own is None or not own.median:
        return None
    single = peer.count == own.count == 1
    return peer.median / own.median, not single and not own.overlaps(peer)
