"""show: tokenizers side by side on a local page."""

from __future__ import annotations

import json

import click

from subwords.cli.arguments import SOURCE, TOKENIZER, input_of
from subwords.cli.console import json_option, quiet_only, utf8

__all__ = ["show"]


@click.command()
@click.argument("tokenizers", type=TOKENIZER, metavar="TOKENIZER...", nargs=-1, required=True)
@click.option("--text", type=utf8, metavar="TEXT", help="The text that the page starts with.")
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
    tokens, ids and counts, where the tokenizers disagree, and step by step how a word becomes tokens. Tokenizer files
    that change are read again.

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
    from subwords.study.opened import TokenizerFile
    from subwords.study.page_api import MOST_TOKENIZERS, PageApi
    from subwords.study.page_server import PageServer
    from subwords.study.panels import panels

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
    from subwords.errors import InputError
    from subwords.study.page_api import MOST_CHARACTERS

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
