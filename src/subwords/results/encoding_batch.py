"""EncodingBatch: the encodings of many texts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.results.encoding import Encoding
from subwords.results.rows import Rows
from subwords.support.value import Value

__all__ = ["EncodingBatch"]


@dataclass(frozen=True, eq=False, repr=False)
class EncodingBatch(Value, Sequence[Encoding]):
    """The encodings of many texts or pairs, in order; immutable.

    texts: the number of the text that each encoding belongs to; `with_overflow` gives a text several encodings.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<pad>"])
    >>> tok(["ab", "ab ab"], padding=True).to_numpy()["attention_mask"].tolist()
    [[1, 0, 0], [1, 1, 1]]
    """

    encodings: tuple[Encoding, ...]
    texts: tuple[int, ...]

    @classmethod
    def of_rows(cls, rows: Rows, count: int) -> EncodingBatch:
        """Return the encodings of the first `count` rows, one for each text; they are made when they are first read."""
        found = object.__new__(cls)
        found.__dict__["_rows"] = rows, count
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            own = self.__dict__
            if name not in ("encodings", "texts") or "_rows" not in own:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            rows, count = own["_rows"]
            if name == "texts":
                value = tuple(range(count))
            else:
                value = tuple([Encoding.of_row(rows, index) for index in range(count)])
            return own.setdefault(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), "encodings", "texts"})

    def __getstate__(self) -> dict[str, Any]:
        return {"encodings": self.encodings, "texts": self.texts}

    def __len__(self) -> int:
        rows = self.__dict__.get("_rows")
        return rows[1] if rows else len(self.encodings)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Encoding: ...
    @overload
    def __getitem__(self, index: slice) -> EncodingBatch: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Encoding | EncodingBatch:
        """Return the encoding of one text, or a batch of those of a slice."""
        if isinstance(index, slice):
            return EncodingBatch(self.encodings[index], self.texts[index])
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
        return EncodingBatch(tuple(part for part, _ in rows), tuple(text for _, text in rows))

    def to_numpy(self) -> dict[str, NDArray[np.int64]]:
        """Return input_ids, token_type_ids, attention_mask and special_tokens_mask: int64, shape (encodings, tokens).

        The names are those of transformers. Raises InputError if the lengths differ: pad with `padding=True`.
        """
        lengths = {len(encoding) for encoding in self.encodings}
        if len(lengths) > 1:
            raise InputError(
                f"expected encodings of one length, not of {min(lengths)} to {max(lengths)} tokens: padding=True"
            )
        shape = len(self), next(iter(lengths), 0)
        columns = {
            "input_ids": [encoding.ids for encoding in self.encodings],
            "token_type_ids": [encoding.type_ids for encoding in self.encodings],
            "attention_mask": [encoding.attention_mask for encoding in self.encodings],
            "special_tokens_mask": [encoding.special_tokens_mask for encoding in self.encodings],
        }
        return {name: np.array(rows, np.int64).reshape(shape) for name, rows in columns.items()}

    def __repr__(self) -> str:
        return f"EncodingBatch({len(self)} encodings, {sum(map(len, self.encodings))} tokens)"
