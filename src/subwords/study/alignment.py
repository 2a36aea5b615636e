"""Two tokenizers side by side: where the ids of one text meet, and which ids have equal bytes (V14, V15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.machine import Input, input_bytes, tokenizer_of
from subwords.support.errors import InputError
from subwords.support.render import token_text
from subwords.support.report import Report, Table

if TYPE_CHECKING:
    from subwords import Tokenizer
    from subwords.machine import SpecialPolicy, TokenizerLike

MOST_SHOWN = 40  # rows of a table
CHUNK_COLUMNS = ("bytes", "text", "a", "b")


class AlignedChunk(NamedTuple):
    """A part of a text at whose ends both tokenizers have a border: its bytes, and the ids that each gives it."""

    text: bytes
    a: tuple[int, ...]
    b: tuple[int, ...]


@dataclass(frozen=True)
class Alignment(Report):
    """What `align` found: chunks in order, which cover the text and all ids.

    text: its UTF-8. spans: the bytes of each chunk, int64 of shape (n, 2). a, b: its ids by the first and by the second
    tokenizer, as ranges of ids_a and ids_b, int64 of shape (n, 2); empty if the tokenizer drops this text. Iterating
    yields each `AlignedChunk`.
    """

    text: bytes
    ids_a: NDArray[np.uint32]
    ids_b: NDArray[np.uint32]
    spans: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.spans)

    def __iter__(self) -> Iterator[AlignedChunk]:
        for (start, stop), (a, after_a), (b, after_b) in zip(*map(np.ndarray.tolist, self._arrays), strict=True):
            yield AlignedChunk(
                self.text[start:stop], tuple(self.ids_a[a:after_a].tolist()), tuple(self.ids_b[b:after_b].tolist())
            )

    @property
    def _arrays(self) -> tuple[NDArray[np.int64], ...]:
        return self.spans, self.a, self.b

    def to_dict(self) -> dict[str, Any]:
        """Return the spans and ids of the chunks as lists, for JSON."""
        chunks = [
            {"start": int(start), "stop": int(stop), "a": [*chunk.a], "b": [*chunk.b]}
            for (start, stop), chunk in zip(self.spans, self, strict=True)
        ]
        return {"chunks": chunks}

    def tables(self) -> list[Table]:
        """Return the chunks: their bytes, text, and ids."""
        rows = [
            (f"{start} to {stop}", token_text(chunk.text), *(" ".join(map(str, ids)) for ids in chunk[1:]))
            for (start, stop), chunk in zip(self.spans[:MOST_SHOWN].tolist(), self, strict=False)
        ]
        return [Table(CHUNK_COLUMNS, rows, "Aligned tokens", "tab:alignment")]

    def notes(self) -> list[str]:
        """Return how many chunks the table leaves out."""
        return [f"and {len(self) - MOST_SHOWN} more chunks"] if len(self) > MOST_SHOWN else []


def align(tokenizer: TokenizerLike, other: TokenizerLike, text: Input, *, special: SpecialPolicy = "text") -> Alignment:
    """Return the ids of a text by two tokenizers, in the smallest chunks at whose ends both have a border.

    Borders may be inside characters. Text that one of them drops, such as spaces in BERT, goes with what follows it;
    what it inserts goes with the text there. special: as in `Tokenizer.encode`, for both. Raises InputError as it does.

    >>> import subwords
    >>> a = subwords.train(["low lower"] * 9, vocab_size=261)
    >>> b = subwords.train(["low lower"] * 9, vocab_size=14, algorithm="wordpiece")
    >>> [(chunk.text, len(chunk.a), len(chunk.b)) for chunk in subwords.study.align(a, b, "lower low")]
    [(b'lower', 2, 1), (b' low', 1, 1)]
    """
    tokenizers = tokenizer_of(tokenizer), tokenizer_of(other, "other")
    if isinstance(text, list | tuple) and not text:  # a call of the tokenizer takes it as a list of texts
        raise InputError(f"expected one text, not an empty {type(text).__name__}")
    data = input_bytes(text)
    encoded = [tok(text, template=False, special=special, truncation=False, padding=False) for tok in tokenizers]
    spans = [_in_order(one.byte_spans) for one in encoded]
    edges = np.unique(np.concatenate([np.array([0, len(data)]), *(one.ravel() for one in spans)]))
    for one in spans:
        begins, ends = np.sort(one[:, 0]), np.sort(one[:, 1])
        edges = edges[np.searchsorted(begins, edges, "left") <= np.searchsorted(ends, edges, "right")]
    starts = edges[:-1] if len(edges) > 1 else edges[:1]
    at = [np.maximum(np.searchsorted(starts, one[:, 0], "right") - 1, 0) for one in spans]
    counts = [np.bincount(one, minlength=len(starts)) for one in at]
    used = (counts[0] > 0) | (counts[1] > 0)
    if used.any():  # text without ids goes to the next chunk with some, or to the last one
        used[: used.argmax()] = False
        kept = np.flatnonzero(used)
        first = np.concatenate([np.zeros(1, np.int64), starts[kept[:-1] + 1]])
        chunks = np.stack([first, np.append(first[1:], len(data))], axis=1)
    else:
        kept, chunks = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
    ranges = [_ranges(count[kept]) for count in counts]
    return Alignment(data, encoded[0].ids, encoded[1].ids, chunks, *ranges)


def _in_order(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return spans whose starts do not fall: what a tokenizer inserts is where the token before it ends."""
    spans = spans.copy()
    reached = np.maximum.accumulate(np.concatenate([np.zeros(1, np.int64), spans[:, 1]]))[:-1]
    inserted = spans[:, 0] == spans[:, 1]
    spans[inserted] = reached[inserted, None]
    spans[:, 0] = np.maximum.accumulate(spans[:, 0]) if len(spans) else spans[:, 0]
    return spans


