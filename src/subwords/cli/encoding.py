"""encode and decode: a text to ids, and ids to text."""

from __future__ import annotations

import io
import os
import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
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
    given,
    input_of,
    load_tokenizer,
    open_output,
    opt,
    print_saved,
    print_token,
    tokenizer_argument,
    utf8_argument,
    wants_json,
)
from subwords.machine import TextStream
from subwords.support.errors import InputError
from subwords.support.render import colored, uses_color

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from subwords import Tokenizer
    from subwords.machine import Vocab


# ---------------------------------------------------------------------------------------------------------------------
# Texts as lines, and ids as people and programs write them.

NPY = b"\x93NUMPY"

_BATCH = 1 << 22  # bytes of text in memory at once
_LIST = re.compile(r"\s*(?:[A-Za-z][\w.]*\(\s*)?[\[(](?P<ids>[^\[\]()]*)[\])](?:,[^()]*)?\)?[\s,]*")
_PIECE = re.compile(r"[^\s,]+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")


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


def parse_ids(data: bytes, dtype: str | None, name: str) -> NDArray[np.integer[Any]] | list[int]:
    """Return ids from raw bytes, a NumPy file, or integers as people write and programs print them."""
    import numpy as np

    try:
        if dtype:
            return np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        if data.startswith(NPY):
            loaded: NDArray[np.integer[Any]] = np.load(io.BytesIO(data), allow_pickle=False)
            return loaded
    except Exception as error:  # NumPy evaluates a header as Python does: a hostile one raises anything
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
                f"{name}: expected ids as integers, with spaces, line ends or commas between, not {piece[:40]!r} "
                f"(number {len(ids) + 1}, line {line}, column {column}){hint}"
            )
        ids.append(int(piece))
    return ids


def _offsets(path: Path, total: int) -> list[int]:
    """Return the offsets of texts in `total` ids; InputError if the file does not hold valid offsets."""
    from subwords.tokens.formats import mapped_npy

    found: list[int] = mapped_npy(path).tolist()
    if not found or found[0] != 0 or found[-1] != total or any(stop < start for start, stop in pairwise(found)):
        ends = f"they go from {found[0]} to {found[-1]}" if found else "there are none"
        expected = f"{path}: expected offsets of texts, ascending from 0 to {total}"
        raise InputError(f"{expected}; {ends}: do they belong to another file?")
    return found


# ---------------------------------------------------------------------------------------------------------------------
# encode: a text to ids.

_TOKEN_FILES = 'token files are written by "subwords tokens TOKENIZER FILE -o ids.npy", with --documents line for lines'


def _moved(context: click.Context, option: click.Parameter, value: object) -> None:
    if value is not None:
        raise click.UsageError(f"{max(option.opts, key=len)} is not an option of encode: {_TOKEN_FILES}")


@dataclass(frozen=True, kw_only=True)
class _Job:
    """How a text is encoded, and where the ids go."""

    output: Path | None
    special: Any
    draw: bool
    temperature: float
    seed: int | None
    method: Any
    p: float | None
    nbest: int | None
    as_tokens: bool
    color: bool

    @property
    def in_parts(self) -> bool:
        """Whether the ids of a text can be written before all of it is read."""
        return not (self.draw or self.method or self.nbest or self.color or (wants_json() and self.output is None))

    def check(self, context: click.Context) -> None:
        """Raise UsageError for options that do not go together."""
        if self.output is not None and self.output.suffix in (".npy", ".bin"):
            raise click.UsageError(f"-o {self.output.name}: encode writes text; {_TOKEN_FILES}")
        if self.color and (wants_json() or self.output or self.nbest):
            raise click.UsageError("--color shows tokens on the terminal: leave out -o, --json and --nbest")
        if self.method and (self.draw or self.nbest or self.special != "text"):
            raise click.UsageError("--method reads ordinary text: leave out --draw, --nbest and --special")
        for name, has in (("temperature", self.draw), ("seed", self.draw or self.method), ("p", self.method)):
            if given(context, name) and not has:
                raise click.UsageError(f"--{name} is for --{'method' if name == 'p' else 'draw'}")
        if (self.draw or self.nbest) and self.special != "text":
            raise click.UsageError(f"--{'draw' if self.draw else 'nbest'} reads ordinary text: leave out --special")


