"""extend: more tokens for a tokenizer."""

from __future__ import annotations

import time
from typing import Any

import click

from subwords.cli.adapting import corpus_of
from subwords.cli.arguments import SOURCE, choice, tokenizer_argument
from subwords.cli.console import (
    SIZE,
    check_target,
    json_option,
    load_tokenizer,
    output_option,
    print_values,
    quiet_option,
    utf8,
)
from subwords.cli.options import command, reading_from, reading_options, threads_option

__all__ = ["extend"]


@command()
@tokenizer_argument
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--count", type=SIZE, required=True, metavar="N", help="How many tokens to add.")
@output_option()
@click.option(
    "--splitter",
    type=utf8,
    metavar="NAME|REGEX",
    help="Another rule, which the result has: a coarser one lets tokens span words.  [default: the tokenizer's]",
)
@click.option("--max-words", type=click.IntRange(min=1), metavar="N", help="The most spaces in a new token.")
@click.option("--whole-words", is_flag=True, help="With --splitter: join only words that are one token each.")
@click.option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="In bytes, or in characters.")
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="The least count of a pair.")
@click.option("--whole-characters", is_flag=True, help="New tokens are whole characters or a part of one.")
@click.option("--tie-break", type=choice(["ids", "first", "bytes"]), default="ids", show_default=True)
@reading_options
@click.option("--memory", metavar="AMOUNT", help="Approximate memory of the process, such as 2GB.")
@threads_option
@quiet_option
@json_option
def extend(
    tokenizer: str, sources: tuple[str, ...], count: int, output: str, quiet: bool, as_json: bool, **options: Any
) -> None:
    """Add tokens to a tokenizer, learned from a corpus; all ids keep their tokens.

    SOURCE is a corpus as in "subwords count", or one file written by it with the splitter of TOKENIZER.

    \b
    Example:
      subwords adapt extend tok.json "medicine/*.txt" --count 8000 -o medical.json
    """
    from subwords.adapt.extend import extend as extended
    from subwords.corpus.counts import WordCounts

    reading, source = reading_from(options), corpus_of(sources)
    if reading is not None and isinstance(source, WordCounts):
        raise click.UsageError("--documents and other options of reading are for text, but these are counts")
    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_target(output, tok)
    more = extended(tok, source, count=count, reading=reading, progress=False if quiet else None, **options)
    more.save(output)
    if as_json or not quiet:
        values = {"tokens": more.vocab_size, "new": more.vocab_size - tok.vocab_size}
        print_values(values | {"seconds": round(time.perf_counter() - started, 3), "saved": output}, as_json)
