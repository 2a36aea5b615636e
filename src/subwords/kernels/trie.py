"""A trie of strings as a double array: one load for most symbols of a text finds the pieces that begin or end there.

Symbols are bytes, or characters, numbered from 0. A unit (uint64) is a node. Bits 0..16 are the symbol that leads to
it, bit 17 says that it is in use, bits 18..41 are its base, and the bits from 42 on are 1 + the id of the longest piece
that the symbols from the root to the node end with. The unit of a child is at its parent's base xor the child's symbol;
no two nodes have the same base (J. Aoe, An Efficient Digital Search Algorithm by Using a Double-Array Structure, 1989).
If a node has no child for a symbol, its link (int32) leads to the node of the longest proper suffix of its symbols (A.
Aho, M. Corasick, Efficient String Matching, 1975). A record (uint64) is the length of a piece in bytes (low half) and
1 + the id of the longest other piece it ends with (high half).
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, ZERO, Int, helper, inlined, kernel, leading_zeros, mix, pointer, range_mask
from subwords.kernels.layout import Children, I32s, I64s, TextPlaces, TokenFinder, TrieNodes, U8s, U64s
from subwords.kernels.text.utf8 import decode_at

ROOT = 0
PRESENT = U64(1 << layout.SYMBOL_BITS)
BASE, ID = U64(18), U64(42)  # their lowest bits in a unit
BASE_BITS = U64(layout.MOST_UNITS - 1)
LABEL = U64(layout.UNIT_LABEL)
NEXT, LENGTH = U64(32), U64((1 << 32) - 1)
TRIED = 64  # units before the last one that was chosen, where the next search begins: linear time


@inlined
def child(units, unit, symbol):
    """The unit that a symbol leads to, or 0."""
    found = units[I64((unit >> BASE & BASE_BITS) ^ U64(symbol))]
    return found if found & LABEL == PRESENT | U64(symbol) else U64(0)


@inlined
def next_slot(units, links, slot, symbol):
    """The slot of the longest suffix that is in the trie, after one more symbol."""
    found = step(units, units[slot], symbol)
    while found < 0 and slot != ROOT:
        slot = I64(links[slot])
        found = step(units, units[slot], symbol)
    return max(found, I64(ROOT))


@inlined
def step(units, unit, symbol):
    """The slot of the unit that a symbol leads to, or -1."""
    slot = I64((unit >> BASE & BASE_BITS) ^ U64(symbol))
    return slot if units[slot] & LABEL == PRESENT | U64(symbol) else I64(-1)


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
def find_slot_of_first(units, taken, labels, start, stop, at, room):
    """The first unit from `at` on where the first child may be, with the others in free ones too; `room` if none is."""
    while at < room and (
        units[at] != U64(0) or not base_fits(units, taken, labels, start, stop, at ^ I64(labels[start]))
    ):
        at += 1
    return at


@kernel
def fill_units(children: Children, labels: I32s, ids: I32s, units: U64s, taken: U8s, places: I64s) -> Int:
    """Put a trie into units, all 0; how many are up to the last one in use, or -1 if there is no room.

    Parents come before their children. labels[n] leads to node n, ids[n] is its piece or -1. taken: scratch, one zero
    for every unit; their number is a multiple of a power of two above all labels. places: receives the slot of every
    node.
    """
    first, last, b = pointer(children.first), pointer(children.last), pointer(labels)
    value, p, busy, place = pointer(ids), pointer(units), pointer(taken), pointer(places)
    used, one, more, room = I64(1), I64(1), I64(1), len(units)
    place[0], busy[0] = ROOT, 1  # a leaf's base is 0
    p[ROOT] = U64(value[0] + 1) << ID | LABEL  # of no symbol: no leaf has this child
    for n in range(len(labels)):
        start, stop = first[n], last[n]
        if start == stop:
            continue
        # Nodes with one child fill what the others leave free.
        at = one if stop - start == 1 else more
        slot = find_slot_of_first(p, busy, b, start, stop, at, room)
        if slot == room:
            return -1
        at = max(at, slot - TRIED)
        one, more = (at, more) if stop - start == 1 else (one, at)
        base = slot ^ I64(b[start])
        busy[base] = 1
        p[place[n]] |= U64(base) << BASE
        for k in range(start, stop):
            slot = base ^ I64(b[k])
            p[slot] = U64(value[k] + 1) << ID | PRESENT | U64(b[k])
            place[k], used = slot, max(used, slot + 1)
    return used


@kernel
def fill_links(children: Children, labels: I32s, places: I64s, units: U64s, links: I32s, records: U64s) -> Int:
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
# A trie whose edges are in one hash table: quick to build, and the source of the other tries.
#
# An edge is one uint64: the node it leaves (23 bits), the symbol it reads (17 bits), the node it enters (23 bits). The
# table is open addressing with linear probing; FREE marks a free slot. Nodes are numbered in the order they are made.
# Two nodes are there from the start: ROOT, and AFTER for strings that are only matched after another token.

AFTER = 1
IN_SYMBOL, IN_NODE = U64(layout.SYMBOL_BITS), U64(layout.NODE_BITS)  # bits of an edge
CHILD = (U64(1) << IN_NODE) - U64(1)
FREE = U64(layout.NO_EDGE)


@inlined
def edge_slot(edges, mask, seed, node, symbol):
    """The slot of an edge, or the free slot for it."""
    key = U64(node) << IN_SYMBOL | U64(symbol)
    slot = mix(key ^ seed, seed) & mask
    while edges[I64(slot)] != FREE and edges[I64(slot)] >> IN_NODE != key:
        slot = slot + U64(1) & mask
    return I64(slot)


@kernel
def build_edges(
    data: I32s,
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
                e[slot] = (U64(node) << IN_SYMBOL | U64(p[k])) << IN_NODE | U64(count)
                parents[count], labels[count], depths[count] = node, p[k], depths[node] + 1
                count += 1
            node = I64(e[slot] & CHILD)
        strings[node] = i
    return count


# ---------------------------------------------------------------------------------------------------------------------
# Finding strings in texts: of those that begin first the longest, then the next after its end.
#
# The trie is that of the strings read backwards, so that one pass over a text from its end meets, at each byte, the
# longest string that begins there. These places are kept from the end of `hits` on, each as place and string, and read
# again in the order of the text. At the root, bytes that end no string are skipped 64 at a time: 12 GB/s.

PLACED = U64(layout.HIT)
STRING = (U64(1) << PLACED) - U64(1)


@inlined
def may_end(p, at, ranges):
    """Bit k is set if a string may end at p[at + k], for 64 bytes: so says that byte, and the one before it."""
    last, before = ZERO, ZERO
    for k in range(0, layout.RANGES, 2):
        if ranges[k] <= ranges[k + 1]:
            last |= range_mask(p, at, ranges[k], ranges[k + 1])
    if last != ZERO:
        for k in range(layout.RANGES, 2 * layout.RANGES, 2):
            if ranges[k] <= ranges[k + 1]:
                before |= range_mask(p, at - 1, ranges[k], ranges[k + 1])
    return last & before


@helper
def collect_hits(p, begin, stop, units, links, ranges, hits, room):
    """Write the longest string that begins at each place of p[begin:stop], from the end of `hits` on; the first entry.

    -1 if there is no room.
    """
    top, slot, unit, i = room, I64(ROOT), units[ROOT], stop - 1
    while i >= begin:
        if slot == ROOT and i - layout.LANES >= begin:
            found = may_end(p, i - layout.LANES + 1, ranges)
            i -= leading_zeros(found)
            if found == ZERO:
                continue
        after = I64((unit >> BASE & BASE_BITS) ^ U64(p[i]))
        if units[after] & LABEL != PRESENT | U64(p[i]):
            after = next_slot(units, links, slot, p[i])
        slot, unit = after, units[after]
        string = piece_of(unit)
        if string >= 0:
            if top == 0:
                return I64(-1)
            top -= 1
            hits[top] = U64(i - begin) << PLACED | U64(string)
        i -= 1
    return I64(top)


@helper
def kind_before(p, begin, at, classes):
    """The class of the character before p[at], and where it begins; 0 for a byte that is no character."""
    i = at - 1
    while i > begin and p[i] >> 6 == 2 and at - i < 4:
        i -= 1
    code, size = decode_at(p, i, at)
    if code >= 0 and size == at - i:
        return I64(classes[code]), i
    return I64(0), at - 1


@helper
def kind_after(p, at, stop, classes):
    """The class of the character at p[at], and where it ends; 0 for a byte that is no character."""
    code, size = decode_at(p, at, stop)
    return (I64(classes[code]) if code >= 0 else I64(0)), at + size


@helper
def beside_word(p, begin, start, end, stop, classes):
    """Whether a character of a word is beside p[start:end]."""
    if start > begin and kind_before(p, begin, start, classes)[0] & layout.WORD_CHAR != 0:
        return True
    return end < stop and kind_after(p, end, stop, classes)[0] & layout.WORD_CHAR != 0


@helper
def whitespace_begin(p, begin, at, classes):
    """Where the whitespace before p[at] begins."""
    while at > begin:
        kind, place = kind_before(p, begin, at, classes)
        if kind & layout.SPACE_CHAR == 0:
            break
        at = place
    return at


@helper
def whitespace_end(p, at, stop, classes):
    """Where the whitespace from p[at] on ends."""
    while at < stop:
        kind, place = kind_after(p, at, stop, classes)
        if kind & layout.SPACE_CHAR == 0:
            break
        at = place
    return at


class PlacePointers(NamedTuple):
    """The pointers of `TextPlaces`."""

    begins: object
    sizes: object
    after: object


@inlined
def put_text(out, n, begin, size, after):
    """Write the entry n."""
    out.begins[n], out.sizes[n], out.after[n] = begin, size, after
    return n + 1


@helper
def cut_text(p, begin, stop, finder, hits, top, room, out, n):
    """Write the texts between tokens of p[begin:stop], but for the last one: (number of entries, where that begins)."""
    done = upto = spaced = begin
    for k in range(top, room):
        i, string = begin + I64(hits[k] >> PLACED), I64(hits[k] & STRING)
        if i < upto:  # a string that begins inside a found one
            continue
        start, end, flags = i, i + I64(finder.lengths[string]), I64(finder.flags[string])
        upto = end
        if flags & layout.SINGLE_WORD != 0 and beside_word(p, begin, start, end, stop, finder.classes):
            continue
        if flags & layout.STRIPS_LEFT != 0:
            start = whitespace_begin(p, done, start, finder.classes) if done < start else done
        if flags & layout.STRIPS_RIGHT != 0:
            if end > spaced:  # what is known of a run of whitespace holds for its other tokens
                spaced = whitespace_end(p, end, stop, finder.classes)
            end = spaced
        if start < end:
            n = put_text(out, n, done, max(start - done, I64(0)), I64(finder.ids[string]) + 1)
            done = end
    return n, done


class FinderPointers(NamedTuple):
    """The pointers of `TokenFinder` that `cut_text` takes."""

    lengths: object
    ids: object
    flags: object
    classes: object


@kernel
def cut_tokens(data: U8s, texts: TextPlaces, finder: TokenFinder, hits: U64s, out: TextPlaces, ends: I64s) -> Int:
    """Cut texts at the tokens in them; the number of texts between tokens, or -1 if there is no room.

    A text is data[begin : begin + size]; `after` is 1 + the id of the token after it, or 0. ends: the number of entries
    of `out` up to the end of each given text, of which an empty one at the end is left out. Linear in the texts. As in
    HF, a token that begins in whitespace that the token before it stripped is found too.
    """
    p, units, links, ranges = pointer(data), pointer(finder.units), pointer(finder.links), pointer(finder.ranges)
    found, room, n, e = pointer(hits), len(hits), I64(0), pointer(ends)
    begins, sizes, after = pointer(texts.begins), pointer(texts.sizes), pointer(texts.after)
    to = PlacePointers(pointer(out.begins), pointer(out.sizes), pointer(out.after))
    of = FinderPointers(pointer(finder.lengths), pointer(finder.ids), pointer(finder.flags), pointer(finder.classes))
    for t in range(len(texts.begins)):
        begin, stop = begins[t], begins[t] + sizes[t]
        top = collect_hits(p, begin, stop, units, links, ranges, found, room)
        if top < 0 or n + room - top + 1 > len(out.begins):
            return I64(-1)
        n, done = cut_text(p, begin, stop, of, found, top, room, to, n)
        if done < stop or after[t] != 0:
            n = put_text(to, n, done, stop - done, after[t])
        e[t] = n
    return n
