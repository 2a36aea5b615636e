"""WordPiece training by scores: the loop that merges (P1, P2, B4, B5).

The layout of words and records and of the heap is in heap.py.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.arithmetic import ln
from subwords.kernels.bpe.index import may_merge
from subwords.kernels.bpe.pairs import string_length
from subwords.kernels.bpe.train import join_strings
from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import ScoreTraining
from subwords.kernels.wordpiece.heap import (
    EPOCH,
    NOWHERE,
    Scoring,
    add_record,
    best_gain,
    cool,
    fill_heap,
    keep_log,
    merge_arena_word,
    record_slot,
    score_entry_at,
    score_token,
    weight_at,
)


@helper
def best_pair(t):
    """The record to merge next, or -1 - status."""
    if t.counters[layout.TALLY.chosen] != NOWHERE:
        chosen = t.counters[layout.TALLY.chosen]
        t.counters[layout.TALLY.chosen] = NOWHERE
        return chosen
    if t.settings[layout.TRAIN.score] != layout.LIKELIHOOD:
        return score_entry_at(t, 0).record if t.counters[layout.TALLY.heap_size] > 0 else I64(-1 - layout.EXHAUSTED)
    # Gains in the heap are those at TALLY.total_before: the older they are, the more entries `best_gain` looks at.
    if (
        t.counters[layout.TALLY.total_before] - t.counters[layout.TALLY.total]
        > t.counters[layout.TALLY.total_before] // EPOCH
    ):
        cool(t)
    found = best_gain(t) if t.counters[layout.TALLY.heap_size] > 0 else I64(-1 - layout.COLD)
    while found == -1 - layout.COLD:
        # COLD: a pair outside of the heap may gain as much as the best one inside.
        if t.counters[layout.TALLY.warm] == layout.ALL_IN_HEAP:
            return I64(-1 - layout.EXHAUSTED)
        cool(t)
        found = best_gain(t) if t.counters[layout.TALLY.heap_size] > 0 else I64(-1 - layout.COLD)
    return found


@helper
def name_slot(t, start, stop):
    """The slot of the token whose string is strings[start:stop], or the free slot for it."""
    strings = t.strings
    key = U64(stop - start)
    for k in range(start, stop):
        key = mix(key ^ U64(strings[k]), U64(0x9E3779B97F4A7C15)) + U64(k - start)
    slot = key & t.names_mask
    while t.names[I64(slot)] != NOWHERE:
        token = t.names[I64(slot)]
        at = t.tokens[layout.TOKEN.width * token + layout.TOKEN.string]
        if string_length(t, token) == stop - start:
            k = 0
            while k < stop - start and strings[at + k] == strings[start + k]:
                k += 1
            if k == stop - start:
                break
        slot = slot + U64(1) & t.names_mask
    return I64(slot)


@helper
def token_span(t, start, stop):
    """The number of characters of a token without its prefix; `strings` begins with the prefix."""
    strings, chars, prefix = t.strings, I64(0), t.settings[layout.TRAIN.prefix_bytes]
    inner = stop - start > prefix
    for k in range(start, stop):
        chars += I64(strings[k] >> 6 != 2)
        if inner and k - start < prefix and strings[k] != strings[k - start]:
            inner = False
    return chars - t.settings[layout.TRAIN.prefix_chars] if inner else chars


@helper
def name_piece(t, left, right):
    """The id of the merged token: a new one, or that of a token with the same string (B5)."""
    start, stop = I64(t.counters[layout.TALLY.strings_used]), join_strings(t, left, right)
    slot = name_slot(t, start, stop)
    if t.names[slot] != NOWHERE:
        return t.names[slot]
    merged = I64(t.counters[layout.TALLY.tokens])
    t.names[slot] = merged
    t.tokens[layout.TOKEN.width * merged + layout.TOKEN.span] = token_span(t, start, stop)
    t.tokens[layout.TOKEN.width * merged + layout.TOKEN.width + layout.TOKEN.string] = stop
    t.counters[layout.TALLY.strings_used] = stop
    t.counters[layout.TALLY.tokens] += 1
    return merged


@helper
def count_doubles(t, word, sign):
    """Add `sign` times how often a merge would join each token with itself in this word."""
    run, weight = 1, sign * I64(weight_at(t.arena, word))
    for k in range(
        word + layout.HEADER.width + 1, word + layout.HEADER.width + I64(t.arena[word + layout.HEADER.length])
    ):
        run = run + 1 if t.arena[k] == t.arena[k - 1] else 1
        # A run of k equal tokens merges k // 2 times: every second token ends a merge.
        if run & 1 == 0:
            t.symbols[layout.SYMBOL.width * I64(t.arena[k]) + layout.SYMBOL.doubles] += weight


@helper
def rewrite(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word and update the tokens' counts; the new numbers of buffer entries."""
    n, doubles = I64(t.arena[word + layout.HEADER.length]), t.settings[layout.TRAIN.score] == layout.LIKELIHOOD
    if doubles:
        count_doubles(t, word, -1)
    lefts, rights = merge_arena_word(t, word, left, right, merged, lefts, rights)
    if doubles:
        count_doubles(t, word, 1)
    # Each merge makes the word one token shorter. If left == right, the token loses two for each merge.
    joined = (n - I64(t.arena[word + layout.HEADER.length])) * I64(weight_at(t.arena, word))
    t.symbols[layout.SYMBOL.width * left + layout.SYMBOL.times] -= joined
    t.symbols[layout.SYMBOL.width * right + layout.SYMBOL.times] -= joined
    t.symbols[layout.SYMBOL.width * merged + layout.SYMBOL.times] += joined
    t.counters[layout.TALLY.total] -= joined
    return lefts, rights


