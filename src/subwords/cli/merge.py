"""merge: the tokens of two tokenizers in one."""

from __future__ import annotations

import time
from pathlib import Path

import click

from subwords.cli.adapting import check_targets, output_options, save_adapted
from subwords.cli.arguments import TOKENIZER, tokenizer_argument
from subwords.cli.console import json_option, load_tokenizer, quiet_option

__all__ = ["merge"]


@click.command()
@tokenizer_argument
@click.argument("other", type=TOKENIZER)
@output_options
@quiet_option
@json_option
def merge(tokenizer: str, other: str, output: str, map_path: Path | None, quiet: bool, as_json: bool) -> None:
    """Add the tokens of another tokenizer; all ids of the first one keep their tokens.

    Both are BPE or both WordPiece, with the same splitter and normalizer. Tokens of OTHER that no text would yield are
    left out; the summary counts them.

    \b
    Example:
      subwords adapt merge tok.json thai.json --id-map embedding_map.json -o both.json
    """
    from subwords.adapt.merge_tokenizers import merge_tokenizers

    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_targets(tok, output, map_path)
    found = merge_tokenizers(tok, load_tokenizer(other))
    save_adapted(found, output, map_path, started, as_json=as_json, quiet=quiet)
