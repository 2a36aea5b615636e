"""Rich results: the encodings of texts and pairs, with template, truncation and padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeGuard

from subwords.components.padding import Padding, Truncation
from subwords.components.template import Template
from subwords.components.trusted import Input, Special, Text
from subwords.engine.engine import Engine
from subwords.engine.framed import framed, padded
from subwords.engine.spans import Located
from subwords.errors import InputError
from subwords.results.encoding import Encoding
from subwords.results.encoding_batch import EncodingBatch
from subwords.support.checks import as_list

__all__ = ["Framing", "encoding_of", "encodings_of", "is_one_text"]


class Framing(NamedTuple):
    """What is done with the ids of texts: a template around them, truncation, padding; None does nothing."""

    template: Template
    truncation: Truncation | None
    padding: Padding | None


def is_one_text(text: object) -> TypeGuard[Input]:
    """Whether an argument is one text, not several: also a list of Text and Special."""
    if isinstance(text, list | tuple):
        return bool(text) and isinstance(text[0], Text | Special)
    return not isinstance(text, Iterable) or isinstance(text, str | bytes)


def encoding_of(
    engine: Engine, framing: Framing, text: Input, pair: Input | None, special: str | AbstractSet[str]
) -> Encoding:
    """Return the encoding of a text or pair."""
    encoding = _unpadded(engine, framing, [text] if pair is None else [text, pair], special)
    return next(padded([encoding], framing.padding)) if framing.padding else encoding


def encodings_of(
    engine: Engine, framing: Framing, texts: Any, pairs: Any, special: str | AbstractSet[str]
) -> EncodingBatch:
    """Return the encodings of many texts, or of the pairs of two lists; an error names the number of its text."""
    firsts = as_list(texts, "texts")
    rows: list[list[Any]] = [[text] for text in firsts]
    if pairs is not None:
        if is_one_text(pairs):
            raise InputError(f"expected a list of {len(rows)} second texts, not {type(pairs).__name__}")
        seconds = as_list(pairs, "texts")
        if len(seconds) != len(firsts):
            raise InputError(f"expected as many second texts as first texts, not {len(firsts)} and {len(seconds)}")
        rows = [[first, second] for first, second in zip(firsts, seconds, strict=True)]
    found = []
    for number, row in enumerate(rows):
        try:
            found.append(_unpadded(engine, framing, row, special))
        except InputError as error:
            raise InputError(f"text {number}: {error}") from None
    filled = padded(found, framing.padding) if framing.padding else found
    return EncodingBatch(tuple(filled), tuple(range(len(rows))))


def _unpadded(engine: Engine, framing: Framing, texts: Sequence[Any], special: str | AbstractSet[str]) -> Encoding:
    return framed(framing.template, [_located(engine, text, special) for text in texts], framing.truncation)


def _located(engine: Engine, text: Any, special: str | AbstractSet[str]) -> Located:
    if not isinstance(text, str | list | tuple):
        hint = "; encode also accepts bytes" if isinstance(text, bytes) else ""
        raise InputError(f"expected text (str), not {type(text).__name__}{hint}")
    return engine.locate(text, special)
