"""What is done with the ids of texts: a template around them, truncation, padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.encoding import COLUMNS, NO_ROW, OF_MODELS, Rows
from subwords.engine.spans import Entries, Spelling
from subwords.kernels import layout
from subwords.kernels.layout import Filled, Frame, Row
from subwords.kernels.named import fill_rows, frame_rows, keep_ids
from subwords.models.segmenter import TextError
from subwords.spec.added_token import Input, input_bytes
from subwords.spec.padding import LONGEST_LENGTH, NO_INPUTS, STRATEGIES, Padding, Truncation, padding_of, truncation_of
from subwords.spec.template import Inserted, Slot, Template, whitespace_around
from subwords.spec.tokenizer import TokenizerSpec
from subwords.split.routes import NO_OFFSETS
from subwords.support.checks import check_flag
from subwords.support.errors import InputError

# ---------------------------------------------------------------------------------------------------------------------
# Truncation: the pieces of texts that are too long.


def truncation_windows(lengths: Sequence[int], truncation: Truncation, added: int) -> list[list[tuple[int, int]]]:
    """Return, for each text of a single text or pair, the ranges of tokens of its pieces; the kept piece comes first.

    lengths: in tokens. added: the number of tokens that the template adds. InputError if the texts cannot be cut so.

    Source: HF tokenizers 0.23, truncate_encodings and Encoding::truncate.

    >>> truncation_windows([5], Truncation(max_length=4, stride=1), added=1)
    [[(0, 3), (2, 5)]]
    """
    room = truncation.max_length - added
    if room < 0:
        raise InputError(
            f"expected max_length to be at least {added}, the tokens of the template, not {truncation.max_length}"
        )
    kept = _kept_lengths(lengths, truncation, room)
    return [_pieces(length, most, truncation) for length, most in zip(lengths, kept, strict=True)]


def _kept_lengths(lengths: Sequence[int], truncation: Truncation, room: int) -> list[int]:
    """Return the length of the kept piece of each text."""
    total = sum(lengths)
    if total <= room:
        return [*lengths]
    if room == 0:
        return [0] * len(lengths)
    if truncation.strategy == "longest_first":
        return [room] if len(lengths) == 1 else _longest_first(lengths[0], lengths[1], room)
    cut = truncation.strategy == "only_second"
    if cut and len(lengths) == 1:
        raise InputError('truncation "only_second" needs a pair of texts; this is a single text')
    left = lengths[cut] - (total - room)
    if left <= 0:
        raise InputError(
            f'truncation "{truncation.strategy}" cannot reach max_length {truncation.max_length}: the text has '
            f"{lengths[cut]} tokens, and {total - room} must be removed"
        )
    return [left if number == cut else length for number, length in enumerate(lengths)]


def _longest_first(first: int, second: int, room: int) -> list[int]:
    short, long = sorted((first, second))
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short, long = room // 2, room // 2 + room % 2
    return [long, short] if first > second else [short, long]


def _pieces(length: int, most: int, truncation: Truncation) -> list[tuple[int, int]]:
    if most >= length:
        return [(0, length)]
    if most == 0:
        return [(0, 0), (0, length)]
    if truncation.stride >= most:
        raise InputError(
            f"expected a stride below {most}, the tokens of a text that remain in each piece, not {truncation.stride}"
        )
    step = most - truncation.stride
    starts = range(0, length - most + step, step)
    if truncation.direction == "right":
        return [(start, min(start + most, length)) for start in starts]
    return [(max(0, length - start - most), length - start) for start in starts]


Offsets = NDArray[np.int64]
_Range: TypeAlias = tuple[int, int]

MOST_PIECES = 1 << 20  # combinations of the pieces of two texts
MOST_TOKENS = 1 << 24  # of a padded text with its overflow
UNSEEN = -1  # in a table of whitespace: the token was not read yet


@dataclass(frozen=True)
class Framing:
    """What is done with the ids of texts: a template around them, truncation, padding; None does nothing."""

    template: Template
    truncation: Truncation | None
    padding: Padding | None
    names: AbstractSet[str] = OF_MODELS  # of the arrays that a model takes

    @cached_property
    def only_adds(self) -> bool:
        """Whether the ids of a text stay as they are, with those of the template around them."""
        return self.truncation is None and self.padding is None

    @cached_property
    def kept(self) -> int:
        """How many ids a text may have, template included, before it is cut; -1 if texts are filled up."""
        if self.padding is not None:
            return -1
        return LONGEST_LENGTH if self.truncation is None else self.truncation.max_length

    @cached_property
    def around(self) -> tuple[int, int] | None:
        """How many ids come before and after those of a single text; None if its spans are changed too."""
        around = None if self.template.trims else self.template.around
        return None if around is None else (len(around[0]), len(around[1]))

    @cached_property
    def tokens(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The tokens before and after those of a single text; None if it has not exactly one place."""
        if self.template.around is None:
            return None
        every = [token for piece in self.template.single if isinstance(piece, Inserted) for token in piece.tokens]
        before = len(self.template.around[0])
        return tuple(every[:before]), tuple(every[before:])

    @cached_property
    def single(self) -> RowFrame:
        """The same for single texts."""
        return RowFrame(self, pair=False)

    @cached_property
    def pair(self) -> RowFrame:
        """The same for pairs."""
        return RowFrame(self, pair=True)


