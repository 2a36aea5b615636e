"""What a decoder does to tokens: one definition (D1), for plain texts and for texts that know their ids (D2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.spec.decoder import (
    CTC,
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    DecoderSequence,
    Fuse,
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
from subwords.support.checks import check_growth
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.normalize.normalizer import NormalizerEngine

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
_STRAY = re.compile("[\udc80-\udcff]")  # what surrogateescape writes for a byte


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
    return str(token).replace(_SPACE, " ").encode()


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


# ---------------------------------------------------------------------------------------------------------------------
# Texts that know the ids that each character comes from.

Place: TypeAlias = tuple[int, int]  # the positions of ids: the first, and the last plus one
Match: TypeAlias = tuple[int, int, bool]  # start and end of a part of a text, and whether it is a match


class Traced(str):
    """A text and the places of its ids. places: of each character, int64 of shape (n, 2). place: of the whole text.

    Steps of decoders change it as they change any str: what replaces characters has their places, what is inserted
    that of the character before it, or of the whole text.
    """

    __slots__ = ("place", "places")
    place: Place
    places: NDArray[np.int64]

    @classmethod
    def at(cls, text: str, places: NDArray[np.int64], place: Place) -> Traced:
        """Return a text whose characters have these places."""
        found = cls(text)
        found.places, found.place = places, place
        return found

    @classmethod
    def of(cls, text: str, place: Place) -> Traced:
        """Return a text whose characters all have its place."""
        return cls.at(text, np.full((len(text), 2), place, np.int64), place)

    def __getitem__(self, part: SupportsIndex | slice) -> Traced:
        return Traced.at(str.__getitem__(self, part), self.places[cast("slice", part)], self.place)

    def __radd__(self, text: str) -> Traced:
        return cast("Traced", join_texts([Traced.of(text, self.place), self]))

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Traced:
        """Return the text with all occurrences of a string replaced."""
        if old not in self:
            return self
        if not old:
            return cast("Traced", _rewritten(self, _between(self), new))
        # As many copies of the places of its first character as `new` has characters, and none of the others.
        at = np.array([match.start() for match in re.finditer(re.escape(old), self)], np.int64)
        places, copies = self.places.copy(), np.ones(len(self), np.int64)
        places[at, 1] = places[at + len(old) - 1, 1]
        copies[(at[:, None] + np.arange(len(old))).ravel()] = 0
        copies[at] = len(new)
        return Traced.at(str.replace(self, old, new), np.repeat(places, copies, axis=0), self.place)

    def place_of(self, start: int, stop: int) -> Place:
        """Return the place of a part; of an empty one, that of the character before it."""
        if not self:
            return self.place
        start = min(start, max(0, stop - 1))
        return int(self.places[start, 0]), int(self.places[max(start, stop - 1), 1])


def _rewritten(token: str, matches: Iterable[Match], content: str) -> str:
    """Return the token with its matches replaced."""
    parts = [token[:0]]
    for start, stop, matching in matches:
        part = token[start:stop] if not matching else content
        if matching and isinstance(token, Traced):
            part = Traced.of(content, token.place_of(start, stop))
        parts.append(part)
    return join_texts([*parts, token[:0]])


def _between(text: str) -> Iterator[Match]:
    """Yield the empty matches around characters, and these."""
    for at in range(len(text)):
        yield at, at, True
        yield at, at + 1, False
    yield len(text), len(text), True


def like(text: str, token: str) -> str:
    """Return a text, with the place of a token if that has one."""
    return Traced.of(text, token.place) if isinstance(token, Traced) else text


def join_texts(parts: Sequence[str]) -> str:
    """Return the texts in a row."""
    text = "".join(parts)
    if not parts or not isinstance(parts[0], Traced):
        return text
    traced = cast("Sequence[Traced]", parts)
    place = traced[0].place[0], traced[-1].place[1]
    return Traced.at(text, np.concatenate([part.places for part in traced]), place)


def _from_bytes(parts: Sequence[bytes], tokens: Sequence[str], errors: str) -> str:
    """Return the text of the bytes that each token gives; see `decoded`."""
    data = b"".join(parts)
    if not tokens or not isinstance(tokens[0], Traced):
        return decoded(data, errors)
    pairs = zip(cast("Sequence[Traced]", tokens), parts, strict=True)
    places = np.concatenate([_byte_places(token, part) for token, part in pairs])
    return traced_bytes(data, places, errors, (tokens[0].place[0], cast("Traced", tokens[-1]).place[1]))


def _byte_places(token: Traced, data: bytes) -> NDArray[np.int64]:
    """Return the places of the bytes that a token gives: letters and characters have their own."""
    if len(data) == len(token):
        return token.places
    if data == token.encode():
        return np.repeat(token.places, _sizes(token, np.frombuffer(data, np.uint8)), axis=0)
    return np.full((len(data), 2), token.place, np.int64)


def decoded(data: Any, errors: str) -> str:
    """Return the text of bytes. errors: as in `bytes.decode`; a byte that "surrogateescape" leaves becomes U+FFFD."""
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return _STRAY.sub("\ufffd", str(data, "utf-8", errors))


def traced_bytes(data: bytes, places: NDArray[np.int64], errors: str, place: Place) -> Traced:
    """Return the text of bytes with a place each; see `decoded`."""
    text = data.decode("utf-8", errors)
    stops = np.cumsum(_sizes(text, np.frombuffer(data, np.uint8)))
    starts = np.concatenate([np.zeros(1, np.int64), stops])[:-1]
    return Traced.at(_STRAY.sub("\ufffd", text), np.stack([places[starts, 0], places[stops - 1, 1]], 1), place)


def _sizes(text: str, data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of bytes that each character of a decoded text stands for."""
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    if len(starts) == len(text) and "\ufffd" not in text and not _STRAY.search(text):
        return np.diff(starts, append=len(data))
    sizes: list[int] = []
    whole, at = data.tobytes(), 0
    for char in text:
        if _STRAY.match(char):
            sizes.append(1)
        elif char == "\ufffd" and whole[at : at + 3] != b"\xef\xbf\xbd":
            sizes.append(_truncated(whole[at : at + 4]))
        else:
            sizes.append(len(char.encode()))
        at += sizes[-1]
    return np.array(sizes, np.int64)


