"""A tokenizer in one line, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from subwords.families import family_of
from subwords.render.html import Chip, chips, facts
from subwords.render.visible import printable

if TYPE_CHECKING:
    from subwords.components.model import Model
    from subwords.normalize.normalizer import Normalizer
    from subwords.split.splitter import Splitter

__all__ = ["one_line", "table"]

_MOST_SHOWN = 40  # tokens


def one_line(model: Model, splitter: Splitter, normalizer: Normalizer | None, special: Mapping[str, int]) -> str:
    """Return family, sizes and rules; `special` has the ids of the special tokens."""
    rules = [] if normalizer is None else [f"normalizer {normalizer.shown}"]
    rules.append(f"splitter {splitter.shown}")
    return f"Tokenizer({', '.join([family_of(model).name, *_sizes(model, special), *rules])})"


def table(model: Model, splitter: Splitter, normalizer: Normalizer | None, special: Mapping[str, int]) -> str:
    """Return the same as HTML, with special tokens and a sample of the others."""
    first = sorted(special.items(), key=lambda entry: entry[1])[:_MOST_SHOWN]
    some = {index: token for index in _some_ids(len(model.vocab), {*special.values()}) if (token := model.vocab[index])}
    rows = [
        ("model", _text(type(model).__name__)),
        ("vocabulary", _text(", ".join(_sizes(model, special)))),
        ("splitter", _text(splitter.name or splitter.identity)),
        ("normalizer", _text("none" if normalizer is None else normalizer.name or normalizer.shown)),
        ("special tokens", _chips({index: text.encode() for text, index in first}, len(special))),
        ("some tokens", _chips(some, len(some))),
    ]
    return facts(rows, caption=f"Tokenizer: {family_of(model).name}")


def _sizes(model: Model, special: Mapping[str, int]) -> list[str]:
    """Return how many tokens, ids without a token, merges and special tokens there are."""
    tokens = int(np.count_nonzero(np.diff(model.vocab.offsets)))
    sizes = [f"{tokens} tokens"]
    if tokens < len(model.vocab):
        sizes.append(f"{len(model.vocab) - tokens} unused ids")
    # A model that ranks tokens merges any two that make one: such a list of pairs is longer than its vocabulary.
    if model.merge_count is not None and model.merge_count <= tokens:
        sizes.append(f"{model.merge_count} merges")
    return [*sizes, f"{len(special)} special"]


def _some_ids(size: int, special: set[int]) -> list[int]:
    """Return ids from the whole vocabulary, evenly spaced, without special tokens."""
    step = max(1, size // _MOST_SHOWN)
    return [index for index in range(step // 2, size, step) if index not in special][:_MOST_SHOWN]


def _text(value: str) -> str:
    return escape(printable(value if len(value) <= 300 else f"{value[:300]}… ({len(value) - 300} more)"))


def _chips(tokens: Mapping[int, bytes], total: int) -> str:
    found = [Chip(token.decode("utf-8", "surrogateescape"), f"id {index}") for index, token in tokens.items()]
    return chips(found, left_out=total - len(found)) if found else "none"
