"""mix: word counts of several sources, with weights."""

from __future__ import annotations

from pathlib import Path

import click

from subwords.cli.arguments import PLACE, SOURCE
from subwords.cli.console import check_output, json_option, named_values, print_rows, print_values, quiet_option, utf8
from subwords.errors import InputError

__all__ = ["mix"]


def _numbers(option: str, values: tuple[str, ...]) -> dict[str, float] | None:
    try:
        return {name: float(value) for name, value in named_values(option, values).items()} or None
    except ValueError:
        raise click.UsageError(f"{option}: expected NAME=NUMBER, such as en=0.7, not {values!r}") from None


@click.command()
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="NAME=COUNTS...")
@click.option("-o", "--output", type=PLACE, required=True, metavar="FILE", help="The file of counts to write.")
@click.option("--weight", "weights", type=utf8, multiple=True, metavar="NAME=X", help="How often a source counts.")
@click.option("--share", "shares", type=utf8, multiple=True, metavar="NAME=X", help="The part of the text it is to be.")
@click.option(
    "--exponent", type=click.FloatRange(0, 1), metavar="X", help="Shares in proportion to bytes ** X; 0: all equal."
)
@click.option(
    "--max-bytes",
    type=utf8,
    multiple=True,
    metavar="AMOUNT|NAME=AMOUNT",
    help="The most bytes that all sources or one counts for: 100MB.",
)
@quiet_option
@json_option
def mix(
    sources: tuple[str, ...],
    output: Path,
    weights: tuple[str, ...],
    shares: tuple[str, ...],
    exponent: float | None,
    max_bytes: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> None:
    """Mix files of counts, each with a weight, a share, or at most so much text.

    \b
    Example:
      subwords mix en=english.counts de=german.counts --share en=0.7 --share de=0.3 -o mixed.counts
    """
    from subwords.corpus.counts import WordCounts
    from subwords.corpus.mix import add_multiplied, mix_factors

    if bool(weights) + bool(shares) + (exponent is not None) > 1:
        raise click.UsageError("expected one of --weight, --share and --exponent, not several")
    check_output(output)
    found = dict[str, WordCounts]()
    for name, place in named_values("sources", sources).items():
        try:
            found[name] = WordCounts.load(place)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    most: dict[str, str] | str | None = None
    if len(max_bytes) == 1 and "=" not in max_bytes[0]:
        most = max_bytes[0]
    elif max_bytes:
        most = {**named_values("--max-bytes", max_bytes)}
    factors = mix_factors(
        found,
        weights=_numbers("--weight", weights),
        shares=_numbers("--share", shares),
        exponent=exponent,
        max_bytes=most,
    )
    counts = add_multiplied(found, factors)
    counts.save(output)
    if as_json:
        print_values({"factors": factors, "words": counts.total, "distinct": len(counts), "saved": str(output)}, True)
    elif not quiet:
        print_rows(["source", "times"], [[name, str(factor)] for name, factor in factors.items()])
