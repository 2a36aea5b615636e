"""Literals cut out of text: the leftmost first; of several that begin there, the longest.

The trie is a table: a row for each node, with the node that each byte leads to, or ROOT. A byte's position in the row
is its column; column 0 is for bytes that occur in no literal and holds nothing but ROOT.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, I64s, Int, U8s, helper, inlined, kernel, pointer
from subwords.kernels.layout import Literals

ROOT = 0


@inlined
def next_node(trie, node, byte):
    """The node that a byte leads to, or ROOT."""
    columns, table, width = trie
    return I64(table[node * width + I64(columns[byte])])


@helper
def longest_literal(trie, ends, p, at, stop):
    """The length of the longest literal that begins at p[at], or 0."""
    node, best, k = next_node(trie, I64(ROOT), p[at]), I64(0), at + 1
    while node != ROOT:
        if ends[node] != 0:
            best = k - at
        if k == stop:
            break
        node = next_node(trie, node, p[k])
        k += 1
    return best


@inlined
def opened(literals):
    """Columns, children and width of the trie."""
    return pointer(literals.columns), pointer(literals.children), len(literals.children) // len(literals.ends)


@kernel
def find_literals(text: U8s, bounds: I64s, literals: Literals, spans: I64s) -> Int:
    """Write begin and end of each literal in each text[bounds[i]:bounds[i + 1]] while there is room; their number."""
    p, b, out = pointer(text), pointer(bounds), pointer(spans)
    trie, ends, firsts, room = opened(literals), pointer(literals.ends), pointer(literals.firsts), len(spans) // 2
    count = I64(0)
    for i in range(len(bounds) - 1):
        at, stop = I64(b[i]), I64(b[i + 1])
        while True:
            while at < stop and firsts[p[at]] == 0:
                at += 1
            if at == stop:
                break
            length = longest_literal(trie, ends, p, at, stop)
            if length > 0:
                if count < room:
                    out[2 * count], out[2 * count + 1] = at, at + length
                count += 1
            at += max(length, I64(1))
    return count


@kernel
def crosses_place(text: U8s, start: Int, place: Int, literals: Literals) -> Int:
    """Whether text[start:place] ends with the beginning of a longer literal."""
    p, trie = pointer(text), opened(literals)
    for at in range(start, place):
        node, k = next_node(trie, I64(ROOT), p[at]), at + 1
        while node != ROOT and k < place:
            node = next_node(trie, node, p[k])
            k += 1
        if node != ROOT:
            return 1
    return 0
