"""scratch."""

from __future__ import annotations

from subwords.kernels.bpe.encode import opened_model
from subwords.kernels.bpe.segment import segment
from subwords.kernels.jit import I64, I64s, Int, U8s, U32s, kernel, pointer
from subwords.kernels.layout import BPEWorkspace


@kernel
def segment_each(text: U8s, ends: I64s, out: U32s, counts: I64s, workspace: BPEWorkspace) -> Int:
    """All words."""
    model = opened_model(workspace.model, workspace.scratch)
    p, e, o, c = pointer(text), pointer(ends), pointer(out), pointer(counts)
    k = I64(0)
    for w in range(len(ends)):
        at = e[w - 1] if w > 0 else 0
        status, n = segment(model, pointer(workspace.counters), p, at, e[w] - at, o, k)
        k += n
        c[w] = n
    return k
