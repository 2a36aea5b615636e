"""A text with safe cuts by vocabulary: the same ids as without, in streams of a few kilobytes."""

from __future__ import annotations

import random

import subwords
from subwords.engine import encoder as encoders
from subwords.models.families import encoder_of
from subwords.split.splitter import SplitterEngine

tok = subwords.train(["文字和词 文字 词和 字和 ไทยคำ คำไทย", "the words"] * 3, vocab_size=280)
rng = random.Random(7)
words = ("文字和词文字", "人", "字", "ไทยคำไทย", "的一是不了人", "the", "é文😀字", "和" * 40)
text = " ".join(rng.choices(words, k=250)).encode() + b"\xe4\xb8 " + "人是人是人".encode()
ids = []
for limit in (len(text), 0):
    encoders.CUT_TEXT = limit
    encoder = encoder_of(tok.model, SplitterEngine.of(tok.splitter))
    ids.append(encoder.encode(text).tolist())
    ids.append(encoder.encode_batch([text, b"", text[:300]], 1).to_lists()[0])
assert ids == [ids[0]] * 4
