"""BPE of one word in plain Python, as in HF: with the length of every token, and with dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

from subwords.models.bpe.model import BPE

Pairs: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]


class Symbol(NamedTuple):
    """A token of a word: its id, and how many bytes of the word it covers, in the file's characters."""

    id: int
    size: int


def pairs_of(model: BPE) -> dict[tuple[int, int], tuple[int, int]]:
    """Return priority and result of every merge, by left and right id; no text yields a special token (A3)."""
    ranks = range(len(model.merges)) if model.ranks is None else model.ranks.tolist()
    return {
        (left, right): (rank, result)
        for (left, right, result), rank in zip(model.merges.tolist(), ranks, strict=True)
        if result not in model.special_ids
    }


def word_symbols(model: BPE, word: bytes) -> Iterator[Symbol]:
    """Yield the symbols of a word before any merge. Unknown ones without an unk token are left out.

    As in HF, an unk comes after the byte tokens of the characters that follow it.

    >>> import numpy as np
    >>> from subwords.spec.vocab import Vocab
    >>> tokens = [b"<unk>", b"a", b"a</w>"]
    >>> model = BPE(Vocab(tokens), np.zeros((0, 3), np.int64), byte_level=False, unk_id=0, suffix=b"</w>")
    >>> [symbol.id for symbol in word_symbols(model, b"axa")]
    [1, 0, 2]
    """
    waiting = 0
    characters = _word_characters(model, word)
    for i, character in enumerate(characters):
        place = (1 if i else 0) | (2 if i == len(characters) - 1 else 0)
        index = _id_at(model, character, place)
        marked = (place & 1 and model.prefix) or (place & 2 and model.suffix)
        size = width_of(character[0]) if model.byte_level else len(character)
        if index < 0 and not marked and all(model.byte_ids[byte] >= 0 for byte in character):
            yield from (Symbol(int(model.byte_ids[byte]), 1) for byte in character)
        elif model.unk_id is None:
            if index >= 0:
                yield Symbol(index, size)
        else:
            if waiting and (index >= 0 or not model.fuse_unk):
                yield Symbol(model.unk_id, waiting)
                waiting = 0
            if index >= 0:
                yield Symbol(index, size)
            else:
                waiting += size
    if waiting and model.unk_id is not None:
        yield Symbol(model.unk_id, waiting)


def _word_characters(model: BPE, word: bytes) -> list[bytes]:
    if model.byte_level:
        return [bytes([byte]) for byte in word]
    return [char.encode("utf-8", "surrogateescape") for char in word.decode("utf-8", "surrogateescape")]


def _id_at(model: BPE, character: bytes, place: int) -> int:
    code = character[0]
    if not model.byte_level:
        code = ord(character.decode("utf-8", "surrogateescape"))
        if 0xDC80 <= code <= 0xDCFF:
            return -1
    if model.marked:
        return model.forms[code][place] if code in model.forms else -1
    return int(model.alphabet[code])


def width_of(byte: int) -> int:
    """Return the UTF-8 length of the character that represents a byte in a byte-level file."""
    return 1 if 0x21 <= byte <= 0x7E else 2


def merge_plainly(
    pairs: Pairs,
    symbols: Iterable[Symbol],
    skips: Callable[[], bool] | None = None,
    on_merge: Callable[[int, int], object] | None = None,
    until: int = 1,
) -> list[Symbol]:
    """Merge symbols, the best pair first, the leftmost of equal ones; `skips` says whether to skip a merge for now.

    A skipped merge is tried again after the next one that is not skipped. on_merge: is called with the places of the
    left and the right one: of the first symbols that they began with. until: stop when so many symbols are left.

    Source: HF tokenizers 0.23, Word::merge_all.

    >>> word = [Symbol(0, 1), Symbol(1, 1), Symbol(1, 1)]
    >>> merge_plainly({(0, 1): (0, 2)}, word)
    [Symbol(id=2, size=2), Symbol(id=1, size=1)]
    """
    row: list[Symbol | None] = [*symbols]
    after, before = [*range(1, len(row) + 1)], [*range(-1, len(row) - 1)]
    heap = [(*pairs[pair], i) for i, pair in enumerate(_pairs(row)) if pair in pairs]
    heap = [(rank, i, result) for rank, result, i in heap]
    heapify(heap)
    skipped = []
    left_over = len(row)
    while heap and left_over > until:
        best = heappop(heap)
        if skips is not None and skips():
            skipped.append(best)
            continue
        for entry in skipped:
            heappush(heap, entry)
        skipped.clear()
        _, at, result = best
        left, gone = row[at], after[at]
        right = row[gone] if gone < len(row) else None
        if left is None or right is None or pairs.get((left.id, right.id), (0, -1))[1] != result:
            continue  # one of the two was merged since
        if on_merge is not None:
            on_merge(at, gone)
        row[at], row[gone] = Symbol(result, left.size + right.size), None
        left_over -= 1
        after[at] = after[gone]
        if after[at] < len(row):
            before[after[at]] = at
        for first in (before[at], at):
            if first >= 0 and after[first] < len(row):
                found = pairs.get(_pair(row, first, after[first]))
                if found is not None:
                    heappush(heap, (found[0], first, found[1]))
    return [symbol for symbol in row if symbol is not None]


def merged(pairs: Pairs, ids: Iterable[int], until: int = 1) -> list[int]:
    """Return ids merged, as `merge` does.

    >>> merged({(0, 1): (0, 2), (2, 2): (1, 3)}, [0, 1, 0, 1], until=2)
    [2, 2]
    """
    return [symbol.id for symbol in merge_plainly(pairs, [Symbol(index, 1) for index in ids], until=until)]


def _pair(row: Sequence[Symbol | None], first: int, second: int) -> tuple[int, int]:
    left, right = row[first], row[second]
    assert left is not None and right is not None
    return left.id, right.id


def _pairs(row: Sequence[Symbol | None]) -> list[tuple[int, int]]:
    return [_pair(row, i, i + 1) for i in range(len(row) - 1)]
