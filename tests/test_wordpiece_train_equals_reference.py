"""WordPiece training equals the textbook's, token by token: scores, tie rules, limits, specials (P1, P2, B2-B6, W2)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest

import subwords
from inside import kernels_layout as layout
from inside import models_wordpiece_train as scores
from peer_trained import OPTICKS
from strategies import counts_of, settings_of
from subwords.reference import wordpiece as reference

SCORES, TIES = ("likelihood", "course", "count"), ("ids", "first", "bytes")
LETTERS = ("ab", "abc", "abcdef", "a#b", "aé文b")
# Some are symbols, some what a merge spells (B5).
SPECIALS = (["[UNK]"], ["[UNK]", "##a"], ["[UNK]", "ab", "##ab", "##a#"], ["[PAD]", "[UNK]", "aa", "##aa"])
BIG = (2**31 - 1, 2**32, 2**40)


def learned(words: Mapping[str, int], **options: Any) -> list[str]:
    counts = counts_of({word.encode(): count for word, count in words.items()})
    return [token.decode() for token in scores.train_wordpiece(counts, settings_of("wordpiece", **options)).vocab]


def train_both(words: Mapping[str, int], **options: Any) -> tuple[Any, Any]:
    """The vocabulary of the textbook and of the kernels, or the same word for what does not fit."""
    try:
        ref: Any = reference.train(words, **options)[0]
    except ValueError:
        ref = "too small"
    try:
        got: Any = learned(words, **options)
    except subwords.TrainingError as error:
        assert "is too small" in str(error)
        got = "too small"
    return ref, got


def random_words(rng: random.Random, letters: str, most: int, big: bool) -> dict[str, int]:
    words = {}
    for _ in range(rng.randint(1, most)):
        word = "".join(rng.choices(letters, k=rng.randint(1, rng.choice([3, 8, 14]))))
        words[word] = rng.choice([1, 1, 1, 2, 3, 4, 5, rng.randint(1, 50), rng.choice(BIG) if big else 4])
    return words


def random_options(rng: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": rng.randint(8, 70),
        "prefix": rng.choice(["##", "##", "##", "#", "", "a", "é"]),
        "special_tokens": rng.choice(SPECIALS),
        "min_frequency": rng.choice([0, 0, 0, 1, 2, 4]),
        "max_token_length": rng.choice([None, None, None, 1, 2, 3, 5]),
        "limit_alphabet": rng.choice([None, None, None, 1, 2, 3]),
    }


def check_corpus(seed: int, score: str, tie_break: str) -> None:
    rng = random.Random(seed)
    words = random_words(rng, rng.choice(LETTERS), rng.choice([3, 10, 30]), seed % 10 == 0)
    options = random_options(rng)
    ref, got = train_both(words, score=score, tie_break=tie_break, **options)
    assert got == ref, f"seed {seed}"


@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("score", SCORES)
def test_random_corpora(score: str, tie_break: str) -> None:
    for seed in range(25):
        check_corpus(seed, score, tie_break)


@pytest.mark.sweep
@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("score", SCORES)
def test_many_random_corpora(score: str, tie_break: str) -> None:
    for seed in range(25, 2_400):
        check_corpus(seed, score, tie_break)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("score", SCORES)
def test_nothing_but_ties(score: str, tie_break: str) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        words = {"".join(rng.choices("abc", k=rng.randint(2, 9))): 1 for _ in range(20)}
        ref, got = train_both(words, vocab_size=60, score=score, tie_break=tie_break)
        assert got == ref, f"seed {seed}"


# ------------------------------------------------------------------ W2: counts beyond 32 bits


@pytest.mark.parametrize("count", [2**31 - 1, 2**32, 2**40, 2**52])
@pytest.mark.parametrize("score", SCORES)
def test_big_counts(score: str, count: int) -> None:
    words = {"aaaaaaa": count, "ab": 4 * count - 1, "abc": 1, "aaab": count - 1, "ccc": 2 * count - 1, "cd": 40 * count}
    for tie_break in TIES:
        ref, got = train_both(words, vocab_size=40, score=score, tie_break=tie_break)
        assert got == ref


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_course_scores_apart_by_less_than_floating_point_sees(more: int) -> None:
    # n / (n * n) for both pairs, but for one occurrence in 2**54.
    words = {"ab": 2**54 + more, "cd": 2**54}
    ref, got = train_both(words, vocab_size=10, score="course")
    assert got == ref
    assert got[9:] == ["cd" if more > 0 else "ab"]


# ------------------------------------------------------------------ likelihood: what Python decides, and pruning


def test_equal_and_nearly_equal_gains_are_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = []
    decide = scores.ScoreLoop._decide
    monkeypatch.setattr(scores.ScoreLoop, "_decide", lambda loop: decided.append(1) or decide(loop))  # type: ignore[func-returns-value]
    n = 2**50
    for more in (-1, 0, 1):
        words = {"ab": n, "cd": n, "a": 7, "d": n + more, "b": n}
        for tie_break in TIES:
            ref, got = train_both(words, vocab_size=18, score="likelihood", tie_break=tie_break)
            assert got == ref
    assert decided, "the case at hand"


def test_gains_apart_by_few_of_2_to_the_50_occurrences() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        big = 2 ** rng.randint(40, 50)
        words = {"".join(rng.choices("abcd", k=rng.randint(1, 3))): big + rng.randint(-2, 2) for _ in range(8)}
        ref, got = train_both(words, vocab_size=60, score="likelihood", tie_break=TIES[seed % 3])
        assert got == ref, f"seed {seed}"


@pytest.mark.rotating(3)
@pytest.mark.parametrize("score", SCORES)
def test_lengths_of_tokens_that_spell_the_prefix(score: str) -> None:
    # "##ab" of "#" and "###ab" has two characters, not four.
    words = {"##abd": 3, "c#ab": 50}
    for most in range(1, 6):
        for size in range(12, 30):
            ref, got = train_both(words, vocab_size=size, score=score, max_token_length=most)
            assert got == ref


@pytest.mark.rotating(2)
@pytest.mark.parametrize("threshold", [1, 2, 10, 1000, 2**40])
def test_pruning_changes_nothing(threshold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    index, used = scores.ScoreLoop._index, list[int]()

    def spy(loop: scores.ScoreLoop) -> None:
        if not loop.counters[layout.TALLY.merges]:
            least = min(threshold, used[-1] // 2 if used else threshold)
            loop.settings[layout.TRAIN.threshold] = max(int(loop.settings[layout.TRAIN.floor]), least)
        used.append(int(loop.settings[layout.TRAIN.threshold]))
        index(loop)

    monkeypatch.setattr(scores.ScoreLoop, "_index", spy)
    for seed in range(30):
        used.clear()
        check_corpus(seed, "likelihood", TIES[seed % 3])


@pytest.mark.parametrize("prefix", ["##", "a"])
def test_growing_strings(prefix: str) -> None:
    ref, got = train_both({"a" * 70_000: 1}, vocab_size=90, score="likelihood", prefix=prefix)
    assert got == ref
    assert sum(map(len, got)) > 1 << 16


@pytest.mark.parametrize("score", ["course", "likelihood"])
def test_table_of_pairs_grows(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grow, grown = scores.ScoreLoop._grow_pairs, []
    words = random_words(random.Random(4), "abcdefgh", 2_000, False)
    ref = learned(words, vocab_size=1_500, score=score)
    monkeypatch.setattr(scores.ScoreLoop, "_grow_pairs", lambda loop: grown.append(1) or grow(loop))  # type: ignore[func-returns-value]
    monkeypatch.setattr(scores.ScoreLoop, "_room", lambda loop, pairs: max(pairs, layout.PAIR_BLOCK // 2))
    assert learned(words, vocab_size=1_500, score=score) == ref
    assert len(grown) > 3


# ------------------------------------------------------------------ a real text


@pytest.fixture(scope="module")
def english() -> dict[str, int]:
    with OPTICKS.open(encoding="utf-8") as file:
        counts = reference.count_words(islice(file, 3_000))
    return dict(islice(counts.items(), 1_500))


@pytest.mark.rotating(2)
@pytest.mark.parametrize(("score", "least"), [("likelihood", 0), ("course", 0), ("course", 5), ("count", 0)])
def test_real_text(english: dict[str, int], score: str, least: int) -> None:
    ref, got = train_both(english, vocab_size=220, score=score, min_frequency=least)
    assert got == ref
    assert len(got) == 220


@pytest.mark.sweep
@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("score", SCORES)
def test_real_text_to_later_merges(english: dict[str, int], score: str, tie_break: str) -> None:
    ref, got = train_both(english, vocab_size=800, score=score, tie_break=tie_break)
    assert got == ref
