"""encode and decode: a text to ids, and ids to text."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tempfile
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from subwords.cli.console import (
    INPUT,
    PLACE,
    SOURCE,
    check_file,
    check_output,
    choice,
    common_options,
    given,
    input_of,
    load_tokenizer,
    open_output,
    print_saved,
    print_token,
    tokenizer_argument,
    utf8_argument,
    wants_json,
)
from subwords.corpus.files import TextStream
from subwords.support.errors import InputError
from subwords.support.render import colored, uses_color

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from subwords.spec.token_batch import TokenBatch
    from subwords.spec.vocab import Vocab
    from subwords.tokenizer import Tokenizer


# ---------------------------------------------------------------------------------------------------------------------
# Read and write ids: NumPy files and raw ids, in bounded memory, with the offsets of texts.

NPY = b"\x93NUMPY"

_BATCH = 1 << 22  # bytes of text in memory at once
_COPY = 1 << 20
_LIST = re.compile(r"\s*(?:[A-Za-z][\w.]*\(\s*)?[\[(](?P<ids>[^\[\]()]*)[\])](?:,[^()]*)?\)?[\s,]*")
_PIECE = re.compile(r"[^\s,]+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")

Write = Callable[["NDArray[Any]"], None]


def line_batches(stream: TextStream) -> Iterator[list[bytes]]:
    """Yield the lines of a stream without line feeds, in batches of about _BATCH bytes."""
    held: list[bytes] = []  # the chunks of an incomplete line
    buffer = bytearray(_BATCH)
    while count := stream.fill(memoryview(buffer)):
        data = bytes(memoryview(buffer)[:count])
        end = data.rfind(b"\n")
        if end < 0:
            held.append(data)
            continue
        lines = b"".join([*held, data[:end]]).split(b"\n")
        held = [data[end + 1 :]] if end + 1 < count else []
        yield lines
    if held:
        yield [b"".join(held)]


@contextmanager
def array_output(path: Path | None, form: str, dtype: str) -> Iterator[Write]:
    """Open an output for ids: one-dimensional, little-endian; ids written are not kept in memory.

    The header of an npy holds the number of ids. A file's header is rewritten at the end; standard output and pipes
    get everything at the end, from a temporary file.
    """
    with open_output(path) as stream:
        if form == "bin":
            yield lambda ids: _write_array(stream, ids, dtype)
            return
        total = 0

        def write(ids: NDArray[Any]) -> None:
            nonlocal total
            total += len(ids)
            _write_array(body, ids, dtype)

        if path is not None and stream.seekable():
            body = stream
            _write_header(stream, dtype, 0)
            yield write
            stream.seek(0)
            _write_header(stream, dtype, total)
            return
        with tempfile.TemporaryFile() as body:
            yield write
            _copy_npy(body, stream, dtype, total)


@contextmanager
def offsets_output(path: Path | None) -> Iterator[Write]:
    """Open the NumPy file of offsets (the start of each text in the ids); write it the lengths of texts.

    The file is created when the block ends, so its errors cannot be confused with those of another output.
    """
    if path is None:
        yield lambda lengths: None
        return
    import numpy as np

    with tempfile.TemporaryFile() as body:
        last, total = 0, 1
        _write_array(body, np.zeros(1, np.int64), "int64")

        def write(lengths: NDArray[Any]) -> None:
            nonlocal last, total
            ends = np.cumsum(lengths, dtype=np.int64) + last
            last, total = int(ends[-1]) if len(ends) else last, total + len(ends)
            _write_array(body, ends, "int64")

        yield write
        with open_output(path) as stream:
            _copy_npy(body, stream, "int64", total)


def _write_array(stream: IO[bytes], array: NDArray[Any], dtype: str) -> None:
    import numpy as np

    stream.write(np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<")).data)


def _write_header(stream: IO[bytes], dtype: str, total: int) -> None:
    # The header's length does not depend on the total: NumPy reserves 21 digits.
    import numpy as np

    descr = np.lib.format.dtype_to_descr(np.dtype(dtype).newbyteorder("<"))
    header = {"descr": descr, "fortran_order": False, "shape": (total,)}
    np.lib.format.write_array_header_1_0(stream, header)


def _copy_npy(body: IO[bytes], stream: IO[bytes], dtype: str, total: int) -> None:
    _write_header(stream, dtype, total)
    body.seek(0)
    shutil.copyfileobj(body, stream, _COPY)


def parse_ids(data: bytes, dtype: str | None, name: str) -> NDArray[np.integer[Any]] | list[int]:
    """Return ids from raw bytes, a NumPy file, or integers as people write and programs print them."""
    import numpy as np

    try:
        if dtype:
            return np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        if data.startswith(NPY):
            loaded: NDArray[np.integer[Any]] = np.load(io.BytesIO(data), allow_pickle=False)
            return loaded
    except (ValueError, EOFError) as error:
        what = f"ids in a NumPy file: {error}" if not dtype else f"ids of type {dtype}: {error}"
        raise InputError(f"{name}: expected {what}") from None
    try:
        return [int(word) for word in data.split()]
    except ValueError:
        return _pasted_ids(data.decode("utf-8", "backslashreplace"), name)


def _pasted_ids(text: str, name: str) -> list[int]:
    """Return ids with commas, or a list or an array as Python, JSON and NumPy print it."""
    listed = _LIST.fullmatch(text)
    start, stop = listed.span("ids") if listed else (0, len(text))
    ids: list[int] = []
    for match in _PIECE.finditer(text, start, stop):
        piece = match[0]
        if not _INTEGER.fullmatch(piece):
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            hint = ""
            if not piece.isprintable() or "\\x" in piece:
                hint = "; raw ids need --dtype uint16 or uint32"
            elif piece == "...":
                hint = "; NumPy prints a long array without its middle: save it with numpy.save"
            raise InputError(
                f"{name}: expected ids as integers, with spaces, line ends or commas between, not {piece!r:.40} "
                f"(number {len(ids) + 1}, line {line}, column {column}){hint}"
            )
        ids.append(int(piece))
    return ids


def read_offsets(path: Path, total: int) -> NDArray[np.int64]:
    """Return the offsets of texts in `total` ids; InputError if the file does not hold valid offsets."""
    import numpy as np

    expected = f"{path}: expected offsets of texts, int64, ascending from 0 to {total}"
    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{expected}, in a NumPy file: {error}") from None
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise InputError(f"{expected}; found {getattr(found, 'dtype', 'an archive')} of shape {np.shape(found)}")
    offsets = found.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
        raise InputError(f"{expected}; they go from {offsets[0]} to {offsets[-1]}: do they belong to another file?")
    return offsets


@click.command()
@tokenizer_argument
@click.argument("files", metavar="[FILE]", type=SOURCE, nargs=-1)
@click.option(
    "--text", "texts", type=utf8_argument, multiple=True, metavar="TEXT", help="Encode this text. May be repeated."
)
@click.option("--lines", is_flag=True, help="Each line is one text, without its line feed.")
@click.option(
    "--special",
    type=choice(["text", "error", "allow"]),
    default="text",
    show_default=True,
    help="Special tokens spelled in the text: ordinary text, an error, or their ids.",
)
@click.option("--draw", is_flag=True, help="Unigram: draw a segmentation at random, likelier ones more often.")
@click.option(
    "--temperature",
    type=click.FloatRange(min=0, min_open=True),
    metavar="X",
    default=10.0,
    show_default=True,
    help="With --draw: small values favour the best segmentation, inf draws all equally.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="With --draw or --method: seed for reproducible results."
)
@click.option(
    "--method",
    type=choice(["bpe-dropout", "fewest", "longest", "maxmatch-dropout", "uniform"]),
    help="Cut words in another way: fewest tokens, longest match, or at random. In plain Python, below 1 MB/s.",
)
@click.option(
    "--p", type=click.FloatRange(0, 1), metavar="P", help="With a dropout method: how often a match is skipped [0.1]."
)
@click.option(
    "--nbest",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Unigram: print the N best segmentations, one per line with its score; with --draw, draw from these.",
)
@click.option("--tokens", "as_tokens", is_flag=True, help="Print tokens instead of ids; spaces show as U+2423.")
@click.option(
    "--color", is_flag=True, help="Like --tokens, on colored backgrounds if this is a terminal and NO_COLOR is not set."
)
@click.option(
    "-o",
    "--output",
    type=PLACE,
    metavar="OUT",
    help="The file to write.  [default: standard output]",
)
@click.option(
    "--format",
    "form",
    type=choice(["text", "npy", "bin"]),
    help="One line of ids per text, a NumPy file, or raw little-endian ids.  [default: by OUT's suffix, else text]",
)
@click.option("--dtype", type=choice(["uint16", "uint32"]), help="For binary formats.  [default: uint32]")
@click.option(
    "--offsets",
    type=PLACE,
    metavar="FILE",
    help="With npy and bin: write the start of each text in the ids, and the end, as an int64 NumPy file.",
)
@click.option(
    "--errors",
    type=choice(["strict", "replace", "skip"]),
    default="strict",
    show_default=True,
    help="Text that is not UTF-8: stop, read it as U+FFFD, or skip it.",
)
@common_options
@click.pass_context
def encode(
    context: click.Context,
    /,
    tokenizer: str,
    files: tuple[str, ...],
    texts: tuple[str, ...],
    lines: bool,
    output: Path | None,
    form: str | None,
    offsets: Path | None,
    errors: str,
    **options: Any,
) -> None:
    """Turn a text into a line of ids; with --lines, each line of it.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. FILE is the text,
    also as .gz, .zst or .bz2. Without FILE, or with "-", text comes from standard input. The whole input is one text;
    with --lines each line is one text, processed a batch at a time. Ids are separated by spaces. npy and bin hold the
    ids of all texts joined; with several texts, --offsets stores where each begins. An npy for standard output or a
    pipe is written only after the last id is known.

    "subwords tokens" writes the token files of a corpus, and counts its tokens.

    \b
    Example:
      subwords encode tok.json --text "a text"
      subwords encode tok.json corpus.txt -o ids.npy
      subwords encode tok.json corpus.txt --lines -o ids.npy --offsets offsets.npy
    """
    form = form or {".npy": "npy", ".bin": "bin"}.get(output.suffix if output else "", "text")
    job = _EncodeJob(output, form, offsets, several=lines or len(texts) > 1, **options)
    _check_usage(context, job, bool(texts), files not in ((), ("-",)) or lines)
    file = _one_text(files)
    tok = load_tokenizer(tokenizer)
    _check_tokenizer(job, tok, tokenizer)
    check_output(output)
    check_output(offsets)
    name, arrives = "standard input" if file == "-" else file, job.in_parts and not lines and errors != "skip"
    with _batches(file, texts, lines, arrives) as (batches, parts):
        checked = _utf8(batches, name, errors)
        if parts is not None:
            values = _write_parts(tok, _characters(parts, name, errors), job)
        elif job.nbest and not job.draw:
            values = _print_nbest(tok, checked, job)
        else:
            values = _write_ids(tok, checked, job)
    if wants_json() or output is not None:
        print_saved(values)


def _one_text(files: Sequence[str]) -> str:
    """Return the file of a text; InputError for several, which are the words of a text without --text, or a corpus."""
    check_file(files, "text", "--text")
    if len(files) > 1 or (files and Path(files[0]).is_dir()):
        what = "several files" if len(files) > 1 else f"the folder {files[0]!r:.300}"
        raise InputError(f'expected one text, not {what}: "subwords tokens" encodes a corpus to a token file')
    return files[0] if files else "-"


@dataclass(frozen=True, kw_only=True)
class _Options:
    """The options that are used as given."""

    special: Any
    draw: bool
    temperature: float
    seed: int | None
    method: Any
    p: float | None
    nbest: int | None
    as_tokens: bool
    color: bool
    dtype: str | None


@dataclass(frozen=True)
class _EncodeJob(_Options):
    """What to encode and where to write it."""

    output: Path | None
    form: str
    offsets: Path | None
    several: bool

    @property
    def in_parts(self) -> bool:
        """Whether the ids of a text can be written before all of it is read."""
        whole = self.draw or self.method or self.nbest or self.color or (wants_json() and self.output is None)
        return not whole


def _check_usage(context: click.Context, job: _EncodeJob, texts: bool, file_options: bool) -> None:
    if texts and file_options:
        raise click.UsageError("--text cannot be combined with FILE or --lines")
    if job.form == "text" and (job.dtype or job.offsets):
        raise click.UsageError(f"{'--dtype' if job.dtype else '--offsets'} is for --format npy or bin")
    if job.color and (job.form != "text" or wants_json() or job.output or job.nbest):
        raise click.UsageError("--color shows tokens on the terminal: leave out -o, --format, --json and --nbest")
    if job.form != "text" and (job.as_tokens or (wants_json() and job.output is None)):
        raise click.UsageError(
            f"--format {job.form} holds ids only: leave out --tokens; for --json, name a file with -o"
        )
    if job.form != "text" and job.several and not job.offsets:
        raise click.UsageError(
            f"--format {job.form} holds the ids of all texts joined: add --offsets FILE to store where each text "
            "begins, or leave out --lines to encode the file as one text"
        )
    if job.offsets and job.output and job.offsets.resolve() == job.output.resolve():
        raise click.UsageError("--offsets and -o name the same file")
    if job.method and (job.draw or job.nbest or job.special != "text"):
        raise click.UsageError("--method reads ordinary text: leave out --draw, --nbest and --special")
    for name, has in (("temperature", job.draw), ("seed", job.draw or job.method), ("p", job.method)):
        if given(context, name) and not has:
            raise click.UsageError(f"--{name} is for --{'method' if name == 'p' else 'draw'}")
    if job.draw and job.special != "text":
        raise click.UsageError("--draw reads all text as ordinary text: leave out --special")
    if job.nbest and not job.draw and (job.form != "text" or job.special != "text"):
        raise click.UsageError("--nbest without --draw prints text: leave out --format and --special")


def _check_tokenizer(job: _EncodeJob, tok: Tokenizer, path: str) -> None:
    if job.dtype == "uint16" and tok.vocab_size > 1 << 16:
        raise InputError(f"--dtype uint16 holds 65536 ids; {path} has {tok.vocab_size} tokens: use uint32")
    if not (job.draw or job.nbest):
        return
    from subwords.models.families import family_of

    family = family_of(tok.model)
    if family.name != "unigram":
        option = "--draw" if job.draw else "--nbest"
        raise InputError(f"{option} needs a Unigram model; {path} holds {family.model_class}")


@contextmanager
def _batches(
    file: str, texts: tuple[str, ...], lines: bool, arrives: bool
) -> Iterator[tuple[Iterable[list[bytes]], Iterable[bytes] | None]]:
    """Yield the texts to encode, in batches; or, if `arrives`, the parts of one text of more than a batch."""
    if texts:
        yield [[text.encode() for text in texts]], None
        return
    from subwords.corpus.files import open_text

    with open_text(*input_of(file, "text", "--text")) as stream:
        if lines:
            yield line_batches(stream), None
            return
        head = stream.read(_BATCH if arrives else None)
        yield [[head]], chain([head], stream.arriving()) if arrives and len(head) == _BATCH else None


def _characters(parts: Iterable[bytes], name: str, errors: str) -> Iterator[str]:
    """Yield the text of one text's parts, as `_utf8` reads it."""
    decoder, done = getincrementaldecoder("utf-8")(errors), 0
    for part, is_last in chain(((part, False) for part in parts), [(b"", True)]):
        half = decoder.getstate()[0]
        try:
            yield decoder.decode(part, is_last)
        except UnicodeDecodeError as error:
            place = done - len(half) + error.start
            raise InputError(_not_utf8(name, (half + part)[error.start], place, 0)) from None
        done += len(part)


