"""Added tokens: found in text before it is split into words; special ones only if the caller allows it (A3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import TextPlaces, TokenFinder
from subwords.spec.added_token import AddedToken, Special, Text, check_added_tokens
from subwords.spec.unicode import WHITE_SPACE, WHITESPACE, property_members
from subwords.support.checks import encode_text
from subwords.support.errors import InputError
from subwords.support.names import nearest

# ---------------------------------------------------------------------------------------------------------------------
# Find many strings in a text: by a regex if they are few, by a trie if they are many.

# Strings. 4 MB without any take the regex 2 ms, the trie 28 ms; but the regex may compare every string at every place.
MOST_IN_REGEX = 256
LONGEST_REGEX = 1 << 16  # characters, each of which takes `re` 1.3 to 1.8 us to compile, the trie 0.3 us
# Bytes of text, or more, for a place where a string begins; and places. If there are more, they are found again: to
# touch larger arrays, which get huge pages, took as long as the search.
USUAL, FEW_HITS = 16, 1 << 15
MOST_SHORTEST = 4  # strings that are searched for one by one: 0.05 us each in a line, the regex of Phi-2's tokens 5 us


def fit_regex(strings: Collection[str]) -> bool:
    """Whether strings are so few and short that a regex finds them."""
    return len(strings) <= MOST_IN_REGEX and sum(map(len, strings)) <= LONGEST_REGEX


def shortest_within(strings: Sequence[str]) -> list[str]:
    """Return a few strings such that each text with any of `strings` has one of them; [] if that takes many.

    >>> shortest_within(["aaa", "aa", "..", "baac"])
    ['aa', '..']
    """
    found: list[str] = []
    for string in sorted(strings, key=len):
        if not any(each in string for each in found):
            found.append(string)
        if len(found) > MOST_SHORTEST:
            return []
    return found


class StringSearch:
    """Finds a few strings; of those that begin first the longest.

    >>> [*StringSearch(["ab", "abc"]).ranges("xabcab")]
    [(1, 4), (4, 6)]
    """

    def __init__(self, strings: Sequence[str]) -> None:
        self._pattern = re.compile(alternation([*strings]))

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""
        return self._pattern.search(text) is not None

    def ranges(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the strings are, in order, without overlaps."""
        return (match.span() for match in self._pattern.finditer(text))

    @cached_property
    def _capturing(self) -> re.Pattern[str]:
        return re.compile(f"({self._pattern.pattern})")

    def split(self, text: str) -> list[str]:
        """Return the text before each string, the string, and in the end the text after the last one.

        >>> StringSearch(["ab", "abc"]).split("xabcab")
        ['x', 'abc', '', 'ab', '']
        """
        return self._capturing.split(text)


