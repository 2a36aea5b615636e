"""encode and decode: text to ids and back."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from subwords.cli.console import (
    check_output,
    json_option,
    load_tokenizer,
    open_output,
    print_values,
    shown,
    tokenizer_argument,
    utf8,
)
from subwords.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from subwords.result import TokenBatch
    from subwords.tokenizer import Tokenizer
    from subwords.vocab import Vocab

__all__ = ["decode", "encode"]

_NPY = b"\x93NUMPY"

_file_argument = click.argument("file", default="-")
_output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="The file to write.  [default: standard output]",
)


@click.command()
@tokenizer_argument
@_file_argument
@click.option("--text", "texts", type=utf8, multiple=True, metavar="TEXT", help="Encode this text. May be repeated.")
@click.option("--lines", is_flag=True, help="Every line is a text; its line feed is left out.")
@click.option(
    "--special",
    type=click.Choice(["text", "error", "allow"]),
    default="text",
    show_default=True,
    help="Special tokens spelled out in text are ordinary text, an error, or their ids.",
)
@click.option("--sample", is_flag=True, help="Unigram: draw one of the ways to write a text, likelier ones more often.")
@click.option(
    "--alpha",
    type=click.FloatRange(min=0),
    default=0.1,
    show_default=True,
    help="With --sample: 0 draws all ways alike, large values the best.",
)
@click.option("--seed", type=click.IntRange(min=0), help="With --sample: draw the same again.")
@click.option(
    "--nbest",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Unigram: the N best ways, a line each with its score; with --sample, draw from these.",
)
@click.option("--tokens", "as_tokens", is_flag=True, help="Print tokens instead of ids, a space in them as U+2423.")
@_output_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "npy", "bin"]),
    help="A line of ids for every text, a NumPy file, or raw little-endian ids.  [default: as OUT is named, or text]",
)
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="For npy and bin.  [default: uint32]")
@json_option
def encode(
    tokenizer: Path,
    file: str,
    texts: tuple[str, ...],
    lines: bool,
    special: Any,
    sample: bool,
    alpha: float,
    seed: int | None,
    nbest: int | None,
    as_tokens: bool,
    output: Path | None,
    form: str | None,
    dtype: str | None,
    as_json: bool,
) -> None:
    """Turn text into ids, separated by spaces, a line for every text.

    TOKENIZER is a tokenizer.json, a SentencePiece .model, or a folder with one. FILE is the text; without it, or for
    "-", it is standard input. All of it is one text, or with --lines each of its lines. npy and bin hold the ids of all
    texts in a row.

    \b
    Example:
      subwords encode tok.json --text "a text"
      subwords encode tok.json corpus.txt --lines -o ids.npy
    """
    form = form or {".npy": "npy", ".bin": "bin"}.get(output.suffix if output else "", "text")
    _check_encode_options(bool(texts), file != "-" or lines, form, dtype, as_tokens, as_json and output is None)
    tok = load_tokenizer(tokenizer)
    if dtype == "uint16" and tok.vocab_size > 1 << 16:
        raise InputError(f"expected at most 65536 tokens for uint16; {tokenizer} has {tok.vocab_size}: use uint32")
    check_output(output)
    data = [text.encode() for text in texts] or _read_texts(file, lines)
    if nbest and not sample:
        _check_nbest(form, special)
        _print_nbest(tok, data, nbest, as_tokens, output, as_json)
        return
    batch = _sampled(tok, data, alpha, nbest, seed, special) if sample else tok.encode_batch(data, special=special)
    vocab = tok.model.vocab
    values: dict[str, object] = {"texts": len(batch), "total": len(batch.ids)}
    if as_json and output is None:
        values["ids"] = batch.to_lists()
        if as_tokens:
            values["tokens"] = [[vocab[i].decode("utf-8", "replace") for i in ids] for ids in batch.to_lists()]
    else:
        with open_output(output) as stream:
            if form == "text":
                _write_lines(stream, batch, vocab if as_tokens else None)
            else:
                _write_binary(stream, batch, form, dtype or "uint32")
        values["saved"] = str(output)
    if as_json:
        print_values(values, as_json)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"expected text in UTF-8; byte {error.start} is none") from None


def _check_nbest(form: str, special: str) -> None:
    if form != "text" or special != "text":
        raise click.UsageError("--nbest without --sample prints text: leave out --format and --special")


def _sampled(
    tok: Tokenizer, data: list[bytes], alpha: float, nbest: int | None, seed: int | None, special: str
) -> TokenBatch:
    import numpy as np

    from subwords.result import TokenBatch

    if special != "text":
        raise click.UsageError("--sample takes all text as ordinary text: leave out --special")
    rng = np.random.default_rng(seed)
    return TokenBatch.of([tok.sample(_decoded(text), alpha=alpha, nbest=nbest or -1, seed=rng) for text in data])


def _print_nbest(
    tok: Tokenizer, data: list[bytes], n: int, as_tokens: bool, output: Path | None, as_json: bool
) -> None:
    vocab = tok.model.vocab
    found = [tok.nbest(_decoded(text), n) for text in data]
    if as_json and output is None:
        best = [[_way(ids, score, vocab if as_tokens else None) for ids, score in ways] for ways in found]
        print_values({"texts": len(found), "nbest": best}, as_json)
        return
    with open_output(output) as stream:
        for ids, score in (way for ways in found for way in ways):
            names = [shown(vocab[i]) if as_tokens else str(i) for i in ids]
            stream.write(f"{score:.4f}\t{' '.join(names)}\n".encode())


def _way(ids: list[int], score: float, vocab: Vocab | None) -> dict[str, object]:
    tokens = {} if vocab is None else {"tokens": [vocab[i].decode("utf-8", "replace") for i in ids]}
    return {"score": score, "ids": ids, **tokens}


def _check_encode_options(
    texts: bool, file_options: bool, form: str, dtype: str | None, as_tokens: bool, json_ids: bool
) -> None:
    if texts and file_options:
        raise click.UsageError("--text comes without FILE and --lines")
    if form == "text" and dtype:
        raise click.UsageError("--dtype is for --format npy or bin")
    if form != "text" and (as_tokens or json_ids):
        raise click.UsageError(f"--format {form} holds ids only: leave out --tokens, and name a file by -o for --json")


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _read_texts(file: str, lines: bool) -> list[bytes]:
    data = _read(file)
    if not lines:
        return [data]
    return data.removesuffix(b"\n").split(b"\n") if data else []


def _write_lines(stream: IO[bytes], batch: TokenBatch, vocab: Vocab | None) -> None:
    import numpy as np

    names = {i: str(i) if vocab is None else shown(vocab[i]) for i in np.unique(batch.ids).tolist()}
    for ids in batch:
        stream.write(" ".join(map(names.__getitem__, ids.tolist())).encode() + b"\n")


def _write_binary(stream: IO[bytes], batch: TokenBatch, form: str, dtype: str) -> None:
    import numpy as np

    ids = batch.ids.astype(np.dtype(dtype).newbyteorder("<"), copy=False)
    if form == "npy":  # np.save cannot write to a pipe
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(ids))
    stream.write(ids.data)


@click.command()
@tokenizer_argument
@_file_argument
@click.option("--ids", "given", metavar="IDS", help='Decode these ids, as in "1 2 3".')
@click.option("--lines", is_flag=True, help="Every line of ids is a text, and becomes a line.")
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="FILE holds raw little-endian ids of this type.")
@_output_option
@json_option
def decode(
    tokenizer: Path,
    file: str,
    given: str | None,
    lines: bool,
    dtype: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Turn ids into text, byte for byte.

    TOKENIZER is a tokenizer.json, a SentencePiece .model, or a folder with one. FILE holds ids separated by blanks, or
    is a NumPy file; without it, or for "-", they come from standard input.

    \b
    Example:
      subwords decode tok.json --ids "64 220 256"
      subwords decode tok.json ids.npy -o text.txt
    """
    if given is not None and (file != "-" or dtype):
        raise click.UsageError("--ids comes without FILE and --dtype")
    if lines and dtype:
        raise click.UsageError("--lines is for ids as text")
    tok = load_tokenizer(tokenizer)
    check_output(output)
    data = _read(file) if given is None else given.encode("utf-8", "replace")
    name = "--ids" if given is not None else "standard input" if file == "-" else file
    texts = [tok.decode_bytes(_parse_ids(row, dtype, name)) for row in (data.splitlines() if lines else [data])]
    values: dict[str, object] = {"texts": len(texts), "bytes": sum(map(len, texts))}
    if as_json and output is None:
        values["text"] = [text.decode("utf-8", "replace") for text in texts]
    else:
        with open_output(output) as stream:
            stream.writelines(text + b"\n" if lines else text for text in texts)
        values["saved"] = str(output)
    if as_json:
        print_values(values, as_json)


def _parse_ids(data: bytes, dtype: str | None, name: str) -> NDArray[np.integer[Any]] | list[int]:
    import numpy as np

    try:
        if dtype:
            return np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        if data.startswith(_NPY):
            loaded: NDArray[np.integer[Any]] = np.load(io.BytesIO(data), allow_pickle=False)
            return loaded
        return [int(word) for word in data.split()]
    except (ValueError, EOFError) as error:
        raise InputError(f"{name}: expected ids, as integers separated by blanks or in a NumPy file: {error}") from None
