"""What the decoders do with one token; the fast path applies it to the whole vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from subwords.components.byte_alphabet import CHARACTERS, tokens_from_text
from subwords.components.decoder import (
    BPEDecoder,
    DecoderSequence,
    Metaspace,
    Replace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    Strip,
    WordPieceDecoder,
)

__all__ = [
    "BYTE_TOKEN",
    "CLEANED",
    "Alone",
    "begins_with_space",
    "bytes_of_letters",
    "changed",
    "flat_steps",
    "is_byte_token",
    "kept_range",
    "piece_bytes",
    "stripped",
]

# Steps that change each token alone, given whether it is the first or the last; a `Replace` only of a string.
Alone: TypeAlias = BPEDecoder | Metaspace | Replace | ReplaceTokens | SpaceDecoder | Strip | WordPieceDecoder

# In HF's order; each replacement gets the result of the previous one.
CLEANED = (
    *((f" {sign}", sign) for sign in ".?!,"),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    *((f" {end}", end) for end in ("'s", "'ve", "'re")),
)


_SPACE = "▁"
_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
# Two hexadecimal digits as Rust parses them: a sign may replace the first.
BYTE_TOKEN = re.compile("<0x[+0-9A-Fa-f][0-9A-Fa-f]>")


def bytes_of_letters(token: str) -> bytes:
    """Return the bytes that the characters of a token represent; its UTF-8 if a character represents none."""
    return b"".join(tokens_from_text([token])) if CHARACTERS.issuperset(token) else token.encode()


def is_byte_token(token: str) -> bool:
    """Whether a token is a byte in hexadecimal, as HF reads it."""
    return len(token) == 6 and BYTE_TOKEN.fullmatch(token) is not None


def piece_bytes(decoder: SentencePieceDecoder, token: str) -> bytes:
    """Return the bytes of a piece."""
    if token in decoder.control:
        return b""
    if token in decoder.unknown:
        return decoder.unk_surface.encode()
    if decoder.byte_fallback and _BYTE_PIECE.fullmatch(token):
        return bytes([int(token[3:5], 16)])
    return token.replace(_SPACE, " ").encode()


def begins_with_space(decoder: SentencePieceDecoder, token: str) -> bool:
    """Whether a piece begins with a space that the decoder may drop."""
    return token.startswith(_SPACE) and token not in decoder.unknown and token not in decoder.control


def flat_steps(decoder: Any) -> Iterator[Any]:
    """Yield the steps of a decoder, also those of sequences in it."""
    if not isinstance(decoder, DecoderSequence):
        yield decoder
        return
    for step in decoder.steps:
        yield from flat_steps(step)


def changed(step: Alone, tokens: list[str]) -> list[str]:
    """Return the tokens of a text after a step; as the stages of `token_stages.py`, without places."""
    match step:
        case WordPieceDecoder(prefix, cleanup):
            tokens = tokens[:1] + [_continued(token, prefix) for token in tokens[1:]]
            return list(map(_cleaned, tokens)) if cleanup else tokens
        case SpaceDecoder():
            return tokens[:1] + [f" {token}" for token in tokens[1:]]
        case BPEDecoder(suffix):
            return [token.replace(suffix, " ") for token in tokens[:-1]] + [
                token.replace(suffix, "") for token in tokens[-1:]
            ]
        case Metaspace(replacement, scheme):
            first = " " if scheme == "never" else ""
            begin = [token.replace(replacement, first) for token in tokens[:1]]
            return begin + [token.replace(replacement, " ") for token in tokens[1:]]
        case Strip():
            return [stripped(step, token) for token in tokens]
        case Replace(pattern, content):
            return [token.replace(pattern, content) for token in tokens]
        case ReplaceTokens(known, content):
            known_tokens = frozenset(known)
            return [content if token in known_tokens else token for token in tokens]


def _continued(token: str, prefix: str) -> str:
    return token.removeprefix(prefix) if token.startswith(prefix) else f" {token}"


def _cleaned(text: str) -> str:
    for dirty, clean in CLEANED:
        text = text.replace(dirty, clean)
    return text


def kept_range(step: Strip, token: str) -> tuple[int, int]:
    """Return what remains of a token without the character at its ends, as often as the step removes it."""
    begin, stop, content = 0, len(token), step.content
    if step.start:
        begin = min(step.start, stop - len(token.lstrip(content)))
    if step.stop:
        stop = max(begin, stop - min(step.stop, stop - len(token.rstrip(content))))
    return begin, stop


def stripped(step: Strip, token: str) -> str:
    """Return what remains of a token."""
    begin, stop = kept_range(step, token)
    return token[begin:stop]
