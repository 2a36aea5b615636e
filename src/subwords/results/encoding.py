"""Encoding: ids, tokens, spans and masks of one encoded text or pair of texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as _field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.results.rows import FIELDS, Rows
from subwords.support.value import Value, read_only

__all__ = ["Encoding"]

QUICK = frozenset({"spans", "byte_spans", "tokens", "file_tokens"})  # fields that may follow from the ids
_MOST_SHOWN = 1000  # tokens

_Ids: TypeAlias = NDArray[np.uint32]
_Find: TypeAlias = Callable[[str, _Ids], dict[str, Any] | None]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Encoding(Value):
    """One text, or a pair of texts, with one entry per token; immutable.

    ids: uint32. tokens: as text; bytes that are not a complete character show as U+FFFD. file_tokens: as files spell
    them, `"Ġof"` for " of" in byte-level BPE. spans, byte_spans: int64, shape (n, 2), ranges in the text in characters
    and in UTF-8 bytes. word_ids: the number of the token's word in its text. type_ids: uint32. special_tokens_mask:
    uint8, 1 for tokens of a template and of padding. attention_mask: uint8, 0 for padding. ranges: positions of the
    tokens of each text. overflow: the pieces that truncation cut off, each with the template.
    Tokens of a template and of padding have the span (0, 0) and the word id None.

    >>> import subwords
    >>> encoding = subwords.train(["naïve naïve"], vocab_size=270)("naïve naïve", truncation=1)
    >>> encoding.tokens, encoding.overflow[0].file_tokens, encoding.overflow[0].byte_spans.tolist()
    (('naïve',), ('ĠnaÃ¯ve',), [[6, 13]])
    """

    ids: NDArray[np.uint32]
    tokens: tuple[str, ...]
    file_tokens: tuple[str, ...]
    spans: NDArray[np.int64]
    byte_spans: NDArray[np.int64]
    word_ids: tuple[int | None, ...]
    type_ids: NDArray[np.uint32]
    special_tokens_mask: NDArray[np.uint8]
    attention_mask: NDArray[np.uint8]
    ranges: tuple[range, ...]
    overflow: tuple[Encoding, ...] = _field(default_factory=tuple)  # no default: `of_row` sets it later

    def __post_init__(self) -> None:
        for name in ("ids", "spans", "byte_spans", "type_ids", "special_tokens_mask", "attention_mask"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def of_row(cls, rows: Rows, index: int) -> Encoding:
        """Return the encoding of one row; its fields are made when they are first read."""
        found = object.__new__(cls)
        found.__dict__["_row"] = rows, index
        return found

    @classmethod
    def of_ids(cls, ids: list[int], make: Callable[[], Encoding], find: _Find) -> Encoding:
        """Return an encoding with these ids; `make` is called when another field is first read.

        find: gives fields, one of QUICK among them, by their names; None if `make` must.
        """
        found = object.__new__(cls)
        array = np.array(ids, np.uint32)
        array.flags.writeable = False
        own = found.__dict__
        own["ids"], own["_make"], own["_find"] = array, make, find
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            own = self.__dict__
            find = own.get("_find") if name in QUICK else None
            found = None if find is None else find(name, own["ids"])
            if found is None and name in FIELDS and (make := own.get("_make")) is not None:
                found = vars(make())
                own["_make"] = own["_find"] = None  # frees the objects they hold
            for key, value in (found or {}).items():
                own.setdefault(key, value)
            if name in own:  # made above, or by another thread in between
                return own[name]
            if name not in FIELDS or "_row" not in own:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            rows, index = own["_row"]
            value = rows.field(name, index)
            if name == "overflow":
                value = tuple([Encoding.of_row(rows, number) for number in value])
            return own.setdefault(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *FIELDS})

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The spans as a list of pairs, under HF's name."""
        return [(start, stop) for start, stop in self.spans.tolist()]

    @property
    def sequence_ids(self) -> tuple[int | None, ...]:
        """The text that each token belongs to, 0 or 1; None for tokens of a template and of padding."""
        found: list[int | None] = [None] * len(self)
        for number, places in enumerate(self.ranges):
            found[places.start : places.stop] = [number] * len(places)
        return tuple(found)

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """Return the first token whose span contains a character of text 0 or 1; None if no token does."""
        _check_place("char", char)
        places = self._range(sequence)
        spans = self.spans[places.start : places.stop]
        found = np.flatnonzero((spans[:, 0] <= char) & (char < spans[:, 1]))
        return places.start + int(found[0]) if found.size else None

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        """Return the span of a token; None for tokens of a template and for invalid positions."""
        _check_place("token", token)
        if not any(token in places for places in self.ranges):
            return None
        start, stop = self.spans[token].tolist()
        return start, stop

    def word_to_tokens(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        """Return a word's first token and the position after its last token; None if the word has no tokens."""
        _check_place("word", word)
        places = self._range(sequence)
        found = [place for place in places if self.word_ids[place] == word]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        """Return the span of a word; None if the word has no tokens."""
        found = self.word_to_tokens(word, sequence)
        return (int(self.spans[found[0], 0]), int(self.spans[found[1] - 1, 1])) if found else None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """Return the word of a character of text 0 or 1; None if no token covers it."""
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]

    def token_to_word(self, token: int) -> int | None:
        """Return the word of a token; None for tokens of a template and for invalid positions."""
        _check_place("token", token)
        return self.word_ids[token] if 0 <= token < len(self) else None

    def token_to_sequence(self, token: int) -> int | None:
        """Return the text of a token, 0 or 1; None for tokens of a template and for invalid positions."""
        _check_place("token", token)
        return next((number for number, places in enumerate(self.ranges) if token in places), None)

    def _range(self, sequence: int) -> range:
        _check_place("sequence", sequence)
        if not 0 <= sequence < len(self.ranges):
            raise InputError(f"expected a text number from 0 to {len(self.ranges) - 1}, not {sequence!r}")
        return self.ranges[sequence]

    def __repr__(self) -> str:
        shown = " ".join(map(repr, self.tokens[:8]))
        return f"Encoding({len(self)} tokens: {shown}{' ...' if len(self) > 8 else ''})"

    def _repr_html_(self) -> str:
        from subwords.render.html import Chip, chips

        fields = (self.ids, self.spans, self.special_tokens_mask)
        entries = zip(self._first_tokens(), *(field[:_MOST_SHOWN].tolist() for field in fields), strict=True)
        found = [
            Chip(token, f"id {index}" if special else f"id {index}, characters {start} to {stop}", bool(special))
            for token, index, (start, stop), special in entries
        ]
        return chips(found, left_out=len(self) - len(found))

    def _first_tokens(self) -> tuple[str, ...]:
        """Return the tokens that are shown; those of a long text are not all made for it."""
        own = self.__dict__
        if "tokens" in own or "_row" not in own:
            return self.tokens[:_MOST_SHOWN]
        rows, index = own["_row"]
        return rows.first_tokens(index, _MOST_SHOWN)  # type: ignore[no-any-return]


def _check_place(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"expected {name} to be an integer, not {value!r:.60}")
