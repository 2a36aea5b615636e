"""Decoders on whole lists of tokens, step by step: the definition that streams and the fast path are compared with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from inside import (
    CLEANED,
    CTC,
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    DecoderSequence,
    Fuse,
    Metaspace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    WordPieceDecoder,
    begins_with_space,
    bytes_of_letters,
    is_byte_token,
    piece_bytes,
)
from inside import decoder_Replace as Replace
from inside import decoder_Strip as Strip
from subwords.machine import NormalizerEngine

_STRAY = re.compile("[\udc80-\udcff]")


def whole_text(decoder: Decoder, tokens: Sequence[str]) -> str:
    """Return the text of tokens."""
    if isinstance(decoder, SentencePieceDecoder):
        return _pieces(decoder, tokens)
    return "".join(changed(decoder, [*tokens]))


def _pieces(decoder: SentencePieceDecoder, tokens: Sequence[str]) -> str:
    texts = [piece_bytes(decoder, token) for token in tokens]
    at, begin = 0, b""
    while not begin and at < len(tokens) and (decoder.drops_first or decoder.drops_leading):
        has_space = begins_with_space(decoder, tokens[at])
        begin = texts[at][has_space:]
        at += 1
        if has_space and not decoder.drops_leading:
            break
    # A control piece ends a run of bytes: bytes before and after it never form one character.
    runs = [begin]
    for token, data in zip(tokens[at:], texts[at:], strict=True):
        if token in decoder.control:
            runs.append(b"")
        runs[-1] += data
    text = "".join(_STRAY.sub("\ufffd", run.decode("utf-8", "surrogateescape")) for run in runs)
    return NormalizerEngine(decoder.steps).normalize(text) if decoder.steps else text


def _continued(token: str, prefix: str) -> str:
    return token.removeprefix(prefix) if token.startswith(prefix) else f" {token}"


def _cleaned(text: str) -> str:
    for dirty, clean in CLEANED:
        text = text.replace(dirty, clean)
    return text


def changed(step: Any, tokens: list[str]) -> list[str]:
    """Return the tokens after a step."""
    match step:
        case ByteDecoder(byte_level):
            return [
                b"".join(map(bytes_of_letters, tokens)).decode("utf-8", "replace") if byte_level else "".join(tokens)
            ]
        case WordPieceDecoder(prefix, cleanup):
            tokens = tokens[:1] + [_continued(token, prefix) for token in tokens[1:]]
            return list(map(_cleaned, tokens)) if cleanup else tokens
        case SpaceDecoder():
            return tokens[:1] + [f" {token}" for token in tokens[1:]]
        case BPEDecoder(suffix):
            return [token.replace(suffix, " ") for token in tokens[:-1]] + [
                token.replace(suffix, "") for token in tokens[-1:]
            ]
        case CTC():
            return [text for token, _ in groupby(tokens) if (text := _without_pads(step, token))]
        case Metaspace(replacement, scheme):
            first = " " if scheme == "never" else ""
            begin = [token.replace(replacement, first) for token in tokens[:1]]
            return begin + [token.replace(replacement, " ") for token in tokens[1:]]
        case ByteFallback():
            return _bytes_joined(tokens)
        case Fuse():
            return ["".join(tokens)]
        case Strip():
            return [stripped(step, token) for token in tokens]
        case Replace(pattern, content, regex):
            if pattern and not regex:
                return [token.replace(pattern, content) for token in tokens]
            return [_replaced(step, token) for token in tokens]
        case ReplaceTokens(known, content):
            known_tokens = frozenset(known)
            return [content if token in known_tokens else token for token in tokens]
        case DecoderSequence(steps):
            for inner in steps:
                tokens = changed(inner, tokens)
            return tokens
    raise AssertionError(step)


def _bytes_joined(tokens: list[str]) -> list[str]:
    found: list[str] = []
    for is_byte, run in groupby(tokens, is_byte_token):
        if not is_byte:
            found += run
            continue
        data = bytes(int(token[3:5], 16) for token in run)
        try:
            found.append(data.decode())
        except UnicodeDecodeError:
            found += ["\ufffd"] * len(data)
    return found


def _without_pads(step: CTC, token: str) -> str:
    token = token.replace(step.pad_token, "")
    return _cleaned(token).replace(step.word_delimiter_token, " ") if step.cleanup else token


def stripped(step: Strip, token: str) -> str:
    """Return a token without the character at its ends, as often as the step removes it."""
    if len(step.content) != 1:
        begin = min(step.start, len(token) - len(token.lstrip(step.content)))
        end = min(step.stop, len(token) - len(token.rstrip(step.content)))
        return token[begin : max(begin, len(token) - end)]
    begin, end = 0, len(token)
    while begin < min(step.start, len(token)) and token[begin] == step.content:
        begin += 1
    least = max(begin, len(token) - step.stop)
    while end > least and token[end - 1] == step.content:
        end -= 1
    return token[begin:end]


def _replaced(step: Replace, token: str) -> str:
    from inside import find_matches

    found = find_matches(step.pattern, token) if token else []
    return "".join(step.content if matches else token[first:last] for first, last, matches in found)
