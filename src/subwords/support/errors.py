"""The exceptions of the package: `SubwordsError` and its four subclasses, and the warning `SubwordsWarning`.

A message states what was expected, what came, where, and what to do if that is not obvious.
"""

from __future__ import annotations

import _thread
import sys


class SubwordsError(Exception):
    """Base class of all errors of this package."""


class InputError(SubwordsError, ValueError):
    """An invalid argument, text or id."""


class MissingName(InputError, AttributeError):  # noqa: N818  # `hasattr` needs an AttributeError
    """A name that is not there, or an attribute that cannot be set: an InputError like others."""


class CorpusError(SubwordsError):
    """A corpus that cannot be read: a missing or unreadable file, no text, invalid UTF-8."""


class FormatError(SubwordsError):
    """A tokenizer or counts file with damaged or unsupported content."""


class TrainingError(SubwordsError):
    """Training that is impossible with these counts and settings."""


class SubwordsWarning(UserWarning):
    """Something that works, but perhaps not as expected."""


# What the shapes of other libraries raise: an InputError that is also what the original raises.


class UnknownTokenError(InputError, KeyError):
    """A token or id that the vocabulary lacks, where the original raises KeyError."""

    __str__ = Exception.__str__  # that of KeyError shows a repr


class OutOfRangeError(InputError, IndexError):
    """An id that is out of range, where the original raises IndexError."""


class TooLargeError(InputError, OverflowError):
    """An id outside 0 to 2**32 - 1, where the original raises OverflowError."""


class WrongTypeError(InputError, TypeError):
    """An argument of a wrong type, where the original raises TypeError."""


class FailedError(InputError, RuntimeError):
    """A text or a model with which the original raises RuntimeError."""


# Tracebacks and pickles say `subwords.InputError`, the name that users import.
for _public in (SubwordsError, InputError, CorpusError, FormatError, TrainingError, SubwordsWarning):
    _public.__module__ = "subwords"


def in_main_interpreter() -> bool:
    """Return whether this is the main interpreter of the process; ImportError in another one that NumPy refuses."""
    if sys.implementation.name != "cpython":
        return True
    known = getattr(_thread, "_is_main_interpreter", None)  # since Python 3.12
    if known is None:
        from ctypes import c_int64, c_void_p, pythonapi

        current, number = pythonapi["PyInterpreterState_Get"], pythonapi["PyInterpreterState_GetID"]
        current.restype, number.argtypes, number.restype = c_void_p, (c_void_p,), c_int64
    main: bool = known() if known else number(current()) == 0
    if not main:
        try:
            import numpy  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "expected the main interpreter: NumPy, which subwords needs, cannot be imported in this "
                "sub-interpreter. Use threads or processes instead"
            ) from error
    return main
