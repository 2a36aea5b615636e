"""The options of train that are not about its corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from subwords.cli.arguments import choice
from subwords.cli.console import SIZE, output_option, utf8

__all__ = ["train_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_AT_LEAST_1 = click.IntRange(min=1)


def _roles(pairs: tuple[str, ...]) -> dict[str, str] | None:
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"expected ROLE=TOKEN, such as pad=<fill>, not {pair!r}")
    return dict(pair.split("=", 1) for pair in pairs) or None


_OPTIONS = (
    output_option(
        "The file to write: .json; .model for Unigram and --character-level; .tiktoken for BPE; .txt (vocab.txt) for "
        'WordPiece; .gguf; or a folder (that exists, or a name that ends in "/").'
    ),
    click.option(
        "--vocab-size",
        type=SIZE,
        required=True,
        metavar="N",
        help="Number of tokens, special tokens included: 32000, or 32k.",
    ),
    click.option(
        "--algorithm",
        type=choice(["bpe", "wordpiece", "unigram", "wordlevel", "mingram"]),
        default="bpe",
        show_default=True,
        help="The model to train.",
    ),
    click.option("--character-level", is_flag=True, help="Start from the characters of the corpus instead of bytes."),
    click.option(
        "--alphabet",
        type=choice(["full", "corpus"]),
        default="full",
        show_default=True,
        help="Start from all 256 bytes, or from those of the corpus.",
    ),
    click.option(
        "--score",
        type=choice(["likelihood", "course", "count"]),
        default="likelihood",
        show_default=True,
        help="WordPiece: merge the pair with the largest gain in likelihood; the largest "
        "count(ab)/(count(a) count(b)), "
        "for which --min-frequency should be large; or the largest count.",
    ),
    click.option(
        "--prefix", type=utf8, default="##", show_default=True, help="WordPiece: marks pieces that continue a word."
    ),
    click.option(
        "--max-chars",
        type=_AT_LEAST_1,
        metavar="N",
        help="WordPiece: longer words are unknown.  [default: the longest word, at least 100]",
    ),
    click.option(
        "--tie-break",
        type=choice(["ids", "first", "bytes"]),
        default="ids",
        show_default=True,
        help="Between pairs of equal score: smaller ids, first in the corpus, or smaller bytes.",
    ),
    click.option(
        "--min-frequency",
        type=click.IntRange(min=0),
        metavar="N",
        help="Merge only pairs (Unigram: keep only pieces) that occur at least N times.  [default: 0; 2 for unigram]",
    ),
    click.option(
        "--min-documents",
        type=_AT_LEAST_1,
        metavar="N",
        help="Train only on words found in at least N documents, so each token is in at least N.",
    ),
    click.option(
        "--max-token-length", type=_AT_LEAST_1, metavar="N", help="In bytes; with --character-level, in characters."
    ),
    click.option(
        "--limit-alphabet",
        type=_AT_LEAST_1,
        metavar="N",
        help="Start from the N most frequent bytes or characters only.",
    ),
    click.option(
        "--template",
        type=utf8,
        multiple=True,
        metavar="TEXT",
        callback=lambda context, option, texts: [*texts] or "auto",
        help='Special tokens around a text: "<s> $A </s>". A second one is for pairs.  '
        "[default: BERT's for wordpiece]",
    ),
    click.option(
        "--role",
        "roles",
        type=utf8,
        multiple=True,
        metavar="ROLE=TOKEN",
        callback=lambda context, option, pairs: _roles(pairs),
        help="The role of a special token: pad=<fill>, kept in folders, .model and .gguf. Usual names need none. "
        "May be repeated.",
    ),
    click.option("--unk-token", type=utf8, metavar="TOKEN", help="The special token for unknown symbols."),
    click.option("--fuse-unk", is_flag=True, help="BPE of characters: one token for a run of unknown characters."),
    click.option(
        "--seed-factor",
        type=click.FloatRange(min=1),
        default=1.1,
        show_default=True,
        help="Mingram: choose from so many times as many BPE tokens.",
    ),
    click.option("--byte-fallback", is_flag=True, help="Unigram, BPE of characters: 256 tokens for unknown bytes."),
    click.option(
        "--whole-characters",
        is_flag=True,
        help="BPE of bytes: tokens are whole characters or a part of one.",
    ),
    click.option(
        "--seed-size",
        type=click.IntRange(min=0),
        default=1_000_000,
        show_default=True,
        help="Unigram: number of initial pieces.",
    ),
    click.option(
        "--shrinking-factor",
        type=click.FloatRange(0.01, 0.99),
        default=0.75,
        show_default=True,
        help="Unigram: share of pieces kept in each round of pruning.",
    ),
    click.option(
        "--sub-iterations",
        type=click.IntRange(1, 100),
        default=2,
        show_default=True,
        help="Unigram: EM steps per round.",
    ),
    click.option(
        "--max-piece-length", type=click.IntRange(1, 512), default=16, show_default=True, help="Unigram: in characters."
    ),
    click.option(
        "--character-coverage",
        type=click.FloatRange(0.01, 1.0),
        default=1.0,
        show_default=True,
        help="Unigram: share of the text whose characters become tokens.",
    ),
    click.option(
        "--required-chars", type=utf8, default="", metavar="TEXT", help="Unigram: characters that always become tokens."
    ),
    click.option(
        "--user-defined", type=utf8, multiple=True, metavar="PIECE", help="Unigram: a piece that is always kept whole."
    ),
)


def train_options(command: _Command) -> _Command:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
