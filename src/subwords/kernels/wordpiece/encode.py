"""WordPiece on the table of words: greedy longest match in one pass over a word (P3, P4).

There are two tries of bytes in one double array (trie.py), where a node is its slot: tokens from ROOT, and pieces
without their prefix from AFTER, to which no byte leads. The failure link of a node is the node to continue from if no
edge fits, and its pops are the tokens that are certain by then. If t is the longest
token on the path to a node, the link leads to the node of the bytes that follow t on that path (LinMaxMatch: X. Song et
al., Fast WordPiece Tokenization, 2021).
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import I64, Int, helper, inlined, kernel, pointer
from subwords.kernels.layout import I32s, I64s, TrieNodes, U8s, U32s, WordPieceModel, WordPieceWorkspace
from subwords.kernels.table.emit import table_pointers
from subwords.kernels.table.encode import SegmentFunctions, encode_all, never_fleeting, never_many, settled
from subwords.kernels.trie import AFTER, ROOT, step

NO_NODE = -1


class WordPiecePointers(NamedTuple):
    """The pointers of a `WordPieceModel`."""

    units: object  # trie.py
    fails: object  # int32, by node: where to continue if no edge fits, or NO_NODE
    pops: object  # int32, by node: where its certain tokens begin in `popped`
    pop_counts: object  # int32, by node: how many they are
    popped: object
    settings: object


@inlined
def child_of(model, node, byte):
    """The node that a byte leads to, or NO_NODE."""
    return step(model.units, model.units[node], byte)


@helper
def write_pops(model, node, out, count, n):
    """Write the pops of a node from out[count + n] on; the new n."""
    first = I64(model.pops[node])
    for k in range(I64(model.pop_counts[node])):
        out[count + n + k] = model.popped[first + k]
    return n + I64(model.pop_counts[node])


@helper
def match_word(model, text, at, length, out, count):
    """Write the tokens of a word from out[count] on; their number, or 0 if the word is not a sequence of pieces."""
    node, n = ROOT, 0
    for k in range(length):
        child = child_of(model, node, text[at + k])
        # Linear in the word: each link emits at least one token, and together the tokens have at most `length` bytes.
        while child == NO_NODE:
            if model.fails[node] == NO_NODE:
                return 0
            n = write_pops(model, node, out, count, n)
            node = I64(model.fails[node])
            child = child_of(model, node, text[at + k])
        node = child
    # The word has ended: it is a sequence of pieces if and only if the links lead to AFTER.
    after = I64(model.settings[layout.WORDPIECE.after])
    while node != after:
        if model.fails[node] == NO_NODE:
            return 0
        n = write_pops(model, node, out, count, n)
        node = I64(model.fails[node])
    return n


@helper
def too_long(text, at, length, most):
    """Whether a word has more than `most` characters; invalid bytes may not be counted."""
    if length <= most:
        return False
    chars = 0
    for k in range(length):
        if text[at + k] >> 6 != 2:
            chars += 1
    return chars > most


@helper
def segment_wordpiece_word(model, counters, text, at, length, out, count):
    """Write the ids of a word from out[count] on: (DONE, their number), or (UNKNOWN, 0) if a model has no unk."""
    n = 0
    if not too_long(text, at, length, model.settings[layout.WORDPIECE.most_chars]):
        n = match_word(model, text, at, length, out, count)
    if n == 0:
        if model.settings[layout.MODEL.unk] == layout.MISSING:
            counters[layout.COUNTER.unknown_at] = at
            return layout.UNKNOWN, 0
        out[count] = model.settings[layout.MODEL.unk]
        n = 1
    return layout.DONE, n


@inlined
def wordpiece_pointers(model):
    """The pointers of a model."""
    return WordPiecePointers(
        units=pointer(model.units),
        fails=pointer(model.fails),
        pops=pointer(model.pops),
        pop_counts=pointer(model.pop_counts),
        popped=pointer(model.popped),
        settings=pointer(model.settings),
    )


@kernel
def encode_wordpiece(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    text_ends: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    workspace: WordPieceWorkspace,
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `table.encode.encode_all`.

    Same ids as `reference.wordpiece.encode_word`, word by word.
    """
    model, table = wordpiece_pointers(workspace.model), table_pointers(workspace.table, workspace.counters)
    p, e, t, o, keys = pointer(text), pointer(ends), pointer(text_ends), pointer(out), pointer(workspace.scratch.keys)
    family = SegmentFunctions(segment_wordpiece_word, settled, never_fleeting, True, False, never_many)
    return encode_all(family, model, table, p, len(text), start, e, words, t, texts, keys, o, len(out), filled)


@kernel
def build_links(order: I64s, slots: I64s, ids: I32s, nodes: TrieNodes, links: WordPieceModel) -> Int:
    """Write failure links and pops of all nodes; the number of pops, or minus the room they need.

    order: the nodes by depth, each in the slot of the same place in `slots`. nodes.parents are slots too. ids[i] is the
    id of string i.
    """
    parents, labels, strings = pointer(nodes.parents), pointer(nodes.labels), pointer(nodes.strings)
    model, names, rank, slot = wordpiece_pointers(links), pointer(ids), pointer(order), pointer(slots)
    f, first, n, after = model.fails, model.pops, model.pop_counts, I64(model.settings[layout.WORDPIECE.after])
    filled, room = I64(0), I64(len(links.popped))
    for k in range(len(order)):
        node, at = I64(rank[k]), I64(slot[k])
        first[at], f[at], start = filled, NO_NODE, filled
        if strings[node] >= 0:
            f[at] = after
            filled = add_pop(model.popped, filled, room, I64(names[strings[node]]))
        elif node > AFTER:
            above = I64(parents[node])
            filled = add_pops(model, above, filled, room)
            # Links lead to nodes of lower depth, whose links and pops are written already.
            link, child = I64(f[above]), I64(NO_NODE)
            while link != NO_NODE and child == NO_NODE:
                child = child_of(model, link, labels[node])
                if child == NO_NODE:
                    filled = add_pops(model, link, filled, room)
                    link = I64(f[link])
            f[at] = child
            if child == NO_NODE:
                filled = start
        n[at] = filled - start
    return filled if filled <= room else -filled


@inlined
def add_pop(popped, filled, room, token):
    """Append a pop if there is room; the new number, counted in any case."""
    if filled < room:
        popped[filled] = token
    return filled + 1


@helper
def add_pops(model, node, filled, room):
    """Append the pops of a node; the new number."""
    first = I64(model.pops[node])
    for k in range(I64(model.pop_counts[node])):
        filled = add_pop(model.popped, filled, room, I64(model.popped[first + k]) if first + k < room else 0)
    return filled
