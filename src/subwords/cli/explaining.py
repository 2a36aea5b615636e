"""explain, why-not, explain-training, verify-training and show: why a text has its ids."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import click

from subwords.cli.console import (
    INPUT,
    SIZE,
    SOURCE,
    TOKENIZER,
    check_file,
    choice,
    input_of,
    json_option,
    load_tokenizer,
    open_output,
    print_values,
    quiet_only,
    source_argument,
    tokenizer_argument,
    utf8_argument,
)
from subwords.cli.options import add_options, command, family_options, reading_from, reading_options, refuse_reading
from subwords.support.errors import InputError
from subwords.support.render import painted, uses_color

# ---------------------------------------------------------------------------------------------------------------------
# Printing of explanations: as text, as JSON, or as an HTML page.

html_option = click.option("--html", type=INPUT, metavar="FILE", help="Write a page of HTML instead of text.")


class _Explained(Protocol):
    """An explanation, whose tokens are written in a way that is chosen."""

    def lines(self, written: Callable[[str], str] = ...) -> Iterable[str]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...


def print_explained(found: _Explained, html: Path | None, as_json: bool, title: str) -> None:
    """Print an explanation, or write it to a file: a page of that title, in the style of the local page."""
    if html is not None and as_json:
        raise click.UsageError("expected one of --html and --json, not both")
    if html is None:
        color = not as_json and uses_color(sys.stdout, os.environ)
        text = json.dumps(found.to_dict()) if as_json else "\n".join(found.lines(painted if color else repr))
        click.echo(text, color=color)
        return
    from subwords.study.page import page_files
    from subwords.support.render import page, panel

    body = found._repr_html_()
    body = body if body.startswith("<section") else panel(escape(title), f'<div class="scroll">{body}</div>')
    whole = page(title, body, page_files()["/page.css"][1].decode())
    with open_output(html) as stream:
        stream.write(whole.encode("utf-8", "backslashreplace"))


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _text_options(function: _Command) -> _Command:
    """Add what `explain` and `why-not` share."""
    return add_options(
        function,
        [
            tokenizer_argument,
            click.argument("file", type=SOURCE, default="-", metavar="[FILE]"),
            click.option("--text", type=utf8_argument, metavar="TEXT", help="The text."),
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
    from subwords.study.explanation import explain as explained

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
    from subwords.study.obstacles import why_not as reasons

    data = _one_line(_text(file, text))
    tok = load_tokenizer(tokenizer)
    print_explained(reasons(tok, data, special=special), html, as_json, f"Why {tokenizer} gives no single token")


def _text(file: str, text: str | None) -> str | bytes:
    if text is not None and file != "-":
        raise click.UsageError("--text cannot be combined with FILE")
    check_file([file], "text", "--text")
    return _read_text(file) if text is None else text


def _read_text(file: str) -> bytes:
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
    from subwords.study.verification import verify_training as verified

    reading = reading_from(options)
    if is_counts(source):
        refuse_reading()
    what = WordCounts.load(source) if is_counts(source) else source_argument([source])
    found = verified(load_tokenizer(tokenizer), what, tie_break=tie_break, limit=limit, reading=reading)
    if as_json:
        print_values(found.to_dict(), as_json)
    else:
        click.echo(str(found))
    if not found.proven:
        context.exit(1)


# ---------------------------------------------------------------------------------------------------------------------
# explain-training: the steps of training on a small corpus.

_AT_LEAST_1 = click.IntRange(min=1)


@command("explain-training")
@click.argument("sources", type=SOURCE, metavar="SOURCE...", nargs=-1, required=True)
@click.option("--vocab-size", type=SIZE, required=True, metavar="N", help="Number of tokens, special tokens included.")
@click.option(
    "--algorithm",
    type=choice(["bpe", "wordpiece", "unigram", "unigram-course"]),
    default="bpe",
    show_default=True,
    help="unigram-course: Unigram as courses teach it, from all substrings and their shares.",
)
@family_options
@click.option(
    "--splitter",
    type=utf8_argument,
    default="auto",
    metavar="NAME|REGEX",
    help="How to split text into words.  [default: that of train]",
)
@click.option(
    "--normalizer",
    type=utf8_argument,
    default="auto",
    metavar="NAME",
    help="How to normalize text.  [default: that of train]",
)
@click.option(
    "--special-token",
    "special_tokens",
    type=utf8_argument,
    multiple=True,
    metavar="TOKEN",
    help="A special token. May be repeated.",
)
@reading_options
@click.option(
    "--limit", type=_AT_LEAST_1, default=1000, show_default=True, metavar="N", help="More steps are an error."
)
@html_option
@quiet_only
@json_option
def explain_training(
    sources: tuple[str, ...],
    special_tokens: tuple[str, ...],
    html: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the steps of training on a small corpus: words, splits, scores, each merge or removal.

    SOURCE is as for "subwords train", with at most 1,000 different words.

    \b
    Example:
      subwords study explain-training small.txt --vocab-size 50 --alphabet corpus
      subwords study explain-training small.txt --algorithm wordpiece --score course --vocab-size 70 --html steps.html
    """
    from subwords.study.training_steps import explain_training as explained

    reading = reading_from(options)
    given: dict[str, Any] = {name: value for name, value in options.items() if value not in (None, ())}
    if special_tokens:
        given["special_tokens"] = special_tokens
    print_explained(
        explained(source_argument(sources), reading=reading, **given), html, as_json, f"Training on {sources[0]}"
    )


