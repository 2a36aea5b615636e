"""Unigram training equals the textbook's, bit by bit: pieces, order and scores (U1-U3)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import subwords
from peer_trained import OPTICKS
from strategies import counts_of, settings_of, train_model
from subwords.reference import unigram as reference
from test_modes import GUARDED, run

LETTERS = ("ab", "abc", "abcdefgh", "▁aé文😀", "a\0b")
BIG = (2**31 - 1, 2**32, 2**40)


def learned(words: Mapping[str, int], size: int, *, threads: int = 1, **options: Any) -> list[tuple[str, float]]:
    if "longest" in options:
        options["max_piece_length"] = options.pop("longest")
    settings = settings_of("unigram", vocab_size=size, unk_token=None, **options)
    model = train_model(
        "unigram", counts_of({word.encode(): count for word, count in words.items()}), settings, threads=threads
    )
    return [(piece.decode(), score) for piece, score in zip(model.vocab, model.scores.tolist(), strict=True)]


def train_both(words: Mapping[str, int], size: int, **options: Any) -> tuple[Any, Any]:
    """Pieces and scores of the textbook and of the kernels, or the same word for what does not fit."""
    try:
        ref: Any = list(reference.train(words, size, **options).items())
    except ValueError:
        ref = "does not fit"
    try:
        got: Any = learned(words, size, **options)
    except subwords.TrainingError as error:
        assert str(error).startswith("vocab_size ")
        got = "does not fit"
    return ref, got


def random_words(rng: random.Random, letters: str, most: int, big: bool) -> dict[str, int]:
    words = {}
    for _ in range(rng.randint(1, most)):
        word = "".join(rng.choices(letters, k=rng.randint(1, rng.choice([3, 8, 24]))))
        words[word] = rng.choice([1, 1, 1, 2, 3, 4, 5, rng.randint(1, 50), rng.choice(BIG) if big else 4])
    return words


def random_options(rng: random.Random) -> dict[str, Any]:
    return {
        "seed_size": rng.choice([1_000_000, 1_000_000, 10, 30, 0]),
        "shrinking_factor": rng.choice([0.75, 0.75, 0.5, 0.9, 0.123]),
        "sub_iterations": rng.choice([2, 2, 1, 3]),
        "longest": rng.choice([16, 16, 1, 2, 3, 5, 100]),
        "min_frequency": rng.choice([2, 2, 1, 3]),
    }


def check_corpus(seed: int) -> bool:
    """Whether there was something to compare."""
    rng = random.Random(seed)
    words = random_words(rng, rng.choice(LETTERS), rng.choice([3, 10, 30]), seed % 10 == 0)
    options = random_options(rng)
    possible = len(reference.seeds(words, options["seed_size"], options["longest"], options["min_frequency"]))
    size = rng.choice([possible, possible + 1, rng.randint(1, possible), rng.randint(1, possible), possible // 3 + 1])
    ref, got = train_both(words, size, **options)
    assert got == ref, f"seed {seed}"
    return ref != "does not fit"


def test_random_corpora() -> None:
    assert sum(check_corpus(seed) for seed in range(200)) > 100


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(10))
def test_many_random_corpora(part: int) -> None:
    assert sum(check_corpus(seed) for seed in range(200 + part, 12_000, 10)) > 600


@pytest.fixture(scope="module")
def english() -> dict[str, int]:
    with OPTICKS.open(encoding="utf-8") as file:
        words: dict[str, int] = {}
        for word in (word for line in islice(file, 3_000) for word in line.split()):
            words["▁" + word] = words.get("▁" + word, 0) + 1
    return dict(islice(words.items(), 2_000))


def test_words_too_unlikely_for_plain_floats_unless_raised() -> None:
    # 1e-200 is far below the 2**-256 from which on kernels raise, and what the textbook's floats still hold.
    rng = random.Random(7)
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    words = {"".join(rng.choices(letters, k=rng.randint(80, 90))): rng.randint(1, 3) for _ in range(30)}
    ref, got = train_both(words, 260)
    assert got == ref


@pytest.mark.rotating(2)
@pytest.mark.parametrize("size", [300, 1_500])
def test_real_text(english: dict[str, int], size: int) -> None:
    ref, got = train_both(english, size)
    assert got == ref
    assert len(got) == size


def test_real_text_without_blanks(data: Path) -> None:
    with (data / "corpora" / "ja.txt").open(encoding="utf-8") as file:
        words = {line[:80]: 1 for line in islice(file, 150)}
    ref, got = train_both(words, 900)
    assert got == ref
    assert len(got) == 900


# ------------------------------------------------------------------ the modes of the compiled tier


def test_interpreted_and_within_its_arrays(tmp_path: Path) -> None:
    got = run([GUARDED, "unigram_training"], tmp_path, SUBWORDS_KERNELS="interpreted")
    assert got == ("interpreted", False)


@pytest.mark.sweep
def test_checked(tmp_path: Path) -> None:
    assert run(["unigram_training"], tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)
