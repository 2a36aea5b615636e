"""Errors of the shapes: an InputError that is also what the original library raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from subwords.support.errors import InputError

T = TypeVar("T")


class UnknownTokenError(InputError, KeyError):
    """A token or id that the vocabulary lacks, where the original raises KeyError."""

    __str__ = Exception.__str__  # that of KeyError shows a repr


class OutOfRangeError(InputError, IndexError):
    """An id that is out of range, where the original raises IndexError."""


class TooLargeError(InputError, OverflowError):
    """An id outside 0 to 2**32 - 1, where the original raises OverflowError."""


class WrongTypeError(InputError, TypeError):
    """An argument of a wrong type, where the original raises TypeError."""


def as_items(value: Iterable[T], what: str) -> list[T]:
    """Return the items of a list; WrongTypeError for what has none."""
    try:
        return [*value]
    except TypeError:
        raise WrongTypeError(f"expected {what}, not {type(value).__name__}") from None


def check_type(name: str, value: object) -> None:
    """Raise WrongTypeError unless the value is an int."""
    if not isinstance(value, int):
        raise WrongTypeError(f"expected {name} as int, not {type(value).__name__}")


class FailedError(InputError, RuntimeError):
    """A text or a model with which the original raises RuntimeError."""
