"""The encodings of many texts as flat arrays; each `Encoding` takes its fields from them when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Row

__all__ = ["FIELDS", "NO_ROW", "Rows"]

_KINDS = (np.uint32, np.int64, np.int64, np.int32, np.int32, np.uint32, np.uint8, np.uint8)
NO_ROW = Row(*(np.zeros(0, kind) for kind in _KINDS))

SHORT = 1 << 10  # tokens


def _constant(value: int, kind: type) -> NDArray[Any]:
    found: NDArray[Any] = np.full(SHORT, value, kind)
    found.flags.writeable = False
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
            array.flags.writeable = False
        self.row, self.bounds, self.names, self.ranges = row, bounds, names, ranges
        self.tokens, self.file_tokens, self.overflow = tokens, file_tokens, overflow or {}

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding of a row."""
        return FIELDS[name](self, index, int(self.bounds[index]), int(self.bounds[index + 1]))

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens of a row, at most so many."""
        start, stop = int(self.bounds[index]), int(self.bounds[index + 1])
        return self._tokens(index, start, min(stop, start + most))

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


def _part(array: NDArray[Any], start: int, stop: int, constant: NDArray[Any]) -> NDArray[Any]:
    if len(array):
        return array[start:stop]
    size = stop - start
    if size <= SHORT:
        return constant[:size]
    found = np.full(size, constant[0], constant.dtype)
    found.flags.writeable = False
    return found


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
