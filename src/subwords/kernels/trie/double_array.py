"""Strings in a double array: the pieces that begin, or that end, at a place of a text, by one load for most bytes.

A unit stands for a node: the byte that leads to it, where its children's units are, and the id of the longest piece
that the bytes on the way to it end with. A child's unit lies at its parent's base xor its byte; no two nodes have the
same base (J. Aoe, An Efficient Digital Search Algorithm by Using a Double-Array Structure, 1989). Where a node has no
child, its link leads to the node of the longest of its endings (A. Aho, M. Corasick, Efficient String Matching, 1975).
A record says how long a piece is, and which is the longest other piece that it ends with.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I32s, I64s, Int, Parts, U8s, U64s, helper, inlined, kernel, pointer

ROOT = 0
PRESENT = U64(1 << 8)
BASE, ID = U64(9), U64(37)  # where these begin in a unit; an id is one more than it is, 0 for none
BASE_BITS = U64((1 << 28) - 1)
LABEL = U64((1 << 9) - 1)
NEXT, LENGTH = U64(32), U64((1 << 32) - 1)
BLOCK = 256
TRIED = 2  # blocks in which a node's children are still put: linear time


@inlined
def child(units, unit, byte):
    """The unit behind a byte; 0 where there is none."""
    found = units[I64((unit >> BASE & BASE_BITS) ^ U64(byte))]
    return found if found & LABEL == PRESENT | U64(byte) else U64(0)


@inlined
def next_slot(units, links, slot, byte):
    """Where the unit of the longest known ending is, after one more byte."""
    found = step(units, units[slot], byte)
    while found < 0 and slot != ROOT:
        slot = I64(links[slot])
        found = step(units, units[slot], byte)
    return max(found, I64(ROOT))


@inlined
def step(units, unit, byte):
    """Where the unit behind a byte is; -1 where there is none."""
    slot = I64((unit >> BASE & BASE_BITS) ^ U64(byte))
    return slot if units[slot] & LABEL == PRESENT | U64(byte) else I64(-1)


@inlined
def piece_of(unit):
    """The id of the longest piece that ends at a unit, or -1."""
    return I64(unit >> ID) - 1


@inlined
def length_of(record):
    """How many bytes a piece has."""
    return I64(record & LENGTH)


@inlined
def next_piece(record):
    """The longest other piece that a piece ends with, or -1."""
    return I64(record >> NEXT) - 1


@helper
def fits(units, taken, bytes_, start, stop, base):
    """Whether a base is free, and the units of the children bytes_[start:stop] under it."""
    if taken[base] != 0:
        return False
    k = start
    while k < stop and units[base ^ I64(bytes_[k])] == U64(0):
        k += 1
    return k == stop


@helper
def find_base(units, taken, bytes_, start, stop, at, used):
    """The base that puts the first child into a free unit of `at` to `used`, the others being free too; or -1."""
    for slot in range(at, used):
        if units[slot] == U64(0) and fits(units, taken, bytes_, start, stop, slot ^ I64(bytes_[start])):
            return slot ^ I64(bytes_[start])
    return I64(-1)


@kernel
def fill_units(children: Parts[I64s, I64s], bytes_: U8s, ids: I32s, units: U64s, taken: U8s, places: I64s) -> Int:
    """Put a trie into units, all 0; how many are used, or -1 where there is no room.

    Parents come before their children. Node n has the children children[0][n] : children[1][n]; bytes_[n] leads to it,
    ids[n] is its piece or -1. taken: one byte for every unit; places: of every node.
    """
    first, last, b = pointer(children[0]), pointer(children[1]), pointer(bytes_)
    value, p, busy, place = pointer(ids), pointer(units), pointer(taken), pointer(places)
    used, low, room = I64(BLOCK), I64(1), len(units)
    place[0], busy[0] = ROOT, 1  # a leaf's base is 0
    p[ROOT] = U64(value[0] + 1) << ID | PRESENT
    for n in range(len(bytes_)):
        start, stop = first[n], last[n]
        if start == stop:
            continue
        while low < used and p[low] != U64(0):
            low += 1
        base = find_base(p, busy, b, start, stop, max(low, used - BLOCK * TRIED), used)
        if base < 0:
            if used + BLOCK > room:
                return -1
            base = used
            used += BLOCK
        busy[base] = 1
        p[place[n]] |= U64(base) << BASE
        for k in range(start, stop):
            slot = base ^ I64(b[k])
            p[slot] = U64(value[k] + 1) << ID | PRESENT | U64(b[k])
            place[k] = slot
    return used


@kernel
def fill_links(children: Parts[I64s, I64s], bytes_: U8s, places: I64s, units: U64s, links: I32s, records: U64s) -> Int:
    """Write links, the pieces that nodes without one end with, and what follows in the records of pieces.

    The trie as of `fill_units`. records: lengths, to begin with.
    """
    first, last, b, place = pointer(children[0]), pointer(children[1]), pointer(bytes_), pointer(places)
    p, link, record = pointer(units), pointer(links), pointer(records)
    link[ROOT] = ROOT
    for n in range(len(bytes_)):
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
