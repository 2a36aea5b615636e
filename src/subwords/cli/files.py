"""convert, verify, inspect and lock: files of tokenizers; doctor: the installation that reads them."""

from __future__ import annotations

import json
import os
import re
import sysconfig
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from subwords import __version__
from subwords.cli.console import (
    INPUT,
    SOURCE,
    TOKENIZER,
    common_options,
    is_quiet,
    load_tokenizer,
    opt,
    print_rows,
    print_summary,
    print_token,
    print_values,
    source_argument,
    tokenizer_argument,
    unshown,
    utf8_argument,
    wants_json,
)
from subwords.cli.options import Call, command_of, sources, taken, tokenizer_at
from subwords.support.errors import InputError, SubwordsError

if TYPE_CHECKING:
    from subwords.interop.verify import Difference
    from subwords.spec.model import Model
    from subwords.tokenizer import Tokenizer


# ---------------------------------------------------------------------------------------------------------------------
# verify: whether a saved tokenizer gives the same ids in its own library.


def special_ids_of(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int] | None:
    """Return the ids of special tokens that an option gives as JSON."""
    if value is None:
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f'expected JSON as in {{"<|end|>": 50256}}, not {value!r:.80}: {error}') from None
    if not isinstance(found, dict) or any(type(index) is not int for index in found.values()):
        raise click.BadParameter(f'expected ids by token, as in {{"<|end|>": 50256}}, not {value!r:.80}')
    return found


SPECIAL_IDS = taken(
    "special_ids",
    opt(
        "--special-ids JSON",
        'For a file without special tokens, such as .tiktoken: their ids, as in {"<|end|>": 50256}.',
        utf8_argument,
        callback=special_ids_of,
    ),
)
RANK_FILES = {"splitter": "For a file without a splitter, such as .tiktoken: how it splits text into words."}
_COMPARED: dict[str, Any] = {
    "tokenizer": tokenizer_at("tokenizer", loaded=False),
    "source": sources(
        "--source CORPUS...",
        "Also compare the texts of this file, folder or quoted glob. May be repeated.",
        needed=False,
    ),
    "special_ids": SPECIAL_IDS,
    "texts": RANK_FILES,
}
_OTHER = opt(
    "--other FILE",
    "The tokenizer that it must equal, such as the file that it was converted from.  [default: TOKENIZER itself]",
    INPUT,
)


@command_of(
    "interop.verify.verify",
    opt(
        "--evidence",
        "Compare nothing: say what was compared of TOKENIZER before this release. Exit code 1: nothing, or not with "
        "these kernels.",
    ),
    **_COMPARED,
    other=taken("other", _OTHER),
)
def verify(call: Call) -> None:
    """Load a saved tokenizer with its own library and compare ids, up to the first difference.

    TOKENIZER is a folder (loaded by transformers), tokenizer.json (HF tokenizers), .model (SentencePiece), .tiktoken
    (tiktoken) or vocab.txt (HF tokenizers). A fixed list of tricky texts is always compared. Special tokens spelled in
    a text are found, except by SentencePiece, which reads them as ordinary text. Exit code 1: ids differ, or a library
    cannot load TOKENIZER.

    \b
    Example:
      subwords verify tokenizer/ --source "corpus/*.txt"
      subwords verify tok.tiktoken --other tok.json --source corpus.txt
      subwords verify tokenizer.json --evidence
    """
    if call.take("evidence"):
        _print_evidence(call.options["tokenizer"])
        return
    found = call.result()
    values = {name: getattr(found, name) for name in ("library", "special", "texts", "tokens")}
    print_values({"equal": bool(found), **values, **_difference(found.difference)})
    if not found:
        click.get_current_context().exit(1)


def _print_evidence(path: Path) -> None:
    from subwords.files import evidence

    found = evidence(path)
    print_values({"covered": bool(found), **(found.to_dict() if found.file else {})})
    if not found:
        click.get_current_context().exit(1)


def _difference(difference: Difference | None) -> dict[str, Any]:
    """Return the row of a difference, or with --json an object."""
    if not wants_json():
        return {} if difference is None else {"first difference": str(difference)}
    if difference is None:
        return {"difference": None}
    found = asdict(difference)
    for side in ("ours", "theirs"):
        found[side] = found[side] and dict(zip(("id", "token"), found[side], strict=True))
    return {"difference": found}


