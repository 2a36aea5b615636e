"""The data of WordPiece training (P1, P2): words, pairs with their gains, and the heap that finds the best.

An entry (int64) is ENTRY.score, the score as an integer of the same order; ENTRY.tie; ENTRY.record; and the numbers the
score is made of: ENTRY.pairs merges, and the tokens' counts ENTRY.high and ENTRY.low.

A merge of a and b changes the scores of pairs with a or b, and of no others. The records of a token are linked, so each
entry moves up or down at once and none becomes stale. The exception is the likelihood: its scores fall with the number
of tokens. The heap has the scores at an earlier number, and `best_gain` looks at every entry that may be the best now.

Most pairs gain far less than the best one. With the likelihood they stay out of the heap until one of their tokens has
lost a sixteenth of its occurrences: until then a gain of n merges grows by n / 2 at most. (If n falls, the gain falls
or is negative: it is convex in n, and 0 for n = 0.) That halves the time.

Pruning, with the likelihood: a pair of n merges gains at most what n merges of tokens that occur nowhere else gain.
Pairs counted less than `threshold` have no record while the best gain is above that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subwords.kernels import layout
from subwords.kernels.arithmetic import ln, sortable
from subwords.kernels.bpe.index import FREE, add_pair, may_merge, symbol_at
from subwords.kernels.bpe.pairs import string_order
from subwords.kernels.jit import HALF, I64, LOW, ONE, U64, Int, helper, inlined, kernel, mix, pointer, prefetch
from subwords.kernels.layout import I32s, I64s, ScoreTraining, U8s, U32s, U64s
from subwords.kernels.text.utf8 import decode_at

# ---------------------------------------------------------------------------------------------------------------------
# The words of WordPiece training in an arena, and a merge in one of them.
#
# A word in the arena (uint32) is a header and its symbols. The header is HEADER.length, the number of symbols now; the
# word's count in two halves, HEADER.weight_low and HEADER.weight_high; and HEADER.first_length, the number of symbols
# before any merge. Merging closes gaps in place, so the next word begins HEADER.first_length symbols after the header.
# The place of a word is that of its header. Unlike the words of BPE, whose tokens know how many symbols they cover:
# here two tokens of different lengths may have the same string (B5).


@kernel
def fill_arena(data: U8s, offsets: I64s, counts: U64s, ids: I32s, arena: U32s) -> Int:
    """Write the words as symbols; the number of elements of the arena used.

    ids: see `bpe.index.fill_symbols`. Words of one symbol are left out: they contain no pair.
    """
    p, o, c, d, a = pointer(data), pointer(offsets), pointer(counts), pointer(ids), pointer(arena)
    used, later = 0, layout.CODE_POINTS if len(ids) > layout.CODE_POINTS else 0
    for word in range(len(counts)):
        i, stop, n = o[word], o[word + 1], 0
        while i <= stop:
            symbol, step = symbol_at(p, i, stop, d, len(ids), 0 if i == o[word] else later)
            if symbol >= 0:
                a[used + layout.HEADER.width + n] = symbol
                n += 1
            else:
                if n > 1:
                    a[used + layout.HEADER.length], a[used + layout.HEADER.first_length] = n, n
                    a[used + layout.HEADER.weight_low], a[used + layout.HEADER.weight_high] = (
                        c[word] & LOW,
                        c[word] >> HALF,
                    )
                    used += layout.HEADER.width + n
                n = 0
            i += step
    return used


@inlined
def weight_at(arena, word):
    """The weight of the word at this place."""
    return U64(arena[word + layout.HEADER.weight_low]) | U64(arena[word + layout.HEADER.weight_high]) << HALF


@kernel
def count_word_pairs(arena: U32s, used: Int, pairs: U64s, tokens: I64s, longest: Int, counters: I64s) -> Int:
    """Count all pairs from the word at counters[TALLY.arena_at] on: DONE, or NEED_PAIRS if the table is half full."""
    a, p, t, st = pointer(arena), pointer(pairs), pointer(tokens), pointer(counters)
    mask, room = U64(len(pairs) // layout.PAIR.width - 1), len(pairs) // layout.PAIR.width // 2
    while st[layout.TALLY.arena_at] < used:
        word = I64(st[layout.TALLY.arena_at])
        n = I64(a[word + layout.HEADER.length])
        if st[layout.TALLY.pairs_used] + n > room:
            return layout.NEED_PAIRS
        weight = weight_at(a, word)
        for k in range(word + layout.HEADER.width, word + layout.HEADER.width + n - 1):
            if may_merge(t, I64(a[k]), I64(a[k + 1]), longest):
                at = add_pair(p, mask, U64(a[k]) << HALF | U64(a[k + 1]), weight, st)
                if p[at + layout.PAIR.place] != U64(word):  # postings have no place yet: this is the last word seen
                    p[at + layout.PAIR.place] = U64(word)
                    p[at + layout.PAIR.words] += ONE
        st[layout.TALLY.arena_at] += layout.HEADER.width + I64(a[word + layout.HEADER.first_length])
    return layout.DONE


@inlined
def note_word(t, neighbour, side, word, weight, filled):
    """Count a new pair with this neighbour, and note the word once; the new number of entries of that side."""
    row = layout.TOKEN.width * neighbour
    t.tokens[row + side] += I64(weight)
    if t.tokens[row + layout.TOKEN.last_left + side] != word:
        t.tokens[row + layout.TOKEN.last_left + side] = word
        t.tokens[row + layout.TOKEN.left_words + side] += 1
        at = layout.BUFFER.width * (filled if side == layout.TOKEN.left else t.buffer_size - 1 - filled)
        t.buffer[at + layout.BUFFER.neighbour], t.buffer[at + layout.BUFFER.in_word] = neighbour, word
        return filled + 1
    return filled


@helper
def merge_arena_word(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word, left to right, and note the new pairs; the new numbers of buffer entries."""
    arena, n = t.arena, I64(t.arena[word + layout.HEADER.length])
    weight, base = weight_at(arena, word), word + layout.HEADER.width
    read, write, after = 0, 0, False
    while read < n:
        symbol = I64(arena[base + read])
        if symbol == left and read + 1 < n and arena[base + read + 1] == right:
            if write > 0:
                lefts = note_word(t, I64(arena[base + write - 1]), layout.TOKEN.left, word, weight, lefts)
            arena[base + write] = merged
            read += 2
            after = True
        else:
            if after:
                rights = note_word(t, symbol, layout.TOKEN.right, word, weight, rights)
            arena[base + write] = symbol
            read += 1
            after = False
        write += 1
    arena[word + layout.HEADER.length] = write
    return lefts, rights


