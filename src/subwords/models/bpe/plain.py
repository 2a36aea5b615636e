"""BPE of one word in plain Python, as in HF: with the length of every token, and with dropout."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.models.bpe.model import BPE
from subwords.support.checks import check_number

if TYPE_CHECKING:
    from subwords.models.bpe.segmenter import BPESegmenter
    from subwords.split.word_spans import WordSpans


Pairs: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]
MergeOf: TypeAlias = Callable[[tuple[int, int]], tuple[int, int] | None]  # priority and result of a pair that merges


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
    merge_of: MergeOf,
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
    >>> merge_plainly({(0, 1): (0, 2)}.get, word)
    [Symbol(id=2, size=2), Symbol(id=1, size=1)]
    """
    row: list[Symbol | None] = [*symbols]
    after, before = [*range(1, len(row) + 1)], [*range(-1, len(row) - 1)]
    heap = [(found[0], i, found[1]) for i in range(len(row) - 1) if (found := merge_of(_pair(row, i, i + 1)))]
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
        if left is None or right is None or (merge_of((left.id, right.id)) or (0, -1))[1] != result:
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
                found = merge_of(_pair(row, first, after[first]))
                if found is not None:
                    heappush(heap, (found[0], first, found[1]))
    return [symbol for symbol in row if symbol is not None]


def merged(pairs: Pairs, ids: Iterable[int], until: int = 1) -> list[int]:
    """Return ids merged, as `merge_plainly` does.

    >>> merged({(0, 1): (0, 2), (2, 2): (1, 3)}, [0, 1, 0, 1], until=2)
    [2, 2]
    """
    return [symbol.id for symbol in merge_plainly(pairs.get, [Symbol(index, 1) for index in ids], until=until)]


def _pair(row: Sequence[Symbol | None], first: int, second: int) -> tuple[int, int]:
    left, right = row[first], row[second]
    assert left is not None and right is not None
    return left.id, right.id


def merge_token(model: BPE, pairs: Pairs, token: bytes) -> list[int]:
    """Return what the merges make of a token as it is spelled, with its own marks."""
    symbols, rest = list[Symbol](), token
    while rest:
        size = next((n for n in _symbol_sizes(model, rest, first=not symbols) if rest[:n] in model.vocab.ids), 0)
        if not size:
            return []
        symbols.append(Symbol(model.vocab.ids[rest[:size]], size))
        rest = rest[size:]
    return [symbol.id for symbol in merge_plainly(pairs.get, symbols)]


def _symbol_sizes(model: BPE, rest: bytes, *, first: bool) -> Iterator[int]:
    """Yield the possible sizes of the first symbol, the longest first: with the suffix if it ends the token."""
    before = len(model.prefix) if not first and model.prefix and rest.startswith(model.prefix) else 0
    lead = rest[before] if len(rest) > before else 0
    width = 1 if model.byte_level or lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if model.suffix and rest[before + width :] == model.suffix:
        yield len(rest)
    yield before + width


def symbol_ranges(model: BPE, ids: list[int], word: NDArray[np.uint8], pairs: Pairs | None) -> list[tuple[int, int]]:
    """Return the byte range of each id of a word; for models without parts and unused tokens.

    The length of a token in the vocabulary determines how many symbols it covers. That is not so in a model with a
    prefix or suffix: there the word is merged again, with `pairs`.

    Source: HF tokenizers 0.23, BPE::merge_word.

    >>> import numpy as np
    >>> from subwords.models.bpe.model import BPE
    >>> from subwords.spec.vocab import Vocab
    >>> model = BPE(Vocab([b"<unk>", b"a"]), np.zeros((0, 3), np.int64), byte_level=False, unk_id=0, fuse_unk=True)
    >>> symbol_ranges(model, [0, 1], np.frombuffer(b"xxa", np.uint8), None)
    [(0, 2), (2, 3)]
    """
    vocab, data = model.vocab, word.tobytes()
    if model.whole_words and len(ids) == 1 and vocab[ids[0]] == data:
        return [(0, len(data))]
    symbols = list(word_symbols(model, data))
    if pairs is not None:
        ends = [0, *accumulate(symbol.size for symbol in merge_plainly(pairs.get, symbols))]
    else:
        spelled = list(accumulate(len(vocab[symbol.id]) for symbol in symbols))
        taken = [0, *accumulate(symbol.size for symbol in symbols)]
        ends = [0, *(taken[bisect_left(spelled, end) + 1] for end in accumulate(len(vocab[index]) for index in ids))]
    # The byte of the word for each position in the file's characters.
    at = [place for place, byte in enumerate(data) for _ in range(width_of(byte) if model.byte_level else 1)]
    return [(at[begin], at[end - 1] + 1) for begin, end in pairwise(ends)]


# ---------------------------------------------------------------------------------------------------------------------
# BPE-dropout: segmentations that skip merges at random.

DROPOUT = 0.1  # what the paper uses for training


def checked_dropout(model: BPE, dropout: object) -> float:
    """Return a probability; None is the model's own, or 0.1 if it has none. InputError for other values."""
    if dropout is None:
        return DROPOUT if model.dropout is None else model.dropout
    return check_number("dropout", dropout, 0, 1)


def draw(
    segmenter: BPESegmenter, word_spans: WordSpans, dropout: float, rng: np.random.Generator
) -> NDArray[np.uint32]:
    """Return the ids of one segmentation: each merge that could be done next is skipped with this probability.

    A word that is a token is segmented too, but a user-defined one. Unknown symbols must have an id or be dropped.

    Source: Provilkov et al., BPE-Dropout, 2020; skipped merges come back as in HF tokenizers 0.23, Word::merge_all.
    """
    text, model = word_spans.text, segmenter.model
    users = {model.vocab[index]: index for index in model.user_ids}
    ids: list[int] = []
    for begin, end in pairwise(word_spans.words.tolist()):
        word = text[begin:end].tobytes()
        if word in users:
            ids.append(users[word])
        else:
            ids += draw_word(segmenter, word, lambda: rng.random() < dropout)
    return np.array(ids, np.uint32)


def draw_word(segmenter: BPESegmenter, word: bytes, skips: Callable[[], bool]) -> list[int]:
    """Return the ids of one word; `skips` says whether to skip a merge for now."""
    symbols = merge_plainly(segmenter.pairs.get, word_symbols(segmenter.model, word), skips)
    return segmenter.parted([symbol.id for symbol in symbols])
