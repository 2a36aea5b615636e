"""chat: conversations to ids, and who wrote each of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.console import (
    INPUT,
    SOURCE,
    common_options,
    input_of,
    load_tokenizer,
    opt,
    print_values,
    text_of,
    tokenizer_argument,
    wants_json,
)
from subwords.support.errors import InputError
from subwords.support.render import printable, shorten_visible, uses_color

if TYPE_CHECKING:
    from subwords.study.conversations import ChatRun, ChatToken, ShownChat

MOST_CHARACTERS = 200  # characters of one token
CONTROL, REPLY = "\x1b[38;5;16;48;5;253m", "\x1b[4m"
OWNERS = (153, 194, 223, 225, 229, 195)


@click.command()
@tokenizer_argument
@click.argument("file", type=SOURCE, metavar="FILE", default="-")
@opt("--template FILE", "A Jinja file instead of the tokenizer's chat template.", INPUT)
@opt("--name NAME", "The name of a template of the tokenizer, such as tool_use.")
@opt("--prompt", "End with the beginning of the next answer.")
@opt("--no-mask", "Leave out the mask: for templates whose replies cannot be found.")
@opt("--reply FILE", "What a model answered to each conversation, to read as messages.", INPUT)
@common_options
def chat(
    tokenizer: str,
    file: str,
    template: Path | None,
    name: str | None,
    prompt: bool,
    no_mask: bool,
    reply: Path | None,
) -> None:
    """Turn conversations into ids and show who wrote each of them.

    TOKENIZER is a file or folder that this package loads, or a name. FILE has a conversation on each line as JSON: a
    list of messages, or an object with messages, tools and documents. Without FILE, or with "-", they come from
    standard input. What a message says is never a control token.

    A row for each turn: who owns the tokens, then the tokens. Tokens in [brackets] are control tokens, and "*" is
    before the rows of a reply that a model is trained on; on a terminal, they are gray and underlined. --json prints an
    object for each conversation: ids, owners (the number of a message, -1 the template, -2 tools and others), mask.

    The file of --reply has a line for each conversation: ids as a JSON list, or a JSON string in which control tokens
    are spelled, with the end token or without it. The answer is shown as reasoning, content and calls, with the status
    that says what is known; --json prints the message, the status and the call that is not finished.

    \b
    Example:
      subwords chat tok.json chats.jsonl
      subwords chat tok.json chats.jsonl --json
      subwords chat tok.json chats.jsonl --reply answers.jsonl
    """
    if template is not None and name is not None:
        raise click.UsageError("--template and --name exclude each other")
    from subwords.study.conversations import shown_chat

    tok = load_tokenizer(tokenizer)
    source = name if template is None else text_of(template, "a template")
    color = uses_color(sys.stdout, os.environ)
    answers = None if reply is None else _rows_of(str(reply))
    for number, row in enumerate(_rows_of(file)):
        try:
            with_prompt = prompt or answers is not None
            made = shown_chat(tok, row, template=source, prompt=with_prompt, masked=not no_mask and answers is None)
            if answers is not None:
                _print_answer(made, next(answers, None))
                continue
        except InputError as error:
            raise InputError(f"conversation {number}: {error}") from None
        if made.problem is not None:
            raise InputError(f"conversation {number}: {made.problem}")
        if wants_json():
            ids, owners = made.chat.ids.tolist(), made.chat.owners.tolist()
            print_values({"ids": ids, "owners": owners, "mask": [*map(int, made.mask)]})
        else:
            rows = (_row(run, color=color) for run in made.runs())
            click.echo("\n" * bool(number) + "\n".join(rows))


def _print_answer(made: ShownChat, answer: Any) -> None:
    """Print what a model wrote as a message."""
    from subwords.study.conversations import shown_reply

    if answer is None:
        raise InputError("expected an answer to each conversation; the file of --reply has fewer lines")
    if not isinstance(answer, str | list):
        raise InputError(f"expected its answer as a list of ids or as text, not {answer!r:.60}")
    reply, rows = shown_reply(made, answer)
    if wants_json():
        print_values({"message": reply.message, "status": reply.status, "open": reply.open and reply.open._asdict()})
    else:
        click.echo("\n".join([str(reply.status), *(f"  {field}\t{printable(text)}" for field, text in rows)]))


def _rows_of(file: str) -> Iterator[Any]:
    """Yield the JSON of each line."""
    from subwords.cli.encoding import line_batches
    from subwords.machine import open_text

    source, name = input_of(file, "conversations")
    with open_text(source, name, expected="rows") as stream:
        lines = (line for lines in line_batches(stream) for line in lines)
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise InputError(f"{name}: expected JSON on line {number}: {error}") from None


def _row(run: ChatRun, *, color: bool) -> str:
    """Return tokens with one owner, all in the mask or none, as a row."""
    shown = " ".join(_shown(token, run.trained, run.owner, color) for token in run.tokens)
    return f"{'*' if run.trained else ' '} {f'{run.owner} ' * (run.owner >= 0)}{run.who}\t{shown}"


def _shown(token: ChatToken, trained: bool, owner: int, color: bool) -> str:
    text = shorten_visible(token.text, MOST_CHARACTERS)
    if not color:
        return f"[{text}]" if token.control else text
    style = CONTROL if token.control else f"\x1b[38;5;16;48;5;{OWNERS[owner % len(OWNERS)]}m"
    return f"{style}{REPLY if trained else ''}{text}\x1b[0m"
