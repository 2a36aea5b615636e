"""WordPiece training by scores: the loop that merges (P1, P2, B4, B5).

The layout of words and records is in index.py, that of the heap in heap.py.
"""

from __future__ import annotations

from subwords.kernels.arithmetic import ln
from subwords.kernels.bpe.index import may_merge
from subwords.kernels.bpe.pair_heap import string_length
from subwords.kernels.bpe.train import join_strings
from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import COLD, DONE, EXHAUSTED, NEED_INDEX, NEED_PAIRS, NEED_STRINGS, PAUSED
from subwords.kernels.train_layout import (
    ALL_IN_HEAP,
    BUFFER_ROW,
    CHOSEN,
    DOUBLES,
    FIND_ROW,
    HEAP_SIZE,
    IN_WORD,
    LAST_LEFT,
    LEFT,
    LEFT_WORDS,
    LIKELIHOOD,
    MAX_LENGTH,
    MERGES,
    NEIGHBOUR,
    PAIRS_USED,
    PAUSE,
    POSTINGS_USED,
    PREFIX_BYTES,
    PREFIX_CHARS,
    RECORD_COUNT,
    RECORD_KEY,
    RECORD_PLACE,
    RECORD_ROW,
    RECORD_WORDS,
    RIGHT,
    SCORE,
    SPAN,
    STRING,
    STRINGS_USED,
    SYMBOL_ROW,
    THRESHOLD,
    TIMES,
    TOKEN_ROW,
    TOKENS,
    TOTAL,
    TOTAL_BEFORE,
    VOCAB_SIZE,
    WARM,
    WORD_HEADER,
    WORD_LENGTH,
    ScoreTraining,
)
from subwords.kernels.wordpiece.best import best_gain
from subwords.kernels.wordpiece.heap import EPOCH, Scoring, cool, entry_at, fill_heap, keep_log, score_token
from subwords.kernels.wordpiece.index import NOWHERE, add_record, record_slot
from subwords.kernels.wordpiece.words import merge_word, weight_at


@helper
def best_pair(t):
    """The record to merge next, or -1 - status."""
    if t.counters[CHOSEN] != NOWHERE:
        chosen = t.counters[CHOSEN]
        t.counters[CHOSEN] = NOWHERE
        return chosen
    if t.settings[SCORE] != LIKELIHOOD:
        return entry_at(t, 0).record if t.counters[HEAP_SIZE] > 0 else I64(-1 - EXHAUSTED)
    # Gains in the heap are those at TOTAL_BEFORE: the older they are, the more entries `best_gain` has to look at.
    if t.counters[TOTAL_BEFORE] - t.counters[TOTAL] > t.counters[TOTAL_BEFORE] // EPOCH:
        cool(t)
    found = best_gain(t) if t.counters[HEAP_SIZE] > 0 else I64(-1 - COLD)
    while found == -1 - COLD:
        # COLD: a pair outside of the heap may gain as much as the best one inside.
        if t.counters[WARM] == ALL_IN_HEAP:
            return I64(-1 - EXHAUSTED)
        cool(t)
        found = best_gain(t) if t.counters[HEAP_SIZE] > 0 else I64(-1 - COLD)
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
        at = t.tokens[TOKEN_ROW * token + STRING]
        if string_length(t, token) == stop - start:
            k = 0
            while k < stop - start and strings[at + k] == strings[start + k]:
                k += 1
            if k == stop - start:
                break
        slot = slot + U64(1) & t.names_mask
    return I64(slot)


@helper
def length_of(t, start, stop):
    """The number of characters of a token without its prefix; `strings` begins with the prefix."""
    strings, chars, prefix = t.strings, I64(0), t.settings[PREFIX_BYTES]
    inner = stop - start > prefix
    for k in range(start, stop):
        chars += I64(strings[k] >> 6 != 2)
        if inner and k - start < prefix and strings[k] != strings[k - start]:
            inner = False
    return chars - t.settings[PREFIX_CHARS] if inner else chars


