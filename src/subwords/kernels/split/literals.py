"""Strings cut out of text: the leftmost first, of several that begin there the longest."""

from __future__ import annotations

from subwords.kernels.jit import I64, I32s, I64s, Int, Parts, U8s, helper, inlined, kernel, pointer

ROOT = 0


@inlined
def behind(trie, node, byte):
    """The node behind a byte, or ROOT where there is none."""
    columns, table, width = trie
    return I64(table[node * width + I64(columns[byte])])


@helper
def longest_symbol(trie, ends, p, at, stop):
    """The length of the longest symbol that begins at p[at], or 0."""
    node, best, k = behind(trie, I64(ROOT), p[at]), I64(0), at + 1
    while node != ROOT:
        if ends[node] != 0:
            best = k - at
        if k == stop:
            break
        node = behind(trie, node, p[k])
        k += 1
    return best


@kernel
def find_symbols(text: U8s, bounds: I64s, tables: Parts[U8s, I32s, U8s, U8s], found: I64s) -> Int:
    """Write where the symbols in each text[bounds[i]:bounds[i + 1]] begin and end, while there is room; how many are.

    tables: the column of every byte, the trie (a row for each node: the node behind the byte of every column, ROOT for
    none; in column 0 nothing but ROOT), whether a symbol ends at a node, and whether one begins with a byte.
    """
    p, b, out = pointer(text), pointer(bounds), pointer(found)
    columns, ends, room = pointer(tables[0]), pointer(tables[2]), len(found) // 2
    trie, firsts = (columns, pointer(tables[1]), len(tables[1]) // len(tables[2])), pointer(tables[3])
    count = I64(0)
    for i in range(len(bounds) - 1):
        at, stop = I64(b[i]), I64(b[i + 1])
        while True:
            while at < stop and firsts[p[at]] == 0:
                at += 1
            if at == stop:
                break
            length = longest_symbol(trie, ends, p, at, stop)
            if length > 0:
                if count < room:
                    out[2 * count], out[2 * count + 1] = at, at + length
                count += 1
            at += max(length, I64(1))
    return count


@kernel
def spans_place(text: U8s, start: Int, place: Int, tables: Parts[U8s, I32s, U8s, U8s]) -> Int:
    """Whether text[start:place] ends with what a symbol begins with, and more of it may follow."""
    p, columns = pointer(text), pointer(tables[0])
    trie = columns, pointer(tables[1]), len(tables[1]) // len(tables[2])
    for at in range(start, place):
        node, k = behind(trie, I64(ROOT), p[at]), at + 1
        while node != ROOT and k < place:
            node = behind(trie, node, p[k])
            k += 1
        if node != ROOT:
            return 1
    return 0
