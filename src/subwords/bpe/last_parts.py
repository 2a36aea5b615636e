"""The last merge of each token: of all pairs that join to it, the only one that ever meets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.kernels import layout
from subwords.kernels.layout import BPEModel, BPEScratch

__all__ = ["last_parts"]


def last_parts(vocab: Vocab, arrays: BPEModel) -> NDArray[np.int64]:
    """Return the two symbols of each token before its last merge, shape (n, 2), or -1 if it never is two.

    The model knows every byte. While no merge has crossed the ends of a token's bytes in a text, what happens between
    them is what happens in the token alone. So of the pairs that join to it, only this one ever meets.
    """
    from subwords.kernels.named import last_pairs

    room = max(1, int(np.diff(vocab.offsets).max(initial=0)))
    keys = np.empty(layout.KEYS + room + layout.MERGE_PADDING + layout.TIED_SCRATCH * room, np.uint64)
    symbols, codes = np.empty(layout.SYMBOL_SCRATCH * room, np.int32), np.empty(layout.PAIR_LANES, np.uint32)
    scratch = BPEScratch(keys, symbols, codes, np.zeros(0, np.int32))
    parts = np.empty((len(vocab), 2), np.int64)
    last_pairs(vocab.data, vocab.offsets, np.arange(len(vocab)), arrays, scratch, parts.ravel())
    return parts
