"""The ids before and after each document of a block."""

from __future__ import annotations

from subwords.kernels.jit import I64s, Int, U32s, kernel, pointer


@kernel
def place_ends(ids: U32s, ends: I64s, first: Int, last: Int, begun: Int, out: U32s, out_ends: I64s) -> Int:
    """Write the ids with `first` before and `last` after each document, -1 for none; the number of ids.

    Documents end in ids[: ends[k]]; out_ends gets where they end in `out`. The ids after the last end belong to a
    document that continues in the next block. begun: 1 if the first document began before this block, so it has its
    `first`.
    """
    source, target, e, o = pointer(ids), pointer(out), pointer(ends), pointer(out_ends)
    start = written = 0
    for k in range(len(ends) + 1):
        stop = e[k] if k < len(ends) else len(ids)
        if k == len(ends) and stop == start:
            break
        if first >= 0 and (k > 0 or begun == 0):
            target[written] = first
            written += 1
        for i in range(stop - start):
            target[written + i] = source[start + i]
        written += stop - start
        if k < len(ends):
            if last >= 0:
                target[written] = last
                written += 1
            o[k] = written
        start = stop
    return written
