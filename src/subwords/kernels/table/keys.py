"""Words as table keys: up to 15 bytes inline with their length; a longer word as a keyed hash and its length.

The table is open addressing with linear probing. A slot is four uint64: SLOT.key_low, SLOT.key_high, and two values
that belong to the table's owner (`encode.py`, `words.py`). Bits 56..59 of SLOT.key_high are the length of an inline
word. A longer word has zero there, its length in the low bits and its hash as SLOT.key_low; the owner keeps a copy of
its bytes to compare with. Bits 60..63 of SLOT.key_high are zero in a key and free for the owner in a slot. No
SLOT.key_high is zero, so zero marks a free slot. Hashes are keyed with random seeds, so nobody can prepare words that
collide.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.arithmetic import scatter, touches
from subwords.kernels.jit import I64, U64, ZERO, Int, advance, helper, inlined, kernel, load64, mix, pointer, prefetch
from subwords.kernels.layout import U64s

LENGTH = U64(0xF) << U64(56)  # zero in the key high of a long word
MARKED = U64(layout.INLINE + 1) << U64(56)  # a key high from here on is still to be made
OWNED = U64(4)  # bits of key high that are the owner's
UNKNOWN_KEY = U64(1 << 55)  # as key high, a length that no word has: a word that is not in the table
RUN_KEY = U64(1 << 54)  # the same: the row of a RUN is its place, RUN_KEY, and its length


@helper
def load_tail(p, i, stop):
    """The bytes p[i:stop], at most eight, as one little-endian integer."""
    value = ZERO
    for k in range(min(8, stop - i)):
        value |= U64(p[i + k]) << U64(8 * k)
    return value


@inlined
def inline_key(p, i, length, masks):
    """The key of the word p[i : i + length], length <= INLINE. A longer word only gets MARKED. Reads 16 bytes."""
    row = min(length, layout.INLINE + 1)
    return load64(p, i) & masks[2 * row], load64(p, i + 8) & masks[2 * row + 1] | U64(row) << U64(56)


@helper
def tail_key(p, i, length):
    """The same key; reads only the bytes of the word."""
    return load_tail(p, i, i + length), load_tail(p, i + 8, i + length) | U64(length) << U64(56)


@inlined
def long_key(p, i, length, seeds):
    """The key of a longer word: its keyed hash and its length.

    Hashes 32 bytes from the start and 32 from the end, which may overlap: no branch up to 64 bytes.
    """
    stop = i + length
    second, third = min(i + 16, stop - 16), max(stop - 32, i)
    state = mix(load64(p, i) ^ seeds[0], load64(p, i + 8) ^ seeds[1])
    state += mix(load64(p, second) ^ seeds[2], load64(p, second + 8) ^ seeds[3])
    state += mix(load64(p, third) ^ seeds[4], load64(p, third + 8) ^ seeds[5])
    state += mix(load64(p, stop - 16) ^ seeds[6], load64(p, stop - 8) ^ seeds[7])
    for k in range(i + 32, stop - 32, 16):
        state = mix(load64(p, k) ^ state, load64(p, k + 8) ^ seeds[1])
    return state, U64(length)


@helper
def word_key(p, i, length, seeds):
    """The key of any word anywhere."""
    if length > layout.INLINE:
        return long_key(p, i, length, seeds)
    return tail_key(p, i, length)


@inlined
def home(low, high, seeds, mask):
    """The slot where the search for a key begins."""
    return I64(scatter(low, high, seeds[0], seeds[1]) & mask)


@inlined
def differs(slots, at, low, high):
    """Zero if the slot that starts at `at` has this key; the owner's bits are ignored."""
    return slots[at + layout.SLOT.key_low] ^ low | (slots[at + layout.SLOT.key_high] ^ high) << OWNED


@inlined
def find_free(slots, mask, low, high, slot):
    """The slot of a word that is its own key, or the free slot for it."""
    while (
        differs(slots, slot * layout.SLOT.width, low, high) != ZERO
        and slots[slot * layout.SLOT.width + layout.SLOT.key_high] != ZERO
    ):
        slot = I64(U64(slot + 1) & mask)
    return slot


@inlined
def differ16(p, i, q, j):
    """Zero if p[i : i + 16] equals q[j : j + 16]."""
    return load64(p, i) ^ load64(q, j) | load64(p, i + 8) ^ load64(q, j + 8)


@inlined
def same_bytes(p, i, q, j, length):
    """Whether p[i : i + length] equals q[j : j + length], length > INLINE."""
    # The first and the last 32 bytes, which overlap in words of up to 64 bytes: then there is no loop.
    second, third, last = min(16, length - 16), max(length - 32, 0), length - 16
    differs_at = differ16(p, i, q, j) | differ16(p, i + second, q, j + second)
    differs_at |= differ16(p, i + third, q, j + third) | differ16(p, i + last, q, j + last)
    k = 32
    while k < length - 32 and differs_at == ZERO:
        differs_at = differ16(p, i + k, q, j + k)
        k += 16
    return differs_at == ZERO


