"""Removal of pieces of Unigram and WordPiece: no piece is made of others, but characters must stay known."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cached_property

from subwords.adapt.removal import Removal, shown
from subwords.errors import InputError
from subwords.spec import TokenizerSpec
from subwords.unigram.model import Unigram
from subwords.unigram.plain import best_path
from subwords.wordpiece.model import WordPiece
from subwords.wordpiece.plain import longest_match

__all__ = ["UnigramRemoval", "WordPieceRemoval"]


class UnigramRemoval(Removal):
    """Any piece may go whose characters are other pieces, or bytes."""

    model: Unigram

    def _fixed(self) -> dict[int, str]:
        found = super()._fixed()
        if self.allow_unknown or (self.model.byte_fallback and bool((self.model.byte_ids >= 0).all())):
            return found
        for token, index in self._ids.items():
            text = token.decode("utf-8", "surrogateescape")
            lost = next(
                (c for c in text if len(text) == 1 or c.encode("utf-8", "surrogateescape") not in self._ids), ""
            )
            if lost:
                found.setdefault(index, f"a piece without which the character {lost!r} would be unknown")
        return found

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the pieces of the greatest sum of scores that spell it; [] if none do."""
        scores, ids = self._scores, self._ids

        def score_of(piece: bytes) -> float | None:
            found = ids.get(piece, index)
            return None if found == index or found in gone else scores[found]

        return [ids[piece] for piece in best_path(self.tokens[index], score_of, self._longest)[0]]

    @cached_property
    def _scores(self) -> list[float]:
        scores: list[float] = self.model.path_scores.tolist()
        return scores

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._ids), default=1)


class WordPieceRemoval(Removal):
    """Any piece may go whose characters are pieces themselves, in the same places: at the beginning and inside."""

    model: WordPiece

    def __init__(self, spec: TokenizerSpec, *, allow_unknown: bool = False) -> None:
        super().__init__(spec, allow_unknown=allow_unknown)
        if allow_unknown:
            return
        # A shorter match may end inside the piece after it, whose other characters then are matched by themselves.
        for index in self._ids.values():
            if self._prefix and self.tokens[index].startswith(self._prefix) and (lost := self._lost(index)):
                raise InputError(
                    f"pruning could make words with {shown(self.tokens[index])} unknown, for lack of the piece "
                    f"{lost!r}; allow_unknown=True prunes anyway"
                )

    def _fixed(self) -> dict[int, str]:
        found = super()._fixed()
        if self.allow_unknown:
            return found
        for index in self._ids.values():
            pieces = [*self._characters(index)]
            if len(pieces) == 1:
                found.setdefault(index, "the piece of a character, without which words would be unknown")
            elif lost := self._lost(index):
                found.setdefault(index, f"needed, for lack of the piece {lost!r}, for words that would be unknown")
        return found

    def _characters(self, index: int) -> Iterator[str]:
        """Yield the pieces of the characters of a piece."""
        text, prefix = self.tokens[index].decode("utf-8", "replace"), self.model.prefix
        inside = bool(prefix) and text.startswith(prefix) and len(text) > len(prefix)
        for place, char in enumerate(text.removeprefix(prefix) if inside else text):
            yield (prefix if inside or place else "") + char

    def _lost(self, index: int) -> str:
        return next((piece for piece in self._characters(index) if piece.encode() not in self._ids), "")

    @cached_property
    def _prefix(self) -> bytes:
        return self.model.prefix.encode()

    def parts(self, index: int, gone: Container[int]) -> Sequence[int]:
        """Return the longest matches that spell it; [] if none do."""
        return longest_match(_Left(self._ids, gone, index), self._prefix, self.tokens[index], index)


class _Left(dict[bytes, int]):
    """Pieces but those that are gone, looked up in the dict of all."""

    def __init__(self, every: dict[bytes, int], gone: Container[int], without: int) -> None:
        self._every, self._gone, self._without = every, gone, without

    def get(self, piece: bytes, default: int = -1) -> int:  # type: ignore[override]
        found = self._every.get(piece, default)
        return default if found in self._gone else found
