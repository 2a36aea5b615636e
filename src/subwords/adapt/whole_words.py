"""Whole words only: which ids of a coarse word are words of a finer rule (B12)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.corpus.counts import WordCounts
from subwords.errors import InputError
from subwords.results.token_batch import TokenBatch
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import SplitterEngine
from subwords.unicode.tables import property_members

__all__ = ["whole_words_only"]

JOINING = " _'\u2019"  # allowed in a word besides letters and marks


def whole_words_only(ids: TokenBatch, model: BPE, counts: WordCounts, inner: SplitterEngine) -> TokenBatch:
    """Return the ids of coarse words; the id after the last token replaces each one that is not a word of `inner`.

    A word has at least one letter, and only letters, marks, spaces, underscores and apostrophes. InputError for a model
    that does not spell each byte, and for a rule that drops text.
    """
    if not (model.byte_level and model.knows_all) or model.prefix or model.suffix or not inner.keeps_text:
        raise InputError("whole_words needs a byte-level model with all bytes, and a splitter that keeps all text")
    borders = _borders(counts, inner)
    sizes = np.diff(model.vocab.offsets)[ids.ids]
    ends = np.cumsum(sizes)
    kept = borders[ends - sizes] & borders[ends] & _words(model)[ids.ids]
    return TokenBatch(np.where(kept, ids.ids, len(model.vocab)).astype(ids.ids.dtype), ids.offsets)


def _borders(counts: WordCounts, inner: SplitterEngine) -> NDArray[np.bool_]:
    """Return where the words of the finer rule begin and end, for each byte of the coarse words."""
    found, at = np.zeros(len(counts.data) + 1, np.bool_), 0
    found[0] = True
    for chunk in inner.texts(np.ascontiguousarray(counts.data), counts.offsets, SplitBuffers()):
        ends = chunk.ends[: int(chunk.text_ends[-1])].astype(np.int64)
        found[at + ends] = True
        at += int(ends[-1]) if len(ends) else 0
    assert at == len(counts.data)
    return found


def _words(model: BPE) -> NDArray[np.bool_]:
    """Return which tokens are words: at least a letter, and nothing but letters, marks and what joins them."""
    letters, allowed = property_members("L"), property_members("L") | property_members("M")
    found = np.zeros(len(model.vocab), np.bool_)
    for index, token in enumerate(model.vocab):
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue
        codes = [ord(character) for character in text if character not in JOINING]
        found[index] = bool(codes) and all(allowed[code] for code in codes) and any(letters[code] for code in codes)
    return found
