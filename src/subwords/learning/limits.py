"""What every trainer is told, and what it checks first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import TrainingError
from subwords.kernels.layout import ID_BITS
from subwords.kernels.train_layout import TIE_BYTES, TIE_FIRST, TIE_IDS
from subwords.support.checks import check_choice, check_integer, check_strings

__all__ = ["TIES", "Limits", "Step", "check_limits", "check_room", "check_words"]

TIES = {"ids": TIE_IDS, "first": TIE_FIRST, "bytes": TIE_BYTES}
MOST_IDS = (1 << ID_BITS) - 1  # what an entry of the encoder's pair table holds

Step = Callable[[str, int, int], object]  # a phase, how many of its steps are done, and how many are expected


class Limits(Protocol):
    """What every trainer that merges is told."""

    @property
    def vocab_size(self) -> int:
        """How many tokens there are to be."""

    @property
    def special_tokens(self) -> Sequence[str]:
        """Tokens that are there from the start."""

    @property
    def tie_break(self) -> str:
        """One of TIES."""

    @property
    def min_frequency(self) -> int:
        """The least count of a merged pair."""

    @property
    def max_token_length(self) -> int | None:
        """The most symbols of a token."""

    @property
    def limit_alphabet(self) -> int | None:
        """How many symbols to keep."""


def check_limits(settings: Limits) -> None:
    """Raise InputError where special tokens, a number or the tie rule cannot be used; special tokens become a tuple."""
    # As a tuple, for an iterator can be read once only.
    object.__setattr__(settings, "special_tokens", check_strings("special_tokens", settings.special_tokens))
    check_integer("vocab_size", settings.vocab_size, 1, MOST_IDS)
    check_integer("min_frequency", settings.min_frequency, 0, MOST)
    for name in ("max_token_length", "limit_alphabet"):
        if getattr(settings, name) is not None:
            check_integer(name, getattr(settings, name), 1, MOST)
    check_choice("tie_break", settings.tie_break, TIES)


def check_room(symbols: int, settings: Limits) -> None:
    """Raise TrainingError where vocab_size does not hold the alphabet and the special tokens (B6)."""
    specials = len(settings.special_tokens)
    if symbols + specials > settings.vocab_size:
        raise TrainingError(
            f"expected vocab_size to hold the {symbols} symbols of the alphabet and {specials} special tokens, "
            f"{symbols + specials} in all; it is {settings.vocab_size}. Raise it, or set limit_alphabet"
        )


def check_words(counts: WordCounts) -> None:
    """Raise TrainingError where there is nothing to learn from."""
    if not len(counts):
        raise TrainingError("expected words to learn from; the corpus is empty")
