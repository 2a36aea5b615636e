"""BPE on the words' table: `encode.py` with the segmentation of `segment.py`."""

from __future__ import annotations

from subwords.kernels.encode import encode_all, opened
from subwords.kernels.jit import U64, I32s, I64s, Int, Parts, U8s, U32s, U64s, advance, kernel, pointer
from subwords.kernels.merge import Merges
from subwords.kernels.segment import SEED, Model, segment
from subwords.kernels.words import KEYS


@kernel
def encode_words(
    text: U8s,
    start: Int,
    ends: U32s,
    words: Int,
    marks: I64s,
    texts: Int,
    out: U32s,
    filled: Int,
    frame: Parts[U64s, U64s, I32s, U8s, I32s, U64s, I32s, I64s, U32s, I32s, U64s, I32s, I32s, I64s],
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `encode.encode_all`.

    frame: slots, seeds, ids, arena (the table), alphabet, pairs, results, settings, firsts, spans (the model), wide,
    narrow, chains (scratch), state; see `bpe/encode.py`. Same ids as `reference.bpe.encode_word`, word by word.
    """
    alphabet, pairs, settings = frame[4], frame[5], pointer(frame[7])
    wide, narrow, chains = frame[10], frame[11], frame[12]
    keys, work = pointer(wide), pointer(narrow)
    scratch = len(wide) - KEYS
    merges = Merges(
        pairs=pointer(pairs),
        mask=U64(len(pairs) - 1),
        seed=U64(settings[SEED]),
        results=pointer(frame[6]),
        symbols=work,
        found=advance(keys, KEYS),
        links=advance(work, scratch),
        entries=advance(work, 3 * scratch),
        order=advance(work, 9 * scratch),
        chains=pointer(chains),
        heap=advance(pointer(chains), len(chains) // 4 * 3),
    )
    firsts, spans = pointer(frame[8]), pointer(frame[9])
    model = Model(pointer(alphabet), firsts, spans, len(alphabet) > 256, settings, scratch, merges)
    table = opened(frame[0], frame[1], frame[2], frame[3], frame[13])
    p, e, mark, o = pointer(text), pointer(ends), pointer(marks), pointer(out)
    return encode_all(segment, model, table, p, len(text), start, e, words, mark, texts, keys, o, len(out), filled)
