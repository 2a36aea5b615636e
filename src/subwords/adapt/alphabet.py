"""How tokenizers spell tokens, and whether two of them spell alike."""

from __future__ import annotations

from subwords.bpe.model import BPE
from subwords.errors import InputError
from subwords.families import Model
from subwords.tokenizer import Tokenizer
from subwords.wordlevel.model import WordLevel
from subwords.wordpiece.model import WordPiece

__all__ = ["check_alphabets"]


def check_alphabets(old: Tokenizer, new: Tokenizer) -> None:
    """Raise InputError unless two tokenizers spell the same text by the same tokens."""
    first, second = _spelling(old.model), _spelling(new.model)
    if first != second:
        raise InputError(f"unrelated tokenizers: the tokens of one are {first}, those of the other {second}")


def _spelling(model: Model) -> str:
    """Return how tokens are spelled, for comparison and for messages."""
    if isinstance(model, WordPiece):
        return f"pieces of words; those that continue a word begin with {model.prefix!r}"
    if isinstance(model, WordLevel):
        return "whole words"
    if not isinstance(model, BPE):
        return "characters"
    marks = [f"{name} {mark!r}" for name, mark in (("prefix", model.prefix), ("suffix", model.suffix)) if mark]
    return " with ".join(["bytes" if model.byte_level else "characters", *marks])
