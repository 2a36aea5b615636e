"""Whether two tokenizers spell alike, and the ids that one gives to the text of a token of the other."""

from __future__ import annotations

from collections.abc import Sequence

from subwords.adapt.words import ids_of_words
from subwords.errors import InputError
from subwords.families import segmenter_of
from subwords.tokenizer import Tokenizer

__all__ = ["check_alphabets", "spelled"]


def check_alphabets(old: Tokenizer, new: Tokenizer) -> None:
    """Raise InputError unless two tokenizers spell the same text by the same tokens."""
    first, second = old.model.spelling, new.model.spelling
    if first != second:
        raise InputError(f"unrelated tokenizers: the tokens of one are {first}, those of the other {second}")


def spelled(tokenizer: Tokenizer, tokens: Sequence[bytes], threads: int | None = None) -> list[list[int]]:
    """Return the ids of the text of each token, as one word; see `Segmenter.spell`."""
    model = tokenizer.model
    return segmenter_of(model).spell(tokens, lambda words: ids_of_words(model, words, threads))
