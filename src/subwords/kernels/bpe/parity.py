"""Parity-aware BPE training (B11): several languages, each with its own words and pairs, and one list of merges.

Each language is a *region*: its words, pairs, postings and heap as in train.py, one region after the other in each
array. Regions for measuring hold other words of the languages. All pairs of a region are live (the threshold is 1),
because any of them may be the best pair of another region.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.index import FREE, kinds_of, pair_slot, run_at
from subwords.kernels.bpe.pairs import TrainingPointers, string_length
from subwords.kernels.bpe.train import best_entry, merge_places, move_pair_counts, name_token
from subwords.kernels.jit import F64, HALF, I64, LOW, U64, ZERO, Int, advance, helper, inlined, kernel, pointer
from subwords.kernels.layout import ParityTraining


@inlined
def region(training, k):
    """The pointers of a region."""
    row = k * layout.REGION.width
    at = pointer(training.regions)
    return TrainingPointers(
        symbols=advance(pointer(training.symbols), at[row + layout.REGION.symbols_at]),
        starts=advance(
            pointer(training.starts), at[row + layout.REGION.runs_at] + k
        ),  # each region has one start more than runs
        weights=advance(pointer(training.weights), at[row + layout.REGION.runs_at]),
        runs=at[row + layout.REGION.runs],
        pairs=advance(pointer(training.pairs), at[row + layout.REGION.pairs_at] * layout.PAIR.width),
        mask=U64(at[row + layout.REGION.pairs] - 1),
        postings=advance(pointer(training.postings), at[row + layout.REGION.postings_at]),
        heap=advance(pointer(training.heap), at[row + layout.REGION.heap_at] * layout.HEAP.width),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // layout.BUFFER.width,
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
        counters=advance(pointer(training.counters), k * layout.TALLY.width),
        settings=pointer(training.settings),
    )


@helper
def worst(training, windowed):
    """The language of the greatest cost that has pairs left, and in the window may be chosen; -1 if none."""
    choice, sizes = pointer(training.choice), pointer(training.sizes)
    scales, recent = pointer(training.scales), pointer(training.recent)
    found, most = I64(-1), F64(0.0)
    for k in range(choice[layout.CHOICE.languages]):
        if recent[2 * k + 1] != 0 or (windowed and recent[2 * k] >= choice[layout.CHOICE.most_picks]):
            continue
        cost = F64(sizes[choice[layout.CHOICE.measured_from] + k]) * scales[k]
        if found < 0 or cost > most:
            found, most = I64(k), cost
    return found


@helper
def merged_away(t, at, left, right):
    """How many symbols fewer the words of a region have after this merge."""
    if left != right:
        return I64(t.pairs[at + layout.PAIR.count])
    span, free, run, found = t.tokens[layout.TOKEN.width * left + layout.TOKEN.span], I64(0), I64(0), I64(0)
    first = I64(t.pairs[at + layout.PAIR.place])
    for k in range(first, first + I64(t.pairs[at + layout.PAIR.words])):
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
    return at if t.pairs[at + layout.PAIR.key] != FREE and t.pairs[at + layout.PAIR.count] != ZERO else -1


@helper
def full_region(training, key):
    """The first region without room for the new pairs of this merge, or -1."""
    for k in range(pointer(training.choice)[layout.CHOICE.regions]):
        t = region(training, k)
        at = entry_of(t, key)
        if at >= 0:
            most = 2 * I64(t.pairs[at + layout.PAIR.words]) + 2  # a place makes at most two pairs
            pointer(training.choice)[layout.CHOICE.needed_pairs] = most
            if (
                t.counters[layout.TALLY.pairs_used] + most
                > pointer(training.regions)[k * layout.REGION.width + layout.REGION.pairs] // 2
            ):
                return k
            if (
                t.counters[layout.TALLY.heap_size] + most
                > pointer(training.regions)[k * layout.REGION.width + layout.REGION.heap_room]
            ):
                return k
    return -1


@helper
def merge_everywhere(training, key, count, language):
    """Merge a pair in all regions."""
    first, left, right = region(training, 0), I64(key >> HALF), I64(key & LOW)
    sizes = pointer(training.sizes)
    merged, number = name_token(first, left, right), I64(first.counters[layout.TALLY.merges])
    row = layout.MERGE.width * number
    (
        first.merges[row + layout.MERGE.left],
        first.merges[row + layout.MERGE.right],
        first.merges[row + layout.MERGE.merged],
    ) = left, right, merged
    first.merges[row + layout.MERGE.count_low] = I64(count & U64((1 << layout.COUNT_BITS) - 1))
    first.merges[row + layout.MERGE.count_high] = I64(count >> U64(layout.COUNT_BITS))
    first.counters[layout.TALLY.merges] += 1
    pointer(training.picks)[number] = language
    if first.settings[layout.TRAIN.ruled] != 0:
        first.lengths[merged] = first.lengths[left] + first.lengths[right]
        first.classes[merged] = first.joined[I64(first.classes[left]) * first.kinds + I64(first.classes[right])]
    for k in range(pointer(training.choice)[layout.CHOICE.regions]):
        t = region(training, k)
        at = entry_of(t, key)
        if at >= 0:
            sizes[k] -= merged_away(t, at, left, right)
            place, words = I64(t.pairs[at + layout.PAIR.place]), I64(t.pairs[at + layout.PAIR.words])
            lefts, touched_left, rights, touched_right = merge_places(t, place, words, left, right, merged)
            move_pair_counts(t, left, right, merged, layout.TOKEN.left, lefts, touched_left)
            move_pair_counts(t, left, right, merged, layout.TOKEN.right, rights, touched_right)
            t.pairs[at + layout.PAIR.count] = ZERO


@helper
def remember(training, language):
    """Enter the language of the last merge into the window."""
    choice, recent, picks = pointer(training.choice), pointer(training.recent), pointer(training.picks)
    number = I64(region(training, 0).counters[layout.TALLY.merges]) - 1
    recent[2 * language] += 1
    if number >= choice[layout.CHOICE.window]:
        recent[2 * picks[number - choice[layout.CHOICE.window]]] -= 1


@kernel
def merge_in_parity(training: ParityTraining) -> Int:
    """Merge until there are enough tokens; the statuses are those of `merge_pairs`.

    NEED_PAIRS: choice[CHOICE.needing] is the region. The same result as `reference.parity.train`.
    """
    choice, recent = pointer(training.choice), pointer(training.recent)
    first = region(training, 0)
    while first.counters[layout.TALLY.tokens] < first.settings[layout.TRAIN.vocab_size]:
        if first.counters[layout.TALLY.merges] >= first.settings[layout.TRAIN.pause]:
            return layout.PAUSED
        language = worst(training, choice[layout.CHOICE.window] > 0)
        if language < 0:
            language = worst(training, False)
        if language < 0:
            return layout.EXHAUSTED
        t = region(training, language)
        at = best_entry(t)
        if at < 0 or t.pairs[at + layout.PAIR.count] < U64(first.settings[layout.TRAIN.floor]):
            recent[2 * language + 1] = 1
            continue
        key, count = t.pairs[at + layout.PAIR.key], t.pairs[at + layout.PAIR.count]
        left, right = I64(key >> HALF), I64(key & LOW)
        if first.counters[layout.TALLY.strings_used] + string_length(t, left) + string_length(t, right) > len(
            training.strings
        ):
            return layout.NEED_STRINGS
        needing = full_region(training, key)
        if needing >= 0:
            choice[layout.CHOICE.needing] = needing
            return layout.NEED_PAIRS
        merge_everywhere(training, key, count, language)
        if choice[layout.CHOICE.window] > 0:
            remember(training, language)
    return layout.DONE
