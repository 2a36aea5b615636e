"""The longest matches of a word, and the words that are tokens."""

from __future__ import annotations

from subwords.study.steps import Known, Match, Matching, Segmentation, Unknown
from subwords.wordlevel.model import WordLevel
from subwords.wordpiece.model import WordPiece

__all__ = ["WordLevelWords", "WordPieceWords"]


class WordPieceWords:
    """Segments words by a WordPiece model (P3)."""

    def __init__(self, model: WordPiece) -> None:
        self._model = model

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its ids."""
        model, text = self._model, word.decode("utf-8", "surrogateescape")
        if len(text) > model.max_chars:
            return Unknown(
                model.unk_id, f"the word has {len(text)} characters, more than {model.max_chars} (max_chars)"
            )
        matches, start = list[Match](), 0
        while start < len(text):
            found = self._longest(text, start)
            if found is None:
                rest = text[start:].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                begun = f" after {start} characters" if start else ""
                why = f"no piece begins {rest!r}{begun}: the whole word is unknown"
                return Unknown(model.unk_id, why, tuple(matches))
            matches.append(found)
            start = found.stop
        return Matching(tuple(matches))

    def _longest(self, text: str, start: int) -> Match | None:
        prefix = self._model.prefix if start else ""
        for stop in range(len(text), start, -1):
            index = self._model.vocab.ids.get((prefix + text[start:stop]).encode("utf-8", "surrogateescape"))
            if index is not None and index not in self._model.special_ids:
                return Match(index, start, stop, len(text) - stop)
        return None


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
