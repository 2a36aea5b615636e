"""Decoders: the tokens of ids to text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.bytemap import CHARACTERS, tokens_from_text
from subwords.errors import InputError

if TYPE_CHECKING:
    from subwords.formats.document import Node
    from subwords.normalize.steps import Steps

__all__ = [
    "BlankDecoder",
    "ByteDecoder",
    "Decoder",
    "SentencePieceDecoder",
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

_SPACE = "▁"
_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
_STRAY = re.compile("[\udc80-\udcff]")


class Decoder(ABC):
    """How tokens, given as a file writes them, become text."""

    @property
    def replaces_bytes(self) -> bool:
        """Whether tokens stand for bytes, which become U+FFFD where they are not UTF-8."""
        return False

    @abstractmethod
    def decode_tokens(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""

    def reader(self, tokens: Sequence[str]) -> Callable[[list[int]], str]:
        """Return what gives the text of many of these tokens, by their indices."""
        return lambda ids: self.decode_tokens([tokens[index] for index in ids])


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

    @property
    def replaces_bytes(self) -> bool:
        """Whether tokens stand for bytes."""
        return self.byte_level

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

    def reader(self, tokens: Sequence[str]) -> Callable[[list[int]], str]:
        """Return what gives the text of many of these tokens, by their indices."""
        later = [self.later(token) for token in tokens]
        return lambda ids: "".join([self.first(tokens[ids[0]]), *map(later.__getitem__, ids[1:])]) if ids else ""


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


@dataclass(frozen=True, slots=True)
class SentencePieceDecoder(Decoder):
    """Joins pieces as SentencePiece does: U+2581 becomes a space, byte pieces their bytes, control pieces nothing.

    unknown: pieces that become `unk_surface`. byte_fallback: `<0x00>` to `<0xFF>` are byte pieces; bytes that are not
    UTF-8 become U+FFFD, each by itself. drops_first: the text's first U+2581 is dropped. drops_leading: that of every
    piece before any text. steps: what is done to the text then.

    Source: SentencePiece 0.2.3.

    >>> from subwords.decoder import SentencePieceDecoder
    >>> SentencePieceDecoder(byte_fallback=True).decode_tokens(["▁l", "<0xC3>", "<0xA9>", "▁gume"])
    'lé gume'
    """

    unknown: frozenset[str] = frozenset()
    control: frozenset[str] = frozenset()
    unk_surface: str = " ⁇ "
    byte_fallback: bool = False
    drops_first: bool = True
    drops_leading: bool = True
    steps: Steps = ()

    @property
    def replaces_bytes(self) -> bool:
        """Whether tokens stand for bytes."""
        return self.byte_fallback

    def __reduce__(self) -> tuple[Any, ...]:
        # In order, for sets of strings have another one in every process.
        shown = sorted(self.unknown), sorted(self.control), self.unk_surface, self.byte_fallback
        return _sentencepiece, (*shown, self.drops_first, self.drops_leading, self.steps)

    def decode_tokens(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""
        return self.reader(tokens)([*range(len(tokens))])

    def reader(self, tokens: Sequence[str]) -> Callable[[list[int]], str]:
        """Return what gives the text of many of these tokens, by their indices."""
        from subwords.bpe.decode import decode_bytes
        from subwords.vocab import Vocab

        texts = Vocab([self._bytes(token) for token in tokens])
        parts = [token in self.control for token in tokens]  # bytes before and behind these are no character together
        first = [token.startswith(_SPACE) and token not in self.unknown | self.control for token in tokens]

        def read(ids: list[int]) -> str:
            begin, at = b"", 0
            while not begin and at < len(ids) and (self.drops_first or self.drops_leading):
                begin = texts[ids[at]][first[ids[at]] :]
                at += 1
                if first[ids[at - 1]] and not self.drops_leading:
                    break
            runs = [ids[at:]]
            if self.byte_fallback and any(map(parts.__getitem__, runs[0])):
                runs = [[*run] for _, run in groupby(runs[0], parts.__getitem__)]
            first_run, *others = (decode_bytes(texts, run) for run in runs)
            text = "".join(map(_decoded, [begin + first_run, *others]))
            return self._finished(text) if self.steps else text

        return read

    def _bytes(self, token: str) -> bytes:
        if token in self.control:
            return b""
        if token in self.unknown:
            return self.unk_surface.encode()
        if self.byte_fallback and _BYTE_PIECE.fullmatch(token):
            return bytes([int(token[3:5], 16)])
        return token.replace(_SPACE, " ").encode()

    def _finished(self, text: str) -> str:
        from subwords.normalize.normalizer import Normalizer

        return Normalizer(self.steps).normalize(text)


def _sentencepiece(unknown: list[str], control: list[str], *fields: Any) -> SentencePieceDecoder:
    return SentencePieceDecoder(frozenset(unknown), frozenset(control), *fields)


def _decoded(data: bytes) -> str:
    """Bytes as UTF-8; U+FFFD for every byte that is no part of a character."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _STRAY.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


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

    __slots__ = ("_hidden", "_holes", "_read")

    def __init__(self, decoder: Decoder, tokens: Sequence[str], special_ids: AbstractSet[int] = frozenset()) -> None:
        self._read = decoder.reader([*tokens])
        self._holes = np.array([not token for token in tokens], bool)
        self._hidden = self._holes.copy()
        self._hidden[sorted(special_ids)] = True

    def decode(self, ids: Sequence[int] | NDArray[np.integer[Any]], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids; InputError names one that is no id, and its position."""
        flat = np.asarray(ids, np.int64)
        outside = (flat < 0) | (flat >= len(self._holes))
        if outside.any():
            at = int(outside.argmax())
            raise InputError(f"expected ids from 0 to {len(self._holes) - 1}; ids[{at}] is {flat[at]}")
        return self._read(flat[~(self._hidden if skip_special_tokens else self._holes)[flat]].tolist())


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
    if kind in ("ByteLevel", "Fuse"):
        return ByteDecoder(kind == "ByteLevel")
    from subwords.decoder_steps import from_steps

    return from_steps(node)


def to_decoder(decoder: Decoder) -> dict[str, Any] | None:
    """Return the `decoder` of a tokenizer.json, as HF writes it; a FormatError where it has none."""
    if isinstance(decoder, WordPieceDecoder):
        return {"type": "WordPiece", "prefix": decoder.prefix, "cleanup": decoder.cleanup}
    if isinstance(decoder, ByteDecoder):
        byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        return byte_level if decoder.byte_level else {"type": "Fuse"}
    if isinstance(decoder, BlankDecoder):
        return None
    from subwords.decoder_steps import to_steps

    return to_steps(decoder)
