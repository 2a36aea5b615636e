"""Parity-aware BPE training (B11): several languages, each with its own words and pairs, and one list of merges.

Each language is a *region*: its words, pairs, postings and heap as in train.py, one region after the other in each
array. Regions for measuring hold other words of the languages. All pairs of a region are live (the threshold is 1),
because any of them may be the best pair of another region.
"""

from __future__ import annotations

from subwords.kernels.bpe.index import FREE, HALF, LOW, ZERO, kinds_of, pair_slot, run_at
from subwords.kernels.bpe.pair_heap import Training, string_length
from subwords.kernels.bpe.train import best, merge_places, name_token, settle
from subwords.kernels.jit import F64, I64, U64, Int, advance, helper, inlined, kernel, pointer
from subwords.kernels.layout import DONE, EXHAUSTED, NEED_PAIRS, NEED_STRINGS, PAUSED
from subwords.kernels.train_layout import (
    BUFFER_ROW,
    COUNT_BITS,
    COUNT_HIGH,
    COUNT_LOW,
    FLOOR,
    HEAP_AT_OF,
    HEAP_ROOM_OF,
    HEAP_ROW,
    HEAP_SIZE,
    LANGUAGES,
    LEFT,
    MEASURED_FROM,
    MERGE_LEFT,
    MERGE_RIGHT,
    MERGE_ROW,
    MERGED,
    MERGES,
    MOST_PICKS,
    NEEDED_PAIRS,
    NEEDING,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_PLACE,
    PAIR_ROW,
    PAIR_WORDS,
    PAIRS_AT_OF,
    PAIRS_OF,
    PAIRS_USED,
    PAUSE,
    POSTINGS_AT_OF,
    REGION_ROW,
    REGIONS,
    RIGHT,
    RULED,
    RUNS_AT_OF,
    RUNS_OF,
    SPAN,
    STRINGS_USED,
    SYMBOLS_AT_OF,
    TOKEN_ROW,
    TOKENS,
    TRAIN_COUNTERS,
    VOCAB_SIZE,
    WINDOW,
    ParityTraining,
)


@inlined
def region(training, k):
    """The pointers of a region."""
    row = k * REGION_ROW
    at = pointer(training.regions)
    return Training(
        symbols=advance(pointer(training.symbols), at[row + SYMBOLS_AT_OF]),
        starts=advance(pointer(training.starts), at[row + RUNS_AT_OF] + k),  # each region has one start more than runs
        weights=advance(pointer(training.weights), at[row + RUNS_AT_OF]),
        runs=at[row + RUNS_OF],
        pairs=advance(pointer(training.pairs), at[row + PAIRS_AT_OF] * PAIR_ROW),
        mask=U64(at[row + PAIRS_OF] - 1),
        postings=advance(pointer(training.postings), at[row + POSTINGS_AT_OF]),
        heap=advance(pointer(training.heap), at[row + HEAP_AT_OF] * HEAP_ROW),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // BUFFER_ROW,
        touched=pointer(training.touched),
        most_touched=len(training.touched),
        tokens=pointer(training.tokens),
        strings=pointer(training.strings),
        merges=pointer(training.merges),
        lengths=pointer(training.rules.lengths),
        classes=pointer(training.rules.classes),
        joined=pointer(training.rules.joined),
        taken=pointer(training.rules.taken),
        kinds=kinds_of(training.rules),
        takens=0,
        counters=advance(pointer(training.counters), k * TRAIN_COUNTERS),
        settings=pointer(training.settings),
    )


@helper
def worst(training, windowed):
    """The language of the greatest cost that has pairs left, and in the window may be chosen; -1 if none."""
    choice, sizes = pointer(training.choice), pointer(training.sizes)
    scales, recent = pointer(training.scales), pointer(training.recent)
    found, most = I64(-1), F64(0.0)
    for k in range(choice[LANGUAGES]):
        if recent[2 * k + 1] != 0 or (windowed and recent[2 * k] >= choice[MOST_PICKS]):
            continue
        cost = F64(sizes[choice[MEASURED_FROM] + k]) * scales[k]
        if found < 0 or cost > most:
            found, most = I64(k), cost
    return found


@helper
def merged_away(t, at, left, right):
    """How many symbols fewer the words of a region have after this merge."""
    if left != right:
        return I64(t.pairs[at + PAIR_COUNT])
    span, free, run, found = t.tokens[TOKEN_ROW * left + SPAN], I64(0), I64(0), I64(0)
    first = I64(t.pairs[at + PAIR_PLACE])
    for k in range(first, first + I64(t.pairs[at + PAIR_WORDS])):
        place = I64(t.postings[k])
        if place >= free and t.symbols[place] == left and t.symbols[place + span] == right:
            run = run_at(t.starts, t.runs, run, place)
            found += I64(t.weights[run])
            free = place + 2 * span
    return found


