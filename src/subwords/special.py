"""Added tokens: found in text before it is split into words, special ones only where the caller allows it (A3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import overload

from subwords.errors import InputError

__all__ = ["BLANKS", "AddedToken", "AddedTokens"]

# Unicode's White_Space; `\s` of the `re` module takes four control characters more.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_BLANK_RUN = re.compile(f"[{BLANKS}]*")
# Sets of allowed tokens whose finders are kept.
_MOST_FINDERS = 64

_EXPECTED_SPECIAL = "expected special to be 'text', 'error', 'allow' or a set of tokens"

_Found = tuple[int, int, "AddedToken"]  # start and end in characters


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is literal text and is cut out before the model sees it.

    special: found in text only where the caller allows it; left out of decoded text on request.
    single_word: not found next to a letter, digit, mark or underscore.
    lstrip, rstrip: takes the whitespace before it, after it.
    normalized: sought only between the tokens that are not, as in HF.

    Source: the `added_tokens` of HF's tokenizer.json.

    >>> from subwords.special import AddedToken
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


class AddedTokens(Sequence[AddedToken]):
    """The added tokens of a tokenizer, in the order given, immutable.

    `ids`: the id of every content. `special_ids`: the ids of the special ones. `ordinary`: the other tokens.
    An empty content, or one content or one id twice, is an InputError.

    >>> from subwords.special import AddedToken, AddedTokens
    >>> added = AddedTokens([AddedToken("<eos>", 5)])
    >>> added.split("a<eos>b", "allow")
    ['a', 5, 'b']
    """

    __slots__ = ("_finders", "_tokens", "ids", "ordinary", "special_ids")

    def __init__(self, tokens: Iterable[AddedToken] = ()) -> None:
        self._tokens = tuple(tokens)
        for token in self._tokens:
            _check(token)
        _check_distinct(self._tokens)
        self.ids: dict[str, int] = {token.content: token.id for token in self._tokens}
        self.special_ids = frozenset(token.id for token in self._tokens if token.special)
        self.ordinary = tuple(token for token in self._tokens if not token.special)
        self._finders: dict[str | frozenset[str], _Finder] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    @overload
    def __getitem__(self, index: int) -> AddedToken: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AddedToken, ...]: ...
    def __getitem__(self, index: int | slice) -> AddedToken | tuple[AddedToken, ...]:
        return self._tokens[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddedTokens) and self._tokens == other._tokens

    def __hash__(self) -> int:
        return hash(self._tokens)

    def __repr__(self) -> str:
        return f"AddedTokens({list(self._tokens)!r})"

    def __reduce__(self) -> tuple[type[AddedTokens], tuple[tuple[AddedToken, ...]]]:
        return AddedTokens, (self._tokens,)

    @overload
    def split(self, text: str, special: str | AbstractSet[str] = "text") -> list[str | int]: ...
    @overload
    def split(self, text: bytes, special: str | AbstractSet[str] = "text") -> list[bytes | int]: ...
    @overload
    def split(
        self, text: str | bytes, special: str | AbstractSet[str] = "text"
    ) -> list[str | int] | list[bytes | int]: ...
    def split(self, text: str | bytes, special: str | AbstractSet[str] = "text") -> list[str | int] | list[bytes | int]:
        """Return the parts of a text and, between them, the ids of the added tokens found.

        special: "text" leaves special tokens as text, "error" raises an InputError where one occurs, "allow" finds all,
        a set of contents finds these. Tokens that are not special are found always.
        Of several that match, the leftmost is found, and of these the longest.
        `bytes` need not be UTF-8: an invalid byte is part of no token (S2).
        """
        finder = self._finder(special)
        refuse = special == "error"
        if isinstance(text, str):
            return finder.split(text, refuse)
        if not finder:
            return list[bytes | int]([text])
        parts = finder.split(text.decode("utf-8", "surrogateescape"), refuse)
        return [part if isinstance(part, int) else part.encode("utf-8", "surrogateescape") for part in parts]

    def places(self, text: str, special: str | AbstractSet[str] = "text") -> list[tuple[int, int, int | None]]:
        """Return the same parts as ranges of characters, each with its id, or None for a part of the text."""
        return self._finder(special).places(text, special == "error")

    def _finder(self, special: str | AbstractSet[str]) -> _Finder:
        if not isinstance(special, (str, AbstractSet)):
            raise InputError(f"{_EXPECTED_SPECIAL}, not {special!r}")
        key = special if isinstance(special, str) else frozenset(special)
        finder = self._finders.get(key)
        if finder is None:
            allowed = self._allowed(key)
            finder = _Finder([token for token in self._tokens if not token.special or token.content in allowed])
            if len(self._finders) >= _MOST_FINDERS:
                self._finders.clear()
            self._finders[key] = finder
        return finder

    def _allowed(self, special: str | frozenset[str]) -> AbstractSet[str]:
        if special == "text":
            return frozenset()
        if special in ("allow", "error"):
            return self.ids.keys()
        if isinstance(special, str):
            raise InputError(f"{_EXPECTED_SPECIAL}, not {special!r}")
        if unknown := special - self.ids.keys():
            known = ", ".join(map(repr, self.ids)) or "none"
            raise InputError(
                f"expected special to name added tokens ({known}), not {', '.join(sorted(map(repr, unknown)))}"
            )
        return special


class _Finder:
    """Finds certain added tokens in text, in linear time."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        contents: tuple[dict[str, AddedToken], dict[str, AddedToken]] = ({}, {})
        for token in tokens:
            contents[token.normalized][token.content] = token
        self._passes = [(re.compile(_alternation([*group], 2)), group) for group in contents if group]

    def __bool__(self) -> bool:
        return bool(self._passes)

    def split(self, text: str, refuse_special: bool) -> list[str | int]:
        """Return the parts of a text and the ids between them; on request, raise an InputError for a special one."""
        found = self.places(text, refuse_special)
        return [text[start:stop] if index is None else index for start, stop, index in found] or [text]

    def places(self, text: str, refuse_special: bool) -> list[tuple[int, int, int | None]]:
        """Return the same as ranges of characters, each with its id or None."""
        parts: list[tuple[int, int, int | None]] = []
        done = 0
        for start, stop, token in self._find(text):
            if refuse_special and token.special:
                raise InputError(
                    f"expected text without special tokens; {token.content!r} comes at character {start}: special="
                    f"'text' takes it as ordinary text, special='allow' or {{{token.content!r}}} as id {token.id}"
                )
            if done < start:
                parts.append((done, start, None))
            parts.append((start, stop, token.id))
            done = stop
        return [*parts, (done, len(text), None)] if done < len(text) else parts

    def _find(self, text: str) -> list[_Found]:
        # Each pass searches the gaps that the one before left.
        found: list[_Found] = []
        for pattern, tokens in self._passes:
            bounds = [0, *(bound for start, stop, _ in found for bound in (start, stop)), len(text)]
            for low, high in zip(bounds[::2], bounds[1::2], strict=True):
                found.extend(_scan(pattern, tokens, text, low, high))
            found.sort(key=lambda each: each[0])
        return found


