"""Many texts, cut at their added tokens: for ids without places, which `text_parts.py` finds."""

from __future__ import annotations

import numpy as np

from subwords.engine.added_tokens import Finder
from subwords.normalize.normalizer import NormalizerEngine
from subwords.results.token_batch import TokenBatch
from subwords.support.checks import encode_text

__all__ = ["Pieces"]


class Pieces:
    """The added tokens of texts, and the text between them.

    finder: of the tokens. normalizer: what comes before the tokens in normalized text; None if there are none, or no
    normalizer. texts: what is between tokens, normalized if there is a normalizer.

    >>> from subwords.components.added_token import AddedToken
    >>> from subwords.engine.added_tokens import AddedTokens
    >>> pieces = Pieces(AddedTokens([AddedToken("<eos>", 5)]).finder("allow"), None)
    >>> pieces.add("a<eos>b")
    >>> pieces.texts
    [b'a', b'b']
    >>> pieces.filled(TokenBatch(np.array([1, 2, 3], np.uint32), np.array([0, 2, 3]))).to_lists()
    [[1, 2, 5, 3]]
    """

    def __init__(self, finder: Finder, normalizer: NormalizerEngine | None) -> None:
        self.texts: list[bytes] = []
        self._finder = finder
        self.normalizer = normalizer
        self._ids: list[int] = []
        self._before: list[int] = []  # for each id, how many texts come before it
        self._ends: list[tuple[int, int]] = [(0, 0)]  # texts and ids up to the end of each given text

    def add(self, text: str | bytes) -> None:
        """Cut the next text; InputError for a lone surrogate."""
        if isinstance(text, str):
            encode_text(text)
        else:
            text = text.decode("utf-8", "surrogateescape")
        for piece in self._finder.literal.cut(text):
            if isinstance(piece, int):
                self._put(piece)
            elif self.normalizer is not None:
                self._put_all(self._finder.normalized.cut(self.normalizer.escaped(piece)))
            else:
                self._put_all(self._finder.normalized.cut(piece))
        self._ends.append((len(self.texts), len(self._ids)))

    def _put_all(self, pieces: list[str | int]) -> None:
        for piece in pieces:
            if isinstance(piece, int):
                self._put(piece)
            else:
                self.texts.append(piece.encode("utf-8", "surrogateescape"))

    def _put(self, index: int) -> None:
        self._before.append(len(self.texts))
        self._ids.append(index)

    def filled(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of the given texts, given those of `texts`."""
        texts, tokens = np.array(self._ends, np.int64).T
        if not self._ids:
            return TokenBatch(batch.ids, batch.offsets[texts])
        ids = np.insert(batch.ids, batch.offsets[self._before], np.array(self._ids, np.uint32))
        return TokenBatch(ids, batch.offsets[texts] + tokens)
