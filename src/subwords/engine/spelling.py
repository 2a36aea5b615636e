"""The tokens of ids as text, decoded when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.components.byte_alphabet import tokens_to_text
from subwords.components.vocab import Vocab

if TYPE_CHECKING:
    from subwords.engine.spans import Located

__all__ = ["Spelled", "Spelling", "file_tokens_of", "tokens_of"]


class Spelled(dict[int, str]):
    """The token of each id that was asked for."""

    def __init__(self, spell: Callable[[int], str]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, index: int) -> str:
        token = self[index] = self._spell(index)
        return token


def tokens_of(vocab: Vocab) -> Spelled:
    """Return the tokens as text; bytes that are not a complete character show as U+FFFD.

    >>> tokens_of(Vocab([b"a", b"\\xc3"]))[1]
    '\N{REPLACEMENT CHARACTER}'
    """
    return Spelled(lambda index: vocab[index].decode("utf-8", "replace"))


def file_tokens_of(vocab: Vocab) -> Spelled:
    """Return the tokens of a byte-level vocabulary as files spell them.

    >>> file_tokens_of(Vocab([b" a"]))[0]
    'Ġa'
    """
    return Spelled(lambda index: tokens_to_text([vocab[index]])[0])


class Spelling(NamedTuple):
    """The tokens of a vocabulary of `size` ids, as text and as files spell them."""

    tokens: Mapping[int, str]
    file_tokens: Mapping[int, str]
    size: int

    def name(self, one: Located, names: NDArray[np.int32], tokens: list[str]) -> None:
        """Append the tokens of a text that are not those of its ids to `tokens`, and write their numbers to `names`."""
        for place, (index, *both) in enumerate(zip(one.ids.tolist(), one.tokens, one.file_tokens, strict=True)):
            if index >= self.size or both != [self.tokens[index], self.file_tokens[index]]:
                names[place] = len(tokens)
                tokens.append(both[0])