def _ranges(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.cumsum(counts)
    return np.stack([ends - counts, ends], axis=1)


# ---------------------------------------------------------------------------------------------------------------------
# Ids of equal bytes.

REASONS = ("equal", "several", "role", "no token", "special", "control", "unused")
MAP_COLUMNS = ("ids of a", "count", "example")
MEANINGS = {
    "equal": "one id with the same bytes",
    "several": "several ids with the same bytes; the first is taken, one for unknown characters last",
    "role": "a special token of another name with the same role",
    "no token": "no token of b has these bytes",
    "special": "a special token whose name and role no special token of b has",
    "control": "a control token, whose name no control token of b has",
    "unused": "no token, or one that no text yields",
}


@dataclass(frozen=True)
class VocabularyMap(Report):
    """What `vocabulary_map` found, by id of the first tokenizer, a; b is the second.

    ids: the id of `b` with the same bytes, -1 if there is none; int64, to index rows of an output matrix. reasons:
    uint8, places in `names`. targets[offsets[i]:offsets[i + 1]]: all such ids for id i; int64. examples: a token each.
    """

    ids: NDArray[np.int64]
    reasons: NDArray[np.uint8]
    targets: NDArray[np.int64]
    offsets: NDArray[np.int64]
    examples: tuple[bytes, ...]
    names: tuple[str, ...] = REASONS

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def counts(self) -> dict[str, int]:
        """How many ids have each reason."""
        found = np.bincount(self.reasons, minlength=len(self.names)).tolist()
        return dict(zip(self.names, found, strict=True))

    def reason(self, index: int) -> str:
        """Return why an id of `a` has the id that it has, or none."""
        return self.names[int(self.reasons[index])]

    def to_dict(self) -> dict[str, Any]:
        """Return the ids, the reasons and their counts, for JSON."""
        return {"ids": self.ids.tolist(), "reasons": self.reasons.tolist(), "counts": self.counts}

    def tables(self) -> list[Table]:
        """Return the reasons with their counts."""
        rows = [
            (MEANINGS[name], count, token_text(example))
            for (name, count), example in zip(self.counts.items(), self.examples, strict=True)
            if count
        ]
        return [Table(MAP_COLUMNS, rows, "Ids of equal bytes", "tab:vocabulary-map")]


def vocabulary_map(tokenizer: TokenizerLike, other: TokenizerLike) -> VocabularyMap:
    """Return for each id of a tokenizer the ids of another that add the same bytes to a text (ALGORITHMS.md, V15).

    `Ġthe`, `▁the` and WordPiece's `the` all add b" the". Special tokens are only those of equal content, or of equal
    role ("eos") if no content is equal. For drafts of another vocabulary and for distillation; `adapt.id_map` also
    gives the parts of other tokens.

    >>> import subwords
    >>> a = subwords.train(["low lower"] * 9, vocab_size=261)
    >>> b = subwords.train(["low lower"] * 9, vocab_size=12, algorithm="unigram")
    >>> found = subwords.study.vocabulary_map(a, b)
    >>> a.token_bytes(260), found.reason(260), b.token_bytes(int(found.ids[260]))
    (b' lower', 'equal', b' lower')
    """
    one, two = tokenizer_of(tokenizer), tokenizer_of(other, "other")
    table = one.token_table()
    by_bytes, by_name = _by_bytes(two), _names(two)
    by_role = {role: index for role, index in two.roles.items() if index in by_name.values()}
    names, roles = {index: name for name, index in _names(one).items()}, {i: role for role, i in one.roles.items()}
    rows, reasons = list[list[int]](), np.zeros(len(table), np.uint8)
    for index, data in enumerate(table):
        row: list[int] = []
        if table.unused[index]:
            reason = "unused"
        elif index in names:
            known = by_name.get(names[index])
            alike = by_role.get(roles.get(index, "")) if known is None else known
            row = [] if alike is None else [alike]
            missing = "special" if table.special[index] else "control"
            reason = "equal" if known is not None else "role" if row else missing
        else:
            row = by_bytes.get(data, [])
            reason = "several" if len(row) > 1 else "equal" if row else "no token"
        rows.append(row)
        reasons[index] = REASONS.index(reason)
    ids = np.array([row[0] if row else -1 for row in rows], np.int64)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    targets = np.array([index for row in rows for index in row], np.int64)
    first = [np.flatnonzero(reasons == number) for number in range(len(REASONS))]
    examples = tuple(
        (names.get(int(found[0]), "").encode() or table[int(found[0])]) if len(found) else b"" for found in first
    )
    return VocabularyMap(ids, reasons, targets, offsets, examples)


def _names(tok: Tokenizer) -> dict[str, int]:
    """Return the ids of special and control tokens by name."""
    table = tok.token_table()
    named = np.flatnonzero((table.special | table.control) & ~table.unused).tolist()
    return {tok.id_to_token(index) or "": index for index in named}


def _by_bytes(tok: Tokenizer) -> dict[bytes, list[int]]:
    """Return the ids of other tokens by their bytes, those for bytes of unknown characters last."""
    table, found = tok.token_table(), dict[bytes, list[int]]()
    left_out, fallback = table.special | table.control | table.unused, {*tok.model.byte_ids.tolist()}
    for index in sorted(np.flatnonzero(~left_out).tolist(), key=lambda index: index in fallback):
        found.setdefault(table[index], []).append(index)
    return found
