"""What the algorithms of `train` are, which options each has, and what it takes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

from subwords.bpe.train import BPESettings
from subwords.checks import check_choice, check_strings, check_token
from subwords.corpus.counts import WordCounts
from subwords.errors import InputError
from subwords.wordpiece.model import SPECIAL_TOKENS

# What only WordPiece and Unigram need is imported where they are used: 30 ms of the start.
if TYPE_CHECKING:
    from subwords.unigram.train import UnigramSettings
    from subwords.wordpiece.train import WordPieceSettings

__all__ = ["ALGORITHMS", "OPTIONS", "Family", "Settings", "family_of", "refuse_others", "settings_of", "specials_of"]

Settings: TypeAlias = "BPESettings | WordPieceSettings | UnigramSettings"

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Family(NamedTuple):
    """What goes with an algorithm unless something else is asked for."""

    splitter: str
    normalizer: str | None
    special_tokens: tuple[str, ...]
    unk_token: str | None = None
    min_frequency: int = 0
    unit: Literal["tokens", "steps"] = "tokens"


ALGORITHMS = {
    "bpe": Family("gpt2", None, ()),
    "wordpiece": Family("bert", "bert-uncased", SPECIAL_TOKENS, "[UNK]"),
    "unigram": Family("sentencepiece", "sentencepiece", ("<unk>", "<s>", "</s>"), "<unk>", 2, "steps"),
}

# The options of `train` that not every algorithm has, and the algorithms that have them.
OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("byte_level", "alphabet"), ("bpe",)),
    **dict.fromkeys(("score", "prefix"), ("wordpiece",)),
    **dict.fromkeys(("tie_break", "max_token_length", "limit_alphabet"), ("bpe", "wordpiece")),
    **dict.fromkeys(("seed_size", "shrinking_factor", "sub_iterations", "max_piece_length"), ("unigram",)),
    **dict.fromkeys(("character_coverage", "required_chars", "user_defined", "byte_fallback"), ("unigram",)),
}
_OF_TEXT = ("documents", "errors")


def refuse_others(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make `train` refuse the options given to it that do nothing, be it with their defaults; None is not given."""

    @wraps(function)
    def checked(*args: _P.args, **options: _P.kwargs) -> _R:
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        algorithm = given.get("algorithm", "bpe")
        family_of(algorithm)
        for name in given:
            if algorithm not in OPTIONS.get(name, ALGORITHMS):
                has = " and ".join(OPTIONS[name])
                raise InputError(f"{name} is an option of {has}, not of algorithm={algorithm!r}: leave it out")
        if isinstance(given.get("alphabet"), str) and given["alphabet"] == "full" and given.get("byte_level") is False:
            raise InputError('alphabet="full" is of bytes; with byte_level=False leave it out')
        if isinstance(args[0] if args else given.get("source"), WordCounts):
            for name in _OF_TEXT:
                if name in given:
                    raise InputError(f"{name} is an option for text, and these are counts: give it to count")
        return function(*args, **options)

    return checked


def family_of(algorithm: object) -> Family:
    """Return what goes with an algorithm."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    return ALGORITHMS[str(algorithm)]


def specials_of(algorithm: str, special_tokens: Sequence[str] | None, unk_token: str | None) -> tuple[str, ...]:
    """Return the special tokens that `train` makes: those given or the algorithm's, and Unigram's unknown one."""
    family = family_of(algorithm)
    tokens = check_strings("special_tokens", family.special_tokens if special_tokens is None else special_tokens)
    if unk_token is not None:
        check_token("unk_token", unk_token)
    if algorithm != "unigram":
        return tokens
    unk = family.unk_token if unk_token is None else unk_token
    assert unk is not None
    return tokens if unk in tokens else (unk, *tokens)


def settings_of(
    algorithm: str, *, special_tokens: Sequence[str], unk_token: str | None, min_frequency: int | None, **others: Any
) -> Settings:
    """Return what an algorithm takes of the options of `train`; InputError or TrainingError for what cannot be."""
    family = family_of(algorithm)
    taken = {
        **{name: value for name, value in others.items() if algorithm in OPTIONS.get(name, ALGORITHMS)},
        "special_tokens": special_tokens,
        "unk_token": family.unk_token if unk_token is None else unk_token,
        "min_frequency": family.min_frequency if min_frequency is None else min_frequency,
    }
    if algorithm == "unigram":
        from subwords.unigram.train import UnigramSettings

        return UnigramSettings(**taken)
    if algorithm == "wordpiece":
        from subwords.wordpiece.train import WordPieceSettings

        return WordPieceSettings(**taken)
    settings = BPESettings(**taken)
    for token in special_tokens:
        if settings.byte_level and settings.alphabet == "full" and len(token.encode()) == 1:
            raise InputError(f"expected special tokens of more than one byte; {token!r} is a symbol of the alphabet")
    return settings
