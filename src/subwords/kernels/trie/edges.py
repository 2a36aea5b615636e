"""A trie of bytes whose edges are in one hash table: quick to build, and the source of the other tries.

An edge is one uint64: the node it leaves (28 bits), the byte it reads (8 bits) and the node it enters (28 bits). The
table is open addressing with linear probing; FREE marks a free slot. Nodes are numbered in the order they are made. Two
nodes are there from the start: ROOT, and AFTER for strings that are only matched after another token.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I32s, I64s, Int, Parts, U8s, U64s, inlined, kernel, mix, pointer

ROOT, AFTER = 0, 1
EDGE = U64(28)  # bits of a node
FREE = U64(0xFFFFFFFFFFFFFFFF)
CHILD = U64((1 << 28) - 1)


@inlined
def edge_slot(edges, mask, seed, node, byte):
    """The slot of an edge, or the free slot where it belongs."""
    key = U64(node) << U64(8) | U64(byte)
    slot = mix(key ^ seed, seed) & mask
    while edges[I64(slot)] != FREE and edges[I64(slot)] >> EDGE != key:
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
    nodes: Parts[I32s, U8s, I32s, I32s],
) -> Int:
    """Enter strings data[starts[i]:stops[i]] below the nodes roots[i], and return how many nodes there are.

    edges: all ones, a power of two of slots, twice as many as nodes or more. nodes: of each node its parent, the byte
    that leads to it, its depth, and the last string that ends there (-1, as it comes, where none does).
    """
    p, e = pointer(data), pointer(edges)
    parents, bytes_, depths, strings = pointer(nodes[0]), pointer(nodes[1]), pointer(nodes[2]), pointer(nodes[3])
    first, last, root = pointer(starts), pointer(stops), pointer(roots)
    mask, count = U64(len(edges) - 1), I64(2)
    depths[ROOT], depths[AFTER] = 0, 0
    for i in range(len(starts)):
        node = I64(root[i])
        for k in range(first[i], last[i]):
            slot = edge_slot(e, mask, U64(seed), node, p[k])
            if e[slot] == FREE:
                e[slot] = (U64(node) << U64(8) | U64(p[k])) << EDGE | U64(count)
                parents[count], bytes_[count], depths[count] = node, p[k], depths[node] + 1
                count += 1
            node = I64(e[slot] & CHILD)
        strings[node] = i
    return count
