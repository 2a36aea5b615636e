"""Run a decoder: tokens to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from subwords.components.byte_alphabet import CHARACTERS, tokens_from_text
from subwords.components.decoder import (
    CTC,
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    DecoderSequence,
    DecoderStep,
    Fuse,
    Metaspace,
    Replace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    Strip,
    WordPieceDecoder,
)
from subwords.components.vocab import Vocab
from subwords.engine.decode.decode_ids import decode_bytes
from subwords.errors import InputError
from subwords.normalize.normalizer import Normalizer

__all__ = [
    "BYTE_TOKEN",
    "CLEANED",
    "Reader",
    "TokenTexts",
    "begins_with_space",
    "bytes_of_letters",
    "changed",
    "decode_tokens",
    "flat_steps",
    "is_byte_token",
    "piece_bytes",
    "reader_of",
    "stripped",
]

Reader: TypeAlias = Callable[[list[int]], str]

# In HF's order; each replacement sees the result of the previous one.
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
_STRAY = re.compile("[\udc80-\udcff]")


class TokenTexts:
    """Decodes ids of a vocabulary with a decoder; the work per token is done once.

    tokens: by id; "" for ids without a token, which decode to nothing. special_ids: the ids that `decode` can skip.

    >>> from subwords.components.decoder import WordPieceDecoder
    >>> texts = TokenTexts(WordPieceDecoder(), ["[CLS]", "so", "##n", "on"], {0})
    >>> texts.decode([0, 1, 2, 3]), texts.decode([0, 1, 2, 3], skip_special_tokens=True)
    ('[CLS] son on', 'son on')
    """

    __slots__ = ("_hidden", "_holes", "_read")

    def __init__(self, decoder: Decoder, tokens: Sequence[str], special_ids: AbstractSet[int] = frozenset()) -> None:
        self._read = reader_of(decoder, [*tokens])
        self._holes = np.array([not token for token in tokens], bool)
        self._hidden = self._holes.copy()
        self._hidden[sorted(special_ids)] = True

    def decode(self, ids: Sequence[int] | NDArray[np.integer[Any]], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids; InputError for an id out of range, with its position."""
        flat = np.asarray(ids, np.int64)
        outside = (flat < 0) | (flat >= len(self._holes))
        if outside.any():
            at = int(outside.argmax())
            raise InputError(f"expected ids from 0 to {len(self._holes) - 1}; ids[{at}] is {flat[at]}")
        return self._read(flat[~(self._hidden if skip_special_tokens else self._holes)[flat]].tolist())


def decode_tokens(decoder: Decoder, tokens: Sequence[str]) -> str:
    """Return the text of tokens, given as a file spells them.

    >>> decode_tokens(WordPieceDecoder(), ["play", "##ing", "well", "."])
    'playing well.'
    >>> decode_tokens(SentencePieceDecoder(byte_fallback=True), ["▁l", "<0xC3>", "<0xA9>", "▁gume"])
    'lé gume'
    """
    return reader_of(decoder, tokens)([*range(len(tokens))])


def reader_of(decoder: Decoder, tokens: Sequence[str]) -> Reader:
    """Return a function from indices of `tokens` to text; work per token is done here, once."""
    match decoder:
        case ByteDecoder(byte_level):
            return _joining(tokens, byte_level)
        case WordPieceDecoder(prefix, cleanup):
            clean = _cleaned if cleanup else str
            return _first_and_later(tokens, clean, lambda token: clean(_continued(token, prefix)))
        case SpaceDecoder():
            return _first_and_later(tokens, str, " {}".format)
        case SentencePieceDecoder():
            return _sentencepiece(decoder, tokens)
        case DecoderSequence(steps):
            return _sequence(steps, tokens)
    return _sequence((decoder,), tokens)


def _joining(tokens: Sequence[str], byte_level: bool) -> Reader:
    if not byte_level:
        return lambda ids: "".join([tokens[index] for index in ids])
    parts = [bytes_of_letters(token) for token in tokens]
    return lambda ids: b"".join([parts[index] for index in ids]).decode("utf-8", "replace")


def bytes_of_letters(token: str) -> bytes:
    """Return the bytes that the characters of a token represent; its UTF-8 if a character represents none."""
    return b"".join(tokens_from_text([token])) if CHARACTERS.issuperset(token) else token.encode()


# ------------------------------------------------------------------ first and later tokens differ


def _first_and_later(tokens: Sequence[str], first: Callable[[str], str], later: Callable[[str], str]) -> Reader:
    texts = [later(token) for token in tokens]
    return lambda ids: "".join([first(tokens[ids[0]]), *map(texts.__getitem__, ids[1:])]) if ids else ""


def _continued(token: str, prefix: str) -> str:
    return token.removeprefix(prefix) if token.startswith(prefix) else f" {token}"


def _cleaned(text: str) -> str:
    for dirty, clean in CLEANED:
        text = text.replace(dirty, clean)
    return text


# ------------------------------------------------------------------ SentencePiece


def _sentencepiece(decoder: SentencePieceDecoder, tokens: Sequence[str]) -> Reader:
    texts = Vocab([piece_bytes(decoder, token) for token in tokens])
    # A control piece ends a run of bytes: bytes before and after it never form one character.
    is_control = [token in decoder.control for token in tokens]
    has_space = [begins_with_space(decoder, token) for token in tokens]

    def read(ids: list[int]) -> str:
        begin, at = b"", 0
        while not begin and at < len(ids) and (decoder.drops_first or decoder.drops_leading):
            begin = texts[ids[at]][has_space[ids[at]] :]
            at += 1
            if has_space[ids[at - 1]] and not decoder.drops_leading:
                break
        runs = [ids[at:]]
        if decoder.byte_fallback and any(map(is_control.__getitem__, runs[0])):
            runs = [[*run] for _, run in groupby(runs[0], is_control.__getitem__)]
        first_run, *others = (decode_bytes(texts, run) for run in runs)
        text = "".join(map(_utf8, [begin + first_run, *others]))
        return Normalizer(decoder.steps).normalize(text) if decoder.steps else text

    return read


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


def _utf8(data: bytes) -> str:
    """Return the text of bytes, with U+FFFD for each byte that is not part of a character."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _STRAY.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


# ------------------------------------------------------------------ steps


def _sequence(steps: Sequence[DecoderStep], tokens: Sequence[str]) -> Reader:
    texts, rest = [*tokens], [*steps]
    # Steps that change each token independently are applied to the vocabulary once.
    while rest and isinstance(rest[0], (ReplaceTokens, Strip, Replace)) and not getattr(rest[0], "regex", False):
        texts = changed(rest.pop(0), texts)

    def read(ids: list[int]) -> str:
        found = [texts[index] for index in ids]
        for step in rest:
            found = changed(step, found)
        return "".join(found)

    return read


def flat_steps(decoder: Any) -> Iterator[Any]:
    """Yield the steps of a decoder, also those of sequences in it."""
    if not isinstance(decoder, DecoderSequence):
        yield decoder
        return
    for step in decoder.steps:
        yield from flat_steps(step)


def changed(step: DecoderStep | SpaceDecoder, tokens: list[str]) -> list[str]:
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
    assert_never(step)


def is_byte_token(token: str) -> bool:
    """Whether a token is a byte in hexadecimal, as HF reads it."""
    return len(token) == 6 and BYTE_TOKEN.fullmatch(token) is not None


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
    from subwords.split.fallback import find

    found = find(step.pattern, token) if token else []
    return "".join(step.content if matches else token[first:last] for first, last, matches in found)
