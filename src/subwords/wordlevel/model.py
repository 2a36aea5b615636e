"""The WordLevel model: a vocabulary of whole words, validated once, immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from subwords.components.vocab import Vocab
from subwords.errors import FormatError
from subwords.support.value import Value

__all__ = ["WordLevel"]

MOST_IDS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class WordLevel(Value):
    """A WordLevel model (ALGORITHMS.md, L1): a word is a token, or unknown.

    unk_id: the id of unknown words; None if they are an error.
    special_ids: ids that no text yields (ALGORITHMS.md, A3).
    """

    vocab: Vocab
    unk_id: int | None = None
    special_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        size = len(self.vocab)
        if size > MOST_IDS:
            raise FormatError(f"expected at most {MOST_IDS} ids, not {size}")
        if self.unk_id is not None and not 0 <= self.unk_id < size:
            raise FormatError(f"expected unk_id, the id of unknown words, below {size}; it is {self.unk_id}")

    def extended(self, tokens: Sequence[bytes]) -> WordLevel:
        """Return a model with more tokens, which get the next ids; no text yields them."""
        more = range(len(self.vocab), len(self.vocab) + len(tokens))
        return replace(self, vocab=self.vocab.with_more(tokens), special_ids=self.special_ids | frozenset(more))

    @property
    def lossless(self) -> bool:
        """Always False: unknown words are lost."""
        return False
