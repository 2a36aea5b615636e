"""Tables: rows of values as Markdown, LaTeX, HTML or a DataFrame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, ClassVar, cast

from subwords.errors import InputError

__all__ = ["Sheet", "Table", "frame", "html", "latex", "markdown", "of_unknown", "shown"]

Row = Sequence[object]
Sheet = tuple[Sequence[str], Sequence[Row]]  # columns and rows
SIGNIFICANT = 4  # digits
WHOLE = 10_000  # from which on a number is shown without a fraction
_LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {char: f"\\{char}" for char in "&%$#_"}


class Table:
    """What has one table of values: a dataclass with `columns` and `rows`."""

    title: ClassVar[str] = ""  # of the table in LaTeX

    def sheets(self) -> list[Sheet]:
        """Return the one table: columns and rows."""
        return [(self.columns, self.rows())]

    def notes(self) -> list[str]:
        """Return what the table leaves out, and why."""
        return []

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        raise NotImplementedError

    def rows(self) -> list[tuple[object, ...]]:
        """Return the values of each row, in the order of `columns`."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return all values as dicts and lists, for JSON."""
        return asdict(cast(Any, self))

    def to_markdown(self) -> str:
        """Return a table in Markdown."""
        return markdown(self.columns, self.rows())

    def to_latex(self) -> str:
        """Return a table in LaTeX (package booktabs)."""
        return latex(self.columns, self.rows(), self.title, f"tab:{type(self).__name__.lower()}")

    def to_frame(self) -> Any:
        """Return a pandas DataFrame."""
        return frame(self.columns, self.rows())

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return html(self.columns, self.rows())


def of_unknown(shares: Sequence[tuple[str, float | None]]) -> list[str]:
    """Return a warning if the unknown token stands for text: its share of the ids, for each name.

    >>> of_unknown([("a", 0.25), ("b", 0.0), ("c", None)])
    ['Unknown text: a turns it into the unknown token (25 % of its ids), so its compression is not comparable.']
    """
    many = [
        f"{name} turns it into the unknown token ({100 * share:.3g} % of its ids)" for name, share in shares if share
    ]
    return [f"Unknown text: {'; '.join(many)}, so its compression is not comparable."] if many else []


def shown(value: object) -> str:
    """Return a value as text: four significant digits; an interval in brackets; nothing for None.

    >>> shown(3.14159), shown((1.5, 2.25)), shown(None), shown(12345)
    ('3.142', '[1.5, 2.25]', '', '12345')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < WHOLE else f"{value:.0f}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    r"""Return a table in Markdown; numbers are aligned to the right.

    >>> print(markdown(["a", "b"], [["x|y", 1.5]]))
    | a | b |
    |---|--:|
    | x\|y | 1.5 |
    """
    cells = [[shown(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in rows]
    right = [all(not isinstance(row[k], str) for row in rows) for k in range(len(columns))]
    rule = "|".join("--:" if is_right else "---" for is_right in right)
    lines = [f"| {' | '.join(columns)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in cells)]
    return "\n".join(lines)


def latex(
    columns: Sequence[str], rows: Sequence[Row], caption: str = "", label: str = "", *, by_row: bool = False
) -> str:
    r"""Return a `table` in LaTeX, for the package booktabs, with fixed digits.

    by_row: the values of a row, not those of a column, are of one kind and get the same number of digits.

    >>> print(latex(["a", "b"], [["50 %", 1.25], ["c", 10.0]], "Shares", "tab:shares"))
    \begin{table}
    \caption{Shares}
    \label{tab:shares}
    \centering
    \begin{tabular}{lr}
    \toprule
    a & b \\
    \midrule
    50 \% & 1.25 \\
    c & 10.00 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    kinds = "".join("l" if any(isinstance(row[k], str) for row in rows) else "r" for k in range(len(columns)))
    digits = [_digits([row[k] for row in rows]) for k in range(len(columns))]
    body = [
        " & ".join(
            _escaped(_fixed(value, each)) for value, each in zip(row, _digits_of(row, digits, by_row), strict=True)
        )
        for row in rows
    ]
    head = [rf"\caption{{{_escaped(caption)}}}"] if caption else []
    head += [rf"\label{{{label}}}"] if label else []
    lines = [r"\toprule", " & ".join(map(_escaped, columns)) + r" \\", r"\midrule", *(f"{row} \\\\" for row in body)]
    tabular = [rf"\begin{{tabular}}{{{kinds}}}", *lines, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([r"\begin{table}", *head, r"\centering", *tabular, r"\end{table}"])


def _digits_of(row: Row, digits: list[int], by_row: bool) -> list[int]:
    return [_digits(row)] * len(row) if by_row else digits


def _digits(values: Iterable[object]) -> int:
    """Return how many digits after the point show four significant digits of the largest value, two at the least."""
    numbers = [number for value in values for number in (value if isinstance(value, tuple) else (value,))]
    floats = [abs(number) for number in numbers if isinstance(number, float)]
    largest = max(floats, default=0.0)
    if not 0 < largest < float("inf"):
        return 3
    return min(6, max(0 if largest >= WHOLE else 2, SIGNIFICANT - 1 - math.floor(math.log10(largest))))


def _fixed(value: object, digits: int) -> str:
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if isinstance(value, tuple):
        return f"[{', '.join(_fixed(one, digits) for one in value)}]"
    return shown(value)


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def html(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table in HTML, escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def frame(columns: Sequence[str], rows: Sequence[Row]) -> Any:
    """Return a pandas DataFrame; InputError if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise InputError("a DataFrame needs pandas: pip install pandas") from None
    return pandas.DataFrame([[*row] for row in rows], columns=[*columns])
