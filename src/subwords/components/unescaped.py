"""Decoders for tokenizers whose normalizer or splitter writes spaces as U+2581."""

from __future__ import annotations

from collections.abc import Sequence

from subwords.components import normalizer as normalizers
from subwords.components import splitter as splitters
from subwords.components.decoder import DecoderSequence, DecoderStep, Replace, Strip
from subwords.components.space_rule import SPACE

__all__ = ["unescaped", "writes_prefix", "writes_spaces"]


def writes_spaces(rule: splitters.Rule, steps: normalizers.Steps) -> bool:
    """Whether the normalizer or the splitter replaces spaces by U+2581, or inserts one."""
    changing = [*steps, *(step for step in rule if not isinstance(step, splitters.Split))]
    return any(isinstance(step, normalizers.SentencePiece) or SPACE in repr(step) for step in changing)


def writes_prefix(rule: splitters.Rule, steps: normalizers.Steps) -> bool:
    """Whether the normalizer or the splitter inserts U+2581 before a text."""
    for step in (*steps, *rule):
        match step:
            case normalizers.Prepend(text) | splitters.Prefix(text) if text == SPACE:
                return True
            case normalizers.SentencePiece(add_dummy_prefix=True, whitespace_suffix=False):
                return True
    return False


def unescaped(rule: splitters.Rule, steps: normalizers.Steps, joining: Sequence[DecoderStep]) -> DecoderSequence:
    """Return the decoder that joins tokens to one text, writes U+2581 as a space, and removes what was inserted.

    joining: the steps that make one text of the tokens.

    >>> from subwords.components.decoder import Fuse
    >>> unescaped(splitters.NAMED["metaspace"], (), [Fuse()]).steps[1:]
    (Replace(pattern='▁', content=' ', regex=False), Strip(content=' ', start=1, stop=0))
    """
    suffix = any(isinstance(step, normalizers.SentencePiece) and step.whitespace_suffix for step in steps)
    start, stop = int(writes_prefix(rule, steps)), int(suffix)
    stripped = [Strip(" ", start, stop)] if start or stop else []
    return DecoderSequence((*joining, Replace(SPACE, " "), *stripped))
