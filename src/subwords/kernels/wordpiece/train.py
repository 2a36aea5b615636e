"""WordPiece training by scores (P1, P2, B4, B5): BPE's merges (bpe/train.py), with another choice of the pair.

The choice is a search through the table of pairs. `values` has a number for each entry that is not below its score, or
DEAD, `bounds` for each PAIR_BLOCK entries one that is not below their values: a search skips blocks and entries that
are below the best score so far. It replaces each value that it looks at by the score.

A merge of a and b changes the counts, and so the scores, of pairs with a or b, and of no others. The entries of a token
are linked by `links`, as left tokens and as right ones, and get new values. With fewer tokens in all, a likelihood
falls: its value stays a bound. BPE's heap is no heap here, but the list of the pairs that a merge makes.

Pruning, with the likelihood: pairs counted less than `threshold` have no value while the best gain is above the
`most_gain` of such a pair. Row: train_wordpiece, "likelihood": 3.3 s without it, 1.5 with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subwords.kernels import layout
from subwords.kernels.arithmetic import ln
from subwords.kernels.bpe.index import FREE, pair_slot, run_at
from subwords.kernels.bpe.pairs import bytes_before, entry_at, string_length
from subwords.kernels.bpe.train import merge_pair, tie_of, training_pointers
from subwords.kernels.jit import HALF, I64, LOW, U64, Int, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import I64s, MergeTraining, ScoreTraining, SymbolWords, U8s, U64s
from subwords.kernels.text.utf8 import decode_at

DEAD, LOWEST_SCORE = -1e300, -1e299  # a value below all scores; a bound of all scores from below


class Scoring(NamedTuple):
    """The pointers of a `ScoreTraining`."""

    values: object
    bounds: object
    blocks: object
    links: object  # of an entry: the next one with the same left token, and with the same right token
    symbols: object


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


# ---------------------------------------------------------------------------------------------------------------------
# Scores, and the order of two pairs (P1).
#
# Only additions, multiplications and divisions: the same bits on every machine, and no mathematical library to link.


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
    p = ((1 / 182 * r + 1 / 156) * r + 1 / 132) * r + 1 / 110
    p = ((p * r + 1 / 90) * r + 1 / 72) * r + 1 / 56
    p = (((p * r + 1 / 42) * r + 1 / 30) * r + 1 / 20) * r + 1 / 12
    return np.float64(n) * (r * ((p * r + 1 / 6) * r + 1 / 2) - 1.0)


@helper
def gain(n, high, low, total):
    """By how much n merges of tokens with these counts raise the log-likelihood of `total` tokens."""
    ln_high, ln_low, ln_total = ln(high), ln(low), ln(total)
    pointwise = ln(n) + ln_total - ln_high - ln_low
    return np.float64(n) * pointwise + thinned(n, high, ln_high) + thinned(n, low, ln_low) - thinned(n, total, ln_total)


@inlined
def most_gain(n, ln_total):
    """A bound of what n merges or fewer gain: as if the tokens occurred nowhere else, and `thinned` were -n."""
    return np.float64(n) * (1.0 + ln_total - ln(n))


@inlined
def product(x, y, z):
    """The product of three integers below 2**63, in three parts of 64 bits, the highest first."""
    a, b, c = U64(x), U64(y), U64(z)
    low = a * b
    high = mix(a, b) ^ low
    middle, carried = high * c, mix(low, c) ^ low * c
    top = mix(high, c) ^ middle
    return top + U64(middle + carried < middle), middle + carried, low * c


@helper
def counts_at(t, s, at):
    """The merges of a pair, and the counts of its tokens, the larger one first; 1 and 1 if the score is the count."""
    left, right = I64(t.pairs[at + layout.PAIR.key] >> HALF), I64(t.pairs[at + layout.PAIR.key] & LOW)
    n, score = I64(t.pairs[at + layout.PAIR.count]), t.settings[layout.TRAIN.score]
    if score == layout.COUNT:
        return n, I64(1), I64(1)
    a, b = (
        I64(s.symbols[layout.SYMBOL.width * left + layout.SYMBOL.times]),
        I64(s.symbols[layout.SYMBOL.width * right + layout.SYMBOL.times]),
    )
    if score == layout.LIKELIHOOD and left == right:
        n = I64(s.symbols[layout.SYMBOL.width * left + layout.SYMBOL.doubles])
        b = a - n  # n occurrences are first halves; the others count as second halves
    return n, max(a, b), min(a, b)


@helper
def score_order(t, s, x, y):
    """Above or below 0 as the pair of entry x comes before that of y or after it; 0 if floating point cannot say."""
    n, high, low = counts_at(t, s, x)
    m, upper, lower = counts_at(t, s, y)
    if n != m or high != upper or low != lower:
        if t.settings[layout.TRAIN.score] == layout.LIKELIHOOD:
            apart = s.values[x // layout.PAIR.width] - s.values[y // layout.PAIR.width]
            return 0 if abs(apart) <= layout.TOLERANCE * np.float64(n + m) else 1 if apart > 0.0 else -1
        a, b = product(n, upper, lower), product(m, high, low)
        for k in range(3):
            if a[k] != b[k]:
                return 1 if a[k] > b[k] else -1
    if t.settings[layout.TRAIN.tie] == layout.TIE_BYTES:
        return 1 if bytes_before(t, t.pairs[x + layout.PAIR.key], t.pairs[y + layout.PAIR.key]) else -1
    return 1 if tie_of(t, x) < tie_of(t, y) else -1


@helper
def best_scored(t, s):
    """The entry of the pair to merge next, or -1 - status: EXHAUSTED, or UNDECIDED between some of the best values."""
    likely, total = t.settings[layout.TRAIN.score] == layout.LIKELIHOOD, t.counters[layout.TALLY.total]
    best, least, undecided = I64(-1), LOWEST_SCORE, False
    for block in range(s.blocks):
        if s.bounds[block] < least:
            continue
        bound = DEAD
        for entry in range(block * layout.PAIR_BLOCK, (block + 1) * layout.PAIR_BLOCK):
            if s.values[entry] >= least:
                at = entry * layout.PAIR.width
                n, high, low = counts_at(t, s, at)
                if likely:
                    s.values[entry] = gain(n, high, low, total)
                order = I64(1) if best < 0 else score_order(t, s, at, best)
                undecided = undecided or order == 0
                if order > 0:
                    # What is below this is not the best pair for certain: floating point is not exact.
                    slack = 2.0 * layout.TOLERANCE * (np.float64(total) if likely else s.values[entry])
                    best, least = at, s.values[entry] - slack
            bound = max(bound, s.values[entry])
        s.bounds[block] = bound
    rare = t.settings[layout.TRAIN.threshold] - 1
    if best < 0 or (rare >= t.settings[layout.TRAIN.floor] and least <= most_gain(rare, ln(total))):
        return I64(-1 - layout.EXHAUSTED)
    return I64(-1 - layout.UNDECIDED) if undecided else best


# ---------------------------------------------------------------------------------------------------------------------
# Values, and merges.


@helper
def joins_at(t, at):
    """How often a merge of this pair would join two tokens: in a run of k equal tokens k // 2 times."""
    token = I64(t.pairs[at + layout.PAIR.key] >> HALF)
    if token != I64(t.pairs[at + layout.PAIR.key] & LOW):
        return I64(t.pairs[at + layout.PAIR.count])
    span, first = t.tokens[layout.TOKEN.width * token + layout.TOKEN.span], I64(t.pairs[at + layout.PAIR.place])
    joins, after, run = I64(0), I64(0), I64(0)
    for k in range(first, first + I64(t.pairs[at + layout.PAIR.words])):
        place = I64(t.postings[k])
        if place >= after and t.symbols[place] == token and t.symbols[place + span] == token:
            run, after = run_at(t.starts, t.runs, run, place), place + 2 * span
            joins += I64(t.weights[run])
    return joins


