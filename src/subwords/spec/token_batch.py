"""TokenBatch: the ids of many texts in one array, and as lists."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from subwords.support.checks import as_list, check_choice, check_integer, is_column
from subwords.support.errors import InputError
from subwords.support.value import Value, read_only

SHARED = 4  # ids for each entry of the table of ints, at least, that the table is made for
MOST_IDS = 1 << 22  # a larger table is not made
AT_ONCE = 1 << 17  # texts in one call: other threads run between calls, and garbage is collected
MOST_AS_LIST = 1 << 9  # ids of an array to decode: with more, a list of them costs more than two calls of kernels
NO_IDS = (str, bytes, bytearray, memoryview, Mapping, AbstractSet)


def as_ids(ids: Iterable[int] | NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return ids as a one-dimensional int64 array, which may be the given one; InputError for anything else."""
    given = ids
    if not isinstance(ids, np.ndarray):
        given = _items(ids)
        try:
            ids = np.array(given)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"expected integer ids: {error}") from None
    if ids.size == 0:
        return np.zeros(0, np.int64)
    if ids.ndim != 1:
        raise InputError(f"expected one list of ids, not an array of {ids.ndim} dimensions")
    if ids.dtype.kind not in "iu":
        raise InputError(f"expected integer ids, not {_KINDS.get(ids.dtype.kind, ids.dtype)}")
    if ids.dtype == np.uint64 and ids.max() >= 2**63:
        raise InputError(f"expected ids below 2**63; one is {ids.max()}")
    # NumPy reads a bool among integers as 0 or 1, and what is behind a mask.
    if isinstance(given, list) and ids.min() <= 1 and not {bool, np.bool_}.isdisjoint(map(type, given)):
        raise InputError("expected integer ids, not bool")
    if hasattr(ids, "mask") and np.any(ids.mask):
        raise InputError("expected ids without a mask: fill the missing ones, or leave them out")
    return np.ascontiguousarray(ids, np.int64)


def _items(ids: Iterable[int]) -> list[int]:
    if isinstance(ids, NO_IDS):
        raise InputError(f"expected a list or an array of ids, not {type(ids).__name__}")
    return as_list(ids.tolist() if isinstance(ids, np.ndarray) else ids, "ids")


_KINDS = {"U": "text", "S": "bytes", "b": "bool", "O": "other objects"}


