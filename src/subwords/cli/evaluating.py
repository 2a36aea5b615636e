"""How good tokenizers are on a corpus, and how fast: evaluate, compare, sweep, ..., bench; findings: audit and diff."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from subwords.cli.console import (
    INPUT,
    SIZE,
    TOKENIZER,
    check_output,
    choice,
    is_quiet,
    load_tokenizer,
    opt,
    wants_json,
)
from subwords.cli.files import RANK_FILES, SPECIAL_IDS
from subwords.cli.options import (
    Adapter,
    Call,
    command_of,
    corpus_of,
    latex_option,
    name_and_place,
    print_report,
    sources,
    taken,
    tokenizer_at,
)
from subwords.support.errors import FormatError, unreadable
from subwords.support.files import atomic_write

if TYPE_CHECKING:
    from subwords import Tokenizer
    from subwords.study.findings import Findings

_plot = opt("--plot FILE", "Also draw a plot: .pdf, .svg or .png.", INPUT)
_CORPORA = sources("--source [NAME=]SOURCE...", "The corpus; may be repeated. With names, each is a group.", named=True)


@command_of("study.evaluation.evaluate", _plot, latex_option, source=sources(named=True))
def evaluate(call: Call) -> None:
    """Measure a tokenizer on a corpus: compression, use of the vocabulary, cost of languages, with intervals.

    SOURCE is a corpus as in "subwords count"; with names, each is a group. Each text file, row, or line (--documents
    line) is a document: intervals need several.

    \b
    Example:
      subwords study evaluate tok.json held_out.txt --documents line
      subwords study evaluate tok.json en=english.txt de=german.txt
      subwords study evaluate tok.json flores.jsonl --by language --parallel --plot cost.png
    """
    found = print_report(call, f"{call.options['tokenizer']}, on {_title(call.options['sources'])}")
    if found.bytes_per_second and not is_quiet():
        click.echo(f"Encoded {found.bytes_per_second / 1e6:.1f} MB per second and thread.", err=True)


def _tokenizers(call: Call) -> list[Tokenizer]:
    named = [name_and_place(value) for value in call.take("tokenizers")]
    call.options["names"] = [place if name is None else name for name, place in named]
    return [load_tokenizer(place) for _, place in named]


_TOKENIZERS = click.argument("tokenizers", type=TOKENIZER, nargs=-1, required=True, metavar="[NAME=]TOKENIZER...")


@command_of(
    "study.comparison.compare",
    _plot,
    latex_option,
    tokenizers=Adapter([_TOKENIZERS], _tokenizers),
    names=Adapter([], lambda call: call.take("names")),
    source=_CORPORA,
    like="study.evaluation.evaluate",
)
def compare(call: Call) -> None:
    """Compare tokenizers on a corpus: paired differences with intervals, and words that they split differently.

    \b
    Example:
      subwords study compare old.json new.json --source held_out.txt --documents line
      subwords study compare old=a.json new=b.json --source en=english.txt --source de=german.txt --plot languages.pdf
    """
    print_report(call, _title(call.options["sources"]))


_AGAINST = opt(
    "--against LIBRARY...",
    "A package to compare with; may be repeated.  [default: those that are installed and read TOKENIZER]",
    choice(["tokenizers", "tiktoken", "sentencepiece", "transformers"]),
)


@command_of(
    "study.benchmark.bench",
    latex_option,
    tokenizer=tokenizer_at("tokenizer", loaded=False),
    source=sources("--texts CORPUS...", "The texts: a file, folder or quoted glob. May be repeated."),
    special_ids=SPECIAL_IDS,
    against=taken("against", _AGAINST),
    texts=RANK_FILES,
)
def bench(call: Call) -> None:
    """Measure how fast this package and other libraries load, encode and decode, on your texts and machine.

    TOKENIZER is a file or folder as in "subwords verify". The ids of all texts are compared first: a library with other
    ids gets no times. Each round runs each library in a new process. --json prints all figures with the versions and
    the machine, without paths or texts, to share. Exit code 1: a library gives other ids.

    \b
    Example:
      subwords bench tok.json --texts corpus.txt
      subwords bench tok.json --texts "corpus/*.txt" --against tokenizers --threads 1 --json
    """
    if not print_report(call):
        click.get_current_context().exit(1)


def _counted(call: Call) -> object:
    """Return a corpus, or counts, whose rules are those of training."""
    found = corpus_of(call.take("sources"), named=True)
    if (made := getattr(found, "provenance", None)) is not None:
        call.options |= {"splitter": made.splitter, "normalizer": made.normalizer}
    return found


@command_of(
    "study.growth.sweep",
    _plot,
    latex_option,
    source=sources(named=True)._replace(value=_counted),
    vocab_sizes=taken(
        "vocab_sizes",
        opt("--vocab-size N...", "A number of tokens. May be repeated.", SIZE, "vocab_sizes", required=True),
    ),
    held_out=sources(
        "--held-out [NAME=]SOURCE...",
        "Text to measure on; may be repeated. With names, each is a group.  [default: SOURCE]",
        name="held_out",
        named=True,
        counts=True,
        needed=False,
    ),
)
def sweep(call: Call) -> None:
    """Train vocabularies of several sizes, and measure how compression grows.

    SOURCE is a corpus, or a file of "subwords count". BPE is trained once. Each text file, row, or line (--documents
    line) is a document: intervals need several.

    \b
    Example:
      subwords study sweep corpus.counts --vocab-size 8000 --vocab-size 16000 --vocab-size 32000 --held-out held_out.txt
    """
    options = call.options
    if (options["width"] is None) != (options["layer_parameters"] is None):
        raise click.UsageError("--width and --layer-parameters are needed together for the cost of a model")
    if options["tied"] and options["width"] is None:
        raise click.UsageError("--tied is for the cost of a model: add --width and --layer-parameters")
    title = _title(options["sources"])
    print_report(call, f"{options['algorithm'] or 'bpe'} of {title}, on {_title(options['held_out']) or title}")


def _title(places: Sequence[str]) -> str:
    """Return sources for the title of a plot."""
    names = [name or Path(place).name for name, place in map(name_and_place, places)]
    return ", ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} more"


# ---------------------------------------------------------------------------------------------------------------------
# audit and diff: what is wrong with a tokenizer, and what changed, as gates for continuous integration.

_FINDINGS = (
    opt(
        "--fail-on",
        "Exit with 1 if there is a finding this bad, or worse.",
        choice(["error", "warning", "note", "never"]),
        default="error",
    ),
    opt("--sarif FILE", "Also write SARIF, for code scanners.", INPUT),
    opt("--markdown FILE", "Also write all findings in Markdown.", INPUT),
    opt("--limit N", "Findings to print for a rule.", click.IntRange(min=0), default=5),
)


def _print_findings(call: Call, accept: Path | None = None) -> Findings:
    """Print and write findings, and exit with 1 if they fail, unless they are to be accepted."""
    fail_on, sarif, markdown, limit = map(call.take, ("fail_on", "sarif", "markdown", "limit"))
    for path in (sarif, markdown, accept):
        check_output(path)
    found: Findings = call.result()
    click.echo(json.dumps(found.to_dict()) if wants_json() else "\n".join(found.lines(limit)))
    for path, text in ((sarif, found.to_sarif), (markdown, found.to_markdown)):
        if path is not None:
            with atomic_write(path, "w") as file:
                made = text()
                file.write(made + "\n" if isinstance(made, str) else json.dumps(made))
    if accept is not None:
        _write_baseline(accept, found, call.arguments.get("baseline", ()))
    elif fail_on != "never" and found.fails(fail_on):
        click.get_current_context().exit(1)
    return found


@command_of(
    "study.auditing.audit",
    opt("--write-baseline FILE", "Accept all findings of now.", INPUT),
    *_FINDINGS,
    source=sources("--source SOURCE...", "A corpus: also finds unused tokens and lost text.", needed=False),
    baseline=Adapter(
        [opt("--baseline FILE", "Findings that are accepted.", INPUT)], lambda call: _baseline(call.take("baseline"))
    ),
    texts={
        "embeddings": "The input matrix of a model, .npy or .safetensors: also finds tokens that it hardly saw in "
        "training.",
        "output": "The output matrix, or the only one of a model that has one for both.",
    },
)
def audit(call: Call) -> None:
    """Find what is wrong with a tokenizer: tokens that no text yields, broken merges, lost text, and more.

    Exit code 1: there is an error that the baseline does not accept; see --fail-on.

    \b
    Example:
      subwords study audit tok.json
      subwords study audit tok.json --source corpus.txt --fail-on warning --baseline accepted.json
    """
    _print_findings(call, call.take("write_baseline"))


@command_of(
    "study.differences.diff",
    *_FINDINGS,
    source=sources("--source SOURCE...", "A corpus: also compare the ids of its texts. May be repeated.", needed=False),
)
def diff(call: Call) -> None:
    """Say what changed from one tokenizer to another: ids, merges, scores, the pipeline, special tokens, templates.

    An error is an id that means another token, or a text that gives other ids; a warning is a part that can change
    ids; a note changes none. Exit code 1: there is an error; see --fail-on.

    \b
    Example:
      subwords diff old.json new.json
      subwords diff old/ new/ --source corpus.txt --fail-on warning --markdown changes.md
    """
    _print_findings(call)


def _baseline(path: Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
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
