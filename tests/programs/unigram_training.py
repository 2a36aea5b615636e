"""Unigram training on threads, against the textbook."""

from __future__ import annotations

import numpy as np

from subwords import splitter
from subwords.corpus.counts import Provenance, WordCounts
from subwords.models.settings import UnigramSettings
from subwords.models.unigram.train import train_unigram
from subwords.reference import unigram as reference

words = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5, "文字😀": 3, "a" * 40 + "hugs" * 9: 2, "x" * 9: 1}
rule = splitter("gpt2")
counts = WordCounts(
    np.frombuffer("".join(words).encode(), np.uint8),
    np.cumsum([0, *(len(word.encode()) for word in words)]),
    np.array(list(words.values()), np.uint64),
    Provenance(rule.identity, None, rule.unicode_version, ()),
)
for size, longest in ((14, 16), (30, 5), (40, 16)):
    ref = reference.train(words, size, longest=longest)
    settings = UnigramSettings(vocab_size=size, max_piece_length=longest, unk_token=None)
    got = train_unigram(counts, settings, threads=2)
    assert [piece.decode() for piece in got.vocab] == list(ref)
    assert got.scores.tolist() == list(ref.values())
