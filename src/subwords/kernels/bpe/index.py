"""The data of BPE training: words as symbols, a table of their pairs, and the tokens.

Words (uint32) are their symbols one after the other, with END before, between and after them. A merge changes no place:
a token that covers n symbols keeps the places of these. Its id is at the first place and at the last, so that both
neighbours of a token are one step away, and END is where its second half began, so that no place inside of a token
holds an id that once began there. Words of equal count are next to each other; such a run begins at starts[run] and
each of its words has the count weights[run]. After the last start is END.

The table of pairs (uint64) is open addressing with linear probing. An entry is PAIR.key, left << 32 | right, or NO_KEY
if free; PAIR.count; and the place and number of its postings, PAIR.place and PAIR.words. Postings are the places of the
pair when it arose, ascending.

A token's row (int64, a cache line) is TOKEN.span, the number of first symbols it covers; TOKEN.string, where its bytes
begin in `strings` (they end where the next token's begin); and, during a merge, for a neighbour on the left and on the
right: the weight of the new pair, then the place of its next posting, or MISSING; the number of its postings; and the
pair's entry.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import HALF, I64, LOW, ONE, U64, ZERO, Int, helper, inlined, kernel, mix, pointer, prefetch
from subwords.kernels.layout import I32s, I64s, MergeRules, SymbolWords, U8s, U32s, U64s
from subwords.kernels.text.utf8 import decode_at

FREE = U64(layout.NO_KEY)


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
    used, runs, later = 1, 0, layout.CODE_POINTS if len(ids) > layout.CODE_POINTS else 0
    symbols[0] = layout.END
    for k in range(len(order)):
        word = order_of[k]
        i, stop, n = o[word], o[word + 1], 0
        # One step beyond the last symbol: there `symbol_at` finds none, which ends the word as an unknown symbol does.
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
                    symbols[used + n] = layout.END
                    used += n + 1
                n = 0
            i += step
    starts[runs], starts[runs + 1] = layout.END, used
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
    symbols[0] = layout.END
    for k in range(len(order)):
        word, n = order_of[k], 0
        for i in range(o[word], o[word + 1] + 1):
            if i < o[word + 1] and a[I64(p[i])] == 0:
                symbols[used + n] = p[i]
                n += 1
                continue
            # A single symbol is not kept: `used` stays, and the next word overwrites it.
            if n > 1:
                if runs == 0 or weights[runs - 1] != c[word]:
                    starts[runs], weights[runs] = used, c[word]
                    runs += 1
                symbols[used + n] = layout.END
                used += n + 1
            n = 0
    starts[runs], starts[runs + 1] = layout.END, used
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
def hash_of(key):
    """The hash of a pair."""
    return mix(key, U64(0x9E3779B97F4A7C15))


@inlined
def pair_slot(pairs, mask, key):
    """The position of the pair's entry, or of the free entry for it."""
    slot = hash_of(key) & mask
    # Ends, because the callers keep at least half of the entries free.
    while (
        pairs[I64(slot) * layout.PAIR.width + layout.PAIR.key] != key
        and pairs[I64(slot) * layout.PAIR.width + layout.PAIR.key] != FREE
    ):
        slot = (slot + ONE) & mask
    return I64(slot) * layout.PAIR.width


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
    return I64(joined[I64(classes[left]) * kinds + I64(classes[right])]) != layout.APART


@helper
def add_pair(pairs, mask, key, weight, counters):
    """Add to the count of a pair; its entry."""
    at = pair_slot(pairs, mask, key)
    if pairs[at + layout.PAIR.key] == FREE:
        pairs[at + layout.PAIR.key], pairs[at + layout.PAIR.count] = key, ZERO
        pairs[at + layout.PAIR.place], pairs[at + layout.PAIR.words] = FREE, ZERO
        counters[layout.TALLY.pairs_used] += 1
    pairs[at + layout.PAIR.count] += weight
    return at


