"""Decoders: the tokens of ids to text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.bytemap import CHARACTERS, tokens_from_text
from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.formats.document import Node

__all__ = [
    "BlankDecoder",
    "ByteDecoder",
    "Decoder",
    "TextDecoder",
    "TokenTexts",
    "WordPieceDecoder",
    "from_decoder",
    "to_decoder",
]

# In HF's order; each takes what the one before it left.
_CLEANED = (
    *((f" {sign}", sign) for sign in ".?!,"),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    *((f" {end}", end) for end in ("'s", "'ve", "'re")),
)


class Decoder(ABC):
    """How tokens, given as a file writes them, become text."""

    @abstractmethod
    def decode_tokens(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""


@dataclass(frozen=True, slots=True)
class ByteDecoder(Decoder):
    """Joins tokens; byte_level: they are written in the characters that stand for bytes.

    A token with any other character stands for itself. Bytes that are no UTF-8 become U+FFFD.

    Source: HF's decoders ByteLevel and Fuse.

    >>> from subwords.decoder import ByteDecoder
    >>> ByteDecoder().decode_tokens(["Ġl", "Ã", "©"])
    ' lé'
    """

    byte_level: bool = True

    def decode_tokens(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""
        if not self.byte_level:
            return "".join(tokens)
        parts = (
            b"".join(tokens_from_text([token])) if CHARACTERS.issuperset(token) else token.encode() for token in tokens
        )
        return b"".join(parts).decode("utf-8", "replace")


class TextDecoder(Decoder):
    """Joins the texts of tokens, each of which depends only on whether the token is the first one."""

    __slots__ = ()

    @abstractmethod
    def first(self, token: str) -> str:
        """Return the text of a token that comes first."""

    @abstractmethod
    def later(self, token: str) -> str:
        """Return the text of a token that comes behind another."""

    def decode_tokens(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""
        return "".join([*map(self.first, tokens[:1]), *map(self.later, tokens[1:])])


@dataclass(frozen=True, slots=True)
class WordPieceDecoder(TextDecoder):
    """Puts a blank before every token but the first and those that begin with the prefix, which loses it.

    cleanup: takes blanks away before punctuation and English contractions, and shortens "do not"; token by token, hence
    never across two tokens.

    Source: HF's decoder WordPiece.

    >>> from subwords.decoder import WordPieceDecoder
    >>> WordPieceDecoder().decode_tokens(["play", "##ing", "well", "."])
    'playing well.'
    """

    prefix: str = "##"
    cleanup: bool = True

    def first(self, token: str) -> str:
        """Return the text of a token that comes first: as it is."""
        return _cleaned(token) if self.cleanup else token

    def later(self, token: str) -> str:
        """Return the text of a token that comes behind another."""
        text = token.removeprefix(self.prefix) if token.startswith(self.prefix) else f" {token}"
        return _cleaned(text) if self.cleanup else text


@dataclass(frozen=True, slots=True)
class BlankDecoder(TextDecoder):
    """Joins tokens by blanks, as HF does where a file has no decoder."""

    def first(self, token: str) -> str:
        """Return the text of a token that comes first: as it is."""
        return token

    def later(self, token: str) -> str:
        """Return the text of a token that comes behind another."""
        return f" {token}"


def _cleaned(text: str) -> str:
    for dirty, clean in _CLEANED:
        text = text.replace(dirty, clean)
    return text


class TokenTexts:
    """The text of every id of a vocabulary, for decoding many ids.

    tokens: by id, "" where there is no token; such ids stand for nothing. special_ids: may be left out of the text.

    >>> from subwords.decoder import TokenTexts, WordPieceDecoder
    >>> texts = TokenTexts(WordPieceDecoder(), ["[CLS]", "so", "##n", "on"], {0})
    >>> texts.decode([0, 1, 2, 3]), texts.decode([0, 1, 2, 3], skip_special_tokens=True)
    ('[CLS] son on', 'son on')
    """

    __slots__ = ("_decoder", "_hidden", "_holes", "_later", "_tokens")

    def __init__(
        self, decoder: TextDecoder, tokens: Sequence[str], special_ids: AbstractSet[int] = frozenset()
    ) -> None:
        self._decoder = decoder
        self._tokens = list(tokens)
        self._later = [decoder.later(token) for token in tokens]
        self._holes = np.array([not token for token in tokens], bool)
        self._hidden = self._holes.copy()
        self._hidden[sorted(special_ids)] = True

    def decode(self, ids: Sequence[int] | NDArray[np.integer[Any]], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids; InputError names one that is no id, and its position."""
        flat = np.asarray(ids, np.int64)
        outside = (flat < 0) | (flat >= len(self._tokens))
        if outside.any():
            at = int(outside.argmax())
            raise InputError(f"expected ids from 0 to {len(self._tokens) - 1}; ids[{at}] is {flat[at]}")
        shown = flat[~(self._hidden if skip_special_tokens else self._holes)[flat]].tolist()
        if not shown:
            return ""
        return self._decoder.first(self._tokens[shown[0]]) + "".join(map(self._later.__getitem__, shown[1:]))


def from_decoder(node: Node) -> Decoder:
    """Return the decoder of a tokenizer.json; anything else, or not supported yet, is a FormatError with its place.

    >>> from subwords.decoder import from_decoder
    >>> from subwords.formats.document import Node
    >>> from_decoder(Node("a.json", "decoder", {"type": "WordPiece", "prefix": "##", "cleanup": False}))
    WordPieceDecoder(prefix='##', cleanup=False)
    """
    while node.value is not None and node["type"].value == "Sequence" and len(node["decoders"].array()) == 1:
        (node,) = node["decoders"].items()
    if node.value is None:
        return BlankDecoder()
    kind = node["type"].value
    if kind == "WordPiece":
        return WordPieceDecoder(node["prefix"].string(), node["cleanup"].boolean())
    if kind not in ("ByteLevel", "Fuse"):
        raise node.unsupported("WordPiece, ByteLevel or Fuse")
    return ByteDecoder(kind == "ByteLevel")


def to_decoder(decoder: Decoder) -> dict[str, Any] | None:
    """Return the `decoder` of a tokenizer.json, as HF writes it."""
    if isinstance(decoder, WordPieceDecoder):
        return {"type": "WordPiece", "prefix": decoder.prefix, "cleanup": decoder.cleanup}
    if isinstance(decoder, ByteDecoder):
        byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        return byte_level if decoder.byte_level else {"type": "Fuse"}
    return None
