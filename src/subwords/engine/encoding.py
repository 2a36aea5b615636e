"""Encoding: ids, tokens, spans and masks of one encoded text or pair of texts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Row
from subwords.support.checks import check_flag
from subwords.support.errors import InputError
from subwords.support.value import Value, read_only

# ---------------------------------------------------------------------------------------------------------------------
# The encodings of many texts as flat arrays; each `Encoding` takes its fields from them when they are asked for.

_KINDS = (np.uint32, np.int64, np.int64, np.int32, np.int32, np.uint32, np.uint8, np.uint8)
NO_ROW = Row(*(np.zeros(0, kind) for kind in _KINDS))

SHORT_ROW = 1 << 10  # tokens
FEW_ROWS = 64  # whose extent is found sooner as ints


def _constant(value: int, kind: type) -> NDArray[Any]:
    found: NDArray[Any] = np.full(SHORT_ROW, value, kind)
    found.setflags(write=False)
    return found


_TYPES, _SPECIAL, _ATTENTION = _constant(0, np.uint32), _constant(0, np.uint8), _constant(1, np.uint8)


class Rows:
    """Encodings of many texts: row i has the entries bounds[i] to bounds[i + 1] of the arrays, which become read-only.

    row: the arrays; empty `spans` equal `byte_spans`, empty `names` are all -1, and empty `types`, `special` and
    `attention` are all 0, 0 and 1. names: the tokens that row.names numbers. tokens, file_tokens: the token of every
    id, as in `Encoding`. ranges: by row, where the tokens of each text begin and stop; None if a row is one text.
    overflow: by row, the range of the rows with the pieces cut off, if there are any.
    """

    __slots__ = ("bounds", "file_tokens", "names", "overflow", "ranges", "row", "tokens")

    def __init__(
        self,
        row: Row,
        bounds: NDArray[np.int64],
        tokens: Mapping[int, str],
        file_tokens: Mapping[int, str],
        *,
        names: Sequence[str] = (),
        ranges: NDArray[np.int64] | None = None,
        overflow: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        for array in row:
            array.setflags(False)  # write; by its name it took twice as long, eight times a text
        self.row, self.bounds, self.names, self.ranges = row, bounds, names, ranges
        self.tokens, self.file_tokens, self.overflow = tokens, file_tokens, overflow or {}

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding of a row."""
        return FIELDS[name](self, index, int(self.bounds[index]), int(self.bounds[index + 1]))

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens of a row, at most so many."""
        start, stop = int(self.bounds[index]), int(self.bounds[index + 1])
        return self._tokens(index, start, min(stop, start + most))

    def columns(self, names: AbstractSet[str], count: int) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]:
        """Return the named columns of the first rows, and where each of them begins and the last one ends."""
        stop, row = int(self.bounds[count]), self.row
        arrays = (row.ids, _TYPES), (row.types, _TYPES), (row.attention, _ATTENTION), (row.special, _SPECIAL)
        columns = {
            name: _part(array, 0, stop, constant).astype(np.int64)
            for name, (array, constant) in zip(COLUMNS, arrays, strict=True)
            if name in names
        }
        return columns, self.bounds[: count + 1]

    # ------------------------------------------------------------------ fields

    def _ids(self, index: int, start: int, stop: int) -> NDArray[np.uint32]:
        return self.row.ids[start:stop]  # type: ignore[no-any-return]

    def _spans(self, index: int, start: int, stop: int) -> NDArray[np.int64]:
        spans = self.row.spans if len(self.row.spans) else self.row.byte_spans
        return spans[2 * start : 2 * stop].reshape(-1, 2)  # type: ignore[no-any-return]

    def _byte_spans(self, index: int, start: int, stop: int) -> NDArray[np.int64]:
        return self.row.byte_spans[2 * start : 2 * stop].reshape(-1, 2)  # type: ignore[no-any-return]

    def _word_ids(self, index: int, start: int, stop: int) -> tuple[int | None, ...]:
        words = self.row.words[start:stop].tolist()
        return (
            tuple([None if word == layout.NO_WORD else word for word in words])
            if layout.NO_WORD in words
            else tuple(words)
        )

    def _tokens(self, index: int, start: int, stop: int) -> tuple[str, ...]:
        return self._spelled(self.tokens, start, stop)

    def _file_tokens(self, index: int, start: int, stop: int) -> tuple[str, ...]:
        return self._spelled(self.file_tokens, start, stop)

    def _spelled(self, tokens: Mapping[int, str], start: int, stop: int) -> tuple[str, ...]:
        ids = self.row.ids[start:stop].tolist()
        if not len(self.row.names):
            return tuple(map(tokens.__getitem__, ids))
        names = self.row.names[start:stop].tolist()
        return tuple([tokens[i] if name < 0 else self.names[name] for i, name in zip(ids, names, strict=True)])

    def _type_ids(self, index: int, start: int, stop: int) -> NDArray[np.uint32]:
        return _part(self.row.types, start, stop, _TYPES)

    def _special(self, index: int, start: int, stop: int) -> NDArray[np.uint8]:
        return _part(self.row.special, start, stop, _SPECIAL)

    def _attention(self, index: int, start: int, stop: int) -> NDArray[np.uint8]:
        return _part(self.row.attention, start, stop, _ATTENTION)

    def _ranges(self, index: int, start: int, stop: int) -> tuple[range, ...]:
        if self.ranges is None:
            return (range(stop - start),)
        places = self.ranges[index].tolist()
        return tuple(range(a, b) for a, b in zip(places[::2], places[1::2], strict=True))

    def _overflow(self, index: int, start: int, stop: int) -> range:
        """Return the rows of the pieces that are cut off; `Encoding` makes encodings of them."""
        return range(*self.overflow.get(index, (0, 0)))


def extent(bounds: NDArray[np.int64]) -> tuple[int, int]:
    """Return the lengths of the shortest and of the longest row."""
    lengths = bounds[1:] - bounds[:-1]
    if len(lengths) <= FEW_ROWS:
        few = lengths.tolist()
        return min(few, default=0), max(few, default=0)
    return int(lengths.min()), int(lengths.max())


def _part(array: NDArray[Any], start: int, stop: int, constant: NDArray[Any]) -> NDArray[Any]:
    if len(array):
        return array[start:stop]
    size = stop - start
    if size <= SHORT_ROW:
        return constant[:size]
    found = np.full(size, constant[0], constant.dtype)
    found.setflags(write=False)
    return found


class _Field(cached_property[Any]):
    """A cached property without the lock of Python 3.11, which took 0.3 us: a field made twice is the same."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.attrname] = self.func(instance)
        return found