@command_of("interop.convert.convert", **_COMPARED, target=taken("target", click.argument("target")))
def convert(call: Call) -> None:
    """Write TOKENIZER in the format of TARGET's name, if its ids stay the same.

    TOKENIZER is any file or folder that this package loads. TARGET ends in .json, .model, .tiktoken, .gguf or .txt
    (vocab.txt), is vocab.json or merges.txt (both are written), or is a folder (that exists, or a name without a
    suffix or that ends in "/"). Before TARGET is written, a copy is loaded again and compared on a fixed list of
    tricky texts. Exit code 1: ids would change, and nothing was written.

    \b
    Example:
      subwords convert spiece.model tokenizer/
      subwords convert llama3.tiktoken tok.json --splitter llama3 --special-ids '{"<|eot_id|>": 128009}'
    """
    found = call.result()
    values = {"texts": found.texts, "tokens": found.tokens, "different": found.different}
    if wants_json():
        lost: dict[str, Any] = {"same_parts": found.same_parts, "lost": [*found.lost]}
    else:
        lost = {"not in the new file": ", ".join(found.lost) or "nothing is missing"}
    print_values({**values, **_difference(found.difference), **lost, "saved": str(found.path)})


# ---------------------------------------------------------------------------------------------------------------------
# export: a tokenizer for JavaScript.


@click.command()
@click.argument("tokenizers", type=TOKENIZER, metavar="TOKENIZER...", nargs=-1, required=True)
@opt(
    "-o, --output PATH",
    "The folder, which is made if it is missing; with --page, the file.",
    INPUT,
    default=Path("web"),
)
@opt("--page", "Write one HTML file that shows what one to four tokenizers do with a text.")
@common_options
def export(tokenizers: tuple[str, ...], output: Path, page: bool) -> None:
    """Write TOKENIZER as an ES module with WebAssembly, for browsers, workers and node.

    It gives every text the ids that it has here. Tokenizers whose splitter, normalizer or decoder needs more than
    compiled functions are refused. With --page, the file is the page of `subwords show`: it needs no server, and loads
    nothing.

    \b
    Example:
      subwords export tok.json -o web/
      subwords export gpt2.json tok.json --page -o page.html
    """
    from subwords.files import export as exported
    from subwords.files import export_page

    if page:
        saved = export_page([load_tokenizer(each) for each in tokenizers], output, names=tokenizers)
        print_summary({"bytes": saved.stat().st_size, "saved": str(saved)})
        return
    if len(tokenizers) > 1:
        raise click.UsageError("expected one TOKENIZER: only --page takes several")
    found = exported(load_tokenizer(tokenizers[0]), output)
    total = {"bytes": sum(found.sizes.values()), "compressed": sum(found.compressed.values())}
    print_summary({**total, "saved": str(output)})


# ---------------------------------------------------------------------------------------------------------------------
# inspect: show the contents of a tokenizer.


@click.command()
@tokenizer_argument
@opt("--vocab", "List ids, tokens, and the tokens' bytes in hexadecimal.")
@opt("--merges", "List the merges in order of rank.")
@opt("--token ID|TEXT", "Show one token, the merges that make it and those that use it.")
@opt("--source FILE", "Show the tokens per word of a text.", SOURCE, "sample")
@opt("--limit N", "List at most N.", click.IntRange(min=1))
@common_options
def inspect(
    tokenizer: str, vocab: bool, merges: bool, token: str | None, sample: str | None, limit: int | None
) -> None:
    """Show the contents of a tokenizer.

    TOKENIZER is a file or folder that this package loads, or a name, such as gpt-4o or org/name. A space in a token
    shows as U+2423, a byte that is not part of a character as \\xc3; --token accepts both. Digits alone are an id.

    WordPiece files do not name the score they were trained with; --source FILE reveals it: by course, English text
    takes almost three times the tokens that it takes by likelihood or by count. Words are those of "subwords study
    evaluate".

    \b
    Example:
      subwords inspect tok.json
      subwords inspect tok.json --source held_out.txt
      subwords inspect tok.json --merges --limit 20
      subwords inspect tok.json --token " the"
    """
    if vocab + merges + (token is not None) + (sample is not None) > 1:
        raise click.UsageError("expected one of --vocab, --merges, --token and --source, not several")
    if limit and not (vocab or merges or token is not None):
        raise click.UsageError("--limit needs --vocab, --merges or --token")
    tok = load_tokenizer(tokenizer)
    model = tok.model
    if vocab:
        present = islice((i for i, content in enumerate(model.vocab) if content), limit)
        columns = ("id", "token", "bytes", *([] if model.score(0) is None else ["score"]))
        _print_list("vocab", [_token(model, i) for i in present], columns, _token_row)
    elif merges:
        if model.merge_count is None:
            raise InputError("--merges needs a BPE tokenizer; this one has no merges")
        found = [_merge(model, position) for position in range(model.merge_count)[:limit]]
        _print_list("merges", found, ("rank", "left", "right", "id", "token"), _merge_row)
    elif token is not None:
        _print_token(model, find_token(tok, token), limit)
    else:
        print_values(_summary(tok) if sample is None else _use(tok, sample))


