"""The options of all commands that read a corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from subwords.cli.arguments import choice
from subwords.cli.console import utf8

__all__ = ["READING", "SAMPLING", "reading_options", "sampling_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

READING = ("documents", "separator", "text_column", "max_document_bytes", "errors")
SAMPLING = ("sample", "sample_seed")


def reading_options(command: _Command) -> _Command:
    """Add the options of `subwords.count` that say what a document is."""
    options: list[Callable[[_Command], _Command]] = [
        click.option(
            "--documents",
            type=choice(["file", "line"]),
            help="What a document is: each text file or row, or each of its lines.  [default: file]",
        ),
        click.option("--separator", type=utf8, metavar="TEXT", help="What is between documents in text files."),
        click.option(
            "--text-column", type=utf8, metavar="NAME", help="The field or column that holds the text.  [default: text]"
        ),
        click.option(
            "--max-document-bytes", type=click.IntRange(min=4), metavar="N", help="Truncate each document to N bytes."
        ),
        click.option(
            "--errors",
            type=choice(["strict", "replace", "skip"]),
            help="Text that cannot be read: stop, read it as U+FFFD, or skip its document.  [default: strict]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def sampling_options(command: _Command) -> _Command:
    """Add the options of `subwords.count` for a sample of the documents."""
    for option in (
        click.option(
            "--sample-seed",
            type=click.IntRange(min=0),
            metavar="N",
            help="Another sample of the same share.  [default: 0]",
        ),
        click.option(
            "--sample",
            type=click.FloatRange(min=0, min_open=True, max=1),
            metavar="SHARE",
            help="Read this share of the documents, chosen by a hash of their text: 0.1 for a tenth.",
        ),
    ):
        command = option(command)
    return command
