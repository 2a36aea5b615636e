"""How many documents each word of a count table is in: a row of marks beside every slot."""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I64s, Int, U8s, U32s, U64s, kernel, pointer
from subwords.kernels.layout import BLOCK, KEY_HIGH, KEY_LOW, KEY_ROW, SLOT_ROW, VALUE_HIGH, CountTable
from subwords.kernels.table.count import find_count, opened
from subwords.kernels.table.keys import OWNED, home, make_keys
from subwords.kernels.train_layout import MARK_DOCUMENTS, MARK_LAST, MARK_ROW

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
        last = min(first + BLOCK, words)
        make_keys(table.slots, table.mask, table.seeds, p, len(text), start, e, first, last, keys)
        for w in range(first, last):
            while t_ends[t] <= w:
                t += 1
            at, k = I64(e[w - 1]) if w > 0 else I64(0), KEY_ROW * (w - first)
            length = I64(e[w]) - at
            slot = find_count(table, p, start + at, length, keys[k], keys[k + 1], I64(keys[k + 2]))
            row, document = slot * MARK_ROW, U64(of[t] + 1)
            if m[row + MARK_LAST] != document:
                m[row + MARK_LAST] = document
                m[row + MARK_DOCUMENTS] += ONE
        first = last
    return 0


@kernel
def move_marks(old: U64s, old_marks: U64s, new: U64s, new_marks: U64s, seeds: U64s) -> Int:
    """Copy the marks of all words of table `old` to where `rehash` has put the words in table `new`; 0."""
    p, q, seed = pointer(old), pointer(new), pointer(seeds)
    source, target = pointer(old_marks), pointer(new_marks)
    mask = U64(len(new) // SLOT_ROW - 1)
    for k in range(len(old) // SLOT_ROW):
        a = k * SLOT_ROW
        if p[a + KEY_HIGH] != ZERO:
            slot = home(p[a + KEY_LOW], p[a + KEY_HIGH] << OWNED >> OWNED, seed, mask)
            b = slot * SLOT_ROW
            # Long words may share a key, but not the place of their bytes.
            while (
                q[b + KEY_LOW] != p[a + KEY_LOW]
                or q[b + KEY_HIGH] != p[a + KEY_HIGH]
                or q[b + VALUE_HIGH] != p[a + VALUE_HIGH]
            ):
                slot = I64(U64(slot + 1) & mask)
                b = slot * SLOT_ROW
            target[slot * MARK_ROW + MARK_LAST] = source[k * MARK_ROW + MARK_LAST]
            target[slot * MARK_ROW + MARK_DOCUMENTS] = source[k * MARK_ROW + MARK_DOCUMENTS]
    return 0
