"""The substrings of many words, by their sorted suffixes, and every place's longest piece.

The text is the words' characters as numbers from 1 up, in the order of code points, and a 0 behind every word. Suffixes
end with their words and are sorted by as many characters as a piece may have, so neither a long word nor equal letters
cost more than others: every step below is linear.
"""

from __future__ import annotations

from subwords.kernels.jit import I32s, I64s, Int, Parts, U8s, U64s, advance, inlined, kernel, pointer
from subwords.kernels.text.utf8 import decode_at

# A piece's link: the number of the next shorter piece at the same place, + 1, and the length.
LENGTH_BITS = 16
LENGTH = (1 << LENGTH_BITS) - 1
SYMBOLS, WORDS = range(2)


@kernel
def fill_symbols(words: Parts[U8s, I64s, U64s], ids: I32s, text: I32s, starts: I64s, weights: I64s, sizes: I64s) -> Int:
    """Write the words (data, offsets, counts) as text, where each begins and its count; `sizes`: of text and words.

    Characters whose id is 0 and bytes that are no UTF-8 part a word.
    """
    p, o, c, d = pointer(words[0]), pointer(words[1]), pointer(words[2]), pointer(ids)
    t, s, w, z = pointer(text), pointer(starts), pointer(weights), pointer(sizes)
    used, found, n = 0, 0, 0
    for word in range(len(words[2])):
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
    z[SYMBOLS], z[WORDS] = used, found
    return 0


@kernel
def sum_weights(order: I32s, word_of: I32s, weights: I64s, sums: I64s) -> Int:
    """Sum up the weights of the words of the first i suffixes, for every i."""
    o, w, c, s = pointer(order), pointer(word_of), pointer(weights), pointer(sums)
    total = 0
    for i in range(len(order)):
        s[i] = total
        total += c[w[o[i]]]
    s[len(order)] = total
    return 0


@inlined
def common(t, i, j, most):
    """How many characters two suffixes share, `most` at most."""
    n = 0
    while n < most and t[i + n] == t[j + n] and t[i + n] != 0:
        n += 1
    return n


@inlined
def emit(places, number, left, right, depth, s, least):
    """Note suffixes left to right that begin with one string, unless it is rare; returns how many are noted."""
    if depth > 1 and s[right] - s[left] < least:
        return number
    places[0][number], places[1][number], places[2][number] = left, right, depth
    return number + 1


@kernel
def find_substrings(
    words: Parts[I32s, I32s, I64s, I32s],
    sums: I64s,
    longest: Int,
    least: Int,
    stack: I64s,
    found: Parts[I32s, I32s, I32s],
) -> Int:
    """Note every substring that is followed by different things, or ends a word, or is as long as a piece may be.

    words: text, the word of every place, where words begin, and the sorted suffixes. found: the first of the suffixes
    that begin with it, the first after them, and its length. Single characters are always noted, others only if their
    weight is `least`. Open substrings, each a prefix of the next, are on the stack. Returns how many there are.
    """
    t, w, b, o, s = pointer(words[0]), pointer(words[1]), pointer(words[2]), pointer(words[3]), pointer(sums)
    depths, lefts = pointer(stack), advance(pointer(stack), longest + 2)
    places = pointer(found[0]), pointer(found[1]), pointer(found[2])
    n, top, number = len(sums) - 1, 0, 0
    depths[0] = 0
    for i in range(n + 1):
        shared = common(t, o[i - 1], o[i], longest) if 0 < i < n else 0
        left = i
        while depths[top] > shared:
            left = lefts[top]
            number = emit(places, number, left, i, depths[top], s, least)
            top -= 1
        if depths[top] < shared:
            top += 1
            depths[top], lefts[top] = shared, left
        if i < n:
            if top == 0:
                top = 1
                depths[1], lefts[1] = 1, i
            depth = min(longest, b[w[o[i]] + 1] - 1 - o[i])
            if depth > depths[top]:
                top += 1
                depths[top], lefts[top] = depth, i
    return number


@kernel
def attach(order: I32s, lefts: I32s, rights: I32s, lengths: I32s, stack: I64s, links: I64s, longest: I32s) -> Int:
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
            ln[piece] = (parent + 1) << LENGTH_BITS | d[piece]
            top += 1
            k[top] = piece
            piece += 1
        lo[o[i]] = k[top]
    return 0


@kernel
def renumber(kept: U8s, links: I64s, numbers: I32s) -> Int:
    """Move the links of the kept pieces together; `numbers`: what every piece becomes, or its longest kept prefix."""
    keep, ln, number = pointer(kept), pointer(links), pointer(numbers)
    used = 0
    for piece in range(len(kept)):
        link = ln[piece]
        parent = (link >> LENGTH_BITS) - 1
        up = number[parent] if parent >= 0 else -1
        if keep[piece]:
            ln[used] = (up + 1) << LENGTH_BITS | (link & LENGTH)
            number[piece] = used
            used += 1
        else:
            number[piece] = up
    return used
