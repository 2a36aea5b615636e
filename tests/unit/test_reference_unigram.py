"""Unigram as the textbook has it: the documents' numbers, and the parts one by one (U1, U2)."""

from __future__ import annotations

import random
from math import exp, lgamma, log, prod

import pytest

from subwords.reference import unigram
from subwords.reference.unigram import (
    best_segmentation,
    corpus_loss,
    estimate,
    exp_digamma,
    expected_counts,
    ln,
    log_shares,
    loss_if_removed,
    losses,
    nats_per_word,
    piece_counts,
    prune,
    seeds,
    segmentations,
    substring_counts,
    train,
)

WORDS = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
# Document 003: all substrings but for the words that are in no other word.
SEEDS = {"h": 15, "u": 36, "g": 20, "hu": 15, "ug": 20, "p": 17, "pu": 17, "n": 16, "un": 16, "b": 4, "bu": 4, "s": 5}
SEEDS |= {"hug": 15, "gs": 5, "ugs": 5}
BEST = {
    "hug": (["hug"], 0.07142857142857142),
    "pug": (["pu", "g"], 0.007709750566893424),
    "pun": (["pu", "n"], 0.006167800453514739),
    "bun": (["bu", "n"], 0.0014512471655328798),
    "hugs": (["hug", "s"], 0.0017006802721088435),
}
SCORES = log_shares(SEEDS)


def probability(pieces: list[str]) -> float:
    return prod(SEEDS[piece] / 210 for piece in pieces)


def test_seeds_of_the_documents() -> None:
    assert substring_counts(WORDS, whole_words=False) == SEEDS
    assert sum(SEEDS.values()) == 210


def test_segmentations_of_pug() -> None:
    got = {" ".join(pieces): probability(pieces) for pieces in segmentations("pug", SEEDS)}
    ref = {"p u g": 0.0013216715257531584, "p ug": 0.007709750566893424, "pu g": 0.007709750566893424}
    assert got == pytest.approx(ref, rel=1e-15)


@pytest.mark.parametrize("word", WORDS)
def test_best_segmentations_of_the_documents(word: str) -> None:
    pieces, ref = BEST[word]
    found, score = best_segmentation(word, SCORES)
    assert exp(score) == pytest.approx(ref, rel=1e-14)
    # Ties: the documents take the longest first piece, encoders the longest last one (U5).
    assert probability(found) == probability(pieces) == max(map(probability, segmentations(word, SEEDS)))


def test_losses_of_the_documents() -> None:
    assert corpus_loss(WORDS, SCORES) == pytest.approx(169.80283910873771, rel=1e-14)
    assert loss_if_removed("hug", WORDS, SCORES) == pytest.approx(23.51375257163477, rel=1e-12)
    assert loss_if_removed("pu", WORDS, SCORES) == pytest.approx(0.0, abs=1e-12)


# ------------------------------------------------------------------ parts, by enumeration


def random_model(rng: random.Random) -> dict[str, float]:
    pieces = {"".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(12)} | set("abc")
    return {piece: rng.uniform(0.01, 0.3) for piece in sorted(pieces)}


def test_best_segmentation_is_the_best_of_all() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        scores = {piece: log(share) for piece, share in random_model(rng).items()}
        word = "".join(rng.choices("abc", k=rng.randint(1, 9)))
        for without in (None, word):
            every = segmentations(word, scores.keys() - {without})
            pieces, score = best_segmentation(word, scores, without)
            ref = max((sum(scores[piece] for piece in way) for way in every), default=float("-inf"))
            assert score == pytest.approx(ref, abs=1e-12), f"seed {seed}"
            assert "".join(pieces) == (word if ref > float("-inf") else "")


def test_expected_counts_and_nats_are_those_of_all_segmentations() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        model = random_model(rng)
        words = {"".join(rng.choices("abc", k=rng.randint(1, 8))): rng.randint(1, 9) for _ in range(4)}
        ref, nats = dict.fromkeys(model, 0.0), 0.0
        shares = {piece: value / sum(model.values()) for piece, value in model.items()}
        for word, count in words.items():
            ways = list(segmentations(word, model))
            likely = [prod(model[piece] for piece in way) for way in ways]
            for way, value in zip(ways, likely, strict=True):
                for piece in way:
                    ref[piece] += count * value / sum(likely)
            nats -= count * log(sum(prod(shares[piece] for piece in way) for way in ways))
        got = {piece: number / 2.0**40 for piece, number in expected_counts(words, model, 40).items()}
        assert got == pytest.approx(ref, abs=1e-9), f"seed {seed}"
        scores = {piece: log(share) for piece, share in model.items()}
        assert nats_per_word(words, scores) == pytest.approx(nats / sum(words.values()), rel=1e-12)


def test_nats_of_a_long_word_do_not_vanish() -> None:
    assert nats_per_word({"ab" * 4_000: 1}, {"a": 0.0, "b": 0.0}) == pytest.approx(8_000 * log(2), rel=1e-9)


