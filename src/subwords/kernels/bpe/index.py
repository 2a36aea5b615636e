"""The data of BPE training: words as symbols, a table of their pairs, and the tokens.

Words (uint32) are their symbols one after the other, with END before, between and after them. A merge changes no place:
a token that covers n symbols keeps the places of these. Its id is at the first place and at the last, so that both
neighbours of a token are one step away, and END is where its second half began, so that no place inside of a token
holds an id that once began there. Words of equal count are next to each other; such a run begins at starts[run] and
each of its words has the count weights[run]. After the last start is END.

The table of pairs (uint64) is open addressing with linear probing. An entry is PAIR_KEY, left << 32 | right, or NO_KEY
if free; PAIR_COUNT; and the place and number of its postings, PAIR_PLACE and PAIR_WORDS. Postings are the places of the
pair when it arose, ascending.

A token's row (int64, a cache line) is SPAN, the number of first symbols it covers; STRING, where its bytes begin in
`strings` (they end where the next token's begin); and, during a merge, for a neighbour on the left and on the right:
the weight of the new pair, then the place of its next posting, or MISSING; the number of its postings; and the pair's
entry.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I32s, I64s, Int, U8s, U32s, U64s, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import CODE_POINTS, DONE, NEED_PAIRS
from subwords.kernels.text.utf8 import decode_at
from subwords.kernels.train_layout import (
    APART,
    ARENA_AT,
    END,
    MAX_LENGTH,
    NO_KEY,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_PLACE,
    PAIR_ROW,
    PAIR_WORDS,
    PAIRS_USED,
    POSTINGS_USED,
    RULED,
    SPAN,
    TOKEN_ROW,
    MergeRules,
    SymbolWords,
)

FREE = U64(NO_KEY)
ZERO, ONE, HALF, LOW = U64(0), U64(1), U64(32), U64(0xFFFFFFFF)


@kernel
def symbol_weights(data: U8s, offsets: I64s, counts: U64s, by_character: Int, weights: U64s) -> Int:
    """Add every word's count to the weight of each of its bytes or characters."""
    p, o, c, w = pointer(data), pointer(offsets), pointer(counts), pointer(weights)
    for word in range(len(counts)):
        i = o[word]
        while i < o[word + 1]:
            code, step = I64(p[i]), 1
            if by_character != 0:
                code, step = decode_at(p, i, o[word + 1])
            if code >= 0:
                w[code] += c[word]
            i += step
    return 0


@inlined
def symbol_at(p, i, stop, ids, size, shift):
    """The symbol of the byte or character at p[i], or a negative number if it has none or i == stop; and its bytes."""
    code, step = -1, 1
    if i < stop:
        code = I64(p[i])
        if size > 256:
            code, step = decode_at(p, i, stop)
    symbol = -1
    if code >= 0:
        symbol = I64(ids[shift + code])
    return symbol, step


@kernel
def fill_symbols(data: U8s, offsets: I64s, counts: U64s, order: I64s, ids: I32s, words: SymbolWords) -> Int:
    """Write the words in this order; the number of runs. After it, starts[runs + 1] is the number of symbols.

    ids: of 256 bytes; or of all code points; or of all code points at the start of a word, then of all elsewhere. A
    byte or character without an id splits a word. Words of one symbol are left out: they contain no pair.
    """
    p, o, c, d, order_of = pointer(data), pointer(offsets), pointer(counts), pointer(ids), pointer(order)
    symbols, starts, weights = pointer(words.symbols), pointer(words.starts), pointer(words.weights)
    used, runs, later = 1, 0, CODE_POINTS if len(ids) > CODE_POINTS else 0
    symbols[0] = END
    for k in range(len(order)):
        word = order_of[k]
        i, stop, n = o[word], o[word + 1], 0
        while i <= stop:
            symbol, step = symbol_at(p, i, stop, d, len(ids), 0 if i == o[word] else later)
            if symbol >= 0:
                symbols[used + n] = symbol
                n += 1
            else:
                if n > 1:
                    if runs == 0 or weights[runs - 1] != c[word]:
                        starts[runs], weights[runs] = used, c[word]
                        runs += 1
                    symbols[used + n] = END
                    used += n + 1
                n = 0
            i += step
    starts[runs], starts[runs + 1] = END, used
    return runs


@kernel
def fill_ids(ids: U32s, offsets: I64s, counts: U64s, order: I64s, apart: U8s, words: SymbolWords) -> Int:
    """Write words of ids, ids[offsets[w]:offsets[w + 1]], in this order, as `fill_symbols`.

    apart: whether an id splits a word.

    Same result as `reference.extend.runs_of_ids`.
    """
    p, o, c, a, order_of = pointer(ids), pointer(offsets), pointer(counts), pointer(apart), pointer(order)
    symbols, starts, weights = pointer(words.symbols), pointer(words.starts), pointer(words.weights)
    used, runs = 1, 0
    symbols[0] = END
    for k in range(len(order)):
        word, n = order_of[k], 0
        for i in range(o[word], o[word + 1] + 1):
            if i < o[word + 1] and a[I64(p[i])] == 0:
                symbols[used + n] = p[i]
                n += 1
                continue
            if n > 1:
                if runs == 0 or weights[runs - 1] != c[word]:
                    starts[runs], weights[runs] = used, c[word]
                    runs += 1
                symbols[used + n] = END
                used += n + 1
            n = 0
    starts[runs], starts[runs + 1] = END, used
    return runs