@helper
def name_token(t, left, right):
    """The id of the merged token: a new one, or that of a token with the same string (B5)."""
    start, stop = I64(t.counters[STRINGS_USED]), join_strings(t, left, right)
    slot = name_slot(t, start, stop)
    if t.names[slot] != NOWHERE:
        return t.names[slot]
    merged = I64(t.counters[TOKENS])
    t.names[slot] = merged
    t.tokens[TOKEN_ROW * merged + SPAN] = length_of(t, start, stop)
    t.tokens[TOKEN_ROW * merged + TOKEN_ROW + STRING] = stop
    t.counters[STRINGS_USED] = stop
    t.counters[TOKENS] += 1
    return merged


@helper
def count_doubles(t, word, sign):
    """Add `sign` times how often a merge would join each token with itself in this word."""
    run, weight = 1, sign * I64(weight_at(t.arena, word))
    for k in range(word + WORD_HEADER + 1, word + WORD_HEADER + I64(t.arena[word + WORD_LENGTH])):
        run = run + 1 if t.arena[k] == t.arena[k - 1] else 1
        # A run of k equal tokens merges k // 2 times: every second token ends a merge.
        if run & 1 == 0:
            t.symbols[SYMBOL_ROW * I64(t.arena[k]) + DOUBLES] += weight


