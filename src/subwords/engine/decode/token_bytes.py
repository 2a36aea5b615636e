"""The bytes that each token adds to a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from subwords.components.decoder import ByteDecoder, ByteFallback, Decoder, SentencePieceDecoder
from subwords.engine.decode.decode_ids import as_ids
from subwords.engine.decode.decoding import BYTE_TOKEN, bytes_of_letters, flat_steps, piece_bytes
from subwords.engine.decode.stream import text_and_spans
from subwords.engine.decode.token_source import TokenSource

__all__ = ["TokenBytes"]


class TokenBytes:
    """The bytes of ids under a decoder (D7); `tokens` by id, "" for ids without a token, which add nothing."""

    def __init__(self, decoder: Decoder, tokens: Sequence[str]) -> None:
        self._decoder, self._tokens = decoder, tokens
        self._steps = [*flat_steps(decoder)]
        self._neighbours = [*islice(self._letters(), 2)]

    def of(self, index: int) -> bytes:
        """Return the bytes that an id adds to a text."""
        token, decoder = self._tokens[index], self._decoder
        if not token:
            return b""
        if isinstance(decoder, SentencePieceDecoder) and not decoder.steps:
            return piece_bytes(decoder, token)
        if any(isinstance(step, ByteFallback) for step in self._steps) and BYTE_TOKEN.fullmatch(token):
            return bytes([int(token[3:5], 16)])
        if any(isinstance(step, ByteDecoder) and step.byte_level for step in self._steps):
            return bytes_of_letters(token)
        other = next((id for id in self._neighbours if id != index), None)
        around = [index] if other is None else [other, index, other]
        text, spans = text_and_spans(TokenSource(decoder, self._tokens), as_ids(around))
        start, stop = spans[len(around) // 2].tolist()
        return text[start:stop].encode()

    def _letters(self) -> Iterator[int]:
        """Yield ids of tokens that alone are ASCII letters: tokens between two of them are not at a border."""
        for index, token in enumerate(self._tokens):
            if token.isascii() and any(map(str.isalpha, token)) and not BYTE_TOKEN.fullmatch(token):
                text, _ = text_and_spans(TokenSource(self._decoder, self._tokens), as_ids([index]))
                if text.isalpha():
                    yield index