def _not_utf8(name: str, byte: int, place: int, number: int) -> str:
    shown = f"byte 0x{byte:02x} at byte {place} of text {number}"
    return f'{name}: expected UTF-8, got {shown}; errors="replace" reads it as U+FFFD'


def _utf8(batches: Iterable[list[bytes]], name: str, errors: str) -> Iterator[list[bytes]]:
    """Yield the batches; a text that is not UTF-8 is an InputError, or replaced or left out, as all commands do."""
    first = 0
    for texts in batches:
        kept = list[bytes]()
        for i, text in enumerate(texts, first):
            try:
                text.decode()
            except UnicodeDecodeError as error:
                if errors == "strict":
                    raise InputError(_not_utf8(name, text[error.start], error.start, i)) from None
                if errors == "replace":
                    kept.append(text.decode(errors="replace").encode())
            else:
                kept.append(text)
        first += len(texts)
        yield kept


def _encoded(tok: Tokenizer, batches: Iterable[list[bytes]], job: _EncodeJob) -> Iterator[TokenBatch]:
    from subwords.spec.token_batch import TokenBatch

    if job.method:
        from subwords.sampling import encode_with

        how: dict[str, Any] = {"method": job.method, "p": job.p, "seed": job.seed}
        drawn = "dropout" in job.method or job.method == "uniform"
        for number, text in enumerate(text for texts in batches for text in texts):
            # The draw depends on the number of the text, not on how texts are batched.
            found = encode_with(tok, text.decode(), **how, document=number if drawn else None)
            yield TokenBatch.of([found])
        return
    if not job.draw:
        for texts in batches:
            yield tok.encode_batch(texts, special=job.special)
        return
    import numpy as np

    rng, nbest = np.random.default_rng(job.seed), job.nbest or -1
    for texts in batches:
        drawn = [tok.sample(text.decode(), temperature=job.temperature, nbest=nbest, seed=rng) for text in texts]
        yield TokenBatch.of(drawn)


