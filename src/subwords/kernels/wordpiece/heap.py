"""The heap of WordPiece training (P1, P2): pairs by their scores, and which one is the best.

Words and records are as in wordpiece_index.py. A merge of a and b changes the scores of the pairs with a or b in them
and of no others: the records of a token are chained, and each is moved in the heap at once, up or down. So no entry is
ever stale, but for the likelihood: its scores fall with the number of tokens, so the heap holds what they were at an
earlier number, and `best_gain` looks at every entry that could be the best one now.

Most pairs gain far less than the best one. For the likelihood they are kept out of the heap while none of their tokens
has lost a sixteenth of its occurrences: till then a gain of n merges grows by n / 2 at most. (With n it falls, or is
negative: it is convex in n, and 0 for none.) That halves the time.

Pruning, for the likelihood: a pair of n merges gains at most what n merges of tokens that occur nowhere else do. Pairs
counted less than `threshold` have no record while the best gain is above that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subwords.kernels.arithmetic import ln, sortable
from subwords.kernels.bpe.index import (
    BYTES,
    EXHAUSTED,
    EXTENT,
    FIRST,
    FLOOR,
    HEADER,
    HEAP,
    SPAN,
    THRESHOLD,
    TIE,
    TOKENS,
    USED,
)
from subwords.kernels.bpe.train import string_order
from subwords.kernels.jit import I64, helper, inlined, prefetch
from subwords.kernels.wordpiece.gain import (
    COURSE,
    LIKELIHOOD,
    TOLERANCE,
    ULPS,
    compare_ratios,
    gain,
)
from subwords.kernels.wordpiece.index import (
    AT,
    COUNT,
    DOUBLES,
    IN,
    KEY,
    LOG,
    NEXT_IN,
    NEXT_OUT,
    NOWHERE,
    NUMBER,
    OUT,
    PLACE,
    RECORD,
    SYMBOL,
    TIMES,
    TIMES_BEFORE,
)

UNDECIDED, NEED_INDEX = 5, 6  # statuses after those of bpe_index
# Fields of `state` and of `settings` after those of bpe_index: how many tokens there are, and were when the heap was
# made; the record Python has chosen, and how many it can choose from; what no pair outside the heap gains. The score,
# and the characters of the prefix.
TOTAL, TOTAL_BEFORE, CHOSEN, CHOICES, WARM = range(7, 12)
SCORE, CHARS = 8, 9
# Fields of a heap entry: the score as an integer of the same order, the tie, the record, and what the score is made of.
VALUE, TIED, OF, N, HIGH, LOW = range(6)
PLACES = 8
EPOCH = 1 << 6  # the heap is made anew when one in so many tokens is gone
LEAST = -0x7FFFFFFFFFFFFFFF  # of WARM, when every pair is in the heap
COLD = 7  # a status for best_gain's caller: pairs outside the heap may gain more


class Scoring(NamedTuple):
    """Everything the loop works on."""

    arena: object
    postings: object
    buffer: object  # uint32, two an entry: neighbour and word of a new pair
    buffer_size: object
    records: object
    table: object
    mask: object
    heap: object
    choices: object
    tokens: object
    symbols: object
    strings: object
    names: object  # int64, a table of ids by their strings
    names_mask: object
    state: object
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
    """The heap's entry at this place."""
    heap, row = t.heap, PLACES * at
    return Entry(heap[row + VALUE], heap[row + TIED], heap[row + OF], heap[row + N], heap[row + HIGH], heap[row + LOW])


@inlined
def write_entry(t, at, e):
    """Write an entry to this place of the heap, and the place to its record."""
    heap, row = t.heap, PLACES * at
    heap[row + VALUE], heap[row + TIED], heap[row + OF] = e.value, e.tie, e.record
    heap[row + N], heap[row + HIGH], heap[row + LOW] = e.n, e.high, e.low
    t.records[RECORD * e.record + AT] = at


@helper
def tie_before(t, x, y):
    """Whether the first of two entries of one score is to be merged before the second (B2)."""
    if t.settings[TIE] != BYTES:
        return x.tie < y.tie
    order = string_order(t, x.tie >> 32, y.tie >> 32)
    if order == 0:
        order = string_order(t, x.tie & 0xFFFFFFFF, y.tie & 0xFFFFFFFF)
    return order < 0


@inlined
def same_counts(x, y):
    """Whether two entries have the same score for a reason."""
    return x.n == y.n and x.high == y.high and x.low == y.low


