"""extend, prune, replace, merge, id-map and train-parity: the commands that change or train a vocabulary."""

from __future__ import annotations

import time
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import click

from subwords.cli.console import (
    INPUT,
    check_output,
    check_target,
    is_quiet,
    named_numbers,
    opt,
    output_option,
    print_rows,
    print_summary,
    print_values,
    text_of,
    utf8_argument,
    wants_json,
)
from subwords.cli.files import find_token
from subwords.cli.options import Adapter, Call, command_of, corpora, sources

if TYPE_CHECKING:
    from subwords import Tokenizer
    from subwords.adapt.adapted import Adapted


def _tokens(name: str, verb: str) -> Adapter:
    """Return the adapter of an argument that names tokens, by options or in a file."""
    options = [
        opt(f"--{name} ID|TOKEN...", f"{verb} this token. May be repeated.", utf8_argument),
        opt(f"--{name}-file FILE", f"{verb} the tokens of this file, one on each line.", INPUT),
    ]
    return Adapter(options, lambda call: tokens_of(call.tokenizer, call.take(name), call.take(f"{name}_file")))


def tokens_of(tok: Tokenizer, given: Sequence[str], file: Path | None) -> list[int] | None:
    """Return the ids of tokens as `subwords inspect --vocab` shows them, or given by their ids; None for no tokens."""
    names = list(given)
    if file is not None:
        names += [line for line in text_of(file, "tokens").split("\n") if line]
    if not names and file is None:
        return None
    return [find_token(tok, name) for name in names]


_SCRIPTS = {"scripts": "Remove tokens with letters of this script only, such as Cyrillic. May be repeated."}
_DROP, _KEEP = _tokens("drop", "Remove"), _tokens("keep", "Keep")
_LEARNED = sources(counts=True)
_SAVED = (output_option(), opt("--id-map FILE", "Also write which old ids make up each id.", INPUT, "map_path"))


def _save(call: Call) -> Adapted:
    """Save a changed tokenizer and its map, and say what changed."""
    started, output, map_path = time.perf_counter(), call.take("output"), call.take("map_path")
    check_output(map_path)
    check_target(output, call.tokenizer)
    found: Adapted = call.result()
    found.tokenizer.save(output)
    if map_path is not None:
        found.id_map.save(map_path)
    values: dict[str, object] = {
        "tokens": sum(1 for token in found.tokenizer.model.vocab if token),
        "ids": found.tokenizer.vocab_size,
        **{name: len(getattr(found, name)) for name in ("removed", "added", "moved", "left_out")},
        "seconds": round(time.perf_counter() - started, 3),
        "saved": output,
    }
    print_summary(values | ({} if map_path is None else {"id_map": str(map_path)}))
    return found


@command_of("adapt.extending.extend", output_option(), source=_LEARNED)
def extend(call: Call) -> None:
    """Add tokens to a tokenizer, learned from a corpus; all ids keep their tokens.

    SOURCE is a corpus as in "subwords count", or one file written by it with the splitter of TOKENIZER.

    \b
    Example:
      subwords adapt extend tok.json "medicine/*.txt" --count 8000 -o medical.json
    """
    started, output, tok = time.perf_counter(), call.take("output"), call.tokenizer
    check_target(output, tok)
    more = call.result()
    more.save(output)
    values = {"tokens": more.vocab_size, "new": more.vocab_size - tok.vocab_size}
    print_summary(values | {"seconds": round(time.perf_counter() - started, 3), "saved": output})


@command_of(
    "adapt.pruning.prune",
    *_SAVED,
    drop=_DROP,
    keep=_KEEP,
    source=sources(
        "--source SOURCE...",
        "Remove the tokens that this corpus, or file of counts, uses least. May be repeated.",
        counts=True,
        needed=False,
    ),
    texts={
        **_SCRIPTS,
        "vocab_size": "With --source: leave N tokens.",
        "min_count": "With --source: remove tokens that it uses less than N times.",
    },
)
def prune(call: Call) -> None:
    """Remove tokens from a tokenizer; those that stay keep their ids, unless --compact.

    Name the tokens to remove (--drop), the tokens to keep (--keep, without --source), a script (--script), or a corpus
    and the size (--source with --vocab-size or --min-count; with --keep, those stay). Digits alone are an id, and
    U+2423 is a space. Bytes and characters always stay, and so do the parts of other tokens. Special and added tokens
    go only by --drop.

    \b
    Example:
      subwords adapt prune tok.json --source "texts/*.txt" --vocab-size 30000 -o small.json
      subwords adapt prune tok.json --script Cyrillic --compact --id-map embedding_map.json -o latin.json
    """
    options, scripts = call.options, call.options["scripts"]
    modes = {"--drop": _names(call, "drop"), "--keep": _names(call, "keep"), "--script": scripts}
    came = [option for option, value in (modes | {"--source": options["sources"]}).items() if value]
    if came not in (["--drop"], ["--keep"], ["--script"], ["--source"], ["--keep", "--source"]):
        raise click.UsageError(
            "expected one of --drop, --keep, --script and --source, or --keep with --source; "
            + (f"not {' and '.join(came)}" if came else "none was given")
        )
    sizes = (options["vocab_size"] is not None) + (options["min_count"] is not None)
    if sizes != bool(options["sources"]):
        raise click.UsageError("--source needs --vocab-size or --min-count, and these need --source")
    found = _save(call)
    if not scripts or is_quiet():
        return
    from subwords.adapt.pruning import left_of_scripts

    if left := left_of_scripts(found.tokenizer.model.vocab, scripts):
        stay = f"{left} tokens with letters of {' and '.join(scripts)} stay: single characters, and parts of others"
        click.echo(f"subwords: {stay}", err=True)


