"""Numbers and Markdown tables as text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.stats import Summary

__all__ = ["number", "spread", "table", "times"]


def number(value: float) -> str:
    """Return a value with three significant digits.

    >>> number(1234.5), number(12.345), number(0.0012345)
    ('1,234', '12.3', '0.00123')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2
    while 0 < abs(value) * 10 ** (digits - 2) < 1 and digits < 9:
        digits += 1
    return f"{value:.{digits if abs(value) < 10 else 1}f}"


def spread(summary: Summary | None) -> str:
    """Return median (least-most), the median alone of a single value, a dash of none."""
    if summary is None:
        return "–"
    if summary.count == 1:
        return number(summary.median)
    return f"{number(summary.median)} ({number(summary.least)}–{number(summary.most)})"


def times(found: tuple[float, bool] | None) -> str:
    """Return a ratio, with ≈ where the ranges it compares overlap, so that no difference is shown."""
    if found is None:
        return "–"
    value, apart = found
    return f"{'' if apart else '≈ '}{number(value)}×"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table that is also readable as text: the first column to the left, the others to the right.

    >>> print(table(["engine", "s"], [["one", "1.5"]]))
    | engine |   s |
    |:-------|----:|
    | one    | 1.5 |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (headers, *rows)]
    for row in cells:
        if len(row) != len(headers):
            raise ValueError(f"expected {len(headers)} cells, not {len(row)}: {row}")
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(headers))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [f":{'-' * (width + 1)}" if not column else f"{'-' * (width + 1)}:" for column, width in enumerate(widths)]
    return "\n".join([line(cells[0]), f"|{'|'.join(rule)}|", *map(line, cells[1:])])