@inlined
def end_of(ends, w):
    """Where word w ends."""
    return I64(U64(ends[w]) & U64(layout.PLACE))


@inlined
def begin_of(ends, w):
    """Where word w begins."""
    return end_of(ends, w - 1) if w > 0 else 0


@inlined
def is_run(ends, w):
    """Whether word w is a RUN."""
    return U64(ends[w]) >= U64(layout.RUN)


@helper
def make_keys(slots, mask, seeds, text, size, start, ends, first, last, keys):
    """Write the rows of the words first..last; none of them is a RUN. See `fill_keys`."""
    fill_keys(slots, mask, seeds, text, size, start, ends, first, last, keys, False)


@helper
def make_run_keys(slots, mask, seeds, text, size, start, ends, first, last, keys):
    """The same if some are."""
    fill_keys(slots, mask, seeds, text, size, start, ends, first, last, keys, True)


@inlined
def fill_keys(slots, mask, seeds, text, size, start, ends, first, last, keys, runs):
    """Write a row (key low, key high, slot) for each of the words first..last to `keys`, and prefetch the slots.

    From ODD_WORDS on follow the numbers of the odd words: long ones, and those within 16 bytes of the text's end.
    keys[ODD_COUNT] is how many they are.
    """
    masks, odd_words = advance(seeds, layout.SEEDS), advance(keys, layout.ODD_WORDS)
    at = start + begin_of(ends, first)
    safe = last  # words before this one begin 16 bytes or more before the end of the text
    while safe > first and start + begin_of(ends, safe - 1) + 16 > size:
        safe -= 1
    odd = 0
    for w in range(first, safe):
        stop = start + (end_of(ends, w) if runs else I64(ends[w]))
        low, high = inline_key(text, at, stop - at, masks)
        slot = home(low, high, seeds, mask)
        prefetch(slots, slot * layout.SLOT.width)
        if runs and is_run(ends, w):
            low, high, slot = U64(at), RUN_KEY, stop - at
        k = layout.KEY_ROW * (w - first)
        keys[k], keys[k + 1], keys[k + 2] = low, high, U64(slot)
        # Written in any case, and kept only if `odd` moves on: no branch.
        odd_words[odd] = U64(w)
        odd += 1 if high >= MARKED else 0
        at = stop
    if touches() != 0 and not runs:  # short turns, so that a processor reads many slots at once
        found = ZERO
        for k in range(0, layout.KEY_ROW * (safe - first), layout.KEY_ROW):
            found |= slots[I64(keys[k + 2]) * layout.SLOT.width + layout.SLOT.key_high]
        keys[layout.ODD_COUNT - 1] = found  # in a free place: what is not used is not read
    for w in range(safe, last):
        odd_words[odd] = U64(w)
        if runs and is_run(ends, w):
            at, k = start + begin_of(ends, w), layout.KEY_ROW * (w - first)
            keys[k], keys[k + 1], keys[k + 2] = U64(at), RUN_KEY, U64(start + end_of(ends, w) - at)
        else:
            odd += 1
    keys[layout.ODD_COUNT] = U64(odd)
    for n in range(odd):
        make_odd_key(slots, mask, seeds, text, start, ends, I64(odd_words[n]), first, keys)


@inlined
def make_odd_key(slots, mask, seeds, text, start, ends, w, first, keys):
    """Make the key of an odd word."""
    at, k = start + begin_of(ends, w), layout.KEY_ROW * (w - first)
    low, high = word_key(text, at, start + end_of(ends, w) - at, seeds)
    keys[k], keys[k + 1], keys[k + 2] = low, high, U64(home(low, high, seeds, mask))
    prefetch(slots, I64(keys[k + 2]) * layout.SLOT.width)


@kernel
def rehash(old: U64s, new: U64s, seeds: U64s) -> Int:
    """Copy the slots of `old` into the table `new`, but those of words that it has; the number of slots copied.

    No two slots of `old` have the same word, and no long word of `old` is in `new`. new: a power of two of slots, with
    room for those of `old`.
    """
    source, target, seed = pointer(old), pointer(new), pointer(seeds)
    mask, count = U64(len(new) // layout.SLOT.width - 1), I64(0)
    for slot in range(len(old) // layout.SLOT.width):
        at = slot * layout.SLOT.width
        if source[at + layout.SLOT.key_high] != ZERO:
            # Without the owner's bits, which are not part of the key.
            low, high = source[at + layout.SLOT.key_low], source[at + layout.SLOT.key_high] << OWNED >> OWNED
            free, known = home(low, high, seed, mask), False
            while target[free * layout.SLOT.width + layout.SLOT.key_high] != ZERO and not known:
                known = high & LENGTH != ZERO and differs(target, free * layout.SLOT.width, low, high) == ZERO
                free = I64(U64(free + 1) & mask)
            if not known:
                for k in range(layout.SLOT.width):
                    target[free * layout.SLOT.width + k] = source[at + k]
                count += 1
    return count