def _truncated(data: bytes) -> int:
    """Return the number of bytes at the start of `data` that one U+FFFD replaces."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end
    raise AssertionError("these bytes were replaced")


# ---------------------------------------------------------------------------------------------------------------------
# The steps: each changes the tokens of a text.


class Denormalized:
    """A step: normalizes each token, as a denormalizer of SentencePiece does with the whole text."""

    def __init__(self, steps: Any) -> None:
        self._steps = steps

    @cached_property
    def _engine(self) -> NormalizerEngine:
        from subwords.normalize.normalizer import NormalizerEngine

        return NormalizerEngine(self._steps)

    def of(self, token: str) -> str:
        """Return the normalized token."""
        if not isinstance(token, Traced):
            return self._engine.normalize(token)
        data = np.frombuffer(token.encode(), np.uint8)
        of_byte = np.repeat(np.arange(len(token)), _sizes(token, data))
        text, origin = self._engine.aligned(data)
        starts, stops = origin[:, (text & 0xC0) != 0x80]
        first, last = of_byte[starts], of_byte[np.maximum(starts, stops - 1)]
        places = np.stack([token.places[first, 0], token.places[last, 1]], 1)
        return Traced.at(text.tobytes().decode(), places, token.place)


def decode_tokens(decoder: Decoder, tokens: Iterable[str]) -> str:
    """Return the text of tokens, given as a file spells them; `Traced` if these are.

    >>> decode_tokens(WordPieceDecoder(), ["play", "##ing", "well", "."])
    'playing well.'
    >>> decode_tokens(SentencePieceDecoder(byte_fallback=True), ["▁l", "<0xC3>", "<0xA9>", "▁gume"])
    'lé gume'
    """
    if isinstance(decoder, SentencePieceDecoder):
        return _of_pieces(decoder, tokens)
    return join_texts(run_steps(flat_steps(decoder), [*tokens]))


def _of_pieces(decoder: SentencePieceDecoder, tokens: Iterable[str]) -> str:
    drops = decoder.drops_first or decoder.drops_leading
    runs: list[tuple[list[bytes], list[str]]] = [([], [])]
    for token in tokens:
        if token in decoder.control:  # it ends a run of bytes: those before and after it never form one character
            runs.append(([], []))
        data = piece_bytes(decoder, token)
        if drops and begins_with_space(decoder, token):
            data, drops = data[1:], decoder.drops_leading
        drops = drops and not data
        runs[-1][0].append(data)
        runs[-1][1].append(token)
    text = join_texts([_from_bytes(*run, "surrogateescape") for run in runs if run[0]])
    return Denormalized(decoder.steps).of(text) if decoder.steps else text


def run_steps(steps: Iterable[Any], tokens: list[str]) -> list[str]:
    """Return the tokens of a text after steps; InputError if they become far too long."""
    size = sum(map(len, tokens))
    for step in steps:
        tokens = _replaced(step, tokens, size) if isinstance(step, Replace) else _changed(step, tokens)
        check_growth("decoder", size, sum(map(len, tokens)))
    return tokens


def _changed(step: Any, tokens: list[str]) -> list[str]:
    match step:
        case WordPieceDecoder(prefix, cleanup):
            tokens = tokens[:1] + [_continued(token, prefix) for token in tokens[1:]]
            return list(map(_cleaned, tokens)) if cleanup else tokens
        case SpaceDecoder():
            return tokens[:1] + [" " + token for token in tokens[1:]]
        case BPEDecoder(suffix):
            return [token.replace(suffix, " ") for token in tokens[:-1]] + [
                token.replace(suffix, "") for token in tokens[-1:]
            ]
        case Metaspace(replacement, scheme):
            first = " " if scheme == "never" else ""
            begin = [token.replace(replacement, first) for token in tokens[:1]]
            return begin + [token.replace(replacement, " ") for token in tokens[1:]]
        case CTC():
            return [text for token, _ in groupby(tokens) if (text := _without_pads(step, token))]
        case ByteFallback():
            return [text for is_byte, run in groupby(tokens, is_byte_token) for text in _run(is_byte, [*run])]
        case ByteDecoder(byte_level):
            return [
                _from_bytes([*map(bytes_of_letters, tokens)], tokens, "replace") if byte_level else join_texts(tokens)
            ]
        case Fuse():
            return [join_texts(tokens)]
        case Strip():
            return [stripped(step, token) for token in tokens]
        case ReplaceTokens(known, content):
            known_tokens = frozenset(known)
            return [like(content, token) if token in known_tokens else token for token in tokens]
        case Denormalized():
            return [*map(step.of, tokens)]
    raise AssertionError(step)


def _continued(token: str, prefix: str) -> str:
    return token[len(prefix) :] if token.startswith(prefix) else " " + token


def _cleaned(text: str) -> str:
    for dirty, clean in CLEANED:
        text = text.replace(dirty, clean)
    return text


def _without_pads(step: CTC, token: str) -> str:
    token = token.replace(step.pad_token, "")
    return _cleaned(token).replace(step.word_delimiter_token, " ") if step.cleanup else token


def _run(is_byte: bool, run: list[str]) -> list[str]:
    if not is_byte:
        return run
    parts = [bytes([int(token[3:5], 16)]) for token in run]
    try:
        return [_from_bytes(parts, run, "strict")]
    except UnicodeDecodeError:
        return [like("\ufffd", token) for token in run]


def stripped(step: Strip, token: str) -> str:
    """Return a token without the character at its ends, as often as the step removes it."""
    begin, stop, content = 0, len(token), step.content
    if step.start:
        begin = min(step.start, stop - len(token.lstrip(content)))
    if step.stop:
        stop = max(begin, stop - min(step.stop, stop - len(token.rstrip(content))))
    return token[begin:stop]


def _replaced(step: Replace, tokens: list[str], size: int) -> list[str]:
    """Return the tokens with matches replaced, unless that makes them far longer than `size`."""
    pattern, content = step.pattern, step.content
    if pattern and not step.regex:
        more = (len(content) - len(pattern)) * sum(token.count(pattern) for token in tokens)
        check_growth("decoder", size, sum(map(len, tokens)) + more)
        return [token.replace(pattern, content) for token in tokens]
    from subwords.split.fallback import find_matches

    found = [find_matches(pattern, str(token)) if token else [] for token in tokens]
    count = sum(matching for matches in found for _, _, matching in matches)
    check_growth("decoder", size, sum(map(len, tokens)) + count * len(content))
    return [
        _rewritten(token, matches, content) if token else token for token, matches in zip(tokens, found, strict=True)
    ]


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
