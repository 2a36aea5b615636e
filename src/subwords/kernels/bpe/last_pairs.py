"""The last merge that makes each token: of its pairs, the only one that merging its text reaches."""

from __future__ import annotations

from subwords.kernels import layout
from subwords.kernels.bpe.encode import opened_model
from subwords.kernels.bpe.merge import ask_pairs, merge_tied
from subwords.kernels.jit import I64, I64s, Int, U8s, kernel, pointer
from subwords.kernels.layout import BPEModel, BPEScratch


@kernel
def last_pairs(data: U8s, offsets: I64s, ids: I64s, bpe: BPEModel, scratch: BPEScratch, pairs: I64s) -> Int:
    """Write the two symbols of each token before its last merge, or MISSING twice if merging never leaves two.

    The model knows every byte; the scratch has room for the longest token and TIED_SCRATCH.
    """
    model, text, start, token, out = (
        opened_model(bpe, scratch),
        pointer(data),
        pointer(offsets),
        pointer(ids),
        pointer(pairs),
    )
    symbols = model.merges.symbols
    for k in range(len(ids)):
        at, n = start[token[k]], start[token[k] + 1] - start[token[k]]
        for i in range(n):
            symbols[i] = model.alphabet[text[at + i]]
        left = I64(1)
        if n > 1:
            ask_pairs(model.merges, n)
            left = merge_tied(model.merges, n, 2)
        out[2 * k], out[2 * k + 1] = layout.MISSING, layout.MISSING
        if left == 2:
            out[2 * k], out[2 * k + 1] = symbols[0], symbols[1]
    return 0
