"""What the decoders do with one token; the fast path applies it to the whole vocabulary."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, AnyStr, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.spec.decoder import (
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
from subwords.spec.token_batch import as_ids
from subwords.spec.vocab import CHARACTERS, Vocab, tokens_from_text
from subwords.support.checks import check_growth, too_much_text
from subwords.support.errors import InputError

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


def apply_step(step: Alone, tokens: list[str]) -> list[str]:
    """Return the tokens of a text after a step; as the stages of `stages.py`, without places."""
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


def check_lengthened(size: int, texts: Sequence[AnyStr], old: AnyStr, new: AnyStr) -> None:
    """Raise InputError if a replacement makes texts, which had `size` characters or bytes, far too long."""
    if len(new) > len(old):
        more = (len(new) - len(old)) * sum(text.count(old) for text in texts)
        check_growth("decoder", size, sum(map(len, texts)) + more)


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


# ---------------------------------------------------------------------------------------------------------------------
# Ids to bytes, for every model.


def decode_bytes(vocab: Vocab, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bytes:
    """Return the joined token bytes of the ids."""
    flat, spans = as_ids(ids), vocab.spans
    size = decoded_size(flat, spans)
    assert size is not None, "no flags"
    return join_id_bytes(flat, size, spans, vocab.data).tobytes()


def decoded_size(ids: NDArray[np.int64], spans: NDArray[np.int64]) -> int | None:
    """Return the number of bytes of ids, see `kernels/text/utf8.py`; None if a break separates single bytes."""
    from subwords.kernels.named import size_of_ids

    size = size_of_ids.by_size(len(ids))(ids, spans)
    if size < 0 and size != layout.NO_SIZE:
        at = -1 - size
        raise InputError(f"expected ids from 0 to {len(spans) - 1}; ids[{at}] is {ids[at]}")
    return None if size < 0 else size


def join_id_bytes(
    ids: NDArray[np.int64], size: int, spans: NDArray[np.int64], data: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Return the `size` bytes of ids."""
    from subwords.kernels.named import join_ids

    out = np.empty(size + layout.LANES, np.uint8)
    if join_ids.by_size(size)(ids, spans, data, out) != size:
        raise changed()
    return out[:size]


def changed() -> InputError:
    """Return the error for ids into which another thread wrote after their check."""
    return InputError("ids changed while they were decoded: write into the array before or after, or decode a copy")


# ---------------------------------------------------------------------------------------------------------------------
# Texts with the ids that each character comes from.

Place: TypeAlias = tuple[int, int]  # the positions of ids: the first, and the last plus one
Match: TypeAlias = tuple[int, int, bool]  # start and end of a part of a text, and whether it is a match

_REPLACEMENT = "\ufffd"
MOST_OF_ID = 1 << 12  # characters of an id in a text that a replacement makes longer
_STRAY = range(0xDC80, 0xDD00)  # what surrogateescape writes for a byte


class Traced(NamedTuple):
    """A text and, for each character, the place of its ids."""

    text: str
    places: list[Place]

    def part(self, start: int, stop: int) -> Traced:
        """Return a part of the text."""
        return Traced(self.text[start:stop], self.places[start:stop])


class Token(NamedTuple):
    """A token in a list of tokens; `place` is that of its ids, also if it has no characters."""

    text: str
    places: list[Place]
    place: Place

    @staticmethod
    def of(text: str, place: Place) -> Token:
        """Return a token whose characters all have its place."""
        return Token(text, [place] * len(text), place)


NOTHING = Traced("", [])


def as_token(text: Traced) -> Token:
    """Return a text as a token."""
    return Token(text.text, text.places, (text.places[0][0], text.places[-1][1]) if text.places else (0, 1))


def join_texts(parts: Iterable[Traced | Token]) -> Traced:
    """Return the texts in a row."""
    found = [part for part in parts if part[0]]
    if len(found) < 2:
        return Traced(found[0][0], found[0][1]) if found else NOTHING
    return Traced("".join([part[0] for part in found]), [place for part in found for place in part[1]])