def _summary(tok: Tokenizer) -> dict[str, object]:
    from subwords.models.families import family_of

    model = tok.model
    return {
        "model": family_of(model).name,
        **model.facts(),
        "tokens": tok.vocab_size,
        "longest_token": max(map(len, model.vocab), default=0),
        "special_tokens": tok.special_tokens,
        "unk_token": None if model.unk_id is None else model.vocab[model.unk_id].decode("utf-8", "replace"),
        "normalizer": None if tok.normalizer is None else tok.normalizer.name or tok.normalizer.identity,
        "splitter": tok.splitter.name or tok.splitter.identity,
        "lossless": tok.lossless,
    }


def _use(tok: Tokenizer, sample: str) -> dict[str, object]:
    """Return how many tokens a text takes."""
    from subwords.study.evaluation import evaluate

    found = evaluate(tok, source_argument([sample]), resamples=0, progress=False)
    unk = tok.model.unk_id
    return {
        "words": found.words,
        "tokens": found.tokens,
        "tokens_per_word": None if found.tokens_per_word is None else round(found.tokens_per_word, 4),
        "unknown_tokens": 0 if unk is None else round((found.unknown or 0.0) * found.tokens),
    }


def find_token(tok: Tokenizer, wanted: str) -> int:
    """Return the id of a token as `subwords inspect --vocab` shows it, or given by its id."""
    vocab = tok.model.vocab
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 20:
        if (found := int(wanted)) < len(vocab) and vocab[found]:
            return found
        raise InputError(f"expected an id with a token, up to {len(vocab) - 1}; {found} has no token")
    content = unshown(wanted)
    index = vocab.ids.get(content) if content else None
    if index is None:
        raise InputError(f"token {print_token(content)!r} is not in the vocabulary; subwords inspect --vocab lists all")
    return index


def _token(model: Model, index: int) -> dict[str, Any]:
    """Return a token; score: of a Unigram piece, the natural logarithm of its probability."""
    content, score = model.vocab[index], model.score(index)
    found = {"id": index, "token": content.decode("utf-8", "replace"), "bytes": content.hex()}
    return found | ({} if score is None else {"score": round(score, 6)})


def _token_row(token: dict[str, Any]) -> list[str]:
    data = bytes.fromhex(token["bytes"])
    return [str(token["id"]), print_token(data), data.hex(" "), *([str(token["score"])] if "score" in token else [])]


def _merge(model: Model, position: int) -> dict[str, Any]:
    rank, *parts = model.ranked_merges[position].tolist()
    return {"rank": rank} | {name: _token(model, i) for name, i in zip(("left", "right", "result"), parts, strict=True)}


def _merge_row(merge: dict[str, Any]) -> list[str]:
    left, right, result = (_token_row(merge[part]) for part in ("left", "right", "result"))
    return [str(merge["rank"]), left[1], right[1], *result[:2]]


def _print_list(
    name: str, found: list[dict[str, Any]], columns: Sequence[str], row: Callable[[dict[str, Any]], list[str]]
) -> None:
    if wants_json():
        print_values({name: found})
    else:
        print_rows(columns, map(row, found))


