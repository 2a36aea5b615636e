"""Tables: rows of values as Markdown, LaTeX, HTML or a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any, cast

from subwords.errors import InputError

__all__ = ["Table", "frame", "html", "latex", "markdown", "shown"]

Row = Sequence[object]
_LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {char: f"\\{char}" for char in "&%$#_"}


class Table:
    """What has one table of values: a dataclass with `columns` and `rows`."""

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
        """Return a table in LaTeX."""
        return latex(self.columns, self.rows())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame."""
        return frame(self.columns, self.rows())

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return html(self.columns, self.rows())


def shown(value: object) -> str:
    """Return a value as text: four significant digits; an interval in brackets; nothing for None.

    >>> shown(3.14159), shown((1.5, 2.25)), shown(None), shown(12345)
    ('3.142', '[1.5, 2.25]', '', '12345')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
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


def latex(columns: Sequence[str], rows: Sequence[Row]) -> str:
    r"""Return a `tabular` in LaTeX.

    >>> print(latex(["a"], [["50 %"]]))
    \begin{tabular}{l}
    a \\ \hline
    50 \% \\
    \end{tabular}
    """
    kinds = "".join("l" if any(isinstance(row[k], str) for row in rows) else "r" for k in range(len(columns)))
    lines = [" & ".join(map(_escaped, columns)) + r" \\ \hline"]
    lines += [" & ".join(_escaped(shown(value)) for value in row) + r" \\" for row in rows]
    return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", *lines, r"\end{tabular}"])


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