if TYPE_CHECKING:
    _field = cached_property
else:
    _field = _Field


FIELDS: dict[str, Callable[[Rows, int, int, int], Any]] = {
    "ids": Rows._ids,
    "tokens": Rows._tokens,
    "file_tokens": Rows._file_tokens,
    "spans": Rows._spans,
    "byte_spans": Rows._byte_spans,
    "word_ids": Rows._word_ids,
    "type_ids": Rows._type_ids,
    "special_tokens_mask": Rows._special,
    "attention_mask": Rows._attention,
    "ranges": Rows._ranges,
    "overflow": Rows._overflow,
}


_MOST_SHOWN = 1000  # tokens
COLUMNS = {  # that a model may take, and the fields that they are of
    "input_ids": "ids",
    "token_type_ids": "type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
}
OF_MODELS = frozenset(COLUMNS) - {"special_tokens_mask"}  # that models take


class _Rows(Protocol):
    """Where the fields of encodings come from: `Rows`, or texts whose ids are known."""

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding of a row."""

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens of a row, at most so many."""


class _ManyRows(_Rows, Protocol):
    """The same of many texts."""

    def columns(self, names: AbstractSet[str], count: int) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]:
        """Return the named columns of the first rows, and where each of them begins and the last one ends."""


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

    @_field
    def ids(self) -> NDArray[np.uint32]:
        """The id of each token, uint32."""
        return self._rows.field("ids", self._index)  # type: ignore[no-any-return]

    @_field
    def tokens(self) -> tuple[str, ...]:
        """The tokens as text; bytes that are not a complete character show as U+FFFD."""
        return self._rows.field("tokens", self._index)  # type: ignore[no-any-return]

    @_field
    def file_tokens(self) -> tuple[str, ...]:
        """The tokens as files spell them: `"Ġof"` for " of" in byte-level BPE."""
        return self._rows.field("file_tokens", self._index)  # type: ignore[no-any-return]

    @_field
    def spans(self) -> NDArray[np.int64]:
        """The range of each token in characters of its text, int64, shape (n, 2); (0, 0) for inserted tokens."""
        return self._rows.field("spans", self._index)  # type: ignore[no-any-return]

    @_field
    def byte_spans(self) -> NDArray[np.int64]:
        """The range of each token in UTF-8 bytes of its text, int64, shape (n, 2); (0, 0) for inserted tokens."""
        return self._rows.field("byte_spans", self._index)  # type: ignore[no-any-return]

    @_field
    def word_ids(self) -> tuple[int | None, ...]:
        """The number of each token's word in its text; None for tokens of a template and of padding."""
        return self._rows.field("word_ids", self._index)  # type: ignore[no-any-return]

    @_field
    def type_ids(self) -> NDArray[np.uint32]:
        """The type id of each token, uint32, as the template says."""
        return self._rows.field("type_ids", self._index)  # type: ignore[no-any-return]

    @_field
    def special_tokens_mask(self) -> NDArray[np.uint8]:
        """1 for tokens of a template and of padding, uint8."""
        return self._rows.field("special_tokens_mask", self._index)  # type: ignore[no-any-return]

    @_field
    def attention_mask(self) -> NDArray[np.uint8]:
        """0 for padding, uint8."""
        return self._rows.field("attention_mask", self._index)  # type: ignore[no-any-return]

    @_field
    def ranges(self) -> tuple[range, ...]:
        """The positions of the tokens of each text."""
        return self._rows.field("ranges", self._index)  # type: ignore[no-any-return]

    @_field
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
        from subwords.support.render import Chip, chips

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


