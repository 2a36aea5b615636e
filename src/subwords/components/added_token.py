"""AddedToken: a token that is found in text before the text is split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from subwords.errors import InputError

__all__ = ["AddedToken", "check_added_tokens"]


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is literal text and is cut out before the model sees it.

    special: found in text only where the caller allows it; left out of decoded text on request.
    single_word: not found next to a letter, digit, mark or underscore.
    lstrip, rstrip: takes the whitespace before it, after it.
    normalized: sought only between the tokens that are not, as in HF.

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
    """Return the tokens as a tuple; InputError for an empty content, and for a content or an id that occurs twice.

    >>> check_added_tokens([AddedToken("<eos>", 5)])[0].id
    5
    """
    tokens = tuple(tokens)
    for token in tokens:
        _check(token)
    _check_distinct(tokens)
    return tokens


def _check(token: AddedToken) -> None:
    if not isinstance(token, AddedToken):
        raise InputError(f"expected an AddedToken, not {token!r}")
    if not isinstance(token.content, str) or not token.content:
        raise InputError(f"expected an added token to have some content, not {token.content!r} (id {token.id!r})")
    if not isinstance(token.id, int) or isinstance(token.id, bool) or token.id < 0:
        raise InputError(f"expected the id of added token {token.content!r} to be an integer from 0, not {token.id!r}")
    if any("\ud800" <= character <= "\udfff" for character in token.content):
        raise InputError(f"expected an added token that UTF-8 can hold, not {token.content!r} (id {token.id})")


def _check_distinct(tokens: Iterable[AddedToken]) -> None:
    by_content: dict[str, AddedToken] = {}
    by_id: dict[int, AddedToken] = {}
    for token in tokens:
        other = by_content.setdefault(token.content, token)
        if other is not token:
            raise InputError(f"expected an added token once; {token.content!r} has ids {other.id} and {token.id}")
        other = by_id.setdefault(token.id, token)
        if other is not token:
            raise InputError(
                f"expected an id for every added token; {other.content!r} and {token.content!r} share {token.id}"
            )
