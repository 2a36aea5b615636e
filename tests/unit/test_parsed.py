"""Scores of a tokenizer.json are read as the floats that HF reads."""

from __future__ import annotations

import json
import random
import struct

import numpy as np
import tokenizers

from inside import parsed
from subwords.reference import unigram as reference

SEED = 23


def read_by_hf(scores: list[float]) -> list[float]:
    """What HF has of scores in a file: it writes the shortest form of each."""
    vocab = [["<unk>", 0.0], *([f"p{i}", score] for i, score in enumerate(scores))]
    text = json.dumps({"version": "1.0", "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}})
    written = json.loads(tokenizers.Tokenizer.from_str(text).to_str())["model"]["vocab"]
    return [score for _, score in written[1:]]


def test_any_number_is_read_as_in_hf() -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    scores = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(5000)]
    scores += [rng.uniform(-20, 0) for _ in range(5000)]
    scores += [np.float32(rng.gauss(-10, 5)).item() for _ in range(5000)]
    scores = [score for score in scores if np.isfinite(score)]
    scores += [0.0, -0.0, 1e22, 1e23, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 1e-5, 100.0]
    scores += [123456789012345680.0, -8800207069889529.0]
    found = parsed(np.array(scores)).tolist()
    assert found == read_by_hf(scores)
    assert found != scores
    assert [reference.parsed(score) for score in scores if 1e-200 < abs(score) < 1e200] == [
        score for score, before in zip(found, scores, strict=True) if 1e-200 < abs(before) < 1e200
    ]


def test_what_training_gives_stays() -> None:
    scores = -np.arange(0, 4000) / 128
    assert (parsed(scores) == scores).all()
