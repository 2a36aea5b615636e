"""Counting behind a normalizer that looks at the ends of texts: the same wherever texts are cut (S4)."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import subwords
from engines import normalizer
from inside import Block, Pipeline, Specials, count_blocks, cut_blocks

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
SPACED = "▁[^▁]*|[^▁]+"


def blocks_of(texts: list[str], size: int) -> list[Block]:
    """The texts, cut between any two characters into blocks of about this size."""
    blocks: list[Block] = []
    data, ends = b"", []
    for text in filter(None, texts):
        for start in range(0, len(text), size):
            data += text[start : start + size].encode()
            if start + size >= len(text):
                ends.append(len(data))
            if len(data) >= size:
                blocks.append(Block(data, np.array(ends, np.int64), "text", 0))
                data, ends = b"", []
    return [*blocks, Block(data, np.array(ends, np.int64), "text", 0)] if data else blocks


@pytest.mark.rotating(3)
@pytest.mark.parametrize("rule", ["sentencepiece", SPACED])
@pytest.mark.parametrize("before", ["sentencepiece", ["nfkc", "sentencepiece"], ["strip", "lowercase"]])
@pytest.mark.parametrize("special", [(), ("<s>", " y")])
def test_blocks_of_any_size(rule: str, before: object, special: tuple[str, ...]) -> None:
    seed = 4
    print(f"seed {seed}")
    rng = random.Random(seed)
    parts = ["a", "bc", " ", "  ", "\n", "\u3000", "é", "1", ",", "▁", "字", "<s>", " y", "\t", "ﬁ"]
    texts = ["".join(rng.choices(parts, k=rng.choice([0, 1, 5, 400, 3000]))) for _ in range(25)]
    texts += ["  ", " " * 900 + "a" + " " * 900]
    words = Pipeline(normalizer(before), subwords.splitter(rule))
    ref = dict(count_blocks(blocks_of(texts, 1 << 20), words, special_tokens=special))
    for size in (1, 7, 64, 1000, 4096):
        for threads in (1, 2):
            got = dict(count_blocks(blocks_of(texts, size), words, special_tokens=special, threads=threads))
            assert got == ref, size


@pytest.mark.parametrize("rule", ["sentencepiece", SPACED])
def test_a_long_text_is_cut(rule: str) -> None:
    # Or all of a file would have to be in memory.
    text = OPTICKS.read_text("utf-8")
    words = Pipeline(normalizer("sentencepiece"), subwords.splitter(rule))
    parts = list(cut_blocks(blocks_of([text], 1 << 14), words.cut, Specials(())))
    assert len(parts) > len(text) >> 15
    assert max(len(piece.text) for piece in parts) < 1 << 15
    assert [piece.begins for piece in parts] == [True] + [False] * (len(parts) - 1)
    assert [piece.ends for piece in parts] == [False] * (len(parts) - 1) + [True]
