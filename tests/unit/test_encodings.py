"""Other encodings: against enumeration and textbook loops, in exact probabilities, and reproducible (E10)."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from inside import WordLattice
from subwords import Tokenizer
from subwords.reference import text as reference

CORPUS = ["hug hugs hugging huge bun buns pun puns low lower lowest"] * 9
KNOWN = ["hug", "hugs", "huge", "buns", "lowest", "pun"]
BYTES = subwords.train(CORPUS, vocab_size=275)
METHODS = ("fewest", "longest", "uniform", "maxmatch-dropout")
LATTICE = WordLattice.of(subwords.train(["ab ab"], vocab_size=257).model)._replace(
    first={t: i for i, t in enumerate([b"a", b"b", b"c", b"ab", b"bc", b"abc", b"ca", b"bcab"])},
    later={t: i for i, t in enumerate([b"a", b"b", b"c", b"ab", b"bc", b"abc", b"ca", b"bcab"])},
    size=4,
)
words = st.text("abc", max_size=8).map(str.encode)


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece"])
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    size = {"bpe": 275, "unigram": 30, "wordpiece": 45}[request.param]
    return subwords.train(CORPUS, algorithm=request.param, vocab_size=size)


def enumerated(word: bytes) -> list[list[int]]:
    return [[LATTICE.first[part] for part in parts] for parts in reference.segmentations(word, LATTICE.first)]


def greedy(word: bytes) -> list[int]:
    return [LATTICE.first[part] for part in reference.longest_match(word, LATTICE.first)]


@given(words)
def test_segmentations_are_those_of_enumeration(word: bytes) -> None:
    assert sorted(LATTICE.all_paths(word, 10_000)) == sorted(enumerated(word))


@given(words, st.integers(0, 2**32))
def test_each_method_is_its_definition(word: bytes, seed: int) -> None:
    every = enumerated(word)
    fewest = LATTICE.fewest(word)
    assert fewest in every
    assert len(fewest) == min(map(len, every))
    assert LATTICE.longest(word, Random(seed), 0.0) == greedy(word)
    assert LATTICE.uniform(word, Random(seed)) in every
    assert LATTICE.longest(word, Random(seed), 0.5) in every
    assert LATTICE.longest(word, Random(seed), 1.0) == [b"abc".index(c) for c in word]


def test_uniform_has_equal_frequencies() -> None:
    # Chi-square: the mean is k - 1, the deviation sqrt(2 (k - 1)). The seed is fixed; few others pass six deviations.
    word, times, rng = b"abcabca", 20_000, Random(3)
    every = enumerated(word)
    got = Counter(tuple(LATTICE.uniform(word, rng)) for _ in range(times))
    expected = times / len(every)
    chi = sum((got[tuple(ids)] - expected) ** 2 / expected for ids in every)
    assert sum(got.values()) == times
    assert chi < len(every) - 1 + 6 * (2 * (len(every) - 1)) ** 0.5


@settings(max_examples=30, deadline=None)
@given(st.text("ab", min_size=1, max_size=6), st.text("ab ", min_size=1, max_size=30), st.sampled_from([0.1, 0.5, 0.9]))
def test_distributions_are_those_of_the_textbook(word: str, text: str, p: float) -> None:
    tok = subwords.train([f"{text} ab"], vocab_size=262, splitter="whitespace")
    vocab, ranks = tok.model.vocab, {pair: rank for rank, pair in enumerate(tok.merges)}
    tokens = {token for token in vocab if token}
    letters = [bytes([byte]) for byte in word.encode()]
    expected: dict[Any, dict[tuple[bytes, ...], float]] = {
        "bpe-dropout": reference.distribution_of(lambda flip: tuple(reference.bpe_dropout(letters, ranks, flip)), p),
        "maxmatch-dropout": reference.distribution_of(
            lambda flip: tuple(reference.longest_match(word.encode(), tokens, flip)), p
        ),
        "longest": {tuple(reference.longest_match(word.encode(), tokens)): 1.0},
    }
    every = reference.segmentations(word.encode(), tokens)
    expected["uniform"] = {tuple(parts): 1 / len(every) for parts in every}
    for method, shares in expected.items():
        got = subwords.sampling.distribution(tok, word, method=method, p=p if "dropout" in method else None)
        assert {tuple(vocab[index] for index in ids): pytest.approx(share) for ids, share in got.items()} == shares
        assert sum(got.values()) == pytest.approx(1)
        assert [*got.values()] == sorted(got.values(), reverse=True)
    fewest = subwords.sampling.distribution(tok, word, method="fewest")
    assert [len(ids) for ids in fewest] == [min(map(len, every))]


@pytest.mark.parametrize("method", ["bpe-dropout", "maxmatch-dropout"])
def test_draws_have_their_distribution(method: Any) -> None:
    # A share of n draws is within six standard deviations; the seeds are fixed.
    tok, word, times = BYTES, "lowest", 4_000
    shares = subwords.sampling.distribution(tok, word, method=method, p=0.4)
    got = Counter(
        tuple(subwords.sampling.encode_with(tok, word, method=method, p=0.4, document=k)) for k in range(times)
    )
    assert {*got} <= {*shares}
    for ids, share in shares.items():
        assert abs(got[ids] - share * times) <= 6 * (share * (1 - share) * times) ** 0.5 + 1


@pytest.mark.parametrize("method", ["bpe-dropout", "maxmatch-dropout"])
def test_distributions_at_the_ends_of_the_scale(method: Any) -> None:
    assert subwords.sampling.distribution(BYTES, "hugs", method=method, p=1) == {
        tuple(BYTES.encode(char)[0] for char in "hugs"): 1.0
    }
    kept = (
        BYTES.encode("hugs")
        if method == "bpe-dropout"
        else subwords.sampling.encode_with(BYTES, "hugs", method="longest")
    )
    assert subwords.sampling.distribution(BYTES, "hugs", method=method, p=0) == {tuple(kept): 1.0}


def test_a_distribution_of_a_long_word_is_refused() -> None:
    with pytest.raises(subwords.InputError, match="at most 50 outcomes of the random decisions"):
        subwords.sampling.distribution(BYTES, "hugginglowest", method="bpe-dropout", limit=50)
    with pytest.raises(subwords.InputError, match="p is not an option"):
        subwords.sampling.distribution(BYTES, "hug", method="uniform", p=0.1)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(KNOWN), min_size=1, max_size=8), st.integers(0, 9))
def test_texts_come_back_and_fewest_is_least(tok: Tokenizer, chosen: list[str], seed: int) -> None:
    text = " ".join(chosen)
    fewest = subwords.sampling.encode_with(tok, text, method="fewest")
    assert len(fewest) <= len(tok.encode(text))
    for method in METHODS:
        options: dict[str, Any] = {} if method in ("fewest", "longest") else {"seed": seed, "document": "a"}
        ids = subwords.sampling.encode_with(tok, text, method=method, **options)  # type: ignore[arg-type]
        assert tok.decode(ids) == tok.decode(tok.encode(text))
        assert len(fewest) <= len(ids)
        assert ids == subwords.sampling.encode_with(tok, text, method=method, **options)  # type: ignore[arg-type]


@given(st.text(max_size=30).filter(lambda t: t.isprintable()), st.integers(0, 99))
@settings(max_examples=40)
def test_any_text_comes_back_from_bytes(text: str, seed: int) -> None:
    for method in ("uniform", "maxmatch-dropout", "bpe-dropout"):
        assert BYTES.decode(subwords.sampling.encode_with(BYTES, text, method=method, seed=seed)) == text  # type: ignore[arg-type]


def test_a_dropout_of_zero_is_no_dropout(tok: Tokenizer) -> None:
    text = "hugs lowest puns bunhug xyz"
    if "wordpiece" in type(tok.model).__name__.lower():
        assert subwords.sampling.encode_with(tok, text, method="longest") == tok.encode(text)
    longest = subwords.sampling.encode_with(tok, "hugs lowest", method="longest")
    assert subwords.sampling.encode_with(tok, "hugs lowest", method="maxmatch-dropout", p=0) == longest
    if "BPE" in type(tok.model).__name__:
        assert subwords.sampling.encode_with(tok, text, method="bpe-dropout", p=0) == tok.encode(text)
        assert subwords.sampling.encode_with(tok, text, method="bpe-dropout", p=1e-300) == tok.encode(text)


def test_the_stream_is_of_seed_document_and_place(tok: Tokenizer) -> None:
    def ids(text: str, **options: Any) -> list[int]:
        return subwords.sampling.encode_with(tok, text, method="uniform", **options)

    text = "hugging lowest " * 5
    assert len({tuple(ids(text, seed=s)) for s in range(5)}) > 1
    assert len({tuple(ids(text, document=d)) for d in range(5)}) > 1
    one, more = ids("hugging lowest", document=3), ids("hugging lowest huge", document=3)
    assert more[: len(one)] == one  # words after it change no draw


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "expected method to be one of"),
        ({"method": "fewest", "p": 0.1}, "p is not an option of"),
        ({"method": "longest", "seed": 1}, "seed is not an option of"),
        ({"method": "maxmatch-dropout", "p": 1.5}, "expected p to be a number from 0 to 1"),
        ({"method": "uniform", "seed": "x"}, "expected seed to be an integer"),
        ({"method": "uniform", "document": 1.5}, "expected document to be"),
    ],
)
def test_other_options_are_refused(tok: Tokenizer, options: Any, message: str) -> None:
    with pytest.raises(subwords.InputError, match=message):
        subwords.sampling.encode_with(tok, "hug", **options)


def test_what_cannot_be_segmented_is_refused() -> None:
    level = subwords.train(["a b"], algorithm="wordlevel", vocab_size=3)
    with pytest.raises(subwords.InputError, match="this is WordLevel"):
        subwords.sampling.encode_with(level, "a", method="longest")
    tok = subwords.train(["ab ab"], vocab_size=257)
    with pytest.raises(subwords.InputError, match="at most 3 segmentations"):
        subwords.sampling.segmentations(tok, "abab", limit=3)
    with pytest.raises(subwords.InputError, match="at most 20000 bytes"):
        subwords.sampling.encode_with(tok, "a" * 20_001, method="uniform")
    with pytest.raises(subwords.InputError, match="lone surrogate"):
        subwords.sampling.segmentations(tok, "\ud800")
