"""chat: conversations to ids, and who wrote each of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.console import (
    INPUT,
    SOURCE,
    input_of,
    json_option,
    load_tokenizer,
    print_values,
    quiet_only,
    tokenizer_argument,
)
from subwords.support.errors import InputError
from subwords.support.render import shorten_visible, uses_color

if TYPE_CHECKING:
    from subwords.chat.chat import Chat
    from subwords.tokenizer import Tokenizer

TEMPLATE, OTHERS = "template", "tools and variables"
MOST = 200  # characters of one token
CONTROL, REPLY = "\x1b[38;5;16;48;5;253m", "\x1b[4m"
OWNERS = (153, 194, 223, 225, 229, 195)


@click.command()
@tokenizer_argument
@click.argument("file", type=SOURCE, metavar="FILE", default="-")
@click.option("--template", type=INPUT, metavar="FILE", help="A Jinja file instead of the tokenizer's chat template.")
@click.option("--name", metavar="NAME", help="The name of a template of the tokenizer, such as tool_use.")
@click.option("--prompt", is_flag=True, help="End with the beginning of the next answer.")
@click.option("--no-mask", is_flag=True, help="Leave out the mask: for templates whose replies cannot be found.")
@quiet_only
@json_option
def chat(
    tokenizer: str, file: str, template: Path | None, name: str | None, prompt: bool, no_mask: bool, as_json: bool
) -> None:
    """Turn conversations into ids and show who wrote each of them.

    TOKENIZER is a file or folder that this package loads, or a name. FILE has a conversation on each line as JSON: a
    list of messages, or an object with messages, tools and documents. Without FILE, or with "-", they come from
    standard input. What a message says is never a control token.

    A row for each turn: who owns the tokens, then the tokens. Tokens in [brackets] are control tokens, and "*" is
    before the rows of a reply that a model is trained on; on a terminal, they are gray and underlined. --json prints an
    object for each conversation: ids, owners (the number of a message, -1 the template, -2 tools and others), mask.

    \b
    Example:
      subwords chat tok.json chats.jsonl
      subwords chat tok.json chats.jsonl --json
    """
    if template is not None and name is not None:
        raise click.UsageError("--template and --name exclude each other")
    tok = load_tokenizer(tokenizer)
    source = name if template is None else template.read_text("utf-8")
    color = uses_color(sys.stdout, os.environ)
    for number, row in enumerate(_conversations(file)):
        try:
            given = _given(row)
            made = tok.chat(given.get("messages"), **_options(given), prompt=prompt, template=source)  # type: ignore[arg-type]
            mask = [False] * len(made) if no_mask else made.mask().tolist()
        except InputError as error:
            raise InputError(f"conversation {number}: {error}") from None
        if as_json:
            print_values({"ids": made.ids.tolist(), "owners": made.owners.tolist(), "mask": [*map(int, mask)]}, True)
        else:
            messages = given["messages"]
            click.echo("\n" * bool(number) + "\n".join(_rows(tok, made, mask, messages, color=color)))


def _given(row: Any) -> dict[str, Any]:
    given = row if isinstance(row, dict) else {"messages": row}
    if unknown := sorted(given.keys() - {"messages", "tools", "documents"}):
        raise InputError(f"expected messages, tools and documents, not {unknown[0]!r:.60}")
    return given


def _options(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "messages"}


def _conversations(file: str) -> Iterator[Any]:
    from subwords.cli.encoding import line_batches
    from subwords.corpus.files import open_text

    source, name = input_of(file, "conversations")
    with open_text(source, name, expected="rows") as stream:
        lines = (line for lines in line_batches(stream) for line in lines)
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise InputError(f"{name}: expected JSON on line {number}: {error}") from None


def _rows(tok: Tokenizer, made: Chat, mask: list[bool], messages: list[Any], *, color: bool) -> Iterator[str]:
    """Yield a row for each run of tokens with one owner, all in the mask or none."""
    control, owners = _control_places(tok, made), made.owners.tolist()
    runs = groupby(zip(owners, mask, made.ids.tolist(), control, strict=True), key=lambda each: each[:2])
    for (owner, trained), entries in runs:
        shown = " ".join(
            _shown(tok.model.vocab[index], is_control, trained, owner, color) for _, _, index, is_control in entries
        )
        who = f"{owner} {messages[owner].get('role')}" if owner >= 0 else TEMPLATE if owner == -1 else OTHERS
        yield f"{'*' if trained else ' '} {who}\t{shown}"


def _control_places(tok: Tokenizer, made: Chat) -> list[bool]:
    """Return for each id whether it is a control token, which only the template writes."""
    names = {part.token for part in made.parts if hasattr(part, "token")}
    found = {tok.added_tokens.ids[name] for name in names}
    return [index in found for index in made.ids.tolist()]


def _shown(token: bytes, is_control: bool, trained: bool, owner: int, color: bool) -> str:
    text = shorten_visible(token.decode("utf-8", "surrogateescape"), MOST)
    if not color:
        return f"[{text}]" if is_control else text
    style = CONTROL if is_control else f"\x1b[38;5;16;48;5;{OWNERS[owner % len(OWNERS)]}m"
    return f"{style}{REPLY if trained else ''}{text}\x1b[0m"