def lists_of(ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[list[int]]:
    """Return ids[offsets[i] : offsets[i + 1]] as one list for every i."""
    most = int(ids.max(initial=0)) + 1
    if SHARED * most > len(ids) or most > MOST_IDS or not _available():
        flat = ids.tolist()
        return [flat[a:b] for a, b in pairwise(offsets.tolist())]
    make, release = list_functions()
    ids, offsets = np.ascontiguousarray(ids, np.uint32), np.ascontiguousarray(offsets, np.int64)
    ints, lists, count = np.zeros(most + 1, np.int64), list[list[int]](), len(offsets) - 1
    ints[0] = most
    try:
        for first in range(0, count, AT_ONCE):
            part = np.array([first, min(first + AT_ONCE, count)], np.int64)
            if (made := make((ids, offsets, part, ints))) is None:
                raise InputError("offsets changed while they were read: write into arrays of a batch before or after")
            lists += made
    finally:
        release(ints[1:])
    return lists


def _available() -> bool:
    from subwords.kernels.entry import available

    return available()


@cache
def list_functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the functions that make lists, and that release the ints made for them; see `make_lists`."""
    from subwords.kernels.entry import api, built_in
    from subwords.kernels.named import make_lists, release_ints

    return built_in(make_lists, (api(),)), built_in(release_ints, (api(),))


# ---------------------------------------------------------------------------------------------------------------------
# TokenBatch: the ids of many texts in one flat array.

MOST_ENTRIES = 1 << 31  # of a padded array: 16 GB


@dataclass(frozen=True, eq=False)
class TokenBatch(Value, Sequence[NDArray[np.uint32]]):
    """The ids of many texts: text i has ids[offsets[i]:offsets[i + 1]].

    ids: uint32, all texts joined. offsets: int64, shape (texts + 1,). Both are read-only copies of what is given.
    Raises InputError for ids that are not of uint32, and offsets that do not ascend from 0 to the number of ids.

    >>> import subwords
    >>> batch = subwords.train(["ab ab"], vocab_size=257).encode_batch(["ab", "", "abab"])
    >>> batch.to_lists(), batch.offsets.tolist()
    ([[256], [], [256, 256]], [0, 1, 1, 3])
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        ids, offsets = np.array(as_ids(self.ids)), np.array(as_ids(self.offsets))
        if len(ids) and not (ids.min() >= 0 and ids.max() < 1 << 32):
            raise InputError(f"expected ids from 0 to {2**32 - 1}, not {ids.min()} to {ids.max()}")
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
            raise InputError(f"expected offsets that ascend from 0 to {len(ids)}, the number of ids")
        self.__dict__.update(ids=read_only(ids.astype(np.uint32)), offsets=read_only(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: SupportsIndex) -> NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, index: slice) -> TokenBatch: ...
    def __getitem__(self, index: SupportsIndex | slice) -> NDArray[np.uint32] | TokenBatch:
        """Return the ids of one text, or a batch of the texts of a slice."""
        if isinstance(index, slice):
            return self._sliced(index)
        try:
            at = operator.index(index)
        except TypeError:
            raise InputError(f"expected a text number or a slice, not {type(index).__name__}") from None
        if not -len(self) <= at < len(self):
            raise IndexError(f"expected an index below {len(self)}, not {at}")
        at %= len(self)
        return self.ids[self.offsets[at] : self.offsets[at + 1]]

    def _sliced(self, part: slice) -> TokenBatch:
        start, stop, step = part.indices(len(self))
        if step == 1:
            bounds = self.offsets[start : max(start, stop) + 1]
            return batch_of(self.ids[bounds[0] : bounds[-1]], bounds - bounds[0])
        rows = [self[i] for i in range(start, stop, step)]
        ids = np.concatenate([np.zeros(0, np.uint32), *rows])
        return batch_of(ids, np.cumsum([0, *map(len, rows)], dtype=np.int64))

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self.ids[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return the two capsules of Arrow's interface: a large list array of uint32 over these arrays, not copied.

        `pyarrow.array(batch)` and other libraries with Arrow's interface call it; for Polars, see `subwords.polars`.
        """
        from subwords.support.arrow import lists_capsules

        return lists_capsules(self.ids, self.offsets)

    @classmethod
    def from_arrow(cls, column: Any) -> TokenBatch:
        """Return the ids of a column of lists of integers: an array of Arrow, or a column of Polars or pandas.

        Raises InputError for other types, for nulls, and for numbers that are not of uint32.

        >>> import pyarrow
        >>> TokenBatch.from_arrow(pyarrow.array([[1, 2], [3]])).to_lists()
        [[1, 2], [3]]
        """
        from subwords.support.arrow import read_lists

        if not is_column(column):
            raise InputError(f"expected a column of lists of ids, such as an Arrow array, not {type(column).__name__}")
        return batch_of(*read_lists(column))

    def to_lists(self) -> list[list[int]]:
        """Return one list of ids per text."""

        return lists_of(self.ids, self.offsets)

    def truncated(self, max_length: int, *, direction: Literal["left", "right"] = "right") -> TokenBatch:
        """Return a batch with at most `max_length` ids of each text; `direction` is the side that is cut off.

        Hazard: the tokens of a template count, and are cut off too. `tok(texts, truncation=...)` keeps them.

        >>> TokenBatch.of([[1, 2, 3], [4]]).truncated(2).to_lists()
        [[1, 2], [4]]
        """
        check_integer("max_length", max_length, 0, 2**63 - 1)
        check_choice("direction", direction, ("left", "right"))
        lengths = np.diff(self.offsets)
        kept = np.minimum(lengths, max_length)
        starts = self.offsets[:-1] + (lengths - kept if direction == "left" else 0)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        return batch_of(self.ids[np.repeat(starts - offsets[:-1], kept) + np.arange(offsets[-1])], offsets)

    def padded(
        self,
        pad_id: int,
        *,
        length: int | None = None,
        direction: Literal["left", "right"] = "right",
        multiple_of: int | None = None,
    ) -> dict[str, NDArray[np.int64]]:
        """Return `input_ids` and `attention_mask` (int64, shape (texts, length)), under transformers' names.

        The options are those of `Padding`. Raises InputError for texts longer than `length`.

        >>> TokenBatch.of([[1, 2, 3], [4]]).padded(9)["input_ids"].tolist()
        [[1, 2, 3], [4, 9, 9]]
        """
        check_integer("pad_id", pad_id, 0, 2**32 - 1)
        check_choice("direction", direction, ("left", "right"))
        lengths = np.diff(self.offsets)
        longest = int(lengths.max(initial=0))
        width = padded_length(longest, length, multiple_of)
        if width < longest:
            raise InputError(f"expected at most {width} tokens in every text, not {longest}: truncate first")
        if width * len(lengths) > MOST_ENTRIES:
            raise InputError(f"{len(lengths)} texts of {width} tokens are more than {MOST_ENTRIES} ids: pad fewer")
        filled = np.arange(width) < lengths[:, None]
        if direction == "left":
            filled = filled[:, ::-1]
        ids = np.full(filled.shape, pad_id, np.int64)
        ids[filled] = self.ids
        return {"input_ids": ids, "attention_mask": filled.astype(np.int64)}

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> TokenBatch:
        """Return the batch of a list of ids per text; InputError for ids that are not integers of uint32."""
        rows = [_items(row) for row in as_list(lists, "lists of ids")]
        ids: Any = [*chain.from_iterable(rows)]
        return cls(ids, np.cumsum([0, *map(len, rows)], dtype=np.int64))

    @classmethod
    def join(cls, parts: Sequence[TokenBatch]) -> TokenBatch:
        """Join several batches into one, in order."""
        if not parts:
            return batch_of(np.zeros(0, np.uint32), np.zeros(1, np.int64))
        if any(not isinstance(part, TokenBatch) for part in parts):
            raise InputError("expected a sequence of TokenBatch")
        shifts = np.cumsum([0, *(len(part.ids) for part in parts)])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
        return batch_of(np.concatenate([part.ids for part in parts]), np.concatenate([np.zeros(1, np.int64), *offsets]))


def batch_of(ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> TokenBatch:
    """Return a batch of arrays of this package, which are neither checked nor copied."""
    made = TokenBatch.__new__(TokenBatch)
    made.__dict__.update(ids=read_only(ids), offsets=read_only(offsets))
    return made


def padded_length(longest: int, length: int | None, multiple_of: int | None) -> int:
    """Return the length of texts that are padded together.

    >>> padded_length(11, None, 8)
    16
    """
    for name, value in (("length", length), ("multiple_of", multiple_of)):
        if value is not None:
            check_integer(name, value, 0, 2**63 - 1)
    found = longest if length is None else length
    return found + -found % multiple_of if multiple_of else found


# ---------------------------------------------------------------------------------------------------------------------
# TokenBlock: consecutive ids of a corpus, and where its documents end.


class TokenBlock(NamedTuple):
    """A part of one document, or several documents.

    ids: uint32. ends (int64, ascending, possibly empty): the ends in `ids` of the documents that end in this block; the
    ids after the last end belong to a document that continues in the next block.
    """

    ids: NDArray[np.uint32]
    ends: NDArray[np.int64]


def in_order(numbers: Sequence[int], sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the entries of parts are, in the order of the parts, and where those of each begin and end.

    numbers: those of the parts, as their entries are given. sizes: how many entries each of these has.

    >>> [found.tolist() for found in in_order([1, 0], np.array([1, 2]))]
    [[1, 2, 0], [0, 2, 3]]
    """
    order = np.argsort(np.array(numbers, np.int64))
    starts, counts = (np.cumsum(sizes) - sizes)[order], sizes[order]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return np.repeat(starts - ends[:-1], counts) + np.arange(ends[-1]), ends
