"""encode: text to ids."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from subwords.cli.arguments import PLACE, SOURCE, check_file, choice, input_of, tokenizer_argument
from subwords.cli.console import (
    check_output,
    given,
    json_option,
    load_tokenizer,
    open_output,
    print_values,
    quiet_option,
    shown,
    utf8,
)
from subwords.cli.ids import array_output, line_batches, offsets_output
from subwords.errors import InputError
from subwords.render.terminal import colored, uses_color

if TYPE_CHECKING:
    from subwords.components.vocab import Vocab
    from subwords.results.token_batch import TokenBatch
    from subwords.tokenizer import Tokenizer

__all__ = ["encode"]


@click.command()
@tokenizer_argument
@click.argument("file", metavar="[FILE]", type=SOURCE, default="-")
@click.option("--text", "texts", type=utf8, multiple=True, metavar="TEXT", help="Encode this text. May be repeated.")
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
    default=10.0,
    show_default=True,
    help="With --draw: small values favour the best segmentation, inf draws all equally.",
)
@click.option("--seed", type=click.IntRange(min=0), help="With --draw or --method: seed for reproducible results.")
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
@quiet_option
@json_option
@click.pass_context
def encode(
    context: click.Context,
    /,
    tokenizer: str,
    file: str,
    texts: tuple[str, ...],
    lines: bool,
    output: Path | None,
    form: str | None,
    offsets: Path | None,
    errors: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Turn text into ids, separated by spaces, one line per text.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. FILE is the text,
    also as .gz, .zst or .bz2. Without FILE, or with "-", text comes from standard input. The whole input is one text;
    with --lines each line is one text, processed a batch at a time. npy and bin hold the ids of all texts joined; with
    several texts, --offsets stores where each begins. An npy for standard output or a pipe is written only after the
    last id is known.

    "subwords tokens" writes the token files of a corpus, and counts its tokens.

    \b
    Example:
      subwords encode tok.json --text "a text"
      subwords encode tok.json corpus.txt -o ids.npy
      subwords encode tok.json corpus.txt --lines -o ids.npy --offsets offsets.npy
    """
    form = form or {".npy": "npy", ".bin": "bin"}.get(output.suffix if output else "", "text")
    job = _Job(output, form, offsets, several=lines or len(texts) > 1, **options)
    _check_usage(context, job, bool(texts), file != "-" or lines)
    check_file([file], "text", "--text")
    tok = load_tokenizer(tokenizer)
    _check_tokenizer(job, tok, tokenizer)
    check_output(output)
    check_output(offsets)
    with _batches(file, texts, lines) as batches:
        checked = _utf8(batches, "standard input" if file == "-" else file, errors)
        values = _print_nbest(tok, checked, job) if job.nbest and not job.draw else _write_ids(tok, checked, job)
    if job.as_json:
        print_values(values, job.as_json)


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
    as_json: bool


@dataclass(frozen=True)
class _Job(_Options):
    """What to encode and where to write it."""

    output: Path | None
    form: str
    offsets: Path | None
    several: bool


def _check_usage(context: click.Context, job: _Job, texts: bool, file_options: bool) -> None:
    if texts and file_options:
        raise click.UsageError("--text cannot be combined with FILE or --lines")
    if job.form == "text" and (job.dtype or job.offsets):
        raise click.UsageError(f"{'--dtype' if job.dtype else '--offsets'} is for --format npy or bin")
    if job.color and (job.form != "text" or job.as_json or job.output or job.nbest):
        raise click.UsageError("--color shows tokens on the terminal: leave out -o, --format, --json and --nbest")
    if job.form != "text" and (job.as_tokens or (job.as_json and job.output is None)):
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


