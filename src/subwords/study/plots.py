"""Plots by matplotlib (extra [plot]): frequencies, groups with intervals, sizes of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.study.distribution import Zipf
    from subwords.study.evaluate import Group

__all__ = ["plot_groups", "plot_sweep", "plot_zipf"]


def _figure(title: str, x: str, y: str) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError('plots need matplotlib: pip install "subwords[plot]"') from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")  # without pyplot: no window, no global state
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    return figure, axes


def plot_zipf(frequencies: Sequence[int], fit: Zipf | None) -> Any:
    """Return a figure of frequency over rank, with the fitted line."""
    figure, axes = _figure("Frequency of tokens by rank", "rank", "frequency")
    ranks = np.arange(1, len(frequencies) + 1)
    axes.loglog(ranks, frequencies, label="tokens")
    if fit is not None:
        chosen = np.arange(fit.first, fit.last + 1)
        logs = np.log(np.asarray(frequencies)[fit.first - 1 : fit.last])
        start = logs.mean() - fit.slope * np.log(chosen).mean()
        axes.loglog(chosen, np.exp(start + fit.slope * np.log(chosen)), "--", label=f"slope {fit.slope:.2f}")
    axes.legend()
    return figure


def plot_groups(groups: Sequence[Group]) -> Any:
    """Return a figure of the bytes per token of each group, with intervals."""
    figure, axes = _figure("Bytes per token", "", "bytes per token")
    known = [group for group in groups if group.bytes_per_token is not None]
    heights = [group.bytes_per_token or 0.0 for group in known]
    ends = [group.interval or (height, height) for group, height in zip(known, heights, strict=True)]
    below = [max(0.0, height - low) for height, (low, _) in zip(heights, ends, strict=True)]
    above = [max(0.0, high - height) for height, (_, high) in zip(heights, ends, strict=True)]
    axes.bar([group.name for group in known], heights, yerr=[below, above], capsize=3)
    axes.tick_params(axis="x", rotation=45)
    return figure


def plot_sweep(points: Sequence[tuple[int, float]]) -> Any:
    """Return a figure of bytes per token over the size of the vocabulary."""
    figure, axes = _figure("Compression by size of the vocabulary", "tokens in the vocabulary", "bytes per token")
    axes.semilogx([size for size, _ in points], [ratio for _, ratio in points], "o-")
    return figure
