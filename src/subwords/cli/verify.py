"""verify: whether a saved tokenizer gives the same ids in its own library."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.arguments import INPUT, tokenizer_argument
from subwords.cli.console import json_option, print_values, quiet_option, shown, utf8
from subwords.cli.options import add_options, command, reading_from, reading_options

if TYPE_CHECKING:
    from subwords.compat.comparison import Difference

__all__ = ["comparing_options", "difference_json", "paths_of", "verify"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _special_ids(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int] | None:
    if value is None:
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f'expected JSON as in {{"<|end|>": 50256}}, not {value!r:.80}: {error}') from None
    if not isinstance(found, dict) or any(type(index) is not int for index in found.values()):
        raise click.BadParameter(f'expected ids by token, as in {{"<|end|>": 50256}}, not {value!r:.80}')
    return found


def comparing_options(function: _Command) -> _Command:
    """Add the options that `verify` and `convert` share."""
    options: list[Callable[[_Command], _Command]] = [
        click.option(
            "--source",
            "sources",
            type=utf8,
            multiple=True,
            metavar="CORPUS",
            help="Also compare the texts of this file, folder or quoted glob. May be repeated.",
        ),
        reading_options,
        click.option(
            "--splitter",
            type=utf8,
            metavar="NAME|REGEX",
            help="For a file without a splitter, such as .tiktoken: how it splits text into words.",
        ),
        click.option(
            "--special-ids",
            type=utf8,
            callback=_special_ids,
            metavar="JSON",
            help='For a file without special tokens, such as .tiktoken: their ids, as in {"<|end|>": 50256}.',
        ),
        quiet_option,
        json_option,
    ]
    return add_options(function, options)


def paths_of(sources: Sequence[str]) -> list[Path] | None:
    """Return the sources as paths; None if the list is empty."""
    return [Path(source) for source in sources] or None


@command()
@tokenizer_argument
@click.option(
    "--other",
    type=INPUT,
    metavar="FILE",
    help="The tokenizer that it must equal, such as the file that it was converted from.  [default: TOKENIZER itself]",
)
@comparing_options
@click.pass_context
def verify(
    context: click.Context,
    /,
    tokenizer: str,
    other: str | None,
    sources: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Load a saved tokenizer with its own library and compare ids, up to the first difference.

    TOKENIZER is a folder (loaded by transformers), tokenizer.json (HF tokenizers), .model (SentencePiece), .tiktoken
    (tiktoken) or vocab.txt (HF tokenizers). A fixed list of tricky texts is always compared. Special tokens spelled in
    a text are found, except by SentencePiece, which reads them as ordinary text. Exit code 1: ids differ, or a library
    cannot load TOKENIZER.

    \b
    Example:
      subwords verify tokenizer/ --source "corpus/*.txt"
      subwords verify tok.tiktoken --other tok.json --source corpus.txt
    """
    from subwords import verify as compare

    how: dict[str, Any] = {"reading": reading_from(options), "progress": False if quiet else None, **options}
    found = compare(tokenizer, paths_of(sources), other=other, **how)
    values = {"equal": bool(found), "library": found.library, "special": found.special}
    values |= {"texts": found.texts, "tokens": found.tokens}
    if as_json:
        print_values(values | {"difference": difference_json(found.difference)}, as_json)
    else:
        print_values(values | _rows(found.difference, found.library), as_json)
    if not found:
        context.exit(1)


def difference_json(difference: Difference | None) -> dict[str, Any] | None:
    """Return a difference as a JSON object."""
    if difference is None:
        return None
    found = asdict(difference)
    for side in ("ours", "theirs"):
        found[side] = found[side] and dict(zip(("id", "token"), found[side], strict=True))
    return found


def _rows(difference: Difference | None, library: str) -> dict[str, object]:
    if difference is None:
        return {}
    here = f"{difference.place}, line {difference.line}, character {difference.character}"
    text = f"{shown(difference.before.encode())}|{shown(difference.after.encode())}"
    rows: dict[str, object] = {"first difference": here, "text": text}
    if difference.reason is not None:
        return rows | {"error": difference.reason}
    for name, token in (("subwords", difference.ours), (library, difference.theirs)):
        shows = "none" if token is None else f"{token[1]!r}, id {token[0]}"
        rows[name] = f"token {difference.index}: {shows}"
    return rows
