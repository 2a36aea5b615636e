"""explain, why-not, explain-training, verify-training and show: why a text has its ids."""

from __future__ import annotations

import json
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any, Protocol

import click

from subwords.cli.console import (
    INPUT,
    SOURCE,
    TOKENIZER,
    check_file,
    choice,
    common_options,
    input_of,
    open_output,
    opt,
    utf8_argument,
    wants_json,
)
from subwords.cli.options import Adapter, Call, command_of, corpus_of, family_options, sources, taken
from subwords.support.errors import InputError
from subwords.support.render import painted, uses_color

# ---------------------------------------------------------------------------------------------------------------------
# Printing of explanations: as text, as JSON, or as an HTML page.

_html = opt("--html FILE", "Write a page of HTML instead of text.", INPUT)


class _Explained(Protocol):
    """An explanation, whose tokens are written in a way that is chosen."""

    def lines(self, written: Callable[[str], str] = ...) -> Iterable[str]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...


def _print_explained(call: Call, title: str) -> None:
    """Print an explanation, or write it to a file: a page of that title, in the style of the local page."""
    html: Path | None = call.take("html")
    if html is not None and wants_json():
        raise click.UsageError("expected one of --html and --json, not both")
    found: _Explained = call.result()
    if html is None:
        color = not wants_json() and uses_color(sys.stdout, os.environ)
        text = json.dumps(found.to_dict()) if wants_json() else "\n".join(found.lines(painted if color else repr))
        click.echo(text, color=color)
        return
    from subwords.study.page import page_files
    from subwords.support.render import page, panel

    body = found._repr_html_()
    body = body if body.startswith("<section") else panel(escape(title), f'<div class="scroll">{body}</div>')
    whole = page(title, body, page_files()["/page.css"][1].decode())
    with open_output(html) as stream:
        stream.write(whole.encode("utf-8", "backslashreplace"))


_TEXT = (
    click.argument("file", type=SOURCE, default="-", metavar="[FILE]"),
    opt("--text TEXT", "The text.", utf8_argument),
)
_SPECIAL = opt(
    "--special",
    "Special tokens spelled in the text: ordinary text, or their ids.",
    choice(["text", "allow"]),
    default="text",
)
_COUNTS = opt(
    "--counts FILE",
    'BPE: counts of "subwords count"; each merge then says how often its pair occurred when it was learned.',
    INPUT,
)

_COUNTS_OF_WORDS = opt(
    "--counts FILE", 'Counts of "subwords count"; a text that was not learned says how often it occurs there.', INPUT
)


def _counts(call: Call) -> object:
    from subwords import WordCounts

    path = call.take("counts")
    return None if path is None else WordCounts.load(path)


@command_of(
    "study.explanation.explain",
    _html,
    text=Adapter(_TEXT, lambda call: _text(call.take("file"), call.take("text"))),
    special=taken("special", _SPECIAL),
    counts=Adapter([_COUNTS], _counts),
)
def explain(call: Call) -> None:
    """Say why a text has its ids: what was normalized, what cut each word, each merge, match or path.

    Without FILE, or with "-", the text comes from standard input.

    \b
    Example:
      subwords study explain tok.json --text "unbelievable"
      subwords study explain tok.json --counts corpus.counts < text.txt
    """
    _print_explained(call, f"How {call.options['tokenizer']} encodes a text")


@command_of(
    "study.obstacles.why_not",
    _html,
    text=Adapter(_TEXT, lambda call: _one_line(_text(call.take("file"), call.take("text")))),
    texts={"special": "Special tokens spelled in the text: ordinary text, or their ids."},
    counts=Adapter([_COUNTS_OF_WORDS], _counts),
)
def why_not(call: Call) -> None:
    """Say why a text is not one token.

    Without FILE, or with "-", the text comes from standard input.

    \b
    Example:
      subwords study why-not tok.json --text " tokenizers"
    """
    _print_explained(call, f"Why {call.options['tokenizer']} gives no single token")


