"""Ids of a text with their positions in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.split.word_spans import WordSpans, character_spans

if TYPE_CHECKING:
    from subwords.encode.encoder import Encoder
    from subwords.encode.segmenter import WordSource
    from subwords.engine.text_parts import Part

__all__ = ["Located", "located", "word_spans_of"]

_Spans = NDArray[np.int64]
_Tokens: TypeAlias = tuple[list[str], list[str]]


class Located(NamedTuple):
    """The ids of a text with positions and tokens.

    ids: uint32. spans, byte_spans: int64, shape (n, 2), ranges in the text in characters and in bytes. words: int64,
    the word of each id, -1 for none. tokens, file_tokens: the token of each id as text, and as its file spells it.
    source: the UTF-8 of the text.
    """

    ids: NDArray[np.uint32]
    spans: _Spans
    byte_spans: _Spans
    words: _Spans
    tokens: list[str]
    file_tokens: list[str]
    source: bytes = b""

    @classmethod
    def join(cls, parts: Sequence[Located], source: bytes = b"") -> Located:
        """Join parts in order; `source` is the text of all."""
        return cls(
            np.concatenate([np.zeros(0, np.uint32), *(part.ids for part in parts)]),
            np.concatenate([np.zeros((0, 2), np.int64), *(part.spans for part in parts)]),
            np.concatenate([np.zeros((0, 2), np.int64), *(part.byte_spans for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.words for part in parts)]),
            [token for part in parts for token in part.tokens],
            [token for part in parts for token in part.file_tokens],
            source,
        )

    def sliced(self, start: int, stop: int) -> Located:
        """Return a range of the tokens."""
        part = slice(start, stop)
        arrays = self.ids[part], self.spans[part], self.byte_spans[part], self.words[part]
        return Located(*arrays, self.tokens[part], self.file_tokens[part], self.source)


def located(
    source: bytes,
    parts: Iterable[Part],
    encoder_of: Callable[[Part], Encoder],
    spelled: Callable[[NDArray[np.uint32]], _Tokens],
) -> Located:
    """Return the ids of the parts of a text with their positions; `spelled` gives the tokens of ids in both forms."""
    found: list[Located] = []
    words = 0
    starts = _character_starts(source)
    for part in parts:
        if part.id is not None:
            name = part.data.decode("utf-8", "replace")
            span = np.array([part.span()])
            byte_span = span if starts is None else starts[np.minimum(span, len(starts) - 1)]
            found.append(Located(np.array([part.id], np.uint32), span, byte_span, np.array([words]), [name], [name]))
            words += 1
        else:
            encoder = encoder_of(part)
            word_spans = word_spans_of(encoder.words, part)
            first = part.first if starts is None else int(starts[min(part.first, len(starts) - 1)])
            found.append(_located(encoder, word_spans, part, words, first, spelled))
            words += len(word_spans.words) - 1
    return found[0]._replace(source=source) if len(found) == 1 else Located.join(found, source)


def _character_starts(source: bytes) -> _Spans | None:
    """Return the byte where each character starts, and the length; None if every byte is a character."""
    if source.isascii():
        return None
    data = np.frombuffer(source, np.uint8)
    return np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))


def word_spans_of(words: WordSource, part: Part) -> WordSpans:
    """Return the words of a part, with their positions in its source."""
    word_spans = words.word_spans(np.frombuffer(part.data, np.uint8))
    return word_spans if part.origin is None else word_spans.within(part.origin)


def _located(
    encoder: Encoder,
    word_spans: WordSpans,
    part: Part,
    words: int,
    first: int,
    spelled: Callable[[NDArray[np.uint32]], _Tokens],
) -> Located:
    batch = encoder.encode_words(word_spans.text, word_spans.words)
    counts = np.diff(batch.offsets)
    word_ids = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    if not len(batch.ids):
        none = np.zeros((0, 2), np.int64)
        return Located(batch.ids, none, none, word_ids, [], [])
    begins, ends = encoder.segmenter.token_ranges(batch.ids, batch.offsets, word_spans)
    spans = np.stack([word_spans.origin[0, begins], word_spans.origin[1, ends - 1]], axis=1)
    tokens, file_tokens = spelled(batch.ids)
    if encoder.segmenter.shows_unknown:
        for i in np.flatnonzero(batch.ids == encoder.segmenter.unk_id).tolist():
            tokens[i] = file_tokens[i] = word_spans.text[begins[i] : ends[i]].tobytes().decode("utf-8", "replace")
    source = np.frombuffer(part.source, np.uint8)
    places = character_spans(source, spans) + part.first
    return Located(batch.ids, places, spans + first, word_ids + words, tokens, file_tokens)
