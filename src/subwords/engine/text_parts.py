"""Split a text at its added tokens in HF's order: first tokens of the given text, then of the normalized text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.engine.added_tokens import AddedTokenFinder, AddedTokens, with_whitespace
from subwords.kernels import layout
from subwords.kernels.layout import TextPlaces
from subwords.normalize.normalizer import NormalizerEngine
from subwords.spec.added_token import Input, Special, Text, input_parts
from subwords.split.word_spans import WordSpans
from subwords.support.checks import encode_text
from subwords.support.errors import InputError
from subwords.support.memory import memory_at

if TYPE_CHECKING:
    from subwords.engine.batch import Places
    from subwords.models.segmenter import WordSource


END = np.iinfo(np.int64).max
_Origin = NDArray[np.int64]


class TextSegment(NamedTuple):
    """An added token, or the text between two added tokens.

    data: its bytes. id: the token's id; None for text.
    source: the bytes of the input that it comes from. first, at: the character and the byte where `source` begins.
    origin: None if data is `source` itself, not normalized yet; otherwise the byte range in `source` of each byte of
    data, int64, shape (2, len(data)).
    at_start: whether it begins at the start of the input.
    """

    data: bytes
    id: int | None
    source: bytes
    first: int
    at: int
    origin: _Origin | None
    at_start: bool

    def span(self) -> tuple[int, int]:
        """Return the character range of the part in the input."""
        begin, end = self._range()
        return self.first + _size(self.source[:begin]), self.first + _size(self.source[:end])

    def byte_span(self) -> tuple[int, int]:
        """Return the byte range of the part in the input."""
        begin, end = self._range()
        return self.at + begin, self.at + end

    def _range(self) -> tuple[int, int]:
        return (0, len(self.source)) if self.origin is None else (int(self.origin[0, 0]), int(self.origin[1, -1]))

    def word_spans(self, words: WordSource) -> WordSpans:
        """Return the words of the part, with their positions in its source."""
        found = words.word_spans(np.frombuffer(self.data, np.uint8))
        return found if self.origin is None else found.within(self.origin)


class TextParts:
    """Splits texts into parts.

    normalizes: normalize every text here, even without tokens to find in normalized text: for splitters that need to
    know where the input begins.

    Source: HF tokenizers 0.23, AddedVocabulary::extract_and_normalize.

    >>> from subwords.normalize.normalizer import NormalizerEngine
    >>> from subwords.normalize.resolve import normalizer
    >>> from subwords.spec.added_token import AddedToken
    >>> from subwords.engine.added_tokens import AddedTokens
    >>> lower = NormalizerEngine.of(normalizer("lowercase"))
    >>> added = AddedTokens([AddedToken("Eos", 5, normalized=True)], normalize=lower.escaped)
    >>> [(part.data, part.id) for part in TextParts(added, lower, normalizes=False).cut("A EOS", "allow")]
    [(b'a ', None), (b'eos', 5)]
    """

    def __init__(self, added: AddedTokens, normalizer: NormalizerEngine | None, *, normalizes: bool) -> None:
        self._added = added
        self._normalizer = normalizer
        self._normalizes = normalizes

    def cut(self, text: Input, special: str | AbstractSet[str]) -> Iterator[TextSegment]:
        """Yield the parts of a text; `special` is explained in `AddedTokens.finder`.

        The leftmost token wins, then the longest. An invalid byte of `bytes` matches no token (S2).
        """
        if not isinstance(text, str | bytes):
            yield from self._joined(input_parts(text), special)
            return
        if not isinstance(text, bytes):
            encode_text(text)  # raises InputError for lone surrogates and for other types
        string = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
        yield from self._cut(string, self._added.finder(special))

    def _cut(self, string: str, finder: AddedTokenFinder) -> Iterator[TextSegment]:
        at = done = 0
        for start, stop, token in finder.literal.parts(string):
            at, done = at + _distance(string, done, start), start
            rest = string[start:stop]
            if token is None and self._normalizer and (self._normalizes or finder.normalized):
                yield from self._normalized(_bytes(rest), start, at, finder, self._normalizer)
                continue
            inner = [(0, len(rest), token)] if token or self._normalizer else finder.normalized.parts(rest)
            for first, last, found in inner:
                source, begin = _bytes(rest[first:last]), start + first
                at, done = at + _distance(string, done, begin), begin
                if found:
                    finder.check(found, begin)
                yield TextSegment(source, found.id if found else None, source, begin, at, None, begin == 0)

    def _joined(self, parts: Sequence[Text | Special], special: str | AbstractSet[str]) -> Iterator[TextSegment]:
        """Yield the parts of trusted and untrusted parts in order; a place is one in all their text."""
        if special != "text":
            raise InputError(f"expected special='text' for a list of Text and Special, not {special!r:.60}")
        first = at = 0
        for text, token, as_text in with_whitespace(parts, self._added):
            data = _bytes(text)
            if token is not None:
                yield TextSegment(data, token.id, data, first, at, None, first == 0)
            else:
                for found in self._cut(text, self._added.finder("text", as_text)):
                    at_start = found.at_start and first == 0
                    yield found._replace(first=found.first + first, at=found.at + at, at_start=at_start)
            first, at = first + len(text), at + len(data)

    def _normalized(
        self, source: bytes, first: int, at: int, finder: AddedTokenFinder, normalizer: NormalizerEngine
    ) -> Iterator[TextSegment]:
        """Split one part of the input at the tokens in its normalized text."""
        data, origin = normalizer.aligned(np.frombuffer(source, np.uint8))
        string = data.tobytes().decode("utf-8", "surrogateescape")
        begin = done = counted = chars = 0  # `chars` characters begin before the byte `counted` of the source
        for start, stop, token in finder.normalized.parts(string):
            begin, done = begin + _distance(string, done, start), start
            part = _bytes(string[start:stop])
            found = origin[:, begin : begin + len(part)]
            low, high = int(found[0].min()), int(found[1].max())
            chars, counted = chars + _distance_in(source, counted, low), low
            own = TextSegment(
                part,
                token.id if token else None,
                source[low:high],
                first + chars,
                at + low,
                found - low,
                first == 0 and int(found[0, 0]) == 0,
            )
            if token and finder.refuses:
                finder.check(token, own.span()[0])
            yield own

    def cut_in_place(self, places: Places, finder: AddedTokenFinder) -> tuple[Places, NDArray[np.int64]] | None:
        """Return texts cut where they are in memory, and for each text how many there are up to its end.

        They are normalized if tokens are found in normalized text. None if they have a token that is refused. For ids
        without places: where it matters how a text begins, the parts need `cut`.
        Row: calls_special, "GPT-2, 12 MB of code with special tokens, bytes": without it 2.5 to 4 times as long as text
        without tokens, with it 1.1 times.
        """
        base = int(places.addresses.min(initial=END))
        stop = int((places.addresses + places.lengths).max(initial=0))
        data, owners = memory_at(base, max(stop - base, 0)), places.owners
        texts = TextPlaces(places.addresses - base, places.lengths, np.zeros(len(places.lengths), np.int64))
        upto = np.arange(1, len(places.lengths) + 1)
        for tokens in (finder.literal, finder.normalized):
            if tokens is finder.normalized and tokens and self._normalizer is not None:
                data, texts = _normalized(data, texts, self._normalizer)
                base, owners = data.ctypes.data, data
            if tokens:
                texts, ends = tokens.in_bytes.cut(data, texts)
                upto = np.concatenate([np.zeros(1, np.int64), ends])[upto]
        if finder.refuses and np.isin(texts.after - 1, finder.refused).any():
            return None
        return places._replace(
            addresses=texts.begins + base, lengths=texts.sizes, after=texts.after, owners=owners
        ), upto


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _size(data: bytes) -> int:
    """Return the number of characters; each byte that is not UTF-8 is one."""
    return len(data) if data.isascii() else len(data.decode("utf-8", "surrogateescape"))


def _distance(text: str, start: int, stop: int) -> int:
    """Return the number of bytes from one character to another, which may come before it."""
    return len(_bytes(text[start:stop])) if start <= stop else -len(_bytes(text[stop:start]))


def _distance_in(data: bytes, start: int, stop: int) -> int:
    """Return the number of characters from one byte to another, which may come before it."""
    return _size(data[start:stop]) if start <= stop else -_size(data[stop:start])


def _normalized(
    data: NDArray[np.uint8], texts: TextPlaces, normalizer: NormalizerEngine
) -> tuple[NDArray[np.uint8], TextPlaces]:
    """Return the normalized texts."""
    from subwords.kernels.named import join_places

    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(texts.sizes)])
    joined = np.empty(bounds[-1] + layout.LANES, np.uint8)
    join_places(data, texts, joined)
    data, bounds = normalizer.apply(joined[: bounds[-1]], bounds)
    return data, TextPlaces(bounds[:-1], np.diff(bounds), texts.after)