# ---------------------------------------------------------------------------------------------------------------------
# The data of WordPiece training: words in the arena of words.py, records of their pairs, and symbols.
#
# A symbol id is a code point if it begins a word, and its code point + CODE_POINTS elsewhere.
#
# A record (int64) is RECORD.key, left << 32 | right; RECORD.count; the place and number of its postings, RECORD.place
# and RECORD.words; the next record with the same left token, RECORD.next_of_left, and with the same right token,
# RECORD.next_of_right; and its entry in the heap, RECORD.heap_at, or NOWHERE. The finder is a hash table (open
# addressing, linear probing) of pairs (key, record), with NOWHERE for a free key.
#
# A token's row in `symbols` (int64) is SYMBOL.times, its occurrences; SYMBOL.doubles, how often a merge would join it
# with itself; SYMBOL.log_times, the bits of the logarithm of SYMBOL.times; SYMBOL.first_as_left and
# SYMBOL.first_as_right, the first records of its pairs; and SYMBOL.times_before, its occurrences when its pairs were
# last scored all together.

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


# ---------------------------------------------------------------------------------------------------------------------
# The score of a pair: floating point that sorts, and exact comparison where floating point cannot decide (P1).
#
# Only additions, multiplications and divisions: the same bits on every machine, and no mathematical library to link.

# The error of a gain of n merges is below this times n: a few roundings of terms below 64 * 16 * n.
TOLERANCE = 2.0**-37
ULPS = 16  # the joint error of two computed course scores, in units in the last place
FEW = 1 << 21  # three factors below it have a product below 2**63


