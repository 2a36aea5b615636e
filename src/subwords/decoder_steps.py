"""Decoders made of steps, each of which takes the tokens that the one before it left: as HF tokenizers has them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from subwords.decoder import Decoder, SentencePieceDecoder
from subwords.errors import FormatError, InputError
from subwords.split.dialect import escaped, from_oniguruma, to_oniguruma

if TYPE_CHECKING:
    from subwords.formats.document import Node

__all__ = [
    "Bytes",
    "Fused",
    "Metaspace",
    "Named",
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
SPACE = "▁"
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

    @property
    def replaces_bytes(self) -> bool:
        """Whether tokens stand for bytes: yes."""
        return True

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
        from subwords.split.fallback import find

        found = find(self.pattern, token) if token else []
        return "".join(self.content if matches else token[first:last] for first, last, matches in found)


@dataclass(frozen=True, slots=True)
class Named(StepDecoder):
    """Puts a text in the place of certain whole tokens; in a file it is a Replace by a regex of these alone."""

    tokens: tuple[str, ...]
    content: str

    @property
    def pattern(self) -> str:
        """The regex that matches these tokens and nothing else."""
        return rf"\A(?:{'|'.join(map(escaped, self.tokens))})\z"

    def change(self, tokens: list[str]) -> list[str]:
        """Return the tokens as they become."""
        known = frozenset(self.tokens)
        return [self.content if token in known else token for token in tokens]


@dataclass(frozen=True, slots=True)
class Steps(StepDecoder):
    """Decoders one after the other; what is left of the tokens is joined."""

    steps: tuple[StepDecoder, ...]

    @property
    def replaces_bytes(self) -> bool:
        """Whether tokens stand for bytes in any of the steps."""
        return any(step.replaces_bytes for step in self.steps)

    def reader(self, tokens: Sequence[str]) -> Callable[[list[int]], str]:
        """Return what gives the text of many of these tokens, by their indices; first steps are done once."""
        texts, rest = [*tokens], [*self.steps]
        while rest and isinstance(rest[0], (Named, Stripped, Replaced)) and not getattr(rest[0], "regex", False):
            texts = rest.pop(0).change(texts)
        last = Steps(tuple(rest))
        return lambda ids: last.decode_tokens([texts[index] for index in ids])

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


def _replace(node: Node) -> Replaced | Named:
    from subwords.split.fallback import compiled

    pattern = node["pattern"]
    content = node["content"].string()
    if "String" in pattern.object():
        return Replaced(pattern["String"].string(), content)
    if named := _named(pattern["Regex"].string(), content):
        return named
    text = from_oniguruma(pattern["Regex"].string())
    try:
        compiled(text)
    except InputError as error:
        raise pattern["Regex"].wrong("a regex", f"this: {error}") from None
    return Replaced(text, content, regex=True)


def _named(pattern: str, content: str) -> Named | None:
    """The step whose regex this is, if there is one."""
    if not (pattern.startswith(r"\A(?:") and pattern.endswith(r")\z")):
        return None
    texts = re.findall(r"(?:\\.|[^\\|])+", pattern[5:-3], re.DOTALL)
    named = Named(tuple(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) for text in texts), content)
    return named if named.pattern == pattern else None


def _like_sentencepiece(decoder: SentencePieceDecoder) -> Steps:
    """Return the steps that do the same to what text yields.

    Of bytes that are not UTF-8 HF shows every one of the run as U+FFFD; a piece that begins with several U+2581, before
    any text, may lose all of them where SentencePiece drops one.
    """
    if decoder.steps:
        raise FormatError("expected a decoder that tokenizer.json has, which none with a map is: write a .model file")
    surface = decoder.unk_surface
    steps: list[StepDecoder] = [Named(tuple(sorted(decoder.control)), "")] if decoder.control else []
    steps.append(Replaced(SPACE, " "))
    # U+2581, which is in no token any more, keeps the first space of what unknown pieces become.
    kept = bool(decoder.unknown) and surface.startswith(" ") and (decoder.drops_first or decoder.drops_leading)
    if decoder.unknown:
        steps.append(Named(tuple(sorted(decoder.unknown)), (SPACE if kept else "") + surface))
    steps += [Bytes()] if decoder.byte_fallback else []
    steps.append(Fused())
    if decoder.drops_first or decoder.drops_leading:
        steps.append(Stripped(" ", MOST if decoder.drops_leading else 1, 0))
    steps += [Replaced(SPACE + surface, surface)] if kept else []
    return Steps(tuple(steps))


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
        case Named(_, content):
            return {"type": "Replace", "pattern": {"Regex": decoder.pattern}, "content": content}
        case Replaced(pattern, content, regex):
            text = {"Regex": to_oniguruma(pattern)} if regex else {"String": pattern}
            return {"type": "Replace", "pattern": text, "content": content}
        case SentencePieceDecoder():
            return to_steps(_like_sentencepiece(decoder))
    raise FormatError(f"expected a decoder that tokenizer.json has, not {type(decoder).__name__}")