def _rows(tok: Tokenizer, batches: Iterable[list[bytes]], job: _EncodeJob) -> Iterator[list[int]]:
    """Yield the ids of each text."""
    if job.method or job.draw:
        for batch in _encoded(tok, batches, job):
            yield from batch.to_lists()
        return
    for texts in batches:  # a short text alone may need no NumPy
        few = len(texts) == 1
        yield from (
            [tok.encode(texts[0].decode(), special=job.special)]
            if few
            else tok.encode_batch(texts, special=job.special).to_lists()
        )


def _write_ids(tok: Tokenizer, batches: Iterable[list[bytes]], job: _EncodeJob) -> dict[str, object]:
    """Write the ids of all texts, batch by batch; return the summary to print."""
    vocab = tok.model.vocab if job.as_tokens or job.color else None
    color = job.color and uses_color(sys.stdout, os.environ)
    texts, total = 0, 0

    def rows() -> Iterator[list[int]]:
        nonlocal texts, total
        for row in _rows(tok, batches, job):
            texts, total = texts + 1, total + len(row)
            yield row

    found: dict[str, object] = {}
    if wants_json() and job.output is None:
        ids = [*rows()]
        found["ids"] = ids
        if vocab is not None:
            found["tokens"] = [[vocab[i].decode("utf-8", "replace") for i in row] for row in ids]
    elif job.form == "text":
        names = _Names(vocab)
        with open_output(job.output) as stream:
            for row in rows():
                stream.write(_line(row, names, vocab if color else None).encode() + b"\n")
    else:
        import numpy as np

        with array_output(job.output, job.form, job.dtype or "uint32") as write, offsets_output(job.offsets) as lengths:
            for batch in _encoded(tok, batches, job):
                texts, total = texts + len(batch), total + len(batch.ids)
                write(batch.ids)
                lengths(np.diff(batch.offsets))
    if not found:
        found["saved"] = str(job.output)
    return {"texts": texts, "total": total, **found}


