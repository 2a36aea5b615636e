"""The options of `train` per model family: types for editors and type checkers, and the settings built from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from subwords.errors import InputError
from subwords.families import ALGORITHMS, Family, family_named
from subwords.support.checks import check_strings, check_token

if TYPE_CHECKING:
    from subwords.components.template_text import TemplateLike
    from subwords.corpus.reading import Reading
    from subwords.resolve import NormalizerLike, SplitterLike

__all__ = [
    "BPEOptions",
    "MingramOptions",
    "Settings",
    "UnigramOptions",
    "WordLevelOptions",
    "WordPieceOptions",
    "families_with",
    "settings_of",
    "special_tokens_of",
]

Settings = Any  # the settings of a family, a frozen dataclass
COMMON = ("vocab_size", "special_tokens", "unk_token", "min_frequency")


class CommonOptions(TypedDict, total=False):
    """Options of all algorithms; see `train`."""

    splitter: SplitterLike
    normalizer: NormalizerLike
    special_tokens: Sequence[str] | None
    template: TemplateLike | Literal["auto"]
    roles: Mapping[str, str] | None
    reading: Reading | None
    min_documents: int | None
    memory: int | str | None
    threads: int | None
    progress: bool | None


class BPEOptions(CommonOptions, total=False):
    """Options of algorithm="bpe"; see `train`."""

    byte_level: bool
    alphabet: Literal["full", "corpus"]
    tie_break: Literal["ids", "first", "bytes"]
    min_frequency: int | None
    max_token_length: int | None
    limit_alphabet: int | None
    unk_token: str | None
    fuse_unk: bool
    byte_fallback: bool
    whole_characters: bool


class WordPieceOptions(CommonOptions, total=False):
    """Options of algorithm="wordpiece"; see `train`."""

    score: Literal["likelihood", "course", "count"]
    prefix: str
    tie_break: Literal["ids", "first", "bytes"]
    min_frequency: int | None
    max_token_length: int | None
    limit_alphabet: int | None
    max_chars: int | None
    unk_token: str | None


class UnigramOptions(CommonOptions, total=False):
    """Options of algorithm="unigram"; see `train`."""

    seed_size: int
    shrinking_factor: float
    sub_iterations: int
    max_piece_length: int
    min_frequency: int | None
    character_coverage: float
    required_chars: str
    user_defined: Sequence[str]
    byte_fallback: bool
    unk_token: str | None


class MingramOptions(CommonOptions, total=False):
    """Options of algorithm="mingram"; see `train`."""

    byte_fallback: bool
    seed_factor: float
    unk_token: str | None


class WordLevelOptions(CommonOptions, total=False):
    """Options of algorithm="wordlevel"; see `train`."""

    min_frequency: int | None
    unk_token: str | None


def families_with(option: str) -> tuple[str, ...]:
    """Return the names of the families that accept an option.

    >>> families_with("prefix")
    ('wordpiece',)
    """
    return tuple(name for name, family in ALGORITHMS.items() if option in family.options)


def special_tokens_of(algorithm: str, special_tokens: Sequence[str] | None, unk_token: str | None) -> tuple[str, ...]:
    """Return the special tokens: the given ones or the family's defaults; some families add the unknown token."""
    family = family_named(algorithm)
    tokens = check_strings("special_tokens", family.special_tokens if special_tokens is None else special_tokens)
    if unk_token is not None:
        check_token("unk_token", unk_token)
    unk = family.unk_token if unk_token is None else unk_token
    return tokens if not family.adds_unk or unk is None or unk in tokens else (unk, *tokens)


def settings_of(algorithm: str, options: Mapping[str, Any]) -> Settings:
    """Return the settings of a family; None selects an option's default.

    Raises InputError or TrainingError for options of other families and for invalid values.
    """
    family = family_named(algorithm)
    given = {name: value for name, value in options.items() if value is not None or name == "vocab_size"}
    _refuse_others(family, given)
    given["special_tokens"] = special_tokens_of(algorithm, given.get("special_tokens"), given.get("unk_token"))
    given.setdefault("unk_token", family.unk_token)
    if "min_frequency" in family.options:
        given.setdefault("min_frequency", family.min_frequency)
    return family.settings(**given)


def _refuse_others(family: Family, given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in family.options:
            if others := families_with(name):
                has = " and ".join(filter(None, (", ".join(others[:-1]), others[-1])))
                raise InputError(f"`{name}` is for {has}, not for {family.name}: leave it out")
            raise InputError(f"{name!r} is not an option of train; {family.name} has {', '.join(family.options)}")
    if isinstance(given.get("alphabet"), str) and given["alphabet"] == "full" and given.get("byte_level") is False:
        raise InputError('alphabet="full" needs bytes, byte_level=True: leave `alphabet` out')
