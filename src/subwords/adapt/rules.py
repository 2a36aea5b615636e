"""Rules of merging: how many words a token may span, and several rules at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.kernels import layout
from subwords.kernels.layout import MergeRules

__all__ = ["joint", "word_rules"]

MOST_CLASSES = 14  # so that all pairs of classes of two rules fit into a byte


def word_rules(tokens: Sequence[bytes], space: bytes, most: int) -> MergeRules:
    """Return rules by which a token begins at most `most` words, each with a space; longer tokens merge with none."""
    vocab, most = Vocab.of(tokens), min(most, MOST_CLASSES - 2)
    counts = np.minimum(_times(vocab, space), most + 1).astype(np.uint8)
    kinds = np.arange(most + 2)
    sums = kinds[:, None] + kinds
    joined = np.where((sums <= most) & (kinds[:, None] <= most) & (kinds <= most), sums, layout.APART).astype(np.uint8)
    lengths = np.diff(vocab.offsets).astype(np.int32)
    return MergeRules(lengths, counts, joined.ravel(), np.zeros(0, np.int32))


def _times(vocab: Vocab, space: bytes) -> NDArray[np.int64]:
    """Return how often each token holds a space."""
    begins = np.ones(int(vocab.offsets[-1]), np.bool_)
    for k, byte in enumerate(space):
        begins &= vocab.data[k : k + len(begins)] == byte
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(begins)])
    starts, ends = vocab.offsets[:-1], vocab.offsets[1:] - (len(space) - 1)  # a space that begins later is cut
    found: NDArray[np.int64] = before[np.maximum(starts, ends)] - before[starts]
    return found


def joint(first: MergeRules, second: MergeRules) -> MergeRules:
    """Return rules that allow what both allow; lengths and taken ids are those of the first."""
    a, b = (round(len(rules.joined) ** 0.5) for rules in (first, second))
    pairs = first.joined.reshape(a, 1, a, 1).astype(np.int64), second.joined.reshape(1, b, 1, b).astype(np.int64)
    joined = np.where((pairs[0] == layout.APART) | (pairs[1] == layout.APART), layout.APART, pairs[0] * b + pairs[1])
    return MergeRules(
        first.lengths, first.classes * np.uint8(b) + second.classes, joined.astype(np.uint8).ravel(), first.taken
    )