@helper
def thinned(n, c, ln_c):
    """(c - n) * ln(1 - n / c), without the cancellation of small n."""
    rest = c - n
    if rest == 0:
        return 0.0
    if n >= c >> 4:
        return np.float64(rest) * (ln(rest) - ln_c)
    r = np.float64(n) / np.float64(c)
    # (1 - r) ln(1 - r) = -r + r^2 / (1 * 2) + r^3 / (2 * 3) + ...
    p = 1 / 20 * r + 1 / 12
    if r > 1e-4:
        p = ((1 / 182 * r + 1 / 156) * r + 1 / 132) * r + 1 / 110
        p = ((p * r + 1 / 90) * r + 1 / 72) * r + 1 / 56
        p = (((p * r + 1 / 42) * r + 1 / 30) * r + 1 / 20) * r + 1 / 12
    return np.float64(n) * (r * ((p * r + 1 / 6) * r + 1 / 2) - 1.0)


@helper
def gain(n, high, low, total, ln_high, ln_low, ln_total):
    """By how much n merges of tokens with these counts raise the log-likelihood of `total` tokens."""
    pointwise = ln(n) + ln_total - ln_high - ln_low
    return np.float64(n) * pointwise + thinned(n, high, ln_high) + thinned(n, low, ln_low) - thinned(n, total, ln_total)


@inlined
def high_half(a, b):
    """The high half of the 128-bit product."""
    return mix(a, b) ^ (a * b)


@helper
def product(x, y, z):
    """The product of three integers below 2**63, in three parts of 64 bits, the highest first."""
    a, b, c = U64(x), U64(y), U64(z)
    low, high = a * b, high_half(a, b)
    middle, carried = high * c, high_half(low, c)
    total = middle + carried
    top = high_half(high, c)
    if total < middle:
        top += U64(1)
    return top, total, low * c


@helper
def compare_ratios(n, high, low, m, upper, lower):
    """Negative, zero or positive as n / (high * low) is below, equal to or above m / (upper * lower)."""
    if n < FEW and high < FEW and low < FEW and m < FEW and upper < FEW and lower < FEW:
        return n * upper * lower - m * high * low
    a, b = product(n, upper, lower), product(m, high, low)
    order = 0
    for k in range(3):
        if order == 0 and a[k] != b[k]:
            order = 1 if a[k] > b[k] else -1
    return order


EPOCH = 1 << 6  # the heap is rebuilt when 1 / EPOCH of the tokens is gone


class Scoring(NamedTuple):
    """The pointers of a `ScoreTraining`."""

    arena: object
    postings: object
    buffer: object
    buffer_size: object
    records: object
    finder: object
    mask: object
    heap: object
    choices: object  # entries that Python compares exactly
    tokens: object
    symbols: object
    strings: object
    names: object  # a hash table of token ids by their strings
    names_mask: object
    counters: object
    settings: object


class Entry(NamedTuple):
    """A pair in the heap."""

    value: object
    tie: object
    record: object
    n: object
    high: object
    low: object


@inlined
def score_entry_at(t, at):
    """The entry at a place of the heap."""
    heap, row = t.heap, layout.ENTRY.width * at
    return Entry(
        heap[row + layout.ENTRY.score],
        heap[row + layout.ENTRY.tie],
        heap[row + layout.ENTRY.record],
        heap[row + layout.ENTRY.pairs],
        heap[row + layout.ENTRY.high],
        heap[row + layout.ENTRY.low],
    )


@inlined
def write_score_entry(t, at, e):
    """Write an entry to a place of the heap, and the place to its record."""
    heap, row = t.heap, layout.ENTRY.width * at
    heap[row + layout.ENTRY.score], heap[row + layout.ENTRY.tie], heap[row + layout.ENTRY.record] = (
        e.value,
        e.tie,
        e.record,
    )
    heap[row + layout.ENTRY.pairs], heap[row + layout.ENTRY.high], heap[row + layout.ENTRY.low] = e.n, e.high, e.low
    t.records[layout.RECORD.width * e.record + layout.RECORD.heap_at] = at


@helper
def tie_before(t, x, y):
    """Whether the first of two entries of equal score is merged before the second (B2)."""
    if t.settings[layout.TRAIN.tie] != layout.TIE_BYTES:
        return x.tie < y.tie
    order = string_order(t, x.tie >> 32, y.tie >> 32)
    if order == 0:
        order = string_order(t, x.tie & 0xFFFFFFFF, y.tie & 0xFFFFFFFF)
    return order < 0


@inlined
def same_counts(x, y):
    """Whether two entries have the same score because they have the same counts."""
    return x.n == y.n and x.high == y.high and x.low == y.low


