"""Options: fields of dataclasses with their limits and a line of help, of which the command line is made."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from functools import cache
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

__all__ = ["Option", "option", "options_of"]


class Option(NamedTuple):
    """A field. kind: bool, int, float, str, or list for several str. choices: the only values; () for any."""

    name: str
    kind: type
    default: Any
    text: str
    choices: tuple[str, ...]
    least: float | None
    most: float | None
    metavar: str | None


def option(default: Any, text: str, *, least: float | None = None, most: float | None = None, metavar: str = "") -> Any:
    """Return a field of a dataclass. text: its line of help at the command line. least, most: its limits there."""
    return field(default=default, metadata={"text": text, "least": least, "most": most, "metavar": metavar or None})


@cache
def options_of(kind: type) -> tuple[Option, ...]:
    """Return the fields of a dataclass that have a line of help."""
    hints, found = get_type_hints(kind), list[Option]()
    for one in fields(kind):
        if "text" not in one.metadata:
            continue
        types = [hint for hint in _parts(hints[one.name]) if hint is not NoneType]
        choices = tuple(name for hint in types if get_origin(hint) is Literal for name in get_args(hint))
        base = str if choices or len(types) > 1 else list if get_origin(types[0]) else types[0]
        default = None if one.default is MISSING else one.default
        found.append(Option(one.name, base, default, choices=choices, **one.metadata))
    return tuple(found)


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union."""
    return (hint,) if get_origin(hint) is Literal or not get_args(hint) or not _is_union(hint) else get_args(hint)


def _is_union(hint: Any) -> bool:
    return type(hint).__name__ in ("UnionType", "_UnionGenericAlias", "Union")
