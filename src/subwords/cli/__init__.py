"""The command line: one command per public function. It parses and prints only."""

from __future__ import annotations

import click

from subwords import __version__
from subwords.cli.console import Commands, FromFiles, Group

__all__ = ["main"]


# The files of the commands of each group; a file is imported when one of its commands is used.
TOP = FromFiles(
    {
        "corpus": "train count",
        "encoding": "encode decode",
        "tokens": "tokens",
        "chatting": "chat",
        "files": "inspect convert verify export lock doctor warmup",
        "evaluating": "diff bench",
        "explaining": "show",
    }
)
ADAPT = FromFiles({"adapting": "extend prune replace merge id-map"})
STUDY = FromFiles(
    {
        "evaluating": "evaluate compare audit sweep",
        "explaining": "explain why-not explain-training verify-training",
    }
)
RESEARCH = FromFiles({"adapting": "train-parity"})


@click.group(cls=Commands, commands=TOP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="subwords")
def main() -> None:
    """Train, run and inspect subword tokenizers.

    \b
    Example:
      subwords train corpus/ --vocab-size 32000 -o tok.json
      subwords encode tok.json --text "a text"

    Exit codes: 0 success, 1 unusable input, 2 wrong usage, 130 interrupted.
    """


@click.group(cls=Group, commands=ADAPT)
def adapt() -> None:
    """Change the vocabulary of a tokenizer."""


@click.group(cls=Group, commands=STUDY)
def study() -> None:
    """See what a tokenizer does, and measure how good it is."""


@click.group(cls=Group, commands=RESEARCH)
def research() -> None:
    """Train by methods of individual papers."""


for group in (adapt, study, research):
    main.add_command(group)
