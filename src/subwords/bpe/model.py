"""The BPE model: a vocabulary and its merges, validated once, immutable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError
from subwords.vocab import Vocab

if TYPE_CHECKING:
    from subwords.bpe.encode import BPESegmenter

__all__ = ["BPE"]

MISSING = -1
# What the encoder's pair table holds in eight bytes, see kernels/merge.py.
MOST_IDS, MOST_MERGES = 2**21 - 1, 2**22 - 1
LARGEST_ID = MOST_IDS - 1


@dataclass(frozen=True, eq=False)
class BPE:
    """A BPE model.

    merges: int64, shape (m, 3): left id, right id, resulting id, in order of rank.
    ranks: int64, shape (m,), ascending; None where the rank is the position. Equal ranks are equal in priority.
    byte_level: the symbols a word starts from are its bytes; otherwise its characters.
    unk_id, fuse_unk: what stands for an unknown symbol; without one, `unknown` says "error" or "drop" (E4).
    whole_words: a word that is a token is taken at once (E2).
    special_ids: ids that no text yields by itself (A3).
    """

    vocab: Vocab
    merges: NDArray[np.int64]
    ranks: NDArray[np.int64] | None = None
    byte_level: bool = True
    unk_id: int | None = None
    fuse_unk: bool = False
    unknown: Literal["error", "drop"] = "error"
    whole_words: bool = False
    special_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        size = len(self.vocab)
        if size > MOST_IDS or len(self.merges) > MOST_MERGES:
            raise FormatError(
                f"expected at most {MOST_IDS} ids and {MOST_MERGES} merges, not {size} and {len(self.merges)}"
            )
        if self.merges.size and (self.merges.min() < 0 or self.merges.max() >= size):
            raise FormatError(f"expected merges of ids below {size}; one names {self.merges.max()}")
        self._check_results()
        self._check_ranks()

    def _check_results(self) -> None:
        offsets, data = self.vocab.offsets, self.vocab.data
        lengths = np.diff(offsets)
        left, right, result = self.merges.T
        wrong = np.flatnonzero(lengths[left] + lengths[right] != lengths[result])
        if not len(wrong):
            # All joined parts, in the order of the merges, against all results: one comparison of two byte arrays.
            parts = data[_spans(offsets, self.merges[:, :2].ravel())]
            wrong = np.flatnonzero(parts != data[_spans(offsets, result)])
            wrong = np.searchsorted(np.cumsum(lengths[result]), wrong, side="right")
        if len(wrong):
            a, b, c = (self.vocab[int(i)] for i in self.merges[wrong[0]])
            raise FormatError(f"expected merge {wrong[0]} to yield {a + b!r}, the joint of its parts; it yields {c!r}")

    def _check_ranks(self) -> None:
        if self.ranks is None:
            return
        ranks, result = self.ranks, self.merges[:, 2]
        if ranks.shape != result.shape or np.diff(ranks).min(initial=0) < 0:
            raise FormatError(f"expected {len(result)} ascending ranks, one for each merge")
        if np.any((np.diff(ranks) == 0) & (np.diff(result) != 0)):
            raise FormatError("expected merges of equal rank to have the same result")

    @classmethod
    def from_ranks(cls, tokens: Sequence[bytes], *, special_ids: Iterable[int] = ()) -> BPE:
        """Return the model of a rank file: two tokens whose joint is a token merge, lowest id first (E2, tiktoken)."""
        special = frozenset(special_ids)
        vocab = Vocab(tokens)
        ids = {token: i for i, token in enumerate(tokens) if i not in special}
        merges = [
            (left, right, i)
            for token, i in ids.items()
            for cut in range(1, len(token))
            if (left := ids.get(token[:cut])) is not None and (right := ids.get(token[cut:])) is not None
        ]
        merges.sort(key=lambda merge: merge[2])
        table = np.array(merges, np.int64).reshape(-1, 3)
        return cls(vocab, table, ranks=table[:, 2].copy(), whole_words=True, special_ids=special)

    @cached_property
    def alphabet(self) -> NDArray[np.int32]:
        """The id of every byte (256 of them) or of every code point (0x110000), -1 where there is none."""
        table = np.full(256 if self.byte_level else 0x110000, MISSING, np.int32)
        lengths = np.diff(self.vocab.offsets)
        for index in np.flatnonzero((lengths >= 1) & (lengths <= (1 if self.byte_level else 4))).tolist():
            if index in self.special_ids or index == self.unk_id:
                continue
            token = self.vocab[index]
            symbol = token[0] if self.byte_level else _code_point(token)
            if symbol is not None:
                table[symbol] = index
        return table

    def segmenter(self) -> BPESegmenter:
        """Return what segments words by this model."""
        from subwords.bpe.encode import BPESegmenter

        return BPESegmenter(self)

    @cached_property
    def lossless(self) -> bool:
        """Whether every text can be had back from its ids: only where every byte has an id."""
        return self.byte_level and bool((self.alphabet >= 0).all())


def _spans(offsets: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of the bytes of these ids, one id after the other."""
    lengths = offsets[ids + 1] - offsets[ids]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[ids] - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)


def _code_point(token: bytes) -> int | None:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    return ord(text) if len(text) == 1 else None
