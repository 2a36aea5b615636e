"""stability and allocation: how much text a vocabulary needs, and who gets its tokens."""

from __future__ import annotations

from typing import Any

import click

from subwords.cli.adapting import corpus_of
from subwords.cli.arguments import SOURCE, choice, tokenizer_argument
from subwords.cli.console import SIZE, load_tokenizer, named_values, source_of, utf8
from subwords.cli.options import command, reading_from, reading_options
from subwords.cli.table_options import print_table, table_options

__all__ = ["allocation", "stability"]


@command()
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--vocab-size", type=SIZE, required=True, metavar="N", help="The number of tokens.")
@click.option(
    "--share",
    "shares",
    type=click.FloatRange(min=0, min_open=True, max=1),
    multiple=True,
    metavar="SHARE",
    help="Of the documents; may be repeated.  [default: 1/64, 1/32, 1/16, 1/8, 1/4, 1/2 and 1]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the samples.")
@click.option("--held-out", type=SOURCE, metavar="SOURCE", help="Text to measure on.  [default: the largest sample]")
@click.option(
    "--algorithm",
    type=choice(["bpe", "wordpiece", "unigram", "wordlevel", "mingram"]),
    default="bpe",
    show_default=True,
)
@click.option("--splitter", type=utf8, metavar="NAME|REGEX", help="How to split text into words.")
@click.option("--normalizer", type=utf8, metavar="NAME", help="How to normalize text first.")
@reading_options
@table_options
def stability(
    sources: tuple[str, ...],
    shares: tuple[float, ...],
    held_out: str | None,
    latex: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train on nested samples of a corpus, and see how much the vocabulary still changes with more text.

    Each text file, row, or line (--documents line) is a document: a sample is of whole documents.

    \b
    Example:
      subwords study stability corpus/ --vocab-size 32000 --held-out held_out.txt
    """
    from subwords.cli.corpus import is_counts
    from subwords.study.stability import SHARES
    from subwords.study.stability import stability as measured

    if counted := next(filter(is_counts, sources), None):
        raise click.UsageError(f"{counted} holds counts, which have no documents to sample: pass text")
    source = source_of(sources)
    held = corpus_of([held_out]) if held_out is not None else None
    given = {"reading": reading_from(options)} | {name: value for name, value in options.items() if value is not None}
    progress = False if quiet else None
    found = measured(source, shares=shares or SHARES, held_out=held, progress=progress, **given)
    print_table(found, latex, as_json, quiet)


@command()
@tokenizer_argument
@click.argument("groups", type=utf8, nargs=-1, required=True, metavar="NAME=SOURCE...")
@table_options
def allocation(
    tokenizer: str, groups: tuple[str, ...], threads: int | None, latex: bool, quiet: bool, as_json: bool
) -> None:
    """Measure how many tokens of a vocabulary each language gets, or any other group of texts.

    SOURCE is a corpus, or a file of "subwords count".

    \b
    Example:
      subwords study allocation tok.json en=english.txt ru=russian.txt th=thai.txt
    """
    from subwords.study.allocation import allocation as measured

    named = named_values("groups", groups).items()
    sources = {name: corpus_of([place]) for name, place in named}
    found = measured(load_tokenizer(tokenizer), sources, threads=threads, progress=False if quiet else None)
    print_table(found, latex, as_json, quiet)
