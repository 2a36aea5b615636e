"""Cuts words where no token can be: between two bytes that are neighbours in no token (E9)."""

from __future__ import annotations

from subwords.kernels.jit import I64, I64s, Int, U8s, U32s, kernel, pointer


@kernel
def cut_words(text: U8s, bounds: I64s, neighbours: U8s, ends: U32s, text_ends: I64s) -> Int:
    """Cut the words text[bounds[w]:bounds[w + 1]]; return the number of parts.

    neighbours: 256 x 256, whether a token has these two bytes side by side. ends: where each part ends, from bounds[0].
    text_ends: the number of parts up to the end of each word. Same result as `reference.extend.parts_of`.
    """
    p, b, near, e, t = pointer(text), pointer(bounds), pointer(neighbours), pointer(ends), pointer(text_ends)
    parts, base = 0, b[0]
    for w in range(len(bounds) - 1):
        for i in range(b[w] + 1, b[w + 1]):
            if near[I64(p[i - 1]) * 256 + I64(p[i])] == 0:
                e[parts] = i - base
                parts += 1
        e[parts] = b[w + 1] - base
        parts += 1
        t[w] = parts
    return parts