def _names(call: Call, name: str) -> object:
    return call.options[name] or call.options[f"{name}_file"]


@command_of(
    "adapt.replacing.replace",
    *_SAVED,
    drop=_DROP,
    keep=_KEEP,
    source=_LEARNED,
    like="adapt.extending.extend",
    texts={**_SCRIPTS, "count": "Replace the N tokens that SOURCE uses least."},
)
def replace(call: Call) -> None:
    """Replace tokens of a tokenizer by others that a corpus needs; the number of ids stays the same.

    SOURCE is a corpus as in "subwords count", or one file written by it with the splitter of TOKENIZER. The new tokens
    get the ids of the removed ones, which are the N least used (--count), named ones (--drop) or those of a script.

    \b
    Example:
      subwords adapt replace tok.json "medicine/*.txt" --count 2000 --id-map embedding_map.json -o medical.json
    """
    counted = call.options["count"] is not None
    if counted + bool(_names(call, "drop")) + bool(call.options["scripts"]) != 1:
        raise click.UsageError("expected one of --count, --drop and --script, which choose the tokens to replace")
    if _names(call, "keep") and not counted:
        raise click.UsageError("--keep is for --count: the tokens to remove are named")
    _save(call)


@command_of("adapt.merging.merge", *_SAVED)
def merge(call: Call) -> None:
    """Add the tokens of another tokenizer; all ids of the first one keep their tokens.

    Both are BPE or both WordPiece, with the same splitter and normalizer. Tokens of OTHER that no text would yield are
    left out; the summary counts them.

    \b
    Example:
      subwords adapt merge tok.json thai.json --id-map embedding_map.json -o both.json
    """
    _save(call)


@command_of("adapt.id_maps.id_map", opt("-o, --output FILE", "The file to write.", INPUT, required=True))
def id_map(call: Call) -> None:
    """Write which ids of TOKENIZER make up each id of OTHER, for the embeddings of a model.

    A token of both has its one old id. A new token has the ids that TOKENIZER gives its text, with equal weights.

    \b
    Example:
      subwords adapt id-map tok.json longer.json -o embedding_map.json
    """
    output: Path = call.take("output")
    check_output(output)
    found = call.result()
    found.save(output)
    values = {"old_ids": found.old_size, "new_ids": len(found), "changed": len(found.changed), "saved": str(output)}
    print_values(values)


# ---------------------------------------------------------------------------------------------------------------------
# train-parity: one vocabulary for several languages.


def _by_language(spec: str, text: str, name: str, needed: bool) -> Adapter:
    option = opt(f"{spec} NAME=SOURCE...", text, utf8_argument, name, required=needed)
    return Adapter([option], lambda call: corpora(call, name, spec))


@command_of(
    "research.train_parity",
    output_option(),
    languages=_by_language(
        "--language", "A language, and its corpus or file of counts; once for each language.", "languages", True
    ),
    development=_by_language("--development", "Parallel text: measure the cost on it.", "development", False),
    ratios=Adapter(
        [opt("--ratio NAME=X...", "A language may cost X times the others.", utf8_argument, "ratios")],
        lambda call: named_numbers("--ratio", call.take("ratios")),
    ),
)
def train_parity(call: Call) -> None:
    """Train one BPE tokenizer on several languages, so that they cost about the same number of ids.

    \b
    Example:
      subwords research train-parity --language en=en.txt --language ru=ru.txt --vocab-size 32000 -o tok.json
    """
    from subwords.machine import dry_run
    from subwords.research import train_parity as function

    started, output, defaults = time.perf_counter(), call.take("output"), signature(function).parameters
    names = ("vocab_size", "splitter", "normalizer", "special_tokens", "byte_level")
    rules = {name: call.arguments.get(name, defaults[name].default) for name in names}
    check_target(output, dry_run(algorithm="bpe", **rules))
    found = call.result()
    found.tokenizer.save(output)
    if wants_json():
        print_values({**found.to_dict(), "seconds": round(time.perf_counter() - started, 3), "saved": output})
    elif not is_quiet():
        unit = "ids per byte" if found.per_byte else "ids"
        rows = [[one.name, str(one.merges), f"{one.before:.4g}", f"{one.after:.4g}"] for one in found.languages]
        print_rows(["language", "merges", f"{unit} before", "after"], rows)
