"""WordPiece training by scores: the loop that merges (P1, P2, B4, B5).

Words, records and heap are as in wordpiece_index.py and wordpiece_heap.py.
"""

from __future__ import annotations

from subwords.kernels.arithmetic import ln
from subwords.kernels.bpe.index import (
    DONE,
    EXHAUSTED,
    HEADER,
    HEAP,
    LAST_LEFT,
    LEFT,
    LEFT_WORDS,
    LONGEST,
    MERGES,
    NEED_PAIRS,
    NEED_STRINGS,
    PAUSE,
    PAUSED,
    POSTINGS,
    PREFIX,
    RIGHT,
    SIZE,
    SPAN,
    STRING,
    STRINGS,
    THRESHOLD,
    TOKENS,
    USED,
    may_merge,
    weight_at,
)
from subwords.kernels.bpe.train import join_strings, merge_word, string_length
from subwords.kernels.jit import I64, U64, I64s, Int, Parts, U8s, U32s, helper, inlined, kernel, mix, pointer
from subwords.kernels.wordpiece.gain import LIKELIHOOD
from subwords.kernels.wordpiece.heap import (
    CHARS,
    CHOSEN,
    COLD,
    EPOCH,
    LEAST,
    NEED_INDEX,
    SCORE,
    TOTAL,
    TOTAL_BEFORE,
    WARM,
    Scoring,
    best_gain,
    cool,
    entry_at,
    fill_heap,
    keep_log,
    score_token,
)
from subwords.kernels.wordpiece.index import (
    COUNT,
    DOUBLES,
    NOWHERE,
    NUMBER,
    PLACE,
    RECORD,
    SYMBOL,
    TIMES,
    add_record,
    record_slot,
)


@helper
def best_pair(t):
    """The record to merge next, or -1 - why there is none (yet)."""
    if t.state[CHOSEN] != NOWHERE:
        chosen = t.state[CHOSEN]
        t.state[CHOSEN] = NOWHERE
        return chosen
    if t.settings[SCORE] != LIKELIHOOD:
        return entry_at(t, 0).record if t.state[HEAP] > 0 else I64(-1 - EXHAUSTED)
    if t.state[TOTAL_BEFORE] - t.state[TOTAL] > t.state[TOTAL_BEFORE] // EPOCH:
        cool(t)
    found = best_gain(t) if t.state[HEAP] > 0 else I64(-1 - COLD)
    while found == -1 - COLD:
        if t.state[WARM] == LEAST:
            return I64(-1 - EXHAUSTED)
        cool(t)
        found = best_gain(t) if t.state[HEAP] > 0 else I64(-1 - COLD)
    return found


@helper
def name_slot(t, start, stop):
    """Where the table of names has these bytes of `strings`, or the free slot where they belong."""
    strings = t.strings
    key = U64(stop - start)
    for k in range(start, stop):
        key = mix(key ^ U64(strings[k]), U64(0x9E3779B97F4A7C15)) + U64(k - start)
    slot = key & t.names_mask
    while t.names[I64(slot)] != NOWHERE:
        token = t.names[I64(slot)]
        at = t.tokens[8 * token + STRING]
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
    """The characters of a token, without its prefix; the prefix is what `strings` begins with."""
    strings, chars, prefix = t.strings, I64(0), t.settings[PREFIX]
    inner = stop - start > prefix
    for k in range(start, stop):
        chars += I64(strings[k] >> 6 != 2)
        if inner and k - start < prefix and strings[k] != strings[k - start]:
            inner = False
    return chars - t.settings[CHARS] if inner else chars


@helper
def name_token(t, left, right):
    """The id of the merged token: a new one, or that of a token with the same string (B5)."""
    start, stop = I64(t.state[STRINGS]), join_strings(t, left, right)
    slot = name_slot(t, start, stop)
    if t.names[slot] != NOWHERE:
        return t.names[slot]
    merged = I64(t.state[TOKENS])
    t.names[slot] = merged
    t.tokens[8 * merged + SPAN] = length_of(t, start, stop)
    t.tokens[8 * merged + 8 + STRING] = stop
    t.state[STRINGS] = stop
    t.state[TOKENS] += 1
    return merged


