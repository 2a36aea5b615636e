"""Printing of explanations: as text, as JSON, or as an HTML page."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any, Protocol

import click

from subwords.cli.console import open_output

__all__ = ["html_option", "print_explained"]

html_option = click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page of HTML instead of text."
)


class Explained(Protocol):
    """What is printed."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""

    def _repr_html_(self) -> str:
        """As HTML."""


def print_explained(found: Explained, html: Path | None, as_json: bool) -> None:
    """Print an explanation, or write it to a file."""
    if html is not None and as_json:
        raise click.UsageError("expected one of --html and --json")
    if html is None:
        click.echo(json.dumps(found.to_dict()) if as_json else str(found))
        return
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(html.stem)}</title></head>'
        f"<body>{found._repr_html_()}</body></html>\n"
    )
    with open_output(html) as stream:
        stream.write(page.encode("utf-8", "backslashreplace"))
