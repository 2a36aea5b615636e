"""evaluate, compare and sweep: how good tokenizers are on a corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from subwords.cli.arguments import INPUT, SOURCE, TOKENIZER, choice, tokenizer_argument
from subwords.cli.console import SIZE, check_output, load_tokenizer, source_of, utf8
from subwords.cli.options import add_options, command, reading_from, reading_options
from subwords.cli.table_options import print_table, table_options

__all__ = ["compare", "evaluate", "sweep"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _options(function: _Command) -> _Command:
    """Add the options that `evaluate` and `compare` share."""
    options: list[Callable[[_Command], _Command]] = [
        click.option("--by", type=utf8, metavar="COLUMN", help='Group the documents: by a column of rows, or "file".'),
        click.option("--parallel", is_flag=True, help="Document k of every group says the same: compare their tokens."),
        click.option("--reference", type=utf8, metavar="GROUP", help="Costs are relative to it.  [default: the first]"),
        click.option("--order", type=float, default=2.5, show_default=True, help="The order of Renyi's entropy."),
        click.option("--confidence", type=float, default=0.95, show_default=True, help="The level of the intervals."),
        click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True, help="For intervals."),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples."),
        reading_options,
    ]
    return add_options(function, options)


_plot = click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw a plot: .pdf, .svg or .png."
)


@command()
@tokenizer_argument
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="[NAME=]SOURCE...")
@_options
@click.option(
    "--gold",
    type=INPUT,
    metavar="FILE",
    help="Words with their morphemes, a line each: the word, a tab, the morphemes with spaces between.",
)
@_plot
@table_options
def evaluate(
    tokenizer: str,
    sources: tuple[str, ...],
    plot: Path | None,
    latex: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a tokenizer on a corpus: compression, use of the vocabulary, cost of languages, with intervals.

    SOURCE is a corpus as in "subwords count"; with names, each is a group. Each text file, row, or line (--documents
    line) is a document: intervals need several.

    \b
    Example:
      subwords study evaluate tok.json held_out.txt --documents line
      subwords study evaluate tok.json en=english.txt de=german.txt
      subwords study evaluate tok.json flores.jsonl --by language --parallel --plot cost.png
    """
    from subwords.study.evaluate import evaluate as evaluated

    _check_plot(plot)
    found = evaluated(load_tokenizer(tokenizer), _corpus(sources), **_given(options), progress=False if quiet else None)
    print_table(found, latex, as_json, quiet)
    if not quiet and found.bytes_per_second:
        click.echo(f"Encoded {found.bytes_per_second / 1e6:.1f} MB per second and thread.", err=True)
    _save_plot(found, plot, f"{tokenizer}, on {_shown(sources)}")


