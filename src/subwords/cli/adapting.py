"""extend, prune, replace, merge, id-map and train-parity: the commands that change or train a vocabulary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.console import (
    INPUT,
    SIZE,
    SOURCE,
    TOKENIZER,
    check_output,
    check_target,
    choice,
    json_option,
    load_tokenizer,
    named_values,
    output_option,
    print_rows,
    print_values,
    quiet_only,
    quiet_option,
    source_argument,
    tokenizer_argument,
    unshown,
    utf8_argument,
)
from subwords.cli.options import add_options, command, reading_from, reading_options, refuse_reading, threads_option
from subwords.support.errors import FormatError, InputError, unreadable

if TYPE_CHECKING:
    from subwords.adapt.adapted import Adapted
    from subwords.tokenizer import Tokenizer


_Command = TypeVar("_Command", bound=Callable[..., Any])


def selection_options(command: _Command) -> _Command:
    """Add the options that name tokens."""
    tokens: dict[str, Any] = {"type": utf8_argument, "multiple": True, "metavar": "ID|TOKEN"}
    files: dict[str, Any] = {"type": INPUT, "metavar": "FILE"}
    options: list[Callable[[_Command], _Command]] = [
        click.option("--drop", **tokens, help="Remove this token. May be repeated."),
        click.option("--drop-file", **files, help="Remove the tokens of this file, one on each line."),
        click.option("--keep", **tokens, help="Keep this token. May be repeated."),
        click.option("--keep-file", **files, help="Keep the tokens of this file, one on each line."),
        click.option(
            "--script",
            "scripts",
            type=utf8_argument,
            multiple=True,
            metavar="NAME",
            help="Remove tokens with letters of this script only, such as Cyrillic. May be repeated.",
        ),
    ]
    return add_options(command, options)


def output_options(command: _Command) -> _Command:
    """Add the options that say what is saved."""
    place: dict[str, Any] = {"type": INPUT, "metavar": "FILE"}
    options: list[Callable[[_Command], _Command]] = [
        output_option(),
        click.option("--id-map", "map_path", **place, help="Also write which old ids make up each id."),
    ]
    return add_options(command, options)


def tokens_of(tok: Tokenizer, given: Sequence[str], file: Path | None) -> list[int] | None:
    """Return the ids of tokens as `subwords inspect --vocab` shows them, or given by their ids; None for no tokens."""
    names = list(given)
    if file is not None:
        try:
            names += [line for line in file.read_text("utf-8").split("\n") if line]
        except OSError as error:
            raise unreadable(InputError, f"cannot read {file}: {error.strerror or error}", error) from None
        except UnicodeDecodeError as error:
            raise FormatError(f"{file}: expected tokens in UTF-8; byte {error.start} is not UTF-8") from None
    if not names and file is None:
        return None
    return [_id_of(tok, name) for name in names]


def _id_of(tok: Tokenizer, name: str) -> int:
    if name.isascii() and name.isdigit() and len(name) < 20:
        return int(name)
    index = tok.token_to_id(unshown(name))
    if index is None:
        raise InputError(f"token {name!r} is not in the vocabulary; subwords inspect --vocab lists all")
    return index


def corpus_of(sources: Sequence[str]) -> Any:
    """Return counts, if the only source is a file of counts, or else the sources as paths; None without a source."""
    from subwords.cli.corpus import is_counts
    from subwords.corpus.counts import WordCounts

    if len(sources) == 1 and is_counts(sources[0]):
        return WordCounts.load(sources[0])
    return source_argument(sources) if sources else None


def check_targets(tok: Tokenizer, output: str, map_path: Path | None) -> None:
    """Fail now rather than after the work."""
    check_output(map_path)
    check_target(output, tok)


def save_adapted(
    found: Adapted, output: str, map_path: Path | None, started: float, *, as_json: bool, quiet: bool
) -> None:
    """Save a changed tokenizer and its map, and say what changed."""
    found.tokenizer.save(output)
    if map_path is not None:
        found.id_map.save(map_path)
    if not as_json and quiet:
        return
    values: dict[str, object] = {
        "tokens": sum(1 for token in found.tokenizer.model.vocab if token),
        "ids": found.tokenizer.vocab_size,
        "removed": len(found.removed),
        "added": len(found.added),
        "moved": len(found.moved),
        "left_out": len(found.left_out),
        "seconds": round(time.perf_counter() - started, 3),
        "saved": output,
    }
    print_values(values | ({} if map_path is None else {"id_map": str(map_path)}), as_json)


# ---------------------------------------------------------------------------------------------------------------------
# extend: more tokens for a tokenizer.


@command()
@tokenizer_argument
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--count", type=SIZE, required=True, metavar="N", help="How many tokens to add.")
@output_option()
@click.option(
    "--splitter",
    type=utf8_argument,
    metavar="NAME|REGEX",
    help="Another rule, which the result has: a coarser one lets tokens span words.  [default: the tokenizer's]",
)
@click.option(
    "--script",
    "scripts",
    type=utf8_argument,
    multiple=True,
    metavar="NAME",
    help="Learn from text of this script only.",
)
@click.option("--max-words", type=click.IntRange(min=1), metavar="N", help="The most spaces in a new token.")
@click.option("--whole-words", is_flag=True, help="With --splitter: join only words that are one token each.")
@click.option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="In bytes, or in characters.")
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="The least count of a pair.")
@click.option("--whole-characters", is_flag=True, help="New tokens are whole characters or a part of one.")
@click.option("--tie-break", type=choice(["ids", "first", "bytes"]), default="ids", show_default=True)
@reading_options
@click.option("--memory", metavar="AMOUNT", help="Approximate memory of the process, such as 2GB.")
@threads_option
@quiet_option
@json_option
def extend(
    tokenizer: str, sources: tuple[str, ...], count: int, output: str, quiet: bool, as_json: bool, **options: Any
) -> None:
    """Add tokens to a tokenizer, learned from a corpus; all ids keep their tokens.

    SOURCE is a corpus as in "subwords count", or one file written by it with the splitter of TOKENIZER.

    \b
    Example:
      subwords adapt extend tok.json "medicine/*.txt" --count 8000 -o medical.json
    """
    from subwords.adapt.extending import extend as extended
    from subwords.corpus.counts import WordCounts

    reading, source = reading_from(options), corpus_of(sources)
    if isinstance(source, WordCounts):
        refuse_reading()
    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_target(output, tok)
    options["scripts"] = options["scripts"] or None
    more = extended(tok, source, count=count, reading=reading, progress=False if quiet else None, **options)
    more.save(output)
    if as_json or not quiet:
        values = {"tokens": more.vocab_size, "new": more.vocab_size - tok.vocab_size}
        print_values(values | {"seconds": round(time.perf_counter() - started, 3), "saved": output}, as_json)


# ---------------------------------------------------------------------------------------------------------------------
# prune: fewer tokens for a tokenizer.


@command()
@tokenizer_argument
@selection_options
@click.option(
    "--source",
    "sources",
    type=utf8_argument,
    multiple=True,
    metavar="SOURCE",
    help="Remove the tokens that this corpus, or file of counts, uses least. May be repeated.",
)
@click.option("--vocab-size", type=SIZE, metavar="N", help="With --source: leave N tokens.")
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --source: remove tokens that it uses less than N times.",
)
@click.option("--compact", is_flag=True, help="New ids without gaps.  [default: tokens keep their ids]")
@click.option("--allow-unknown", is_flag=True, help="Also remove pieces without which text becomes unknown.")
@reading_options
@output_options
@threads_option
@quiet_option
@json_option
def prune(
    tokenizer: str,
    drop: tuple[str, ...],
    drop_file: Path | None,
    keep: tuple[str, ...],
    keep_file: Path | None,
    scripts: tuple[str, ...],
    sources: tuple[str, ...],
    vocab_size: int | None,
    min_count: int | None,
    compact: bool,
    allow_unknown: bool,
    output: str,
    map_path: Path | None,
    threads: int | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Remove tokens from a tokenizer; those that stay keep their ids, unless --compact.

    Name the tokens to remove (--drop), the tokens to keep (--keep, without --source), a script (--script), or a corpus
    and the size (--source with --vocab-size or --min-count; with --keep, those stay). Digits alone are an id, and
    U+2423 is a space. Bytes, characters and special tokens always stay, and so do the parts of other
    tokens.

    \b
    Example:
      subwords adapt prune tok.json --source "texts/*.txt" --vocab-size 30000 -o small.json
      subwords adapt prune tok.json --script Cyrillic --compact --id-map embedding_map.json -o latin.json
    """
    from subwords.adapt.pruning import left_of_scripts
    from subwords.adapt.pruning import prune as pruned

    modes = {"--drop": drop or drop_file, "--keep": keep or keep_file, "--script": scripts, "--source": sources}
    came = [option for option, value in modes.items() if value]
    if came not in (["--drop"], ["--keep"], ["--script"], ["--source"], ["--keep", "--source"]):
        raise click.UsageError(
            "expected one of --drop, --keep, --script and --source, or --keep with --source; "
            + (f"not {' and '.join(came)}" if came else "none was given")
        )
    if bool(sources) != ((vocab_size is None) != (min_count is None)) or (not sources and (vocab_size or min_count)):
        raise click.UsageError("--source needs --vocab-size or --min-count, and these need --source")
    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_targets(tok, output, map_path)
    found = pruned(
        tok,
        keep=tokens_of(tok, keep, keep_file),
        drop=tokens_of(tok, drop, drop_file),
        scripts=scripts or None,
        source=corpus_of(sources),
        reading=reading_from(options),
        vocab_size=vocab_size,
        min_count=min_count,
        compact=compact,
        allow_unknown=allow_unknown,
        threads=threads,
        progress=False if quiet else None,
    )
    save_adapted(found, output, map_path, started, as_json=as_json, quiet=quiet)
    if scripts and not quiet and (left := left_of_scripts(found.tokenizer.model.vocab, scripts)):
        stay = f"{left} tokens with letters of {' and '.join(scripts)} stay: single characters, and parts of others"
        click.echo(f"subwords: {stay}", err=True)