def _print_token(model: Model, index: int, limit: int | None) -> None:
    special, token = index in model.special_ids, _token(model, index)
    made = (model.ranked_merges[:, 3] == index).nonzero()[0].tolist()
    part = (model.ranked_merges[:, 1:3] == index).any(1).nonzero()[0].tolist()
    merges = {
        name: [_merge(model, position) for position in found[:limit]]
        for name, found in (("made_by", made), ("part_of", part))
    }
    if wants_json():
        print_values({**token, "special": special, **merges, "merges_with_it": len(part)})
        return
    number, shown, data, *score = _token_row(token)
    facts = [("id", number), ("token", shown), ("bytes", data), ("special", "yes" if special else "no")]
    rows = [(name.replace("_", " "), "  ".join(_merge_row(merge))) for name, found in merges.items() for merge in found]
    more = [("", f"and {len(part) - limit} more")] if limit and len(part) > limit else []
    print_rows([], [*facts, *(("score", one) for one in score), *rows, *more])


# ---------------------------------------------------------------------------------------------------------------------
# lock: the digests of a tokenizer in a file, and whether it is still that one.


@click.command()
@click.argument("tokenizer", type=TOKENIZER, required=False)
@opt("-o, --output FILE", "The lock.", INPUT, default=Path("tokenizer.lock"))
@opt("--check", "Compare with the lock and write nothing.")
@common_options
def lock(tokenizer: str | None, output: Path, check: bool) -> None:
    """Write the digests of a tokenizer and of its parts to a file, or check that they are still the same.

    Digests are those of what a tokenizer does: the same in every format that holds all its parts. With --check,
    TOKENIZER is by default the one that the lock names. Exit code 1: a part changed.

    \b
    Example:
      subwords lock tok.json
      subwords lock --check
    """
    from subwords.files import check_lock
    from subwords.files import lock as locked

    if check:
        found = check_lock(output, tokenizer=tokenizer)
        values: dict[str, object] = {"equal": bool(found), "changed": list(found.changed)}
        if wants_json():
            print_values({"tokenizer": found.tokenizer, **values, "details": [*found.details]})
        else:
            print_values({"equal": bool(found), "changed": ", ".join(found.changed) or "nothing"})
            for note in found.notes() if not is_quiet() else ():
                click.echo(note, err=True)
        if not found:
            click.get_current_context().exit(1)
        return
    if tokenizer is None:
        raise click.UsageError("expected TOKENIZER to lock; without it, --check compares the one that the lock names")
    made = locked(tokenizer, output)
    print_summary(made.to_dict() if wants_json() else {"digest": made.digest, "saved": str(output)})


# ---------------------------------------------------------------------------------------------------------------------
# warmup: what takes long the first time, ahead of it.


@click.command()
@click.argument("tokenizers", nargs=-1, type=TOKENIZER, metavar="[TOKENIZER]...")
@common_options
def warmup(tokenizers: tuple[str, ...]) -> None:
    """Compile all kernels now, and keep what each TOKENIZER needs to start fast, for later commands and processes.

    \b
    Example:
      subwords warmup tok.json
    """
    from subwords.tokenizer import warmup as warm

    started = time.perf_counter()
    cache = cache_state() if tokenizers else ""
    warm(*tokenizers, progress=False if is_quiet() else None)
    print_values({"seconds": round(time.perf_counter() - started, 3), **({"cache": cache_state()} if cache else {})})


# ---------------------------------------------------------------------------------------------------------------------
# doctor: what this installation has, and whether it works.

OPTIONAL = ("pyarrow", "huggingface_hub", "protobuf", "sentencepiece", "tiktoken", "tokenizers", "transformers")
PROBE = "low lower lowest, new newer newest: the café costs 12,50 €; 中文\n" * 3


@click.command()
@common_options
def doctor() -> None:
    """Describe and test this installation, for bug reports.

    The home folder is written as ~, and of the environment only variables of this package are shown. Exit code 1: a
    check failed.

    \b
    Example:
      subwords doctor
    """
    checks = [(name, *_checked(check)) for name, check in CHECKS.items()]
    well = all(right for _, right, _ in checks)
    if wants_json():
        rows = {name: {"ok": right, "found": text} for name, right, text in checks}
        print_values({"ok": well, "checks": rows})
    else:
        print_rows([], [("ok" if right else "FAILED", name, text) for name, right, text in checks])
        told = "; ".join(f"{name}: {text}" for name, _, text in checks)
        click.echo(f"\nFor a report:\n{'all is well' if well else 'not well'}; {told}")
    if not well:
        click.get_current_context().exit(1)