@helper
def scores_before(t, x, y):
    """Whether the first entry comes before the second in the heap: by score, exactly for "course", and tie."""
    if x.value != y.value:
        near = t.settings[layout.TRAIN.score] == layout.COURSE and abs(x.value - y.value) <= ULPS
        if not near:
            return x.value > y.value
    if t.settings[layout.TRAIN.score] == layout.COURSE and not same_counts(x, y):
        order = compare_ratios(x.n, x.high, x.low, y.n, y.high, y.low)
        if order != 0:
            return order > 0
    return tie_before(t, x, y)


@helper
def put_entry(t, at, e):
    """Write an entry to the free place of the heap, or where it belongs above or below."""
    start, size = at, t.counters[layout.TALLY.heap_size]
    # Only one of the two loops moves the entry: after a step up, at != start.
    while at > 0 and scores_before(t, e, score_entry_at(t, (at - 1) >> 1)):
        write_score_entry(t, at, score_entry_at(t, (at - 1) >> 1))
        at = (at - 1) >> 1
    while at == start and 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and scores_before(t, score_entry_at(t, child + 1), score_entry_at(t, child)):
            child += 1
        if not scores_before(t, score_entry_at(t, child), e):
            break
        write_score_entry(t, at, score_entry_at(t, child))
        at = start = child
    write_score_entry(t, at, e)


@helper
def remove(t, record):
    """Remove a record from the heap, if it is there."""
    at = t.records[layout.RECORD.width * record + layout.RECORD.heap_at]
    if at != NOWHERE:
        t.records[layout.RECORD.width * record + layout.RECORD.heap_at] = NOWHERE
        t.counters[layout.TALLY.heap_size] -= 1
        if at < t.counters[layout.TALLY.heap_size]:
            # The last entry fills the gap. It comes from another branch, so it may have to move up or down.
            put_entry(t, at, score_entry_at(t, t.counters[layout.TALLY.heap_size]))


@helper
def first_position_in_word(t, record):
    """Where the pair first occurs now, in first symbols; drops the postings of words that lost it.

    Counted from the word's end, because a token that begins a word may have the string of a longer one that does not
    (B5).
    """
    row = layout.RECORD.width * record
    left, right = t.records[row + layout.RECORD.key] >> 32, t.records[row + layout.RECORD.key] & 0xFFFFFFFF
    while t.records[row + layout.RECORD.words] > 0:
        word = I64(t.postings[t.records[row + layout.RECORD.place]])
        start = word + layout.HEADER.width
        found, position = I64(-1), start + I64(t.arena[word + layout.HEADER.first_length])
        for k in range(start + I64(t.arena[word + layout.HEADER.length]) - 2, start - 1, -1):
            position -= t.tokens[layout.TOKEN.width * I64(t.arena[k + 1]) + layout.TOKEN.span]
            if t.arena[k] == left and t.arena[k + 1] == right:
                found = start if k == start else position - t.tokens[layout.TOKEN.width * left + layout.TOKEN.span]
        if found >= 0:
            return found
        t.records[row + layout.RECORD.place] += 1
        t.records[row + layout.RECORD.words] -= 1
    return I64(-1)


@inlined
def log_of(t, token, times):
    """The logarithm of `times` occurrences of a token; the stored one if these are all."""
    row = layout.SYMBOL.width * token
    return (
        np.int64(t.symbols[row + layout.SYMBOL.log_times]).view(np.float64)
        if times == t.symbols[row + layout.SYMBOL.times]
        else ln(times)
    )


@helper
def gain_at(t, e, total, ln_total):
    """The gain of an entry's pair with this many tokens in all."""
    return gain(e.n, e.high, e.low, total, ln(e.high), ln(e.low), ln_total)


