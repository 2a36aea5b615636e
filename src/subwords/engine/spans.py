"""Ids of a text with their positions in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.split.word_spans import WordSpans, character_spans

if TYPE_CHECKING:
    from subwords.encode.encoder import Encoder, WordSource
    from subwords.engine.engine import Route
    from subwords.engine.text_parts import Part

__all__ = ["Located", "located", "word_spans_of"]

_Spans = NDArray[np.int64]
_Spelled: TypeAlias = Callable[[NDArray[np.uint32]], list[str]]


class Located(NamedTuple):
    """The ids of a text with positions and tokens.

    ids: uint32. spans: int64, shape (n, 2), character ranges in the text. words: int64, the word of each id. tokens:
    the token of each id as its file spells it.
    """

    ids: NDArray[np.uint32]
    spans: _Spans
    words: _Spans
    tokens: list[str]


def located(parts: Iterable[Part], route_of: Callable[[Part], Route], spelled: _Spelled) -> Located:
    """Return the ids of the parts of a text with their positions; `spelled` gives the tokens of ids."""
    found = [Located(np.zeros(0, np.uint32), np.zeros((0, 2), np.int64), np.zeros(0, np.int64), [])]
    words = 0
    for part in parts:
        if part.id is not None:
            ids, place = np.array([part.id], np.uint32), np.array([part.span()])
            found.append(Located(ids, place, np.array([words]), [part.data.decode("utf-8", "replace")]))
            words += 1
        else:
            route = route_of(part)
            word_spans = word_spans_of(route.words, part)
            found.append(_located(route.encoder, word_spans, part, words, spelled))
            words += len(word_spans.words) - 1
    return Located(
        np.concatenate([each.ids for each in found]),
        np.concatenate([each.spans for each in found]),
        np.concatenate([each.words for each in found]),
        [token for each in found for token in each.tokens],
    )


def word_spans_of(words: WordSource, part: Part) -> WordSpans:
    """Return the words of a part, with their positions in its source."""
    word_spans = words.word_spans(np.frombuffer(part.data, np.uint8))
    return word_spans if part.origin is None else word_spans.within(part.origin)


def _located(encoder: Encoder, word_spans: WordSpans, part: Part, words: int, spelled: _Spelled) -> Located:
    batch = encoder.encode_words(word_spans.text, word_spans.words)
    counts = np.diff(batch.offsets)
    word_ids = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    if not len(batch.ids):
        return Located(batch.ids, np.zeros((0, 2), np.int64), word_ids, [])
    begins, ends = encoder.segmenter.token_ranges(batch.ids, batch.offsets, word_spans)
    spans = np.stack([word_spans.origin[0, begins], word_spans.origin[1, ends - 1]], axis=1)
    tokens = spelled(batch.ids)
    if encoder.segmenter.shows_unknown:
        for i in np.flatnonzero(batch.ids == encoder.segmenter.unk_id).tolist():
            tokens[i] = word_spans.text[begins[i] : ends[i]].tobytes().decode("utf-8", "replace")
    source = np.frombuffer(part.source, np.uint8)
    return Located(batch.ids, character_spans(source, spans) + part.first, word_ids + words, tokens)
