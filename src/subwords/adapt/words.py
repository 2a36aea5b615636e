"""Counted words in the ids of a model, in the layout in which training merges them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords import Reading, TokenBatch, Tokenizer, TokenizerSpec, WordCounts
from subwords.machine import (
    BPE,
    BPESegmenter,
    Model,
    Pairs,
    Provenance,
    SymbolWords,
    batch_of,
    counts_of,
    has_ties,
    merged,
    order_of,
    pairs_of,
    rules_like,
    segmenter_of,
    word_ids,
    word_symbols,
)
from subwords.support.errors import InputError
from subwords.support.memory import zeros

if TYPE_CHECKING:
    from subwords.machine import Source


LEAST_NEW = 1 << 10  # tokens; fewer are expected to be far more frequent than all others


def apart_ids(model: Model) -> NDArray[np.bool_]:
    """Return which ids of `word_ids` split a word: those of unknown text and those that never merge."""
    size = len(model.vocab)
    apart = np.zeros(size + 1, np.bool_)  # one more: what `word_ids` says of unknown symbols
    apart[[*model.special_ids, *([] if model.unk_id is None else [model.unk_id]), size]] = True
    apart[list(model.user_ids)] = True
    apart[model.byte_ids[model.byte_ids >= 0]] = True
    return apart


def symbol_words_of_ids(
    ids: TokenBatch, counts: NDArray[np.uint64], apart: NDArray[np.bool_], *, in_order: bool
) -> SymbolWords:
    """Return words of ids in the layout of kernels/bpe/index.py; ids of `apart` split a word.

    in_order: in the order of the counts; otherwise frequent words come first.
    """
    from subwords.machine import fill_ids

    lengths = np.diff(ids.offsets)
    order = np.arange(len(counts)) if in_order else order_of(counts)
    order = order[lengths[order] > 1]
    room = int(lengths[order].sum()) + len(order) + 1
    symbols = zeros(room, np.uint32, random=True)
    # A word that is split has a run for each part at most.
    starts, weights = zeros(room // 2 + 2, np.uint32), zeros(room // 2, np.uint64)
    split = apart.astype(np.uint8)
    runs = fill_ids(ids.ids, ids.offsets, counts, order, split, SymbolWords(symbols, starts, weights))
    return SymbolWords(symbols[: starts[runs + 1]], starts[: runs + 1], weights[:runs])


def threshold_of(ids: TokenBatch, counts: NDArray[np.uint64], add: int) -> int:
    """Return about the least count that a pair of these words has when it makes one of `add` new tokens."""
    pairs = float(np.dot(np.maximum(np.diff(ids.offsets) - 1, 0).astype(np.float64), counts.astype(np.float64)))
    return int(pairs / (32 * max(LEAST_NEW, add)))  # 16 times, as in training: of words of any length, too high


def ids_of_words(model: Model, words: Sequence[bytes], threads: int | None = None) -> TokenBatch:
    """Return the ids of every word of a list, as `word_ids`; none for an empty word."""
    full = [word for word in words if word]  # the encoder reads the first byte of every word
    offsets = np.cumsum([0, *map(len, full)], dtype=np.int64)
    data = np.frombuffer(b"".join(full), np.uint8)
    batch = word_ids(model, WordCounts(data, offsets, np.ones(len(full), np.uint64), Provenance("")), threads)
    sizes = np.zeros(len(words), np.int64)
    sizes[np.fromiter(map(bool, words), np.bool_, len(words))] = np.diff(batch.offsets)
    return batch_of(batch.ids, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))


# ---------------------------------------------------------------------------------------------------------------------
# The merge graph of a BPE model: the two parts of each token.

NONE = -1


def parts_of_tokens(model: BPE) -> NDArray[np.int64]:
    """Return the left and right id of the merge that makes each token, shape (n, 2), -1 twice for tokens without one.

    Of several merges that join to one token, only one is ever used (see ALGORITHMS.md): that one counts, and none for a
    token that its merges do not make. In models whose symbols have a prefix or a suffix, each token has one merge at
    most (InputError), and that counts.
    """
    size = len(model.vocab)
    merges = model.merges[~np.isin(model.merges[:, 2], sorted(model.special_ids))]
    results = merges[:, 2]
    parts = np.full((size, 2), NONE, np.int64)
    many = np.flatnonzero(np.bincount(results, minlength=size) > 1)
    if len(many) and model.marked:
        raise InputError(f"expected one merge for each token; {model.vocab[int(many[0])]!r} has more")
    parts[results] = merges[:, :2]
    if model.marked:
        return parts
    plain = replace(model, whole_words=False)
    alone = ids_of_words(plain, list(model.vocab))
    made = np.zeros(size, np.bool_)
    one = np.flatnonzero(np.diff(alone.offsets) == 1)
    made[one] = alone.ids[alone.offsets[:-1][one]] == one
    parts[~made] = NONE
    many = many[made[many]]
    if not len(many):
        return parts
    if model.byte_level and model.lossless and not has_ties(model):
        last = BPESegmenter(model).last_parts()  # its own: the arrays of a shared one are of other tables
    else:
        pairs = pairs_of(model)
        last = np.full((size, 2), NONE, np.int64)
        for index in many.tolist():
            last[index] = last_two(pairs, [symbol.id for symbol in word_symbols(model, model.vocab[index])])
    parts[many] = last[many]
    return parts


def last_two(pairs: Pairs, symbols: list[int]) -> tuple[int, int]:
    """Return the two symbols that merging leaves before the last merge, -1 twice if it never leaves two."""
    row = merged(pairs, symbols, until=2)
    return (row[0], row[1]) if len(row) == 2 else (NONE, NONE)


# ---------------------------------------------------------------------------------------------------------------------
# Which tokens the model can produce for some word.


def ordinary_ids(spec: TokenizerSpec) -> NDArray[np.int64]:
    """Return the ids that text should yield: with a token, neither special nor added, no byte of unknown text."""
    model = spec.model
    kept = np.diff(model.vocab.offsets) > 0
    unknown = set() if model.unk_id is None else {model.unk_id}
    kept[[*model.special_ids, *model.unused_ids, *unknown, *(token.id for token in spec.added_tokens)]] = False
    kept[model.byte_ids[model.byte_ids >= 0]] = False
    return np.flatnonzero(kept)


def unreachable_ids(spec: TokenizerSpec, threads: int | None = None) -> NDArray[np.int64]:
    """Return the ordinary ids that the model makes of no word."""
    ids, model = ordinary_ids(spec), spec.model
    tokens, segmenter = list(model.vocab), segmenter_of(model)
    return ids[~segmenter.reachable(tokens, ids, lambda words: ids_of_words(model, words, threads))[ids]]


# ---------------------------------------------------------------------------------------------------------------------
# The counts that a change of a tokenizer is decided by: of words as this tokenizer splits them.


def counts_for(
    tokenizer: Tokenizer,
    source: Source | WordCounts,
    *,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> WordCounts:
    """Return the counts of a corpus, or counts as they are; InputError for those of another splitter or normalizer."""
    counts = counts_of(source, rules_like(tokenizer), reading=reading, threads=threads, progress=progress)
    if not len(counts):
        raise InputError("no words in these counts: expected a corpus with text")
    return counts
