"""The command line: one command per public function. It parses and prints only."""

from __future__ import annotations

import time

import click

from subwords import __version__
from subwords.cli.adapting import extend, id_map, merge, prune, replace, train_parity
from subwords.cli.console import Commands, Group, json_option, print_values, quiet_only
from subwords.cli.corpus import count, train
from subwords.cli.encoding import decode, encode
from subwords.cli.evaluating import allocation, audit, compare, evaluate, stability, sweep
from subwords.cli.explaining import explain, explain_training, show, verify_training, why_not
from subwords.cli.files import convert, inspect, verify
from subwords.cli.tokens import tokens

__all__ = ["main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="subwords")
def main() -> None:
    """Train, run and inspect subword tokenizers.

    \b
    Example:
      subwords train corpus/ --vocab-size 32000 -o tok.json
      subwords encode tok.json --text "a text"

    Exit codes: 0 success, 1 unusable input, 2 wrong usage, 130 interrupted.
    """


@main.command()
@quiet_only
@json_option
def warmup(as_json: bool) -> None:
    """Compile all kernels now, so that later commands start fast.

    \b
    Example:
      subwords warmup
    """
    from subwords.engine.engine import warmup as compile_kernels

    started = time.perf_counter()
    compile_kernels()
    print_values({"seconds": round(time.perf_counter() - started, 3)}, as_json)


@click.group(cls=Group)
def adapt() -> None:
    """Change the vocabulary of a tokenizer."""


@click.group(cls=Group)
def study() -> None:
    """See what a tokenizer does, and measure how good it is."""


@click.group(cls=Group)
def research() -> None:
    """Train as single papers propose."""


for group, commands in (
    (main, (train, count, encode, decode, tokens, inspect, convert, verify, show, adapt, study, research)),
    (adapt, (extend, prune, replace, merge, id_map)),
    (study, (evaluate, compare, audit, explain, why_not, explain_training)),
    (study, (verify_training, sweep, stability, allocation)),
    (research, (train_parity,)),
):
    for command in commands:
        group.add_command(command)
