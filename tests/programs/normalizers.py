"""Normalizers on blocks and on single characters: marks to sort, characters to compose, invalid UTF-8."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from engines import normalizer
from parts import part_of
from subwords.normalize.stages import Position
from subwords.reference import normalize as reference
from subwords.spec.normalizer import NAMED, Prepend, Replace, Strip


def size(char):
    return len(char.encode("utf-8", "surrogateescape"))


hard = "Ça VA\u3000각 \x00ﬁ中 İΣ e\u0323\u0301\u0345 \U0001d15e\u0f73 한\u1161\u11a8 naïve\tx\ufffd  "
plain = "Plain English, long enough for whole blocks. " * 4
texts = ["", hard, plain, "é" * 70 + "中" * 40, "e" + "\u0345\u0301\u0323" * 30, f"{hard}\udcff\udce4{plain}\udcc3"]
datas = [np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8) for text in texts]
bounds = np.cumsum([0, *map(len, datas)], dtype=np.int64)
for rule in part_of((*NAMED, [Strip(), Prepend("▁"), Replace(" ", "▁")], ["nfd", Replace("e", "\u0301" * 90)])):
    known, refs = normalizer(rule), []
    for text, data in zip(texts, datas, strict=True):
        ref, places = reference.normalize(text, known.steps)
        refs.append(ref.encode("utf-8", "surrogateescape"))
        ends = np.cumsum([0, *map(size, text)]).tolist()
        spans = [[ends[at], ends[at + 1]] if at >= 0 else [0, 0] for at in places]
        got, origin = known.aligned(data)
        assert got.tobytes() == refs[-1], (rule, text)
        # SentencePiece's bytes end where the next ones begin.
        ref_origin = [span for char, span in zip(ref, spans, strict=False) for _ in range(size(char))]
        assert rule == "sentencepiece" or origin.T.tolist() == ref_origin, (rule, text)
        for at in range(0, len(data) + 1, 9):
            cut = known.cut(data, at)
            sides = (data[:cut], Position(True, False)), (data[cut:], Position(False, True))
            both = [known.apply(side, np.array([0, len(side)]), part)[0].tobytes() for side, part in sides]
            assert not cut or both[0] + both[1] == refs[-1], (rule, text, at)
    out, ends = known.apply(np.concatenate(datas), bounds)
    assert [out[a:b].tobytes() for a, b in pairwise(ends.tolist())] == refs, rule
