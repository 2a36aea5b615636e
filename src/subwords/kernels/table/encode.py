"""Words to ids: a table of words already segmented; for a new word the `segment` function of a model's family.

A call handles words in blocks of WORD_BLOCK: first it makes all keys and prefetches their slots, then it looks up every
word and writes its ids. One loop that did both, word by word, ran at two thirds of the speed.

Tried and dropped: a small table of 8,192 words before the large one, to fit the second cache (11 % of words miss it):
-25 % speed. Making the keys of the next 64 words while the ids of these are written, to hide memory latency: -6 %.
Asking a table of the tokens that are words of one id, half of all new words, before a new word is segmented: -10 % in
first passes, where a look into 4 MB costs what merging does; entering them all at first takes as long as it saves.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import HALF, I64, U64, ZERO, Int, advance, helper, inlined, kernel, pointer, spliced, store64
from subwords.kernels.layout import I32s, I64s, U8s, U64s, WordTable
from subwords.kernels.table.emit import (
    char_row,
    emit_mixed,
    emit_runs,
    emit_slot,
    emit_words,
    fill_gaps,
    find_slot,
    insert,
    resolve_odd,
    table_pointers,
)
from subwords.kernels.table.keys import RUN_KEY, UNKNOWN_KEY, begin_of, end_of, make_keys, make_run_keys

LONGEST_KEPT = 1 << 20  # bytes of a word; a longer one is not stored
MIXED = 8  # words of a block with ids in the arena; with more, the branch is often mispredicted in the next block
WARY = -1
FEW_WORDS = 16  # words of a small block


class SegmentFunctions(NamedTuple):
    """The functions of a family of models.

    `segment(model, counters, text, at, length, out, count)` writes the ids of a word from out[count] on and returns
    (DONE or ONCE, number of ids), or another status. `settle` (see `settled`) says after every block whether its ids
    are right; if not, the block is encoded again with each word alone. `fleeting`: see `never_fleeting`. `mingled`:
    whether a block may have words of several texts, whose ids then depend on no other word. `together`:
    whether `many(model, table, keys, k, stop)` segments and stores new words among these rows of keys, in less time.
    """

    segment: object
    settle: object
    fleeting: object
    mingled: bool
    together: bool
    many: object


@helper
def emit_new(family, model, table, text, at, length, key, out, count):
    """Write the ids of any word; segment and store it if it is not in the table: (status, new count).

    key: its row of make_keys.
    """
    counters, segment = table.counters, family.segment
    if family.fleeting(model, text, at, at + length):
        status, n = segment(model, counters, text, at, length, out, count)
        return (layout.DONE if status == layout.ONCE else status), count + n
    low, high = key[0], U64(length) if key[1] == UNKNOWN_KEY else key[1]
    slot = find_slot(table, text, at, length, low, high, I64(key[2]))
    # Words that are alone do not use the table: its ids may be wrong here (see `Family.settle`).
    if table.slots[slot * layout.SLOT.width + layout.SLOT.key_high] != ZERO and counters[layout.COUNTER.alone] <= 0:
        return layout.DONE, emit_slot(table.slots, table.ids, slot * layout.SLOT.width, out, count)
    if counters[layout.COUNTER.slots_used] >= table.load:
        return layout.NEED_SLOTS, count
    kept = length <= LONGEST_KEPT
    if (
        kept
        and max(
            counters[layout.COUNTER.ids_used] + length - table.ids_room,
            counters[layout.COUNTER.bytes_used] + length - table.bytes_room,
        )
        > 0
    ):
        counters[layout.COUNTER.needed] = length
        return layout.NEED_ARENA, count
    status, n = segment(model, counters, text, at, length, out, count)
    if status == layout.DONE and kept and counters[layout.COUNTER.alone] <= 0:
        insert(table, text, at, length, low, high, slot, advance(out, count), n)
    return (layout.DONE if status == layout.ONCE else status), count + n


@helper
def spell_run(family, model, table, text, at, length, out, count):
    """Write the ids of each character of a RUN; segment and store those that are new: (status, new count)."""
    counters, segment = table.counters, family.segment
    for i in range(at, at + length, 3):
        row = char_row(text, i)
        n = I64(table.chars[row + 1] >> HALF)
        if n == 0:
            status, n = segment(model, counters, text, i, I64(3), out, count)
            if status != layout.DONE and status != layout.ONCE:
                return status, count
            for k in range(n, 3):
                out[count + k] = 0
            table.chars[row] = U64(out[count]) | U64(out[count + 1]) << HALF
            table.chars[row + 1] = U64(out[count + 2]) | U64(n) << HALF
        store64(out, count, table.chars[row])
        store64(out, count + 2, table.chars[row + 1])
        count += n
    return layout.DONE, count


@inlined
def never_fleeting(model, text, at, stop):
    """Whether a word is segmented without looking into the table: never."""
    return False


@inlined
def never_many(model, table, keys, k, stop):
    """Segment new words together: none."""


@inlined
def ids_after(text_ends, texts, i, word):
    """How many ids come after texts that end up to a word, from text i on."""
    n = I64(0)
    while i < texts and text_ends[i] & layout.WORDS <= word:
        n += I64(text_ends[i] >> layout.FOLLOWED != 0)
        i += 1
    return n


@inlined
def end_texts(text_ends, texts, i, word, out, count):
    """Write what comes after texts that end before a word, from text i on, and their ids: (next text, new count)."""
    while i < texts and text_ends[i] & layout.WORDS == word:
        after = text_ends[i] >> layout.FOLLOWED
        if after != 0:
            out[count] = after - 1
            count += 1
        text_ends[i] = count
        i += 1
    return i, count


@inlined
def settled(model, counters, out, upto):
    """Whether the ids before out[upto] are right: always, in families whose ids depend on no other word."""
    return True


@helper
def encode_block(family, model, table, text, start, ends, first, last, runs, keys, out, text_ends, texts):
    """Write the ids of the words first..last; `counters` says how far it came. `runs`: whether there is a RUN.

    Where words are mingled, a stretch of words ends with the block or with its text.
    """
    count, k, far, status = I64(table.counters[layout.COUNTER.written]), I64(0), I64(0), layout.DONE
    stop = I64(layout.KEY_ROW * (last - first))
    mixed, gaps = table.counters[layout.COUNTER.far] > MIXED and not runs, advance(keys, layout.ODD_WORDS)
    alone = table.counters[layout.COUNTER.alone] > 0
    block, i = stop, I64(table.counters[layout.COUNTER.next_text])
    seen = I64(0) if family.together else block
    if not family.mingled:
        texts = I64(0)
    if i < texts:
        stop = min(block, layout.KEY_ROW * ((text_ends[i] & layout.WORDS) - first))
    while status == layout.DONE:
        if alone:
            pass
        elif mixed:
            k, count, far = emit_mixed(table.slots, table.mask, keys, k, stop, out, count, gaps, far)
        elif runs:
            k, count, more = emit_runs(table, text, keys, k, stop, out, count)
            far += more
        else:
            k, count, more = emit_words(table, text, keys, k, stop, out, count)
            far += more
        w = first + k // layout.KEY_ROW
        if k == stop:
            i, count = end_texts(text_ends, texts, i, w, out, count)
            if k == block:
                break
            stop = min(block, layout.KEY_ROW * ((text_ends[i] & layout.WORDS) - first)) if i < texts else block
            continue
        if k >= seen and not alone:
            seen = min(k + layout.KEY_ROW * layout.SIDE_WINDOW, block)
            family.many(model, table, keys, k, seen)
            continue
        at = start + begin_of(ends, w)
        length, key = start + end_of(ends, w) - at, advance(keys, k)
        if key[1] == RUN_KEY:
            status, count = spell_run(family, model, table, text, at, length, out, count)
        else:
            status, count = emit_new(family, model, table, text, at, length, key, out, count)
        if status == layout.DONE:
            k += layout.KEY_ROW
    if mixed:
        fill_gaps(table.ids, out, gaps, far)
    (
        table.counters[layout.COUNTER.next_word],
        table.counters[layout.COUNTER.written],
        table.counters[layout.COUNTER.far],
    ) = first + k // layout.KEY_ROW, count, far
    if family.mingled:
        table.counters[layout.COUNTER.next_text] = i
    return status


@inlined
def any_run(ends, first, last):
    """Whether one of the words first..last is a RUN."""
    every = U64(0)
    for w in range(first, last):
        every |= U64(ends[w])
    return every >= U64(layout.RUN)


@spliced
def next_block(family, model, table, text, size, start, ends, words, keys, out, room, text_ends, texts):
    """Encode the next words, at most WORD_BLOCK of them."""
    st = table.counters
    first, begin, fresh = I64(st[layout.COUNTER.next_word]), I64(st[layout.COUNTER.written]), st[layout.COUNTER.begin]
    last = min(first + (layout.WORD_BLOCK if st[layout.COUNTER.alone] == 0 else FEW_WORDS), words)
    # At most one id for each byte: with this room, nothing below needs to check `out`.
    st[layout.COUNTER.needed] = (
        st[layout.COUNTER.written] + end_of(ends, last - 1) - begin_of(ends, first) + layout.OUT_PADDING
    )
    if family.mingled:
        st[layout.COUNTER.needed] += ids_after(text_ends, texts, I64(st[layout.COUNTER.next_text]), last)
    if st[layout.COUNTER.needed] > room:
        return layout.NEED_OUT
    runs = any_run(ends, first, last)
    if runs:
        make_run_keys(table.slots, table.mask, table.seeds, text, size, start, ends, first, last, keys)
    else:
        make_keys(table.slots, table.mask, table.seeds, text, size, start, ends, first, last, keys)
    if keys[layout.ODD_COUNT] != ZERO:
        resolve_odd(table, text, start, ends, first, keys)
    status = encode_block(family, model, table, text, start, ends, first, last, runs, keys, out, text_ends, texts)
    if not family.settle(model, st, out, st[layout.COUNTER.written]):
        # Again from the first word of the block, and from the state before it.
        (
            st[layout.COUNTER.next_word],
            st[layout.COUNTER.written],
            st[layout.COUNTER.begin],
            st[layout.COUNTER.summed],
            st[layout.COUNTER.alone],
        ) = first, begin, fresh, begin, 1
        return layout.DONE
    return status


@inlined
def encode_all(family, model, table, text, size, start, ends, words, text_ends, texts, keys, out, room, filled):
    """Append the ids of words to the `filled` ids in `out`; the new number of ids, or minus a status.

    Word w is text[start + ends[w - 1] : start + ends[w]]. text_ends[i], for `texts` texts, is the number of words up to
    the end of text i, and what follows it (layout.FOLLOWED); it is replaced by the number of ids. With texts = 0 all
    words are one text. After a status the caller makes room and calls again with counters[COUNTER.written] as `filled`.
    """
    st = table.counters
    st[layout.COUNTER.written] = filled
    if st[layout.COUNTER.next_text] == 0 and st[layout.COUNTER.next_word] == 0:
        st[layout.COUNTER.summed] = filled
    while True:
        alone = texts > 0 and not family.mingled
        last_word = text_ends[st[layout.COUNTER.next_text]] & layout.WORDS if alone else words
        while st[layout.COUNTER.next_word] < last_word:
            status = next_block(
                family, model, table, text, size, start, ends, last_word, keys, out, room, text_ends, texts
            )
            if status != layout.DONE:
                return -status
        if texts > 0:  # this one, or those without words that are left
            i = I64(st[layout.COUNTER.next_text])
            upto = i + 1 if alone else texts
            st[layout.COUNTER.needed] = (
                st[layout.COUNTER.written] + ids_after(text_ends, upto, i, words) + layout.OUT_PADDING
            )
            if st[layout.COUNTER.needed] > room:
                return I64(-layout.NEED_OUT)
            st[layout.COUNTER.next_text], st[layout.COUNTER.written] = end_texts(
                text_ends, upto, i, last_word, out, I64(st[layout.COUNTER.written])
            )
            st[layout.COUNTER.summed] = st[layout.COUNTER.written]
        if st[layout.COUNTER.joined] == 0:
            st[layout.COUNTER.begin] = 1
        if st[layout.COUNTER.next_text] >= texts:
            break
    st[layout.COUNTER.next_text], st[layout.COUNTER.next_word] = 0, 0
    return I64(st[layout.COUNTER.written])


@kernel
def add_tokens(data: U8s, ends: I64s, values: I32s, into: WordTable, wide: U64s, counters: I64s) -> Int:
    """Enter the words data[ends[w - 1] : ends[w]], each as one id, into a table that has room for all."""
    text, e, v, keys = pointer(data), pointer(ends), pointer(values), pointer(wide)
    table = table_pointers(into, counters)
    for w in range(len(ends)):
        make_keys(table.slots, table.mask, table.seeds, text, len(data), 0, e, w, w + 1, keys)
        at = e[w - 1] if w > 0 else 0
        low, high = keys[0], keys[1]
        slot = find_slot(table, text, at, e[w] - at, low, high, I64(keys[2]))
        if table.slots[slot * layout.SLOT.width + layout.SLOT.key_high] == ZERO:
            insert(table, text, at, e[w] - at, low, high, slot, advance(v, w), 1)
    return 0