@helper
def before(t, x, y):
    """Whether the first entry comes before the second in the heap: by score, exactly for "course", and tie."""
    if x.value != y.value:
        near = t.settings[SCORE] == COURSE and abs(x.value - y.value) <= ULPS
        if not near:
            return x.value > y.value
    if t.settings[SCORE] == COURSE and not same_counts(x, y):
        order = compare_ratios(x.n, x.high, x.low, y.n, y.high, y.low)
        if order != 0:
            return order > 0
    return tie_before(t, x, y)


@helper
def put(t, at, e):
    """Write an entry to the free place of the heap, or where it belongs above or below."""
    start, size = at, t.state[HEAP]
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
    """Take a record out of the heap, if it is there."""
    at = t.records[RECORD * record + AT]
    if at != NOWHERE:
        t.records[RECORD * record + AT] = NOWHERE
        t.state[HEAP] -= 1
        if at < t.state[HEAP]:
            put(t, at, entry_at(t, t.state[HEAP]))


@helper
def first_position(t, record):
    """Where the pair first occurs now, in initial symbols; postings that lost it are dropped.

    Counted from the word's end, because a token that begins a word may spell a longer one that does not (B5).
    """
    row = RECORD * record
    left, right = t.records[row + KEY] >> 32, t.records[row + KEY] & 0xFFFFFFFF
    while t.records[row + NUMBER] > 0:
        word = I64(t.postings[t.records[row + PLACE]])
        start = word + HEADER
        found, position = I64(-1), start + I64(t.arena[word + EXTENT])
        for k in range(start + I64(t.arena[word]) - 2, start - 1, -1):
            position -= t.tokens[8 * I64(t.arena[k + 1]) + SPAN]
            if t.arena[k] == left and t.arena[k + 1] == right:
                found = start if k == start else position - t.tokens[8 * left + SPAN]
        if found >= 0:
            return found
        t.records[row + PLACE] += 1
        t.records[row + NUMBER] -= 1
    return I64(-1)


@inlined
def log_of(t, token, times):
    """The logarithm of this many occurrences of a token, from where it is kept if they are all it has."""
    row = SYMBOL * token
    return np.int64(t.symbols[row + LOG]).view(np.float64) if times == t.symbols[row + TIMES] else ln(times)


@helper
def gain_at(t, e, total, ln_total):
    """The gain of an entry's pair with this many tokens in all."""
    return gain(e.n, e.high, e.low, total, ln(e.high), ln(e.low), ln_total)


@helper
def score(t, record, ln_total):
    """Enter a record in the heap, move it to where it now belongs, or take it out."""
    row = RECORD * record
    key, n = t.records[row + KEY], t.records[row + COUNT]
    left, right = key >> 32, key & 0xFFFFFFFF
    a, b = t.symbols[SYMBOL * left + TIMES], t.symbols[SYMBOL * right + TIMES]
    if t.settings[SCORE] == LIKELIHOOD and left == right:
        n = t.symbols[SYMBOL * left + DOUBLES]
        b = a - n  # what is left of the first halves are the second ones
    if n < t.settings[FLOOR]:
        remove(t, record)
        return
    high, low, at = max(a, b), min(a, b), t.records[row + AT]
    if at != NOWHERE:
        e = entry_at(t, at)
        if e.n == n and e.high == high and e.low == low:
            return  # nor can the pair have lost its first occurrence
    if t.settings[SCORE] == LIKELIHOOD:
        ln_a, ln_b = log_of(t, left, a), log_of(t, right, b)
        total = t.state[TOTAL_BEFORE]
        x = gain(n, high, low, total, ln_a if a >= b else ln_b, ln_b if a >= b else ln_a, ln_total)
        value = sortable(x)
        if sortable(max(x, 0.0) + 0.5 * np.float64(n)) < t.state[WARM]:
            remove(t, record)
            return
    elif t.settings[SCORE] == COURSE:
        value = sortable(np.float64(n) / (np.float64(high) * np.float64(low)))
    else:
        value = n
    tie = first_position(t, record) if t.settings[TIE] == FIRST else key
    if at == NOWHERE:
        at = t.state[HEAP]
        t.state[HEAP] += 1
    put(t, at, Entry(value, tie, record, n, high, low))


