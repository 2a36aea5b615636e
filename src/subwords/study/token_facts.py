"""What is known about each token of a tokenizer: its text, the rank of the merge that makes it, its score."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subwords.study.explain import Words, words_of
from subwords.tokenizer import Tokenizer

__all__ = ["TokenFacts"]

NONE = -1


class TokenFacts:
    """Facts by id; the tables are made when they are first asked for."""

    def __init__(self, tok: Tokenizer) -> None:
        self.tok = tok

    def text(self, index: int) -> str:
        """Return a token as text; bytes that are not characters become lone surrogates."""
        return self.tok.spec.model.vocab[index].decode("utf-8", "surrogateescape")

    def rank(self, index: int) -> int | None:
        """Return the rank of the first merge that makes a token; None if no merge does."""
        found = int(self._ranks[index]) if index < len(self._ranks) else NONE
        return None if found == NONE else found

    def score(self, index: int) -> float | None:
        """Return the score of a token of a Unigram model, a natural logarithm; None for other models."""
        score = self.tok.model.score(index)
        return None if score is None else round(score, 6)

    @cached_property
    def special(self) -> frozenset[int]:
        """The ids of added tokens and of tokens that no text yields."""
        return frozenset(token.id for token in self.tok.spec.added_tokens)

    @cached_property
    def words(self) -> Words:
        """What explains the words of the model."""
        return words_of(self.tok.model)

    @cached_property
    def _ranks(self) -> NDArray[np.int64]:
        model = self.tok.model
        ranks = np.full(len(model.vocab), NONE, np.int64)
        merges = model.ranked_merges[::-1]
        ranks[merges[:, 3]] = merges[:, 0]  # the first merge of a token is written last
        return ranks