def _checked(check: Callable[[], str]) -> tuple[bool, str]:
    """Whether a check went well, and what it says; a broken installation may raise anything."""
    try:
        found, right = check(), True
    except Exception as error:
        found, right = f"{type(error).__name__}: {error}", False
    home, shown = str(Path.home()), " ".join(found.split())
    return right, re.sub(rf"(?<![\w.]){re.escape(home)}(?![\w.-])", "~", shown) if len(home) > 1 else shown


def _python() -> str:
    import platform

    free = ", free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{platform.python_implementation()} {platform.python_version()}{free}, {platform.platform()}"


def _versions() -> str:
    found = {"subwords": __version__}
    for name in ("numpy", "numba", "llvmlite", "regex", "click", "rich", *OPTIONAL):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _processor() -> str:
    from subwords.kernels.machine_code import FEATURES, processor_features, processor_kind

    features = processor_features()
    level = next((level for level, needs in FEATURES.items() if all(map(features.get, needs))), "")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor_kind()}{f', level {level}' if level else ''}, {usable} processors"


def _machine_code() -> str:
    from subwords.kernels.machine_code import source_of_code

    place, why = source_of_code()
    if place == "Numba":
        try:
            version("numba")
        except PackageNotFoundError:
            raise InputError(f"Numba is needed and not installed ({why}): pip install 'subwords[jit]'") from None
    return f"{place}: {why}"


def cache_state() -> str:
    """Return where the cache is, and how large; InputError if it cannot be used."""
    from subwords.kernels.stored import FOLDER, MAGIC, SWITCH, Folder, cache_root

    root = cache_root()
    try:
        with Folder(root, FOLDER, make=True) as folder:
            folder.write("doctor", MAGIC)
            folder.delete("doctor")
    except OSError as error:
        where = "" if root is None else f"{root} is not used: "
        raise InputError(
            f"{where}{error.strerror}; set SUBWORDS_CACHE_DIR to a folder that you, and only you, can write to"
        ) from None
    size = sum(file.stat().st_size for file in Path(str(root)).rglob("*") if file.is_file())
    switch = "tables off" if os.environ.get(SWITCH) == "off" else "tables on"
    return f"{root}, {size / 1e6:.0f} MB, can be written, {switch}"


def _environment() -> str:
    found = {name: value for name, value in sorted(os.environ.items()) if name.startswith("SUBWORDS_")}
    return ", ".join(f"{name}={value}" for name, value in found.items()) or "no SUBWORDS_ variable is set"


def _self_test() -> str:
    """Train, encode, decode, save and load; merges are replayed, and ids compared with those of plain Python."""
    from subwords.study.explanation import explain
    from subwords.study.verification import verify_training
    from subwords.tokenizer import load
    from subwords.training.count import count
    from subwords.training.train import train

    started = time.perf_counter()
    counts = count([PROBE], progress=False)
    tok = train(counts, vocab_size=290, progress=False)
    with TemporaryDirectory() as folder:
        tok.save(Path(folder) / "tok.json")
        again = load(Path(folder) / "tok.json")
    ids = [*explain(tok, PROBE).ids]
    for what, found, expected in (
        ("ids of encode", tok.encode(PROBE), ids),
        ("ids of encode_to_numpy", tok.encode_to_numpy(PROBE.encode()).tolist(), ids),
        ("ids after saving and loading", again.encode(PROBE), ids),
        ("text of decode", again.decode(ids), PROBE),
        ("merges of training", verify_training(tok, counts).proven, True),
    ):
        if found != expected:
            raise SubwordsError(f"wrong {what}: expected {expected!r:.200}, found {found!r:.200}")
    return f"training, encoding, decoding, saving and loading are right, in {time.perf_counter() - started:.1f} s"


CHECKS: dict[str, Callable[[], str]] = {
    "python": _python,
    "packages": _versions,
    "processor": _processor,
    "machine code": _machine_code,
    "cache": cache_state,
    "environment": _environment,
    "self test": _self_test,
}
