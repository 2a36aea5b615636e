"""Plots by matplotlib (extra [all]): frequencies, groups and tokenizers with intervals, sizes of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.study.statistics import Interval
from subwords.support.errors import InputError
from subwords.support.names import install_hint

if TYPE_CHECKING:
    from subwords.study.statistics import Zipf


ROOM_LABELS = 60  # characters of labels that fit side by side
HATCHES, MARKERS = ("", "//", "..", "xx", "\\\\", "++"), ("s", "^", "D", "v", "P", "X")  # in print without colours

Point = tuple[int, float, Interval | None]  # a size of the vocabulary, its bytes per token, and their interval
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


def _figure(title: str, x: str, y: str, ax: Any = None) -> tuple[Any, Any]:
    """Return the figure of the given axes, or a new one, and its axes."""
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(f"plots need matplotlib: {install_hint('all')}") from None
    if ax is not None and not isinstance(ax, Axes):
        raise InputError(f"expected ax to be axes of matplotlib, not {type(ax).__name__}")
    figure = Figure(figsize=(7, 4.5), layout="constrained") if ax is None else ax.figure  # no pyplot: no global state
    axes = figure.add_subplot() if ax is None else ax
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_zipf(frequencies: Sequence[int], fit: Zipf | None, title: str | None, ax: Any) -> Any:
    """Return a figure of frequency over rank, with the fitted line."""
    figure, axes = _figure(_titled("Frequency of tokens by rank", title), "rank", "frequency", ax)
    ranks = np.arange(1, len(frequencies) + 1)
    axes.loglog(ranks, frequencies, label="tokens")
    if fit is not None:
        chosen = np.arange(fit.first, fit.last + 1)
        logs = np.log(np.asarray(frequencies)[fit.first - 1 : fit.last])
        start = logs.mean() - fit.slope * np.log(chosen).mean()
        axes.loglog(chosen, np.exp(start + fit.slope * np.log(chosen)), "--", label=f"slope {fit.slope:.2f}")
    axes.legend(frameon=False)
    return figure


def plot_bars(
    series: Sequence[tuple[str, Sequence[Bar]]], notes: Sequence[str], title: str | None, ax: Any, *, costs: bool
) -> Any:
    """Return a figure of the bytes per token, or of the costs, of groups or tokenizers; several series side by side."""
    label = "tokens, relative to the reference" if costs else "bytes per token"
    figure, axes = _figure(_titled("Cost" if costs else "Bytes per token", title), "", label, ax)
    _bars(axes, series)
    if costs:
        axes.axhline(1, color="black", linewidth=0.8)
    if len(series) > 1:
        axes.legend(frameon=False)
    axes.set_xlabel("\n".join(fill(note, 110) for note in notes), fontsize="x-small")
    return figure


def plot_sweep(
    points: Sequence[Point], groups: Mapping[str, Sequence[float | None]], title: str | None, ax: Any
) -> Any:
    """Return a figure of bytes per token over the size of the vocabulary, with intervals; a line for each group."""
    from matplotlib.ticker import NullFormatter, NullLocator

    figure, axes = _figure(
        _titled("Compression by size of the vocabulary", title), "tokens in the vocabulary", "bytes per token", ax
    )
    if not points:
        raise InputError("no bytes per token to plot: these word counts do not know the bytes of their text")
    sizes, ratios, intervals = zip(*points, strict=True)
    axes.set_xscale("log")
    axes.plot(sizes, ratios, "o-")
    _whiskers(axes, sizes, ratios, intervals)
    for k, (name, values) in enumerate(groups.items()):
        style = MARKERS[k % len(MARKERS)] + "--"  # told apart without colours
        axes.plot(sizes, values, style, label=name)
    if groups:
        axes.lines[0].set_label("all")
        axes.legend(frameon=False)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    return figure


def _titled(what: str, title: str | None) -> str:
    if title is None or title.lower().startswith(what.lower()):
        return title or what
    return f"{what}: {title}"


def _bars(axes: Any, series: Sequence[tuple[str, Sequence[Bar]]]) -> None:
    """Draw bars at each label, one for each series; a label whose series all lack a value is left out."""
    labels = [bar[0] for k, bar in enumerate(series[0][1]) if any(bars[k][1] is not None for _, bars in series)]
    places, width = np.arange(len(labels)), 0.8 / len(series)
    for number, (name, bars) in enumerate(series):
        kept = [bar for bar in bars if bar[0] in labels]
        heights = [0.0 if height is None else height for _, height, _ in kept]
        shift = (number - (len(series) - 1) / 2) * width
        hatch = HATCHES[number % len(HATCHES)]
        axes.bar(places + shift, heights, width, hatch=hatch, edgecolor="white", linewidth=0, label=name)
        _whiskers(axes, places + shift, heights, [interval for _, _, interval in kept])
    turned = sum(map(len, labels)) > ROOM_LABELS
    axes.set_xticks(places, labels, rotation=45 if turned else 0, ha="right" if turned else "center")


def _whiskers(axes: Any, places: Any, heights: Sequence[float], intervals: Sequence[Interval | None]) -> None:
    """Draw the intervals that are known, and nothing for others."""
    known = [
        (place, height, max(0.0, height - interval.low), max(0.0, interval.high - height))
        for place, height, interval in zip(places, heights, intervals, strict=True)
        if interval is not None
    ]
    if known:
        x, y, below, above = zip(*known, strict=True)
        axes.errorbar(x, y, yerr=(below, above), fmt="none", ecolor="black", elinewidth=1, capsize=3)