@helper
def count_doubles(t, word, sign):
    """Add how often a merge would join each token with itself in this word, or take it away."""
    run, weight = 1, sign * I64(weight_at(t.arena, word))
    for k in range(word + HEADER + 1, word + HEADER + I64(t.arena[word])):
        run = run + 1 if t.arena[k] == t.arena[k - 1] else 1
        if run & 1 == 0:
            t.symbols[SYMBOL * I64(t.arena[k]) + DOUBLES] += weight


@helper
def rewrite(t, word, left, right, merged, lefts, rights):
    """Replace the pair in one word and keep the tokens' counts; the new fills of the buffers."""
    n, doubles = I64(t.arena[word]), t.settings[SCORE] == LIKELIHOOD
    if doubles:
        count_doubles(t, word, -1)
    lefts, rights = merge_word(t, word, left, right, merged, lefts, rights)
    if doubles:
        count_doubles(t, word, 1)
    joined = (n - I64(t.arena[word])) * I64(weight_at(t.arena, word))
    t.symbols[SYMBOL * left + TIMES] -= joined
    t.symbols[SYMBOL * right + TIMES] -= joined
    t.symbols[SYMBOL * merged + TIMES] += joined
    t.state[TOTAL] -= joined
    return lefts, rights


@helper
def take_count(t, left, right, weight):
    """Lower a pair's count, if it has a record."""
    record = t.table[record_slot(t.table, t.mask, left << 32 | right) + 1]
    if record != NOWHERE:
        t.records[RECORD * record + COUNT] -= weight


@helper
def open_pair(t, left, right, side, neighbour):
    """Make a record of a new pair if it is live, with room for its postings."""
    row = 8 * neighbour
    weight, record = t.tokens[row + side], I64(NOWHERE)
    if weight >= t.settings[THRESHOLD] and may_merge(t.tokens, left, right, t.settings[LONGEST]):
        key, place = left << 32 | right, t.state[POSTINGS]
        record = add_record(t.records, t.table, t.mask, t.symbols, t.state, key, weight, place)
        t.state[POSTINGS] += t.tokens[row + LEFT_WORDS + side]
    t.tokens[row + LAST_LEFT + side] = record


@helper
def settle(t, left, right, merged, side, filled):
    """Move the counts of one side's old pairs to the new ones, and give the live ones their postings."""
    step = 1 if side == LEFT else -1
    start = 0 if side == LEFT else t.buffer_size - 1
    for k in range(filled):
        neighbour = I64(t.buffer[2 * (start + step * k)])
        row = 8 * neighbour
        if t.tokens[row + LEFT_WORDS + side] > 0:  # its first mention
            if side == LEFT:
                # Between two merged pairs in a row it was the pair (right, left) that went.
                take_count(t, right if neighbour == merged else neighbour, left, t.tokens[row + side])
                open_pair(t, neighbour, merged, side, neighbour)
            else:
                take_count(t, right, neighbour, t.tokens[row + side])
                open_pair(t, merged, neighbour, side, neighbour)
            t.tokens[row + LEFT_WORDS + side] = 0
        record = t.tokens[row + LAST_LEFT + side]
        if record != NOWHERE:
            at = RECORD * record
            t.postings[t.records[at + PLACE] + t.records[at + NUMBER]] = t.buffer[2 * (start + step * k) + 1]
            t.records[at + NUMBER] += 1
    for k in range(filled):
        row = 8 * I64(t.buffer[2 * (start + step * k)])
        t.tokens[row + side] = 0
        t.tokens[row + LAST_LEFT + side] = NOWHERE


