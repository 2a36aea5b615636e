"""Pictures of README and BENCHMARKS: how many times as fast as the fastest other library, on a log scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

__all__ = ["picture"]

# Each task stands above its bar, so that a picture as wide as a phone is legible.
WIDTH, LEFT, RIGHT, LINE, TOP, BAR = 520, 16, 90, 46, 56, 14
STYLE = """
text { font: 16px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 14px; fill: #59636e }
.wins { fill: #0969da } .loses { fill: #bc4c00 } .one { stroke: #59636e } .grid { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .wins { fill: #4493f8 } .loses { fill: #db6d28 }
.one { stroke: #9198a1 } .grid { stroke: #3d444d } }
"""


def picture(rows: Sequence[Sequence[str]]) -> str:
    """Return an SVG, light and dark, with a bar for each row (first cell: task, last: ratio), on a log scale.

    A bar to the left of 1 is a loss. ≈ before a ratio: the measurements overlap.
    """
    ratios = [float(row[-1].strip("*≈ ×").replace(",", "")) for row in rows]
    low, high = min(1, *ratios) / 2.5, 2 * max(ratios)
    steps = (1, 2, 5) if high < 30 * low else (1, 3) if high < 300 * low else (1,)
    ticks = [one for k in range(-2, 5) for step in steps if low <= (one := step * 10.0**k) <= high]
    low, high = math.log(ticks[0]), math.log(max(*ratios, ticks[-1]))

    def at(ratio: float) -> float:
        return LEFT + (math.log(ratio) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    bottom = TOP + LINE * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" width="{WIDTH}" role="img">',
        f"<title>Times as fast as the fastest other library</title><style>{STYLE}</style>",
        f'<text x="{LEFT}" y="20">times as fast as the fastest other library (log scale)</text>',
    ]
    for tick in ticks:  # beside the bars only: no line crosses a task
        kind = "one" if tick == 1 else "grid"
        lines = "".join(f"M{at(tick):.1f} {y + 3}v{BAR + 8}" for y in range(TOP, bottom, LINE))
        parts.append(f'<path class="{kind}" d="{lines}"/>')
        parts.append(f'<text class="small" x="{at(tick):.1f}" y="{bottom + 12}" text-anchor="middle">{tick:,g}×</text>')
    for number, (row, ratio) in enumerate(zip(rows, ratios, strict=True)):
        y, (first, last) = TOP + LINE * number, sorted((at(1), at(ratio)))
        kind = "wins" if ratio >= 1 else "loses"
        task = escape(row[0].replace("`", ""))
        parts.append(f'<text x="{LEFT}" y="{y}">{task}</text>')
        size = f'width="{max(last - first, 2):.1f}" height="{BAR}"'
        parts.append(f'<rect class="{kind}" x="{first:.1f}" y="{y + 7}" {size} rx="2"/>')
        parts.append(f'<text class="small" x="{last + 6:.1f}" y="{y + BAR + 5}">{escape(row[-1].strip("*"))}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
