"""Read and write the padding and truncation of a tokenizer.json."""

from __future__ import annotations

from typing import Any, Literal

from subwords.components.padding import LARGEST, LONGEST, Padding, Truncation
from subwords.formats.json_node import Node

__all__ = ["from_padding", "from_truncation", "to_padding", "to_truncation"]

STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


def from_padding(node: Node) -> Padding | None:
    """Return the padding of a file, None for null; FormatError if invalid.

    >>> value = {"strategy": {"Fixed": 8}, "pad_id": 1, "pad_type_id": 0, "pad_token": "<pad>"}
    >>> from_padding(Node("a.json", "padding", value)).length
    8
    """
    if node.value is None:
        return None
    strategy, multiple = node["strategy"], node["pad_to_multiple_of"]
    length = None
    if strategy.value != "BatchLongest":
        if not isinstance(strategy.value, dict) or list(strategy.value) != ["Fixed"]:
            raise strategy.wrong('"BatchLongest" or {"Fixed": length}')
        length = strategy["Fixed"].integer(LONGEST)
    return Padding(
        length=length,
        direction=_direction(node),
        multiple_of=None if multiple.value is None else multiple.integer(LONGEST),
        pad_id=node["pad_id"].integer(LARGEST),
        pad_type_id=node["pad_type_id"].integer(LARGEST),
        pad_token=node["pad_token"].string(),
    )


def to_padding(padding: Padding | None) -> dict[str, Any] | None:
    """Return the `padding` of a file."""
    if padding is None:
        return None
    return {
        "strategy": "BatchLongest" if padding.length is None else {"Fixed": padding.length},
        "direction": padding.direction.title(),
        "pad_to_multiple_of": padding.multiple_of,
        "pad_id": padding.pad_id,
        "pad_type_id": padding.pad_type_id,
        "pad_token": padding.pad_token,
    }


def from_truncation(node: Node) -> Truncation | None:
    """Return the truncation of a file, None for null; FormatError if invalid.

    >>> value = {"direction": "Left", "max_length": 512, "strategy": "OnlyFirst", "stride": 0}
    >>> from_truncation(Node("a.json", "truncation", value)).strategy
    'only_first'
    """
    if node.value is None:
        return None
    strategy: Any = STRATEGIES[node["strategy"].choice(tuple(STRATEGIES))]
    lengths = node["max_length"].integer(LONGEST), node["stride"].integer(LONGEST)
    return Truncation(lengths[0], strategy, lengths[1], _direction(node))


def to_truncation(truncation: Truncation | None) -> dict[str, Any] | None:
    """Return the `truncation` of a file."""
    if truncation is None:
        return None
    return {
        "direction": truncation.direction.title(),
        "max_length": truncation.max_length,
        "strategy": truncation.strategy.title().replace("_", ""),
        "stride": truncation.stride,
    }


def _direction(node: Node) -> Literal["left", "right"]:
    found = node.get("direction", "Right").choice(("Left", "Right"))
    return "left" if found == "Left" else "right"
