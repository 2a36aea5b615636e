"""The WordLevel model: a vocabulary of whole words, validated once, immutable."""

from __future__ import annotations

from dataclasses import dataclass

from subwords.spec.model import Model
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError

MOST_IDS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class WordLevel(Model):
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

    @property
    def words_only(self) -> bool:
        """Always True: any word outside the vocabulary is unknown."""
        return True

    @property
    def spelling(self) -> str:
        """How tokens spell text, for comparison and for messages."""
        return "whole words"
