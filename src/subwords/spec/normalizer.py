"""The steps of normalization, and the normalizers of well-known tokenizers by name.

A normalizer is a tuple of steps; each changes the result of the previous one.
"""

from __future__ import annotations

from base64 import b85decode
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias, get_args
from zlib import decompress

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.support.errors import FormatError
from subwords.support.names import distinct


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
# "sentencepiece-unchanged" only writes spaces as U+2581, and one before the text, as Llama's and Mistral's models do.
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
    "sentencepiece-unchanged": (SentencePiece(remove_extra_whitespaces=False),),
}

# "sentencepiece" in HF's steps: the text is always the same, but the origins are HF's.
SPACED: Steps = (Replace(r"\s+", " ", True), Replace(r"\A |[ ▁]+$", "", True), Prepend("▁"), Replace(" ", "▁"))
# The same except for texts that end with U+2581, which SentencePiece treats as a space.
STRIPPED: Steps = (SPACED[0], Strip(), *SPACED[2:])


# ---------------------------------------------------------------------------------------------------------------------
# The precompiled charsmap of SentencePiece's files, validated: strings and their replacements.
#
# The format: a double array of the strings (Darts-clone), whose nodes may share suffixes, followed by the
# replacements, each terminated by NUL. Kernels use it without conversion.

Codes = NDArray[np.int64]
Members = NDArray[np.bool_]

BLOCK = 1 << 10  # bytes
LEAF, FAR_BIT, VALUE, LABEL = 1 << 8, 1 << 9, (1 << 31) - 1, 1 << 31 | 0xFF
FIRST_CODES = np.array([0, 0x80, 0x800, 0x10000])  # first code points of 1, 2, 3 and 4 bytes


class Charsmap:
    """The strings of a charsmap. Immutable.

    units: uint32, the double array. text: the replacements; `values` are their offsets. single: the code points that
    are strings, and the value of each. firsts, seconds, later: the code points that are first, second, and anywhere
    after the first in longer strings. pairs: the first two code points of longer strings, if both are ASCII.
    """

    def __init__(self, units: NDArray[np.uint32], text: bytes) -> None:
        self.units, self.text = units, text
        wide = units.astype(np.int64)
        self._leaf = (wide & LEAF) != 0
        self._base = np.arange(len(wide)) ^ (wide >> 10 << ((wide & FAR_BIT) >> 6))
        self._label = wide & LABEL
        _check_trie(wide, self._base, self._leaf, text)
        self._child = np.flatnonzero((self._label > 0) & (self._label <= 0xFF))
        above = self._child ^ self._label[self._child]  # the base of the node above
        by_base = np.argsort(above, kind="stable")
        self._child, self._above = self._child[by_base], above[by_base]
        self._wide = wide
        self._explore()

    def _explore(self) -> None:
        _, codes, nodes = self._after(np.zeros(1, np.int64))
        ends = self._leaf[nodes]
        self.single: tuple[Codes, Codes] = codes[ends], self._value(nodes[ends])
        above, seconds, below = self._after(nodes)
        self.firsts = _members(codes[above])
        ascii_ = (codes[above] < 0x80) & (seconds < 0x80)
        self.pairs = set(zip(codes[above][ascii_].tolist(), seconds[ascii_].tolist(), strict=True))
        self.seconds, self.later = _members(seconds), _members(seconds)
        seen = np.zeros(len(self._wide), np.bool_)
        values = [self.single[1]]
        while len(below):
            seen[below] = True
            values.append(self._value(below[self._leaf[below]]))
            _, codes, below = self._after(below)
            self.later |= _members(codes)
            below = distinct(below[~seen[below]])
        self.values = distinct(np.concatenate(values))
        for value in self.values.tolist():
            if self.text[value] & 0xC0 == 0x80:
                raise FormatError(f"invalid precompiled charsmap: the replacement at {value} starts inside a character")

    def begins(self, values: Codes) -> Members:
        """Return the characters with which the strings of some values begin, bool of shape (0x110000,)."""
        nodes = np.flatnonzero(self._label <= 0xFF)
        above, _, below = self._children(nodes)
        above = nodes[above]
        found = np.zeros(len(self._wide), np.bool_)
        ends = np.flatnonzero(self._leaf & (self._label <= 0xFF))
        found[ends] = np.isin(self._value(ends), values)
        while (new := above[found[below] & ~found[above]]).size:
            found[new] = True
        _, codes, nodes = self._after(np.zeros(1, np.int64))
        return _members(codes[found[nodes]])

    def _value(self, nodes: Codes) -> Codes:
        found: Codes = self._wide[self._base[nodes]] & VALUE
        return found

    def _children(self, nodes: Codes) -> tuple[Codes, Codes, Codes]:
        """Return all children of some nodes: the index of the parent in `nodes`, the label and the child."""
        base = self._base[nodes]
        first, last = np.searchsorted(self._above, base), np.searchsorted(self._above, base, side="right")
        counts = last - first
        places = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
        found = self._child[places]
        return np.repeat(np.arange(len(nodes)), counts), self._label[found], found

    def _after(self, nodes: Codes) -> tuple[Codes, Codes, Codes]:
        """Return all nodes one character further: the index of the origin in `nodes`, the code point and the node."""
        above, labels, found = self._children(nodes)
        sizes = 1 + (labels >= 0xC0).astype(np.int64) + (labels >= 0xE0) + (labels >= 0xF0)
        wrong = (labels >= 0x80) & (labels < 0xC0) | (labels >= 0xF8)
        codes = np.where(labels < 0x80, labels, labels & (0x7F >> sizes))
        done = []
        for size in range(1, 5):
            done.append((above[sizes == size], codes[sizes == size], found[sizes == size]))
            rest = sizes > size
            above, codes, sizes, found = above[rest], codes[rest], sizes[rest], found[rest]
            if wrong.any() or self._leaf[found].any():
                raise FormatError("invalid precompiled charsmap: expected all strings in UTF-8")
            inner, labels, found = self._children(found)
            above, codes, sizes = above[inner], codes[inner] << 6 | labels & 0x3F, sizes[inner]
            wrong = labels & 0xC0 != 0x80
        for codes, least in zip((part[1] for part in done), FIRST_CODES, strict=True):
            if ((codes < least) | (codes >= layout.CODE_POINTS) | (codes >> 11 == 0x1B)).any():
                raise FormatError("invalid precompiled charsmap: expected all strings in UTF-8")
        above, codes, found = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return above, codes, found