@helper
def entry_of(t, key):
    """The entry of a pair that a region has, or -1."""
    at = pair_slot(t.pairs, t.mask, key)
    return at if t.pairs[at + PAIR_KEY] != FREE and t.pairs[at + PAIR_COUNT] != ZERO else -1


@helper
def full_region(training, key):
    """The first region without room for the new pairs of this merge, or -1."""
    for k in range(pointer(training.choice)[REGIONS]):
        t = region(training, k)
        at = entry_of(t, key)
        if at >= 0:
            most = 2 * I64(t.pairs[at + PAIR_WORDS]) + 2  # a place makes at most two pairs
            pointer(training.choice)[NEEDED_PAIRS] = most
            if t.counters[PAIRS_USED] + most > pointer(training.regions)[k * REGION_ROW + PAIRS_OF] // 2:
                return k
            if t.counters[HEAP_SIZE] + most > pointer(training.regions)[k * REGION_ROW + HEAP_ROOM_OF]:
                return k
    return -1


@helper
def merge_everywhere(training, key, count, language):
    """Merge a pair in all regions."""
    first, left, right = region(training, 0), I64(key >> HALF), I64(key & LOW)
    sizes = pointer(training.sizes)
    merged, number = name_token(first, left, right), I64(first.counters[MERGES])
    row = MERGE_ROW * number
    first.merges[row + MERGE_LEFT], first.merges[row + MERGE_RIGHT], first.merges[row + MERGED] = left, right, merged
    first.merges[row + COUNT_LOW] = I64(count & U64((1 << COUNT_BITS) - 1))
    first.merges[row + COUNT_HIGH] = I64(count >> U64(COUNT_BITS))
    first.counters[MERGES] += 1
    pointer(training.picks)[number] = language
    if first.settings[RULED] != 0:
        first.lengths[merged] = first.lengths[left] + first.lengths[right]
        first.classes[merged] = first.joined[I64(first.classes[left]) * first.kinds + I64(first.classes[right])]
    for k in range(pointer(training.choice)[REGIONS]):
        t = region(training, k)
        at = entry_of(t, key)
        if at >= 0:
            sizes[k] -= merged_away(t, at, left, right)
            place, words = I64(t.pairs[at + PAIR_PLACE]), I64(t.pairs[at + PAIR_WORDS])
            lefts, touched_left, rights, touched_right = merge_places(t, place, words, left, right, merged)
            settle(t, left, right, merged, LEFT, lefts, touched_left)
            settle(t, left, right, merged, RIGHT, rights, touched_right)
            t.pairs[at + PAIR_COUNT] = ZERO


@helper
def remember(training, language):
    """Enter the language of the last merge into the window."""
    choice, recent, picks = pointer(training.choice), pointer(training.recent), pointer(training.picks)
    number = I64(region(training, 0).counters[MERGES]) - 1
    recent[2 * language] += 1
    if number >= choice[WINDOW]:
        recent[2 * picks[number - choice[WINDOW]]] -= 1


@kernel
def merge_in_parity(training: ParityTraining) -> Int:
    """Merge until there are enough tokens; the statuses are those of `merge_pairs`.

    NEED_PAIRS: choice[NEEDING] is the region. The same result as `reference.parity.train`.
    """
    choice, recent = pointer(training.choice), pointer(training.recent)
    first = region(training, 0)
    while first.counters[TOKENS] < first.settings[VOCAB_SIZE]:
        if first.counters[MERGES] >= first.settings[PAUSE]:
            return PAUSED
        language = worst(training, choice[WINDOW] > 0)
        if language < 0:
            language = worst(training, False)
        if language < 0:
            return EXHAUSTED
        t = region(training, language)
        at = best(t)
        if at < 0 or t.pairs[at + PAIR_COUNT] < U64(first.settings[FLOOR]):
            recent[2 * language + 1] = 1
            continue
        key, count = t.pairs[at + PAIR_KEY], t.pairs[at + PAIR_COUNT]
        left, right = I64(key >> HALF), I64(key & LOW)
        if first.counters[STRINGS_USED] + string_length(t, left) + string_length(t, right) > len(training.strings):
            return NEED_STRINGS
        needing = full_region(training, key)
        if needing >= 0:
            choice[NEEDING] = needing
            return NEED_PAIRS
        merge_everywhere(training, key, count, language)
        if choice[WINDOW] > 0:
            remember(training, language)
    return DONE
