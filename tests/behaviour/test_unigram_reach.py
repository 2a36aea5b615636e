"""Unigram training leaves no piece that no text yields (U2): audit finds each in the segmentation of its own text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import subwords


def unreachable(tok: subwords.Tokenizer) -> list[str]:
    return [finding.message for finding in subwords.study.audit(tok).findings if finding.rule == "unreachable-token"]


def random_text(seed: int) -> list[str]:
    """Many short words of three letters: a piece and its parts are often nearly equal in probability."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abc", weights=[6, 3, 2], k=rng.randint(1, 4))) for _ in range(1_500)]
    return [" ".join(rng.choices(words, weights=[1 / (k + 1) for k in range(1_500)], k=600)) for _ in range(6)]


def test_pieces_are_the_segmentation_of_their_text() -> None:
    for seed in range(12):
        for size in (30, 60, 120):
            tok = subwords.train(random_text(seed), algorithm="unigram", vocab_size=size)
            assert len(tok.vocab) == size
            assert unreachable(tok) == [], (seed, size)


@pytest.mark.parametrize(("name", "size"), [("de", 2_000), ("ru", 4_000)])
def test_real_text(shared_data: Path, name: str, size: int) -> None:
    tok = subwords.train(shared_data / "corpora" / f"{name}.txt", algorithm="unigram", vocab_size=size)
    assert len(tok.vocab) == size
    assert unreachable(tok) == []
