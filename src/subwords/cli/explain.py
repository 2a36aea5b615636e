"""explain and verify-training: why a text has its ids; whether each merge was the best one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from subwords.cli.console import json_option, load_tokenizer, print_values, tokenizer_argument, utf8

__all__ = ["explain", "verify_training"]


@click.command()
@tokenizer_argument
@click.option("--text", type=utf8, metavar="TEXT", help="The text.  [default: standard input]")
@click.option(
    "--special",
    type=click.Choice(["text", "allow"]),
    default="text",
    show_default=True,
    help="Special tokens spelled in the text: ordinary text, or their ids.",
)
@click.option(
    "--counts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='BPE: counts of "subwords count"; each merge then says how often its pair occurred when it was learned.',
)
@json_option
def explain(tokenizer: Path, text: str | None, special: str, counts: Path | None, as_json: bool) -> None:
    """Say why a text has its ids: what was normalized, what cut each word, each merge, match or path.

    \b
    Example:
      subwords explain tok.json --text "unbelievable"
      subwords explain tok.json --counts corpus.counts < text.txt
    """
    from subwords.corpus.counts import WordCounts
    from subwords.study.explain import explain as explained

    tok, found = load_tokenizer(tokenizer), None if counts is None else WordCounts.load(counts)
    data = sys.stdin.buffer.read() if text is None else text
    trace = explained(tok, data, special=special, counts=found)
    click.echo(json.dumps(trace.to_dict()) if as_json else str(trace))


@click.command("verify-training")
@tokenizer_argument
@click.argument("counts", type=click.Path(path_type=Path))
@click.option(
    "--tie-break",
    type=click.Choice(["ids", "first", "bytes"]),
    default="ids",
    show_default=True,
    help="The rule for pairs of equal count that training declared.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Stop after N deviations."
)
@json_option
@click.pass_context
def verify_training(
    context: click.Context, /, tokenizer: Path, counts: Path, tie_break: str, limit: int, as_json: bool
) -> None:
    """Replay the merges of a BPE tokenizer on word counts: was each the best pair at its turn?

    COUNTS is a file of "subwords count", with the splitter and normalizer of TOKENIZER. Exit code 1: a merge was not.

    \b
    Example:
      subwords verify-training tok.json corpus.counts
    """
    from subwords.corpus.counts import WordCounts
    from subwords.study.verify_training import verify_training as verified

    found = verified(load_tokenizer(tokenizer), WordCounts.load(counts), tie_break=tie_break, limit=limit)  # type: ignore[arg-type]
    if as_json:
        print_values(found.to_dict(), as_json)
    else:
        click.echo(str(found))
    if not found.proven:
        context.exit(1)
