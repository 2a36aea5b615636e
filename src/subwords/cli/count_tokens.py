"""count-tokens: how many ids files have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.arguments import SOURCE, standard_input, tokenizer_argument
from subwords.cli.console import json_option, load_tokenizer, print_rows, print_values, quiet_only, source_of
from subwords.cli.reading_options import reading_from, reading_options

if TYPE_CHECKING:
    from subwords.corpus.blocks import Block
    from subwords.corpus.reading import Reading

__all__ = ["count_tokens"]

BLOCK = 1 << 22  # bytes


@click.command("count-tokens")
@tokenizer_argument
@click.argument("sources", type=SOURCE, metavar="SOURCE...", nargs=-1)
@reading_options
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: one per processor]")
@quiet_only
@json_option
def count_tokens(tokenizer: str, sources: tuple[str, ...], threads: int | None, as_json: bool, **reading: Any) -> None:
    """Count the ids of each file, and of all.

    SOURCE is a file, text, JSON Lines, Parquet or Arrow, a folder of such files, or a quoted glob. Without SOURCE, or
    with "-", text comes from standard input.

    \b
    Example:
      subwords count-tokens tok.json "corpus/*.txt"
      git log | subwords count-tokens tok.json
    """
    from subwords.corpus.reading import reading_of
    from subwords.engine.documents import encode_documents

    how = reading_of(reading_from(reading))
    tok = load_tokenizer(tokenizer)
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for source in sources or ("-",):
        for name, blocks in _files(source, how):
            size = documents = tokens = 0

            def measured(blocks: Iterator[Block] = blocks) -> Iterator[Block]:
                nonlocal size
                for block in blocks:
                    size += len(block.data)
                    yield block

            for found in encode_documents(tok._engine, measured(), threads=threads):
                documents, tokens = documents + len(found.ends), tokens + len(found.ids)
            rows.append({"file": name, "documents": documents, "bytes": size, "tokens": tokens})
    keys = ("tokens", "bytes", "documents")
    total = {key: sum(row[key] for row in rows) for key in keys}
    if as_json:
        print_values({"files": rows, **total, "seconds": round(time.perf_counter() - started, 3)}, as_json)
        return
    shown = [*rows, *([{"file": "total", **total}] if len(rows) > 1 else [])]
    print_rows([*keys, "file"], [[*(str(row[key]) for key in keys), row["file"]] for row in shown])


def _files(source: str, reading: Reading) -> Iterator[tuple[str, Iterator[Block]]]:
    from subwords.corpus.read import read_blocks
    from subwords.corpus.source import files_and_texts

    if source == "-":
        yield "standard input", read_blocks(standard_input(), reading, block_size=BLOCK)
        return
    for path in files_and_texts(source_of([source]))[0]:
        yield str(path), read_blocks(path, reading, block_size=BLOCK)
