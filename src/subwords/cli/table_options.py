"""The options of all commands that print tables of measurements."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.console import json_option, print_rows, quiet_option
from subwords.cli.options import add_options, threads_option
from subwords.render.visible import printable

if TYPE_CHECKING:
    from subwords.render.report import Report

__all__ = ["print_table", "table_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def table_options(command: _Command) -> _Command:
    """Add the options that say how a result is shown."""
    options: list[Callable[[_Command], _Command]] = [
        click.option(
            "--latex",
            is_flag=True,
            help="Print tables in LaTeX (package booktabs).  [default: aligned at a terminal, otherwise Markdown]",
        ),
        threads_option,
        quiet_option,
        json_option,
    ]
    return add_options(command, options)


def print_table(found: Report, latex: bool, as_json: bool, quiet: bool) -> None:
    """Print tables, aligned at a terminal, otherwise in Markdown; or in LaTeX or JSON. Notes go to standard error."""
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    elif latex:
        click.echo(found.to_latex())
    elif sys.stdout.isatty():
        for number, (columns, rows, *_) in enumerate(found.tables()):
            click.echo("\n" if number else "", nl=False)
            print_rows(columns, _padded(columns, rows))
    else:
        click.echo(found.to_markdown())
    if not quiet:
        for note in found.notes():
            click.echo(note, err=True)


def _padded(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """Return rows as text; columns of numbers have spaces before them, so that they end at one place."""
    from subwords.render.report import shown

    cells = [[printable(shown(value)) for value in row] for row in rows]
    for k, name in enumerate(columns):
        if all(not isinstance(row[k], str) for row in rows):
            width = max(len(name), *(len(row[k]) for row in cells))
            for row in cells:
                row[k] = row[k].rjust(width)
    return cells