@command()
@click.argument("tokenizers", type=TOKENIZER, nargs=-1, required=True, metavar="[NAME=]TOKENIZER...")
@click.option(
    "--source",
    "sources",
    type=utf8,
    multiple=True,
    required=True,
    metavar="[NAME=]SOURCE",
    help="The corpus; may be repeated. With names, each is a group.",
)
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Disagreeing words to list.")
@_options
@_plot
@table_options
def compare(
    tokenizers: tuple[str, ...],
    sources: tuple[str, ...],
    plot: Path | None,
    latex: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare tokenizers on a corpus: paired differences with intervals, and words that they split differently.

    \b
    Example:
      subwords study compare old.json new.json --source held_out.txt --documents line
      subwords study compare old=a.json new=b.json --source en=english.txt --source de=german.txt --plot languages.pdf
    """
    from subwords.study.compare import compare as compared

    _check_plot(plot)
    named = [_named(value) for value in tokenizers]
    toks = [load_tokenizer(place) for _, place in named]
    names = [place if name is None else name for name, place in named]
    progress = False if quiet else None
    found = compared(toks, _corpus(sources), names=names, **_given(options), progress=progress)
    print_table(found, latex, as_json, quiet)
    _save_plot(found, plot, _shown(sources))


@command()
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="[NAME=]SOURCE...")
@click.option("--vocab-size", "vocab_sizes", type=SIZE, multiple=True, required=True, help="May be repeated.")
@click.option(
    "--held-out",
    type=utf8,
    multiple=True,
    metavar="[NAME=]SOURCE",
    help="Text to measure on; may be repeated. With names, each is a group.  [default: SOURCE]",
)
@click.option(
    "--algorithm",
    type=choice(["bpe", "wordpiece", "unigram", "wordlevel", "mingram"]),
    default="bpe",
    show_default=True,
)
@click.option("--width", type=click.IntRange(min=1), metavar="N", help="Of a model: numbers in a token's vector.")
@click.option(
    "--layer-parameters", type=click.IntRange(min=1), metavar="N", help="Of a model: parameters outside the embeddings."
)
@click.option("--tied", is_flag=True, help="Of a model: input and output share one matrix.")
@reading_options
@_plot
@table_options
def sweep(
    sources: tuple[str, ...],
    held_out: tuple[str, ...],
    plot: Path | None,
    latex: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train vocabularies of several sizes, and measure how compression grows.

    SOURCE is a corpus, or a file of "subwords count". BPE is trained once. Each text file, row, or line (--documents
    line) is a document: intervals need several.

    \b
    Example:
      subwords study sweep corpus.counts --vocab-size 8000 --vocab-size 16000 --vocab-size 32000 --held-out held_out.txt
    """
    from subwords.study.sweep import sweep as swept

    if (options["width"] is None) != (options["layer_parameters"] is None):
        raise click.UsageError("--width and --layer-parameters are needed together for the cost of a model")
    if options["tied"] and options["width"] is None:
        raise click.UsageError("--tied is for the cost of a model: add --width and --layer-parameters")
    _check_plot(plot)
    words, held = _words(sources), _words(held_out) if held_out else None
    rules = {}
    if (made := getattr(words, "provenance", None)) is not None:
        rules = {"splitter": made.splitter} | ({} if made.normalizer is None else {"normalizer": made.normalizer})
    found = swept(words, held_out=held, **rules, **_given(options), progress=False if quiet else None)
    print_table(found, latex, as_json, quiet)
    _save_plot(found, plot, f"{options['algorithm']} of {_shown(sources)}, on {_shown(held_out or sources)}")


def _named(value: str) -> tuple[str | None, str]:
    """Return the name and the place of NAME=PLACE; a place that exists is one, whatever it contains."""
    name, equals, place = value.partition("=")
    return (name, place) if name and equals and place and not Path(value).exists() else (None, value)


def _corpus(sources: tuple[str, ...]) -> Any:
    """Return a corpus, or corpora by name."""
    named = [_named(source) for source in sources]
    names = [name for name, _ in named]
    if None in names:
        if extra := [name for name in names if name is not None]:
            raise click.UsageError(f"expected NAME=SOURCE for all sources or for none, but only {extra[0]!r} is named")
        return source_of(sources)
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.UsageError(f"the name {twice[0]!r} is given twice")
    return {name: source_of([place]) for name, place in named}


def _words(sources: tuple[str, ...]) -> Any:
    """Return a corpus, corpora by name, or counts."""
    from subwords.cli.corpus import is_counts
    from subwords.corpus.counts import WordCounts

    if len(sources) == 1 and is_counts(sources[0]):
        return WordCounts.load(sources[0])
    if counted := [source for source in sources if is_counts(_named(source)[1])]:
        raise click.UsageError(f"{counted[0]} holds counts: pass one file of counts, or text (merge: subwords count)")
    return _corpus(sources)


def _shown(sources: tuple[str, ...]) -> str:
    """Return sources for the title of a plot."""
    names = [name or Path(place).name for name, place in map(_named, sources)]
    return ", ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} more"


def _check_plot(plot: Path | None) -> None:
    from subwords.study.plots import check_plot

    check_plot(plot)
    check_output(plot)


def _save_plot(found: Any, plot: Path | None, title: str) -> None:
    if plot is not None:
        found.plot(title=title).savefig(plot)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {"reading": reading_from(options)} | {name: value for name, value in options.items() if value is not None}
