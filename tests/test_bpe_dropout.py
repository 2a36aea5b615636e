"""BPE-dropout: how often each segmentation is drawn, compared with HF tokenizers, and the ends of the scale (E8)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from building import read_json, write_json
from strategies import byte_texts, small_words
from subwords import Tokenizer

TOKENS = ["a", "b", "c", "ab", "abc", "bc", "ca", "abcab", "aa"]
MERGES = [["a", "b"], ["ab", "c"], ["b", "c"], ["c", "a"], ["abc", "ab"], ["a", "a"]]
MARKED = {
    "end_of_word_suffix": "</w>",
    "continuing_subword_prefix": "#",
    "vocab": {
        token: i for i, token in enumerate(["a", "#a", "#b", "#b</w>", "ab", "#ba", "aba", "#ab</w>", "#ba#b</w>"])
    },
    "merges": [["a", "#b"], ["#b", "#a"], ["#a", "#b</w>"], ["ab", "#a"]],
}


def file_of(dropout: float | None, **model: Any) -> bytes:
    vocab = {token: i for i, token in enumerate(TOKENS)}
    return json.dumps(
        {"model": {"type": "BPE", "vocab": vocab, "merges": MERGES, "dropout": dropout, **model}}
    ).encode()


def drawn(tok: Tokenizer, text: str, times: int, **options: Any) -> Counter[tuple[int, ...]]:
    rng = np.random.default_rng(5)
    return Counter(tuple(tok.sample(text, seed=rng, **options)) for _ in range(times))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("model", [{}, MARKED], ids=["plain", "marked"])
@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
def test_frequencies_are_hf_s(dropout: float, model: dict[str, Any]) -> None:
    data, text, times = file_of(dropout, **model), "ababab" if model else "abcaabcab", 3_000
    theirs, tok = tokenizers.Tokenizer.from_buffer(data), read_json(data, "a.json")
    ref = Counter(tuple(theirs.encode(text).ids) for _ in range(times))
    got = drawn(tok, text, times)
    for ids in {*ref, *got}:  # a difference of six standard deviations, once in 10**9
        assert abs(ref[ids] - got[ids]) <= 6 * (ref[ids] + got[ids]) ** 0.5, (ids, ref[ids], got[ids])


def test_two_symbols_are_joined_with_the_rest_of_the_probability() -> None:
    # One merge is possible: it is skipped with probability p, and there is no other that would bring it back.
    tok = read_json(file_of(0.3), "a.json")
    times = 4_000
    assert drawn(tok, "bc", times)[(5,)] == pytest.approx(0.7 * times, abs=6 * (0.21 * times) ** 0.5)
    assert drawn(tok, "bc", times, dropout=0.8)[(5,)] == pytest.approx(0.2 * times, abs=6 * (0.16 * times) ** 0.5)


@given(small_words("abc", 30).filter(bool), st.integers(0, 2**32))
def test_ends_of_the_scale(word: str, seed: int) -> None:
    tok = read_json(file_of(None), "a.json")
    assert tok.sample(word, dropout=0, seed=seed) == tok.encode(word)
    assert tok.sample(word, dropout=1.0, seed=seed) == [TOKENS.index(letter) for letter in word]
    ids = tok.sample(word, dropout=0.5, seed=seed)
    assert ids == tok.sample(word, dropout=0.5, seed=seed)
    assert "".join(TOKENS[index] for index in ids) == word


@settings(max_examples=30)
@given(byte_texts().map(lambda data: data.decode("utf-8", "replace")), st.floats(0, 1))
def test_text_is_the_same_however_it_is_drawn(trained: Tokenizer, text: str, dropout: float) -> None:
    assert trained.decode(trained.sample(text, dropout=dropout, seed=1)) == text


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return subwords.train(["low lower lowest new newer newest é 文"] * 3, vocab_size=290)


def test_merging_in_python_is_encoding(trained: Tokenizer) -> None:
    # So small a probability skips nothing: every merge is made by `merge`, and the result is the kernel's.
    for text in ("lowest newer low  文é", "x" * 300, "newest" * 50, ""):
        assert trained.sample(text, dropout=1e-300, seed=1) == trained.encode(text)


def test_dropout_is_kept_in_the_file_and_by_encode() -> None:
    tok = read_json(file_of(0.25, ignore_merges=True), "a.json")
    assert tok.model.dropout == 0.25  # type: ignore[union-attr]
    assert json.loads(write_json(tok))["model"]["dropout"] == 0.25
    assert read_json(write_json(tok), "b.json") == tok
    assert tok != read_json(file_of(None, ignore_merges=True), "a.json")
    assert {tuple(tok.encode("abcab")) for _ in range(50)} == {(7,)}


def test_the_default_is_the_model_s_or_a_tenth() -> None:
    plain, half = (read_json(file_of(dropout), "a.json") for dropout in (None, 0.5))
    for seed in range(20):
        assert plain.sample("abcabc", seed=seed) == plain.sample("abcabc", dropout=0.1, seed=seed)
        assert half.sample("abcabc", seed=seed) == plain.sample("abcabc", dropout=0.5, seed=seed)


def test_models_from_scores() -> None:
    from subwords import TokenizerSpec
    from subwords.machine import BPE

    pieces = [b"<unk>", b"a", b"b", b"ab", b"aba", b"<u>"]
    model = BPE.from_scores(
        pieces, [0, -3, -4, -1, -2, 0], unk_id=0, byte_fallback=False, special_ids=[0], user_ids=[5], unused_ids=[3]
    )
    tok = Tokenizer(TokenizerSpec(model=model, splitter=subwords.splitter("whitespace-split").rule))
    for text in ("aba ab <u>", "abxxa", "xx x"):
        assert tok.sample(text, dropout=1e-300, seed=1) == tok.encode(text)
    assert tok.sample("aba <u> xx", dropout=1.0, seed=1) == [1, 2, 1, 5, 0]
    words = BPE.from_scores(pieces[:5], [0.0] * 5, unk_id=0, byte_fallback=False, special_ids=[0], kind="word")
    tok = Tokenizer(TokenizerSpec(model=words, splitter=subwords.splitter("whitespace-split").rule))
    assert tok.sample("aba x y ab", dropout=1.0) == tok.encode("aba x y ab")


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "0.1", True, [0.1]])
def test_what_is_no_probability_is_refused(trained: Tokenizer, value: Any) -> None:
    with pytest.raises(subwords.InputError, match="expected dropout to be a number from 0 to 1, not "):
        trained.sample("low", dropout=value)


def test_options_of_the_other_family_are_refused(trained: Tokenizer) -> None:
    unigram = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
    wordlevel = subwords.train(["a b"], algorithm="wordlevel", vocab_size=3)
    for name, value in (("temperature", 10), ("nbest", -1)):
        with pytest.raises(subwords.InputError, match=f"{name} is not an option of sample for BPE models"):
            trained.sample("low", **{name: value})
    with pytest.raises(subwords.InputError, match="dropout is not an option of sample for Unigram models"):
        unigram.sample("hug", dropout=0.1)
    with pytest.raises(subwords.InputError, match="sample needs a BPE or Unigram model; this is WordLevel"):
        wordlevel.sample("a")
    assert unigram.sample("hugs", seed=3) == unigram.sample("hugs", temperature=10, nbest=-1, seed=3)


def test_unknown_symbols_are_the_errors_of_encode() -> None:
    strict = subwords.train(["ab ab"], vocab_size=3, byte_level=False, splitter="whitespace-split")
    with pytest.raises(subwords.InputError, match="is not in the vocabulary"):
        strict.sample("abx", dropout=0.5)