@inlined
def run_at(starts, runs, run, place):
    """The run of a place at or after the start of `run`: with growing steps, as the next place is often near."""
    step = 1
    while run + step < runs and starts[run + step] <= place:
        run += step
        step *= 2
    while step > 0:
        if run + step < runs and starts[run + step] <= place:
            run += step
        step >>= 1
    return run


@inlined
def pair_slot(pairs, mask, key):
    """The position of the pair's entry, or of the free entry for it."""
    slot = mix(key, U64(0x9E3779B97F4A7C15)) & mask
    while pairs[I64(slot) * PAIR_ROW + PAIR_KEY] != key and pairs[I64(slot) * PAIR_ROW + PAIR_KEY] != FREE:
        slot = (slot + ONE) & mask
    return I64(slot) * PAIR_ROW


@inlined
def may_merge(tokens, left, right, longest):
    """Whether the pair's token is short enough."""
    return longest == 0 or tokens[TOKEN_ROW * left + SPAN] + tokens[TOKEN_ROW * right + SPAN] <= longest


@inlined
def kinds_of(rules):
    """The number of classes: the root of the number of their pairs."""
    kinds = 0
    while kinds * kinds < len(rules.joined):
        kinds += 1
    return kinds


@inlined
def allowed(lengths, classes, joined, kinds, longest, left, right):
    """Whether the rules let this pair merge; see `MergeRules`. kinds: the number of classes."""
    if longest != 0 and I64(lengths[left]) + I64(lengths[right]) > longest:
        return False
    return I64(joined[I64(classes[left]) * kinds + I64(classes[right])]) != APART


@helper
def add_pair(pairs, mask, key, weight, counters):
    """Add to the count of a pair; its entry."""
    at = pair_slot(pairs, mask, key)
    if pairs[at + PAIR_KEY] == FREE:
        pairs[at + PAIR_KEY], pairs[at + PAIR_COUNT] = key, ZERO
        pairs[at + PAIR_PLACE], pairs[at + PAIR_WORDS] = FREE, ZERO
        counters[PAIRS_USED] += 1
    pairs[at + PAIR_COUNT] += weight
    return at


@kernel
def count_pairs(
    words: SymbolWords, pairs: U64s, tokens: I64s, rules: MergeRules, settings: I64s, counters: I64s
) -> Int:
    """Count all pairs from counters[ARENA_AT] on, at least 1: DONE, or NEED_PAIRS if the table is half full."""
    s, starts, weights = pointer(words.symbols), pointer(words.starts), pointer(words.weights)
    p, t, st, kinds = pointer(pairs), pointer(tokens), pointer(counters), kinds_of(rules)
    ruled, longest = pointer(settings)[RULED] != 0, pointer(settings)[MAX_LENGTH]
    lengths, classes, joined = pointer(rules.lengths), pointer(rules.classes), pointer(rules.joined)
    mask, room, runs = U64(len(pairs) // PAIR_ROW - 1), len(pairs) // PAIR_ROW // 2, len(words.weights)
    at, run = I64(st[ARENA_AT]), 0
    while at < len(words.symbols):
        left = I64(s[at])
        if left == END:
            at += 1
            continue
        after = at + t[TOKEN_ROW * left + SPAN]
        right = I64(s[after])
        if right != END and (not ruled or allowed(lengths, classes, joined, kinds, longest, left, right)):
            if st[PAIRS_USED] >= room:
                st[ARENA_AT] = at
                return NEED_PAIRS
            if at >= I64(starts[run + 1]):
                run = run_at(starts, runs, run, at)
            p[add_pair(p, mask, U64(left) << HALF | U64(right), weights[run], st) + PAIR_WORDS] += ONE
        at = after
    st[ARENA_AT] = at
    return DONE


@kernel
def move_pairs(old: U64s, new: U64s, threshold: Int, fresh: Int, counters: I64s) -> Int:
    """Move the pairs counted `threshold` or more into the empty table `new`; if fresh, place their postings."""
    source, target, mask = pointer(old), pointer(new), U64(len(new) // PAIR_ROW - 1)
    st, used, place = pointer(counters), 0, 0
    for entry in range(len(old) // PAIR_ROW):
        at = entry * PAIR_ROW
        if source[at + PAIR_KEY] != FREE and source[at + PAIR_COUNT] >= U64(threshold):
            to = pair_slot(target, mask, source[at + PAIR_KEY])
            for k in range(PAIR_ROW):
                target[to + k] = source[at + k]
            if fresh != 0:
                target[to + PAIR_PLACE] = U64(place)
                place += I64(source[at + PAIR_WORDS])
                target[to + PAIR_WORDS] = ZERO
            used += 1
    st[PAIRS_USED] = used
    if fresh != 0:
        st[POSTINGS_USED] = place
    return used


@kernel
def fill_postings(words: SymbolWords, tokens: I64s, pairs: U64s, postings: U32s) -> Int:
    """Write the postings of every pair of the table."""
    s, t, p, q = pointer(words.symbols), pointer(tokens), pointer(pairs), pointer(postings)
    mask, at = U64(len(pairs) // PAIR_ROW - 1), 0
    while at < len(words.symbols):
        left = I64(s[at])
        if left == END:
            at += 1
            continue
        after = at + t[TOKEN_ROW * left + SPAN]
        right = I64(s[after])
        if right != END:
            entry = pair_slot(p, mask, U64(left) << HALF | U64(right))
            if p[entry + PAIR_KEY] != FREE:
                q[I64(p[entry + PAIR_PLACE] + p[entry + PAIR_WORDS])] = at
                p[entry + PAIR_WORDS] += ONE
        at = after
    return 0