# ---------------------------------------------------------------------------------------------------------------------
# replace: some tokens of a tokenizer make room for others.


@command()
@tokenizer_argument
@click.argument("sources", type=SOURCE, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--count", type=SIZE, metavar="N", help="Replace the N tokens that SOURCE uses least.")
@selection_options
@click.option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="In bytes, or in characters.")
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="The least count of a pair.")
@click.option("--whole-characters", is_flag=True, help="New tokens are whole characters or a part of one.")
@reading_options
@output_options
@threads_option
@quiet_option
@json_option
def replace(
    tokenizer: str,
    sources: tuple[str, ...],
    count: int | None,
    drop: tuple[str, ...],
    drop_file: Path | None,
    keep: tuple[str, ...],
    keep_file: Path | None,
    scripts: tuple[str, ...],
    max_token_length: int | None,
    min_frequency: int,
    whole_characters: bool,
    output: str,
    map_path: Path | None,
    threads: int | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Replace tokens of a tokenizer by others that a corpus needs; the number of ids stays the same.

    SOURCE is a corpus as in "subwords count", or one file written by it with the splitter of TOKENIZER. The new tokens
    get the ids of the removed ones, which are the N least used (--count), named ones (--drop) or those of a script.

    \b
    Example:
      subwords adapt replace tok.json "medicine/*.txt" --count 2000 --id-map embedding_map.json -o medical.json
    """
    from subwords.adapt.replacing import replace as replaced

    if (count is not None) + bool(drop or drop_file) + bool(scripts) != 1:
        raise click.UsageError("expected one of --count, --drop and --script, which choose the tokens to replace")
    if (keep or keep_file) and count is None:
        raise click.UsageError("--keep is for --count: the tokens to remove are named")
    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_targets(tok, output, map_path)
    found = replaced(
        tok,
        corpus_of(sources),
        count=count,
        drop=tokens_of(tok, drop, drop_file),
        scripts=scripts or None,
        reading=reading_from(options),
        keep=tokens_of(tok, keep, keep_file),
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        whole_characters=whole_characters,
        threads=threads,
        progress=False if quiet else None,
    )
    save_adapted(found, output, map_path, started, as_json=as_json, quiet=quiet)


# ---------------------------------------------------------------------------------------------------------------------
# merge: the tokens of two tokenizers in one.


@click.command()
@tokenizer_argument
@click.argument("other", type=TOKENIZER)
@output_options
@quiet_option
@json_option
def merge(tokenizer: str, other: str, output: str, map_path: Path | None, quiet: bool, as_json: bool) -> None:
    """Add the tokens of another tokenizer; all ids of the first one keep their tokens.

    Both are BPE or both WordPiece, with the same splitter and normalizer. Tokens of OTHER that no text would yield are
    left out; the summary counts them.

    \b
    Example:
      subwords adapt merge tok.json thai.json --id-map embedding_map.json -o both.json
    """
    from subwords.adapt.merging import merge

    started, tok = time.perf_counter(), load_tokenizer(tokenizer)
    check_targets(tok, output, map_path)
    found = merge(tok, load_tokenizer(other))
    save_adapted(found, output, map_path, started, as_json=as_json, quiet=quiet)


# ---------------------------------------------------------------------------------------------------------------------
# id-map: which old ids make up each id of another tokenizer.


@click.command("id-map")
@tokenizer_argument
@click.argument("other", type=TOKENIZER)
@click.option("-o", "--output", type=INPUT, required=True, metavar="FILE", help="The file to write.")
@quiet_only
@json_option
def id_map(tokenizer: str, other: str, output: Path, as_json: bool) -> None:
    """Write which ids of TOKENIZER make up each id of OTHER, for the embeddings of a model.

    A token of both has its one old id. A new token has the ids that TOKENIZER gives its text, with equal weights.

    \b
    Example:
      subwords adapt id-map tok.json longer.json -o embedding_map.json
    """
    from subwords.adapt.id_maps import id_map as map_of

    check_output(output)
    found = map_of(load_tokenizer(tokenizer), load_tokenizer(other))
    found.save(output)
    values = {"old_ids": found.old_size, "new_ids": len(found), "changed": len(found.changed), "saved": str(output)}
    print_values(values, as_json)


# ---------------------------------------------------------------------------------------------------------------------
# train-parity: one vocabulary for several languages.


@command("train-parity")
@click.option(
    "--language",
    "languages",
    type=utf8_argument,
    multiple=True,
    required=True,
    metavar="NAME=SOURCE",
    help="A language, and its corpus or file of counts; once for each language.",
)
@click.option("--vocab-size", type=SIZE, required=True, metavar="N", help="The number of tokens.")
@output_option()
@click.option(
    "--development",
    type=utf8_argument,
    multiple=True,
    metavar="NAME=SOURCE",
    help="Parallel text: measure the cost on it.",
)
@click.option(
    "--ratio",
    "ratios",
    type=utf8_argument,
    multiple=True,
    metavar="NAME=X",
    help="A language may cost X times the others.",
)
@click.option("--pooled", type=click.IntRange(min=0), default=0, metavar="N", help="First merges on all languages.")
@click.option(
    "--window",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Limit how often a language is chosen in N merges.",
)
@click.option(
    "--window-share",
    type=float,
    metavar="X",
    default=2.0,
    show_default=True,
    help="A language may choose this share of the window, divided by the number of languages.",
)
@click.option(
    "--splitter",
    type=utf8_argument,
    default="o200k",
    show_default=True,
    metavar="NAME|REGEX",
    help="How text is split.",
)
@click.option(
    "--normalizer",
    type=utf8_argument,
    default="none",
    show_default=True,
    metavar="NAME",
    help="How text is normalized.",
)
@click.option(
    "--special-token", "special_tokens", type=utf8_argument, multiple=True, metavar="TOKEN", help="A special token."
)
@click.option("--character-level", is_flag=True, help="Start from characters instead of bytes.")
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="The least count of a pair.")
@click.option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="In bytes, or in characters.")
@click.option("--whole-characters", is_flag=True, help="Tokens are whole characters or a part of one.")
@click.option("--tie-break", type=choice(["ids", "bytes"]), default="ids", show_default=True)
@reading_options
@threads_option
@quiet_option
@json_option
def train_parity(
    languages: tuple[str, ...],
    output: str,
    development: tuple[str, ...],
    ratios: tuple[str, ...],
    character_level: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train one BPE tokenizer on several languages, so that they cost about the same number of ids.

    \b
    Example:
      subwords research train-parity --language en=en.txt --language ru=ru.txt --vocab-size 32000 -o tok.json
    """
    from subwords.research import train_parity as trained
    from subwords.training.train import dry_run

    def sources(option: str, values: tuple[str, ...]) -> dict[str, Any]:
        return {name: corpus_of([source]) for name, source in named_values(option, values).items()}

    started, given = time.perf_counter(), named_values("--ratio", ratios)
    rules = {name: options[name] for name in ("vocab_size", "splitter", "normalizer", "special_tokens")}
    check_target(output, dry_run(algorithm="bpe", byte_level=not character_level, **rules))
    try:
        numbers = {name: float(value) for name, value in given.items()}
    except ValueError:
        raise click.UsageError(f"--ratio: expected NAME=NUMBER, such as ru=1.2, not {ratios!r}") from None
    found = trained(
        sources("--language", languages),
        development=sources("--development", development) or None,
        ratios=numbers,
        byte_level=not character_level,
        reading=reading_from(options),
        progress=False if quiet else None,
        **options,
    )
    found.tokenizer.save(output)
    if as_json:
        print_values({**found.to_dict(), "seconds": round(time.perf_counter() - started, 3), "saved": output}, True)
    elif not quiet:
        unit = "ids per byte" if found.per_byte else "ids"
        rows = [[one.name, str(one.merges), f"{one.before:.4g}", f"{one.after:.4g}"] for one in found.languages]
        print_rows(["language", "merges", f"{unit} before", "after"], rows)
