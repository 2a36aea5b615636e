"""Training equals the textbook's, merge by merge: tie rules, limits, specials, big counts, pruning (B1-B6, B8, W2)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import kernels_layout as layout
from inside import models_learning as indexing
from inside import models_learning as training
from strategies import Pair, counts_of, settings_of, train_model, word_counts
from subwords.reference import bpe as reference
from subwords.reference.bpe import GPT2_PATTERN

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
LETTERS = "abé文"
# Some are results of merges (B5), one is several symbols in bytes only. The first is a symbol: not for all 256 bytes.
SPECIALS = ("b", "<s>", "ab", "aa", "aab", "abab", "b文", "é", "文a")
TIES = st.sampled_from(["ids", "first", "bytes"])


def train_both(words: Mapping[bytes, int], **options: Any) -> tuple[Any, Any]:
    """(vocabulary, merges) of the textbook and of the kernels, or the same word for what does not fit."""
    try:
        vocab, merges = reference.train(words, **options)
        ref: Any = (vocab, merges)
    except ValueError:
        ref = "too small"
    specials = tuple(options.get("special_tokens", ()))
    try:
        got: Any = vocab_and_merges(words, specials, **options)
    except subwords.TrainingError as error:
        assert "is too small" in str(error)
        got = "too small"
    return ref, got


def vocab_and_merges(
    words: Mapping[bytes, int], specials: tuple[str, ...] = (), **options: Any
) -> tuple[list[bytes], list[Pair]]:
    model = train_model("bpe", counts_of(words, specials), settings_of("bpe", **options))
    tokens = list(model.vocab)
    for left, right, result in model.merges.tolist():
        assert tokens[left] + tokens[right] == tokens[result]
    return tokens, [(tokens[left], tokens[right]) for left, right, _ in model.merges.tolist()]


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    byte_level = draw(st.booleans())
    alphabet = draw(st.sampled_from(["full", "corpus"]))
    full = byte_level and alphabet == "full"
    return {
        "byte_level": byte_level,
        "alphabet": alphabet,
        "vocab_size": 256 * full + draw(st.integers(1, 50)),
        "tie_break": draw(TIES),
        "special_tokens": draw(st.lists(st.sampled_from(SPECIALS[full:]), unique=True, max_size=4)),
        "min_frequency": draw(st.sampled_from([0, 1, 2, 3, 20, 2**31 - 2])),
        "max_token_length": draw(st.none() | st.integers(1, 12)),
        "limit_alphabet": draw(st.none() | st.integers(1, 9)),
        "whole_characters": byte_level and draw(st.booleans()),
    }


@contextmanager
def starting_threshold(value: int) -> Iterator[list[int]]:
    """Prune from this count on, whatever the corpus; yields the thresholds that words were read with."""
    index, used = training.CountLoop._index, list[int]()

    def spy(loop: training.CountLoop) -> None:
        if not used:
            loop.settings[layout.TRAIN.threshold] = max(loop.settings[layout.TRAIN.floor], value)
        used.append(int(loop.settings[layout.TRAIN.threshold]))
        index(loop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.CountLoop, "_index", spy)
        yield used


THRESHOLDS = st.sampled_from([1, 2, 3, 10, 100, 2**31, 2**33, 2**50])


@given(word_counts(LETTERS), options())
def test_any_words_and_options(words: dict[bytes, int], options: dict[str, Any]) -> None:
    ref, got = train_both(words, **options)
    assert got == ref


@given(word_counts(LETTERS), options(), THRESHOLDS)
def test_pruning_and_rescans_change_nothing(words: dict[bytes, int], options: dict[str, Any], threshold: int) -> None:
    with starting_threshold(threshold):
        ref, got = train_both(words, **options)
    assert got == ref


@given(word_counts("ab", st.just(1)), TIES, THRESHOLDS)
def test_nothing_but_ties(words: dict[bytes, int], tie_break: str, threshold: int) -> None:
    with starting_threshold(threshold):
        ref, got = train_both(words, vocab_size=60, alphabet="corpus", tie_break=tie_break)
    assert got == ref


@contextmanager
def small_tables(at_once: int, few: int) -> Iterator[None]:
    """Index as if there were many pairs, in 3 parts. few: of so many symbols, pairs are counted in an array instead."""
    parts = indexing._divide
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MANY_SYMBOLS": 0, "FEW_PAIRS": 1, "AT_ONCE": at_once, "FEW_SYMBOLS": few}.items():
            patch.setattr(indexing, name, value)
        patch.setattr(indexing, "_divide", lambda words, spans, threads: parts(words, spans, 3))
        yield


@given(word_counts(LETTERS), options(), THRESHOLDS, st.sampled_from([1, 2, 64]), st.booleans())
def test_parts_or_an_array_change_nothing(
    words: dict[bytes, int], options: dict[str, Any], threshold: int, at_once: int, few: bool
) -> None:
    with small_tables(at_once, few << 12), starting_threshold(threshold):
        ref, got = train_both(words, **options)
    assert got == ref


@pytest.mark.parametrize("tie_break", ["ids", "first", "bytes"])
def test_most_pairs_wait(tie_break: str) -> None:
    words = random_words(3, "".join(map(chr, range(0x4E00, 0x4E00 + 70))), 3_000, 4)
    with starting_threshold(1):
        ref, got = train_both(words, vocab_size=130, byte_level=False, tie_break=tie_break)
    assert got == ref


def test_threshold_is_lowered_step_by_step() -> None:
    words = {b"ab" * n: 3**n for n in range(1, 12)} | {b"ba" * n: 2**n for n in range(1, 12)}
    ref = reference.train(words, 300)
    with starting_threshold(2**40) as used:
        assert vocab_and_merges(words, vocab_size=300) == ref
    assert len(used) > 10
    assert used == sorted(used, reverse=True)
    assert used[-1] == 1


# ------------------------------------------------------------------ B5: a merge that spells a special token


B5_WORDS = {word.encode(): n for n, word in enumerate(["abcabc", "abab", "éabéab", "xabcé", "ababab", "cabé"], 1)}


@pytest.mark.parametrize("tie_break", ["ids", "first", "bytes"])
@pytest.mark.parametrize("threshold", [1, 10**6])
def test_special_token_that_a_merge_spells_keeps_its_id(tie_break: str, threshold: int) -> None:
    learned = [left + right for left, right in reference.train(B5_WORDS, 290)[1]]
    spelled = 0
    for token in learned:
        special = token.decode("utf-8", "ignore")
        with starting_threshold(threshold):
            ref, got = train_both(B5_WORDS, vocab_size=290, special_tokens=["<s>", special], tie_break=tie_break)
        assert got == ref
        vocab, merges = got
        assert vocab[:2] == [b"<s>", special.encode()]
        spelled += [left + right for left, right in merges].count(special.encode())
    assert spelled >= 10, "the case at hand"


# ------------------------------------------------------------------ W2: counts beyond 32 bits


@pytest.mark.parametrize("count", [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**50])
def test_big_counts_do_not_wrap(count: int) -> None:
    words = {
        b" " * 80: count,
        b"ab": 4 * count - 1,
        b"abc": 1,
        b"aaab": count - 1,
        b"ccc": 2 * count - 1,
        b"cd": 40 * count,
    }
    for tie_break in ("ids", "first", "bytes"):
        ref, got = train_both(words, vocab_size=275, tie_break=tie_break)
        assert got == ref


def test_counts_too_big_for_64_bits_are_refused() -> None:
    with pytest.raises(subwords.TrainingError, match=r"exceeds 2\*\*32 symbols or 2\*\*63 pairs"):
        vocab_and_merges({b"ab": 2**62, b"cd": 1}, vocab_size=300)


# ------------------------------------------------------------------ growing arrays


def random_words(seed: int, letters: str, number: int, length: int) -> dict[bytes, int]:
    print(f"seed {seed}")
    rng = random.Random(seed)
    drawn = ["".join(rng.choices(letters, k=rng.randint(1, length))) for _ in range(number)]
    return {word.encode(): drawn.count(word) for word in dict.fromkeys(drawn)}


def test_growing_pair_table_and_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, heaps = [0], [0]
    grow, index = training.CountLoop._grow_pairs, training.CountLoop._index

    def small(loop: training.CountLoop) -> None:
        index(loop)
        loop.heap = loop.heap[: layout.HEAP.width * (int(loop.counters[layout.TALLY.heap_size]) + 1)].copy()

    def spy(loop: training.CountLoop) -> None:
        grow(loop)
        tables.append(len(loop.pairs))
        heaps.append(len(loop.heap))

    monkeypatch.setattr(training, "FEW_PAIRS", 1)
    monkeypatch.setattr(training.CountLoop, "_index", small)
    monkeypatch.setattr(training.CountLoop, "_grow_pairs", spy)
    words = random_words(5, "abcdefghijklmnopqrstuvwxyz", 700, 9)
    with starting_threshold(1):
        ref, got = train_both(words, vocab_size=340, alphabet="corpus")
    assert got == ref
    assert len(set(tables)) > 2
    assert len(set(heaps)) > 2


def test_growing_strings() -> None:
    # Tokens of 2, 4, 8, ... 65,536 letters: more than the 64 KiB that strings start with.
    words = {b"a" * 70_000: 1, b"b": 1}
    ref, got = train_both(words, vocab_size=18, alphabet="corpus")
    assert got == ref
    assert sum(map(len, got[0])) > 1 << 16


# ------------------------------------------------------------------ a real text


@pytest.fixture(scope="module")
def opticks() -> dict[bytes, int]:
    return reference.count_words([OPTICKS.read_text(encoding="utf-8")[:50_000]], GPT2_PATTERN)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("tie_break", ["ids", "first", "bytes"])
def test_real_text(opticks: dict[bytes, int], tie_break: str) -> None:
    ref, got = train_both(opticks, vocab_size=456, tie_break=tie_break)
    assert got == ref


@pytest.mark.sweep
@pytest.mark.parametrize("tie_break", ["ids", "first", "bytes"])
@pytest.mark.parametrize("threshold", [1, 200, 10**6])
@pytest.mark.parametrize("extra", [{}, {"max_token_length": 5}, {"special_tokens": ["the", " of", "ing"]}])
def test_real_text_to_its_last_merges(
    opticks: dict[bytes, int], tie_break: str, threshold: int, extra: dict[str, Any]
) -> None:
    with starting_threshold(threshold):
        ref, got = train_both(opticks, vocab_size=1500, tie_break=tie_break, **extra)
    assert got == ref


# ------------------------------------------------------------------ reporting


@pytest.mark.parametrize("pause", [1, 3, 1000])
def test_steps_end_full_and_change_nothing(pause: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "BETWEEN_LOOKS", pause)
    words = random_words(8, "abc", 60, 9)
    settings = settings_of("bpe", vocab_size=300)
    steps: list[tuple[str, int, int]] = []
    got = train_model("bpe", counts_of(words), settings, on_step=lambda *step: steps.append(step))
    assert got.merges.tolist() == train_model("bpe", counts_of(words), settings).merges.tolist()
    assert steps[:2] == [("indexing", 0, 1), ("indexing", 1, 1)]
    merging = [done for phase, done, _ in steps[2:] if phase == "merging"]
    assert all(0 <= after - before <= pause for before, after in pairwise([0, *merging]))
    assert steps[-1] == ("merging", len(got.vocab) - 256, len(got.vocab) - 256)


@given(word_counts(LETTERS), TIES)
def test_public_train_learns_the_same(words: dict[bytes, int], tie_break: Any) -> None:
    tok = subwords.train(counts_of(words), vocab_size=280, splitter="gpt2", tie_break=tie_break)
    ref = reference.train(words, 280, tie_break=tie_break)
    assert ([*tok.model.vocab], [*tok.merges]) == ref