@click.command()
@tokenizer_argument
@click.argument("files", metavar="[FILE]", type=SOURCE, nargs=-1)
@opt("--text TEXT...", "Encode this text. May be repeated.", utf8_argument, "texts")
@opt("--lines", "Each line is one text, without its line feed.")
@opt(
    "--special",
    "Special tokens spelled in the text: ordinary text, an error, or their ids.",
    choice(["text", "error", "allow"]),
    default="text",
)
@opt("--draw", "Unigram: draw a segmentation at random, likelier ones more often.")
@opt(
    "--temperature X",
    "With --draw: small values favour the best segmentation, inf draws all equally.",
    click.FloatRange(min=0, min_open=True),
    default=10.0,
)
@opt("--seed N", "With --draw or --method: seed for reproducible results.", click.IntRange(min=0))
@opt(
    "--method",
    "Cut words in another way: fewest tokens, longest match, or at random. In plain Python, below 1 MB/s.",
    choice(["bpe-dropout", "fewest", "longest", "maxmatch-dropout", "uniform"]),
)
@opt("--p P", "With a dropout method: how often a match is skipped [0.1].", click.FloatRange(0, 1))
@opt(
    "--nbest N",
    "Unigram: print the N best segmentations, one per line with its score; with --draw, draw from these.",
    click.IntRange(1, 1024),
)
@opt("--tokens", "Print tokens instead of ids; spaces show as U+2423.", name="as_tokens")
@opt("--color", "Like --tokens, on colored backgrounds if this is a terminal and NO_COLOR is not set.")
@opt("-o, --output OUT", "The file to write.  [default: standard output]", PLACE)
@opt(
    "--errors",
    "Text that is not UTF-8: stop, read it as U+FFFD, or skip it.",
    choice(["strict", "replace", "skip"]),
    default="strict",
)
@opt("--format X", "", str, hidden=True, expose_value=False, callback=_moved)
@opt("--dtype X", "", str, hidden=True, expose_value=False, callback=_moved)
@opt("--offsets X", "", str, hidden=True, expose_value=False, callback=_moved)
@common_options
@click.pass_context
def encode(
    context: click.Context,
    /,
    tokenizer: str,
    files: tuple[str, ...],
    texts: tuple[str, ...],
    lines: bool,
    errors: str,
    **options: Any,
) -> None:
    """Turn a text into a line of ids; with --lines, each line of it.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. FILE is the text,
    also as .gz, .zst or .bz2. Without FILE, or with "-", text comes from standard input. The whole input is one text;
    with --lines each line is one text, processed a batch at a time. Ids are separated by spaces.

    "subwords tokens" writes files of ids, such as NumPy's, and counts tokens.

    \b
    Example:
      subwords encode tok.json --text "a text"
      subwords encode tok.json corpus.txt --lines -o ids.txt
    """
    job = _Job(**options)
    if texts and (files not in ((), ("-",)) or lines):
        raise click.UsageError("--text cannot be combined with FILE or --lines")
    job.check(context)
    file = _one_text(files)
    tok = load_tokenizer(tokenizer)
    _check_tokenizer(job, tok, tokenizer)
    check_output(job.output)
    name, arrives = "standard input" if file == "-" else file, job.in_parts and not lines and errors != "skip"
    with _batches(file, texts, lines, arrives) as (batches, parts):
        checked = _utf8(batches, name, errors)
        if parts is not None:
            values = _write_parts(tok, _characters(parts, name, errors), job)
        elif job.nbest and not job.draw:
            values = _print_nbest(tok, checked, job)
        else:
            values = _write_ids(tok, checked, job)
    if wants_json() or job.output is not None:
        print_saved(values)


def _one_text(files: Sequence[str]) -> str:
    """Return the file of a text; InputError for several, which are the words of a text without --text, or a corpus."""
    check_file(files, "text", "--text")
    if len(files) > 1 or (files and Path(files[0]).is_dir()):
        what = "several files" if len(files) > 1 else f"the folder {files[0]!r:.300}"
        raise InputError(f'expected one text, not {what}: "subwords tokens" encodes a corpus to a token file')
    return files[0] if files else "-"


