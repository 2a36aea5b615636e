"""Split a text at its added tokens in HF's order: first tokens of the given text, then of the normalized text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.components.trusted import Input, Special, Text, input_parts
from subwords.engine.added_tokens import AddedTokens, Finder
from subwords.errors import InputError
from subwords.normalize.normalizer import NormalizerEngine
from subwords.split.word_spans import character_spans
from subwords.support.checks import encode_text

__all__ = ["Part", "TextParts"]

_Origin = NDArray[np.int64]


class Part(NamedTuple):
    """An added token, or the text between two added tokens.

    data: its bytes. id: the token's id; None for text.
    source: the bytes of the input that it comes from. first: the index of the input character where `source` begins.
    origin: None if data is `source` itself, not normalized yet; otherwise the byte range in `source` of each byte of
    data, int64, shape (2, len(data)).
    at_start: whether it begins at the start of the input.
    """

    data: bytes
    id: int | None
    source: bytes
    first: int
    origin: _Origin | None
    at_start: bool

    def span(self) -> tuple[int, int]:
        """Return the character range of the part in the input."""
        spans = np.array([[0, len(self.source)]], np.int64)
        if self.origin is not None:
            spans = np.array([[self.origin[0, 0], self.origin[1, -1]]], np.int64)
        ((start, stop),) = (character_spans(np.frombuffer(self.source, np.uint8), spans) + self.first).tolist()
        return start, stop


class TextParts:
    """Splits texts into parts.

    normalizes: normalize every text here, even without tokens to find in normalized text: for splitters that need to
    know where the input begins.

    Source: HF tokenizers 0.23, AddedVocabulary::extract_and_normalize.

    >>> from subwords.resolve import normalizer
    >>> from subwords.components.added_token import AddedToken
    >>> from subwords.engine.added_tokens import AddedTokens
    >>> lower = normalizer("lowercase")
    >>> added = AddedTokens([AddedToken("Eos", 5, normalized=True)], normalize=lower.normalize)
    >>> [(part.data, part.id) for part in TextParts(added, lower, normalizes=False).cut("A EOS", "allow")]
    [(b'a ', None), (b'eos', 5)]
    """

    def __init__(self, added: AddedTokens, normalizer: NormalizerEngine | None, *, normalizes: bool) -> None:
        self._added = added
        self._normalizer = normalizer
        self._normalizes = normalizes

    def cut(self, text: Input, special: str | AbstractSet[str]) -> Iterator[Part]:
        """Yield the parts of a text; `special` is explained in `AddedTokens.split`."""
        if not isinstance(text, str | bytes):
            yield from self._joined(input_parts(text), special)
            return
        if not isinstance(text, bytes):
            encode_text(text)  # raises InputError for lone surrogates and for other types
        string = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
        finder = self._added.finder(special)
        for start, stop, token in finder.literal.parts(string):
            rest = string[start:stop]
            if token is None and self._normalizer and (self._normalizes or finder.normalized):
                yield from self._normalized(rest.encode("utf-8", "surrogateescape"), start, finder, self._normalizer)
                continue
            inner = [(0, len(rest), token)] if token or self._normalizer else finder.normalized.parts(rest)
            for first, last, found in inner:
                source, at = rest[first:last].encode("utf-8", "surrogateescape"), start + first
                if found:
                    finder.check(found, at)
                yield Part(source, found.id if found else None, source, at, None, at == 0)

    def _joined(self, parts: Sequence[Text | Special], special: str | AbstractSet[str]) -> Iterator[Part]:
        """Yield the parts of trusted and untrusted parts in order; a place is one in all their text."""
        if special != "text":
            raise InputError(f"expected special='text' for a list of Text and Special, not {special!r:.60}")
        first = 0
        for part in parts:
            if isinstance(part, Special):
                token = self._added.named(part.token)
                data = token.content.encode()
                yield Part(data, token.id, data, first, None, first == 0)
                first += len(token.content)
                continue
            for found in self.cut(part.text, "text"):
                yield found._replace(first=found.first + first, at_start=found.at_start and first == 0)
            text = part.text
            first += len(text if isinstance(text, str) else text.decode("utf-8", "surrogateescape"))

    def _normalized(self, source: bytes, first: int, finder: Finder, normalizer: NormalizerEngine) -> Iterator[Part]:
        """Split one part of the input at the tokens in its normalized text."""
        data, origin = normalizer.aligned(np.frombuffer(source, np.uint8))
        string = data.tobytes().decode("utf-8", "surrogateescape")
        begin = done = 0
        for start, stop, token in finder.normalized.parts(string):
            begin += _size(string[done:start]) if start >= done else -_size(string[start:done])
            part = string[start:stop].encode("utf-8", "surrogateescape")
            end = begin + len(part)
            found = origin[:, begin:end]
            at_start = first == 0 and int(found[0, 0]) == 0
            result = Part(part, token.id if token else None, source, first, found, at_start)
            if token and finder.refuses:
                finder.check(token, result.span()[0])
            yield result
            begin, done = end, stop


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
