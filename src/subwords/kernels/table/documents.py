"""How many documents each word of a count table is in: a row of marks beside every slot."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, I64s, Int, U8s, U32s, U64s, kernel, pointer
from subwords.kernels.layout import CountTable
from subwords.kernels.table.count import find_count, opened
from subwords.kernels.table.keys import OWNED, home, make_keys

ZERO, ONE = U64(0), U64(1)


@kernel
def mark_words(
    text: U8s, start: Int, ends: U32s, text_ends: I64s, documents: I64s, counted: CountTable, marks: U64s
) -> Int:
    """Count for each word text[start + ends[w - 1] : start + ends[w]] the documents that have it; 0.

    All words are in the table. documents: of each text, ascending from 0.
    """
    p, e, keys, m = pointer(text), pointer(ends), pointer(counted.keys), pointer(marks)
    t_ends, of = pointer(text_ends), pointer(documents)
    table = opened(counted)
    first, t, words = I64(0), I64(0), t_ends[len(text_ends) - 1]
    while first < words:
        last = min(first + layout.BLOCK, words)
        make_keys(table.slots, table.mask, table.seeds, p, len(text), start, e, first, last, keys)
        for w in range(first, last):
            while t_ends[t] <= w:
                t += 1
            at, k = I64(e[w - 1]) if w > 0 else I64(0), layout.KEY_ROW * (w - first)
            length = I64(e[w]) - at
            slot = find_count(table, p, start + at, length, keys[k], keys[k + 1], I64(keys[k + 2]))
            row, document = slot * layout.MARK.width, U64(of[t] + 1)
            if m[row + layout.MARK.last] != document:
                m[row + layout.MARK.last] = document
                m[row + layout.MARK.documents] += ONE
        first = last
    return 0


@kernel
def move_marks(old: U64s, old_marks: U64s, new: U64s, new_marks: U64s, seeds: U64s) -> Int:
    """Copy the marks of all words of table `old` to where `rehash` has put the words in table `new`; 0."""
    p, q, seed = pointer(old), pointer(new), pointer(seeds)
    source, target = pointer(old_marks), pointer(new_marks)
    mask = U64(len(new) // layout.SLOT.width - 1)
    for k in range(len(old) // layout.SLOT.width):
        a = k * layout.SLOT.width
        if p[a + layout.SLOT.key_high] != ZERO:
            slot = home(p[a + layout.SLOT.key_low], p[a + layout.SLOT.key_high] << OWNED >> OWNED, seed, mask)
            b = slot * layout.SLOT.width
            # Long words may share a key, but not the place of their bytes.
            while (
                q[b + layout.SLOT.key_low] != p[a + layout.SLOT.key_low]
                or q[b + layout.SLOT.key_high] != p[a + layout.SLOT.key_high]
                or q[b + layout.SLOT.value_high] != p[a + layout.SLOT.value_high]
            ):
                slot = I64(U64(slot + 1) & mask)
                b = slot * layout.SLOT.width
            target[slot * layout.MARK.width + layout.MARK.last] = source[k * layout.MARK.width + layout.MARK.last]
            target[slot * layout.MARK.width + layout.MARK.documents] = source[
                k * layout.MARK.width + layout.MARK.documents
            ]
    return 0
