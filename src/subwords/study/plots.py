"""Plots by matplotlib (extra [plot]): frequencies, groups and tokenizers with intervals, sizes of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.study.statistics import Interval
from subwords.support.errors import InputError
from subwords.support.names import install_hint

if TYPE_CHECKING:
    from subwords.study.comparison import Comparison
    from subwords.study.evaluation import Group
    from subwords.study.growth import Sweep
    from subwords.study.statistics import Zipf


ROOM = 60  # characters of labels that fit side by side

Bar = tuple[str, float | None, Interval | None]  # a label, the height, and its interval


def check_plot(path: Path | None) -> None:
    """Raise InputError unless matplotlib is installed and writes files of this name, before any work."""
    if path is None:
        return
    figure, _ = _figure("", "", "")
    known = sorted(figure.canvas.get_supported_filetypes())
    kind = path.suffix[1:].lower()
    if kind not in known:
        came = f"{path.suffix!r}" if kind else "no suffix"
        raise InputError(
            f"{path}: expected the name of a plot to end in .{', .'.join(known)}, found {came}; .pdf and .svg are "
            "sharp at any size"
        )


def _figure(title: str, x: str, y: str) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(f"plots need matplotlib: {install_hint('plot')}") from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")  # without pyplot: no window, no global state
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_zipf(frequencies: Sequence[int], fit: Zipf | None, title: str | None) -> Any:
    """Return a figure of frequency over rank, with the fitted line."""
    figure, axes = _figure(_titled("Frequency of tokens by rank", title), "rank", "frequency")
    ranks = np.arange(1, len(frequencies) + 1)
    axes.loglog(ranks, frequencies, label="tokens")
    if fit is not None:
        chosen = np.arange(fit.first, fit.last + 1)
        logs = np.log(np.asarray(frequencies)[fit.first - 1 : fit.last])
        start = logs.mean() - fit.slope * np.log(chosen).mean()
        axes.loglog(chosen, np.exp(start + fit.slope * np.log(chosen)), "--", label=f"slope {fit.slope:.2f}")
    axes.legend(frameon=False)
    return figure


def plot_groups(groups: Sequence[Group], title: str | None) -> Any:
    """Return a figure of the bytes per token of each group, with intervals."""
    figure, axes = _figure(_titled("Bytes per token", title), "", "bytes per token")
    _bars(axes, [("", [(group.name, group.bytes_per_token, group.interval) for group in groups])])
    return figure


def plot_costs(groups: Sequence[Group], title: str | None) -> Any:
    """Return a figure of the cost of each group; the line is the cost of the reference."""
    figure, axes = _figure(_titled("Cost", title), "", "tokens, relative to the reference")
    _bars(axes, [("", [(group.name, group.cost, None) for group in groups])])
    axes.axhline(1, color="black", linewidth=0.8)
    return figure


def plot_comparison(found: Comparison, title: str | None) -> Any:
    """Return a figure of the bytes per token, or of the costs of parallel text, of each tokenizer, side by side."""
    costs = found.evaluations[0].parallel and len(found.evaluations[0].groups) > 1
    label = "tokens, relative to the reference" if costs else "bytes per token"
    figure, axes = _figure(_titled("Cost" if costs else "Bytes per token", title), "", label)
    if len(found.evaluations[0].groups) < 2:
        every = zip(found.names, found.evaluations, strict=True)
        bars = [(name, one.bytes_per_token, one.intervals.get("bytes_per_token")) for name, one in every]
        _bars(axes, [("", bars)])
        return figure
    _bars(
        axes,
        [
            (
                name,
                [
                    (group.name, group.cost if costs else group.bytes_per_token, None if costs else group.interval)
                    for group in one.groups
                ],
            )
            for name, one in zip(found.names, found.evaluations, strict=True)
        ],
    )
    axes.legend(frameon=False)
    return figure


def plot_sweep(found: Sweep, title: str | None) -> Any:
    """Return a figure of bytes per token over the size of the vocabulary, with intervals; a line for each group."""
    from matplotlib.ticker import NullFormatter, NullLocator

    figure, axes = _figure(
        _titled("Compression by size of the vocabulary", title), "tokens in the vocabulary", "bytes per token"
    )
    known = [one for one in found.sizes if one.bytes_per_token is not None]
    if not known:
        raise InputError("no bytes per token to plot: these word counts do not know the bytes of their text")
    sizes, ratios = [one.vocab_size for one in known], [one.bytes_per_token or 0.0 for one in known]
    axes.set_xscale("log")
    axes.errorbar(sizes, ratios, yerr=_whiskers(ratios, [one.interval for one in known]), fmt="o-", capsize=3)
    for k, group in enumerate(known[0].groups):
        axes.plot(sizes, [one.groups[k].bytes_per_token for one in known], ".--", label=group.name)
    if known[0].groups:
        axes.lines[0].set_label("all")
        axes.legend(frameon=False)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    return figure


def _titled(what: str, title: str | None) -> str:
    return what if title is None else f"{what}: {title}"


def _bars(axes: Any, series: Sequence[tuple[str, Sequence[Bar]]]) -> None:
    """Draw bars at each label, one for each series; a label whose series all lack a value is left out."""
    labels = [bar[0] for k, bar in enumerate(series[0][1]) if any(bars[k][1] is not None for _, bars in series)]
    places, width = np.arange(len(labels)), 0.8 / len(series)
    for number, (name, bars) in enumerate(series):
        kept = [bar for bar in bars if bar[0] in labels]
        heights = [0.0 if height is None else height for _, height, _ in kept]
        whiskers = _whiskers(heights, [interval for _, _, interval in kept])
        shift = (number - (len(series) - 1) / 2) * width
        axes.bar(places + shift, heights, width, yerr=whiskers, capsize=3, label=name)
    turned = sum(map(len, labels)) > ROOM
    axes.set_xticks(places, labels, rotation=45 if turned else 0, ha="right" if turned else "center")


def _whiskers(heights: Sequence[float], intervals: Sequence[Interval | None]) -> list[list[float]]:
    ends = [interval or (height, height) for height, interval in zip(heights, intervals, strict=True)]
    below = [max(0.0, height - low) for height, (low, _) in zip(heights, ends, strict=True)]
    above = [max(0.0, high - height) for height, (_, high) in zip(heights, ends, strict=True)]
    return [below, above]
