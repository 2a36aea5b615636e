"""train-parity: one vocabulary for several languages."""

from __future__ import annotations

import time
from typing import Any

import click

from subwords.cli.adapting import corpus_of
from subwords.cli.arguments import choice
from subwords.cli.console import (
    SIZE,
    check_target,
    json_option,
    named_values,
    output_option,
    print_rows,
    print_values,
    quiet_option,
    utf8,
)
from subwords.cli.options import command, reading_from, reading_options, threads_option

__all__ = ["train_parity"]


@command("train-parity")
@click.option(
    "--language",
    "languages",
    type=utf8,
    multiple=True,
    required=True,
    metavar="NAME=SOURCE",
    help="A language, and its corpus or file of counts; once for each language.",
)
@click.option("--vocab-size", type=SIZE, required=True, metavar="N", help="The number of tokens.")
@output_option()
@click.option(
    "--development", type=utf8, multiple=True, metavar="NAME=SOURCE", help="Parallel text: measure the cost on it."
)
@click.option(
    "--ratio", "ratios", type=utf8, multiple=True, metavar="NAME=X", help="A language may cost X times the others."
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
    default=2.0,
    show_default=True,
    help="A language may choose this share of the window, divided by the number of languages.",
)
@click.option(
    "--splitter", type=utf8, default="gpt2", show_default=True, metavar="NAME|REGEX", help="How text is split."
)
@click.option(
    "--normalizer", type=utf8, default="none", show_default=True, metavar="NAME", help="How text is normalized."
)
@click.option("--special-token", "special_tokens", type=utf8, multiple=True, metavar="TOKEN", help="A special token.")
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
    from subwords.adapt.parity import train_parity as trained
    from subwords.training.train import rehearse

    def sources(option: str, values: tuple[str, ...]) -> dict[str, Any]:
        return {name: corpus_of([source]) for name, source in named_values(option, values).items()}

    started, given = time.perf_counter(), named_values("--ratio", ratios)
    rules = {name: options[name] for name in ("vocab_size", "splitter", "normalizer", "special_tokens")}
    check_target(output, rehearse(algorithm="bpe", byte_level=not character_level, **rules))
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
