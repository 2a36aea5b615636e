"""The data of WordPiece training: words in the arena of words.py, records of their pairs, and symbols.

A symbol id is a code point if it begins a word, and its code point + CODE_POINTS elsewhere.

A record (int64) is RECORD.key, left << 32 | right; RECORD.count; the place and number of its postings, RECORD.place and
RECORD.words; the next record with the same left token, RECORD.next_of_left, and with the same right token,
RECORD.next_of_right; and its entry in the heap, RECORD.heap_at, or NOWHERE. The finder is a hash table (open
addressing, linear probing) of pairs (key, record), with NOWHERE for a free key.

A token's row in `symbols` (int64) is SYMBOL.times, its occurrences; SYMBOL.doubles, how often a merge would join it
with itself; SYMBOL.log_times, the bits of the logarithm of SYMBOL.times; SYMBOL.first_as_left and
SYMBOL.first_as_right, the first records of its pairs; and SYMBOL.times_before, its occurrences when its pairs were last
scored all together.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.index import FREE, ONE
from subwords.kernels.jit import (
    I64,
    U64,
    I64s,
    Int,
    U8s,
    U64s,
    helper,
    inlined,
    kernel,
    mix,
    pointer,
)
from subwords.kernels.layout import ScoreTraining
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.wordpiece.words import weight_at

NOWHERE = layout.MISSING


@kernel
def wordpiece_weights(data: U8s, offsets: I64s, counts: U64s, weights: U64s) -> Int:
    """Add every word's count to the weight of each of its symbols; skips invalid bytes."""
    p, o, c, w = pointer(data), pointer(offsets), pointer(counts), pointer(weights)
    for word in range(len(counts)):
        i = o[word]
        while i < o[word + 1]:
            code, step = decode_at(p, i, o[word + 1])
            if code >= 0:
                w[code if i == o[word] else layout.CODE_POINTS + code] += c[word]
            i += step
    return 0


@inlined
def record_slot(finder, mask, key):
    """The position of a key in the finder, or of the free slot for it."""
    slot = mix(U64(key), U64(0x9E3779B97F4A7C15)) & mask
    while finder[layout.FIND_ROW * I64(slot)] != key and finder[layout.FIND_ROW * I64(slot)] != NOWHERE:
        slot = slot + ONE & mask
    return layout.FIND_ROW * I64(slot)


@helper
def add_record(records, finder, mask, symbols, counters, key, count, place):
    """Add a record without postings, not in the heap; its number."""
    record = I64(counters[layout.TALLY.pairs_used])
    counters[layout.TALLY.pairs_used] += 1
    at = record_slot(finder, mask, key)
    finder[at], finder[at + 1] = key, record
    row, left, right = (
        layout.RECORD.width * record,
        layout.SYMBOL.width * (key >> 32),
        layout.SYMBOL.width * (key & 0xFFFFFFFF),
    )
    records[row + layout.RECORD.key], records[row + layout.RECORD.count] = key, count
    records[row + layout.RECORD.place], records[row + layout.RECORD.words] = place, 0
    records[row + layout.RECORD.next_of_left], records[row + layout.RECORD.next_of_right] = (
        symbols[left + layout.SYMBOL.first_as_left],
        symbols[right + layout.SYMBOL.first_as_right],
    )
    records[row + layout.RECORD.heap_at] = NOWHERE
    symbols[left + layout.SYMBOL.first_as_left], symbols[right + layout.SYMBOL.first_as_right] = record, record
    return record


@kernel
def open_records(pairs: U64s, training: ScoreTraining) -> Int:
    """Make records of the pairs that `count_word_pairs` counted often enough, with room for their postings."""
    source, r, h = pointer(pairs), pointer(training.records), pointer(training.finder)
    s, st, threshold = (
        pointer(training.symbols),
        pointer(training.counters),
        pointer(training.settings)[layout.TRAIN.threshold],
    )
    mask, place = U64(len(training.finder) // layout.FIND_ROW - 1), 0
    for entry in range(len(pairs) // layout.PAIR.width):
        at = entry * layout.PAIR.width
        if source[at + layout.PAIR.key] != FREE and source[at + layout.PAIR.count] >= U64(threshold):
            add_record(r, h, mask, s, st, I64(source[at + layout.PAIR.key]), I64(source[at + layout.PAIR.count]), place)
            place += I64(source[at + layout.PAIR.words])
    st[layout.TALLY.postings_used] = place
    return 0


@kernel
def fill_records(training: ScoreTraining, used: Int) -> Int:
    """Write the postings of every record, and count the SYMBOL.doubles of every token; `used` elements of the arena."""
    a, q = pointer(training.arena), pointer(training.postings)
    r, h, s = pointer(training.records), pointer(training.finder), pointer(training.symbols)
    mask = U64(len(training.finder) // layout.FIND_ROW - 1)
    word = 0
    while word < used:
        n, run = I64(a[word + layout.HEADER.length]), 1
        for k in range(word + layout.HEADER.width, word + layout.HEADER.width + n - 1):
            left, right = I64(a[k]), I64(a[k + 1])
            run = run + 1 if left == right else 1
            if run & 1 == 0:
                s[layout.SYMBOL.width * left + layout.SYMBOL.doubles] += I64(weight_at(a, word))
            record = I64(h[record_slot(h, mask, left << 32 | right) + 1])
            if record != NOWHERE:
                row = layout.RECORD.width * record
                end = r[row + layout.RECORD.place] + r[row + layout.RECORD.words]
                if r[row + layout.RECORD.words] == 0 or q[end - 1] != word:
                    q[end] = word
                    r[row + layout.RECORD.words] += 1
        word += layout.HEADER.width + I64(a[word + layout.HEADER.first_length])
    return 0
