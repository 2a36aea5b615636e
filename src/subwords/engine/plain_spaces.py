"""Models that write spaces as U+2581, run on the text itself: their tokens with spaces, and no normalizer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subwords.components.model import Model
from subwords.components.normalizer import Prepend, Replace, SentencePiece, Steps
from subwords.components.space_rule import SPACE, parting
from subwords.components.splitter import Rule, Split
from subwords.encode.batch import encode_places, read_places
from subwords.encode.encoder import Encoder
from subwords.encode.fast_path import FastPath
from subwords.encode.segmenter import Segmenter
from subwords.engine.find_strings import MOST_IN_REGEX, RegexFinder
from subwords.families import segmenter_of
from subwords.results.token_batch import TokenBatch
from subwords.split.splitter import SplitterEngine
from subwords.support.checks import encode_text

__all__ = ["PlainSpaces", "plain_spaces"]

# Patterns without spaces, ranges, flags, and escapes of letters: such a pattern treats a space and U+2581 alike,
# except where it spells U+2581.
_LITERAL = re.compile(r"(?:[^\\ ?-]|\\[^\w ])*", re.DOTALL)


class PlainSpaces:
    """Encodes texts without U+2581: the same ids as with the normalizer, 2 to 3 times as fast.

    The normalizer only inserts a space before the text and writes spaces as U+2581. If no token has a space, the same
    tokens with spaces for U+2581 match the text before that step.
    """

    def __init__(self, segmenter: Segmenter, rule: Rule, prefix: bytes, symbols: Sequence[str]) -> None:
        self.segmenter = segmenter
        self.prefixed = bool(prefix)
        self._encoder = Encoder(segmenter, SplitterEngine(rule), prefixed=self.prefixed, marked=True)
        self._prefix = prefix
        # Most texts have no user-defined piece: then the step that isolates these can be left out.
        self._symbols = RegexFinder(symbols) if symbols else None
        self._without = self._encoder
        if symbols:
            self._without = Encoder(segmenter, SplitterEngine(rule[1:]), prefixed=self.prefixed, marked=True)

    def encode(self, text: str, threads: int | None) -> NDArray[np.uint32]:
        """Return the ids of a text."""
        return self._encoder_of(text).encode(self._prefix + encode_text(text) if text else b"", threads)

    def fast_path(self) -> FastPath | None:
        """Return functions of short texts without U+2581 and user-defined pieces; None if there is no fast path."""
        found = self._without.fast_path()
        return found and found.unless(self._symbols)

    def encode_batch(self, texts: Sequence[str], threads: int | None) -> TokenBatch:
        """Return the ids of many texts."""
        encoder = self._encoder_of("\n".join(texts) if self._symbols else "")
        if encoder.has_fast_path and (places := read_places(texts, marked=True)):
            return encode_places(encoder, places, threads)
        return encoder.encode_batch([self._prefix + encode_text(text) if text else b"" for text in texts], threads)

    def _encoder_of(self, text: str) -> Encoder:
        return self._encoder if self._symbols is not None and self._symbols.occurs(text) else self._without


def plain_spaces(model: Model, steps: Steps, rule: Rule) -> PlainSpaces | None:
    """Return the encoder of a model without its normalizer; None if the ids might differ.

    steps, rule: the normalizer and the splitter of the tokenizer.
    """
    prefix, finer = _prefix(steps), rule or model.space_rule
    if prefix is None or not all(map(_may_change, finer)) or b" " in model.vocab.data.tobytes():
        return None
    made = model.with_spaces() if model.vocab.find([SPACE.encode()]) else None
    if made is None:
        return None
    symbols = [model.vocab[index].decode() for index in sorted(model.user_ids)]
    known = len(symbols) <= MOST_IN_REGEX and finer[:1] == parting(symbols)
    return PlainSpaces(segmenter_of(made), tuple(map(_with_spaces, finer)), prefix, symbols if known else [])


def _prefix(steps: Steps) -> bytes | None:
    """Return what is inserted before a text if, besides that, spaces only become U+2581; otherwise None."""
    match steps:
        case (SentencePiece(b"", prefix, False, True, False, symbols),):
            return None if any(" " in symbol or SPACE in symbol for symbol in symbols) else b" " * prefix
        case (Prepend(text), Replace(" ", "▁", False)) if text == SPACE:
            return b" "
        case (Replace(" ", "▁", False), Prepend(text)) if text == SPACE:
            return b" "
        case (Replace(" ", "▁", False),):
            return b""
    return None


def _may_change(step: object) -> bool:
    """Whether a step splits text with spaces as it splits text with U+2581 if its pattern has spaces for U+2581."""
    return isinstance(step, Split) and _LITERAL.fullmatch(step.pattern) is not None


def _with_spaces(step: object) -> Split:
    assert isinstance(step, Split)
    return replace(step, pattern=step.pattern.replace(SPACE, " "))
