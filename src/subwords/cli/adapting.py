"""Shared by the commands that change a vocabulary: tokens as arguments, a corpus or counts, what is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.arguments import INPUT
from subwords.cli.console import check_output, check_target, output_option, print_values, source_of, unshown, utf8
from subwords.cli.options import add_options
from subwords.errors import FormatError, InputError

if TYPE_CHECKING:
    from subwords.adapt.adapted import Adapted
    from subwords.tokenizer import Tokenizer

__all__ = ["check_targets", "corpus_of", "output_options", "save_adapted", "selection_options", "tokens_of"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def selection_options(command: _Command) -> _Command:
    """Add the options that name tokens."""
    tokens: dict[str, Any] = {"type": utf8, "multiple": True, "metavar": "ID|TOKEN"}
    files: dict[str, Any] = {"type": INPUT, "metavar": "FILE"}
    options: list[Callable[[_Command], _Command]] = [
        click.option("--drop", **tokens, help="Remove this token. May be repeated."),
        click.option("--drop-file", **files, help="Remove the tokens of this file, one on each line."),
        click.option("--keep", **tokens, help="Keep this token. May be repeated."),
        click.option("--keep-file", **files, help="Keep the tokens of this file, one on each line."),
        click.option(
            "--script",
            "scripts",
            type=utf8,
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
            raise InputError(f"cannot read {file}: {error.strerror or error}") from None
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
    return source_of(sources) if sources else None


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