# ---------------------------------------------------------------------------------------------------------------------
# EncodingBatch: the encodings of many texts.


class EncodingBatch(Value, Sequence[Encoding]):
    """The encodings of many texts or pairs, in order; immutable. Encodings are made when they are first read.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<pad>"])
    >>> tok(["ab", "ab ab"], padding=True).to_numpy()["attention_mask"].tolist()
    [[1, 0, 0], [1, 1, 1]]
    """

    def __init__(
        self, found: _ManyRows | Iterable[Encoding], texts: Sequence[int], *, names: AbstractSet[str] = OF_MODELS
    ) -> None:
        """View the first rows, one for each text, or join encodings; tokenizers make batches.

        names: the arrays of `to_numpy`, of `COLUMNS`.
        """
        own = self.__dict__
        own["_found"], own["_texts"] = tuple(found) if isinstance(found, Iterable) else found, texts
        own["_names"] = names

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _batch, (self.encodings, self.texts, self.__dict__["_names"])

    @cached_property
    def encodings(self) -> tuple[Encoding, ...]:
        """The encodings."""
        found: _ManyRows | tuple[Encoding, ...] = self.__dict__["_found"]
        return found if isinstance(found, tuple) else tuple([Encoding(found, index) for index in range(len(self))])

    @cached_property
    def texts(self) -> tuple[int, ...]:
        """The number of the text that each encoding belongs to; `with_overflow` gives a text several encodings."""
        return tuple(self.__dict__["_texts"])

    def __len__(self) -> int:
        return len(self.__dict__["_texts"])

    @overload
    def __getitem__(self, index: SupportsIndex) -> Encoding: ...
    @overload
    def __getitem__(self, index: slice) -> EncodingBatch: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Encoding | EncodingBatch:
        """Return the encoding of one text, or a batch of those of a slice."""
        if isinstance(index, slice):
            return EncodingBatch(self.encodings[index], self.texts[index], names=self.__dict__["_names"])
        try:
            return self.encodings[operator.index(index)]
        except TypeError:
            raise InputError(f"expected a text number or a slice, not {type(index).__name__}") from None

    def with_overflow(self) -> EncodingBatch:
        """Return a batch in which the pieces that truncation cut off follow their text.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=257)
        >>> tok(["ababab", "ab"], truncation=2).with_overflow().texts
        (0, 0, 1)
        """
        rows = [
            (part, text)
            for encoding, text in zip(self.encodings, self.texts, strict=True)
            for part in (encoding, *encoding.overflow)
        ]
        names = self.__dict__["_names"]
        return EncodingBatch(tuple(part for part, _ in rows), tuple(text for _, text in rows), names=names)

    def to_numpy(
        self,
        *,
        token_type_ids: bool | None = None,
        attention_mask: bool | None = None,
        special_tokens_mask: bool = False,
    ) -> dict[str, NDArray[np.int64]]:
        """Return the arrays that the model takes, under the names of transformers: int64, shape (encodings, tokens).

        They are input_ids and those that `model_input_names` of the tokenizer's folder has; without it, attention_mask,
        and token_type_ids with WordPiece. token_type_ids, attention_mask: True or False asks for an array or leaves it
        out. special_tokens_mask: True for 1 at tokens of the template and of padding. Raises InputError if the lengths
        differ: pad with `padding=True`.
        """
        names: AbstractSet[str] = self.__dict__["_names"]
        if not (token_type_ids is None and attention_mask is None and special_tokens_mask is False):
            asked = zip([*COLUMNS][1:], (token_type_ids, attention_mask, special_tokens_mask), strict=True)
            for name, value in asked:
                if value is not None:
                    check_flag(name, value)
                    names = names | {name} if value else names - {name}
        columns, bounds = columns_of(self, names)
        least, most = extent(bounds)
        if least < most:
            raise InputError(f"expected encodings of one length, not of {least} to {most} tokens: padding=True")
        shape = len(bounds) - 1, most
        return {name: column.reshape(shape) for name, column in columns.items()}

    def __repr__(self) -> str:
        return f"EncodingBatch({len(self)} encodings, {sum(map(len, self.encodings))} tokens)"


def _batch(*values: Any) -> EncodingBatch:
    return EncodingBatch(*values[:2], names=values[2])


def columns_of(batch: EncodingBatch, names: AbstractSet[str]) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]:
    """Return columns of `EncodingBatch.to_numpy` for rows of any lengths, flat, and the bounds of the rows."""
    found: _ManyRows | tuple[Encoding, ...] = batch.__dict__["_found"]
    if not isinstance(found, tuple):
        return found.columns(names, len(batch))
    columns = {
        name: np.concatenate([np.zeros(0, np.int64), *(getattr(each, field) for each in found)], dtype=np.int64)
        for name, field in COLUMNS.items()
        if name in names
    }
    return columns, np.cumsum([0, *map(len, found)], dtype=np.int64)
