"""decode: ids to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from subwords.cli.arguments import INPUT, check_file, choice, input_of, tokenizer_argument
from subwords.cli.console import check_output, json_option, load_tokenizer, open_output, print_values, quiet_only
from subwords.cli.ids import NPY, line_batches, parse_ids, read_offsets
from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.tokenizer import Tokenizer

__all__ = ["decode"]


@click.command()
@tokenizer_argument
@click.argument("file", default="-")
@click.option("--ids", "given", metavar="IDS", help='Decode these ids: "1 2 3", "1,2,3" or "[1, 2, 3]".')
@click.option("--lines", is_flag=True, help="Each line of ids is one text and becomes one line.")
@click.option("--dtype", type=choice(["uint16", "uint32"]), help="FILE holds raw little-endian ids of this type.")
@click.option(
    "--offsets",
    type=INPUT,
    metavar="FILE",
    help="Start of each text in a NumPy file or raw ids, as written by encode; each text becomes one line.",
)
@click.option(
    "-o",
    "--output",
    type=INPUT,
    metavar="OUT",
    help="The file to write.  [default: standard output]",
)
@quiet_only
@json_option
def decode(
    tokenizer: str,
    file: str,
    given: str | None,
    lines: bool,
    dtype: str | None,
    offsets: Path | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Turn ids into text, byte for byte.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. FILE holds ids as
    text, "1 2 3", "1,2,3" or "[1, 2, 3]", or is a NumPy file, also as .gz or .zst. Without FILE, or with "-", ids come
    from standard input.

    \b
    Example:
      subwords decode tok.json --ids "64 220 256"
      subwords decode tok.json ids.npy -o text.txt
      subwords decode tok.json ids.npy --offsets offsets.npy -o lines.txt
    """
    if given is not None and (file != "-" or dtype or offsets):
        raise click.UsageError("--ids cannot be combined with FILE, --dtype or --offsets")
    if lines and (dtype or offsets):
        raise click.UsageError("--lines is for ids as text; use --offsets for NumPy files and raw ids")
    check_file([file], "ids", "--ids")
    tok = load_tokenizer(tokenizer)
    check_output(output)
    texts, size, kept = 0, 0, list[str]()
    with _decoded(tok, file, given, lines, dtype, offsets) as decoded:
        if as_json and output is None:
            for text in decoded:
                texts, size = texts + 1, size + len(text)
                kept.append(text.decode("utf-8", "replace"))
        else:
            with open_output(output) as stream:
                for text in decoded:
                    texts, size = texts + 1, size + len(text)
                    stream.write(text + b"\n" if lines or offsets else text)
    result = {"text": kept} if output is None else {"saved": str(output)}
    if as_json:
        print_values({"texts": texts, "bytes": size, **result}, as_json)


@contextmanager
def _decoded(
    tok: Tokenizer, file: str, given: str | None, lines: bool, dtype: str | None, offsets: Path | None
) -> Iterator[Iterable[bytes]]:
    """Yield the texts in order."""
    if given is not None:
        rows = given.encode("utf-8", "replace")
        yield (tok.decode_bytes(parse_ids(row, None, "--ids")) for row in (rows.splitlines() if lines else [rows]))
        return
    from subwords.corpus.files import open_text

    source, name = input_of(file, "ids", "--ids")
    with open_text(source, name, expected="bytes" if dtype else "ids") as stream:
        if lines:
            yield (tok.decode_bytes(parse_ids(row, None, name)) for rows in line_batches(stream) for row in rows)
        else:
            yield _arrays(tok, stream.read(), name, dtype, offsets)


def _arrays(tok: Tokenizer, data: bytes, name: str, dtype: str | None, offsets: Path | None) -> Iterator[bytes]:
    is_npy = data.startswith(NPY)
    if dtype and is_npy:
        raise InputError(f"{name}: --dtype is for raw ids; a NumPy file states its type: leave out --dtype")
    if offsets and not (dtype or is_npy):
        raise InputError(f"{name}: --offsets is for NumPy files and raw ids (--dtype); use --lines for lines of ids")
    ids = parse_ids(data, dtype, name)
    if offsets is None:
        yield tok.decode_bytes(ids)
        return
    for start, stop in pairwise(read_offsets(offsets, len(ids)).tolist()):
        yield tok.decode_bytes(ids[start:stop])
