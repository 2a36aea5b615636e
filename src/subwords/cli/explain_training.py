"""explain-training: the steps of training on a small corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from subwords.cli.arguments import SOURCE, choice
from subwords.cli.console import SIZE, json_option, quiet_only, source_of, utf8
from subwords.cli.explained import html_option, print_explained
from subwords.cli.options import command, family_options, reading_from, reading_options

__all__ = ["explain_training"]

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
    type=utf8,
    default="auto",
    metavar="NAME|REGEX",
    help="How to split text into words.  [default: that of train]",
)
@click.option(
    "--normalizer", type=utf8, default="auto", metavar="NAME", help="How to normalize text.  [default: that of train]"
)
@click.option(
    "--special-token",
    "special_tokens",
    type=utf8,
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
    from subwords.study.watch import explain_training as explained

    reading = reading_from(options)
    given: dict[str, Any] = {name: value for name, value in options.items() if value not in (None, ())}
    if special_tokens:
        given["special_tokens"] = special_tokens
    print_explained(explained(source_of(sources), reading=reading, **given), html, as_json, f"Training on {sources[0]}")
