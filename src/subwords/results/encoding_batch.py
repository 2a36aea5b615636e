"""EncodingBatch: the encodings of many texts."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import NoReturn, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.results.encoding import Encoding
from subwords.results.rows import Rows
from subwords.support.value import Value

__all__ = ["EncodingBatch"]


class EncodingBatch(Value, Sequence[Encoding]):
    """The encodings of many texts or pairs, in order; immutable. Encodings are made when they are first read.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<pad>"])
    >>> tok(["ab", "ab ab"], padding=True).to_numpy()["attention_mask"].tolist()
    [[1, 0, 0], [1, 1, 1]]
    """

    def __init__(self, found: Rows | Iterable[Encoding], texts: Sequence[int]) -> None:
        """View the first rows, one for each text, or join encodings; tokenizers make batches."""
        own = self.__dict__
        own["_found"], own["_texts"] = found if isinstance(found, Rows) else tuple(found), texts

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __reduce__(self) -> tuple[type[EncodingBatch], tuple[tuple[Encoding, ...], tuple[int, ...]]]:
        return EncodingBatch, (self.encodings, self.texts)

    @cached_property
    def encodings(self) -> tuple[Encoding, ...]:
        """The encodings."""
        found: Rows | tuple[Encoding, ...] = self.__dict__["_found"]
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
