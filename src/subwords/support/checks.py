"""Checks of public arguments: a wrong type or value is an InputError that names the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, field, fields
from functools import cache
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from subwords.support.errors import InputError, WrongTypeError

T = TypeVar("T")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise InputError unless the value is one of some strings."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"expected {name} to be one of {', '.join(choices)}, not {value!r:.60}")


def check_instance(name: str, value: object, kind: type) -> None:
    """Raise InputError unless the value is of a type."""
    if not isinstance(value, kind):
        raise InputError(f"expected {name} to be a {kind.__name__}, not {type(value).__name__} {value!r:.60}")


def check_flag(name: str, value: object) -> None:
    """Raise InputError unless the value is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"expected {name} to be True or False, not {value!r:.60}")


def check_integer(name: str, value: object, least: int, most: int) -> None:
    """Raise InputError unless the value is an integer from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"expected {name} to be an integer from {least} to {most}, not {value!r:.60}")


def check_string(name: str, value: object) -> None:
    """Raise InputError unless the value is a str without lone surrogates."""
    if not isinstance(value, str):
        raise InputError(f"expected {name} to be a str, not {type(value).__name__} {value!r:.60}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"expected {name} to be a str without lone surrogates, not {value!r:.60}")


def check_token(name: str, value: object) -> None:
    """Raise InputError unless the value is a non-empty str without lone surrogates."""
    if not isinstance(value, str) or not value:
        raise InputError(f"expected {name} to be a non-empty str, not {value!r:.60}")
    check_string(name, value)


def check_strings(name: str, value: Any) -> tuple[str, ...]:
    """Return the strings as a tuple; InputError unless they are an ordered collection of distinct, non-empty str."""
    unordered = isinstance(value, str | bytes | bytearray | Mapping | set | frozenset)
    if unordered or not isinstance(value, Iterable):
        raise InputError(f"expected {name} to be a list of str, not the {type(value).__name__} {value!r:.60}")
    found, seen = tuple(value), set[str]()
    for i, item in enumerate(found):
        check_token(f"{name}[{i}]", item)
        if item in seen:
            raise InputError(f"expected {name} without duplicates; {item!r:.60} occurs twice")
        seen.add(item)
    return found


def encode_text(text: str) -> bytes:
    """Return the UTF-8 bytes of a text; InputError with the position for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"invalid text: character {error.start} is the lone surrogate U+{ord(text[error.start]):04X}, which UTF-8 "
            "cannot encode"
        ) from None
    except AttributeError:
        raise InputError(f"expected text (str or bytes), not {type(text).__name__}") from None


def as_list(items: Iterable[T], what: str) -> list[T]:
    """Return the items of an ordered iterable; InputError names what was expected."""
    if not isinstance(items, (Mapping, AbstractSet)):
        try:
            found = iter(items)
        except TypeError:  # also raised by arrays without dimensions
            pass
        else:
            return list(found)
    raise InputError(f"expected a list or another ordered iterable of {what}, not {type(items).__name__}")


def as_items(value: Iterable[T], what: str) -> list[T]:
    """Return the items of a list; WrongTypeError for what has none."""
    try:
        return [*value]
    except TypeError:
        raise WrongTypeError(f"expected {what}, not {type(value).__name__}") from None


def is_column(value: object) -> bool:
    """Whether a value is a column of Arrow, pandas, Polars or another library with Arrow's interface."""
    return hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def refuse_given(what: str, **options: object) -> None:
    """Raise InputError for an option that is not None."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} is not an option of {what}: leave it out")


# ---------------------------------------------------------------------------------------------------------------------
# Options: fields of dataclasses with their limits and a line of help, of which the command line is made.


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
        types = [hint for hint in _help_parts(hints[one.name]) if hint is not NoneType]
        choices = tuple(name for hint in types if get_origin(hint) is Literal for name in get_args(hint))
        base = str if choices or len(types) > 1 else list if get_origin(types[0]) else types[0]
        default = None if one.default is MISSING else one.default
        found.append(Option(one.name, base, default, choices=choices, **one.metadata))
    return tuple(found)


def _help_parts(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union."""
    return (hint,) if get_origin(hint) is Literal or not get_args(hint) or not _is_union(hint) else get_args(hint)


def _is_union(hint: Any) -> bool:
    return type(hint).__name__ in ("UnionType", "_UnionGenericAlias", "Union")