class TrieFinder:
    """Finds any number of strings in time linear in the text; of those that begin first the longest.

    tokens: whose strings these are, if their ids and flags matter to `cut`.

    >>> [*TrieFinder(["ab", "abc"]).ranges("xabcab")]
    [(1, 4), (4, 6)]
    """

    def __init__(self, strings: Sequence[str], tokens: Sequence[AddedToken] = ()) -> None:
        self._strings = [string.encode() for string in strings]
        self._tokens = tokens

    @cached_property
    def tables(self) -> TokenFinder:
        """The strings as the kernel reads them."""
        from subwords.models.segmenter import units_of
        from subwords.spec.vocab import Vocab

        count = len(self._strings)
        assert count <= layout.MOST_PIECES < 1 << layout.HIT, "a unit and a hit have room for the number of a string"
        units, links, _, _ = units_of(
            Vocab([string[::-1] for string in self._strings]), np.arange(count, dtype=np.int64)
        )
        flags = np.array([*map(_flags, self._tokens)] or [0] * count, np.uint8)
        return TokenFinder(
            units,
            links,
            np.array([*map(len, self._strings)], np.int64),
            np.array([token.id for token in self._tokens] or range(count), np.int64),
            flags,
            _end_ranges(self._strings),
            _classes() if flags.any() else np.zeros(0, np.uint8),
        )

    def cut(self, data: NDArray[np.uint8], texts: TextPlaces) -> tuple[TextPlaces, NDArray[np.int64]]:
        """Return the texts between the strings of texts, and for each text how many there are up to its end."""
        from subwords.kernels.named import cut_tokens

        size, count = int(texts.sizes.sum()), len(texts.begins)
        ends, most = np.empty(count, np.int64), size + count
        room, found = min(FEW_HITS, size // USUAL + 1, most), -1
        while found < 0:
            hits, out = np.empty(room, np.uint64), TextPlaces(*np.empty((3, room + count), np.int64))
            found = cut_tokens.by_size(size)(data, texts, self.tables, hits, out, ends)
            room = min(8 * room, most)
        return TextPlaces(*(array[:found] for array in out)), ends

    def _found(self, data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the strings are."""
        whole = np.array([[0], [len(data)], [0]], np.int64)
        begins, sizes, after = self.cut(data, TextPlaces(*whole))[0]
        starts = (begins + sizes)[after > 0]
        return starts, starts + self.tables.lengths[after[after > 0] - 1]

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""
        return len(self._found(np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8))[0]) > 0

    def ranges(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the strings are, in characters, in order, without overlaps."""
        data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
        starts, stops = self._found(data)
        if not len(starts):
            return
        if len(data) != len(text):
            characters = np.concatenate([np.zeros(1, np.int64), np.cumsum(_begins(text, data))])
            starts, stops = characters[starts], characters[stops]
        yield from zip(starts.tolist(), stops.tolist(), strict=True)


def _flags(token: AddedToken) -> int:
    found: int = token.lstrip * layout.STRIPS_LEFT | token.rstrip * layout.STRIPS_RIGHT
    return found | token.single_word * layout.SINGLE_WORD


@cache
def _classes() -> NDArray[np.uint8]:
    """Return what the flags of tokens ask of each code point."""
    found = property_members("Word").astype(np.uint8) * layout.WORD_CHAR
    found[[*WHITE_SPACE]] |= layout.SPACE_CHAR
    return found


def _end_ranges(strings: Sequence[bytes]) -> NDArray[np.uint8]:
    """Return `TokenFinder.ranges`: at most RANGES / 2 ranges that have the last bytes, and those before them."""
    before = set(range(256)) if min(map(len, strings)) == 1 else {string[-2] for string in strings}
    return np.concatenate([_ranges({string[-1] for string in strings}), _ranges(before)])


def _ranges(members: set[int]) -> NDArray[np.uint8]:
    """Return few ranges that have all members: the widest gaps are left out."""
    found = np.array(sorted(members), np.int64)
    sizes = np.diff(found)
    widest = np.argsort(-sizes, kind="stable")[: layout.RANGES // 2 - 1]
    gaps = np.sort(widest[sizes[widest] > 1])
    made = np.tile(np.array([1, 0], np.uint8), layout.RANGES // 2)  # ranges of nothing
    made[0 : 2 * len(gaps) + 2 : 2] = found[[0, *(gaps + 1)]]
    made[1 : 2 * len(gaps) + 2 : 2] = found[[*gaps, -1]]
    return made


def _begins(text: str, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which bytes begin a character of a text; a stray byte is a character."""
    begins: NDArray[np.bool_] = (data & 0xC0) != 0x80
    if int(begins.sum()) != len(text):  # stray bytes
        sizes = np.fromiter((len(character.encode("utf-8", "surrogateescape")) for character in text), np.int64)
        begins = np.zeros(len(data), np.bool_)
        begins[np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)[:-1]])] = True
    return begins


def alternation(contents: list[str], depth: int = 2) -> str:
    """Return a regex of some strings, of which the longest matches."""
    # Longest first, so that the first matching alternative is the longest. Grouped by first character: 25 times as
    # fast for 4000 tokens, three times for 24 runs of spaces.
    if not depth or len(contents) == 1:
        return "|".join(map(re.escape, sorted(contents, key=len, reverse=True)))
    groups: dict[str, list[str]] = {}
    for content in contents:
        groups.setdefault(content[:1], []).append(content[1:])
    end = [""] if groups.pop("", None) else []
    return "|".join([f"{re.escape(first)}(?:{alternation(rest, depth - 1)})" for first, rest in groups.items()] + end)


_WHITESPACE_RUN = re.compile(f"[{WHITESPACE}]*")
# Number of sets of allowed tokens whose finders are cached.
_MOST_FINDERS = 64
MOST_SHOWN = 40  # tokens in a message

_EXPECTED_SPECIAL = "expected special to be 'text', 'error', 'allow' or a set of tokens"

_Found = tuple[int, int, "AddedToken"]  # start and end in characters


class AddedTokens(Sequence[AddedToken]):
    """The added tokens of a tokenizer, in the given order; immutable.

    `ids`: id by content. `special_ids`: ids of special tokens. `ordinary`: the other tokens. `normalize`: the function
    that normalizes contents of `normalized` tokens, which are searched for in normalized text.
    Raises InputError for an empty content, and for duplicate contents or ids.

    >>> from subwords.spec.added_token import AddedToken
    >>> added = AddedTokens([AddedToken("<eos>", 5)])
    >>> added.finder("allow").literal.cut("a<eos>b")
    ['a', 5, 'b']
    """

    __slots__ = ("_by_content", "_finders", "_normalize", "_tokens", "_written", "ids", "ordinary", "special_ids")

    def __init__(self, tokens: Iterable[AddedToken] = (), *, normalize: Callable[[str], str] | None = None) -> None:
        self._tokens = check_added_tokens(tokens)
        self._by_content = {token.content: token for token in self._tokens}
        self.ids: dict[str, int] = {token.content: token.id for token in self._tokens}
        self.special_ids = frozenset(token.id for token in self._tokens if token.special)
        self.ordinary = tuple(token for token in self._tokens if not token.special)
        self._normalize = normalize
        self._written: dict[AddedToken, str] = {}
        self._finders: dict[object, AddedTokenFinder] = {}

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

    @property
    def written(self) -> dict[AddedToken, str]:
        """The text that each token is found as and decodes to: its content, normalized if the token is `normalized`."""
        if not self._written:
            normalize = self._normalize
            self._written = {
                token: normalize(token.content) if normalize and token.normalized else token.content
                for token in self._tokens
            }
        return self._written

    def named(self, content: str) -> AddedToken:
        """Return the token with this content; InputError if there is none."""
        token = self._by_content.get(content)
        if token is None:
            raise InputError(f"expected an added token, not {content!r:.60}{nearest(content, self.ids)}")
        return token

    def finder(self, special: str | AbstractSet[str], as_text: frozenset[str] = frozenset()) -> AddedTokenFinder:
        """Return the finder of the tokens that `special` allows; InputError for invalid values.

        special: "text" leaves special tokens as text, "error" raises InputError where one is found, "allow" finds all,
        a set of contents finds these. Tokens that are not special are always found, but those of `as_text`.
        """
        if isinstance(special, str) and not as_text and special in self._finders:
            return self._finders[special]
        if not isinstance(special, (str, AbstractSet)):
            raise InputError(f"{_EXPECTED_SPECIAL}, not {special!r:.60}")
        policy = special if isinstance(special, str) else frozenset(special)
        key = (policy, as_text) if as_text else policy
        finder = self._finders.get(key)
        if finder is None:
            allowed = self._allowed(policy)
            for content in as_text:
                self.named(content)
            tokens = {
                token: text
                for token, text in self.written.items()
                if (token.content in allowed if token.special else token.content not in as_text)
            }
            finder = AddedTokenFinder(tokens, refuse_special=policy == "error")
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
            raise InputError(f"{_EXPECTED_SPECIAL}, not {special!r:.60}")
        if unknown := special - self.ids.keys():
            known = ", ".join(map(repr, [*self.ids][:MOST_SHOWN])) or "none"
            more = f" and {len(self.ids) - MOST_SHOWN} more" if len(self.ids) > MOST_SHOWN else ""
            raise InputError(
                f"expected special to name added tokens ({known}{more}), not {', '.join(sorted(map(repr, unknown)))}"
            )
        return special


class AddedTokenFinder:
    """Finds added tokens in text, in linear time.

    tokens: the tokens to find and their text. `literal` finds those that are not `normalized`, in the given text;
    `normalized` finds the others in the normalized rest.
    """

    def __init__(self, tokens: Mapping[AddedToken, str], *, refuse_special: bool) -> None:
        contents: tuple[dict[str, AddedToken], dict[str, AddedToken]] = ({}, {})
        for token, text in tokens.items():
            if text:
                # If two tokens normalize to one text, HF finds either, by hash table order; here the first.
                contents[token.normalized].setdefault(text, token)
        self.literal, self.normalized = map(Pass, contents)
        self.refuses = refuse_special
        self.refused = [token.id for token in tokens if token.special] if refuse_special else []

    def __bool__(self) -> bool:
        return bool(self.literal or self.normalized)

    def check(self, token: AddedToken, at: int) -> None:
        """Raise InputError if special tokens are refused and this token is special; `at` is its character."""
        if self.refuses and token.special:
            raise InputError(
                f"special token {token.content!r} at character {at}: special='text' reads it as ordinary text, "
                f"special='allow' or {{{token.content!r}}} as id {token.id}"
            )


class Pass:
    """One search over a text."""

    def __init__(self, tokens: dict[str, AddedToken]) -> None:
        self._tokens = tokens
        kind = StringSearch if fit_regex(tokens) else TrieFinder
        self._finder = kind([*tokens]) if tokens else None
        self._shortest = shortest_within([*tokens])
        self._ids = {text: token.id for text, token in tokens.items()}
        # Then the tokens are where their texts are.
        self._plain = not any(token.single_word or token.lstrip or token.rstrip for token in tokens.values())

    def __bool__(self) -> bool:
        return bool(self._tokens)

    @property
    def tokens(self) -> Mapping[str, AddedToken]:
        """The tokens by their text."""
        return self._tokens

    @cached_property
    def in_bytes(self) -> TrieFinder:
        """What cuts UTF-8 at the tokens; as `parts`, which is its twin."""
        return TrieFinder([*self._tokens], [*self._tokens.values()])

    def occurs(self, text: str) -> bool:
        """Whether the text of a token occurs, whatever characters surround it."""
        if self._shortest:
            # No generator: `any` takes 0.3 us.
            for string in self._shortest:  # noqa: SIM110
                if string in text:
                    return True
            return False
        return self._finder is not None and self._finder.occurs(text)

    def cut(self, text: str) -> list[str | int]:
        """Return the ids of the tokens, and the text between them, in order: `parts` without places."""
        if not self.occurs(text):
            return [text] if text else []
        if self._plain and isinstance(self._finder, StringSearch):
            parts: list[str | int] = [*self._finder.split(text)]
            parts[1::2] = map(self._ids.__getitem__, parts[1::2])  # type: ignore[arg-type]
            return [part for part in parts if part != ""]
        return [text[start:stop] if token is None else token.id for start, stop, token in self.parts(text)]

    def parts(self, text: str) -> Iterator[tuple[int, int, AddedToken | None]]:
        """Yield the character ranges of the tokens and of the text between them, in order.

        Hazard: as in HF, a token that begins in whitespace that the previous token stripped is still found; the two
        ranges then overlap.
        """
        done = 0
        for start, stop, token in self._matches(text):
            if done < start:
                yield done, start, None
            yield start, stop, token
            done = stop
        if done < len(text):
            yield done, len(text), None

    def found(self, text: str, visible: str | None = None) -> Iterator[_Found]:
        """Yield the tokens, without the whitespace that they take.

        visible: the text in which they are sought, of the same length; other characters stand for the rest.
        """
        for start, stop in self._finder.ranges(text if visible is None else visible) if self._finder else ():
            token = self._tokens[text[start:stop]]
            if token.single_word and (
                (start and _is_word(text[start - 1])) or (stop < len(text) and _is_word(text[stop]))
            ):
                continue
            yield start, stop, token

    def _matches(self, text: str) -> Iterator[_Found]:
        done = 0
        for start, stop, token in self.found(text):
            if token.lstrip:
                start = done + len(text[done:start].rstrip(WHITESPACE))
            if token.rstrip and (run := _WHITESPACE_RUN.match(text, stop)):
                stop = run.end()
            if start < stop:
                yield start, stop, token
                done = stop


def _is_word(character: str) -> bool:
    return bool(property_members("Word")[ord(character)])


def with_whitespace(
    parts: Sequence[Text | Special], added: AddedTokens
) -> list[tuple[str, AddedToken | None, frozenset[str]]]:
    """Return the text of each part, its token if it is `Special`, and `Text.as_text`; parts without text are left out.

    A token that takes whitespace in text takes it from the parts beside it. Raises InputError for an unknown token and
    for lone surrogates.
    """
    found: list[tuple[str, AddedToken | None, frozenset[str]]] = []
    taker: AddedToken | None = None  # the last token, while it takes whitespace after it
    for part in parts:
        if isinstance(part, Special):
            token, text = added.named(part.token), part.token
            while token.lstrip and found and found[-1][1] is None:
                before, _, as_text = found.pop()
                kept = before.rstrip(WHITESPACE)
                text = before[len(kept) :] + text
                if kept:
                    found.append((kept, None, as_text))
                    break
            found.append((text, token, frozenset()))
            taker = token if token.rstrip else None
            continue
        if isinstance(part.text, bytes):
            text = part.text.decode("utf-8", "surrogateescape")
        else:
            text = part.text
            if not text.isascii():
                encode_text(text)
        if taker is not None and text:
            rest = text.lstrip(WHITESPACE)
            found[-1] = (found[-1][0] + text[: len(text) - len(rest)], taker, frozenset())
            text, taker = rest, None if rest else taker
        if text:
            found.append((text, None, frozenset(part.as_text)))
    return found