# ---------------------------------------------------------------------------------------------------------------------
# show: tokenizers side by side on a local page.


@click.command()
@click.argument("tokenizers", type=TOKENIZER, metavar="TOKENIZER...", nargs=-1, required=True)
@click.option("--text", type=utf8_argument, metavar="TEXT", help="The text that the page starts with.")
@click.option(
    "--text-file",
    type=SOURCE,
    metavar="FILE",
    help="The file whose text the page starts with; the first 200,000 characters of it.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port; 0 takes any free one.  [default: the first free one from 8420 on]",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@quiet_only
@json_option
def show(
    tokenizers: tuple[str, ...],
    text: str | None,
    text_file: str | None,
    port: int | None,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Show what one to four tokenizers do with a text, on a local page.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. The page shows
    tokens, ids and counts, where the tokenizers disagree, step by step how a word becomes tokens, and conversations by
    owner, with an editor for chat templates. Tokenizer files that change are read again.

    Only this machine can reach the page, and it loads nothing from the network. Ctrl-C ends it.

    \b
    Example:
      subwords show tok.json
      subwords show old.json new.json --text "a text"
      subwords show tok.json --text-file corpus.txt --port 9000 --no-browser
    """
    from threading import Thread

    if text is not None and text_file is not None:
        raise click.UsageError("--text and --text-file both say what the page starts with: give one")
    from subwords.study.page import MOST_TOKENIZERS, PageApi, PageServer, TokenizerFile, panels

    if len(tokenizers) > MOST_TOKENIZERS:
        raise click.UsageError(f"expected 1 to {MOST_TOKENIZERS} tokenizers, not {len(tokenizers)}")
    start, left_out = _start(text_file) if text_file is not None else (text or "", False)
    api = PageApi([TokenizerFile(name) for name in tokenizers], start, left_out, panels())
    with PageServer(api, port=port) as server:
        # The tables of the tokenizers take a second: they are made while the browser starts.
        Thread(target=api.encode, args=({"text": start},), daemon=True).start()
        _announce(server.address, as_json)
        if not no_browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return  # the usual end, not a failure


def _announce(address: str, as_json: bool) -> None:
    click.echo(json.dumps({"url": address}) if as_json else f"{address}  (Ctrl-C ends it)")


def _start(path: object) -> tuple[str, bool]:
    """Return the beginning of a text file, and whether the file is longer."""
    from subwords.corpus.files import open_text
    from subwords.study.page import MOST_CHARACTERS
    from subwords.support.errors import InputError

    buffer = memoryview(bytearray(4 * MOST_CHARACTERS + 4))
    with open_text(*input_of(str(path), "text")) as stream:
        data = bytes(buffer[: stream.fill(buffer)])
    more = len(data) == len(buffer)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if not more or error.start < len(data) - 4:
            raise InputError(f"{path}: expected UTF-8 text; byte {error.start} is not UTF-8") from None
        text = data[: error.start].decode()
    return text[:MOST_CHARACTERS], more or len(text) > MOST_CHARACTERS
