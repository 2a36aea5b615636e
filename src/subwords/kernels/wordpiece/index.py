"""The data of WordPiece training: words in the arena of words.py, records of their pairs, and symbols.

A symbol id is a code point if it begins a word, and its code point + CODE_POINTS elsewhere.

A record (int64) is RECORD_KEY, left << 32 | right; RECORD_COUNT; the place and number of its postings, RECORD_PLACE and
RECORD_WORDS; the next record with the same left token, NEXT_OF_LEFT, and with the same right token, NEXT_OF_RIGHT; and
its entry in the heap, HEAP_AT, or NOWHERE. The finder is a hash table (open addressing, linear probing) of pairs (key,
record), with NOWHERE for a free key.

A token's row in `symbols` (int64) is TIMES, its occurrences; DOUBLES, how often a merge would join it with itself;
LOG_TIMES, the bits of the logarithm of TIMES; FIRST_AS_LEFT and FIRST_AS_RIGHT, the first records of its pairs; and
TIMES_BEFORE, its occurrences when its pairs were last scored all together.
"""

from __future__ import annotations

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
from subwords.kernels.layout import CODE_POINTS, MISSING
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.train_layout import (
    DOUBLES,
    FIND_ROW,
    FIRST_AS_LEFT,
    FIRST_AS_RIGHT,
    FIRST_LENGTH,
    HEAP_AT,
    NEXT_OF_LEFT,
    NEXT_OF_RIGHT,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_ROW,
    PAIR_WORDS,
    PAIRS_USED,
    POSTINGS_USED,
    RECORD_COUNT,
    RECORD_KEY,
    RECORD_PLACE,
    RECORD_ROW,
    RECORD_WORDS,
    SYMBOL_ROW,
    THRESHOLD,
    WORD_HEADER,
    WORD_LENGTH,
    ScoreTraining,
)
from subwords.kernels.wordpiece.words import weight_at

NOWHERE = MISSING


@kernel
def wordpiece_weights(data: U8s, offsets: I64s, counts: U64s, weights: U64s) -> Int:
    """Add every word's count to the weight of each of its symbols; skips invalid bytes."""
    p, o, c, w = pointer(data), pointer(offsets), pointer(counts), pointer(weights)
    for word in range(len(counts)):
        i = o[word]
        while i < o[word + 1]:
            code, step = decode_at(p, i, o[word + 1])
            if code >= 0:
                w[code if i == o[word] else CODE_POINTS + code] += c[word]
            i += step
    return 0


@inlined
def record_slot(finder, mask, key):
    """The position of a key in the finder, or of the free slot for it."""
    slot = mix(U64(key), U64(0x9E3779B97F4A7C15)) & mask
    while finder[FIND_ROW * I64(slot)] != key and finder[FIND_ROW * I64(slot)] != NOWHERE:
        slot = slot + ONE & mask
    return FIND_ROW * I64(slot)


@helper
def add_record(records, finder, mask, symbols, counters, key, count, place):
    """Add a record without postings, not in the heap; its number."""
    record = I64(counters[PAIRS_USED])
    counters[PAIRS_USED] += 1
    at = record_slot(finder, mask, key)
    finder[at], finder[at + 1] = key, record
    row, left, right = RECORD_ROW * record, SYMBOL_ROW * (key >> 32), SYMBOL_ROW * (key & 0xFFFFFFFF)
    records[row + RECORD_KEY], records[row + RECORD_COUNT] = key, count
    records[row + RECORD_PLACE], records[row + RECORD_WORDS] = place, 0
    records[row + NEXT_OF_LEFT], records[row + NEXT_OF_RIGHT] = (
        symbols[left + FIRST_AS_LEFT],
        symbols[right + FIRST_AS_RIGHT],
    )
    records[row + HEAP_AT] = NOWHERE
    symbols[left + FIRST_AS_LEFT], symbols[right + FIRST_AS_RIGHT] = record, record
    return record


@kernel
def open_records(pairs: U64s, training: ScoreTraining) -> Int:
    """Make records of the pairs that `count_word_pairs` counted often enough, with room for their postings."""
    source, r, h = pointer(pairs), pointer(training.records), pointer(training.finder)
    s, st, threshold = pointer(training.symbols), pointer(training.counters), pointer(training.settings)[THRESHOLD]
    mask, place = U64(len(training.finder) // FIND_ROW - 1), 0
    for entry in range(len(pairs) // PAIR_ROW):
        at = entry * PAIR_ROW
        if source[at + PAIR_KEY] != FREE and source[at + PAIR_COUNT] >= U64(threshold):
            add_record(r, h, mask, s, st, I64(source[at + PAIR_KEY]), I64(source[at + PAIR_COUNT]), place)
            place += I64(source[at + PAIR_WORDS])
    st[POSTINGS_USED] = place
    return 0


@kernel
def fill_records(training: ScoreTraining, used: Int) -> Int:
    """Write the postings of every record, and count the DOUBLES of every token; `used` elements of the arena."""
    a, q = pointer(training.arena), pointer(training.postings)
    r, h, s = pointer(training.records), pointer(training.finder), pointer(training.symbols)
    mask = U64(len(training.finder) // FIND_ROW - 1)
    word = 0
    while word < used:
        n, run = I64(a[word + WORD_LENGTH]), 1
        for k in range(word + WORD_HEADER, word + WORD_HEADER + n - 1):
            left, right = I64(a[k]), I64(a[k + 1])
            run = run + 1 if left == right else 1
            if run & 1 == 0:
                s[SYMBOL_ROW * left + DOUBLES] += I64(weight_at(a, word))
            record = I64(h[record_slot(h, mask, left << 32 | right) + 1])
            if record != NOWHERE:
                row = RECORD_ROW * record
                end = r[row + RECORD_PLACE] + r[row + RECORD_WORDS]
                if r[row + RECORD_WORDS] == 0 or q[end - 1] != word:
                    q[end] = word
                    r[row + RECORD_WORDS] += 1
        word += WORD_HEADER + I64(a[word + FIRST_LENGTH])
    return 0