@helper
def rewrite(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word and update the tokens' counts; the new numbers of buffer entries."""
    n, doubles = I64(t.arena[word + WORD_LENGTH]), t.settings[SCORE] == LIKELIHOOD
    if doubles:
        count_doubles(t, word, -1)
    lefts, rights = merge_word(t, word, left, right, merged, lefts, rights)
    if doubles:
        count_doubles(t, word, 1)
    # Each merge makes the word one token shorter. If left == right, the token loses two for each merge.
    joined = (n - I64(t.arena[word + WORD_LENGTH])) * I64(weight_at(t.arena, word))
    t.symbols[SYMBOL_ROW * left + TIMES] -= joined
    t.symbols[SYMBOL_ROW * right + TIMES] -= joined
    t.symbols[SYMBOL_ROW * merged + TIMES] += joined
    t.counters[TOTAL] -= joined
    return lefts, rights


@helper
def take_count(t, left, right, weight):
    """Lower a pair's count, if it has a record."""
    record = t.finder[record_slot(t.finder, t.mask, left << 32 | right) + 1]
    if record != NOWHERE:
        t.records[RECORD_ROW * record + RECORD_COUNT] -= weight


@helper
def open_pair(t, left, right, side, neighbour):
    """Add a record of a new pair, with room for its postings, if it reaches the threshold."""
    row = TOKEN_ROW * neighbour
    weight, record = t.tokens[row + side], I64(NOWHERE)
    if weight >= t.settings[THRESHOLD] and may_merge(t.tokens, left, right, t.settings[MAX_LENGTH]):
        key, place = left << 32 | right, t.counters[POSTINGS_USED]
        record = add_record(t.records, t.finder, t.mask, t.symbols, t.counters, key, weight, place)
        t.counters[POSTINGS_USED] += t.tokens[row + LEFT_WORDS + side]
    t.tokens[row + LAST_LEFT + side] = record


@helper
def settle(t, left, right, merged, side, filled):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings."""
    step = 1 if side == LEFT else -1
    start = 0 if side == LEFT else t.buffer_size - 1
    for k in range(filled):
        neighbour = I64(t.buffer[BUFFER_ROW * (start + step * k) + NEIGHBOUR])
        row = TOKEN_ROW * neighbour
        if t.tokens[row + LEFT_WORDS + side] > 0:  # its first entry
            if side == LEFT:
                # Between two consecutive merged pairs, the pair (right, left) disappeared.
                take_count(t, right if neighbour == merged else neighbour, left, t.tokens[row + side])
                open_pair(t, neighbour, merged, side, neighbour)
            else:
                take_count(t, right, neighbour, t.tokens[row + side])
                open_pair(t, merged, neighbour, side, neighbour)
            t.tokens[row + LEFT_WORDS + side] = 0
        record = t.tokens[row + LAST_LEFT + side]
        if record != NOWHERE:
            at = RECORD_ROW * record
            t.postings[t.records[at + RECORD_PLACE] + t.records[at + RECORD_WORDS]] = t.buffer[
                BUFFER_ROW * (start + step * k) + IN_WORD
            ]
            t.records[at + RECORD_WORDS] += 1
    for k in range(filled):
        row = TOKEN_ROW * I64(t.buffer[BUFFER_ROW * (start + step * k) + NEIGHBOUR])
        t.tokens[row + side] = 0
        t.tokens[row + LAST_LEFT + side] = NOWHERE


@helper
def merge_pair(t, record):
    """Merge the pair of this record everywhere; False if the token existed before: then the index is invalid."""
    row, tokens = RECORD_ROW * record, t.counters[TOKENS]
    left, right = t.records[row + RECORD_KEY] >> 32, t.records[row + RECORD_KEY] & 0xFFFFFFFF
    merged = name_token(t, left, right)
    t.counters[MERGES] += 1
    place, lefts, rights = t.records[row + RECORD_PLACE], 0, 0
    for k in range(place, place + t.records[row + RECORD_WORDS]):
        lefts, rights = rewrite(t, I64(t.postings[k]), left, right, merged, lefts, rights)
    settle(t, left, right, merged, LEFT, lefts)
    settle(t, left, right, merged, RIGHT, rights)
    t.records[row + RECORD_COUNT] = 0
    if merged < tokens:
        return False
    ln_total = ln(t.counters[TOTAL_BEFORE])
    for token in (left, right, merged):
        keep_log(t, token)
    score_token(t, merged, ln_total, True)
    score_token(t, left, ln_total, False)
    score_token(t, right, ln_total, False)
    return True


@inlined
def opened(training):
    """The pointers of a training."""
    return Scoring(
        arena=pointer(training.arena),
        postings=pointer(training.postings),
        buffer=pointer(training.buffer),
        buffer_size=len(training.buffer) // BUFFER_ROW,
        records=pointer(training.records),
        finder=pointer(training.finder),
        mask=U64(len(training.finder) // FIND_ROW - 1),
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
    """Enter the strings of all tokens in the table of names, and write their SPAN."""
    t = opened(training)
    for token in range(t.counters[TOKENS]):
        start, stop = t.tokens[TOKEN_ROW * token + STRING], t.tokens[TOKEN_ROW * token + TOKEN_ROW + STRING]
        t.names[name_slot(t, start, stop)] = token
        t.tokens[TOKEN_ROW * token + SPAN] = length_of(t, start, stop)
    return 0


@kernel
def start_scores(training: ScoreTraining) -> Int:
    """Score every record and fill the heap."""
    fill_heap(opened(training))
    return 0


@kernel
def merge_scored(training: ScoreTraining) -> Int:
    """Merge best pairs until there are enough tokens: DONE, or why it stopped. Same result as `reference.wordpiece`.

    EXHAUSTED: no record can be the best pair. PAUSED: settings[PAUSE] merges are done. UNDECIDED: Python sets
    counters[CHOSEN] to one of the `choices`. NEED_PAIRS, NEED_INDEX: the words must be read again. All can be resumed.
    """
    t = opened(training)
    room = len(training.records) // RECORD_ROW
    while t.counters[TOKENS] < t.settings[VOCAB_SIZE]:
        if t.counters[MERGES] >= t.settings[PAUSE]:
            return PAUSED
        if (
            t.counters[PAIRS_USED] + 2 * t.counters[TOKENS] + 2 > room
        ):  # a merge makes at most two pairs with each token
            return NEED_PAIRS
        record = best_pair(t)
        if record < 0:
            return -1 - record
        key = t.records[RECORD_ROW * record + RECORD_KEY]
        left, right = key >> 32, key & 0xFFFFFFFF
        if t.counters[STRINGS_USED] + string_length(t, left) + string_length(t, right) > len(training.strings):
            # Kept for the next call: Python may have made the choice.
            t.counters[CHOSEN] = record
            return NEED_STRINGS
        if not merge_pair(t, record):
            return NEED_INDEX
    return DONE
