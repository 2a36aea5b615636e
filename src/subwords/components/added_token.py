"""AddedToken: a token that is matched in text before the text is split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from subwords.errors import InputError

__all__ = ["AddedToken", "check_added_tokens"]


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is matched literally in text, before the model.

    special: matched only if the caller allows it; removed from decoded text on request.
    single_word: not matched next to a letter, digit, mark or underscore.
    lstrip, rstrip: also matches the whitespace before it, after it.
    normalized: matched in the normalized text, between the matches of tokens without this flag, as in HF.

    Source: the `added_tokens` of HF's tokenizer.json.

    >>> AddedToken("<mask>", 7, lstrip=True).special
    True
    """

    content: str
    id: int
    special: bool = True
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False


def check_added_tokens(tokens: Iterable[AddedToken]) -> tuple[AddedToken, ...]:
    """Return the tokens as a tuple; InputError for an empty content and for duplicate contents or ids.

    >>> check_added_tokens([AddedToken("<eos>", 5)])[0].id
    5
    """
    try:
        tokens = tuple(tokens)
    except TypeError:
        raise InputError(f"expected added tokens as a list of AddedToken, not {type(tokens).__name__}") from None
    for token in tokens:
        _check(token)
    _check_distinct(tokens)
    return tokens


def _check(token: AddedToken) -> None:
    if not isinstance(token, AddedToken):
        raise InputError(f"expected an AddedToken, not {token!r:.60}")
    if not isinstance(token.content, str) or not token.content:
        raise InputError(
            f"expected added token content as a non-empty str, not {token.content!r:.60} (id {token.id!r:.60})"
        )
    if not isinstance(token.id, int) or isinstance(token.id, bool) or token.id < 0:
        raise InputError(f"expected added token id >= 0 as an int, not {token.id!r:.60} (token {token.content!r:.60})")
    if any("\ud800" <= character <= "\udfff" for character in token.content):
        raise InputError(f"expected added token without lone surrogates, not {token.content!r:.60} (id {token.id})")


def _check_distinct(tokens: Iterable[AddedToken]) -> None:
    by_content: dict[str, AddedToken] = {}
    by_id: dict[int, AddedToken] = {}
    for token in tokens:
        other = by_content.setdefault(token.content, token)
        if other is not token:
            raise InputError(f"duplicate added token {token.content!r:.60}: it has the ids {other.id} and {token.id}")
        other = by_id.setdefault(token.id, token)
        if other is not token:
            raise InputError(
                f"duplicate added token id {token.id}: {other.content!r:.60} and {token.content!r:.60} share it"
            )
