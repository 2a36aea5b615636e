"""The steps of normalization, and what the tokenizers in use do, by name.

A normalizer is a tuple of steps; each takes the text that the one before it left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "NAMED",
    "Bert",
    "Form",
    "Lowercase",
    "Prepend",
    "Replace",
    "Step",
    "Steps",
    "Strip",
    "StripAccents",
]


@dataclass(frozen=True, slots=True)
class Bert:
    """What BERT does before it splits, in this order.

    clean_text: drop NUL, U+FFFD and control characters; every blank becomes a space.
    handle_chinese_chars: put spaces around every Chinese character.
    strip_accents: write characters as base and accents, and drop the accents; None: as `lowercase` says.
    lowercase: character by character.
    """

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True


@dataclass(frozen=True, slots=True)
class Form:
    """A normal form of Unicode."""

    form: Literal["NFC", "NFD", "NFKC", "NFKD"]


@dataclass(frozen=True, slots=True)
class Lowercase:
    """Write every character in lower case: one at a time, so that Σ is σ wherever it stands."""


@dataclass(frozen=True, slots=True)
class StripAccents:
    """Drop combining marks; those within a character (é) only where a decomposing form came before."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Put a text in the place of another, or with `regex` of every match of a pattern, spelled as a splitter's."""

    pattern: str
    content: str
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """Drop the blanks that a text begins (left) or ends with (right)."""

    left: bool = True
    right: bool = True


@dataclass(frozen=True, slots=True)
class Prepend:
    """Put a text in front of every text that is not empty."""

    text: str


Step: TypeAlias = Bert | Form | Lowercase | StripAccents | Replace | Strip | Prepend
Steps: TypeAlias = tuple[Step, ...]

# "bert-uncased" is that of bert-base-uncased and -chinese, "bert-cased" that of bert-base-cased.
NAMED: dict[str, Steps] = {
    "none": (),
    "bert-uncased": (Bert(),),
    "bert-cased": (Bert(lowercase=False),),
    "nfc": (Form("NFC"),),
    "nfd": (Form("NFD"),),
    "nfkc": (Form("NFKC"),),
    "nfkd": (Form("NFKD"),),
    "lowercase": (Lowercase(),),
    "strip-accents": (Form("NFD"), StripAccents()),
    "strip": (Strip(),),
}