def _write_parts(tok: Tokenizer, parts: Iterable[str], job: _EncodeJob) -> dict[str, object]:
    """Write the ids of one text while it is read, in bounded memory where it may be cut; return the summary."""
    import numpy as np

    stream, total = tok.encode_stream(special=job.special), 0
    arrays = (stream.finish() if part is None else stream.feed(part) for part in chain(parts, [None]))
    if job.form == "text":
        names = _Names(tok.model.vocab if job.as_tokens else None)
        with open_output(job.output) as out:
            for ids in arrays:
                if len(ids):
                    out.write(b" " * bool(total) + _line(ids.tolist(), names, None).encode())
                    total += len(ids)
            out.write(b"\n")
    else:
        with array_output(job.output, job.form, job.dtype or "uint32") as write, offsets_output(job.offsets) as lengths:
            for ids in arrays:
                write(ids)
                total += len(ids)
            lengths(np.array([total]))
    return {"texts": 1, "total": total, "saved": str(job.output)}


class _Names(dict[int, str]):
    """Maps an id to its text on output: its number, or its token if there is a vocabulary."""

    def __init__(self, vocab: Vocab | None) -> None:
        super().__init__()
        self._vocab = vocab

    def __missing__(self, index: int) -> str:
        self[index] = str(index) if self._vocab is None else print_token(self._vocab[index])
        return self[index]


