"""The options of all commands that read a corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.arguments import choice
from subwords.cli.console import utf8

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading

__all__ = ["READING", "SAMPLING", "reading_from", "reading_options", "sampling_options"]

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


def reading_from(options: dict[str, Any]) -> Reading | None:
    """Take the options of reading out of a command's options; None if none is given."""
    given = {name: options.pop(name, None) for name in (*READING, *SAMPLING)}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return None
    from subwords.corpus.reading import Reading

    return Reading(**given)


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