@helper
def value_pair(t, s, at, ln_total):
    """Set the value of an entry by its counts; whether they reach the threshold."""
    entry, token, score = (
        at // layout.PAIR.width,
        I64(t.pairs[at + layout.PAIR.key] >> HALF),
        t.settings[layout.TRAIN.score],
    )
    if score == layout.LIKELIHOOD and token == I64(t.pairs[at + layout.PAIR.key] & LOW):
        s.symbols[layout.SYMBOL.width * token + layout.SYMBOL.doubles] = joins_at(t, at)
    n, high, low = counts_at(t, s, at)
    s.values[entry] = DEAD
    if n < t.settings[layout.TRAIN.threshold]:
        return False
    if score == layout.LIKELIHOOD:
        s.values[entry] = most_gain(n, ln_total)
    else:
        s.values[entry] = np.float64(n) / (np.float64(high) * np.float64(low))
    s.bounds[entry // layout.PAIR_BLOCK] = max(s.bounds[entry // layout.PAIR_BLOCK], s.values[entry])
    return True


@helper
def value_pairs(t, s, token, ln_total):
    """Set the values of a token's pairs, and unlink those below the threshold."""
    for side in range(2):
        head, last = layout.SYMBOL.width * token + layout.SYMBOL.first_as_left + side, I64(-1)
        at = I64(s.symbols[head])
        while at >= 0:
            after = I64(s.links[2 * (at // layout.PAIR.width) + side])
            if value_pair(t, s, at, ln_total):
                last = at
            elif last < 0:
                s.symbols[head] = after
            else:
                s.links[2 * (last // layout.PAIR.width) + side] = after
            at = after


@helper
def link_pair(t, s, at, ln_total):
    """Link a new pair with those of its tokens, and set its value."""
    key = t.pairs[at + layout.PAIR.key]
    for side in range(2):
        token = I64(key >> HALF) if side == 0 else I64(key & LOW)
        head = layout.SYMBOL.width * token + layout.SYMBOL.first_as_left + side
        s.links[2 * (at // layout.PAIR.width) + side], s.symbols[head] = s.symbols[head], at
    value_pair(t, s, at, ln_total)


@helper
def merge_scored_pair(t, s, at):
    """Merge the pair of this entry everywhere; values of the pairs that change, and of new ones."""
    left, right = I64(t.pairs[at + layout.PAIR.key] >> HALF), I64(t.pairs[at + layout.PAIR.key] & LOW)
    joins = joins_at(t, at)
    t.counters[layout.TALLY.heap_size] = 0
    merge_pair(t, at)
    merged = I64(t.merges[layout.MERGE.width * (t.counters[layout.TALLY.merges] - 1) + layout.MERGE.merged])
    s.symbols[layout.SYMBOL.width * left + layout.SYMBOL.times] -= joins
    s.symbols[layout.SYMBOL.width * right + layout.SYMBOL.times] -= joins
    s.symbols[layout.SYMBOL.width * merged + layout.SYMBOL.times] += joins
    t.counters[layout.TALLY.total] -= joins
    ln_total = ln(t.counters[layout.TALLY.total])
    value_pairs(t, s, left, ln_total)
    if left != right:
        value_pairs(t, s, right, ln_total)
    for k in range(t.counters[layout.TALLY.heap_size]):
        _, _, key = entry_at(t.heap, k)
        link_pair(t, s, pair_slot(t.pairs, t.mask, key), ln_total)


@inlined
def scoring_pointers(scores):
    """The pointers of scores."""
    return Scoring(
        values=pointer(scores.values),
        bounds=pointer(scores.bounds),
        blocks=len(scores.bounds),
        links=pointer(scores.links),
        symbols=pointer(scores.symbols),
    )


@kernel
def start_scores(training: MergeTraining, scores: ScoreTraining) -> Int:
    """Set the values of all pairs of the table, and link them."""
    t, s = training_pointers(training), scoring_pointers(scores)
    for block in range(s.blocks):
        s.bounds[block] = DEAD
    for entry in range(len(training.pairs) // layout.PAIR.width):
        s.values[entry] = DEAD
        if t.pairs[entry * layout.PAIR.width + layout.PAIR.key] != FREE:
            link_pair(t, s, entry * layout.PAIR.width, ln(t.counters[layout.TALLY.total]))
    t.counters[layout.TALLY.chosen] = layout.MISSING
    return 0


@kernel
def merge_scored(training: MergeTraining, scores: ScoreTraining) -> Int:
    """Merge best pairs until there are enough tokens: DONE, or why it stopped. Same result as `reference.wordpiece`.

    EXHAUSTED: no pair of the table can be the best. PAUSED: settings[TRAIN.pause] merges are done. UNDECIDED: Python
    sets counters[TALLY.chosen] to an entry. NEED_NAME: Python looks at the string of this entry, see `ScoreLoop`.
    NEED_...: can be resumed after growing.
    """
    t, s, room = training_pointers(training), scoring_pointers(scores), len(training.pairs) // layout.PAIR.width // 2
    while t.counters[layout.TALLY.tokens] < t.settings[layout.TRAIN.vocab_size]:
        if t.counters[layout.TALLY.merges] >= t.settings[layout.TRAIN.pause]:
            return layout.PAUSED
        if t.counters[layout.TALLY.chosen] == layout.MISSING:
            found = best_scored(t, s)
            if found < 0:
                return -1 - found
            t.counters[layout.TALLY.chosen] = found
            if t.settings[layout.TRAIN.spelled] != 0:
                return layout.NEED_NAME
        at = I64(t.counters[layout.TALLY.chosen])
        left, right = I64(t.pairs[at + layout.PAIR.key] >> HALF), I64(t.pairs[at + layout.PAIR.key] & LOW)
        # A merge makes at most two pairs with each token, and two at each place.
        most = 2 * min(t.counters[layout.TALLY.tokens], I64(t.pairs[at + layout.PAIR.words])) + 2
        t.counters[layout.TALLY.needed] = most
        if t.counters[layout.TALLY.pairs_used] + most > room:
            return layout.NEED_PAIRS
        if t.counters[layout.TALLY.strings_used] + string_length(t, left) + string_length(t, right) > len(
            training.strings
        ):
            return layout.NEED_STRINGS
        merge_scored_pair(t, s, at)
        t.counters[layout.TALLY.chosen] = layout.MISSING
    return layout.DONE


@kernel
def rewrite_words(words: SymbolWords, tokens: I64s, left: Int, right: Int, merged: Int, counters: I64s) -> Int:
    """Write each token to one place, and merge a pair; how often. counters[TALLY.arena_at]: the symbols now."""
    s, starts, weights, row = pointer(words.symbols), pointer(words.starts), pointer(words.weights), pointer(tokens)
    read, write, run, joins = 0, 0, 0, I64(0)
    while read < len(words.symbols):
        if read == I64(starts[run]):  # END after the last run
            starts[run] = write
            run += 1
        symbol = I64(s[read])
        if symbol == layout.END:
            read += 1
        else:
            read += row[layout.TOKEN.width * symbol + layout.TOKEN.span]
            if symbol == left and I64(s[read]) == right:
                read += row[layout.TOKEN.width * right + layout.TOKEN.span]
                symbol, joins = merged, joins + I64(weights[run - 1])
        s[write] = symbol
        write += 1
    pointer(counters)[layout.TALLY.arena_at] = write
    return joins
