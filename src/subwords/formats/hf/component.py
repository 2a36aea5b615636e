"""A component of a tokenizer.json: what a row of a table of types is, and the fields that several have.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from subwords.formats.json_node import Node

SCHEMES: tuple[Any, ...] = ("always", "first", "never")  # of a Metaspace
MOST_CHARACTERS = 2**63 - 1  # characters; longer than any token


class Field(NamedTuple):
    """How the value of a key is read, and what counts where the key is absent."""

    read: Callable[[Node], Any]
    default: Any = None


@dataclass(frozen=True)
class Component:
    """A type of object: what is made of its fields, in their order by key.

    If that is a class, its attributes have this order too, so the row also says how it is written.
    """

    made: Callable[..., Any]
    fields: Mapping[str, Field] = field(default_factory=dict)

    def __call__(self, node: Node) -> Any:
        """Return what an object means; FormatError, with the place, for the first field that is not as expected."""
        return self.made(*(read(node.get(key, default)) for key, (read, default) in self.fields.items()))


Types: TypeAlias = Mapping[str, Callable[[Node], Any]]  # by their names in a file


def type_of(node: Node, types: Types, untyped: Mapping[str, str]) -> str | None:
    """Return the type of an object; None if it has none of these.

    As in HF, an unknown or missing type is told by the fields. untyped: the fields that tell each type, in the order in
    which HF tries them.
    """
    kind = node["type"].value
    if isinstance(kind, str) and kind in types:
        return kind
    return next((name for name, keys in untyped.items() if node.object().keys() >= {*keys.split()}), None)


def as_sequence(nodes: list[Any], key: str) -> dict[str, Any] | None:
    """Return one component that does what several do, one after the other; None for none."""
    return nodes[0] if len(nodes) == 1 else {"type": "Sequence", key: nodes} if nodes else None


def maybe(read: Callable[[Node], Any]) -> Field:
    """Return a field that may be null."""
    return Field(lambda node: None if node.value is None else read(node))


def text_or_regex(node: Node) -> tuple[str, bool]:
    """Return a text, or a regex as the file has it, and which of them it is."""
    if not isinstance(node.value, dict) or len(node.value) != 1 or not {"String", "Regex"} & set(node.value):
        raise node.wrong("an object with a String or a Regex")
    (kind,) = node.value
    return node[kind].string(), kind == "Regex"


def pattern_node(text: str, regex: bool) -> dict[str, str]:
    """Return the JSON object of a text, or of a regex."""
    from subwords.spec.oniguruma import to_oniguruma

    return {"Regex": to_oniguruma(text)} if regex else {"String": text}


FLAG, TEXT, CHARACTER, PATTERN = Field(Node.boolean), Field(Node.string), Field(Node.character), Field(text_or_regex)
COUNT = Field(lambda node: node.integer(MOST_CHARACTERS))


def byte_level(*, add_prefix_space: bool = True, use_regex: bool = True) -> dict[str, Any]:
    """Return a ByteLevel, which three of the components may be."""
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def written_as(step: Any, types: Types) -> dict[str, Any]:
    """Return the JSON object of a step, by the row of `types` that makes its class."""
    rows = [(name, row) for name, row in types.items() if isinstance(row, Component) and row.made is type(step)]
    name, row = rows[-1]  # "BertNormalizer", not "Bert"
    return {
        "type": name,
        **{key: getattr(step, each) for key, each in zip(row.fields, step.__match_args__, strict=True)},
    }
