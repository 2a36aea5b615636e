"""The trie of a vocabulary, as kernels read it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.kernels import layout
from subwords.kernels.layout import Children, TrieNodes
from subwords.kernels.stored import stored
from subwords.support.value import digest_of

__all__ = ["units_of"]

LARGE = 1 << 12  # tokens; the trie of fewer takes milliseconds


def units_of(vocab: Vocab, ids: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64]]:
    """Return the double array of some tokens, its links and its records; see kernels/trie/double_array.py."""
    if len(ids) < LARGE:
        return _units_of(vocab, ids)
    source = digest_of((vocab.data, vocab.offsets, ids)).encode()
    return stored("trie", source, lambda: _units_of(vocab, ids))


def _units_of(vocab: Vocab, ids: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64]]:
    from subwords.kernels.named import build_edges, fill_links, fill_units

    offsets = vocab.offsets
    starts, stops = offsets[ids], offsets[ids + 1]
    size = int((stops - starts).sum()) + 2
    edges = np.full(2 << max(4, size.bit_length()), layout.NO_EDGE, np.uint64)
    parents, labels = np.zeros(size, np.int32), np.zeros(size, np.uint8)
    depths, strings = np.zeros(size, np.int32), np.full(size, layout.MISSING, np.int32)
    roots, nodes = np.zeros(len(ids), np.int64), TrieNodes(parents, labels, depths, strings)
    count = build_edges(vocab.data, starts, stops, roots, edges, 0x9E3779B9, nodes)
    # Breadth first, children of a node side by side; without the second root.
    order = np.lexsort((labels[:count], parents[:count], depths[:count]))
    order = order[order != 1]
    places = np.empty(count, np.int64)
    places[order] = np.arange(len(order))
    above = places[parents[order[1:]]]
    begins = np.flatnonzero(np.diff(above, prepend=-1)) + 1
    first, last = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    first[above[begins - 1]], last[above[begins - 1]] = begins, np.append(begins[1:], len(order))
    pieces = np.where(strings[order] >= 0, np.append(ids, -1)[strings[order]], -1).astype(np.int32)
    children = Children(first, last)
    room, used = len(order) + layout.UNIT_BLOCK, -1
    while used < 0:
        room = 2 * room // layout.UNIT_BLOCK * layout.UNIT_BLOCK
        units, places = np.zeros(room, np.uint64), np.empty(len(order), np.int64)
        used = fill_units(children, labels[order], pieces, units, np.zeros(room, np.uint8), places)
    units, links, records = units[:used].copy(), np.zeros(used, np.int32), np.diff(offsets).astype(np.uint64)
    fill_links(children, labels[order], places, units, links, records)
    return units, links, records
