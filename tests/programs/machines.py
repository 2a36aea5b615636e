"""Transducers on their fast and slow paths: plain, packed and invalid text, far ends, little room, cuts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import subwords
from parts import part_of
from subwords.reference.pattern import pre_tokenize
from subwords.split.routes import SplitBuffers
from subwords.split.splitter import SplitterEngine

plain = "It's 1,234 o'clock; DON'T\n\n  stop x_y " * 12
dense = "слово и 文字, naïve कि 12 😀\u3000 " * 12
far = "\n" + " " * 40 + "\n" + "a b " * 60 + "\r" + " " * 30
mixed = (plain + dense * 2 + plain).encode() + b"\xff\xc3 x\xe2\x82" * 30
texts = [b"", plain.encode(), b"", dense.encode(), far.encode(), mixed, b"1" * 900, b"1", "文".encode() * 300, b" "]
data, bounds = np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)], dtype=np.int64)
for name in part_of(("gpt2", "llama3", "qwen2", "deepseek-v3", "bert", "gemma")):
    rule = SplitterEngine.of(subwords.splitter(name))
    ref = [piece for text in texts for piece, _ in pre_tokenize(text, rule.rule)]
    for room in (1024, 32768):
        got, at = [], 0
        for words_of, base, ends, upto, _ in rule.texts(data, bounds, SplitBuffers(room)):
            places = [base, *(base + ends[: upto[-1]].astype(np.int64)).tolist()]
            got += [words_of[a:b].tobytes().decode("utf-8", "surrogateescape") for a, b in pairwise(places)]
        assert got == ref, (name, room)
    text = np.frombuffer(mixed, np.uint8)
    whole = rule.byte_spans(text).tolist()
    for at in (0, 1, 2, 500, 700, len(mixed)):
        cut = rule.cut(text, at)
        assert 0 <= cut <= at
        right = [[cut + a, cut + b] for a, b in rule.byte_spans(text[cut:]).tolist()]
        assert rule.byte_spans(text[:cut]).tolist() + right == whole, (name, at)
