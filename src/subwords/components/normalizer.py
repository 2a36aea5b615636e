"""The steps of normalization, and what the tokenizers in use do, by name.

A normalizer is a tuple of steps; each takes the text that the one before it left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from subwords.components.precompiled_map import write_charsmap
from subwords.unicode.tables import WHITE_SPACE

__all__ = [
    "NAMED",
    "SPACED",
    "STEPS",
    "STRIPPED",
    "Bert",
    "Form",
    "Lowercase",
    "Precompiled",
    "Prepend",
    "Replace",
    "SentencePiece",
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


@dataclass(frozen=True, slots=True)
class Precompiled:
    """Replace strings by SentencePiece's precompiled map, as HF does it: grapheme by grapheme.

    A grapheme of at most 5 bytes becomes what the shortest string becomes that it begins with; otherwise each of its
    characters is replaced for itself.
    """

    charsmap: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """What SentencePiece does to a text before it looks for pieces.

    charsmap: the longest of its strings at every place is replaced; bytes that are not UTF-8 become U+FFFD.
    remove_extra_whitespaces: drop spaces at the begin, at the end, and behind a space.
    add_dummy_prefix: put a space in front, or with `whitespace_suffix` behind the text.
    escape_whitespaces: write U+2581 for spaces.
    user_symbols: texts that stay as they are, the longest at a place, before the map is asked.
    """

    charsmap: bytes = field(default=b"", repr=False)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    whitespace_suffix: bool = False
    user_symbols: tuple[str, ...] = ()


Step: TypeAlias = Bert | Form | Lowercase | StripAccents | Replace | Strip | Prepend | Precompiled | SentencePiece
Steps: TypeAlias = tuple[Step, ...]
STEPS: tuple[type, ...] = get_args(Step)

# All blanks are spaces, and otherwise text is as it is.
_BLANKS = write_charsmap({chr(code): " " for code in sorted(WHITE_SPACE) if chr(code) != " "})

# "sentencepiece" has no normal form: for that of T5 and others, load one of their files.
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
    "sentencepiece": (SentencePiece(_BLANKS),),
}

# The same in HF's steps: the text is the same always, its places are HF's.
SPACED: Steps = (Replace(r"\s+", " ", True), Replace(r"\A |[ ▁]+$", "", True), Prepend("▁"), Replace(" ", "▁"))
# And but for texts that end with U+2581, which SentencePiece takes for a space.
STRIPPED: Steps = (SPACED[0], Strip(), *SPACED[2:])
