"""Unigram training at the door: settings, the model it makes, progress; determinism and awkward corpora (U1-U3)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from inside import BYTE_PIECES, expected_counts, find_seeds, number_text, unit_bits
from strategies import counts_of, settings_of, train_model
from subwords import InputError, SubwordsError, TrainingError, WordCounts
from subwords.machine import Unigram

WORDS = {b"hug": 10, b"pug": 5, b"pun": 12, b"bun": 4, b"hugs": 5}


def trained(words: Mapping[bytes, int] | WordCounts, threads: int = 1, **options: Any) -> Unigram:
    counts = words if isinstance(words, WordCounts) else counts_of(words)
    return train_model("unigram", counts, settings_of("unigram", **options), threads=threads)


def same(one: Unigram, other: Unigram) -> bool:
    return [*one.vocab] == [*other.vocab] and one.scores.tobytes() == other.scores.tobytes()


def spelled(rng: random.Random, letters: str, words: int, most: int) -> dict[bytes, int]:
    parts = ["".join(rng.choices(letters, k=rng.randint(2, 5))) for _ in range(40)]
    return {
        ("▁" + "".join(rng.choices(parts, k=rng.randint(1, most)))).encode(): rng.randint(1, 99) for _ in range(words)
    }


# ------------------------------------------------------------------ the door


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_size": 0}, InputError, r"vocab_size to be an integer from 1"),
        ({"vocab_size": "300"}, InputError, r"vocab_size to be an integer .* not '300'"),
        ({"seed_size": -1}, InputError, r"seed_size to be an integer from 0"),
        ({"sub_iterations": 0}, InputError, r"sub_iterations to be an integer from 1"),
        ({"max_piece_length": 513}, InputError, r"max_piece_length to be an integer from 1 to 512, not 513"),
        ({"min_frequency": True}, InputError, r"min_frequency to be an integer .* not True"),
        ({"shrinking_factor": 1.0}, InputError, r"shrinking_factor to be a number from 0.01 to 0.99, not 1.0"),
        ({"shrinking_factor": float("nan")}, InputError, r"shrinking_factor to be a number"),
        ({"character_coverage": 1.5}, InputError, r"character_coverage to be a number from 0.01 to 1.0, not 1.5"),
        ({"character_coverage": "all"}, InputError, r"character_coverage to be a number .* not 'all'"),
        ({"required_chars": None}, InputError, r"required_chars to be a str, not None"),
        ({"required_chars": "\ud800"}, InputError, r"without lone surrogates"),
        ({"special_tokens": "abc"}, InputError, r"special_tokens to be a list of str, not the str 'abc'"),
        ({"special_tokens": ["a", ""]}, InputError, r"non-empty str, not ''"),
        ({"user_defined": [3]}, InputError, r"non-empty str, not 3"),
        ({"special_tokens": ["x"], "user_defined": ["x"]}, InputError, r"to differ; 'x' is given twice"),
        ({"special_tokens": ["<0x0A>"], "byte_fallback": True}, InputError, r"to differ; '<0x0A>' is given twice"),
        (
            {"vocab_size": 7},
            TrainingError,
            r"vocab_size 7 is too small: .* 7 characters.* 1 special.* tokens, 8 in all\. Raise",
        ),
        ({"vocab_size": 100}, TrainingError, r"vocab_size 100 is too large: .* at most \d\d tokens"),
    ],
)
def test_setting_that_cannot_be_used_is_refused(
    options: dict[str, Any], error: type[SubwordsError], message: str
) -> None:
    with pytest.raises(error, match=message):
        trained(WORDS, **{"vocab_size": 12, **options})


@pytest.mark.parametrize("words", [{}, {b"\xff\xfe": 3}])
def test_corpus_without_text_is_refused(words: dict[bytes, int]) -> None:
    with pytest.raises(TrainingError, match="no words to learn from"):
        trained(words, vocab_size=20)


def test_counts_too_big_for_exact_sums_are_refused() -> None:
    assert len(trained({b"ab": 2**51, b"b": 2**50}, vocab_size=4).vocab) == 4
    with pytest.raises(TrainingError, match=r"fewer than 2\*\*53 bytes"):
        trained({b"ab": 2**52, b"b": 2**50}, vocab_size=4)


def test_every_possible_size_is_met_exactly() -> None:
    with pytest.raises(TrainingError) as error:
        trained(WORDS, vocab_size=1_000)
    most = int(str(error.value).split("at most ")[1].split()[0])
    assert most > 15
    for size in range(8, most + 1):
        model = trained(WORDS, vocab_size=size)
        assert len({*model.vocab}) == size
    with pytest.raises(TrainingError, match=f"at most {most}"):
        trained(WORDS, vocab_size=most + 1)


def test_largest_size_on_random_corpora() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        words = spelled(rng, "abcde", rng.randint(1, 30), 4)
        options = {"seed_size": rng.choice([10, 10**6]), "max_piece_length": rng.choice([2, 6, 16])}
        with pytest.raises(TrainingError) as error:
            trained(words, vocab_size=10**6, **options)
        most = int(str(error.value).split("at most ")[1].split()[0])
        assert len({*trained(words, vocab_size=most, **options).vocab}) == most, f"seed {seed}"


# ------------------------------------------------------------------ the model


def test_ids_are_reserved_tokens_and_then_pieces_by_score() -> None:
    options = {"special_tokens": ["<s>", "</s>"], "byte_fallback": True, "user_defined": ["[A]", "[B]"]}
    model = trained(WORDS, vocab_size=275, **options)
    tokens = [*model.vocab]
    assert tokens[:3] == [b"<unk>", b"<s>", b"</s>"]
    assert tokens[3:259] == [*BYTE_PIECES]
    assert tokens[259:261] == [b"[A]", b"[B]"]
    assert (model.unk_id, model.byte_fallback, model.running) == (0, True, False)
    assert (model.special_ids, model.user_ids) == (frozenset(range(259)), frozenset({259, 260}))
    assert model.scores[:261].tolist() == [0.0] * 261
    learned = model.scores[261:].tolist()
    assert learned == sorted(learned, reverse=True)
    assert 0.5 < np.exp(learned).sum() <= 1.0


def test_unk_token_where_it_was_put() -> None:
    model = trained(WORDS, vocab_size=12, special_tokens=["<pad>", "?"], unk_token="?")
    assert ([*model.vocab][:2], model.unk_id) == ([b"<pad>", b"?"], 1)
    assert trained(WORDS, vocab_size=12, unk_token=None).unk_id is None


def test_reserved_strings_are_not_learned_again() -> None:
    most = trained(WORDS, vocab_size=12)
    assert b"hug" in most.vocab.ids
    model = trained(WORDS, vocab_size=12, special_tokens=["hug"], user_defined=["u"])
    tokens = [*model.vocab]
    assert tokens[:3] == [b"<unk>", b"hug", b"u"]
    assert len({*tokens}) == 12


def test_coverage_leaves_rare_characters_out() -> None:
    words = {b"aab": 50, b"ab": 40, "aéb".encode(): 1, "ab文ab".encode(): 1}
    assert {b"a", b"b", "é".encode(), "文".encode()} <= {*trained(words, vocab_size=6).vocab}
    model = trained(words, vocab_size=5, character_coverage=0.99)
    assert {*model.vocab} == {b"<unk>", b"a", b"b", b"ab", b"aab"}
    kept = trained(words, vocab_size=6, character_coverage=0.99, required_chars="文z")
    assert {b"a", b"b", "文".encode(), b"z", b"<unk>"} < {*kept.vocab}


def test_character_the_text_lacks_has_the_lowest_score() -> None:
    model = trained(WORDS, vocab_size=14, required_chars="zß")
    scores = dict(zip(model.vocab, model.scores.tolist(), strict=True))
    assert scores[b"z"] == scores["ß".encode()] == min(scores.values())


def test_bytes_that_are_no_text_part_words() -> None:
    model = trained({b"ab\xffcd": 9, b"ab": 3, b"cd": 3}, vocab_size=7)
    assert {*model.vocab} == {b"<unk>", b"a", b"b", b"c", b"d", b"ab", b"cd"}


def test_progress_names_the_phases() -> None:
    steps: list[tuple[str, int, int]] = []
    counts = counts_of(spelled(random.Random(3), "abcdef", 300, 6))
    train_model("unigram", counts, settings_of("unigram", vocab_size=60), on_step=lambda *step: steps.append(step))
    assert steps[:2] == [("seeds", 0, 1), ("seeds", 1, 1)]
    assert steps[-2:] == [("estimating", 0, 1), ("estimating", 1, 1)]
    pruning = steps[2:-2]
    assert {phase for phase, _, _ in pruning} == {"pruning"}
    assert [done for _, done, _ in pruning] == [*range(1, len(pruning) + 1)]
    assert all(done < total for _, done, total in pruning[:-1])
    assert pruning[-1][1] == pruning[-1][2]  # ends full, however many rounds were expected


# ------------------------------------------------------------------ U1: seeds; U3: determinism


def test_word_always_followed_by_a_blank_is_learned() -> None:
    model = trained({"▁x".encode(): 300, "▁zebra".encode(): 300, "▁y".encode(): 300}, vocab_size=11)
    assert "▁zebra".encode() in model.vocab.ids


def test_threads_and_order_change_no_bit() -> None:
    for seed in range(12):
        rng = random.Random(seed)
        words = spelled(rng, "abcdé文", 400, 7)
        options = {"vocab_size": rng.choice([60, 150]), "seed_size": rng.choice([300, 10**6])}
        ref = trained(words, **options)
        for threads in (2, 4, 7):
            assert same(trained(words, threads, **options), ref), f"seed {seed}"
        mixed = [*words.items()]
        rng.shuffle(mixed)
        assert same(trained(dict(mixed), 2, **options), ref), f"seed {seed}"


# ------------------------------------------------------------------ awkward corpora


def test_one_letter() -> None:
    # A run is worth one piece of as many letters as allowed.
    model = trained({b"a" * 100_000: 1}, vocab_size=17)
    assert {*model.vocab} == {b"<unk>", *(b"a" * n for n in range(1, 17))}
    assert b"a" * 16 in trained({b"a" * 100_000: 1}, vocab_size=3).vocab.ids


def test_nothing_but_blanks() -> None:
    blank = "▁".encode()
    assert [*trained({blank: 1_000_000}, vocab_size=2).vocab] == [b"<unk>", blank]
    with pytest.raises(TrainingError, match="at most 2"):
        trained({blank: 1_000_000}, vocab_size=8_000)


@pytest.mark.parametrize("length", [300_000, pytest.param(10_000_000, marks=pytest.mark.sweep)])
def test_one_huge_word(length: int) -> None:
    rng = random.Random(1)
    parts = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 6))) for _ in range(200)]
    word = "".join(rng.choices(parts, k=length // 4)).encode()
    model = trained({word: 1}, 2, vocab_size=500)
    assert len({*model.vocab}) == 500
    learned = {piece.decode() for piece in model.vocab}
    assert len(learned & {*parts}) > 120


@pytest.mark.parametrize("number", [20_000, pytest.param(2_000_000, marks=pytest.mark.sweep)])
def test_many_distinct_words(number: int) -> None:
    words = {b"%x" % (k * 2_654_435_761 % 2**32): 1 for k in range(number)}
    model = trained(words, 2, vocab_size=2_000)
    assert len({*model.vocab}) == 2_000


@pytest.mark.parametrize("longest", [16, 512])
def test_probabilities_of_long_words_do_not_vanish(longest: int) -> None:
    rng = random.Random(2)
    word = "".join(rng.choices("abc", k=2_000)) + "q" * 600 + "".join(rng.choices("abc", k=3_000))
    counts = counts_of({word.encode(): 7, b"q" * 512: 3})
    alphabet = np.array([*map(ord, "abcq")])
    lattice, _ = find_seeds(number_text(counts, alphabet), 10**6, longest, 2, (), 1)
    for least in (1e-2, 1e-9, 1e-16):
        # Characters are hardly to be seen, the longest pieces are, and with `longest` 512 lead over many of them.
        probabilities = np.where(lattice.lengths == longest, 0.5, least)
        expected = expected_counts(lattice, probabilities, 1) / 2.0 ** unit_bits(lattice)
        assert (expected >= 0).all()
        assert (expected * lattice.lengths).sum() == pytest.approx(7 * len(word) + 3 * 512, rel=1e-6)
