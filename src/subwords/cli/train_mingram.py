"""train-mingram: a Unigram tokenizer of the fewest pieces."""

from __future__ import annotations

import time
from typing import Any

import click

from subwords.cli.arguments import SOURCE, choice
from subwords.cli.console import (
    SIZE,
    check_target,
    json_option,
    output_option,
    print_values,
    quiet_option,
    source_of,
    utf8,
)

__all__ = ["train_mingram"]


@click.command("train-mingram")
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--vocab-size", type=SIZE, required=True, metavar="N", help="The number of tokens.")
@output_option()
@click.option("--splitter", type=utf8, default="sentencepiece", show_default=True, metavar="NAME", help="As in train.")
@click.option("--normalizer", type=utf8, default="sentencepiece", show_default=True, metavar="NAME", help="The same.")
@click.option("--special", "special_tokens", type=utf8, multiple=True, metavar="TOKEN", help="A special token.")
@click.option("--unk-token", type=utf8, metavar="TOKEN", help="The token for unknown text.  [default: <unk>]")
@click.option("--byte-fallback", is_flag=True, help="256 tokens for unknown bytes.")
@click.option("--seed-factor", type=float, default=1.1, show_default=True, help="BPE tokens to choose from.")
@click.option("--documents", type=choice(["file", "line"]), default="file", show_default=True)
@click.option("--memory", metavar="AMOUNT", help="About what counting may use in all, such as 2GB.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: one per processor]")
@quiet_option
@json_option
def train_mingram(sources: tuple[str, ...], output: str, quiet: bool, as_json: bool, **options: Any) -> None:
    """Train a Unigram tokenizer that writes text with the fewest pieces.

    SOURCE is a corpus as in "subwords count", or one file written by it.

    \b
    Example:
      subwords train-mingram "corpus/*.txt" --vocab-size 32000 -o tok.json
    """
    from subwords.adapt.mingram import train_mingram as trained
    from subwords.cli.corpus import is_counts
    from subwords.corpus.counts import WordCounts
    from subwords.training.train import rehearse

    started = time.perf_counter()
    options["special_tokens"] = options["special_tokens"] or None
    names = ("vocab_size", "splitter", "normalizer", "special_tokens", "unk_token", "byte_fallback")
    check_target(output, rehearse(algorithm="unigram", **{name: options[name] for name in names}))
    counts = len(sources) == 1 and is_counts(sources[0])
    source = WordCounts.load(sources[0]) if counts else source_of(sources)
    tok = trained(source, progress=False if quiet else None, **options)
    tok.save(output)
    if as_json or not quiet:
        seconds = round(time.perf_counter() - started, 3)
        print_values({"tokens": tok.vocab_size, "seconds": seconds, "saved": output}, as_json)