@helper
def score(t, record, ln_total):
    """Add a record to the heap, move its entry, or remove it."""
    row = layout.RECORD.width * record
    key, n = t.records[row + layout.RECORD.key], t.records[row + layout.RECORD.count]
    left, right = key >> 32, key & 0xFFFFFFFF
    a, b = (
        t.symbols[layout.SYMBOL.width * left + layout.SYMBOL.times],
        t.symbols[layout.SYMBOL.width * right + layout.SYMBOL.times],
    )
    if t.settings[layout.TRAIN.score] == layout.LIKELIHOOD and left == right:
        n = t.symbols[layout.SYMBOL.width * left + layout.SYMBOL.doubles]
        b = a - n  # n occurrences are first halves; the others count as second halves
    if n < t.settings[layout.TRAIN.floor]:
        remove(t, record)
        return
    high, low, at = max(a, b), min(a, b), t.records[row + layout.RECORD.heap_at]
    if at != NOWHERE:
        e = score_entry_at(t, at)
        if e.n == n and e.high == high and e.low == low:
            return  # the first occurrence is the same, too
    if t.settings[layout.TRAIN.score] == layout.LIKELIHOOD:
        ln_a, ln_b = log_of(t, left, a), log_of(t, right, b)
        total = t.counters[layout.TALLY.total_before]
        x = gain(n, high, low, total, ln_a if a >= b else ln_b, ln_b if a >= b else ln_a, ln_total)
        value = sortable(x)
        # Cold even after the growth that is possible before it is scored again (see the module's docstring).
        if sortable(max(x, 0.0) + 0.5 * np.float64(n)) < t.counters[layout.TALLY.warm]:
            remove(t, record)
            return
    elif t.settings[layout.TRAIN.score] == layout.COURSE:
        value = sortable(np.float64(n) / (np.float64(high) * np.float64(low)))
    else:
        value = n
    tie = first_position_in_word(t, record) if t.settings[layout.TRAIN.tie] == layout.TIE_FIRST else key
    if at == NOWHERE:
        at = t.counters[layout.TALLY.heap_size]
        t.counters[layout.TALLY.heap_size] += 1
    put_entry(t, at, Entry(value, tie, record, n, high, low))


@helper
def score_token(t, token, ln_total, new):
    """Score the pairs of a token again, and unlink those below the threshold."""
    times, before = (
        t.symbols[layout.SYMBOL.width * token + layout.SYMBOL.times],
        t.symbols[layout.SYMBOL.width * token + layout.SYMBOL.times_before],
    )
    # Cold pairs, too, once a sixteenth of the occurrences is gone: the bound of `score` holds until then.
    every = new or t.counters[layout.TALLY.warm] == layout.ALL_IN_HEAP or times < before - (before >> 4)
    if every:
        t.symbols[layout.SYMBOL.width * token + layout.SYMBOL.times_before] = times
    for side in range(2):
        head, next_ = (
            (layout.SYMBOL.width * token + layout.SYMBOL.first_as_left, layout.RECORD.next_of_left)
            if side == 0
            else (layout.SYMBOL.width * token + layout.SYMBOL.first_as_right, layout.RECORD.next_of_right)
        )
        record, last = t.symbols[head], I64(NOWHERE)
        while record != NOWHERE:
            after = t.records[layout.RECORD.width * record + next_]
            prefetch(t.records, layout.RECORD.width * max(after, 0))
            if t.records[layout.RECORD.width * record + layout.RECORD.count] < t.settings[layout.TRAIN.threshold]:
                remove(t, record)
                if last == NOWHERE:
                    t.symbols[head] = after
                else:
                    t.records[layout.RECORD.width * last + next_] = after
            else:
                if every or t.records[layout.RECORD.width * record + layout.RECORD.heap_at] != NOWHERE:
                    score(t, record, ln_total)
                last = record
            record = after


@helper
def keep_log(t, token):
    """Store the logarithm of a token's count."""
    times = t.symbols[layout.SYMBOL.width * token + layout.SYMBOL.times]
    t.symbols[layout.SYMBOL.width * token + layout.SYMBOL.log_times] = np.float64(ln(times) if times > 0 else 0.0).view(
        np.int64
    )


@helper
def fill_heap(t):
    """Score all records with the current number of tokens."""
    t.counters[layout.TALLY.heap_size] = 0
    t.counters[layout.TALLY.total_before] = t.counters[layout.TALLY.total]
    ln_total = ln(t.counters[layout.TALLY.total])
    for token in range(t.counters[layout.TALLY.tokens]):
        keep_log(t, token)
        t.symbols[layout.SYMBOL.width * token + layout.SYMBOL.times_before] = t.symbols[
            layout.SYMBOL.width * token + layout.SYMBOL.times
        ]
    for record in range(t.counters[layout.TALLY.pairs_used]):
        t.records[layout.RECORD.width * record + layout.RECORD.heap_at] = NOWHERE
    for record in range(t.counters[layout.TALLY.pairs_used]):
        if t.records[layout.RECORD.width * record + layout.RECORD.count] >= t.settings[layout.TRAIN.threshold]:
            score(t, record, ln_total)


