"""How good tokenizers are on a corpus, and how fast: evaluate, compare, sweep, ..., bench; findings: audit and diff."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.console import (
    INPUT,
    SIZE,
    SOURCE,
    TOKENIZER,
    check_output,
    choice,
    json_option,
    load_tokenizer,
    quiet_option,
    source_argument,
    tokenizer_argument,
    utf8_argument,
)
from subwords.cli.files import LACKING, paths_of
from subwords.cli.options import (
    add_options,
    command,
    reading_from,
    reading_options,
    table_options,
    threads_option,
)
from subwords.support.errors import FormatError, unreadable
from subwords.support.files import atomic_write

if TYPE_CHECKING:
    from subwords.study.findings import Findings
    from subwords.support.report import Report


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _options(function: _Command) -> _Command:
    """Add the options that `evaluate` and `compare` share."""
    options: list[Callable[[_Command], _Command]] = [
        click.option(
            "--by", type=utf8_argument, metavar="COLUMN", help='Group the documents: by a column of rows, or "file".'
        ),
        click.option("--parallel", is_flag=True, help="Document k of every group says the same: compare their tokens."),
        click.option(
            "--reference", type=utf8_argument, metavar="GROUP", help="Costs are relative to it.  [default: the first]"
        ),
        click.option(
            "--order", type=float, default=2.5, metavar="X", show_default=True, help="The order of Renyi's entropy."
        ),
        click.option(
            "--confidence", type=float, default=0.95, metavar="X", show_default=True, help="The level of the intervals."
        ),
        click.option(
            "--resamples",
            type=click.IntRange(min=0),
            default=1000,
            metavar="N",
            show_default=True,
            help="Samples of the documents, drawn for the intervals.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            metavar="N",
            show_default=True,
            help="The seed of these samples.",
        ),
        reading_options,
    ]
    return add_options(function, options)


_plot = click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Also draw a plot: .pdf, .svg or .png."
)
LIBRARIES = ("tokenizers", "tiktoken", "sentencepiece", "transformers")


_algorithm = click.option(
    "--algorithm",
    type=choice(["bpe", "wordpiece", "unigram", "wordlevel", "mingram"]),
    default="bpe",
    show_default=True,
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
def evaluate(tokenizer: str, sources: tuple[str, ...], plot: Path | None, **options: Any) -> Report:
    """Measure a tokenizer on a corpus: compression, use of the vocabulary, cost of languages, with intervals.

    SOURCE is a corpus as in "subwords count"; with names, each is a group. Each text file, row, or line (--documents
    line) is a document: intervals need several.

    \b
    Example:
      subwords study evaluate tok.json held_out.txt --documents line
      subwords study evaluate tok.json en=english.txt de=german.txt
      subwords study evaluate tok.json flores.jsonl --by language --parallel --plot cost.png
    """
    from subwords.study.evaluation import evaluate as evaluated

    _check_plot(plot)
    found = evaluated(load_tokenizer(tokenizer), _corpus(sources), **_given(options))
    if options["progress"] is None and found.bytes_per_second:
        click.echo(f"Encoded {found.bytes_per_second / 1e6:.1f} MB per second and thread.", err=True)
    _save_plot(found, plot, f"{tokenizer}, on {_plot_title(sources)}")
    return found


@command()
@click.argument("tokenizers", type=TOKENIZER, nargs=-1, required=True, metavar="[NAME=]TOKENIZER...")
@click.option(
    "--source",
    "sources",
    type=utf8_argument,
    multiple=True,
    required=True,
    metavar="[NAME=]SOURCE",
    help="The corpus; may be repeated. With names, each is a group.",
)
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, metavar="N", show_default=True, help="Disagreeing words to list."
)
@_options
@_plot
@table_options
def compare(tokenizers: tuple[str, ...], sources: tuple[str, ...], plot: Path | None, **options: Any) -> Report:
    """Compare tokenizers on a corpus: paired differences with intervals, and words that they split differently.

    \b
    Example:
      subwords study compare old.json new.json --source held_out.txt --documents line
      subwords study compare old=a.json new=b.json --source en=english.txt --source de=german.txt --plot languages.pdf
    """
    from subwords.study.comparison import compare as compared

    _check_plot(plot)
    named = [_name_and_place(value) for value in tokenizers]
    toks = [load_tokenizer(place) for _, place in named]
    names = [place if name is None else name for name, place in named]
    found = compared(toks, _corpus(sources), names=names, **_given(options))
    _save_plot(found, plot, _plot_title(sources))
    return found


@command()
@tokenizer_argument
@click.option(
    "--texts",
    "sources",
    type=utf8_argument,
    multiple=True,
    required=True,
    metavar="CORPUS",
    help="The texts: a file, folder or quoted glob. May be repeated.",
)
@click.option(
    "--against",
    type=choice(LIBRARIES),
    multiple=True,
    help="A package to compare with; may be repeated.  [default: those that are installed and read TOKENIZER]",
)
@click.option(
    "--limit", type=utf8_argument, default="2MB", show_default=True, metavar="AMOUNT", help="Use this much text."
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 1000),
    default=5,
    metavar="N",
    show_default=True,
    help="Rounds: each runs every library in a new process.",
)
@reading_options
@LACKING[0]
@LACKING[1]
@table_options
def bench(tokenizer: str, sources: tuple[str, ...], against: tuple[str, ...], **options: Any) -> Report:
    """Measure how fast this package and other libraries load, encode and decode, on your texts and machine.

    TOKENIZER is a file or folder as in "subwords verify". The ids of all texts are compared first: a library with other
    ids gets no times. Each round runs each library in a new process. --json prints all figures with the versions and
    the machine, without paths or texts, to share. Exit code 1: a library gives other ids.

    \b
    Example:
      subwords bench tok.json --texts corpus.txt
      subwords bench tok.json --texts "corpus/*.txt" --against tokenizers --threads 1 --json
    """
    from subwords.study.benchmark import bench as measured

    options["reading"] = reading_from(options)
    found = measured(tokenizer, paths_of(sources) or [], against=against or None, **options)
    click.get_current_context().meta["exit"] = int(not found)
    return found


@command()
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="[NAME=]SOURCE...")
@click.option("--vocab-size", "vocab_sizes", type=SIZE, multiple=True, required=True, help="May be repeated.")
@click.option(
    "--held-out",
    type=utf8_argument,
    multiple=True,
    metavar="[NAME=]SOURCE",
    help="Text to measure on; may be repeated. With names, each is a group.  [default: SOURCE]",
)
@_algorithm
@click.option("--width", type=click.IntRange(min=1), metavar="N", help="Of a model: numbers in a token's vector.")
@click.option(
    "--layer-parameters", type=click.IntRange(min=1), metavar="N", help="Of a model: parameters outside the embeddings."
)
@click.option("--tied", is_flag=True, help="Of a model: input and output share one matrix.")
@reading_options
@_plot
@table_options
def sweep(sources: tuple[str, ...], held_out: tuple[str, ...], plot: Path | None, **options: Any) -> Report:
    """Train vocabularies of several sizes, and measure how compression grows.

    SOURCE is a corpus, or a file of "subwords count". BPE is trained once. Each text file, row, or line (--documents
    line) is a document: intervals need several.

    \b
    Example:
      subwords study sweep corpus.counts --vocab-size 8000 --vocab-size 16000 --vocab-size 32000 --held-out held_out.txt
    """
    from subwords.study.growth import sweep as swept

    if (options["width"] is None) != (options["layer_parameters"] is None):
        raise click.UsageError("--width and --layer-parameters are needed together for the cost of a model")
    if options["tied"] and options["width"] is None:
        raise click.UsageError("--tied is for the cost of a model: add --width and --layer-parameters")
    _check_plot(plot)
    words, held = _corpora(sources), _corpora(held_out) if held_out else None
    rules = {}
    if (made := getattr(words, "provenance", None)) is not None:
        rules = {"splitter": made.splitter} | ({} if made.normalizer is None else {"normalizer": made.normalizer})
    found = swept(words, held_out=held, **rules, **_given(options))
    _save_plot(found, plot, f"{options['algorithm']} of {_plot_title(sources)}, on {_plot_title(held_out or sources)}")
    return found


def _name_and_place(value: str) -> tuple[str | None, str]:
    """Return the name and the place of NAME=PLACE; a place that exists is one, whatever it contains."""
    name, equals, place = value.partition("=")
    return (name, place) if name and equals and place and not Path(value).exists() else (None, value)


def _corpus(sources: tuple[str, ...]) -> Any:
    """Return a corpus, or corpora by name."""
    named = [_name_and_place(source) for source in sources]
    names = [name for name, _ in named]
    if None in names:
        if extra := [name for name in names if name is not None]:
            raise click.UsageError(f"expected NAME=SOURCE for all sources or for none, but only {extra[0]!r} is named")
        return source_argument(sources)
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.UsageError(f"the name {twice[0]!r} is given twice")
    return {name: source_argument([place]) for name, place in named}


def _corpora(sources: tuple[str, ...]) -> Any:
    """Return a corpus, corpora by name, or counts."""
    from subwords.cli.corpus import is_counts
    from subwords.corpus.counts import WordCounts

    if len(sources) == 1 and is_counts(sources[0]):
        return WordCounts.load(sources[0])
    if counted := [source for source in sources if is_counts(_name_and_place(source)[1])]:
        raise click.UsageError(f"{counted[0]} holds counts: pass one file of counts, or text (merge: subwords count)")
    return _corpus(sources)


def _plot_title(sources: tuple[str, ...]) -> str:
    """Return sources for the title of a plot."""
    names = [name or Path(place).name for name, place in map(_name_and_place, sources)]
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


# ---------------------------------------------------------------------------------------------------------------------
# audit and diff: what is wrong with a tokenizer, and what changed, as gates for continuous integration.


def _finding_options(command: Callable[..., Findings]) -> Callable[..., None]:
    """Add the options of commands that print findings; show those that a command returns, and exit with 1 if they fail.

    The command gets its `progress` instead of --quiet.
    """

    @wraps(command)
    def shown(
        fail_on: str, sarif: Path | None, markdown: Path | None, limit: int, as_json: bool, quiet: bool, **given: Any
    ) -> None:
        for path in (sarif, markdown):
            check_output(path)
        found = command(progress=False if quiet else None, **given)
        click.echo(json.dumps(found.to_dict()) if as_json else "\n".join(found.lines(limit)))
        for path, text in ((sarif, found.to_sarif), (markdown, found.to_markdown)):
            if path is not None:
                with atomic_write(path, "w") as file:
                    made = text()
                    file.write(made + "\n" if isinstance(made, str) else json.dumps(made))
        if given.get("write_baseline") is None and fail_on != "never" and found.fails(fail_on):  # type: ignore[arg-type]
            click.get_current_context().exit(1)

    options: list[Callable[[Any], Any]] = [
        click.option(
            "--fail-on",
            type=choice(["error", "warning", "note", "never"]),
            default="error",
            show_default=True,
            help="Exit with 1 if there is a finding this bad, or worse.",
        ),
        click.option("--sarif", type=INPUT, metavar="FILE", help="Also write SARIF, for code scanners."),
        click.option("--markdown", type=INPUT, metavar="FILE", help="Also write all findings in Markdown."),
        click.option(
            "--limit",
            type=click.IntRange(min=0),
            default=5,
            metavar="N",
            show_default=True,
            help="Findings to print for a rule.",
        ),
        quiet_option,
        json_option,
    ]
    return add_options(shown, options)


@command()
@tokenizer_argument
@click.option(
    "--source",
    "sources",
    type=utf8_argument,
    multiple=True,
    metavar="SOURCE",
    help="A corpus: also finds unused tokens and lost text.",
)
@reading_options
@click.option(
    "--rule", "rules", type=utf8_argument, multiple=True, metavar="NAME", help="Look for this only. May be repeated."
)
@click.option(
    "--embeddings",
    type=utf8_argument,
    metavar="FILE[:TENSOR]",
    help="The input matrix of a model, .npy or .safetensors: also finds tokens that it hardly met in training.",
)
@click.option(
    "--output-embeddings",
    "output",
    type=utf8_argument,
    metavar="FILE[:TENSOR]",
    help="The output matrix, or the only one of a model that has one for both.",
)
@click.option("--baseline", type=INPUT, metavar="FILE", help="Findings that are accepted.")
@click.option("--write-baseline", type=INPUT, metavar="FILE", help="Accept all findings of now.")
@threads_option
@_finding_options
def audit(
    tokenizer: str,
    sources: tuple[str, ...],
    rules: tuple[str, ...],
    embeddings: str | None,
    output: str | None,
    baseline: Path | None,
    write_baseline: Path | None,
    threads: int | None,
    progress: bool | None,
    **options: Any,
) -> Findings:
    """Find what is wrong with a tokenizer: tokens that no text yields, broken merges, lost text, and more.

    Exit code 1: there is an error that the baseline does not accept; see --fail-on.

    \b
    Example:
      subwords study audit tok.json
      subwords study audit tok.json --source corpus.txt --fail-on warning --baseline accepted.json
    """
    from subwords.study.auditing import audit as audited

    check_output(write_baseline)
    accepted = () if baseline is None else _read_baseline(baseline)
    found = audited(
        load_tokenizer(tokenizer),
        source_argument(sources) if sources else None,
        rules=rules or None,
        baseline=accepted,
        embeddings=embeddings,
        output=output,
        reading=reading_from(options),
        threads=threads,
        progress=progress,
    )
    if write_baseline is not None:
        _write_baseline(write_baseline, found, accepted)
    return found


@command()
@tokenizer_argument
@click.argument("other", type=TOKENIZER)
@click.option(
    "--source",
    "sources",
    type=utf8_argument,
    multiple=True,
    metavar="SOURCE",
    help="A corpus: also compare the ids of its texts. May be repeated.",
)
@reading_options
@_finding_options
def diff(tokenizer: str, other: str, sources: tuple[str, ...], progress: bool | None, **options: Any) -> Findings:
    """Say what changed from one tokenizer to another: ids, merges, scores, the pipeline, special tokens, templates.

    An error is an id that means another token, or a text that gives other ids; a warning is a part that can change
    ids; a note changes none. Exit code 1: there is an error; see --fail-on.

    \b
    Example:
      subwords diff old.json new.json
      subwords diff old/ new/ --source corpus.txt --fail-on warning --markdown changes.md
    """
    from subwords.study.differences import diff as differences

    corpus = source_argument(sources) if sources else None
    toks = load_tokenizer(tokenizer), load_tokenizer(other)
    return differences(*toks, source=corpus, reading=reading_from(options), progress=progress)


def _read_baseline(path: Path) -> tuple[str, ...]:
    try:
        found = json.loads(path.read_text("utf-8"))
        names = ["" + entry["fingerprint"] for entry in found["accepted"]]  # TypeError for other than text
    except OSError as error:
        raise unreadable(FormatError, f"cannot read {path}: {error.strerror or error}", error) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{path}: expected a baseline that --write-baseline wrote") from None
    return tuple(dict.fromkeys(names))


def _write_baseline(path: Path, found: Findings, before: tuple[str, ...]) -> None:
    entries = {one.fingerprint: {"fingerprint": one.fingerprint, "finding": one.message} for one in found.findings}
    kept = [{"fingerprint": name} for name in before if name not in entries]
    with atomic_write(path, "w") as file:
        json.dump({"accepted": [*kept, *entries.values()]}, file, indent=1)