def _check_tokenizer(job: _Job, tok: Tokenizer, path: str) -> None:
    from subwords.families import family_of

    if job.dtype == "uint16" and tok.vocab_size > 1 << 16:
        raise InputError(f"--dtype uint16 holds 65536 ids; {path} has {tok.vocab_size} tokens: use uint32")
    family = family_of(tok.model)
    if (job.draw or job.nbest) and family.name != "unigram":
        option = "--draw" if job.draw else "--nbest"
        raise InputError(f"{option} needs a Unigram model; {path} holds {family.model_class}")


@contextmanager
def _batches(file: str, texts: tuple[str, ...], lines: bool) -> Iterator[Iterable[list[bytes]]]:
    """Yield the texts to encode, in batches."""
    if texts:
        yield [[text.encode() for text in texts]]
        return
    from subwords.corpus.files import open_text

    with open_text(*input_of(file, "text", "--text")) as stream:
        yield line_batches(stream) if lines else [[stream.read()]]


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
                    place = f"byte 0x{text[error.start]:02x} at byte {error.start} of text {i}"
                    raise InputError(
                        f'{name}: expected UTF-8, got {place}; errors="replace" reads it as U+FFFD'
                    ) from None
                if errors == "replace":
                    kept.append(text.decode(errors="replace").encode())
            else:
                kept.append(text)
        first += len(texts)
        yield kept


def _encoded(tok: Tokenizer, batches: Iterable[list[bytes]], job: _Job) -> Iterator[TokenBatch]:
    from subwords.results.token_batch import TokenBatch

    if job.method:
        from subwords.adapt.encodings import encode_with

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


def _write_ids(tok: Tokenizer, batches: Iterable[list[bytes]], job: _Job) -> dict[str, object]:
    """Write the ids of all texts, batch by batch; return the summary to print."""
    import numpy as np

    vocab = tok.model.vocab if job.as_tokens or job.color else None
    color = job.color and uses_color(sys.stdout, os.environ)
    texts, total = 0, 0

    def counted() -> Iterator[TokenBatch]:
        nonlocal texts, total
        for batch in _encoded(tok, batches, job):
            texts, total = texts + len(batch), total + len(batch.ids)
            yield batch

    found: dict[str, object] = {}
    if job.as_json and job.output is None:
        ids = [row for batch in counted() for row in batch.to_lists()]
        found["ids"] = ids
        if vocab is not None:
            found["tokens"] = [[vocab[i].decode("utf-8", "replace") for i in row] for row in ids]
    elif job.form == "text":
        names = _Names(vocab)
        with open_output(job.output) as stream:
            for batch in counted():
                _write_lines(stream, batch, names, vocab if color else None)
    else:
        with array_output(job.output, job.form, job.dtype or "uint32") as write, offsets_output(job.offsets) as lengths:
            for batch in counted():
                write(batch.ids)
                lengths(np.diff(batch.offsets))
    if not found:
        found["saved"] = str(job.output)
    return {"texts": texts, "total": total, **found}


class _Names(dict[int, str]):
    """Maps an id to its text on output: its number, or its token if there is a vocabulary."""

    def __init__(self, vocab: Vocab | None) -> None:
        super().__init__()
        self._vocab = vocab

    def __missing__(self, index: int) -> str:
        self[index] = str(index) if self._vocab is None else shown(self._vocab[index])
        return self[index]


def _write_lines(stream: IO[bytes], batch: TokenBatch, names: _Names, to_color: Vocab | None) -> None:
    for ids in batch:
        if to_color is None:
            line = " ".join(map(names.__getitem__, ids.tolist()))
        else:
            line = colored((to_color[i].decode("utf-8", "surrogateescape") for i in ids.tolist()), color=True)
        stream.write(line.encode() + b"\n")


def _print_nbest(tok: Tokenizer, batches: Iterable[list[bytes]], job: _Job) -> dict[str, object]:
    assert job.nbest is not None
    vocab = tok.model.vocab if job.as_tokens else None
    ways = (tok.nbest(text.decode(), job.nbest) for texts in batches for text in texts)
    if job.as_json and job.output is None:
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