def framing_of(
    spec: TokenizerSpec, template: bool, truncation: Truncation | int | None, padding: Padding | int | None
) -> Framing:
    """Return what the options of `Tokenizer.__call__` mean for a tokenizer; InputError for invalid ones."""
    check_flag("template", template)
    own, inputs = spec.template or Template(), spec.inputs or NO_INPUTS
    cut, filled = truncation_of(truncation, spec.truncation, inputs), padding_of(padding, spec.padding, inputs)
    if filled is not None and padding is not None and not isinstance(padding, Padding) and "pad" in dict(spec.roles):
        filled = replace(filled, pad_id=None, pad_token=None)  # as in transformers, the role that a folder names
    names = OF_MODELS & {"input_ids", *(inputs.names or spec.model.input_names)}
    return Framing(own if template else own.bare, cut, filled and spec.filled(filled), names)


class RowFrame:
    """Makes the rows of single texts, or of pairs.

    Source: HF tokenizers 0.23, TokenizerImpl::post_process, Encoding::merge_with and pad_encodings.
    """

    def __init__(self, framing: Framing, *, pair: bool) -> None:
        self._truncation, self._padding = framing.truncation, framing.padding
        self._texts = 1 + pair
        pieces = framing.template.pieces(pair)
        self._added = framing.template.added(pair)
        self._slots = ["AB".index(piece.text) for piece in pieces if isinstance(piece, Slot)]
        self._grows = framing.only_adds and self._slots == [*range(self._texts)]  # each row by the template's ids alone
        self._unchanged = framing.only_adds and pieces == (Slot("A"),) and not framing.template.trims
        self._names: list[str] = []
        rows: list[tuple[int, ...]] = []
        slots = 0
        for piece in pieces:
            if isinstance(piece, Slot):
                rows.append((slots, "AB".index(piece.text), 0, 0, piece.type_id, layout.ATTENDED))
                slots += 1
                continue
            for index, token in zip(piece.ids, piece.tokens, strict=True):
                rows.append(
                    (layout.INSERTED, 0, index, len(self._names), piece.type_id, layout.SPECIAL | layout.ATTENDED)
                )
                self._names.append(token)
        if (padding := framing.padding) is not None:
            index, token = padding.filler
            fill = (layout.FILLING, 0, index, len(self._names), padding.pad_type_id, layout.SPECIAL)
            rows.insert(0 if padding.direction == "left" else len(rows), fill)
            self._names.append(token)
        self._pieces = np.array(rows, np.int64).reshape(-1, layout.PIECE.width).ravel()
        self._keeps = np.array(framing.template.trims, np.uint8)
        cut, times = framing.truncation or Truncation(LONGEST_LENGTH), [self._slots.count(text) for text in range(2)]
        room = cut.max_length - self._added
        rule = room, STRATEGIES.index(cut.strategy), cut.stride, cut.direction == "left", *times, self._added
        simple = room >= 0 and (framing.truncation is None or max(times) == 1)
        self._rule = np.array(rule, np.int64) if simple else None
        self._whitespace: NDArray[np.int32] | None = None

    def rows(self, found: Entries, texts: Sequence[Input], spelling: Spelling) -> Rows:
        """Return the rows of texts: first of all first texts, then of all second ones.

        InputError if a text cannot be cut or filled up as asked, or becomes too large; a TextError for one of them.
        """
        row = Row(found.ids, found.byte_spans, found.spans, found.words, found.names, *NO_ROW[5:])
        if self._unchanged:
            return Rows(row, found.offsets, spelling.tokens, spelling.file_tokens, names=found.tokens)
        offsets = found.offsets
        rows = count = (len(offsets) - 1) // self._texts
        wide, size = len(found.spans) > 0, len(found.ids) + count * self._added
        trims, bases = NOTHING, NO_OFFSETS
        if len(self._keeps):
            given = [*map(input_bytes, texts)] if wide else []
            trims = self._trims(found, given, spelling)
            bases = np.cumsum([0, *map(len, given)]) if wide else NO_OFFSETS
        fills, overflow, length = NO_OFFSETS, dict[int, _Range](), 0
        if not self._grows:
            sizes = np.diff(offsets).reshape(self._texts, count)
            lengths = sizes[self._slots].sum(axis=0) + self._added
            if self._truncation is not None:
                long = np.flatnonzero(sizes.sum(axis=0) > self._truncation.max_length - self._added)
                if len(long) or self._truncation.max_length < self._added:
                    cut, overflow = self._cut(offsets, bases, sizes, long.tolist() or [0], self._truncation)
                    fills, lengths = cut.ravel(), cut[:, :, layout.FILL.size].sum(axis=1) + self._added
            if self._padding is not None:
                length = self._padding.length_for(int(lengths[:count].max(initial=0)))
                _check_size(length, 1 + max((stop - start for start, stop in overflow.values()), default=0))
                lengths = np.maximum(lengths, length)
            rows, size = len(lengths), int(lengths.sum())
        out = Row(
            np.empty(size, np.uint32),
            np.empty(2 * size, np.int64),
            np.empty(2 * size if wide else 0, np.int64),
            np.empty(size, np.int32),
            np.empty(size, np.int32),
            np.empty(size, np.uint32),
            np.empty(size, np.uint8),
            np.empty(size, np.uint8),
        )
        frame = Frame(self._pieces, offsets, bases, fills, *trims)
        bounds, ranges = np.empty(rows + 1, np.int64), np.zeros((rows, 2 * self._texts), np.int64)
        frame_rows.by_size(size)(frame, row, out, length, len(found.tokens), bounds, ranges.ravel())
        return Rows(
            out,
            bounds,
            spelling.tokens,
            spelling.file_tokens,
            names=[*found.tokens, *self._names],
            ranges=ranges,
            overflow=overflow,
        )

    def rows_of_ids(self, ids: NDArray[np.uint32], offsets: Offsets, whole: Callable[[], Rows]) -> IdRows | None:
        """Return the rows of texts whose ids are known; None if they cannot be cut or filled up, or not simply.

        ids, offsets: as in a TokenBatch. whole: makes the rows with all that they tell.
        """
        texts = self._texts
        count = (len(offsets) - 1) // texts
        if self._rule is None:
            return None
        kept = np.empty(count * texts * layout.KEPT.width + 1, np.int64)
        longest, length = keep_ids.by_size(8 * len(offsets))(offsets, texts, self._rule, kept), 0
        if self._padding is not None:
            length = self._padding.length_for(longest)
        pieces = int(kept[-1]) if longest >= 0 else MOST_PIECES + 1
        if pieces > MOST_PIECES or length * pieces > MOST_TOKENS:
            return None
        if length >= longest:
            return IdRows(self._pieces, ids, texts, kept, length, count * length, count, whole)
        sizes = kept[:-1].reshape(count, texts, -1)[:, :, layout.KEPT.size] @ self._rule[layout.CUT.first :][:texts]
        size = int(np.maximum(sizes + self._added, length).sum())
        return IdRows(self._pieces, ids, texts, kept, length, size, count, whole)

    def _cut(
        self, offsets: Offsets, bases: Offsets, sizes: Offsets, long: list[int], truncation: Truncation
    ) -> tuple[Offsets, dict[int, _Range]]:
        """Return what fills the slots, with the `long` rows cut; by row, the range of the rows that are cut off.

        The result has the shape (rows, slots, layout.FILL.width); rows of what is cut off come last.
        """
        values = np.zeros((sizes.shape[1], len(self._slots), layout.FILL.width), np.int64)
        values[:, :, layout.FILL.start] = offsets[:-1].reshape(sizes.shape)[self._slots].T
        values[:, :, layout.FILL.size] = sizes[self._slots].T
        if len(bases) > 1:
            values[:, :, layout.FILL.base] = bases[:-1].reshape(sizes.shape)[self._slots].T
        overflow, more = dict[int, _Range](), [values]
        at = len(values)
        for number in long[: len(values)]:
            try:
                ranges = truncation_windows(sizes[:, number].tolist(), truncation, self._added)
                chosen = np.array(_combinations(self._slots, ranges), np.int64).reshape(-1, len(self._slots), 2)
            except InputError as error:
                raise TextError(number, str(error)) from None
            rows = np.repeat(values[number : number + 1], len(chosen), axis=0)
            rows[:, :, layout.FILL.start] += chosen[:, :, 0]
            rows[:, :, layout.FILL.size] = chosen[:, :, 1] - chosen[:, :, 0]
            values[number] = rows[0]
            if len(rows) > 1:
                overflow[number] = at, at + len(rows) - 1
                more.append(rows[1:])
                at += len(rows) - 1
        return np.concatenate(more), overflow

    def _trims(
        self, found: Entries, texts: Sequence[bytes], spelling: Spelling
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Return the last fields of a `Frame`."""
        if self._whitespace is None:
            self._whitespace = np.full((2, spelling.size), UNSEEN, np.int32)
        begun, ended = self._whitespace
        known = found.ids[found.names < 0] if len(found.names) else found.ids
        new = known[begun[known] == UNSEEN]
        for index in set(new.tolist()) if len(new) else ():
            begun[index], ended[index] = whitespace_around(spelling.file_tokens[index])
        named = np.array([whitespace_around(token) for token in found.tokens], np.int32).ravel()
        return self._keeps, begun, ended, named, np.frombuffer(b"".join(texts), np.uint8)


class IdRows:
    """The rows of texts whose ids are known: what a model takes is made from them, all else when it is asked for.

    pieces, texts, kept, length: as in `kernels.text.locate.fill_rows`. size: the number of entries of all rows.
    Row: calls_special, "BERT, 32 sentences to padded arrays": ten times as long or more without it.
    """

    __slots__ = ("_count", "_fields", "_filling", "_made", "_size", "_whole")

    def __init__(
        self,
        pieces: NDArray[np.int64],
        ids: NDArray[np.uint32],
        texts: int,
        kept: NDArray[np.int64],
        length: int,
        size: int,
        count: int,
        whole: Callable[[], Rows],
    ) -> None:
        self._filling, self._size, self._count, self._whole = (pieces, ids, texts, kept, length), size, count, whole
        self._made: Rows | None = None
        self._fields: dict[str, tuple[NDArray[Any], list[int]]] = {}

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding of a row."""
        if self._made is not None or name not in _OF_IDS:
            return self._all.field(name, index)
        if name not in self._fields:
            column, kind = _OF_IDS[name]
            made = self._filled({column})
            entries = made[[*COLUMNS].index(column)].astype(kind)
            entries.setflags(False)  # write; by its name it took twice as long
            self._fields[name] = entries, made.bounds.tolist()
        entries, bounds = self._fields[name]
        return entries[bounds[index] : bounds[index + 1]]

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens of a row, at most so many."""
        return self._all.first_tokens(index, most)

    def columns(self, names: AbstractSet[str], count: int) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]:
        """Return the named columns of the rows, and where each of them begins and the last one ends."""
        made = self._filled(names)
        return {name: column for name, column in zip(COLUMNS, made, strict=False) if name in names}, made.bounds

    def _filled(self, names: AbstractSet[str]) -> Filled:
        # Arrays of their own: as rows of one, who keeps the ids would keep all of it.
        size = self._size
        wanted = {"input_ids", *names}  # ids are always written
        columns = [np.empty(size, np.int64) if name in wanted else NO_OFFSETS for name in COLUMNS]
        ids, types, attention, special = columns
        made = Filled(ids, types, attention, special, np.empty(self._count + 1, np.int64))
        fill_rows.by_size(size)(*self._filling, made)
        return made

    @property
    def _all(self) -> Rows:
        if self._made is None:
            self._made = self._whole()
        return self._made


_OF_IDS = {  # fields that ids tell: the column, and the type of the field
    field: (column, np.uint8 if field.endswith("mask") else np.uint32) for column, field in COLUMNS.items()
}

_NONE, _NO_TEXT = np.zeros(0, np.int32), np.zeros(0, np.uint8)
NOTHING = _NO_TEXT, _NONE, _NONE, _NONE, _NO_TEXT


def _combinations(slots: Sequence[int], ranges: Sequence[Sequence[_Range]]) -> list[tuple[_Range, ...]]:
    """Return a range of tokens for each slot: first the kept pieces, then their combinations in HF's order."""
    rows: list[tuple[_Range, ...]] = [()]
    for text in slots:
        kept, *rest = ranges[text]
        if len(rows) * len(ranges[text]) > MOST_PIECES:
            raise InputError(f"truncation cuts this pair into more than {MOST_PIECES} pieces: raise max_length")
        first, *others = rows
        rows = [(*first, kept)]
        rows += [(*row, piece) for row in others for piece in (kept, *rest)]
        rows += [(*first, piece) for piece in rest]
    return rows


def _check_size(length: int, pieces: int) -> None:
    if length * pieces > MOST_TOKENS:
        raise InputError(
            f"padding makes a text of {length * pieces} tokens, more than {MOST_TOKENS}: lower its length "
            f"({length} tokens, {pieces} pieces), or padding=False"
        )
