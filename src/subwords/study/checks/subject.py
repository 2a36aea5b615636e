"""What checks look at: a tokenizer, and what several checks need of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.reachable import ordinary_ids
from subwords.adapt.words import ids_of_words
from subwords.families import segmenter_of
from subwords.results.token_batch import TokenBatch

if TYPE_CHECKING:
    from subwords.components.model import Model
    from subwords.tokenizer import Tokenizer

__all__ = ["Subject"]


class Subject:
    """A tokenizer under audit."""

    def __init__(self, tokenizer: Tokenizer, threads: int | None = None) -> None:
        self.tokenizer, self.threads = tokenizer, threads
        self.model: Model = tokenizer.model
        self.tokens = list(self.model.vocab)

    def shown(self, index: int) -> str:
        """Return a token as text; bytes that are not a character as \\xNN."""
        return self.tokens[index].decode("utf-8", "backslashreplace")

    def quoted(self, index: int) -> str:
        """Return a token for messages: as Python writes a str, or bytes if it is not text."""
        token = self.tokens[index]
        try:
            return repr(token.decode())
        except UnicodeDecodeError:
            return repr(token)

    @cached_property
    def ordinary(self) -> NDArray[np.int64]:
        """The ids that text should yield: with a token, neither special nor added, no bytes for unknown characters."""
        return ordinary_ids(self.tokenizer.spec)

    def word_ids(self, words: list[bytes]) -> TokenBatch:
        """Return the ids of words, by the model alone."""
        return ids_of_words(self.model, words, self.threads)

    @cached_property
    def reachable(self) -> NDArray[np.bool_]:
        """Which ids the model makes of any word; True for all that are not ordinary."""
        return segmenter_of(self.model).reachable(self.tokens, self.ordinary, self.word_ids)
