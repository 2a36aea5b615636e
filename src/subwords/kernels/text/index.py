"""An index of texts, one after another: which of them has these bytes; of tokens, and of the entries of a file.

A slot (int32) is 0, or 1 + the number of a text. The search for a text begins at its hash and goes on slot by slot.
"""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, Int, helper, inlined, kernel, load64, mix, pointer
from subwords.kernels.layout import I64s, TextIndex, U8s

START = U64(0x9E3779B97F4A7C15)


@inlined
def part_at(p, i, size):
    """The next 8 bytes of a text of which `size` are left; those after it are 0."""
    part = load64(p, i)
    return part if size >= 8 else part & (U64(1) << U64(8 * size)) - U64(1)


@helper
def same_text(p, i, q, j, length):
    """Whether p[i:i + length] equals q[j:j + length]; 8 bytes after both can be read."""
    k = I64(0)
    while k < length and part_at(p, i + k, length - k) == part_at(q, j + k, length - k):
        k += 8
    return k >= length


@inlined
def next_state(state, byte, seed):
    """The state of a hash after one more byte: one step for each, so that all beginnings of a text take linear time."""
    return mix(state ^ U64(byte), seed)


@helper
def slot_after(state, p, i, length, index):
    """The slot of the text p[i:i + length], whose hash has this state: the one that has it, or a free one."""
    q, bound, slots, seed = pointer(index.text), pointer(index.bounds), pointer(index.slots), pointer(index.seed)
    mask = U64(len(index.slots) - 1)
    slot = mix(state ^ U64(length), U64(seed[0])) & mask
    while slots[I64(slot)] != 0:
        begin, end = bound[slots[I64(slot)] - 1], bound[slots[I64(slot)]]
        if end - begin == length and same_text(p, i, q, begin, length):
            break
        slot = slot + U64(1) & mask
    return I64(slot)


@helper
def slot_of(p, i, length, index):
    """The slot of the text p[i:i + length]."""
    state, seed = START, U64(pointer(index.seed)[0])
    for k in range(i, i + length):
        state = next_state(state, p[k], seed)
    return slot_after(state, p, i, length, index)


@helper
def found_text(p, i, length, index):
    """The number of the text p[i:i + length], or -1."""
    return I64(pointer(index.slots)[slot_of(p, i, length, index)]) - 1


@kernel
def index_texts(index: TextIndex, kept: U8s) -> Int:
    """Enter the texts that `kept` has 1 for; how many were there already. Of equal texts the last one counts."""
    p, bound, slots, k = pointer(index.text), pointer(index.bounds), pointer(index.slots), pointer(kept)
    repeated = I64(0)
    for n in range(len(kept)):
        if k[n] != 0:
            slot = slot_of(p, bound[n], bound[n + 1] - bound[n], index)
            repeated += I64(slots[slot] != 0)
            slots[slot] = n + 1
    return repeated


@kernel
def find_text(text: U8s, length: Int, index: TextIndex) -> Int:
    """The number of the text with these bytes, or -1; 8 bytes after them can be read."""
    return found_text(pointer(text), I64(0), length, index)


@kernel
def find_joins(index: TextIndex, joins: I64s) -> Int:
    """Write each two texts that join to a third one: rows (left, right, joined), in order of the third and the cut.

    joins: room for three numbers for each byte. How many rows.
    """
    p, bound, slots, out = pointer(index.text), pointer(index.bounds), pointer(index.slots), pointer(joins)
    count, seed = I64(0), U64(pointer(index.seed)[0])
    for n in range(len(index.bounds) - 1):
        begin, end = bound[n], bound[n + 1]
        if begin == end or found_text(p, begin, end - begin, index) != n:
            continue
        state = START
        for at in range(begin + 1, end):
            state = next_state(state, p[at - 1], seed)
            left = I64(slots[slot_after(state, p, begin, at - begin, index)]) - 1
            right = found_text(p, at, end - at, index) if left >= 0 else I64(-1)
            if right >= 0:
                out[3 * count], out[3 * count + 1], out[3 * count + 2] = left, right, n
                count += 1
    return count


@kernel
def first_wrong_join(text: U8s, bounds: I64s, joins: I64s, cut: Int) -> Int:
    """The first row (left, right, joined) whose third text is not the other two, or -1.

    cut: how many bytes the right one loses at its beginning. 8 bytes after the texts can be read.
    """
    p, bound, rows = pointer(text), pointer(bounds), pointer(joins)
    for n in range(len(joins) // 3):
        left, right, joined = bound[rows[3 * n]], bound[rows[3 * n + 1]], bound[rows[3 * n + 2]]
        first, second = bound[rows[3 * n] + 1] - left, bound[rows[3 * n + 1] + 1] - right
        if second < cut or bound[rows[3 * n + 2] + 1] - joined != first + second - cut:
            return n
        if not (same_text(p, left, p, joined, first) and same_text(p, right + cut, p, joined + first, second - cut)):
            return n
    return -1
