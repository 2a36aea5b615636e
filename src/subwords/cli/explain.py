"""explain, why-not and verify-training: why a text has its ids; whether each merge was the best one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from subwords.cli.arguments import (
    INPUT,
    SOURCE,
    check_file,
    choice,
    input_of,
    tokenizer_argument,
)
from subwords.cli.console import json_option, load_tokenizer, print_values, quiet_only, source_of, utf8
from subwords.cli.explained import html_option, print_explained
from subwords.cli.options import add_options, command, reading_from, reading_options
from subwords.errors import InputError

__all__ = ["explain", "verify_training", "why_not"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _text_options(function: _Command) -> _Command:
    """Add what `explain` and `why-not` share."""
    return add_options(
        function,
        [
            tokenizer_argument,
            click.argument("file", type=SOURCE, default="-", metavar="[FILE]"),
            click.option("--text", type=utf8, metavar="TEXT", help="The text."),
            click.option(
                "--special",
                type=choice(["text", "allow"]),
                default="text",
                show_default=True,
                help="Special tokens spelled in the text: ordinary text, or their ids.",
            ),
        ],
    )


@click.command()
@_text_options
@click.option(
    "--counts",
    type=INPUT,
    metavar="FILE",
    help='BPE: counts of "subwords count"; each merge then says how often its pair occurred when it was learned.',
)
@html_option
@quiet_only
@json_option
def explain(
    tokenizer: str,
    file: str,
    text: str | None,
    special: Literal["text", "allow"],
    counts: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Say why a text has its ids: what was normalized, what cut each word, each merge, match or path.

    Without FILE, or with "-", the text comes from standard input.

    \b
    Example:
      subwords study explain tok.json --text "unbelievable"
      subwords study explain tok.json --counts corpus.counts < text.txt
    """
    from subwords.corpus.counts import WordCounts
    from subwords.study.explain import explain as explained

    data, found = _text(file, text), None if counts is None else WordCounts.load(counts)
    tok = load_tokenizer(tokenizer)
    print_explained(
        explained(tok, data, special=special, counts=found), html, as_json, f"How {tokenizer} encodes a text"
    )


@click.command("why-not")
@_text_options
@html_option
@quiet_only
@json_option
def why_not(
    tokenizer: str, file: str, text: str | None, special: Literal["text", "allow"], html: Path | None, as_json: bool
) -> None:
    """Say why a text is not one token.

    Without FILE, or with "-", the text comes from standard input.

    \b
    Example:
      subwords study why-not tok.json --text " tokenizers"
    """
    from subwords.study.why_not import why_not as reasons

    data = _one_line(_text(file, text))
    tok = load_tokenizer(tokenizer)
    print_explained(reasons(tok, data, special=special), html, as_json, f"Why {tokenizer} gives no single token")


def _text(file: str, text: str | None) -> str | bytes:
    if text is not None and file != "-":
        raise click.UsageError("--text cannot be combined with FILE")
    check_file([file], "text", "--text")
    return _read(file) if text is None else text


def _read(file: str) -> bytes:
    from subwords.corpus.files import open_text

    with open_text(*input_of(file, "text", "--text")) as stream:
        return stream.read()


def _one_line(data: str | bytes) -> str:
    """Return a string; that of standard input without the end of its line."""
    if isinstance(data, str):
        return data
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text; byte {error.start} is not UTF-8") from None


@command("verify-training")
@tokenizer_argument
@click.argument("source", type=SOURCE)
@click.option(
    "--tie-break",
    type=choice(["ids", "first", "bytes"]),
    default="ids",
    show_default=True,
    help="The rule for pairs of equal count that training declared.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Stop after N deviations."
)
@reading_options
@quiet_only
@json_option
@click.pass_context
def verify_training(
    context: click.Context,
    /,
    tokenizer: str,
    source: str,
    tie_break: Any,
    limit: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Replay the merges of a BPE tokenizer on its corpus: was each the best pair at its turn?

    SOURCE is the corpus of training, or a file of "subwords count" with the splitter and normalizer of TOKENIZER. Exit
    code 1: a merge was not the best.

    \b
    Example:
      subwords study verify-training tok.json corpus.txt
      subwords study verify-training tok.json corpus.counts
    """
    from subwords.cli.corpus import is_counts
    from subwords.corpus.counts import WordCounts
    from subwords.study.verify_training import verify_training as verified

    reading = reading_from(options)
    if reading is not None and is_counts(source):
        raise click.UsageError("--documents and other options of reading are for text, but these are counts")
    what = WordCounts.load(source) if is_counts(source) else source_of([source])
    found = verified(load_tokenizer(tokenizer), what, tie_break=tie_break, limit=limit, reading=reading)
    if as_json:
        print_values(found.to_dict(), as_json)
    else:
        click.echo(str(found))
    if not found.proven:
        context.exit(1)
