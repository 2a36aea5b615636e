"""BPE on the words' table: `encode.py` with the segmentation of `segment.py`."""

from __future__ import annotations

from subwords.kernels.bpe.merge import BESIDE, Merges
from subwords.kernels.bpe.segment import SEED, TIED, Model, segment
from subwords.kernels.jit import U64, I32s, I64s, Int, Parts, U8s, U32s, U64s, advance, kernel, pointer
from subwords.kernels.table.encode import Family, encode_all, never_fleeting, opened, settled
from subwords.kernels.table.keys import KEYS


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
    frame: Parts[U64s, U64s, I32s, U8s, I32s, U64s, I32s, I32s, I64s, U32s, I32s, I32s, I32s, U64s, I32s, I32s, I64s],
) -> Int:
    """Append the ids of words to the `filled` ids in `out`; see `encode.encode_all`.

    frame: slots, seeds, ids, arena (the table), alphabet, pairs, results, classes, settings, firsts, spans, fallback,
    parted (the model), wide, narrow, chains (scratch), state; see `bpe/encode.py`. Same ids as
    `reference.bpe.encode_word`, word by word.
    """
    alphabet, pairs, settings = frame[4], frame[5], pointer(frame[8])
    wide, narrow, chains = frame[13], frame[14], frame[15]
    keys, work = pointer(wide), pointer(narrow)
    scratch = len(narrow) // 12
    merges = Merges(
        pairs=pointer(pairs),
        mask=U64(len(pairs) - 1),
        seed=U64(settings[SEED]),
        results=pointer(frame[6]),
        classes=pointer(frame[7]),
        tied=settings[TIED],
        symbols=work,
        found=advance(keys, KEYS),
        links=advance(work, scratch),
        entries=advance(work, 3 * scratch),
        order=advance(work, 9 * scratch),
        chains=pointer(chains),
        heap=advance(pointer(chains), len(chains) // 4 * 3),
        waiting=advance(keys, KEYS + scratch + BESIDE),
    )
    model = Model(
        alphabet=pointer(alphabet),
        firsts=pointer(frame[9]),
        spans=pointer(frame[10]),
        fallback=pointer(frame[11]),
        parted=pointer(frame[12]),
        by_character=len(alphabet) > 256,
        settings=settings,
        scratch=scratch,
        merges=merges,
    )
    table = opened(frame[0], frame[1], frame[2], frame[3], frame[16])
    p, e, mark, o = pointer(text), pointer(ends), pointer(marks), pointer(out)
    family = Family(segment, settled, never_fleeting)
    return encode_all(family, model, table, p, len(text), start, e, words, mark, texts, keys, o, len(out), filled)
