"""WordPiece on the words' table: greedy longest match in one pass over a word (P3, P4).

Two tries of bytes, one of tokens and one of pieces without their prefix. A node's failure link says where to go on when
no edge fits, and its pops are the tokens that are certain by then. With t the longest token on the way to node v, they
lead to the node of what follows t on that way (LinMaxMatch: X. Song et al., Fast WordPiece Tokenization, 2021).
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels.jit import (
    I64,
    U64,
    I32s,
    I64s,
    Int,
    Parts,
    U8s,
    U32s,
    U64s,
    helper,
    inlined,
    kernel,
    pointer,
)
from subwords.kernels.table.encode import DONE, Family, encode_all, never_fleeting, opened, settled
from subwords.kernels.trie.edges import AFTER, CHILD, FREE, ROOT, edge_slot

NO_NODE = -1
UNK, MOST_CHARS, SEED = range(3)  # fields of `settings`


class Pieces(NamedTuple):
    """The tries."""

    edges: object  # uint64, a table: node, byte (8 bits) and child
    mask: object
    fails: object  # int32, of each node: where to go on, or NO_NODE
    pops: object  # int32, of each node: where its tokens begin in `popped`
    counts: object  # and how many they are
    popped: object
    settings: object


@inlined
def child_of(model, node, byte):
    """The node behind an edge, or NO_NODE."""
    value = model.edges[edge_slot(model.edges, model.mask, U64(model.settings[SEED]), node, byte)]
    return NO_NODE if value == FREE else I64(value & CHILD)


@helper
def pop(model, node, out, count, n):
    """Write the tokens that are certain at a node, after `count + n`; the new n."""
    first = I64(model.pops[node])
    for k in range(I64(model.counts[node])):
        out[count + n + k] = model.popped[first + k]
    return n + I64(model.counts[node])


@helper
def match_word(model, text, at, length, out, count):
    """Write the tokens of a word after `count`; how many, or 0 where it is no sequence of pieces."""
    node, n = ROOT, 0
    for k in range(length):
        child = child_of(model, node, text[at + k])
        while child == NO_NODE:
            if model.fails[node] == NO_NODE:
                return 0
            n = pop(model, node, out, count, n)
            node = I64(model.fails[node])
            child = child_of(model, node, text[at + k])
        node = child
    while node != AFTER:
        if model.fails[node] == NO_NODE:
            return 0
        n = pop(model, node, out, count, n)
        node = I64(model.fails[node])
    return n


@helper
def too_long(text, at, length, most):
    """Whether a word has more than so many characters; a byte that is not UTF-8 may count as none."""
    if length <= most:
        return False
    chars = 0
    for k in range(length):
        if text[at + k] >> 6 != 2:
            chars += 1
    return chars > most


@helper
def segment_pieces(model, state, text, at, length, out, count):
    """Write the ids of a word the table lacks after `count`: (DONE, how many)."""
    n = 0
    if not too_long(text, at, length, model.settings[MOST_CHARS]):
        n = match_word(model, text, at, length, out, count)
    if n == 0:
        out[count] = model.settings[UNK]
        n = 1
    return DONE, n


@kernel
def encode_pieces(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    marks: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    frame: Parts[U64s, U64s, I32s, U8s, U64s, I32s, I32s, I32s, I32s, I64s, U64s, I64s],
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `encode.encode_all`.

    frame: slots, seeds, ids, arena (the table), edges, fails, pops, counts, popped, settings (the
    model), wide (scratch),
    state; see `wordpiece/encode.py`. Same ids as `reference.wordpiece.encode_word`, word by word.
    """
    edges = frame[4]
    model = Pieces(
        edges=pointer(edges),
        mask=U64(len(edges) - 1),
        fails=pointer(frame[5]),
        pops=pointer(frame[6]),
        counts=pointer(frame[7]),
        popped=pointer(frame[8]),
        settings=pointer(frame[9]),
    )
    table = opened(frame[0], frame[1], frame[2], frame[3], frame[11])
    p, e, mark, o, keys = pointer(text), pointer(ends), pointer(marks), pointer(out), pointer(frame[10])
    size, room = len(text), len(out)
    family = Family(segment_pieces, settled, never_fleeting)
    return encode_all(family, model, table, p, size, start, e, words, mark, texts, keys, o, room, filled)


@kernel
def build_links(
    order: I64s,
    ids: I32s,
    nodes: Parts[I32s, U8s, I32s, I32s],
    edges: U64s,
    fails: I32s,
    pops: I32s,
    counts: I32s,
    popped: I32s,
    settings: I64s,
) -> Int:
    """Write failure links and pops of all nodes, in `order` of depth; how many pops, or minus the room they need.

    ids[i] is the id of string i.
    """
    parents, bytes_, strings = pointer(nodes[0]), pointer(nodes[1]), pointer(nodes[3])
    f, first, n, names, rank = pointer(fails), pointer(pops), pointer(counts), pointer(ids), pointer(order)
    model = Pieces(pointer(edges), U64(len(edges) - 1), f, first, n, pointer(popped), pointer(settings))
    filled, room = I64(0), I64(len(popped))
    for k in range(len(order)):
        node = I64(rank[k])
        first[node], f[node], start = filled, NO_NODE, filled
        if strings[node] >= 0:
            f[node] = AFTER
            filled = add_pop(model.popped, filled, room, I64(names[strings[node]]))
        elif node > AFTER:
            above = I64(parents[node])
            filled = add_pops(model, above, filled, room)
            link, child = I64(f[above]), I64(NO_NODE)
            while link != NO_NODE and child == NO_NODE:
                child = child_of(model, link, bytes_[node])
                if child == NO_NODE:
                    filled = add_pops(model, link, filled, room)
                    link = I64(f[link])
            f[node] = child
            if child == NO_NODE:
                filled = start
        n[node] = filled - start
    return filled if filled <= room else -filled


@inlined
def add_pop(popped, filled, room, token):
    """Append a pop where there is room; the new number."""
    if filled < room:
        popped[filled] = token
    return filled + 1


@helper
def add_pops(model, node, filled, room):
    """Append the pops of a node; the new number."""
    first = I64(model.pops[node])
    for k in range(I64(model.counts[node])):
        filled = add_pop(model.popped, filled, room, I64(model.popped[first + k]) if first + k < room else 0)
    return filled
