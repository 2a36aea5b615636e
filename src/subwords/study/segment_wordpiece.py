"""The longest matches of a word, and the words that are tokens."""

from __future__ import annotations

from subwords.study.steps import Known, Match, Matching, Segmentation, Unknown
from subwords.wordlevel.model import WordLevel
from subwords.wordpiece.model import WordPiece
from subwords.wordpiece.plain import matches

__all__ = ["WordLevelWords", "WordPieceWords"]


class WordPieceWords:
    """Segments words by a WordPiece model (P3)."""

    def __init__(self, model: WordPiece) -> None:
        self._model = model
        self._pieces = {piece: index for index, piece in enumerate(model.vocab) if index not in model.special_ids}

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its ids."""
        model, size = self._model, _characters(word)
        if size > model.max_chars:
            return Unknown(model.unk_id, f"the word has {size} characters, more than {model.max_chars} (max_chars)")
        found, at, done = list[Match](), 0, 0  # places in characters and in bytes
        for index, end in matches(self._pieces, model.prefix.encode(), word):
            stop = _characters(word[:end])
            found.append(Match(index, at, stop, size - stop))
            at, done = stop, end
        if done < len(word):
            begun = f" after {at} characters" if at else ""
            why = f"no piece begins {word[done:].decode('utf-8', 'replace')!r}{begun}: the whole word is unknown"
            return Unknown(model.unk_id, why, tuple(found))
        return Matching(tuple(found))


def _characters(word: bytes) -> int:
    return len(word.decode("utf-8", "surrogateescape"))


class WordLevelWords:
    """Looks up words in a WordLevel model (L1)."""

    def __init__(self, model: WordLevel) -> None:
        self._model = model

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its id."""
        index = self._model.vocab.ids.get(word)
        if index is None or index in self._model.special_ids:
            return Unknown(self._model.unk_id, "the word is not in the vocabulary")
        return Known(index, "the word is a token")