@helper
def lower_record_count(t, left, right, weight):
    """Lower a pair's count, if it has a record."""
    record = t.finder[record_slot(t.finder, t.mask, left << 32 | right) + 1]
    if record != NOWHERE:
        t.records[layout.RECORD.width * record + layout.RECORD.count] -= weight


@helper
def open_record(t, left, right, side, neighbour):
    """Add a record of a new pair, with room for its postings, if it reaches the threshold."""
    row = layout.TOKEN.width * neighbour
    weight, record = t.tokens[row + side], I64(NOWHERE)
    if weight >= t.settings[layout.TRAIN.threshold] and may_merge(
        t.tokens, left, right, t.settings[layout.TRAIN.max_length]
    ):
        key, place = left << 32 | right, t.counters[layout.TALLY.postings_used]
        record = add_record(t.records, t.finder, t.mask, t.symbols, t.counters, key, weight, place)
        t.counters[layout.TALLY.postings_used] += t.tokens[row + layout.TOKEN.left_words + side]
    t.tokens[row + layout.TOKEN.last_left + side] = record


@helper
def move_record_counts(t, left, right, merged, side, filled):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings."""
    step = 1 if side == layout.TOKEN.left else -1
    start = 0 if side == layout.TOKEN.left else t.buffer_size - 1
    for k in range(filled):
        neighbour = I64(t.buffer[layout.BUFFER.width * (start + step * k) + layout.BUFFER.neighbour])
        row = layout.TOKEN.width * neighbour
        if t.tokens[row + layout.TOKEN.left_words + side] > 0:  # its first entry
            if side == layout.TOKEN.left:
                # Between two consecutive merged pairs, the pair (right, left) disappeared.
                lower_record_count(t, right if neighbour == merged else neighbour, left, t.tokens[row + side])
                open_record(t, neighbour, merged, side, neighbour)
            else:
                lower_record_count(t, right, neighbour, t.tokens[row + side])
                open_record(t, merged, neighbour, side, neighbour)
            t.tokens[row + layout.TOKEN.left_words + side] = 0
        record = t.tokens[row + layout.TOKEN.last_left + side]
        if record != NOWHERE:
            at = layout.RECORD.width * record
            t.postings[t.records[at + layout.RECORD.place] + t.records[at + layout.RECORD.words]] = t.buffer[
                layout.BUFFER.width * (start + step * k) + layout.BUFFER.in_word
            ]
            t.records[at + layout.RECORD.words] += 1
    for k in range(filled):
        row = layout.TOKEN.width * I64(t.buffer[layout.BUFFER.width * (start + step * k) + layout.BUFFER.neighbour])
        t.tokens[row + side] = 0
        t.tokens[row + layout.TOKEN.last_left + side] = NOWHERE


@helper
def merge_record(t, record):
    """Merge the pair of this record everywhere; False if the token existed before: then the index is invalid."""
    row, tokens = layout.RECORD.width * record, t.counters[layout.TALLY.tokens]
    left, right = t.records[row + layout.RECORD.key] >> 32, t.records[row + layout.RECORD.key] & 0xFFFFFFFF
    merged = name_piece(t, left, right)
    t.counters[layout.TALLY.merges] += 1
    place, lefts, rights = t.records[row + layout.RECORD.place], 0, 0
    for k in range(place, place + t.records[row + layout.RECORD.words]):
        lefts, rights = rewrite(t, I64(t.postings[k]), left, right, merged, lefts, rights)
    move_record_counts(t, left, right, merged, layout.TOKEN.left, lefts)
    move_record_counts(t, left, right, merged, layout.TOKEN.right, rights)
    t.records[row + layout.RECORD.count] = 0
    if merged < tokens:
        return False
    ln_total = ln(t.counters[layout.TALLY.total_before])
    for token in (left, right, merged):
        keep_log(t, token)
    score_token(t, merged, ln_total, True)
    score_token(t, left, ln_total, False)
    score_token(t, right, ln_total, False)
    return True


@inlined
def scoring_pointers(training):
    """The pointers of a training."""
    return Scoring(
        arena=pointer(training.arena),
        postings=pointer(training.postings),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // layout.BUFFER.width,
        records=pointer(training.records),
        finder=pointer(training.finder),
        mask=U64(len(training.finder) // layout.FIND_ROW - 1),
        heap=pointer(training.heap),
        choices=pointer(training.choices),
        tokens=pointer(training.tokens),
        symbols=pointer(training.symbols),
        strings=pointer(training.strings),
        names=pointer(training.names),
        names_mask=U64(len(training.names) - 1),
        counters=pointer(training.counters),
        settings=pointer(training.settings),
    )


@kernel
def enter_names(training: ScoreTraining) -> Int:
    """Enter the strings of all tokens in the table of names, and write their TOKEN.span."""
    t = scoring_pointers(training)
    for token in range(t.counters[layout.TALLY.tokens]):
        start, stop = (
            t.tokens[layout.TOKEN.width * token + layout.TOKEN.string],
            t.tokens[layout.TOKEN.width * token + layout.TOKEN.width + layout.TOKEN.string],
        )
        t.names[name_slot(t, start, stop)] = token
        t.tokens[layout.TOKEN.width * token + layout.TOKEN.span] = token_span(t, start, stop)
    return 0


@kernel
def start_scores(training: ScoreTraining) -> Int:
    """Score every record and fill the heap."""
    fill_heap(scoring_pointers(training))
    return 0


@kernel
def merge_scored(training: ScoreTraining) -> Int:
    """Merge best pairs until there are enough tokens: DONE, or why it stopped. Same result as `reference.wordpiece`.

    EXHAUSTED: no record can be the best pair. PAUSED: settings[TRAIN.pause] merges are done. UNDECIDED: Python sets
    counters[TALLY.chosen] to one of the `choices`. NEED_PAIRS, NEED_INDEX: the words must be read again. All can be
    resumed.
    """
    t = scoring_pointers(training)
    room = len(training.records) // layout.RECORD.width
    while t.counters[layout.TALLY.tokens] < t.settings[layout.TRAIN.vocab_size]:
        if t.counters[layout.TALLY.merges] >= t.settings[layout.TRAIN.pause]:
            return layout.PAUSED
        if (
            t.counters[layout.TALLY.pairs_used] + 2 * t.counters[layout.TALLY.tokens] + 2 > room
        ):  # a merge makes at most two pairs with each token
            return layout.NEED_PAIRS
        record = best_pair(t)
        if record < 0:
            return -1 - record
        key = t.records[layout.RECORD.width * record + layout.RECORD.key]
        left, right = key >> 32, key & 0xFFFFFFFF
        if t.counters[layout.TALLY.strings_used] + string_length(t, left) + string_length(t, right) > len(
            training.strings
        ):
            # Kept for the next call: Python may have made the choice.
            t.counters[layout.TALLY.chosen] = record
            return layout.NEED_STRINGS
        if not merge_record(t, record):
            return layout.NEED_INDEX
    return layout.DONE
