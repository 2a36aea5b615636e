"""Checks of public arguments: a wrong type or value is an InputError that names the argument."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from subwords.support.errors import InputError, WrongTypeError

T = TypeVar("T")
LARGEST_FLOAT = sys.float_info.max
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise InputError unless the value is one of some strings."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"unknown {name}={value!r:.60}: expected one of {', '.join(choices)}")


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


def as_index(index: object, what: str) -> int:
    """Return an integer of any type as an int; InputError names what was expected."""
    try:
        if not isinstance(index, bool):
            return operator.index(index)  # type: ignore[arg-type]
    except TypeError:  # of an array as well
        pass
    raise InputError(f"expected {what}, not {type(index).__name__} {index!r:.60}")


MOST_GROWN = 1 << 20


def check_growth(what: str, before: int, after: int) -> None:
    """Raise InputError if a normalizer or a decoder makes a text far longer than any real one does (11 times)."""
    if after > 64 * before + MOST_GROWN:
        raise too_much_text(what, after)


def too_much_text(what: str, size: int) -> InputError:
    """Return the error for a text that a normalizer or a decoder makes too long."""
    return InputError(
        f"text too long after the {what}: {size:,} bytes or characters; leave out steps that lengthen text"
    )


def check_number(name: str, value: object, least: float, most: float = LARGEST_FLOAT) -> float:
    """Return a finite number; InputError unless it is one from `least` to `most`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
        return float(value)
    limits = f"of at least {least}" if most == LARGEST_FLOAT else f"from {least} to {most}"
    raise InputError(f"expected {name} to be a number {limits}, not {value!r:.60}")


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


def exact(text: T) -> T:
    """Return a text as str or bytes if it is of a subclass, whose methods may say anything; other objects as they are.

    >>> class Shouted(str):
    ...     def encode(self):
    ...         return self.upper()
    >>> exact(Shouted("a")).encode()
    b'a'
    """
    if isinstance(text, str):
        return text if type(text) is str else str.__str__(text)  # type: ignore[return-value]
    if isinstance(text, bytes) and type(text) is not bytes:
        return bytes.__getitem__(text, slice(None))  # type: ignore[return-value]
    return text


def encode_text(text: str) -> bytes:
    """Return the UTF-8 bytes of a text; InputError with the position for a lone surrogate."""
    try:
        return str.encode(text)
    except UnicodeEncodeError as error:
        raise InputError(
            f"invalid text: character {error.start} is the lone surrogate U+{ord(text[error.start]):04X}, which UTF-8 "
            "cannot encode"
        ) from None
    except TypeError:
        raise InputError(f"expected text (str), not {type(text).__name__}") from None


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


def bytes_of(amount: int | str) -> int:
    """Return a number of bytes; InputError if it is not positive, or if a unit is not known.

    >>> from subwords.support.checks import bytes_of
    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(4096)
    (2000000000, 1610612736, 4096)
    """
    found = 0
    if isinstance(amount, str) and (match := _AMOUNT.fullmatch(amount)):
        found = int(float(match[1]) * _UNITS[(match[2] or "").upper()])
    elif isinstance(amount, int) and not isinstance(amount, bool):
        found = amount
    if not 0 < found < 1 << 62:
        raise InputError(f'expected a number of bytes, or an amount such as "2GB" or "512MiB", not {amount!r:.60}')
    return found


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
    """A field. kind: bool, int, float, str, list for several str, or object if there are several types.

    choices: the only values; () for any. optional: it may be None.
    """

    name: str
    kind: type
    default: Any
    text: str
    choices: tuple[str, ...]
    optional: bool
    least: float | None
    most: float | None
    metavar: str | None


def option(default: Any, text: str, *, least: float | None = None, most: float | None = None, metavar: str = "") -> Any:
    """Return a field of a dataclass for `check_options`. text: its line of help at the command line.

    least, most: its limits; without a `most`, integers are below 2**63. least=1 refuses an empty str.
    """
    from dataclasses import field  # which imports `inspect`: every start of a process needs the checks above

    return field(default=default, metadata={"text": text, "least": least, "most": most, "metavar": metavar or None})


@cache
def options_of(kind: type) -> tuple[Option, ...]:
    """Return the fields of a dataclass that have a line of help."""
    from dataclasses import MISSING, fields

    hints, found = get_type_hints(kind), list[Option]()
    for one in fields(kind):
        if "text" not in one.metadata:
            continue
        parts = _help_parts(hints[one.name])
        types = [hint for hint in parts if hint is not NoneType]
        choices = tuple(name for hint in types if get_origin(hint) is Literal for name in get_args(hint))
        base = str if choices else object if len(types) > 1 else list if get_origin(types[0]) else types[0]
        default = None if one.default is MISSING else one.default
        found.append(Option(one.name, base, default, choices=choices, optional=NoneType in parts, **one.metadata))
    return tuple(found)


def check_options(value: Any) -> None:
    """Raise InputError for an option of a dataclass with a wrong type or outside its limits.

    Several str are stored as a tuple, because an iterator can be read only once.
    """
    kind: type = type(value)
    for one in options_of(kind):
        name, found, least = one.name, getattr(value, one.name), one.least
        if found is None and one.optional:
            continue
        if one.choices:
            check_choice(name, found, one.choices)
        elif one.kind is bool:
            check_flag(name, found)
        elif one.kind is int:
            check_integer(name, found, int(least or 0), 2**63 - 1 if one.most is None else int(one.most))
        elif one.kind is float:
            check_number(name, found, least or 0, LARGEST_FLOAT if one.most is None else one.most)
        elif one.kind is list:
            object.__setattr__(value, name, check_strings(name, found))
        elif one.kind is str:
            (check_token if least else check_string)(name, found)


def _help_parts(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union."""
    return (hint,) if get_origin(hint) is Literal or not get_args(hint) or not _is_union(hint) else get_args(hint)


def _is_union(hint: Any) -> bool:
    return type(hint).__name__ in ("UnionType", "_UnionGenericAlias", "Union")
