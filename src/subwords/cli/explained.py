"""Printing of explanations: as text, as JSON, or as an HTML page."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from subwords.cli.arguments import INPUT
from subwords.cli.console import open_output

if TYPE_CHECKING:
    from subwords.render.report import Report

__all__ = ["html_option", "print_explained"]

html_option = click.option("--html", type=INPUT, metavar="FILE", help="Write a page of HTML instead of text.")


def print_explained(found: Report, html: Path | None, as_json: bool, title: str) -> None:
    """Print an explanation, or write it to a file: a page of that title, in the style of the local page."""
    if html is not None and as_json:
        raise click.UsageError("expected one of --html and --json")
    if html is None:
        click.echo(json.dumps(found.to_dict()) if as_json else str(found))
        return
    from subwords.render.page import page, panel
    from subwords.study.page_files import page_files

    body = found._repr_html_()
    body = body if body.startswith("<section") else panel(escape(title), f'<div class="scroll">{body}</div>')
    whole = page(title, body, page_files()["/page.css"][1].decode())
    with open_output(html) as stream:
        stream.write(whole.encode("utf-8", "backslashreplace"))
