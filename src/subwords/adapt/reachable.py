"""Which tokens the model can produce for some word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.words import ids_of_words
from subwords.bpe.model import BPE
from subwords.bpe.plain import Pairs, Symbol, merge
from subwords.bpe.segmenter import BPESegmenter
from subwords.families import Model, segmenter_of
from subwords.results.token_batch import TokenBatch
from subwords.spec import TokenizerSpec
from subwords.unigram.model import Unigram
from subwords.wordpiece.model import WordPiece

__all__ = ["continues", "ordinary_ids", "reachable", "unreachable_ids"]

STARTS = 64  # pieces that are put before a continuation of WordPiece

Encode: TypeAlias = Callable[[list[bytes]], TokenBatch]


def reachable(model: Model, tokens: list[bytes], ids: NDArray[np.int64], encode: Encode) -> NDArray[np.bool_]:
    """Return which ids a model makes of words; True for ids that are not among `ids`. encode: gives the ids of words.

    For BPE and Unigram, a token is made in some word if and only if it is made of its own text: if no merge or
    piece crosses its ends, its neighbours do not change the segmentation between them.
    """
    found = np.ones(len(tokens), np.bool_)
    if isinstance(model, BPE) and model.whole_words:
        return found  # a word that is a token is looked up
    if isinstance(model, BPE) and model.marked:
        segmenter = segmenter_of(model)
        assert isinstance(segmenter, BPESegmenter)
        for index in ids.tolist():
            found[index] = _merges(model, segmenter.pairs, tokens[index]) == [index]
    elif isinstance(model, WordPiece):
        found[ids] = _pieces(model, tokens, ids, encode)
    else:
        batch = encode([tokens[index] for index in ids.tolist()])
        alone = np.diff(batch.offsets) == 1
        first = np.zeros(len(ids), np.int64)
        first[alone] = batch.ids[batch.offsets[:-1][alone]]
        found[ids] = alone & (first == ids)
    return found


def ordinary_ids(spec: TokenizerSpec) -> NDArray[np.int64]:
    """Return the ids that text should yield: with a token, neither special nor added, no byte of unknown text."""
    model = spec.model
    kept = np.diff(model.vocab.offsets) > 0
    lost = {*model.special_ids, *(token.id for token in spec.added_tokens)}
    lost |= set() if model.unk_id is None else {model.unk_id}
    lost |= set(getattr(model, "unused_ids", ()))
    kept[list(lost)] = False
    if isinstance(model, BPE | Unigram):
        own = model.byte_ids
        kept[own[own >= 0]] = False
    return np.flatnonzero(kept)


def unreachable_ids(spec: TokenizerSpec, threads: int | None = None) -> NDArray[np.int64]:
    """Return the ordinary ids that the model makes of no word."""
    ids, model = ordinary_ids(spec), spec.model
    found = reachable(model, list(model.vocab), ids, lambda words: ids_of_words(model, words, threads))
    return ids[~found[ids]]


def _merges(model: BPE, pairs: Pairs, token: bytes) -> list[int]:
    """Return what the merges make of a token as it is spelled, with its own marks."""
    symbols, rest = list[Symbol](), token
    while rest:
        size = next((n for n in _sizes(model, rest, first=not symbols) if rest[:n] in model.vocab.ids), 0)
        if not size:
            return []
        symbols.append(Symbol(model.vocab.ids[rest[:size]], size))
        rest = rest[size:]
    return [symbol.id for symbol in merge(pairs, symbols)]


def _sizes(model: BPE, rest: bytes, *, first: bool) -> Iterator[int]:
    """Yield the possible sizes of the first symbol, the longest first: with the suffix if it ends the token."""
    before = len(model.prefix) if not first and model.prefix and rest.startswith(model.prefix) else 0
    lead = rest[before] if len(rest) > before else 0
    width = 1 if model.byte_level or lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if model.suffix and rest[before + width :] == model.suffix:
        yield len(rest)
    yield before + width


def _pieces(model: WordPiece, tokens: list[bytes], ids: NDArray[np.int64], encode: Encode) -> NDArray[np.bool_]:
    """Return which pieces are reached: a continuation after one of the pieces that begin a word."""
    prefix = model.prefix.encode()
    starts = [token for index in ids.tolist() if not continues(token := tokens[index], prefix) and len(token) <= 4]
    starts = sorted(starts, key=len)[:STARTS]
    found = np.zeros(len(ids), np.bool_)
    for start in [b"", *starts]:
        left = np.flatnonzero(~found)
        if not len(left):
            break
        words = [
            tokens[index] if not start else start + tokens[index].removeprefix(prefix) for index in ids[left].tolist()
        ]
        if not start:
            found[left] = [
                not continues(word, prefix) and len(word.decode("utf-8", "replace")) <= model.max_chars
                for word in words
            ]
            continue
        batch = encode(words)
        owner = np.repeat(np.arange(len(left)), np.diff(batch.offsets))
        hit = np.zeros(len(left), np.bool_)
        hit[owner[batch.ids == ids[left][owner]]] = True
        found[left] |= hit
    return found


def continues(token: bytes, prefix: bytes) -> bool:
    """Whether a piece of WordPiece continues a word."""
    return bool(prefix) and token.startswith(prefix) and len(token) > len(prefix)
