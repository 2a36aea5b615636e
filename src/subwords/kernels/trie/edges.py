"""A trie of bytes whose edges are in one hash table: quick to build, and the source of the other tries.

An edge is one uint64: the node it leaves (28 bits), the byte it reads (8 bits) and the node it enters (28 bits). The
table is open addressing with linear probing; FREE marks a free slot. Nodes are numbered in the order they are made. Two
nodes are there from the start: ROOT, and AFTER for strings that are only matched after another token.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, I64s, Int, U8s, U64s, inlined, kernel, mix, pointer
from subwords.kernels.layout import TrieNodes

ROOT, AFTER = 0, 1
NODE_BITS = U64(28)
CHILD = (U64(1) << NODE_BITS) - U64(1)
FREE = U64(layout.NO_EDGE)


@inlined
def edge_slot(edges, mask, seed, node, byte):
    """The slot of an edge, or the free slot for it."""
    key = U64(node) << U64(8) | U64(byte)
    slot = mix(key ^ seed, seed) & mask
    while edges[I64(slot)] != FREE and edges[I64(slot)] >> NODE_BITS != key:
        slot = slot + U64(1) & mask
    return I64(slot)


@kernel
def build_edges(
    data: U8s,
    starts: I64s,
    stops: I64s,
    roots: I64s,
    edges: U64s,
    seed: Int,
    nodes: TrieNodes,
) -> Int:
    """Enter the strings data[starts[i]:stops[i]] below the nodes roots[i]; the number of nodes.

    edges: NO_EDGE everywhere; a power of two of slots, at least twice the number of nodes. nodes.strings: MISSING
    everywhere. If several strings end at a node, it gets the last one.
    """
    p, e = pointer(data), pointer(edges)
    parents, labels = pointer(nodes.parents), pointer(nodes.labels)
    depths, strings = pointer(nodes.depths), pointer(nodes.strings)
    first, last, root = pointer(starts), pointer(stops), pointer(roots)
    mask, count = U64(len(edges) - 1), I64(2)
    depths[ROOT], depths[AFTER] = 0, 0
    for i in range(len(starts)):
        node = I64(root[i])
        for k in range(first[i], last[i]):
            slot = edge_slot(e, mask, U64(seed), node, p[k])
            if e[slot] == FREE:
                e[slot] = (U64(node) << U64(8) | U64(p[k])) << NODE_BITS | U64(count)
                parents[count], labels[count], depths[count] = node, p[k], depths[node] + 1
                count += 1
            node = I64(e[slot] & CHILD)
        strings[node] = i
    return count