def _members(codes: Codes) -> Members:
    found = np.zeros(layout.CODE_POINTS, np.bool_)
    found[codes] = True
    return found


def _check_trie(wide: Codes, base: Codes, leaf: Members, text: bytes) -> None:
    inner = wide & LABEL <= 0xFF
    outside = inner & ((base | 0xFF) >= len(wide))
    if outside.any() or wide[0] & LABEL or leaf[0] or not base[0]:
        raise FormatError(f"invalid precompiled charsmap: expected all nodes within its {len(wide)} units")
    if (wide[base[inner & leaf]] <= VALUE).any():
        raise FormatError("invalid precompiled charsmap: expected a value, not a node, at the end of a string")
    if (wide[~inner] & VALUE >= len(text)).any():
        raise FormatError(f"invalid precompiled charsmap: expected all replacements within its {len(text)} bytes")


@lru_cache(maxsize=8)
def read_charsmap(data: bytes) -> Charsmap:
    """Return the charsmap of some bytes; FormatError if they are invalid.

    Source: SentencePiece 0.2.3, `NormalizerSpec.precompiled_charsmap`.
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) <= 4 or size < BLOCK or size % BLOCK or size >= len(data) - 4:
        raise FormatError(
            f"invalid precompiled charsmap: expected 4 bytes with the size of its trie (a multiple of {BLOCK}), the "
            f"trie, and text; got {len(data)} bytes with the size {size}"
        )
    text = data[4 + size :]
    if text[-1]:
        raise FormatError("invalid precompiled charsmap: expected NUL at its end")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"invalid precompiled charsmap: byte {error.start} of its replacements is not UTF-8"
        ) from None
    return Charsmap(np.frombuffer(data, "<u4", size // 4, 4).astype(np.uint32), text)
