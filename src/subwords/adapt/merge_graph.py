"""The merge graph of a BPE model: the two parts of each token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.words import ids_of_words
from subwords.bpe.merge_tables import has_ties
from subwords.bpe.model import BPE
from subwords.bpe.plain import Pairs, first_symbols, merged, pairs_of
from subwords.bpe.segmenter import BPESegmenter
from subwords.errors import InputError

__all__ = ["last_two", "parts_of_tokens"]

NONE = -1


def parts_of_tokens(model: BPE) -> NDArray[np.int64]:
    """Return the left and right id of the merge that makes each token, shape (n, 2), -1 twice for tokens without one.

    Of several merges that join to one token, only one is ever used (see ALGORITHMS.md): that one counts, and none for a
    token that its merges do not make. In models whose symbols have a prefix or a suffix, each token has one merge at
    most (InputError), and that counts.
    """
    size = len(model.vocab)
    merges = model.merges[~np.isin(model.merges[:, 2], sorted(model.special_ids))]
    results = merges[:, 2]
    parts = np.full((size, 2), NONE, np.int64)
    many = np.flatnonzero(np.bincount(results, minlength=size) > 1)
    if len(many) and model.marked:
        raise InputError(f"expected one merge for each token; {model.vocab[int(many[0])]!r} has more")
    parts[results] = merges[:, :2]
    if model.marked:
        return parts
    plain = replace(model, whole_words=False)
    alone = ids_of_words(plain, list(model.vocab))
    made = np.zeros(size, np.bool_)
    one = np.flatnonzero(np.diff(alone.offsets) == 1)
    made[one] = alone.ids[alone.offsets[:-1][one]] == one
    parts[~made] = NONE
    many = many[made[many]]
    if not len(many):
        return parts
    if model.byte_level and model.lossless and not has_ties(model):
        last = BPESegmenter(model).last_parts()  # its own: the arrays of a shared one are of other tables
    else:
        pairs = pairs_of(model)
        last = np.full((size, 2), NONE, np.int64)
        for index in many.tolist():
            last[index] = last_two(pairs, [symbol.id for symbol in first_symbols(model, model.vocab[index])])
    parts[many] = last[many]
    return parts


def last_two(pairs: Pairs, symbols: list[int]) -> tuple[int, int]:
    """Return the two symbols that merging leaves before the last merge, -1 twice if it never leaves two."""
    row = merged(pairs, symbols, until=2)
    return (row[0], row[1]) if len(row) == 2 else (NONE, NONE)
