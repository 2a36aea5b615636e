"""replace: some tokens of a tokenizer make room for others."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from subwords.cli.adapting import (
    check_targets,
    corpus_of,
    output_options,
    save_adapted,
    selection_options,
    tokens_of,
)
from subwords.cli.arguments import SOURCE, tokenizer_argument
from subwords.cli.console import SIZE, json_option, load_tokenizer, quiet_option
from subwords.cli.options import command, reading_from, reading_options, threads_option

__all__ = ["replace"]


@command()
@tokenizer_argument
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--count", type=SIZE, metavar="N", help="Replace the N tokens that SOURCE uses least.")
@selection_options
@click.option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="In bytes, or in characters.")
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="The least count of a pair.")
@click.option("--whole-characters", is_flag=True, help="New tokens are whole characters or a part of one.")
@reading_options
@output_options
@threads_option
@quiet_option
@json_option
def replace(
    tokenizer: str,
    sources: tuple[str, ...],
    count: int | None,
    drop: tuple[str, ...],
    drop_file: Path | None,
    keep: tuple[str, ...],
    keep_file: Path | None,
    scripts: tuple[str, ...],
    max_token_length: int | None,
    min_frequency: int,
    whole_characters: bool,
    output: str,
    map_path: Path | None,
    threads: int | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Replace tokens of a tokenizer by others that a corpus needs; the number of ids stays the same.

    SOURCE is a corpus as in "subwords count", or one file written by it with the splitter of TOKENIZER. The new tokens
    get the ids of the removed ones, which are the N least used (--count), named ones (--drop) or those of a script.

    \b
    Example:
      subwords adapt replace tok.json "medicine/*.txt" --count 2000 --id-map embedding_map.json -o medical.json
    """
    from subwords.adapt.replace import replace as replaced

    if (count is not None) + bool(drop or drop_file) + bool(scripts) != 1:
        raise click.UsageError("expected one of --count, --drop and --script: which tokens make room")
    if (keep or keep_file) and count is None:
        raise click.UsageError("--keep is for --count: the tokens to remove are named")
    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_targets(tok, output, map_path)
    found = replaced(
        tok,
        corpus_of(sources),
        count=count,
        drop=tokens_of(tok, drop, drop_file),
        scripts=scripts or None,
        reading=reading_from(options),
        keep=tokens_of(tok, keep, keep_file),
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        whole_characters=whole_characters,
        threads=threads,
        progress=False if quiet else None,
    )
    save_adapted(found, output, map_path, started, as_json=as_json, quiet=quiet)
