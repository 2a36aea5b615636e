"""What can go wrong: errors are a `SubwordsError`, of five kinds, and warnings a `SubwordsWarning`.

A message says what was expected, what came, and where; what to do about it when that is not plain.
"""

from __future__ import annotations

__all__ = ["CorpusError", "FormatError", "InputError", "SubwordsError", "SubwordsWarning", "TrainingError"]


class SubwordsError(Exception):
    """Base of all errors of this package."""


class InputError(SubwordsError, ValueError):
    """An argument, a text or an id that cannot be used as given."""


class CorpusError(SubwordsError):
    """Text that cannot be read: a missing or unreadable file, no text at all, invalid UTF-8."""


class FormatError(SubwordsError):
    """A tokenizer or counts file whose content is damaged or not understood."""


class TrainingError(SubwordsError):
    """A vocabulary that cannot be learned from these counts with these settings."""


class SubwordsWarning(UserWarning):
    """Something that works, but not as one would expect."""
