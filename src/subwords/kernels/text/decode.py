"""Ids to bytes.

What an id gives is a *span* of the bytes of all tokens: its start (from bit SPAN_START on), its flags and its size (the
lowest bits). SPAN_BYTE: a single byte of a character. SPAN_BREAK: no bytes, and those before and after never join.
"""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.jit import I64, Int, copy64, inlined, kernel, pointer
from subwords.kernels.layout import I64s, U8s

FLAGS = layout.SPAN_BYTE | layout.SPAN_BREAK


@kernel
def size_of_ids(ids: I64s, spans: I64s) -> Int:
    """The number of bytes that the ids give; -1 - i if ids[i] is out of range, NO_SIZE if a break separates bytes."""
    p, s, count = pointer(ids), pointer(spans), len(spans)
    total, run = I64(0), I64(0)
    for i in range(len(ids)):
        if p[i] < 0 or p[i] >= count:
            return I64(-1 - i)
        total += s[p[i]] & layout.SPAN_SIZE
        if s[p[i]] & FLAGS != 0 or run != 0:
            run = run_after(run, s[p[i]])
            if run < 0:
                return I64(layout.NO_SIZE)
    return total


@inlined
def run_after(run, span):
    """1 after single bytes, 2 if they are followed by a break, else 0; -1 for a byte after such a break."""
    if span & layout.SPAN_BYTE != 0:
        return I64(-1) if run == 2 else I64(1)
    if span & layout.SPAN_BREAK != 0:
        return I64(2) if run != 0 else I64(0)
    return run if span & layout.SPAN_SIZE == 0 else I64(0)


@kernel
def join_ids(ids: I64s, spans: I64s, data: U8s, out: U8s) -> Int:
    """Write the bytes of valid ids to `out`, which has LANES bytes more than they give; their number.

    data: padded by LANES bytes, so that as many can always be copied at once.
    """
    p, s, d, q = pointer(ids), pointer(spans), pointer(data), pointer(out)
    at = I64(0)
    for i in range(len(ids)):
        start, size = s[p[i]] >> layout.SPAN_START, s[p[i]] & layout.SPAN_SIZE
        copy64(q, at, d, start)
        for k in range(layout.LANES, size, layout.LANES):
            copy64(q, at + k, d, start + k)
        at += size
    return at
