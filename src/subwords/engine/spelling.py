"""The tokens of ids as text, decoded when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from subwords.components.byte_alphabet import tokens_to_text
from subwords.components.vocab import Vocab

__all__ = ["Spelled", "Spelling", "spelling_of"]


class Spelled(dict[int, str]):
    """The token of each id that was asked for."""

    def __init__(self, spell: Callable[[int], str]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, index: int) -> str:
        token = self[index] = self._spell(index)
        return token


class Spelling(NamedTuple):
    """The tokens of a vocabulary of `size` ids, as text and as files spell them."""

    tokens: Mapping[int, str]
    file_tokens: Mapping[int, str]
    size: int


def spelling_of(vocab: Vocab, *, byte_level: bool) -> Spelling:
    """Return the tokens of a vocabulary; bytes that are not a complete character show as U+FFFD.

    >>> tokens, file_tokens, _ = spelling_of(Vocab([b" a"]), byte_level=True)
    >>> tokens[0], file_tokens[0]
    (' a', 'Ġa')
    """
    tokens = Spelled(lambda index: vocab[index].decode("utf-8", "replace"))
    in_files = Spelled(lambda index: tokens_to_text([vocab[index]])[0]) if byte_level else tokens
    return Spelling(tokens, in_files, len(vocab))