@kernel
def count_few(words: SymbolWords, first: Int, stop: Int, tokens: Int, counts: U64s, times: U32s) -> Int:
    """Count the pairs that start at first..stop-1 of words whose symbols are all below `tokens`, each covering one; 0.

    A pair's count and the number of its places are the elements left * tokens + right of `counts` and `times`.
    """
    s, starts, weights = pointer(words.symbols), pointer(words.starts), pointer(words.weights)
    c, n, runs = pointer(counts), pointer(times), len(words.weights)
    begin, run = first, run_at(starts, runs, 0, first)
    while begin < stop and runs > 0:
        end, weight = min(stop, I64(starts[run + 1])), weights[run]
        for at in range(begin, end):
            left = I64(s[at])
            if left != layout.END and I64(s[at + 1]) != layout.END:
                pair = left * tokens + I64(s[at + 1])
                c[pair] += weight
                n[pair] += 1
        begin = end
        run += 1
    return 0


@kernel
def place_few(words: SymbolWords, first: Int, stop: Int, tokens: Int, places: U32s, postings: U32s) -> Int:
    """Write the postings of the pairs that start at first..stop-1; 0.

    places: as the arrays of `count_few`, where the first posting of a pair goes; END for a pair without any.
    """
    s, q, next_at = pointer(words.symbols), pointer(postings), pointer(places)
    for at in range(first, stop):
        left = I64(s[at])
        if left != layout.END and I64(s[at + 1]) != layout.END:
            pair = left * tokens + I64(s[at + 1])
            place = I64(next_at[pair])
            if place != layout.END:
                q[place], next_at[pair] = at, place + 1
    return 0


