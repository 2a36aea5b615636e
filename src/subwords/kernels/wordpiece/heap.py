"""The heap of WordPiece training (P1, P2): pairs by their scores, and which pair is the best.

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
from subwords.kernels.bpe.pair_heap import string_order
from subwords.kernels.jit import I64, helper, inlined, prefetch
from subwords.kernels.wordpiece.gain import ULPS, compare_ratios, gain
from subwords.kernels.wordpiece.index import NOWHERE

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
def entry_at(t, at):
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
def write_entry(t, at, e):
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
def before(t, x, y):
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
def put(t, at, e):
    """Write an entry to the free place of the heap, or where it belongs above or below."""
    start, size = at, t.counters[layout.TALLY.heap_size]
    # Only one of the two loops moves the entry: after a step up, at != start.
    while at > 0 and before(t, e, entry_at(t, (at - 1) >> 1)):
        write_entry(t, at, entry_at(t, (at - 1) >> 1))
        at = (at - 1) >> 1
    while at == start and 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before(t, entry_at(t, child + 1), entry_at(t, child)):
            child += 1
        if not before(t, entry_at(t, child), e):
            break
        write_entry(t, at, entry_at(t, child))
        at = start = child
    write_entry(t, at, e)


@helper
def remove(t, record):
    """Remove a record from the heap, if it is there."""
    at = t.records[layout.RECORD.width * record + layout.RECORD.heap_at]
    if at != NOWHERE:
        t.records[layout.RECORD.width * record + layout.RECORD.heap_at] = NOWHERE
        t.counters[layout.TALLY.heap_size] -= 1
        if at < t.counters[layout.TALLY.heap_size]:
            # The last entry fills the gap. It comes from another branch, so it may have to move up or down.
            put(t, at, entry_at(t, t.counters[layout.TALLY.heap_size]))


@helper
def first_position(t, record):
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
        e = entry_at(t, at)
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
    tie = first_position(t, record) if t.settings[layout.TRAIN.tie] == layout.TIE_FIRST else key
    if at == NOWHERE:
        at = t.counters[layout.TALLY.heap_size]
        t.counters[layout.TALLY.heap_size] += 1
    put(t, at, Entry(value, tie, record, n, high, low))


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
