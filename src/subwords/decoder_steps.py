"""Decoders made of steps, each of which takes the tokens that the one before it left: as HF tokenizers has them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from subwords.decoder import Decoder, SentencePieceDecoder
from subwords.errors import FormatError
from subwords.split.dialect import from_oniguruma, to_oniguruma

if TYPE_CHECKING:
    from subwords.formats.document import Node

__all__ = [
    "Bytes",
    "Fused",
    "Metaspace",
    "Replaced",
    "StepDecoder",
    "Steps",
    "Stripped",
    "from_steps",
    "to_steps",
]

MOST = 2**63 - 1  # characters; no token has more
DEEPEST = 100
SCHEMES = ("always", "first", "never")
# Two digits as Rust reads them: a sign may stand for the first.
_BYTE = re.compile("<0x[+0-9A-Fa-f][0-9A-Fa-f]>")


class StepDecoder(Decoder):
    """Changes tokens, and joins what is left of them."""

    __slots__ = ()

    @abstractmethod
    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""

    def decode_tokens(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""
        return "".join(self.change([*tokens]))


@dataclass(frozen=True, slots=True)
class Metaspace(StepDecoder):
    """Writes a space for the replacement; in the first token nothing, unless the scheme is "never".

    `split` says nothing to a decoder, and is written back.
    """

    replacement: str = "▁"
    prepend_scheme: Literal["always", "first", "never"] = "always"
    split: bool = True

    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""
        first = " " if self.prepend_scheme == "never" else ""
        begin = [token.replace(self.replacement, first) for token in tokens[:1]]
        return begin + [token.replace(self.replacement, " ") for token in tokens[1:]]


@dataclass(frozen=True, slots=True)
class Bytes(StepDecoder):
    """Joins runs of tokens that spell bytes, <0x00> to <0xFF>: UTF-8, or else U+FFFD for every byte of the run."""

    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""
        found: list[str] = []
        for spells, run in groupby(tokens, lambda token: len(token) == 6 and _BYTE.fullmatch(token) is not None):
            if not spells:
                found += run
                continue
            data = bytes(int(token[3:5], 16) for token in run)
            try:
                found.append(data.decode())
            except UnicodeDecodeError:
                found += ["\ufffd"] * len(data)
        return found


@dataclass(frozen=True, slots=True)
class Fused(StepDecoder):
    """Joins all tokens."""

    def change(self, tokens: list[str]) -> list[str]:
        """Return the one token they become."""
        return ["".join(tokens)]


@dataclass(frozen=True, slots=True)
class Stripped(StepDecoder):
    """Drops a character where tokens begin with it, up to `start` times, and where they end with it, `stop` times."""

    content: str
    start: int
    stop: int

    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""
        return [self._stripped(token) for token in tokens]

    def _stripped(self, token: str) -> str:
        begin = min(self.start, len(token) - len(token.lstrip(self.content)))
        end = min(self.stop, len(token) - len(token.rstrip(self.content)))
        return token[begin : max(begin, len(token) - end)]


@dataclass(frozen=True, slots=True)
class Replaced(StepDecoder):
    """Puts a text in the place of another, or with `regex` of every match of a pattern; within each token."""

    pattern: str
    content: str
    regex: bool = False

    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""
        if self.pattern and not self.regex:
            return [token.replace(self.pattern, self.content) for token in tokens]
        return [self._replaced(token) for token in tokens]

    def _replaced(self, token: str) -> str:
        from subwords.reference.pattern import find

        found = find(self.pattern, token) if token else []
        return "".join(self.content if matches else token[first:last] for first, last, matches in found)


@dataclass(frozen=True, slots=True)
class Steps(StepDecoder):
    """Decoders one after the other; what is left of the tokens is joined."""

    steps: tuple[StepDecoder, ...]

    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""
        for step in self.steps:
            tokens = step.change(tokens)
        return tokens


def from_steps(node: Node, depth: int = 0) -> StepDecoder:
    """Return the decoder of such a node of a tokenizer.json; anything else is a FormatError with its place.

    >>> from subwords.decoder_steps import from_steps
    >>> from subwords.formats.document import Node
    >>> parts = [{"type": "ByteFallback"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    >>> from_steps(Node("a.json", "decoder", {"type": "Sequence", "decoders": parts})).decode_tokens([" a", "<0x41>"])
    'aA'
    """
    kind = node["type"].value
    match kind:
        case "Sequence" if depth < DEEPEST:
            return Steps(tuple(from_steps(part, depth + 1) for part in node["decoders"].items()))
        case "Metaspace":
            return _metaspace(node)
        case "ByteFallback":
            return Bytes()
        case "Fuse":
            return Fused()
        case "Strip":
            content = node["content"]
            if len(content.string()) != 1:
                raise content.wrong("one character")
            return Stripped(content.string(), node["start"].integer(MOST), node["stop"].integer(MOST))
        case "Replace":
            return _replace(node)
    also = "" if depth else "WordPiece, ByteLevel, "
    raise node.unsupported(f"{also}Fuse, Metaspace, ByteFallback, Strip, Replace or a Sequence of these")


def _metaspace(node: Node) -> Metaspace:
    character, scheme, split = node["replacement"], node["prepend_scheme"], node["split"]
    if len(character.string()) != 1:
        raise character.wrong("one character")
    if scheme.value not in (None, *SCHEMES):
        raise scheme.wrong(" or ".join(map(repr, SCHEMES)))
    if not node["add_prefix_space"].boolean(True) and scheme.value != "never":
        raise scheme.wrong('"never" where add_prefix_space is false')
    return Metaspace(character.string(), scheme.value or "always", split.boolean(True))


def _replace(node: Node) -> Replaced:
    import regex

    from subwords.reference.pattern import find

    pattern = node["pattern"]
    content = node["content"].string()
    if "String" in pattern.object():
        return Replaced(pattern["String"].string(), content)
    text = from_oniguruma(pattern["Regex"].string())
    try:
        find(text, "")
    except regex.error as error:
        raise pattern["Regex"].wrong("a regex", f"this: {error}") from None
    return Replaced(text, content, regex=True)


def _like_sentencepiece(decoder: SentencePieceDecoder) -> Steps:
    """Return the steps that come nearest: they show unknown and control pieces as they are spelled."""
    if decoder.steps:
        raise FormatError("expected a decoder that tokenizer.json has, which none with a map is: write a .model file")
    fallback = (Bytes(),) if decoder.byte_fallback else ()
    return Steps((Replaced("▁", " "), *fallback, Fused(), *((Stripped(" ", 1, 0),) if decoder.drops_first else ())))


def to_steps(decoder: Decoder) -> dict[str, Any]:
    """Return the node of such a decoder; a FormatError for what tokenizer.json does not have."""
    match decoder:
        case Steps(steps):
            return {"type": "Sequence", "decoders": [to_steps(step) for step in steps]}
        case Metaspace(character, scheme, split):
            return {"type": "Metaspace", "replacement": character, "prepend_scheme": scheme, "split": split}
        case Bytes():
            return {"type": "ByteFallback"}
        case Fused():
            return {"type": "Fuse"}
        case Stripped(content, start, stop):
            return {"type": "Strip", "content": content, "start": start, "stop": stop}
        case Replaced(pattern, content, regex):
            text = {"Regex": to_oniguruma(pattern)} if regex else {"String": pattern}
            return {"type": "Replace", "pattern": text, "content": content}
        case SentencePieceDecoder():
            return to_steps(_like_sentencepiece(decoder))
    raise FormatError(f"expected a decoder that tokenizer.json has, not {type(decoder).__name__}")
