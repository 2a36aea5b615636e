"""Measures texts: characters and words, and how often each id occurs."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, I64s, Int, U8s, U32s, kernel, pointer
from subwords.kernels.text.utf8 import NOT_UTF8, decode_at


@kernel
def measure_texts(text: U8s, bounds: I64s, classes: U8s, out: I64s) -> Int:
    """Write a row for each text, text[bounds[k]:bounds[k + 1]]; 0.

    classes: IN_WORD and SPACELESS by code point. A word is a run of characters with IN_WORD.
    """
    p, b, c, o = pointer(text), pointer(bounds), pointer(classes), pointer(out)
    for k in range(len(bounds) - 1):
        i, stop = b[k], b[k + 1]
        characters, words, spaceless, inside = I64(0), I64(0), I64(0), I64(0)
        while i < stop:
            code = I64(p[i])
            if code < 0x80:
                i += 1
            else:
                code, length = decode_at(p, i, stop)
                i += length
            kind = I64(c[code]) if code != NOT_UTF8 else I64(0)
            is_in = kind & layout.IN_WORD
            words += is_in & (inside ^ 1)
            inside = is_in
            spaceless += (kind & layout.SPACELESS) >> 1
            characters += 1
        row = k * layout.MEASURED.width
        o[row + layout.MEASURED.characters], o[row + layout.MEASURED.words], o[row + layout.MEASURED.spaceless] = (
            characters,
            words,
            spaceless,
        )
    return 0


@kernel
def count_ids(ids: U32s, counts: I64s) -> Int:
    """Add to counts[id] how often each id occurs; 0. Ids are below len(counts)."""
    p, c = pointer(ids), pointer(counts)
    for k in range(len(ids)):
        c[I64(p[k])] += 1
    return 0
