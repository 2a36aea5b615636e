"""The options of all commands that print tables of measurements."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import click

from subwords.cli.console import json_option

__all__ = ["print_table", "table_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Table(Protocol):
    def to_dict(self) -> dict[str, Any]: ...

    def to_latex(self) -> str: ...

    def to_markdown(self) -> str: ...


def table_options(command: _Command) -> _Command:
    """Add the options that say how a result is shown."""
    options: list[Callable[[_Command], _Command]] = [
        click.option("--latex", is_flag=True, help="Print tables in LaTeX.  [default: Markdown]"),
        click.option(
            "--threads", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: one per processor]"
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print no progress."),
        json_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def print_table(found: _Table, latex: bool, as_json: bool) -> None:
    """Print tables in Markdown, LaTeX or JSON."""
    click.echo(json.dumps(found.to_dict()) if as_json else found.to_latex() if latex else found.to_markdown())