def _text(file: str, text: str | None) -> str | bytes:
    if text is not None and file != "-":
        raise click.UsageError("--text cannot be combined with FILE")
    check_file([file], "text", "--text")
    if text is not None:
        return text
    from subwords.machine import open_text

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


@command_of(
    "study.verification.verify_training",
    source=Adapter([click.argument("source", type=SOURCE)], lambda call: corpus_of([call.take("source")])),
)
def verify_training(call: Call) -> None:
    """Replay the merges of a BPE tokenizer on its corpus: was each the best pair at its turn?

    SOURCE is the corpus of training, or a file of "subwords count" with the splitter and normalizer of TOKENIZER. Exit
    code 1: a merge was not the best.

    \b
    Example:
      subwords study verify-training tok.json corpus.txt
      subwords study verify-training tok.json corpus.counts
    """
    found = call.result()
    click.echo(json.dumps(found.to_dict()) if wants_json() else str(found))
    if not found.proven:
        click.get_current_context().exit(1)


@command_of("study.training_steps.explain_training", family_options, _html, source=sources(counts=True))
def explain_training(call: Call) -> None:
    """Show the steps of training on a small corpus: words, splits, scores, each merge or removal.

    SOURCE is as for "subwords train", with at most 1,000 different words.

    \b
    Example:
      subwords study explain-training small.txt --vocab-size 50 --alphabet corpus
      subwords study explain-training small.txt --algorithm wordpiece --score course --vocab-size 70 --html steps.html
    """
    _print_explained(call, f"Training on {call.options['sources'][0]}")


# ---------------------------------------------------------------------------------------------------------------------
# show: tokenizers side by side on a local page.


@click.command()
@click.argument("tokenizers", type=TOKENIZER, metavar="TOKENIZER...", nargs=-1, required=True)
@opt("--text TEXT", "The text that the page starts with.", utf8_argument)
@opt("--text-file FILE", "The file whose text the page starts with; the first 200,000 characters of it.", SOURCE)
@opt(
    "--port N",
    "The port; 0 takes any free one.  [default: the first free one from 8420 on]",
    click.IntRange(0, 65535),
)
@opt("--no-browser", "Do not open the page in a browser.")
@common_options
def show(
    tokenizers: tuple[str, ...], text: str | None, text_file: str | None, port: int | None, no_browser: bool
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
    from subwords.study.page import MOST_TOKENIZERS, PageApi, PageServer, TokenizerFile

    if len(tokenizers) > MOST_TOKENIZERS:
        raise click.UsageError(f"expected 1 to {MOST_TOKENIZERS} tokenizers, not {len(tokenizers)}")
    start, left_out = _start(text_file) if text_file is not None else (text or "", False)
    api = PageApi([TokenizerFile(name) for name in tokenizers], start, left_out)
    with PageServer(api, port=port) as server:
        # The tables of the tokenizers take a second: they are made while the browser starts.
        Thread(target=api.encode, args=({"text": start},), daemon=True).start()
        address = server.address
        click.echo(json.dumps({"url": address}) if wants_json() else f"{address}  (Ctrl-C ends it)")
        if not no_browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return  # the usual end, not a failure


def _start(path: object) -> tuple[str, bool]:
    """Return the beginning of a text file, and whether the file is longer."""
    from subwords.machine import open_text
    from subwords.study.page import MOST_CHARACTERS

    buffer = memoryview(bytearray(4 * MOST_CHARACTERS + 4))
    with open_text(*input_of(str(path), "text")) as stream:
        data = bytes(buffer[: stream.fill(buffer)])
    more = len(data) == len(buffer)
    try:
        text = getincrementaldecoder("utf-8")().decode(data, not more)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8 text; byte {error.start} is not UTF-8") from None
    return text[:MOST_CHARACTERS], more or len(text) > MOST_CHARACTERS
