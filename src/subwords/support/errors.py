"""The exceptions of the package: `SubwordsError` and its four subclasses, and the warning `SubwordsWarning`.

A message states what was expected, what came, where, and what to do if that is not obvious.
"""

from __future__ import annotations

import _thread
import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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


class _MissingFile(FileNotFoundError):  # noqa: N818
    __str__ = Exception.__str__  # that of OSError shows the number of the error


class MissingArgument(InputError, _MissingFile):  # noqa: N818
    """A file that is not there, where an InputError is documented."""


class MissingCorpus(CorpusError, _MissingFile):  # noqa: N818
    """A corpus that is not there."""


class MissingFile(FormatError, _MissingFile):  # noqa: N818
    """A tokenizer file, or another one that is read, that is not there."""


def missing(kind: type[SubwordsError], message: str, path: object) -> SubwordsError:
    """Return an error of a kind that is also a FileNotFoundError, for a file that is not there."""
    kinds: dict[type[SubwordsError], type[OSError]] = {
        InputError: MissingArgument,
        CorpusError: MissingCorpus,
        FormatError: MissingFile,
    }
    found = kinds[kind](message)
    found.errno, found.filename = errno.ENOENT, str(path)
    assert isinstance(found, SubwordsError)
    return found


def unreadable(kind: type[SubwordsError], message: str, error: OSError, path: object = None) -> SubwordsError:
    """Return an error of a kind for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return missing(kind, message, error.filename if path is None else path)
    return kind(message)


@contextmanager
def readable(path: object, kind: type[SubwordsError] = InputError, failed: str = "") -> Iterator[None]:
    """Raise an error of a kind for a file that cannot be read in this block. failed: the message without the reason."""
    try:
        yield
    except OSError as error:
        if isinstance(error, SubwordsError):
            raise
        what = failed or f"cannot read file {path}"
        raise unreadable(kind, f"{what}: {error.strerror or error}", error, path) from None


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


def checked_reason(error: BaseException) -> str:
    """Return the first line of an error of a library; raise it again if it is an interruption."""
    # PanicException, of libraries in Rust, derives from BaseException.
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return f"{type(error).__name__}: {error!s:.500}".splitlines()[0].rstrip(" :")
