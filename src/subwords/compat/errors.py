"""Errors of the shapes: an InputError that is also what the original library raises."""

from __future__ import annotations

from subwords.errors import InputError

__all__ = ["FailedError", "OutOfRangeError", "TooLargeError", "UnknownTokenError", "WrongTypeError"]


class UnknownTokenError(InputError, KeyError):
    """A token or id that the vocabulary lacks, where the original raises KeyError."""

    __str__ = Exception.__str__  # that of KeyError shows a repr


class OutOfRangeError(InputError, IndexError):
    """An id that is out of range, where the original raises IndexError."""


class TooLargeError(InputError, OverflowError):
    """An id that is no 32-bit unsigned integer, where the original raises OverflowError."""


class WrongTypeError(InputError, TypeError):
    """An argument of a wrong type, where the original raises TypeError."""


class FailedError(InputError, RuntimeError):
    """A text or a model with which the original raises RuntimeError."""
