"""audit: what is wrong with a tokenizer, as a gate for continuous integration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.arguments import INPUT, choice, tokenizer_argument
from subwords.cli.console import check_output, json_option, load_tokenizer, quiet_option, source_of, utf8
from subwords.cli.options import command, reading_from, reading_options, threads_option
from subwords.errors import FormatError
from subwords.support.atomic import atomic_write

if TYPE_CHECKING:
    from subwords.study.audit import Audit

__all__ = ["audit"]


@command()
@tokenizer_argument
@click.option(
    "--source",
    "sources",
    type=utf8,
    multiple=True,
    metavar="SOURCE",
    help="A corpus: also finds unused tokens and lost text.",
)
@reading_options
@click.option("--rule", "rules", type=utf8, multiple=True, metavar="NAME", help="Look for this only. May be repeated.")
@click.option(
    "--fail-on",
    type=choice(["error", "warning", "note", "never"]),
    default="error",
    show_default=True,
    help="Exit with 1 if there is a finding this bad, or worse.",
)
@click.option("--baseline", type=INPUT, metavar="FILE", help="Findings that are accepted.")
@click.option("--write-baseline", type=INPUT, metavar="FILE", help="Accept all findings of now.")
@click.option("--sarif", type=INPUT, metavar="FILE", help="Also write SARIF, for code scanners.")
@click.option("--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Findings to print for a rule.")
@threads_option
@quiet_option
@json_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    tokenizer: str,
    sources: tuple[str, ...],
    rules: tuple[str, ...],
    fail_on: str,
    baseline: Path | None,
    write_baseline: Path | None,
    sarif: Path | None,
    limit: int,
    threads: int | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Find what is wrong with a tokenizer: tokens that no text yields, broken merges, lost text, and more.

    Exit code 1: there is an error that the baseline does not accept; see --fail-on.

    \b
    Example:
      subwords study audit tok.json
      subwords study audit tok.json --source corpus.txt --fail-on warning --baseline accepted.json
    """
    from subwords.study.audit import audit as audited

    for path in (write_baseline, sarif):
        check_output(path)
    accepted = () if baseline is None else _read_baseline(baseline)
    corpus = source_of(sources) if sources else None
    found = audited(
        load_tokenizer(tokenizer),
        corpus,
        rules=rules or None,
        baseline=accepted,
        reading=reading_from(options),
        threads=threads,
        progress=False if quiet else None,
    )
    click.echo(json.dumps(found.to_dict()) if as_json else "\n".join(found.lines(limit)))
    if sarif is not None:
        with atomic_write(sarif, "w") as file:
            json.dump(found.to_sarif(), file)
    if write_baseline is not None:
        _write_baseline(write_baseline, found, accepted)
    elif fail_on != "never" and found.fails(fail_on):  # type: ignore[arg-type]
        context.exit(1)


def _read_baseline(path: Path) -> tuple[str, ...]:
    try:
        found = json.loads(path.read_text("utf-8"))
        names = ["" + entry["fingerprint"] for entry in found["accepted"]]  # TypeError for other than text
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{path}: expected a baseline that --write-baseline wrote") from None
    return tuple(dict.fromkeys(names))


def _write_baseline(path: Path, found: Audit, before: tuple[str, ...]) -> None:
    entries = {one.fingerprint: {"fingerprint": one.fingerprint, "finding": one.message} for one in found.findings}
    kept = [{"fingerprint": name} for name in before if name not in entries]
    with atomic_write(path, "w") as file:
        json.dump({"accepted": [*kept, *entries.values()]}, file, indent=1)
