"""Finding strings in a text: of those that begin first the longest, then the next after its end."""

from __future__ import annotations

from subwords.kernels.jit import I64, I32s, I64s, Int, U8s, U64s, kernel, pointer
from subwords.kernels.trie.double_array import ROOT, next_slot, piece_of


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
