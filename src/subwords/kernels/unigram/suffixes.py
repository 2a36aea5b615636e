"""The substrings of many words, from their sorted suffixes, and the longest piece at every place.

The text has the words' characters as numbers from 1 up, in the order of code points, and a 0 after every word. Suffixes
end with their words and are sorted by as many characters as a piece may have. So neither long words nor repeated
letters cost more than others, and every step below is linear.

A piece's link (int64) is its length in characters in the low LENGTH_BITS bits, and above them 1 + the number of the
next shorter piece that begins at the same place, or 0.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, U64, Int, advance, helper, inlined, kernel, mix, pointer
from subwords.kernels.layout import I32s, I64s, SortStacks, Substrings, Suffixes, U8s, Words
from subwords.kernels.text.utf8 import decode_at

LENGTH = (1 << layout.LENGTH_BITS) - 1  # mask of a link


@kernel
def fill_characters(words: Words, ids: I32s, text: I32s, starts: I64s, weights: I64s, sizes: I64s) -> Int:
    """Write the words as text, where each begins, and its count; `sizes` receives the sizes of text and words.

    Characters whose id is 0, and invalid bytes, split a word.
    """
    p, o, c, d = pointer(words.data), pointer(words.offsets), pointer(words.counts), pointer(ids)
    t, s, w, z = pointer(text), pointer(starts), pointer(weights), pointer(sizes)
    used, found, n = 0, 0, 0
    for word in range(len(words.counts)):
        i, stop = o[word], o[word + 1]
        while i <= stop:
            symbol, step = 0, 1
            if i < stop:
                code, step = decode_at(p, i, stop)
                if code >= 0:
                    symbol = d[code]
            if symbol > 0:
                t[used + n] = symbol
                n += 1
            elif n > 0:
                s[found], w[found] = used, c[word]
                t[used + n] = 0
                used, found, n = used + n + 1, found + 1, 0
            i += step
    s[found] = used
    z[layout.FILLED.symbols], z[layout.FILLED.words] = used, found
    return 0


@kernel
def sum_weights(order: I32s, word_of: I32s, weights: I64s, sums: I64s) -> Int:
    """Write for every i the sum of the weights of the words of the first i suffixes."""
    o, w, c, s = pointer(order), pointer(word_of), pointer(weights), pointer(sums)
    total = 0
    for i in range(len(order)):
        s[i] = total
        total += c[w[o[i]]]
    s[len(order)] = total
    return 0


@inlined
def common(t, i, j, most):
    """The number of characters that two suffixes share, at most `most`."""
    n = 0
    while n < most and t[i + n] == t[j + n] and t[i + n] != 0:
        n += 1
    return n


@inlined
def write_substring(found, number, left, right, depth, s, least):
    """Write the substring of `depth` characters that the suffixes left..right begin with, unless it is rare."""
    if depth > 1 and s[right] - s[left] < least:
        return number
    lefts, rights, lengths = found
    lefts[number], rights[number], lengths[number] = left, right, depth
    return number + 1


@kernel
def find_substrings(words: Suffixes, sums: I64s, longest: Int, least: Int, stack: I64s, into: Substrings) -> Int:
    """Write every substring that is followed by different characters, ends a word, or has the most characters allowed.

    Single characters are always written, others only if their weight is `least` or more. Returns their number. The
    stack has the open substrings, each one a prefix of the next.
    """
    t, w, b = pointer(words.symbols), pointer(words.word_of), pointer(words.starts)
    o, s = pointer(words.order), pointer(sums)
    depths, lefts = pointer(stack), advance(pointer(stack), longest + 2)
    found = pointer(into.lefts), pointer(into.rights), pointer(into.lengths)
    n, top, number = len(sums) - 1, 0, 0
    depths[0] = 0
    for i in range(n + 1):
        shared = common(t, o[i - 1], o[i], longest) if 0 < i < n else 0
        left = i
        # The open substrings that suffix i does not begin with end here: they are in suffixes left..i-1.
        while depths[top] > shared:
            left = lefts[top]
            number = write_substring(found, number, left, i, depths[top], s, least)
            top -= 1
        if depths[top] < shared:
            top += 1
            depths[top], lefts[top] = shared, left
        if i < n:
            if top == 0:
                top = 1
                depths[1], lefts[1] = 1, i
            # The suffix itself: it ends its word, or has the most characters allowed.
            depth = min(longest, b[w[o[i]] + 1] - 1 - o[i])
            if depth > depths[top]:
                top += 1
                depths[top], lefts[top] = depth, i
    return number


@kernel
def attach_suffixes(
    order: I32s, lefts: I32s, rights: I32s, lengths: I32s, stack: I64s, links: I64s, longest: I32s
) -> Int:
    """Link every piece to the next shorter one that begins it, and every place to its longest piece.

    Pieces are sorted: by their first suffix, and by length.
    """
    o, a, z, d = pointer(order), pointer(lefts), pointer(rights), pointer(lengths)
    k, ln, lo = pointer(stack), pointer(links), pointer(longest)
    top, piece = -1, 0
    for i in range(len(order)):
        while top >= 0 and z[k[top]] <= i:
            top -= 1
        while piece < len(lefts) and a[piece] == i:
            parent = k[top] if top >= 0 else -1
            ln[piece] = (parent + 1) << layout.LENGTH_BITS | d[piece]
            top += 1
            k[top] = piece
            piece += 1
        lo[o[i]] = k[top]
    return 0


@kernel
def renumber(kept: U8s, links: I64s, numbers: I32s) -> Int:
    """Move the links of the kept pieces together; `numbers` receives the new number of each piece or of its prefix."""
    keep, ln, number = pointer(kept), pointer(links), pointer(numbers)
    used = 0
    for piece in range(len(kept)):
        link = ln[piece]
        parent = (link >> layout.LENGTH_BITS) - 1
        up = number[parent] if parent >= 0 else -1
        if keep[piece]:
            ln[used] = (up + 1) << layout.LENGTH_BITS | (link & LENGTH)
            number[piece] = used
            used += 1
        else:
            number[piece] = up
    return used


# ---------------------------------------------------------------------------------------------------------------------
# Sorting the suffixes of words by as many characters as a piece may have.
#
# The layout of the text is in suffixes.py. Several characters at a time are compared as one number; the next
# characters are only compared within a run of suffixes that are equal so far. So the time does not depend on what
# words have in common: n log n for each number. A frame is a run that is being sorted: where its rest begins, its end,
# and how many characters its suffixes share.

FEW_SUFFIXES = 16  # sorted by insertion


@kernel
def pack_suffixes(text: I32s, bits: Int, length: Int, shift: Int, packed: I64s) -> Int:
    """Write the first `length` characters of every suffix as one number, `bits` each, and its place; their number."""
    t, q = pointer(text), pointer(packed)
    key, n = I64(0), 0
    for i in range(len(text) - 1, -1, -1):
        key = I64(t[i]) << (length - 1) * bits | key >> bits if t[i] != 0 else I64(0)
        if key != 0:
            q[n] = key << shift | i
            n += 1
    return n


@inlined
def key_at(t, i, bits, length):
    """The characters at a place and those after it in the word, as one number."""
    key, n = I64(0), 0
    while n < length and t[i + n] != 0:
        key = key << bits | I64(t[i + n])
        n += 1
    return key << (length - n) * bits


@inlined
def swap(k, o, i, j):
    """Exchange two suffixes and their keys."""
    key, place = k[i], o[i]
    k[i], o[i] = k[j], o[j]
    k[j], o[j] = key, place


@inlined
def insert_each(k, o, first, stop):
    """Sort a few suffixes by their keys."""
    for i in range(first + 1, stop):
        key, place, j = k[i], o[i], i
        while j > first and k[j - 1] > key:
            k[j], o[j] = k[j - 1], o[j - 1]
            j -= 1
        k[j], o[j] = key, place


@inlined
def middle(k, first, n):
    """The median of three keys at pseudo-random places."""
    seed = mix(U64(first) + U64(0x9E3779B97F4A7C15), U64(n) ^ U64(0xD6E8FEB86659FD93))
    a = k[first + I64(seed & U64(0x7FFFFFFF)) % n]
    b = k[first + I64(seed >> U64(33)) % n]
    c = k[first + (n >> 1)]
    return max(min(a, b), min(max(a, b), c))


@helper
def quicksort(k, o, first, stop, stack):
    """Sort suffixes by their keys. The larger of two ranges goes to the stack, so that 64 ranges are enough."""
    top = 0
    while True:
        while stop - first > FEW_SUFFIXES:
            pivot = middle(k, first, stop - first)
            low, i, high = first, first, stop
            while i < high:
                if k[i] < pivot:
                    swap(k, o, i, low)
                    low, i = low + 1, i + 1
                elif k[i] > pivot:
                    high -= 1
                    swap(k, o, i, high)
                else:
                    i += 1
            if low - first < stop - high:
                stack[top], stack[top + 1] = high, stop
                stop = low
            else:
                stack[top], stack[top + 1] = first, low
                first = high
            top += 2
        insert_each(k, o, first, stop)
        if top == 0:
            break
        top -= 2
        first, stop = stack[top], stack[top + 1]


@kernel
def sort_suffixes(text: I32s, first: Int, last: Int, limits: I64s, order: I32s, keys: I64s, stacks: SortStacks) -> Int:
    """Sort the suffixes first..last, which are sorted by their keys, by all their characters; returns 0.

    limits: bits of a character, characters of a key, characters to sort by, and characters of the keys on entry.
    """
    t, o, k, limit = pointer(text), pointer(order), pointer(keys), pointer(limits)
    waiting, f = pointer(stacks.ranges), pointer(stacks.frames)
    bits, length, longest = limit[layout.LIMIT.char_bits], limit[layout.LIMIT.key_chars], limit[layout.LIMIT.sort_chars]
    f[layout.FRAME.at], f[layout.FRAME.end], f[layout.FRAME.depth], top = (
        first,
        last,
        limit[layout.LIMIT.known_chars],
        0,
    )
    while top >= 0:
        i, end, depth = f[top + layout.FRAME.at], f[top + layout.FRAME.end], f[top + layout.FRAME.depth]
        if i == end:
            top -= layout.FRAME.width
            continue
        key, j = k[i], i + 1
        while j < end and k[j] == key:
            j += 1
        f[top + layout.FRAME.at] = j
        if j - i > 1 and depth < longest and key & ((I64(1) << bits) - 1) != 0:
            for suffix in range(i, j):
                k[suffix] = key_at(t, o[suffix] + depth, bits, length)
            quicksort(k, o, i, j, waiting)
            top += layout.FRAME.width
            f[top + layout.FRAME.at], f[top + layout.FRAME.end], f[top + layout.FRAME.depth] = i, j, depth + length
    return 0