def _check_tokenizer(job: _Job, tok: Tokenizer, path: str) -> None:
    if not (job.draw or job.nbest):
        return
    from subwords.machine import family_of

    if (family := family_of(tok.model)).name != "unigram":
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
    from subwords.machine import open_text

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


def _rows(tok: Tokenizer, batches: Iterable[list[bytes]], job: _Job) -> Iterator[list[int]]:
    """Yield the ids of each text."""
    if job.method:
        from subwords.sampling import encode_with

        how: dict[str, Any] = {"method": job.method, "p": job.p, "seed": job.seed}
        drawn = "dropout" in job.method or job.method == "uniform"
        for number, text in enumerate(text for texts in batches for text in texts):
            # The draw depends on the number of the text, not on how texts are batched.
            yield encode_with(tok, text.decode(), **how, document=number if drawn else None)
    elif job.draw:
        import numpy as np

        how = {"temperature": job.temperature, "nbest": job.nbest or -1, "seed": np.random.default_rng(job.seed)}
        yield from (tok.sample(text.decode(), **how) for texts in batches for text in texts)
    else:
        for texts in batches:  # a short text alone may need no NumPy
            if len(texts) == 1:
                yield tok.encode(texts[0].decode(), special=job.special)
            else:
                yield from tok.encode_batch(texts, special=job.special).to_lists()


def _write_ids(tok: Tokenizer, batches: Iterable[list[bytes]], job: _Job) -> dict[str, object]:
    """Write the ids of all texts, batch by batch; return the summary to print."""
    vocab = tok.model.vocab if job.as_tokens or job.color else None
    rows = _rows(tok, batches, job)
    if wants_json() and job.output is None:
        ids = [*rows]
        found: dict[str, object] = {"texts": len(ids), "total": sum(map(len, ids)), "ids": ids}
        if vocab is not None:
            found["tokens"] = [[vocab[i].decode("utf-8", "replace") for i in row] for row in ids]
        return found
    names, color = _Names(vocab), vocab if job.color and uses_color(sys.stdout, os.environ) else None
    texts = total = 0
    with open_output(job.output) as stream:
        for row in rows:
            texts, total = texts + 1, total + len(row)
            stream.write(_line(row, names, color).encode() + b"\n")
    return {"texts": texts, "total": total, "saved": str(job.output)}


def _write_parts(tok: Tokenizer, parts: Iterable[str], job: _Job) -> dict[str, object]:
    """Write the ids of one text while it is read, in bounded memory where it may be cut; return the summary."""
    stream, total, names = tok.encode_stream(special=job.special), 0, _Names(tok.model.vocab if job.as_tokens else None)
    with open_output(job.output) as out:
        for part in chain(parts, [None]):
            ids = (stream.finish() if part is None else stream.feed(part)).tolist()
            out.write(b" " * bool(total and ids) + _line(ids, names, None).encode())
            total += len(ids)
        out.write(b"\n")
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


def _print_nbest(tok: Tokenizer, batches: Iterable[list[bytes]], job: _Job) -> dict[str, object]:
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
@opt("--ids IDS", 'Decode these ids: "1 2 3", "1,2,3" or "[1, 2, 3]".', name="given")
@opt("--lines", "Each line of ids is one text and becomes one line.")
@opt("--dtype", "FILE holds raw little-endian ids of this type.", choice(["uint16", "uint32"]))
@opt(
    "--offsets FILE",
    'Start of each text in a NumPy file or raw ids, as "subwords tokens" writes it; each text becomes one line.',
    INPUT,
)
@opt("-o, --output OUT", "The file to write.  [default: standard output]", INPUT)
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
                    stream.write(text.removesuffix(b"\n") + b"\n" if offsets else text + b"\n" * lines)
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
    from subwords.machine import open_text

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
    for start, stop in pairwise(_offsets(offsets, len(ids))):
        yield tok.decode_bytes(ids[start:stop])
