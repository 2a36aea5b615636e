"""What WordPiece training works on: words as symbols in the arena of bpe_index.py, and records of the pairs in them.

A symbol is a character and whether a word begins with it: its code point, and CODES more where none does. A record
(int64) is left << 32 | right, the pair's count, the place and number of its postings, the next record of the same left
and of the same right token, and where it is in the heap; a table of keys and records finds it.
"""

from __future__ import annotations

from subwords.kernels.bpe.index import CODES, EXTENT, HEADER, NONE, ONE, POSTINGS, USED, weight_at
from subwords.kernels.bpe.index import ENTRY as PAIR
from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    Parts,
    U8s,
    U32s,
    U64s,
    helper,
    inlined,
    kernel,
    mix,
    pointer,
)
from subwords.kernels.text.utf8 import decode_at

# Fields of a record.
KEY, COUNT, PLACE, NUMBER, NEXT_OUT, NEXT_IN, AT = range(7)
RECORD = 8
# Fields of `symbols`, eight an id: how often it occurs, how often a merge would join it with itself, the logarithm of
# the first, the first record of the pairs it is the left token of, and the right one, and how often it occurred when
# all of them were scored.
TIMES, DOUBLES, LOG, OUT, IN, TIMES_BEFORE = range(6)
SYMBOL = 8
NOWHERE = -1


@kernel
def piece_weights(data: U8s, offsets: I64s, counts: U64s, weights: U64s) -> Int:
    """Add every word's count to the weight of each of its symbols; bytes that are no UTF-8 are none."""
    p, o, c, w = pointer(data), pointer(offsets), pointer(counts), pointer(weights)
    for word in range(len(counts)):
        i = o[word]
        while i < o[word + 1]:
            code, step = decode_at(p, i, o[word + 1])
            if code >= 0:
                w[code if i == o[word] else CODES + code] += c[word]
            i += step
    return 0


@inlined
def record_slot(table, mask, key):
    """Where the table has a key, or the free slot where it belongs."""
    slot = mix(U64(key), U64(0x9E3779B97F4A7C15)) & mask
    while table[2 * I64(slot)] != key and table[2 * I64(slot)] != NOWHERE:
        slot = slot + ONE & mask
    return 2 * I64(slot)


@helper
def add_record(records, table, mask, symbols, state, key, count, place):
    """Enter a new pair, last in the postings and in no heap; its number."""
    record = I64(state[USED])
    state[USED] += 1
    at = record_slot(table, mask, key)
    table[at], table[at + 1] = key, record
    row, left, right = RECORD * record, SYMBOL * (key >> 32), SYMBOL * (key & 0xFFFFFFFF)
    records[row + KEY], records[row + COUNT] = key, count
    records[row + PLACE], records[row + NUMBER] = place, 0
    records[row + NEXT_OUT], records[row + NEXT_IN] = symbols[left + OUT], symbols[right + IN]
    records[row + AT] = NOWHERE
    symbols[left + OUT], symbols[right + IN] = record, record
    return record


@kernel
def open_records(pairs: U64s, threshold: Int, records: I64s, table: I64s, symbols: I64s, state: I64s) -> Int:
    """Make records of the live pairs that bpe_index.count_pairs found, with room for their postings."""
    source, r, h, s, st = pointer(pairs), pointer(records), pointer(table), pointer(symbols), pointer(state)
    mask, place = U64(len(table) // 2 - 1), 0
    for entry in range(len(pairs) // PAIR):
        at = entry * PAIR
        if source[at] != NONE and source[at + 1] >= U64(threshold):
            add_record(r, h, mask, s, st, I64(source[at]), I64(source[at + 1]), place)
            place += I64(source[at + 3])
    st[POSTINGS] = place
    return 0


@kernel
def fill_records(words: Parts[U32s, U32s], used: Int, records: I64s, table: I64s, symbols: I64s) -> Int:
    """Write the words of every record, ascending, and count what a merge would join of a symbol with itself.

    words: arena and postings.
    """
    a, q, r, h, s = pointer(words[0]), pointer(words[1]), pointer(records), pointer(table), pointer(symbols)
    mask = U64(len(table) // 2 - 1)
    word = 0
    while word < used:
        n, run = I64(a[word]), 1
        for k in range(word + HEADER, word + HEADER + n - 1):
            left, right = I64(a[k]), I64(a[k + 1])
            run = run + 1 if left == right else 1
            if run & 1 == 0:
                s[SYMBOL * left + DOUBLES] += I64(weight_at(a, word))
            record = I64(h[record_slot(h, mask, left << 32 | right) + 1])
            if record != NOWHERE:
                row = RECORD * record
                end = r[row + PLACE] + r[row + NUMBER]
                if r[row + NUMBER] == 0 or q[end - 1] != word:
                    q[end] = word
                    r[row + NUMBER] += 1
        word += HEADER + I64(a[word + EXTENT])
    return 0