@helper
def merge_pair(t, record):
    """Merge the pair of this record everywhere; False where the token was there before, and nothing is settled."""
    row, tokens = RECORD * record, t.state[TOKENS]
    left, right = t.records[row] >> 32, t.records[row] & 0xFFFFFFFF
    merged = name_token(t, left, right)
    t.state[MERGES] += 1
    place, lefts, rights = t.records[row + PLACE], 0, 0
    for k in range(place, place + t.records[row + NUMBER]):
        lefts, rights = rewrite(t, I64(t.postings[k]), left, right, merged, lefts, rights)
    settle(t, left, right, merged, LEFT, lefts)
    settle(t, left, right, merged, RIGHT, rights)
    t.records[row + COUNT] = 0
    if merged < tokens:
        return False
    ln_total = ln(t.state[TOTAL_BEFORE])
    for token in (left, right, merged):
        keep_log(t, token)
    score_token(t, merged, ln_total, True)
    score_token(t, left, ln_total, False)
    score_token(t, right, ln_total, False)
    return True


@inlined
def opened(arena, postings, buffer, records, table, heap, choices, tokens, symbols, strings, names, state, settings):
    """The arrays as pointers."""
    return Scoring(
        pointer(arena), pointer(postings), pointer(buffer), len(buffer) // 2, pointer(records), pointer(table),
        U64(len(table) // 2 - 1), pointer(heap), pointer(choices), pointer(tokens), pointer(symbols), pointer(strings),
        pointer(names), U64(len(names) - 1), pointer(state), pointer(settings),
    )  # fmt: skip


@kernel
def enter_names(tokens: Parts[I64s, I64s, U8s, I64s], state: I64s, settings: I64s) -> Int:
    """Enter the strings of all tokens in the table of names, and their lengths; arrays as for `merge_scored`."""
    none = state  # of what pairs are, naming needs nothing
    t = opened(none, none, none, none, none, none, none, tokens[0], tokens[1], tokens[2], tokens[3], state, settings)
    for token in range(t.state[TOKENS]):
        start, stop = t.tokens[8 * token + STRING], t.tokens[8 * token + 8 + STRING]
        t.names[name_slot(t, start, stop)] = token
        t.tokens[8 * token + SPAN] = length_of(t, start, stop)
    return 0


@kernel
def start_scores(
    words: Parts[U32s, U32s, U32s],
    pairs: Parts[I64s, I64s, I64s, I64s],
    tokens: Parts[I64s, I64s, U8s, I64s],
    state: I64s,
    settings: I64s,
) -> Int:
    """Score every record; arrays as for `merge_scored`."""
    t = opened(
        words[0], words[1], words[2], pairs[0], pairs[1], pairs[2], pairs[3], tokens[0], tokens[1], tokens[2],
        tokens[3], state, settings,
    )  # fmt: skip
    fill_heap(t)
    return 0


@kernel
def merge_scored(
    words: Parts[U32s, U32s, U32s],
    pairs: Parts[I64s, I64s, I64s, I64s],
    tokens: Parts[I64s, I64s, U8s, I64s],
    state: I64s,
    settings: I64s,
) -> Int:
    """Merge best pairs until there are enough tokens, and say why it stopped; same result as `reference.wordpiece`.

    words: arena, postings, buffer. pairs: records, table, heap, choices. tokens: tokens, symbols, strings, names.
    EXHAUSTED: no live pair can be the best one. PAUSED: settings[PAUSE] merges are done. UNDECIDED: state[CHOSEN] is
    to be one of the `choices`. NEED_PAIRS, NEED_INDEX: the words are to be read again. All are resumable.
    """
    t = opened(
        words[0], words[1], words[2], pairs[0], pairs[1], pairs[2], pairs[3], tokens[0], tokens[1], tokens[2],
        tokens[3], state, settings,
    )  # fmt: skip
    room = len(pairs[0]) // RECORD
    while t.state[TOKENS] < t.settings[SIZE]:
        if t.state[MERGES] >= t.settings[PAUSE]:
            return PAUSED
        if t.state[USED] + 2 * t.state[TOKENS] + 2 > room:  # a merge makes a pair or two with each token
            return NEED_PAIRS
        record = best_pair(t)
        if record < 0:
            return -1 - record
        left, right = t.records[RECORD * record] >> 32, t.records[RECORD * record] & 0xFFFFFFFF
        if t.state[STRINGS] + string_length(t, left) + string_length(t, right) > len(tokens[2]):
            t.state[CHOSEN] = record
            return NEED_STRINGS
        if not merge_pair(t, record):
            return NEED_INDEX
    return DONE
