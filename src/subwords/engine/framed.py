"""Texts with positions to encodings: truncation, the tokens of a template, padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.components.padding import Padding, Truncation
from subwords.components.template import Inserted, Slot, Template
from subwords.engine.spans import Located
from subwords.engine.truncated import pieces_of
from subwords.errors import InputError
from subwords.results.encoding import Encoding

__all__ = ["combinations", "framed", "padded", "sliced"]

MOST_PIECES = 1 << 20  # combinations of the pieces of two texts
MOST_TOKENS = 1 << 24  # of a padded text with its overflow

_Range: TypeAlias = tuple[int, int]
_Number = TypeVar("_Number", np.uint8, np.uint32, np.int64)


def framed(template: Template, texts: Sequence[Located], truncation: Truncation | None = None) -> Encoding:
    """Return the encoding of a text or pair with the tokens of a template; the pieces cut off are its `overflow`.

    Spans are trimmed if the template says so. InputError if a text cannot be cut as the truncation says.

    Source: HF tokenizers 0.23, TokenizerImpl::post_process and Encoding::merge_with.
    """
    pair = len(texts) == 2
    ranges = [[(0, len(text.ids))] for text in texts]
    if truncation is not None:
        ranges = pieces_of([len(text.ids) for text in texts], truncation, template.added(pair))
    slots = ["AB".index(piece.text) for piece in template.pieces(pair) if isinstance(piece, Slot)]
    first, *others = (_encoding(template, texts, chosen) for chosen in combinations(slots, ranges))
    return replace(first, overflow=tuple(others)) if others else first


def combinations(slots: Sequence[int], ranges: Sequence[Sequence[_Range]]) -> list[tuple[_Range, ...]]:
    """Return a range of tokens for each slot: first the kept pieces, then their combinations in HF's order."""
    rows: list[tuple[_Range, ...]] = [()]
    for text in slots:
        kept, *rest = ranges[text]
        if len(rows) * len(ranges[text]) > MOST_PIECES:
            raise InputError(f"truncation cuts this pair into more than {MOST_PIECES} pieces: raise max_length")
        first, *others = rows
        rows = [(*first, kept)]
        rows += [(*row, piece) for row in others for piece in (kept, *rest)]
        rows += [(*first, piece) for piece in rest]
    return rows


def _encoding(template: Template, texts: Sequence[Located], chosen: Sequence[_Range]) -> Encoding:
    taken = iter(chosen)
    parts: list[tuple[Located, int, int]] = []  # text, type id, whether it is inserted
    ranges = {"A": range(0), "B": range(0)}
    at = 0
    for piece in template.pieces(len(texts) == 2):
        if isinstance(piece, Inserted):
            parts.append((_inserted(piece), piece.type_id, 1))
        else:
            parts.append((sliced(template, texts["AB".index(piece.text)], *next(taken)), piece.type_id, 0))
            ranges[piece.text] = range(at, at + len(parts[-1][0].ids))
        at += len(parts[-1][0].ids)
    if len(parts) == 1:
        whole = parts[0][0]
    else:
        whole = Located.join([part for part, _, _ in parts])
    lengths = [len(part.ids) for part, _, _ in parts]
    types = np.array([kind for _, kind, _ in parts], np.uint32)
    special = np.array([flag for _, _, flag in parts], np.uint8)
    return Encoding(
        ids=whole.ids,
        tokens=tuple(whole.tokens),
        file_tokens=tuple(whole.file_tokens),
        spans=whole.spans,
        byte_spans=whole.byte_spans,
        word_ids=tuple([None if word < 0 else word for word in whole.words.tolist()]),
        type_ids=np.repeat(types, lengths),
        special_tokens_mask=np.repeat(special, lengths),
        attention_mask=np.ones(at, np.uint8),
        ranges=tuple(ranges.values())[: len(texts)],
    )


def _inserted(piece: Inserted) -> Located:
    places = np.zeros((len(piece.ids), 2), np.int64)
    words = np.full(len(piece.ids), -1, np.int64)
    return Located(np.array(piece.ids, np.uint32), places, places, words, [*piece.tokens], [*piece.tokens])


def sliced(template: Template, text: Located, start: int, stop: int) -> Located:
    """Return a range of the ids of a text, with spans as the template says."""
    part = text if (start, stop) == (0, len(text.ids)) else text.sliced(start, stop)
    if not template.trims or not len(part.ids):
        return part
    spans = template.trimmed(part.spans, part.file_tokens)
    return part._replace(spans=spans, byte_spans=part.byte_spans + _shifts(part, spans))


def _shifts(text: Located, trimmed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far byte spans move when spans in characters are trimmed; whitespace may be several bytes."""
    moved = np.zeros_like(trimmed)
    for i in np.flatnonzero((trimmed != text.spans).any(1)).tolist():
        data = text.source[slice(*text.byte_spans[i].tolist())].decode("utf-8", "replace")
        start, stop = (trimmed[i] - text.spans[i]).tolist()
        moved[i] = len(data[:start].encode()), -len(data[len(data) + stop :].encode()) if stop else 0
    return moved


def _check_size(encoding: Encoding, length: int) -> None:
    pieces = 1 + len(encoding.overflow)
    if length * pieces > MOST_TOKENS:
        raise InputError(
            f"padding makes a text of {length * pieces} tokens, more than {MOST_TOKENS}: lower its length "
            f"({length} tokens, {pieces} pieces), or padding=False"
        )


def padded(encodings: Sequence[Encoding], padding: Padding) -> Iterator[Encoding]:
    """Yield the encodings of a batch filled up to one length; those in their `overflow` too.

    Source: HF tokenizers 0.23, pad_encodings.
    """
    length = padding.length_for(max(map(len, encodings), default=0))
    for encoding in encodings:
        _check_size(encoding, length)
    return (_padded(encoding, length, padding) for encoding in encodings)


def _padded(encoding: Encoding, length: int, padding: Padding) -> Encoding:
    overflow = tuple(_padded(part, length, padding) for part in encoding.overflow)
    missing = length - len(encoding)
    if missing <= 0:
        return replace(encoding, overflow=overflow) if overflow else encoding
    left = missing if padding.direction == "left" else 0
    right = missing - left

    def filled(values: NDArray[_Number], fill: int) -> NDArray[_Number]:
        width = ((left, right), (0, 0))[: values.ndim]
        return np.pad(values, width, constant_values=fill)

    names = (padding.pad_token,) * missing
    return replace(
        encoding,
        ids=filled(encoding.ids, padding.pad_id),
        tokens=names[:left] + encoding.tokens + names[left:],
        file_tokens=names[:left] + encoding.file_tokens + names[left:],
        spans=filled(encoding.spans, 0),
        byte_spans=filled(encoding.byte_spans, 0),
        word_ids=(*(None,) * left, *encoding.word_ids, *(None,) * right),
        type_ids=filled(encoding.type_ids, padding.pad_type_id),
        special_tokens_mask=filled(encoding.special_tokens_mask, 1),
        attention_mask=filled(encoding.attention_mask, 0),
        ranges=tuple(range(places.start + left, places.stop + left) for places in encoding.ranges),
        overflow=overflow,
    )