@helper
def cool(t):
    """Rebuild the heap from the pairs that gain at least 0.85 times the best known gain."""
    value = t.heap[layout.ENTRY.score] if t.counters[layout.TALLY.heap_size] > 0 else t.counters[layout.TALLY.warm]
    warm = 0.85 * np.int64(value).view(np.float64) if value > 0 else 0.0
    t.counters[layout.TALLY.warm] = sortable(warm) if warm > 1.0 else I64(layout.ALL_IN_HEAP)
    fill_heap(t)


# ---------------------------------------------------------------------------------------------------------------------
# The best pair of WordPiece training by likelihood: exact where floating point decides, a choice for Python where not.
#
# The heap has the scores at an earlier number of tokens, and scores fall with that number (heap.py).


@inlined
def next_place(at, size, below):
    """The next place of the heap in preorder, with or without the places below this one; -1 after the last."""
    if below and 2 * at + 1 < size:
        return 2 * at + 1
    while at > 0 and (at & 1 == 0 or at + 1 >= size):
        at = (at - 1) >> 1
    return at + 1 if at > 0 else I64(-1)


@helper
def best_gain(t):
    """The record that gains most, or -1 - status: EXHAUSTED, COLD, or UNDECIDED between the `choices`."""
    total, size = t.counters[layout.TALLY.total], t.counters[layout.TALLY.heap_size]
    ln_total, slack = ln(total), 2.0 * TOLERANCE * np.float64(total)
    best, most = score_entry_at(t, 0), gain_at(t, score_entry_at(t, 0), total, ln_total)
    rivals, at = 0, next_place(I64(0), size, True)
    # With fewer tokens every gain is lower than in the heap: an entry below `most` there is below it now.
    while at > 0:
        # If this entry cannot gain as much, none below it in the heap can: the walk skips them.
        below = t.heap[layout.ENTRY.width * at + layout.ENTRY.score] >= sortable(most - slack)
        if below:
            e = score_entry_at(t, at)
            if same_counts(e, best):
                if tie_before(t, e, best):
                    best = e
            else:
                now = gain_at(t, e, total, ln_total)
                if abs(now - most) <= slack:
                    rivals += 1
                if now > most:
                    best, most = e, now
        at = next_place(at, size, below)
    if sortable(most - slack) < t.counters[layout.TALLY.warm]:
        return I64(-1 - layout.COLD)
    m = t.settings[layout.TRAIN.threshold] - 1
    if m >= t.settings[layout.TRAIN.floor] and most - slack <= gain(m, m, m, total, ln(m), ln(m), ln_total):
        return I64(-1 - layout.EXHAUSTED)
    if rivals == 0:
        return best.record
    return choose(t, best, most, total, ln_total, slack)


@helper
def choose(t, best, most, total, ln_total, slack):
    """The best record, or -1 - UNDECIDED if floating point cannot separate it from the other `choices`."""
    t.counters[layout.TALLY.choices] = 0
    at = I64(0)
    while at >= 0:
        below = t.heap[layout.ENTRY.width * at + layout.ENTRY.score] >= sortable(most - slack)
        if below:
            e = score_entry_at(t, at)
            error = TOLERANCE * np.float64(e.n + best.n)
            if same_counts(e, best) or abs(gain_at(t, e, total, ln_total) - most) <= error:
                add_choice(t, at, e)
        at = next_place(at, t.counters[layout.TALLY.heap_size], below)
    return (
        score_entry_at(t, t.choices[0]).record if t.counters[layout.TALLY.choices] == 1 else I64(-1 - layout.UNDECIDED)
    )


@helper
def add_choice(t, at, e):
    """Add an entry to the choices; of entries with the same counts only the first by the tie rule."""
    for k in range(t.counters[layout.TALLY.choices]):
        other = score_entry_at(t, t.choices[k])
        if same_counts(e, other):
            if tie_before(t, e, other):
                t.choices[k] = at
            return
    t.choices[t.counters[layout.TALLY.choices]] = at
    t.counters[layout.TALLY.choices] += 1