def _line(ids: list[int], names: _Names, to_color: Vocab | None) -> str:
    if to_color is None:
        return " ".join(map(names.__getitem__, ids))
    return colored((to_color[i].decode("utf-8", "surrogateescape") for i in ids), color=True)


def _print_nbest(tok: Tokenizer, batches: Iterable[list[bytes]], job: _EncodeJob) -> dict[str, object]:
    assert job.nbest is not None
    vocab = tok.model.vocab if job.as_tokens else None
    ways = (tok.nbest(text.decode(), job.nbest) for texts in batches for text in texts)
    if wants_json() and job.output is None:
        best = [[_way(ids, score, vocab) for ids, score in found] for found in ways]
        return {"texts": len(best), "nbest": best}
    names, texts = _Names(vocab), 0
    with open_output(job.output) as stream:
        for found in ways:
            texts += 1
            for ids, score in found:
                stream.write(f"{score:.4f}\t{' '.join(map(names.__getitem__, ids))}\n".encode())
    return {"texts": texts, "saved": str(job.output)}


def _way(ids: list[int], score: float, vocab: Vocab | None) -> dict[str, object]:
    tokens = {} if vocab is None else {"tokens": [vocab[i].decode("utf-8", "replace") for i in ids]}
    return {"score": score, "ids": ids, **tokens}


# ---------------------------------------------------------------------------------------------------------------------
# decode: ids to text.


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
@common_options
def decode(
    tokenizer: str,
    file: str,
    given: str | None,
    lines: bool,
    dtype: str | None,
    offsets: Path | None,
    output: Path | None,
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
        if wants_json() and output is None:
            for text in decoded:
                texts, size = texts + 1, size + len(text)
                kept.append(text.decode("utf-8", "replace"))
        else:
            with open_output(output) as stream:
                for text in decoded:
                    texts, size = texts + 1, size + len(text)
                    stream.write(text + b"\n" if lines or offsets else text)
    result = {"text": kept} if output is None else {"saved": str(output)}
    if wants_json() or output is not None:
        print_saved({"texts": texts, "bytes": size, **result})


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
