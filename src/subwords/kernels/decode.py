"""Ids to bytes."""

from __future__ import annotations

from subwords.kernels.jit import I64, kernel, pointer


@kernel
def bytes_of_ids(ids, offsets):
    """How many bytes the ids decode to, or -1 - i where ids[i] is no id (ids: int64)."""
    p, o, size = pointer(ids), pointer(offsets), len(offsets) - 1
    total = 0
    for i in range(len(ids)):
        if p[i] < 0 or p[i] >= size:
            return -1 - i
        total += o[p[i] + 1] - o[p[i]]
    return total


@kernel
def decode_ids(ids, data, offsets, out):
    """Write the bytes of valid ids into `out` (uint8), which has room for them; same as joining the tokens."""
    p, d, o, q = pointer(ids), pointer(data), pointer(offsets), pointer(out)
    at = 0
    for i in range(len(ids)):
        start, stop = o[p[i]], o[p[i] + 1]
        for k in range(start, stop):
            q[at] = d[k]
            at += 1
    return I64(at)
