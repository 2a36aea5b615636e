"""Settings that trainers share, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import InputError, TrainingError
from subwords.kernels import layout
from subwords.support.checks import check_choice, check_integer, check_strings, check_token

__all__ = ["TIES", "Limits", "Step", "check_limits", "check_room", "check_unk", "check_words"]

TIES = {"ids": layout.TIE_IDS, "first": layout.TIE_FIRST, "bytes": layout.TIE_BYTES}
MOST_IDS = (1 << layout.ID_BITS) - 1  # limit of an entry in the encoder's pair table

Step = Callable[[str, int, int], object]  # phase, number of steps done, number of steps expected


class Limits(Protocol):
    """The settings that all trainers by merges have."""

    @property
    def vocab_size(self) -> int:
        """The number of tokens to reach."""

    @property
    def special_tokens(self) -> Sequence[str]:
        """Tokens that get the first ids."""

    @property
    def tie_break(self) -> str:
        """One of TIES."""

    @property
    def min_frequency(self) -> int:
        """The smallest count of a merged pair."""

    @property
    def max_token_length(self) -> int | None:
        """The largest number of symbols in a token."""

    @property
    def limit_alphabet(self) -> int | None:
        """The number of symbols to keep."""


def check_limits(settings: Limits) -> None:
    """Raise InputError for invalid special tokens, numbers or tie rules; store special tokens as a tuple."""
    # As a tuple, because an iterator can be read only once.
    object.__setattr__(settings, "special_tokens", check_strings("special_tokens", settings.special_tokens))
    check_integer("vocab_size", settings.vocab_size, 1, MOST_IDS)
    check_integer("min_frequency", settings.min_frequency, 0, MOST)
    for name in ("max_token_length", "limit_alphabet"):
        if getattr(settings, name) is not None:
            check_integer(name, getattr(settings, name), 1, MOST)
    check_choice("tie_break", settings.tie_break, TIES)


def check_room(symbols: int, settings: Limits) -> None:
    """Raise TrainingError if vocab_size is below the number of alphabet symbols and special tokens (B6)."""
    specials = len(settings.special_tokens)
    if symbols + specials > settings.vocab_size:
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too small: the alphabet has {symbols} symbols, and there are "
            f"{specials} special tokens, {symbols + specials} in all. Raise vocab_size, set limit_alphabet, or start "
            f"from the bytes of the corpus alone (alphabet='corpus')"
        )


def check_words(counts: WordCounts) -> None:
    """Raise TrainingError if there are no words."""
    if not len(counts):
        raise TrainingError("no words to learn from: the corpus is empty")


def check_unk(unk_token: object, special_tokens: Sequence[str]) -> None:
    """Raise InputError unless the token for unknown words is a special token."""
    check_token("unk_token", unk_token)
    if unk_token not in special_tokens:
        raise InputError(
            f"expected unk_token {unk_token!r} to be among special_tokens: unknown words need an id. "
            f"Add it to special_tokens, or name one of them as unk_token"
        )
