"""Report: the base of all results, which show themselves as tables: Markdown, LaTeX, HTML, a DataFrame; or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

from subwords.support.errors import InputError

Row = Sequence[object]
SIGNIFICANT = 4  # digits
WHOLE = 10_000  # from which on a number is shown without a fraction
MOST_ROWS = 1_000  # of a table in a notebook
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {char: f"\\{char}" for char in "&%$#_{}"}
)


class Table(NamedTuple):
    """Columns and rows of a result. title, label: in LaTeX, which leaves out tables without a title.

    by_row: the values of a row, not those of a column, are of one kind and get the same number of digits in LaTeX.
    """

    columns: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    label: str = ""
    by_row: bool = False


class Report:
    """The base of all results: what was found, as data and as tables. Subclasses are frozen dataclasses.

    >>> import subwords
    >>> print(subwords.study.sweep(["low lower"] * 9, vocab_sizes=[258]).to_markdown().splitlines()[0])
    | vocabulary | tokens | bytes per token |   interval | tokens per word |   used |
    """

    def tables(self) -> list[Table]:
        """Return the tables, the most important one first."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Return what the tables leave out, and why."""
        return []

    def lines(self) -> Iterable[str] | None:
        """Return the result in words; None if the tables say it."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return all values as dicts, lists, strings and numbers, for JSON."""
        found: dict[str, Any] = plain(self)
        return found

    def to_markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(markdown(table.columns, table.rows) for table in self.tables())

    def to_latex(self) -> str:
        """Return the tables in LaTeX (package booktabs)."""
        return "\n\n".join(latex(*table) for table in self.tables() if table.title)

    def to_frame(self) -> Any:
        """Return the most important table as a pandas DataFrame; InputError if pandas is not installed."""
        return frame(*self.tables()[0][:2])

    def __str__(self) -> str:
        lines = self.lines()
        return "\n\n".join([self.to_markdown(), *self.notes()]) if lines is None else "\n".join(lines)

    def _repr_html_(self) -> str:
        if self.lines() is not None:
            return f"<pre>{escape(str(self))}</pre>"
        return "".join(html(table.columns, table.rows) for table in self.tables())


def plain(value: Any, *, kinds: bool = False) -> Any:
    r"""Return dataclasses as dicts, tuples as lists, bytes and paths as text. kinds: each dict says its class.

    >>> plain((Path("a"), {1: b"\xc3b"}))
    ['a', {1: '\\xc3b'}]
    """
    if is_dataclass(value):
        named = {field.name: plain(getattr(value, field.name), kinds=kinds) for field in fields(value)}
        return {"kind": type(value).__name__.lower()} | named if kinds else named
    if isinstance(value, Mapping):
        return {key: plain(item, kinds=kinds) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item, kinds=kinds) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value) if isinstance(value, Path) else value


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
    r"""Return a table in Markdown whose columns also align as text; numbers are aligned to the right.

    >>> print(markdown(["a", "b"], [["x|y", 1.5]]))
    | a    |   b |
    |------|----:|
    | x\|y | 1.5 |
    """
    cells = [[shown(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in (columns, *rows)]
    right = [all(not isinstance(row[k], str) for row in rows) for k in range(len(columns))]
    widths = [max(3, *(_width(row[k]) for row in cells)) for k in range(len(columns))]
    lines = [f"| {' | '.join(map(_padded, row, widths, right))} |" for row in cells]
    rule = "|".join("-" * (width + 1) + ("-", ":")[to_right] for width, to_right in zip(widths, right, strict=True))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum((east_asian_width(c) in "WF") + (combining(c) == 0) for c in text)


def _padded(text: str, width: int, to_right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if to_right else text + blank


def latex(columns: Sequence[str], rows: Sequence[Row], caption: str = "", label: str = "", by_row: bool = False) -> str:
    r"""Return a `table` in LaTeX, for the package booktabs, with fixed digits. by_row: see `Table`.

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
    cells = [map(_fixed, row, [_digits(row)] * len(row) if by_row else digits) for row in rows]
    body = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in (columns, *cells)]
    head = [rf"\caption{{{caption.translate(_LATEX)}}}"] if caption else []
    head += [rf"\label{{{label}}}"] if label else []
    tabular = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule"]
    return "\n".join([r"\begin{table}", *head, r"\centering", *tabular, r"\end{tabular}", r"\end{table}"])


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


def html(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table in HTML, escaped, with numbers aligned to the right; of a long one, the first MOST_ROWS rows."""
    styles = [_NUMBERS if all(not isinstance(row[k], str) for row in rows) else _TEXT for k in range(len(columns))]

    def line(tag: str, cells: Iterable[str]) -> str:
        made = (f"<{tag}{style}>{escape(cell)}</{tag}>" for cell, style in zip(cells, styles, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line("td", map(shown, row)) for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        body += f"<tr><td colspan={len(columns)}>and {len(rows) - MOST_ROWS} more</td></tr>"
    return f"<table><thead>{line('th', columns)}</thead><tbody>{body}</tbody></table>"


# In the elements, since notebooks take style sheets out.
_NUMBERS = ' style="text-align: right; font-variant-numeric: tabular-nums"'
_TEXT = ' style="text-align: left"'


def frame(columns: Sequence[str], rows: Sequence[Row]) -> Any:
    """Return a pandas DataFrame; InputError if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise InputError("a DataFrame needs pandas: pip install pandas") from None
    return pandas.DataFrame([[*row] for row in rows], columns=[*columns])