@kernel
def count_pairs(
    words: SymbolWords,
    stop: Int,
    pairs: U64s,
    spans: U32s,
    rules: MergeRules,
    numbers: U32s,
    scratch: U64s,
    settings: I64s,
    counters: I64s,
) -> Int:
    """Count the pairs from counters[TALLY.arena_at] to `stop`: DONE, or NEED_PAIRS if the table is half full.

    PAIR.place numbers the pairs of the table from 1 on. numbers: set to the number of the pair at its places.
    scratch: two elements for each pair that is looked up at once, so that no lookup waits for another.
    """
    s, starts, weights = pointer(words.symbols), pointer(words.starts), pointer(words.weights)
    p, t, st, kinds = pointer(pairs), pointer(spans), pointer(counters), kinds_of(rules)
    found = pointer(numbers)
    ruled, longest = pointer(settings)[layout.TRAIN.ruled] != 0, pointer(settings)[layout.TRAIN.max_length]
    lengths, classes, joined = pointer(rules.lengths), pointer(rules.classes), pointer(rules.joined)
    mask, room, runs = (
        U64(len(pairs) // layout.PAIR.width - 1),
        len(pairs) // layout.PAIR.width // 2,
        len(words.weights),
    )
    covers, ahead, most = len(spans) > 0, pointer(scratch), len(scratch) // 2
    at, run = I64(st[layout.TALLY.arena_at]), 0
    while at < stop:
        if st[layout.TALLY.pairs_used] + most > room:
            st[layout.TALLY.arena_at] = at
            return layout.NEED_PAIRS
        n = 0
        while at < stop and n < most:
            left, after = I64(s[at]), at + 1
            if left == layout.END:
                at += 1
                continue
            if covers:
                after = at + I64(t[left])
            right = I64(s[after])
            key = U64(left) << HALF | U64(right)
            # Written in any case, and kept only if n moves on: whether a pair is live cannot be predicted.
            ahead[2 * n], ahead[2 * n + 1] = key, U64(at)
            n += I64(right != layout.END)
            at = after
        for k in range(n):
            prefetch(p, I64(hash_of(ahead[2 * k]) & mask) * layout.PAIR.width)
        for k in range(n):
            key, place = ahead[2 * k], I64(ahead[2 * k + 1])
            left, right = I64(key >> HALF), I64(key & LOW)
            if ruled and not allowed(lengths, classes, joined, kinds, longest, left, right):
                continue
            if place >= I64(starts[run + 1]):
                run = run_at(starts, runs, run, place)
            entry = add_pair(p, mask, key, weights[run], st)
            if p[entry + layout.PAIR.words] == ZERO:
                p[entry + layout.PAIR.place] = U64(st[layout.TALLY.pairs_used])
            p[entry + layout.PAIR.words] += ONE
            found[place] = p[entry + layout.PAIR.place]
    st[layout.TALLY.arena_at] = at
    return layout.DONE


@kernel
def move_pairs(old: U64s, new: U64s, threshold: Int, counters: I64s) -> Int:
    """Move the pairs counted `threshold` or more to the empty table `new`; their number, also TALLY.pairs_used."""
    source, target, mask, used = pointer(old), pointer(new), U64(len(new) // layout.PAIR.width - 1), 0
    for entry in range(len(old) // layout.PAIR.width):
        at = entry * layout.PAIR.width
        if source[at + layout.PAIR.key] != FREE and source[at + layout.PAIR.count] >= U64(threshold):
            to = pair_slot(target, mask, source[at + layout.PAIR.key])
            for k in range(layout.PAIR.width):
                target[to + k] = source[at + k]
            used += 1
    pointer(counters)[layout.TALLY.pairs_used] = used
    return used


@kernel
def add_pairs(part: U64s, total: U64s, counters: I64s) -> Int:
    """Add the counts of a table to another one; the number of pairs there, which TALLY.pairs_used becomes."""
    source, target, st, mask = (
        pointer(part),
        pointer(total),
        pointer(counters),
        U64(len(total) // layout.PAIR.width - 1),
    )
    for entry in range(len(part) // layout.PAIR.width):
        at = entry * layout.PAIR.width
        if source[at + layout.PAIR.key] != FREE:
            to = add_pair(target, mask, source[at + layout.PAIR.key], source[at + layout.PAIR.count], st)
            target[to + layout.PAIR.words] += source[at + layout.PAIR.words]
    return I64(st[layout.TALLY.pairs_used])


@kernel
def place_pairs(pairs: U64s) -> Int:
    """Set PAIR.place of each pair to the place after its last posting; the number of all postings."""
    target, used = pointer(pairs), ZERO
    for entry in range(len(pairs) // layout.PAIR.width):
        at = entry * layout.PAIR.width
        if target[at + layout.PAIR.key] != FREE:
            used += target[at + layout.PAIR.words]
            target[at + layout.PAIR.place] = used
    return I64(used)


@kernel
def place_postings(part: U64s, pairs: U64s, places: U32s) -> Int:
    """Place the postings of a part of the words before those of later parts, lowering PAIR.place of `pairs`; 0.

    places: for the number that each pair has in `part`, where its first posting goes; END if `pairs` is without it.
    """
    source, target, found, mask = (
        pointer(part),
        pointer(pairs),
        pointer(places),
        U64(len(pairs) // layout.PAIR.width - 1),
    )
    for entry in range(len(part) // layout.PAIR.width):
        at = entry * layout.PAIR.width
        if source[at + layout.PAIR.key] != FREE:
            to, place = pair_slot(target, mask, source[at + layout.PAIR.key]), U64(layout.END)
            if target[to + layout.PAIR.key] != FREE:
                # PAIR.place moves from the end of the pair's postings to their start: called for the last part first.
                place = target[to + layout.PAIR.place] - source[at + layout.PAIR.words]
                target[to + layout.PAIR.place] = place
            found[I64(source[at + layout.PAIR.place])] = place
    return 0


@kernel
def fill_postings(numbers: U32s, first: Int, stop: Int, places: U32s, postings: U32s) -> Int:
    """Write the postings first..stop-1; 0.

    numbers: from `count_pairs`; places: from `place_postings`, END for number 0.
    """
    found, q, next_at = pointer(numbers), pointer(postings), pointer(places)
    for at in range(first, stop):
        number = I64(found[at])
        place = I64(next_at[number])
        if place != layout.END:
            q[place], next_at[number] = at, place + 1
    return 0
