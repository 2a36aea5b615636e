"""Read and write padding and truncation of a tokenizer.json.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

from typing import Any

from subwords.formats.hf.component import TEXT, Component, Field, maybe
from subwords.formats.json_node import Node
from subwords.spec.padding import LARGEST_ID, LONGEST_LENGTH, Padding, Truncation

_STRATEGIES: dict[str, Any] = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
_TOKENS = Field(lambda node: node.integer(LONGEST_LENGTH))
_SIDE = Field(lambda node: node.choice(("Left", "Right")).lower(), "Right")


def _fixed(node: Node) -> int | None:
    if node.value == "BatchLongest":
        return None
    if not isinstance(node.value, dict) or list(node.value) != ["Fixed"]:
        raise node.wrong('"BatchLongest" or {"Fixed": length}')
    return node["Fixed"].integer(LONGEST_LENGTH)


_PADDING = Component(
    lambda length, side, multiple, index, type_id, token: Padding(
        length, side, multiple_of=multiple, pad_id=index, pad_type_id=type_id, pad_token=token
    ),
    {
        "strategy": Field(_fixed),
        "direction": _SIDE,
        "pad_to_multiple_of": maybe(_TOKENS.read),
        **dict.fromkeys(("pad_id", "pad_type_id"), Field(lambda node: node.integer(LARGEST_ID))),
        "pad_token": TEXT,
    },
)
_STRATEGY = Field(lambda node: _STRATEGIES[node.choice(tuple(_STRATEGIES))])
_TRUNCATION = Component(
    lambda side, most, strategy, stride: Truncation(most, strategy, stride=stride, direction=side),
    {"direction": _SIDE, "max_length": _TOKENS, "strategy": _STRATEGY, "stride": _TOKENS},
)


def from_padding(node: Node) -> Padding:
    """Return the padding of a file; FormatError with the place for what is not as expected."""
    found: Padding = _PADDING(node)
    return found


def from_truncation(node: Node) -> Truncation:
    """Return the truncation of a file; FormatError with the place for what is not as expected."""
    found: Truncation = _TRUNCATION(node)
    return found


def to_padding(padding: Padding | None) -> dict[str, Any] | None:
    """Return the `padding` of a file."""
    if padding is None:
        return None
    strategy, side = "BatchLongest" if padding.length is None else {"Fixed": padding.length}, padding.direction
    index, token = padding.filler
    values = strategy, (side or "right").title(), padding.multiple_of, index, padding.pad_type_id, token
    return dict(zip(_PADDING.fields, values, strict=True))


def to_truncation(truncation: Truncation | None) -> dict[str, Any] | None:
    """Return the `truncation` of a file."""
    if truncation is None:
        return None
    side, strategy = truncation.direction.title(), truncation.strategy.title().replace("_", "")
    return dict(zip(_TRUNCATION.fields, (side, truncation.max_length, strategy, truncation.stride), strict=True))
