"""tokens: a corpus of any size to the files that training programs read, or to the number of its tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from subwords.cli.console import (
    INPUT,
    PLACE,
    SOURCE,
    check_file,
    check_output,
    choice,
    common_options,
    is_quiet,
    load_tokenizer,
    opt,
    print_rows,
    print_summary,
    print_values,
    source_argument,
    standard_input,
    text_of,
    tokenizer_argument,
    utf8_argument,
    wants_json,
)
from subwords.cli.options import (
    AT_LEAST_1,
    command,
    print_waiting,
    reading_from,
    reading_options,
    run_from,
    run_options,
    threads_option,
)
from subwords.support.files import place_of

if TYPE_CHECKING:
    from subwords import Reading, Tokenizer
    from subwords.machine import Block
    from subwords.tokens.manifest import Manifest


BLOCK = 1 << 22  # bytes
SHORT_FILE = 1 << 20  # bytes


@command()
@tokenizer_argument
@click.argument("sources", type=SOURCE, metavar="SOURCE...", nargs=-1)
@opt(
    "-o, --output OUT", "The file to write; a manifest is written beside it.  [default: the tokens are counted]", PLACE
)
@opt(
    "--count", "Print the number of tokens of each file, and of all; without it and -o, only that of all.", name="each"
)
@opt(
    "--max N",
    "Exit with 1 if there are more than N tokens in all; with --count, in any file.",
    click.IntRange(min=0),
    "most",
)
@opt(
    "--format",
    "A NumPy file, raw little-endian ids, or a token file of a training program.  [default: by OUT's suffix]",
    choice(["npy", "bin", "megatron", "parquet", "datatrove", "llmc"]),
)
@opt("--dtype", "[default: the smallest that holds the vocabulary]", choice(["uint16", "uint32", "int32"]))
@opt(
    "--special",
    "Special tokens spelled in the text: ordinary text, an error, or their ids.  [default: text]",
    choice(["text", "error", "allow"]),
)
@opt("--bos TOKEN|ID", "Put this before each document.", utf8_argument)
@opt("--eos TOKEN|ID", "Put this after each document.", utf8_argument)
@opt("--shard-size N", "Write several files; each ends with the document that brings it to N ids.", AT_LEAST_1)
@opt("--shuffle SEED", "Shuffle the documents of each file.", click.IntRange(min=0))
@opt("--chat", "Rows are conversations: write their ids by the chat template, and masks of replies.")
@opt("--template FILE", "--chat: a Jinja file instead of TOKENIZER's template.", INPUT)
@opt("--mask-start", "--chat: where masks begin.  [default: reply]", choice(["reply", "turn"]))
@opt("--mask-end", "--chat: where masks end.  [default: token]", choice(["token", "line"]))
@opt(
    "--pack N",
    "--chat: put whole conversations into rows of N ids; where they are is in a file of segments.",
    AT_LEAST_1,
)
@reading_options
@run_options
@threads_option
@common_options
def tokens(
    tokenizer: str,
    sources: tuple[str, ...],
    output: Path | None,
    each: bool,
    most: int | None,
    chat: bool,
    template: Path | None,
    mask_start: str | None,
    mask_end: str | None,
    threads: int | None,
    **options: Any,
) -> None:
    """Turn a corpus into token files, or without -o print the number of its tokens.

    SOURCE is a file, text, JSON Lines (both also .gz, .zst or .bz2), Parquet or Arrow, a folder of such files, or a
    quoted glob. SOURCE and OUT may be URLs, such as s3://bucket/corpus. To count, text also comes from standard input:
    without SOURCE, or with "-". Exit code 1: there are more tokens than --max allows.

    With --chat, each row of SOURCE has a conversation in the field messages (--text-column names another), and tools
    and documents if it needs them. OUT.mask holds 1 for each id that the assistant writes.

    \b
    Example:
      subwords tokens tok.json corpus/ --format megatron --eos "<|endoftext|>" -o corpus.bin
      subwords tokens tok.json prompt.txt --max 4000
      subwords tokens tok.json "corpus/*.txt" --count
      subwords tokens tok.json chats.jsonl --chat --pack 4096 -o chats.npy
    """
    run, reading = run_from(options, threads), reading_from(options)
    given = {name: value for name, value in options.items() if value is not None}
    of_chat = {"template": template and text_of(template, "a template"), "start": mask_start, "end": mask_end}
    if chat:
        given["chat"] = {name: value for name, value in of_chat.items() if value is not None}
    elif "pack" in given or any(value is not None for value in of_chat.values()):
        raise click.UsageError("--template, --mask-start, --mask-end and --pack are for conversations: add --chat")
    if output is None and (given or run is not None):
        raise click.UsageError("token files need a name: add -o FILE; to count, leave out their options and workers")
    if output is not None and (each or most is not None):
        raise click.UsageError(f"{'--count' if each else '--max'} writes no file: leave out -o")
    check_file(sources, "text")
    if output is None:
        _print_counts(load_tokenizer(tokenizer), sources, reading, threads, each, most)
        return
    if not sources or "-" in sources:
        raise click.UsageError("token files are made of files: name them instead of standard input")
    check_output(output)
    tok = load_tokenizer(tokenizer)
    for name in ("bos", "eos"):
        if name in given and tok.token_to_id(given[name]) is None and given[name].isdecimal():
            given[name] = int(given[name])
    how: dict[str, Any] = {"threads": threads if run is None else None, "progress": False if is_quiet() else None}
    made = tok.encode_files([place_of(source) for source in sources], output, reading=reading, run=run, **how, **given)
    if made is None:  # other ranks have shards to do
        print_waiting(run)
    else:
        print_summary(_summary(made, output))


def _summary(made: Manifest, output: Path) -> dict[str, object]:
    from subwords.tokens.manifest import manifest_path

    found = made.contents
    names = "skipped", "replaced", "cut", "conversations", "split", "padding"
    left = {name: getattr(found, name) for name in names if getattr(found, name)}
    return {
        "documents": sum(shard.documents for shard in made.shards),
        "total": sum(shard.tokens for shard in made.shards),
        **left,
        "format": f"{found.format}, {found.dtype}",
        "files": len(made.shards),
        "saved": str(manifest_path(output) if len(made.shards) > 1 else output.parent / made.shards[0].files[0].name),
    }


def _print_counts(
    tok: Tokenizer, sources: Sequence[str], reading: Reading | None, threads: int | None, each: bool, most: int | None
) -> None:
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for source in sources or ("-",):
        if reading is None and (text := _short_text(source)):
            rows.append({"file": source, "documents": 1, "bytes": len(text.encode()), "tokens": tok.count_tokens(text)})
        else:
            rows += _counts(tok, source, reading, threads)
    keys = ("tokens", "bytes", "documents")
    total = {key: sum(row[key] for row in rows) for key in keys}
    if wants_json():
        print_values({"files": rows, **total, "seconds": round(time.perf_counter() - started, 3)})
    elif each:
        shown = [*rows, *([{"file": "total", **total}] if len(rows) > 1 else [])]
        print_rows([*keys, "file"], [[*(str(row[key]) for key in keys), row["file"]] for row in shown])
    else:
        click.echo(total["tokens"])
    if most is None:
        return
    all_of = rows if each or len(rows) == 1 else [{"file": f"{len(rows)} files", **total}]
    long = [row for row in all_of if row["tokens"] > most]
    for row in long:
        more = row["tokens"] - most
        click.echo(
            f"subwords: error: {row['file']}: {row['tokens']} tokens are {more} more than --max {most}", err=True
        )
    if long:
        click.get_current_context().exit(1)


def _counts(tok: Tokenizer, source: str, reading: Reading | None, threads: int | None) -> Iterator[dict[str, Any]]:
    """The row of each file of a source."""
    from subwords.machine import encode_documents, engine_of, reading_of

    for name, blocks in _files(source, reading_of(reading)):
        size = documents = number = 0

        def measured(blocks: Iterator[Block] = blocks) -> Iterator[Block]:
            nonlocal size
            for block in blocks:
                size += len(block.data)
                yield block

        for found in encode_documents(engine_of(tok), measured(), threads=threads):
            documents, number = documents + len(found.ends), number + len(found.ids)
        yield {"file": name, "documents": documents, "bytes": size, "tokens": number}


def _short_text(source: str) -> str:
    """Return the text of a short .txt file, "" for any other source. It is counted without importing NumPy."""
    path = Path(source)
    if path.suffix != ".txt" or not path.is_file() or path.stat().st_size > SHORT_FILE:
        return ""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):  # reading it as a corpus says what is wrong, and where
        return ""
    return "" if text.startswith("\ufeff") else text


def _files(source: str, reading: Reading) -> Iterator[tuple[str, Iterator[Block]]]:
    from subwords.machine import files_and_texts, read_blocks

    if source == "-":
        yield "standard input", read_blocks(standard_input(), reading, block_size=BLOCK)
        return
    for path in files_and_texts(source_argument([source]))[0]:
        yield str(path), read_blocks(path, reading, block_size=BLOCK)
