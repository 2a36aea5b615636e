"""prune: fewer tokens for a tokenizer."""

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
from subwords.cli.arguments import tokenizer_argument
from subwords.cli.console import SIZE, json_option, load_tokenizer, quiet_option, utf8
from subwords.cli.options import command, reading_from, reading_options, threads_option

__all__ = ["prune"]


@command()
@tokenizer_argument
@selection_options
@click.option(
    "--source",
    "sources",
    type=utf8,
    multiple=True,
    metavar="SOURCE",
    help="Remove the tokens that this corpus, or file of counts, uses least. May be repeated.",
)
@click.option("--vocab-size", type=SIZE, metavar="N", help="With --source: leave N tokens.")
@click.option("--min-count", type=click.IntRange(min=1), metavar="N", help="With --source: leave tokens used so often.")
@click.option("--compact", is_flag=True, help="New ids without gaps.  [default: tokens keep their ids]")
@click.option("--allow-unknown", is_flag=True, help="Also remove pieces without which text becomes unknown.")
@reading_options
@output_options
@threads_option
@quiet_option
@json_option
def prune(
    tokenizer: str,
    drop: tuple[str, ...],
    drop_file: Path | None,
    keep: tuple[str, ...],
    keep_file: Path | None,
    scripts: tuple[str, ...],
    sources: tuple[str, ...],
    vocab_size: int | None,
    min_count: int | None,
    compact: bool,
    allow_unknown: bool,
    output: str,
    map_path: Path | None,
    threads: int | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Remove tokens from a tokenizer; those that stay keep their ids, unless --compact.

    Name the tokens to remove (--drop), the tokens to keep (--keep, without --source), a script (--script), or a corpus
    and the size (--source with --vocab-size or --min-count; with --keep, those stay). Digits alone are an id, and
    U+2423 is a space. Bytes, characters and special tokens always stay, and so do the parts of other
    tokens.

    \b
    Example:
      subwords adapt prune tok.json --source "texts/*.txt" --vocab-size 30000 -o small.json
      subwords adapt prune tok.json --script Cyrillic --compact --id-map embedding_map.json -o latin.json
    """
    from subwords.adapt.chosen import left_of_scripts
    from subwords.adapt.prune import prune as pruned

    modes = {"--drop": drop or drop_file, "--keep": keep or keep_file, "--script": scripts, "--source": sources}
    came = [option for option, value in modes.items() if value]
    if came not in (["--drop"], ["--keep"], ["--script"], ["--source"], ["--keep", "--source"]):
        raise click.UsageError(
            "expected one of --drop, --keep, --script and --source, or --keep with --source; not "
            + (" and ".join(came) or "none")
        )
    if bool(sources) != ((vocab_size is None) != (min_count is None)) or (not sources and (vocab_size or min_count)):
        raise click.UsageError("--source needs --vocab-size or --min-count, and these need --source")
    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_targets(tok, output, map_path)
    found = pruned(
        tok,
        keep=tokens_of(tok, keep, keep_file),
        drop=tokens_of(tok, drop, drop_file),
        scripts=scripts or None,
        source=corpus_of(sources),
        reading=reading_from(options),
        vocab_size=vocab_size,
        min_count=min_count,
        compact=compact,
        allow_unknown=allow_unknown,
        threads=threads,
        progress=False if quiet else None,
    )
    save_adapted(found, output, map_path, started, as_json=as_json, quiet=quiet)
    if scripts and not quiet and (left := left_of_scripts(found.tokenizer.model.vocab, scripts)):
        stay = f"{left} tokens with letters of {' and '.join(scripts)} stay: single characters, and parts of others"
        click.echo(f"subwords: {stay}", err=True)
