"""BPE by scores, with ties, byte fallback and unused pieces, against the textbook."""

from __future__ import annotations

import random

from engines import splitter
from subwords.models.bpe.model import BPE
from subwords.models.families import encoder_of
from subwords.reference.bpe import encode_word_scores

rng = random.Random(3)
for fallback in (False, True):
    for _ in range(12):
        pieces = {"".join(rng.choices("abé", k=rng.choice([1, 2, 2, 3, 4, 6]))).encode() for _ in range(25)}
        scores = {piece: rng.choice([-1.0, -2.0, -3.0]) for piece in sorted(pieces)}
        tokens = [b"<unk>", *([b"<0x%02X>" % byte for byte in range(256)] if fallback else []), *scores]
        lost = len(tokens) - len(scores)
        unused = [i for i in range(lost, len(tokens)) if rng.random() < 0.2]
        model = BPE.from_scores(
            tokens,
            [0.0] * lost + [*scores.values()],
            unk_id=0,
            byte_fallback=fallback,
            special_ids=range(lost),
            unused_ids=unused,
        )
        encoder = encoder_of(model, splitter(r"(?s:.+)"))
        for length in (1, 5, 56, 57, 90):
            word = "".join(rng.choices("aabbé文", k=length)).encode()
            ref = encode_word_scores(word, scores, byte_fallback=fallback, unused=[tokens[i] for i in unused])
            assert [tokens[i] for i in encoder.encode(word).tolist()] == ref
