"""encode for token files: a corpus of any size to the files that training programs read."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.console import check_output, print_values
from subwords.cli.reading_options import reading_from
from subwords.cli.run_options import print_waiting
from subwords.support.atomic import place_of
from subwords.support.remote import is_remote

if TYPE_CHECKING:
    from subwords.scale.job import Run
    from subwords.sinks.manifest import Manifest
    from subwords.tokenizer import Tokenizer

__all__ = ["FORMATS", "TOKEN_FILES", "means_token_files", "write_token_files"]

FORMATS = ("megatron", "parquet", "datatrove", "llmc")  # besides npy and bin, which hold a single text too
TOKEN_FILES = ("bos", "eos", "shard_size", "shuffle", "threads")  # options of token files alone
_ROWS = (".jsonl", ".ndjson", ".parquet", ".arrow")


def means_token_files(sources: Sequence[str], form: str | None, options: dict[str, Any]) -> bool:
    """Whether sources are a corpus, not one text: by the format, by an option for documents, or by their names."""
    if form in FORMATS or len(sources) > 1 or any(value is not None for value in options.values()):
        return True
    return any(_is_corpus(source) for source in sources)


def _is_corpus(source: str) -> bool:
    name = source.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    if name.endswith(_ROWS):
        return True
    place = place_of(source) if is_remote(source) else Path(source)
    return place.is_dir() or (glob.has_magic(source) and not place.exists())


def write_token_files(
    tok: Tokenizer,
    sources: Sequence[str],
    output: Path | None,
    run: Run | None,
    *,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Encode sources to token files, and print what was written."""
    if output is None:
        raise click.UsageError("token files need a name: add -o FILE")
    if "-" in sources:
        raise click.UsageError("token files cannot be made from standard input: name the input files")
    check_output(output)
    known = {name: value for name, value in options.items() if value is not None}
    for name in ("bos", "eos"):
        if name in known and tok.token_to_id(known[name]) is None and known[name].isdecimal():
            known[name] = int(known[name])
    paths, progress = [place_of(source) for source in sources], False if quiet else None
    from subwords.sinks.manifest import manifest_path

    made: Manifest | None
    if run is not None:
        known.pop("threads", None)
    made = tok.encode_files(paths, output, reading=reading_from(known), run=run, progress=progress, **known)
    if made is None:  # other ranks have shards to do
        print_waiting(run, as_json, quiet)
        return
    found = made.contents
    left = {name: getattr(found, name) for name in ("skipped", "replaced", "cut") if getattr(found, name)}
    values = {
        "documents": sum(shard.documents for shard in made.shards),
        "total": sum(shard.tokens for shard in made.shards),
        **left,
        "format": f"{found.format}, {found.dtype}",
        "files": len(made.shards),
        "saved": str(manifest_path(output) if len(made.shards) > 1 else output.parent / made.shards[0].files[0].name),
    }
    if as_json or not quiet:
        print_values(values, as_json)
