"""Merges that cut no character: which bytes may join, so that a token is whole characters or a part of one (B8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import MergeRules

__all__ = ["character_rules"]

_ANY, _LOW, _MIDDLE, _HIGH = range(0x80, 0xC0), range(0x80, 0x90), range(0x90, 0xA0), range(0xA0, 0xC0)
_TAILS = (_LOW, _MIDDLE, _HIGH)  # bytes that end or continue a character
_WHOLE, _OTHER = "whole", "other"
# What is missing from the first bytes of a character: the range of each byte (Unicode 16.0, table 3-7).
_HEADS: dict[range, tuple[range, ...]] = {
    range(0xC2, 0xE0): (_ANY,),
    range(0xE0, 0xE1): (_HIGH, _ANY),
    range(0xE1, 0xED): (_ANY, _ANY),
    range(0xED, 0xEE): (range(0x80, 0xA0), _ANY),
    range(0xEE, 0xF0): (_ANY, _ANY),
    range(0xF0, 0xF1): (range(0x90, 0xC0), _ANY, _ANY),
    range(0xF1, 0xF4): (_ANY, _ANY, _ANY),
    range(0xF4, 0xF5): (_LOW, _ANY, _ANY),
}
_Class = str | range | tuple[range, ...]  # whole, other; a tail; what is missing


def character_rules(tokens: Sequence[bytes]) -> MergeRules:
    """Return rules by which tokens of bytes merge only within a character, or as whole characters.

    >>> rules = character_rules([b"a", b"\\xc3", b"\\xa9"])
    >>> (rules.joined.reshape(12, 12)[np.ix_(rules.classes, rules.classes)] != APART).tolist()
    [[True, False, False], [False, False, True], [False, False, False]]
    """
    numbers = {kind: number for number, kind in enumerate(_classes())}
    found = np.fromiter((numbers[_class_of(token)] for token in tokens), np.uint8, len(tokens))
    lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
    return MergeRules(lengths, found, _joined_classes(), np.zeros(0, np.int32))


@cache
def _classes() -> tuple[_Class, ...]:
    missing = {rest[k:] for rest in _HEADS.values() for k in range(len(rest))}
    return (_WHOLE, _OTHER, *_TAILS, *sorted(missing, key=lambda rest: (len(rest), rest[0].start, rest[0].stop)))


@cache
def _joined_classes() -> NDArray[np.uint8]:
    kinds = _classes()
    return np.array(
        [
            layout.APART if (kind := _joined(left, right)) is None else kinds.index(kind)
            for left in kinds
            for right in kinds
        ],
        np.uint8,
    )


def _joined(left: _Class, right: _Class) -> _Class | None:
    """Return the class of two tokens together, None if they must not merge."""
    if left == right == _WHOLE:
        return _WHOLE
    if isinstance(left, tuple) and isinstance(right, range) and right.start in left[0] and right[-1] in left[0]:
        return left[1:] or _WHOLE
    return None


def _class_of(token: bytes) -> _Class:
    try:
        token.decode()
    except UnicodeDecodeError:
        pass
    else:
        return _WHOLE if token else _OTHER
    kind: _Class | None = next((rest for first, rest in _HEADS.items() if token[0] in first), None)
    if len(token) == 1 and kind is None:
        return next((tail for tail in _TAILS if token[0] in tail), _OTHER)
    for byte in token[1:]:
        kind = None if kind is None else _joined(kind, next((tail for tail in _TAILS if byte in tail), _OTHER))
    return _OTHER if kind is None else kind
