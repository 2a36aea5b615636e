"""Encoding: ids, tokens, spans and masks of one encoded text or pair of texts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.results.rows import FIELDS
from subwords.support.value import Value, read_only

__all__ = ["Encoding"]

_MOST_SHOWN = 1000  # tokens


class _Rows(Protocol):
    """Where the fields of encodings come from: `results.rows.Rows`, or a text whose ids are known."""

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding of a row."""

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens of a row, at most so many."""


class Encoding(Value):
    """One text, or a pair of texts, with one entry per token; immutable. Its fields are made when they are first read.

    >>> import subwords
    >>> encoding = subwords.train(["naïve naïve"], vocab_size=270)("naïve naïve", truncation=1)
    >>> encoding.tokens, encoding.overflow[0].file_tokens, encoding.overflow[0].byte_spans.tolist()
    (('naïve',), ('ĠnaÃ¯ve',), [[6, 13]])
    """

    _rows: _Rows
    _index: int

    def __init__(self, rows: _Rows, index: int) -> None:
        """View one row; tokenizers make encodings."""
        own = self.__dict__
        own["_rows"], own["_index"] = rows, index

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, tuple([getattr(self, name) for name in FIELDS])

    @cached_property
    def ids(self) -> NDArray[np.uint32]:
        """The id of each token, uint32."""
        return self._rows.field("ids", self._index)  # type: ignore[no-any-return]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens as text; bytes that are not a complete character show as U+FFFD."""
        return self._rows.field("tokens", self._index)  # type: ignore[no-any-return]

    @cached_property
    def file_tokens(self) -> tuple[str, ...]:
        """The tokens as files spell them: `"Ġof"` for " of" in byte-level BPE."""
        return self._rows.field("file_tokens", self._index)  # type: ignore[no-any-return]

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """The range of each token in characters of its text, int64, shape (n, 2); (0, 0) for inserted tokens."""
        return self._rows.field("spans", self._index)  # type: ignore[no-any-return]

    @cached_property
    def byte_spans(self) -> NDArray[np.int64]:
        """The range of each token in UTF-8 bytes of its text, int64, shape (n, 2); (0, 0) for inserted tokens."""
        return self._rows.field("byte_spans", self._index)  # type: ignore[no-any-return]

    @cached_property
    def word_ids(self) -> tuple[int | None, ...]:
        """The number of each token's word in its text; None for tokens of a template and of padding."""
        return self._rows.field("word_ids", self._index)  # type: ignore[no-any-return]

    @cached_property
    def type_ids(self) -> NDArray[np.uint32]:
        """The type id of each token, uint32, as the template says."""
        return self._rows.field("type_ids", self._index)  # type: ignore[no-any-return]

    @cached_property
    def special_tokens_mask(self) -> NDArray[np.uint8]:
        """1 for tokens of a template and of padding, uint8."""
        return self._rows.field("special_tokens_mask", self._index)  # type: ignore[no-any-return]

    @cached_property
    def attention_mask(self) -> NDArray[np.uint8]:
        """0 for padding, uint8."""
        return self._rows.field("attention_mask", self._index)  # type: ignore[no-any-return]

    @cached_property
    def ranges(self) -> tuple[range, ...]:
        """The positions of the tokens of each text."""
        return self._rows.field("ranges", self._index)  # type: ignore[no-any-return]

    @cached_property
    def overflow(self) -> tuple[Encoding, ...]:
        """The pieces that truncation cut off, each with the template."""
        return tuple([Encoding(self._rows, number) for number in self._rows.field("overflow", self._index)])

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
        return own["tokens"][:_MOST_SHOWN] if "tokens" in own else self._rows.first_tokens(self._index, _MOST_SHOWN)


def _restored(*values: Any) -> Encoding:
    """Return the encoding with some fields; pickles lose the read-only flag of arrays."""
    found = Encoding.__new__(Encoding)
    for name, value in zip(FIELDS, values, strict=True):
        found.__dict__[name] = read_only(value) if isinstance(value, np.ndarray) else value
    return found


def _check_place(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"expected {name} to be an integer, not {value!r:.60}")