def test_estimation_never_lowers_the_likelihood() -> None:
    # Without the sparse prior, expectation maximisation climbs.
    rng = random.Random(5)
    words = {"".join(rng.choices("abc", k=rng.randint(1, 8))): rng.randint(1, 9) for _ in range(30)}
    model, before = random_model(rng), float("inf")
    for _ in range(10):
        expected = expected_counts(words, model, 32)
        model = {piece: max(number, 1) / sum(expected.values()) for piece, number in expected.items()}
        now = nats_per_word(words, {piece: log(share) for piece, share in model.items()})
        assert now <= before + 1e-9
        before = now


def test_estimate_keeps_characters_and_as_many_as_asked_for() -> None:
    expected = {"a": 0, "ab": 7, "ba": 8, "bb": 6, "b": 40}
    assert list(estimate(expected, 4, 0)) == ["a", "ba", "b"]
    assert list(estimate(expected, 4, 4)) == ["a", "ab", "ba", "b"]
    got = estimate(expected, 4, 0)
    assert got["a"] == got["ba"] == exp_digamma(0.5) / exp_digamma(3.5)


def test_losses_and_pruning_by_hand() -> None:
    scores = {"a": -1.0, "b": -2.0, "ab": -2.5, "ba": -3.5, "aab": -9.0}
    counts = {"a": 4, "b": 1, "ab": 2, "ba": 0, "aab": 0}
    ref = 2 * (log(2 / 7) - log(6 / 9) - log(3 / 9))
    assert losses(counts, scores) == {"ab": pytest.approx(ref, rel=1e-12)}
    words = {"abaa": 3}
    assert piece_counts(words, scores) == {"a": 6, "b": 0, "ab": 3, "ba": 0, "aab": 0}
    assert prune(words, scores, 3, 0) == {"a", "b", "ab"}
    assert prune(words, scores, 2, 2) == {"a", "b"}
    assert prune(words, scores, 4, 4) == {"a", "b", "ab", "ba"}


# ------------------------------------------------------------------ seeds (U1)


def test_word_always_followed_by_a_blank_is_a_seed() -> None:
    assert "▁zebra" in seeds({"▁x": 300, "▁zebra": 300, "▁y": 300}, 1_000, 16)
    assert "▁zebra" in train({"▁x": 300, "▁zebra": 300, "▁y": 300}, 10)


def test_seeds_stand_for_all_substrings() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        words = {"".join(rng.choices("ab", k=rng.randint(1, 9))): rng.randint(1, 4) for _ in range(rng.randint(1, 6))}
        longest = rng.choice([2, 3, 5, 20])
        found, counts = seeds(words, 10**6, longest, 1), substring_counts(words, longest)
        for piece, count in counts.items():
            longer = [other for other in found if other.startswith(piece) and counts[other] == count]
            assert longer, f"seed {seed}: {piece}"
        assert all(share == counts[piece] * len(piece) for piece, share in found.items())


def test_seeds_of_greatest_share_are_taken() -> None:
    assert list(seeds({"ab": 5, "cd": 5, "efg": 3}, 2, 16))[7:] == ["ab", "cd"]
    assert list(seeds({"ab": 5, "cd": 5, "efg": 4}, 1, 16))[7:] == ["efg"]
    assert "efgh" not in seeds({"efgh": 1}, 9, 16)
    assert "efgh" in seeds({"efgh": 1}, 9, 16, min_frequency=1)


# ------------------------------------------------------------------ the whole


@pytest.mark.parametrize("size", [7, 8, 10, 12])
def test_train_meets_the_size(size: int) -> None:
    scores = train(WORDS, size)
    assert len(scores) == size
    assert set("hugpnbs") <= scores.keys()
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


@pytest.mark.parametrize("size", [6, 100])
def test_train_says_what_does_not_fit(size: int) -> None:
    with pytest.raises(ValueError, match=rf"from 7 \(characters\) to \d+ \(seeds\), not {size}"):
        train(WORDS, size)


# ------------------------------------------------------------------ arithmetic


def test_ln() -> None:
    rng = random.Random(1)
    for _ in range(10_000):
        x = rng.choice([rng.random(), rng.uniform(0, 1e9), 2.0 ** rng.uniform(-900, 900)])
        assert ln(x) == pytest.approx(log(x), rel=1e-15, abs=1e-15)
    assert unigram.ln(2**60) == pytest.approx(60 * log(2), rel=1e-15)


def test_exp_digamma() -> None:
    for x in (0.5, 0.7, 1.0, 2.5, 7.9, 8.0, 8.1, 30.0, 1e4):
        slope = (lgamma(x * (1 + 1e-5)) - lgamma(x * (1 - 1e-5))) / (2e-5 * x)
        assert log(exp_digamma(x)) == pytest.approx(slope, abs=1e-6)
    assert exp_digamma(1.0) == pytest.approx(exp(-0.57721566490153286), rel=1e-9)
