"""A trie of strings as a double array: one load for most bytes of a text finds the pieces that begin or end there.

A unit (uint64) is a node. Bits 0..7 are the byte that leads to it, bit 8 says that it is in use, bits 9..36 are its
base, and the bits from 37 on are 1 + the id of the longest piece that the bytes from the root to the node end with. The
unit of a child is at its parent's base xor the child's byte; no two nodes have the same base (J. Aoe, An Efficient
Digital Search Algorithm by Using a Double-Array Structure, 1989). If a node has no child for a byte, its link (int32)
leads to the node of the longest proper suffix of its bytes (A. Aho, M. Corasick, Efficient String Matching, 1975). A
record (uint64) is the length of a piece (low half) and 1 + the id of the longest other piece it ends with (high half).
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import Children, I32s, I64s, TrieNodes, U8s, U64s

ROOT = 0
PRESENT = U64(1 << 8)
BASE, ID = U64(9), U64(37)  # their lowest bits in a unit
BASE_BITS = U64((1 << 28) - 1)
LABEL = U64(layout.UNIT_LABEL)
NEXT, LENGTH = U64(32), U64((1 << 32) - 1)
TRIED = 2  # the last blocks of units, where a node's children may be put: linear time


@inlined
def child(units, unit, byte):
    """The unit that a byte leads to, or 0."""
    found = units[I64((unit >> BASE & BASE_BITS) ^ U64(byte))]
    return found if found & LABEL == PRESENT | U64(byte) else U64(0)


@inlined
def next_slot(units, links, slot, byte):
    """The slot of the longest suffix that is in the trie, after one more byte."""
    found = step(units, units[slot], byte)
    while found < 0 and slot != ROOT:
        slot = I64(links[slot])
        found = step(units, units[slot], byte)
    return max(found, I64(ROOT))


@inlined
def step(units, unit, byte):
    """The slot of the unit that a byte leads to, or -1."""
    slot = I64((unit >> BASE & BASE_BITS) ^ U64(byte))
    return slot if units[slot] & LABEL == PRESENT | U64(byte) else I64(-1)


@inlined
def piece_of(unit):
    """The id of the longest piece that ends at a unit, or -1."""
    return I64(unit >> ID) - 1


@inlined
def piece_length(record):
    """The length of a piece in bytes."""
    return I64(record & LENGTH)


@inlined
def next_piece(record):
    """The longest other piece that a piece ends with, or -1."""
    return I64(record >> NEXT) - 1


@helper
def base_fits(units, taken, labels, start, stop, base):
    """Whether a base is free, and so are the units of the children labels[start:stop] under it."""
    if taken[base] != 0:
        return False
    k = start
    while k < stop and units[base ^ I64(labels[k])] == U64(0):
        k += 1
    return k == stop


@helper
def find_base(units, taken, labels, start, stop, at, used):
    """The base that puts the first child into a free unit of `at` to `used`, the others into free ones; or -1."""
    for slot in range(at, used):
        if units[slot] == U64(0) and base_fits(units, taken, labels, start, stop, slot ^ I64(labels[start])):
            return slot ^ I64(labels[start])
    return I64(-1)


@kernel
def fill_units(children: Children, labels: U8s, ids: I32s, units: U64s, taken: U8s, places: I64s) -> Int:
    """Put a trie into units, all 0; the number used, or -1 if there is no room.

    Parents come before their children. labels[n] leads to node n, ids[n] is its piece or -1. taken: scratch, one zero
    for every unit. places: receives the slot of every node.
    """
    first, last, b = pointer(children.first), pointer(children.last), pointer(labels)
    value, p, busy, place = pointer(ids), pointer(units), pointer(taken), pointer(places)
    used, low, room = I64(layout.UNIT_BLOCK), I64(1), len(units)
    place[0], busy[0] = ROOT, 1  # a leaf's base is 0
    p[ROOT] = U64(value[0] + 1) << ID | PRESENT
    for n in range(len(labels)):
        start, stop = first[n], last[n]
        if start == stop:
            continue
        while low < used and p[low] != U64(0):
            low += 1
        base = find_base(p, busy, b, start, stop, max(low, used - layout.UNIT_BLOCK * TRIED), used)
        if base < 0:
            if used + layout.UNIT_BLOCK > room:
                return -1
            base = used
            used += layout.UNIT_BLOCK
        busy[base] = 1
        p[place[n]] |= U64(base) << BASE
        for k in range(start, stop):
            slot = base ^ I64(b[k])
            p[slot] = U64(value[k] + 1) << ID | PRESENT | U64(b[k])
            place[k] = slot
    return used


@kernel
def fill_links(children: Children, labels: U8s, places: I64s, units: U64s, links: I32s, records: U64s) -> Int:
    """Write the links, the ids of nodes where no piece ends, and the high halves of the records.

    The trie is that of `fill_units`. records: the lengths of pieces on entry.
    """
    first, last, b, place = pointer(children.first), pointer(children.last), pointer(labels), pointer(places)
    p, link, record = pointer(units), pointer(links), pointer(records)
    link[ROOT] = ROOT
    for n in range(len(labels)):
        for k in range(first[n], last[n]):
            slot = place[k]
            link[slot] = ROOT if n == 0 else next_slot(p, link, I64(link[place[n]]), b[k])
            ending = piece_of(p[link[slot]])
            own = piece_of(p[slot])
            if own < 0:
                p[slot] |= U64(ending + 1) << ID
            else:
                record[own] |= U64(ending + 1) << NEXT
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# A trie of bytes whose edges are in one hash table: quick to build, and the source of the other tries.
#
# An edge is one uint64: the node it leaves (28 bits), the byte it reads (8 bits) and the node it enters (28 bits). The
# table is open addressing with linear probing; FREE marks a free slot. Nodes are numbered in the order they are made.
# Two nodes are there from the start: ROOT, and AFTER for strings that are only matched after another token.

AFTER = 1
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


# ---------------------------------------------------------------------------------------------------------------------
# Finding strings in a text: of those that begin first the longest, then the next after its end.


@kernel
def find_longest(text: U8s, units: U64s, links: I32s, lengths: I64s, found: I32s) -> Int:
    """Write the string that begins at each byte, or -1; the number of strings found.

    units, links: the trie of the strings read backwards, so that one pass over the text from its end meets, at each
    byte, the longest string that begins there. found: as long as the text. Linear in the text.
    """
    p, t, link, size, chosen = pointer(units), pointer(text), pointer(links), pointer(lengths), pointer(found)
    slot = I64(ROOT)
    for k in range(len(text)):
        i = len(text) - 1 - k
        slot = next_slot(p, link, slot, t[i])
        chosen[i] = piece_of(p[slot])
    count, i = I64(0), I64(0)
    while i < len(text):
        if chosen[i] < 0:
            i += 1
            continue
        count += 1
        stop = i + size[chosen[i]]
        i += 1
        while i < stop:  # strings that begin inside a found one are skipped
            chosen[i] = -1
            i += 1
    return count
