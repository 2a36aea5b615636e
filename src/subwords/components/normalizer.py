"""The steps of normalization, and the normalizers of well-known tokenizers by name.

A normalizer is a tuple of steps; each changes the result of the previous one.
"""

from __future__ import annotations

from base64 import b85decode
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args
from zlib import decompress

__all__ = [
    "NAMED",
    "SPACED",
    "STEPS",
    "STRIPPED",
    "Bert",
    "ByteLevel",
    "Form",
    "Lowercase",
    "Nmt",
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
    """BERT's normalization, in this order.

    clean_text: remove NUL, U+FFFD and control characters; replace whitespace by spaces.
    handle_chinese_chars: insert a space before and after every Chinese character.
    strip_accents: decompose characters (NFD) and remove nonspacing marks; None: the value of `lowercase`.
    lowercase: character by character.
    """

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True


@dataclass(frozen=True, slots=True)
class ByteLevel:
    """Replace every byte by its character in GPT-2's table; splitter and model get these characters.

    Source: HF's ByteLevel.
    """


@dataclass(frozen=True, slots=True)
class Form:
    """Convert to a Unicode normal form."""

    form: Literal["NFC", "NFD", "NFKC", "NFKD"]


@dataclass(frozen=True, slots=True)
class Lowercase:
    """Replace every character by its lower case, without context: Σ always becomes σ."""


@dataclass(frozen=True, slots=True)
class Nmt:
    """Remove control characters; line ends, tabs, zero-width characters, U+2581 and U+FFFD become spaces.

    Source: HF's Nmt.
    """


@dataclass(frozen=True, slots=True)
class StripAccents:
    """Remove combining marks; precomposed characters (é) keep theirs unless a decomposing form comes first."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace every occurrence of a string or, with `regex`, every match of a pattern in the splitters' syntax."""

    pattern: str
    content: str
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """Remove whitespace at the start (left) and at the end (right) of a text."""

    left: bool = True
    right: bool = True


@dataclass(frozen=True, slots=True)
class Prepend:
    """Insert a string before every text that is not empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Precompiled:
    """Replace strings by SentencePiece's precompiled charsmap, as in HF: grapheme by grapheme.

    A grapheme of at most 5 bytes is replaced as a whole, by the replacement of the shortest string that it begins with.
    If there is no such string, or the grapheme is longer, each of its characters is replaced on its own.
    """

    charsmap: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """SentencePiece's normalization; the options are those of its NormalizerSpec and TrainerSpec.

    charsmap: the longest matching string is replaced; bytes that are not UTF-8 become U+FFFD.
    remove_extra_whitespaces: remove spaces at the start, at the end and after another space.
    add_dummy_prefix: insert a space before the text; with `whitespace_suffix`, after the text.
    escape_whitespaces: replace spaces by U+2581.
    user_symbols: strings that stay unchanged; the longest match wins, with priority over the charsmap.
    """

    charsmap: bytes = field(default=b"", repr=False)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    whitespace_suffix: bool = False
    user_symbols: tuple[str, ...] = ()


Step: TypeAlias = (
    Bert | ByteLevel | Form | Lowercase | Nmt | StripAccents | Replace | Strip | Prepend | Precompiled | SentencePiece
)
Steps: TypeAlias = tuple[Step, ...]
STEPS: tuple[type, ...] = get_args(Step)

# The charsmap that replaces whitespace by spaces and nothing else. Building it would take 20 ms at every start.
_WHITESPACE = decompress(
    b85decode(
        "c-muNVPIeYVFrc<T$oc6BF}Bfz`&)*z`zUS^C;riGm3{EZZ%}W8mEm3ObiVUKr8{onLxY~p>95q-3ip!p~=KBD}{-n%M#O!MqQvDAa1s0"
        "VrT;5Rv^0th}#937}{i+@TQ{$3z-O}vz2?97*_1XRJT5oiR3hTNPwB{>H6UUh@Fpt^rIE@w_kw)0NaF$Xa"
    )
)

# "sentencepiece" applies no normal form: for the charsmaps of T5 and others, load one of their files.
# "bert-uncased" is the normalizer of bert-base-uncased and -chinese, "bert-cased" that of bert-base-cased.
NAMED: dict[str, Steps] = {
    "none": (),
    "bert-uncased": (Bert(),),
    "bert-cased": (Bert(lowercase=False),),
    "nfc": (Form("NFC"),),
    "nfd": (Form("NFD"),),
    "nfkc": (Form("NFKC"),),
    "nfkd": (Form("NFKD"),),
    "lowercase": (Lowercase(),),
    "nmt": (Nmt(),),
    "strip-accents": (Form("NFD"), StripAccents()),
    "strip": (Strip(),),
    "sentencepiece": (SentencePiece(_WHITESPACE),),
}

# "sentencepiece" in HF's steps: the text is always the same, but the origins are HF's.
SPACED: Steps = (Replace(r"\s+", " ", True), Replace(r"\A |[ ▁]+$", "", True), Prepend("▁"), Replace(" ", "▁"))
# The same except for texts that end with U+2581, which SentencePiece treats as a space.
STRIPPED: Steps = (SPACED[0], Strip(), *SPACED[2:])