def _scan(pattern: re.Pattern[str], tokens: dict[str, AddedToken], text: str, low: int, high: int) -> Iterator[_Found]:
    at = done = low
    while match := pattern.search(text, at, high):
        start, at = match.span()
        token = tokens[match[0]]
        if token.single_word and ((low < start and _is_word(text[start - 1])) or (at < high and _is_word(text[at]))):
            continue
        if token.lstrip:
            start = done + len(text[done:start].rstrip(BLANKS))
        if token.rstrip and (run := _BLANK_RUN.match(text, at, high)):
            at = run.end()
        yield start, at, token
        done = at


def _is_word(character: str) -> bool:
    import regex

    return regex.match(r"\w", character) is not None


def _alternation(contents: list[str], depth: int) -> str:
    # Longest first, so that the first alternative that matches is the longest. Grouped by their first characters:
    # 4000 tokens are found 25 times as fast, 24 runs of blanks three times.
    if not depth or len(contents) == 1:
        return "|".join(map(re.escape, sorted(contents, key=len, reverse=True)))
    groups: dict[str, list[str]] = {}
    for content in contents:
        groups.setdefault(content[:1], []).append(content[1:])
    end = [""] if groups.pop("", None) else []
    return "|".join([f"{re.escape(first)}(?:{_alternation(rest, depth - 1)})" for first, rest in groups.items()] + end)


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
