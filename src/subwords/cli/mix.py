"""count --mix: word counts of several sources, with weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.console import named_values, print_rows, print_values, utf8
from subwords.cli.options import add_options
from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.corpus.counts import WordCounts

__all__ = ["MIXING", "mix_options", "mixed", "print_mixture"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _numbers(option: str, values: tuple[str, ...]) -> dict[str, float] | None:
    try:
        return {name: float(value) for name, value in named_values(option, values).items()} or None
    except ValueError:
        raise click.UsageError(f"{option}: expected NAME=NUMBER, such as en=0.7, not {values!r}") from None


MIXING = ("weights", "shares", "exponent", "max_bytes")

_OPTIONS = (
    click.option("--weight", "weights", type=utf8, multiple=True, metavar="NAME=X", help="How often a source counts."),
    click.option(
        "--share", "shares", type=utf8, multiple=True, metavar="NAME=X", help="The part of the text it is to be."
    ),
    click.option(
        "--exponent", type=click.FloatRange(0, 1), metavar="X", help="Shares in proportion to bytes ** X; 0: all equal."
    ),
    click.option(
        "--max-bytes",
        type=utf8,
        multiple=True,
        metavar="AMOUNT|NAME=AMOUNT",
        help="The most bytes that all sources or one counts for: 100MB.",
    ),
)


def mix_options(command: _Command) -> _Command:
    """Add the options that weigh files of counts."""
    return add_options(command, _OPTIONS)


def mixed(
    sources: Sequence[str],
    weights: tuple[str, ...],
    shares: tuple[str, ...],
    exponent: float | None,
    max_bytes: tuple[str, ...],
) -> tuple[WordCounts, dict[str, int]]:
    """Return the mixture of files of counts, and how often each source counts."""
    from subwords.corpus.counts import WordCounts
    from subwords.corpus.mix import add_multiplied, mix_factors

    if bool(weights) + bool(shares) + (exponent is not None) > 1:
        raise click.UsageError("expected one of --weight, --share and --exponent, not several")
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
    return add_multiplied(found, factors), factors


def print_mixture(counts: WordCounts, factors: dict[str, int], output: Path, as_json: bool, quiet: bool) -> None:
    """Print how often each source counts."""
    if as_json:
        print_values({"factors": factors, "words": counts.total, "distinct": len(counts), "saved": str(output)}, True)
    elif not quiet:
        print_rows(["source", "times"], [[name, str(factor)] for name, factor in factors.items()])
