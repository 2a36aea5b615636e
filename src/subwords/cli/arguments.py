"""What commands take: tokenizers by path or name, sources of text, files, and standard input."""

from __future__ import annotations

import glob
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import click
from click.shell_completion import CompletionItem

from subwords.errors import InputError

__all__ = [
    "INPUT",
    "PLACE",
    "SOURCE",
    "TOKENIZER",
    "check_file",
    "choice",
    "input_of",
    "standard_input",
    "tokenizer_argument",
]


class _TokenizerType(click.Path):
    """A path, or a name that `load` knows, as it was written."""

    name = "tokenizer"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete files; names where no file begins so."""
        from subwords.components.openai import ENCODINGS, MODELS

        begun = Path(incomplete)
        if incomplete and not any(entry.name.startswith(begun.name) for entry in _entries(begun.parent)):
            names = [name for name in dict.fromkeys((*ENCODINGS, *MODELS)) if name.startswith(incomplete)]
            if names:
                return [CompletionItem(name) for name in names]
        return super().shell_complete(ctx, param, incomplete)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


class _PlaceType(click.Path):
    """A path, or a URL of an object store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from subwords.support.atomic import place_of
        from subwords.support.remote import is_remote

        return place_of(value) if is_remote(value) else super().convert(value, param, ctx)


# A file that cannot be read is an unusable input, not wrong usage: the command says so, when it opens the file.
TOKENIZER = _TokenizerType(readable=False)
SOURCE = click.Path(readable=False)  # a file, folder, glob or URL, or "-", as it was written
INPUT = click.Path(readable=False, path_type=Path)
PLACE = _PlaceType(readable=False, path_type=Path)
tokenizer_argument = click.argument("tokenizer", type=TOKENIZER)


def choice(names: Sequence[str]) -> click.Choice[str]:
    """Return the type of an option that takes one of some names, in any case."""
    return click.Choice(names, case_sensitive=False)


def standard_input(what: str = "text") -> BinaryIO:
    """Return standard input; at a terminal, say on standard error that it is read."""
    if sys.stdin is None:
        raise InputError("no standard input: name a file")
    if sys.stdin.isatty() and not click.get_current_context().meta.get("quiet"):
        end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
        click.echo(f"subwords: reading {what} from standard input; end with {end}", err=True)
    # Unbuffered: a thread that waits in it would hold the buffer's lock, which stops the interpreter's end.
    return cast(BinaryIO, getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))


def input_of(file: str, what: str, option: str | None = None) -> tuple[Any, str]:
    """Return a file, URL, or for "-" standard input, to open, and its name.

    Raises InputError for a missing file, whose name may be meant as the text itself, for which there is `option`.
    """
    from subwords.support.atomic import place_of
    from subwords.support.remote import is_remote

    if file == "-":
        return standard_input(what), "standard input"
    if is_remote(file):
        return place_of(file), file
    check_file([file], what, option)
    return Path(file), file


def check_file(files: Sequence[str], what: str, option: str | None = None) -> None:
    """Raise InputError for the first missing file; its hint takes the names for the text itself."""
    from subwords.support.remote import is_remote

    for file in files:
        if file != "-" and not is_remote(file) and not glob.has_magic(file) and not os.path.lexists(file):
            itself = shlex.quote(" ".join(files))
            hint = f"; if this is the {what} itself, use {option} {itself}" if option else ""
            raise InputError(f"no file {file!r:.300}{hint:.400}")