@helper
def score_token(t, token, ln_total, new):
    """Score the pairs of a token anew, all of a new token's, and forget those that are gone."""
    times, before = t.symbols[SYMBOL * token + TIMES], t.symbols[SYMBOL * token + TIMES_BEFORE]
    every = new or t.state[WARM] == LEAST or times < before - (before >> 4)
    if every:
        t.symbols[SYMBOL * token + TIMES_BEFORE] = times
    for side in range(2):
        head, next_ = (SYMBOL * token + OUT, NEXT_OUT) if side == 0 else (SYMBOL * token + IN, NEXT_IN)
        record, last = t.symbols[head], I64(NOWHERE)
        while record != NOWHERE:
            after = t.records[RECORD * record + next_]
            prefetch(t.records, RECORD * max(after, 0))
            if t.records[RECORD * record + COUNT] < t.settings[THRESHOLD]:
                remove(t, record)
                if last == NOWHERE:
                    t.symbols[head] = after
                else:
                    t.records[RECORD * last + next_] = after
            else:
                if every or t.records[RECORD * record + AT] != NOWHERE:
                    score(t, record, ln_total)
                last = record
            record = after


@helper
def keep_log(t, token):
    """Keep the logarithm of a token's count."""
    times = t.symbols[SYMBOL * token + TIMES]
    t.symbols[SYMBOL * token + LOG] = np.float64(ln(times) if times > 0 else 0.0).view(np.int64)


@helper
def fill_heap(t):
    """Score all records with the present number of tokens."""
    t.state[HEAP] = 0
    t.state[TOTAL_BEFORE] = t.state[TOTAL]
    ln_total = ln(t.state[TOTAL])
    for token in range(t.state[TOKENS]):
        keep_log(t, token)
        t.symbols[SYMBOL * token + TIMES_BEFORE] = t.symbols[SYMBOL * token + TIMES]
    for record in range(t.state[USED]):
        t.records[RECORD * record + AT] = NOWHERE
    for record in range(t.state[USED]):
        if t.records[RECORD * record + COUNT] >= t.settings[THRESHOLD]:
            score(t, record, ln_total)


@helper
def cool(t):
    """Make the heap of the pairs that gain 0.85 times the best one, or what is known of it, or more."""
    value = t.heap[VALUE] if t.state[HEAP] > 0 else t.state[WARM]
    warm = 0.85 * np.int64(value).view(np.float64) if value > 0 else 0.0
    t.state[WARM] = sortable(warm) if warm > 1.0 else I64(LEAST)
    fill_heap(t)


@inlined
def next_place(at, size, below):
    """The next place of the heap, top down, left to right, with those below this one or without; -1 after the last."""
    if below and 2 * at + 1 < size:
        return 2 * at + 1
    while at > 0 and (at & 1 == 0 or at + 1 >= size):
        at = (at - 1) >> 1
    return at + 1 if at > 0 else I64(-1)


@helper
def best_gain(t):
    """The record that gains most, or -1 - why it is not known: EXHAUSTED, COLD, or UNDECIDED between the `choices`."""
    total, size = t.state[TOTAL], t.state[HEAP]
    ln_total, slack = ln(total), 2.0 * TOLERANCE * np.float64(total)
    best, most = entry_at(t, 0), gain_at(t, entry_at(t, 0), total, ln_total)
    rivals, at = 0, next_place(I64(0), size, True)
    # With fewer tokens every gain is lower than the heap has it: an entry below `most` there is below it now.
    while at > 0:
        below = t.heap[PLACES * at + VALUE] >= sortable(most - slack)
        if below:
            e = entry_at(t, at)
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
    if sortable(most - slack) < t.state[WARM]:
        return I64(-1 - COLD)
    m = t.settings[THRESHOLD] - 1
    if m >= t.settings[FLOOR] and most - slack <= gain(m, m, m, total, ln(m), ln(m), ln_total):
        return I64(-1 - EXHAUSTED)
    if rivals == 0:
        return best.record
    return choose(t, best, most, total, ln_total, slack)


@helper
def choose(t, best, most, total, ln_total, slack):
    """The best record, or -1 - UNDECIDED where another gain is as great as far as can be seen; see `choices`."""
    t.state[CHOICES] = 0
    at = I64(0)
    while at >= 0:
        below = t.heap[PLACES * at + VALUE] >= sortable(most - slack)
        if below:
            e = entry_at(t, at)
            error = TOLERANCE * np.float64(e.n + best.n)
            if same_counts(e, best) or abs(gain_at(t, e, total, ln_total) - most) <= error:
                add_choice(t, at, e)
        at = next_place(at, t.state[HEAP], below)
    return entry_at(t, t.choices[0]).record if t.state[CHOICES] == 1 else I64(-1 - UNDECIDED)


@helper
def add_choice(t, at, e):
    """Note an entry, or the one with the same counts that comes first by the tie rule."""
    for k in range(t.state[CHOICES]):
        other = entry_at(t, t.choices[k])
        if same_counts(e, other):
            if tie_before(t, e, other):
                t.choices[k] = at
            return
    t.choices[t.state[CHOICES]] = at
    t.state[CHOICES] += 1
