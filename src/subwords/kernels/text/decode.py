"""Ids to bytes."""

from __future__ import annotations

from subwords.kernels.jit import I64, I64s, Int, U8s, kernel, pointer


@kernel
def bytes_of_ids(ids: I64s, offsets: I64s) -> Int:
    """The number of bytes that the ids decode to, or -1 - i if ids[i] is out of range."""
    p, o, size = pointer(ids), pointer(offsets), len(offsets) - 1
    total = 0
    for i in range(len(ids)):
        if p[i] < 0 or p[i] >= size:
            return -1 - i
        total += o[p[i] + 1] - o[p[i]]
    return total


@kernel
def decode_ids(ids: I64s, data: U8s, offsets: I64s, out: U8s) -> Int:
    """Write the bytes of valid ids to `out`, which has room for them; same as joining the tokens."""
    p, d, o, q = pointer(ids), pointer(data), pointer(offsets), pointer(out)
    at = 0
    for i in range(len(ids)):
        start, stop = o[p[i]], o[p[i] + 1]
        for k in range(start, stop):
            q[at] = d[k]
            at += 1
    return I64(at)
