"""encode and decode: text to ids and back."""

from __future__ import annotations

@main.command()
@click.argument("tokenizer", type=_PATH)
@click.argument("file", default="-")
@click.option("--text", "texts", type=Utf8(), multiple=True, help="Encode this text instead of a file. May be repeated.")
@click.option("--lines", is_flag=True, help="Every line is a text; its line feed is left out.")
@click.option(
    "--special",
    type=click.Choice(["text", "error", "allow"]),
    default="text",
    show_default=True,
    help="Special tokens spelled out are ordinary text, an error, or their ids.",
)
@click.option("--tokens", "as_tokens", is_flag=True, help="Print tokens instead of ids, a space in them as U+2423.")
@click.option("-o", "--output", "target", type=_PATH, metavar="FILE", help="Where to.  [default: standard output]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "npy", "bin"]),
    help="Ids as text, a text a line; as a NumPy file; raw, little-endian.  [default: as OUT is named, or text]",
)
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="Of npy and bin.  [default: uint32]")
@_json_option
def encode(
    tokenizer: Path,
    file: str,
    texts: tuple[str, ...],
    lines: bool,
    special: Any,
    as_tokens: bool,
    target: Path | None,
    form: str | None,
    dtype: str | None,
    as_json: bool,
) -> None:
    """Turn text into ids, separated by spaces, a line for every text.

    TOKENIZER is a tokenizer.json or a folder with one. FILE is the text, "-" or nothing standard input; all of it is one
    text, without --lines. npy and bin hold the ids of all texts one after the other.

    \b
    Example:
      subwords encode tok.json --text "a text"
      subwords encode tok.json corpus.txt --lines -o ids.npy
    """
    form = form or {".npy": "npy", ".bin": "bin"}.get(target.suffix if target else "", "text")
    if texts and (file != "-" or lines):
        raise click.UsageError("--text comes without FILE and --lines")
    if form == "text" and dtype:
        raise click.UsageError("--dtype is for --format npy and bin")
    if form != "text" and (as_tokens or (target is None and as_json)):
        raise click.UsageError(f"--format {form} holds ids alone; --tokens and --json need text, or --json a FILE for the ids")
    tok = _load(tokenizer)
    if dtype == "uint16" and tok.vocab_size > 1 << 16:
        raise InputError(f"expected at most 65536 tokens for uint16; {tokenizer} has {tok.vocab_size}: use uint32")
    if target is not None:
        check_output(target)
    batch = tok.encode_batch([text.encode() for text in texts] or _read_texts(file, lines), special=special)
    values: dict[str, object] = {"texts": len(batch), "total": len(batch.ids)}
    if target is not None or not as_json:
        with output(target) as stream:
            _write_ids(stream, tok, batch, form, dtype, as_tokens)
        values["saved"] = str(target)
    else:
        values["ids"] = batch.to_lists()
        if as_tokens:
            values["tokens"] = [[tok.model.vocab[i].decode("utf-8", "replace") for i in ids] for ids in batch]
    if as_json:
        print_json(values)


def _load(path: Path) -> Tokenizer:
    from subwords.formats import load

    return load(path)


def _read(file: str) -> bytes:
    return click.get_binary_stream("stdin").read() if file == "-" else Path(file).read_bytes()


def _read_texts(file: str, lines: bool) -> list[bytes]:
    data = _read(file)
    return data.removesuffix(b"\n").split(b"\n") if lines and data else [data][: not lines or None]


def _write_ids(
    stream: IO[bytes], tok: Tokenizer, batch: TokenBatch, form: str, dtype: str | None, as_tokens: bool
) -> None:
    import numpy as np

    if form == "text":
        name = {i: shown(tok.model.vocab[i]) if as_tokens else str(i) for i in np.unique(batch.ids).tolist()}
        for ids in batch:
            stream.write(" ".join(map(name.__getitem__, ids.tolist())).encode() + b"\n")
        return
    ids = batch.ids.astype(np.dtype(dtype or "uint32").newbyteorder("<"), copy=False)
    if form == "npy":
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(ids))
    stream.write(ids.data)


@main.command()
@click.argument("tokenizer", type=_PATH)
@click.argument("file", default="-")
@click.option("--ids", "given", metavar="IDS", help='Decode these ids instead of a file, such as "1 2 3".')
@click.option("--lines", is_flag=True, help="Every line of ids is a text and becomes a line.")
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="FILE holds raw little-endian ids of this type.")
@click.option("-o", "--output", "target", type=_PATH, metavar="FILE", help="Where to.  [default: standard output]")
@_json_option
def decode(
    tokenizer: Path,
    file: str,
    given: str | None,
    lines: bool,
    dtype: str | None,
    target: Path | None,
    as_json: bool,
) -> None:
    """Turn ids into text, byte for byte.

    TOKENIZER is a tokenizer.json or a folder with one. FILE holds ids separated by blanks, or is a NumPy file; "-" or
    nothing is standard input.

    \b
    Example:
      subwords decode tok.json --ids "64 220 256"
      subwords decode tok.json ids.npy -o text.txt
    """
    if given is not None and (file != "-" or dtype):
        raise click.UsageError("--ids comes without FILE and --dtype")
    tok = _load(tokenizer)
    if target is not None:
        check_output(target)
    data = _read(file) if given is None else given.encode("utf-8", "replace")
    name = "--ids" if given is not None else "standard input" if file == "-" else file
    rows = [_ids(row, dtype, name) for row in (data.splitlines() if lines else [data])]
    texts = [tok.decode_bytes(row) for row in rows]
    values: dict[str, object] = {"texts": len(texts), "bytes": sum(map(len, texts))}
    if target is not None or not as_json:
        with output(target) as stream:
            stream.writelines(text + b"\n" if lines else text for text in texts)
        values["saved"] = str(target)
    else:
        values["text"] = [text.decode("utf-8", "replace") for text in texts]
    if as_json:
        print_json(values)


def _ids(data: bytes, dtype: str | None, name: str) -> NDArray[np.integer[Any]] | list[int]:
    import io

    import numpy as np

    try:
        if dtype:
            return np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        if data.startswith(b"\x93NUMPY"):
            loaded: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
            return loaded
        return [int(word) for word in data.split()]
    except (ValueError, EOFError) as error:
        raise InputError(f"{name}: expected ids, as integers separated by blanks or in a NumPy file: {error}") from None