def matches_of(pattern: str, text: str) -> list[Match]:
    """Return the parts of a text: occurrences of `pattern`, found as in `str.replace`, and the text between them."""
    if not pattern:
        found: list[Match] = [(0, 0, True)]
        for i in range(len(text)):
            found += [(i, i + 1, False), (i + 1, i + 1, True)]
        return found
    found, done = [], 0
    while (at := text.find(pattern, done)) >= 0:
        found += [(done, at, False), (at, at + len(pattern), True)]
        done = at + len(pattern)
    return [*found, (done, len(text), False)]


def replaced(traced: Traced | Token, matches: Iterable[Match], content: str, place: Place = (0, 1)) -> Traced:
    """Return a text with its matches replaced; `place` is that of what is inserted into an empty text.

    What replaces characters has their places, what is inserted that of the character before it.
    """
    text, places = traced[0], traced[1]
    parts, grown, ids = [], 0, places[-1][1] - places[0][0] if places else 1
    for start, stop, matching in matches:
        grown += len(content) if matching else stop - start
        if grown > max(len(text), MOST_OF_ID * ids):
            raise too_much_text("decoder", grown)
        if not matching:
            parts.append(Traced(text[start:stop], places[start:stop]))
            continue
        if start < stop:
            where = (places[start][0], places[stop - 1][1])
        else:
            where = places[max(0, start - 1)] if places else place
        parts.append(Traced(content, [where] * len(content)))
    return join_texts(parts)


class Utf8:
    """Bytes that arrive in pieces, to characters. errors: as in `bytes.decode`, "replace" or "surrogateescape".

    Every byte that is not part of a character becomes U+FFFD with "surrogateescape"; with "replace", a truncated
    character does as a whole.
    """

    __slots__ = ("_data", "_errors", "_places")

    def __init__(self, errors: str) -> None:
        self._errors = errors
        self._data = b""
        self._places: list[Place] = []

    @property
    def held(self) -> bytes:
        """The bytes of an incomplete character."""
        return self._data

    def feed(self, data: bytes, place: Place) -> Traced:
        """Take bytes; return the characters that are complete."""
        return self.feed_all(data, [place] * len(data))

    def text(self, data: bytes) -> str:
        """Take bytes as `feed` does, with errors="replace", for callers that need no places."""
        if not self._data and data.isascii():
            return data.decode()
        data = self._data + data
        text, used = codecs.utf_8_decode(data, self._errors, False)
        self._data = data[used:]
        self._places = [(0, 0)] * len(self._data)
        return text

    def feed_all(self, data: bytes, places: list[Place]) -> Traced:
        """Take bytes with a place each; return the characters that are complete."""
        if not self._data and data.isascii():
            return Traced(data.decode(), places)
        self._data += data
        self._places += places
        return self._decoded(final=False)

    def finish(self) -> Traced:
        """Return what remains; more bytes may follow, as a new text."""
        return self._decoded(final=True) if self._data else NOTHING

    def _decoded(self, *, final: bool) -> Traced:
        text, used = codecs.utf_8_decode(self._data, self._errors, final)
        places = self._places
        found, at = [], 0
        for size in _character_sizes(text, self._data):
            found.append((places[at][0], places[at + size - 1][1]))
            at += size
        self._data, self._places = self._data[used:], places[used:]
        return Traced(text if self._errors == "replace" else text.translate(_stray_bytes()), found)


@cache
def _stray_bytes() -> dict[int, str]:
    return dict.fromkeys(_STRAY, _REPLACEMENT)


def _character_sizes(text: str, data: bytes) -> list[int]:
    """Return the number of bytes that each character of a decoded text stands for."""
    if text.isascii():
        return [1] * len(text)
    sizes: list[int] = []
    at = 0
    for char in text:
        if ord(char) in _STRAY:
            size = 1
        elif char == _REPLACEMENT and data[at : at + 3] != b"\xef\xbf\xbd":
            size = _truncated(data[at : at + 4])
        else:
            size = len(char.encode())
        sizes.append(size)
        at += size
    return sizes


def _truncated(data: bytes) -> int:
    """Return the number of bytes at the start of `data` that one U+FFFD replaces."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end
    raise AssertionError("these bytes were replaced")
