"""evaluate, compare and sweep: how good tokenizers are on a corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from subwords.cli.console import check_output, load_tokenizer, tokenizer_argument, utf8
from subwords.cli.reading_options import reading_options
from subwords.cli.table_options import print_table, table_options

__all__ = ["compare", "evaluate", "sweep"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _options(command: _Command) -> _Command:
    """Add the options that `evaluate` and `compare` share."""
    options: list[Callable[[_Command], _Command]] = [
        click.option("--by", type=utf8, metavar="COLUMN", help='Group the documents: by a column of rows, or "file".'),
        click.option("--parallel", is_flag=True, help="Document k of every group says the same: compare their tokens."),
        click.option("--reference", type=utf8, metavar="GROUP", help="Costs are relative to it.  [default: the first]"),
        click.option("--alpha", type=float, default=2.5, show_default=True, help="The order of Renyi's entropy."),
        click.option("--confidence", type=float, default=0.95, show_default=True, help="The level of the intervals."),
        click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True, help="For intervals."),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples."),
        reading_options,
    ]
    for option in reversed(options):
        command = option(command)
    return command


_plot = click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw a plot: .png, .svg or .pdf."
)


@click.command()
@tokenizer_argument
@click.argument("sources", type=utf8, nargs=-1, required=True, metavar="SOURCE...")
@_options
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Words with their morphemes, a line each: the word, a tab, the morphemes with spaces between.",
)
@_plot
@table_options
def evaluate(
    tokenizer: Path,
    sources: tuple[str, ...],
    plot: Path | None,
    latex: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a tokenizer on a corpus: compression, use of the vocabulary, cost of languages, with intervals.

    SOURCE is a corpus as in "subwords count". Each text file, row, or line (--documents line) is a document: intervals
    need several.

    \b
    Example:
      subwords evaluate tok.json held_out.txt --documents line
      subwords evaluate tok.json flores.jsonl --by language --parallel --plot cost.png
    """
    from subwords.study.evaluate import evaluate as evaluated

    check_output(plot)
    found = evaluated(load_tokenizer(tokenizer), _corpus(sources), **_given(options), progress=False if quiet else None)
    print_table(found, latex, as_json)
    if not quiet:
        for note in found.notes():
            click.echo(note, err=True)
    if plot is not None:
        found.plot().savefig(plot)


@click.command()
@click.argument("tokenizers", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="TOKENIZER...")
@click.option("--on", "sources", type=utf8, multiple=True, required=True, metavar="SOURCE", help="The corpus.")
@click.option("--words", type=click.IntRange(min=0), default=20, show_default=True, help="Disagreeing words to list.")
@_options
@table_options
def compare(
    tokenizers: tuple[Path, ...],
    sources: tuple[str, ...],
    latex: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare tokenizers on a corpus: paired differences with intervals, and words that they split differently.

    \b
    Example:
      subwords compare old.json new.json --on held_out.txt --documents line
    """
    from subwords.study.compare import compare as compared

    toks = [load_tokenizer(path) for path in tokenizers]
    names = [str(path) for path in tokenizers]
    progress = False if quiet else None
    print_table(compared(toks, _corpus(sources), names=names, **_given(options), progress=progress), latex, as_json)


@click.command()
@click.argument("source", type=utf8)
@click.option(
    "--vocab-size", "vocab_sizes", type=click.IntRange(min=1), multiple=True, required=True, help="May be repeated."
)
@click.option("--on", type=utf8, metavar="SOURCE", help="What to measure on.  [default: the words of training]")
@click.option(
    "--algorithm", type=click.Choice(["bpe", "wordpiece", "unigram", "wordlevel"]), default="bpe", show_default=True
)
@click.option("--width", type=click.IntRange(min=1), metavar="N", help="Of a model: numbers in a token's vector.")
@click.option(
    "--layer-parameters", type=click.IntRange(min=1), metavar="N", help="Of a model: parameters outside the embeddings."
)
@click.option("--tied", is_flag=True, help="Of a model: input and output share one matrix.")
@_plot
@table_options
def sweep(
    source: str, on: str | None, plot: Path | None, latex: bool, quiet: bool, as_json: bool, **options: Any
) -> None:
    """Train vocabularies of several sizes, and measure how compression grows.

    SOURCE is a corpus, or a file of "subwords count". BPE is trained once.

    \b
    Example:
      subwords sweep corpus.counts --vocab-size 8000 --vocab-size 16000 --vocab-size 32000 --on held_out.txt
    """
    from subwords.cli.corpus import is_counts
    from subwords.corpus.counts import WordCounts
    from subwords.study.sweep import sweep as swept

    check_output(plot)
    words: Any = WordCounts.load(source) if is_counts(source) else source
    rules = {} if not is_counts(source) else {"splitter": words.provenance.splitter}
    if rules and words.provenance.normalizer is not None:
        rules["normalizer"] = words.provenance.normalizer
    held = None if on is None else WordCounts.load(on) if is_counts(on) else on
    progress = False if quiet else None
    found = swept(words, on=held, **rules, **_given(options), progress=progress)
    print_table(found, latex, as_json)
    if plot is not None:
        found.plot().savefig(plot)


def _corpus(sources: tuple[str, ...]) -> Any:
    return sources[0] if len(sources) == 1 else [Path(source) for source in sources]


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
