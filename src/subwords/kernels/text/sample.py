"""Which documents a sample keeps: a hash of their first bytes decides."""

from __future__ import annotations

from subwords.kernels.jit import I64, U64, I64s, Int, U8s, helper, kernel, pointer

BASIS, PRIME = U64(0xCBF29CE484222325), U64(0x100000001B3)  # FNV-1a, 64 bits
OF_SEED, FIRST_FACTOR, SECOND_FACTOR = U64(0x9E3779B97F4A7C15), U64(0xFF51AFD7ED558CCD), U64(0xC4CEB9FE1A85EC53)
HALF, TO_53 = U64(33), U64(11)


@helper
def text_hash(text, i, stop, seed):
    """FNV-1a of text[i:stop] with the seed mixed in, then the finalizer of MurmurHash3."""
    state = BASIS
    while i < stop:
        state = (state ^ U64(text[i])) * PRIME
        i += 1
    state ^= U64(seed) * OF_SEED
    state = (state ^ state >> HALF) * FIRST_FACTOR
    state = (state ^ state >> HALF) * SECOND_FACTOR
    return state ^ state >> HALF


@kernel
def keep_texts(text: U8s, bounds: I64s, seed: Int, head: Int, limit: Int, kept: U8s) -> Int:
    """Write whether each text text[bounds[k]:bounds[k + 1]] is kept, by its first `head` bytes; 0.

    It is kept if the first 53 bits of its hash are below `limit`.
    """
    p, b, o = pointer(text), pointer(bounds), pointer(kept)
    for k in range(len(bounds) - 1):
        i = b[k]
        found = text_hash(p, i, min(b[k + 1], i + head), seed)
        o[k] = 1 if I64(found >> TO_53) < limit else 0
    return 0
