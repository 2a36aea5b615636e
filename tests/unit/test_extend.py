"""extend: training goes on where it stopped, ids keep their tokens, every new token is reached (B9)."""

from __future__ import annotations

import random
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import adapt_extending as extending
from inside import models_learning as indexing
from seeds import seed_of_run
from strategies import counts_of, settings_of, train_model, word_counts
from subwords import FormatError, InputError, SubwordsWarning, TrainingError, WordCounts
from subwords.machine import BPE, Vocab, word_ids
from subwords.reference.bpe import extend as reference

SEED = seed_of_run()
LETTERS = "abé文"
TIES = st.sampled_from(["ids", "first", "bytes"])


def in_bytes(model: BPE, tokens: list[bytes], merges: Any) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    every = [*model.vocab, *tokens]
    rows = np.concatenate([model.merges, merges]).tolist()
    assert all(every[left] + every[right] == every[made] for left, right, made in rows)
    return every, [(every[left], every[right]) for left, right, _ in rows]


@given(word_counts(LETTERS), word_counts(LETTERS), st.data())
def test_any_words_and_options(first: dict[bytes, int], second: dict[bytes, int], data: st.DataObject) -> None:
    byte_level = data.draw(st.booleans())
    specials = data.draw(st.lists(st.sampled_from(["<s>", "ab", "aé", "b"][: 4 - byte_level]), unique=True))
    size = 257 + data.draw(st.integers(0, 20))
    options: dict[str, Any] = {"byte_level": byte_level, "special_tokens": specials}
    model = train_model("bpe", counts_of(first, tuple(specials)), settings_of("bpe", vocab_size=size + 3, **options))
    more: dict[str, Any] = {
        "tie_break": data.draw(TIES),
        "min_frequency": data.draw(st.sampled_from([0, 2, 20])),
        "whole_characters": byte_level and data.draw(st.booleans()),
    }
    add = data.draw(st.integers(1, 30))
    tokens, merges, _ = extending.extend_bpe(model, counts_of(second), extending.Extension(count=add, **more))
    old = [(model.vocab[left], model.vocab[right]) for left, right, _ in model.merges.tolist()]
    own = {token.encode() for token in specials}
    expected = reference(second, [*model.vocab], old, add, byte_level=byte_level, specials=own, **more)
    assert in_bytes(model, tokens, merges) == expected


@given(word_counts(LETTERS), st.integers(0, 25), st.integers(1, 25), TIES)
def test_in_two_steps_or_in_one(words: dict[bytes, int], first: int, add: int, tie: Any) -> None:
    counts = counts_of(words)
    whole = train_model("bpe", counts, settings_of("bpe", vocab_size=256 + first + add, tie_break=tie))
    begun = train_model("bpe", counts, settings_of("bpe", vocab_size=256 + first, tie_break=tie))
    tokens, merges, _ = extending.extend_bpe(begun, counts, extending.Extension(count=add, tie_break=tie))
    if len(begun.vocab) == 256 + first:
        assert begun.grown(tokens, merges) == whole


@given(word_counts(LETTERS), word_counts(LETTERS), st.integers(1, 25))
def test_every_new_token_is_reached(first: dict[bytes, int], second: dict[bytes, int], add: int) -> None:
    begun = train_model("bpe", counts_of(first), settings_of("bpe", vocab_size=280))
    tokens, merges, _ = extending.extend_bpe(begun, counts_of(second), extending.Extension(count=add))
    model = begun.grown(tokens, merges)
    assert len(set(model.vocab)) == len(model.vocab)
    if tokens:
        ids = word_ids(model, counts_of(dict.fromkeys(tokens, 1)))
        assert ids.to_lists() == [[len(begun.vocab) + i] for i in range(len(tokens))]


def changed(tok: subwords.Tokenizer, more: subwords.Tokenizer, text: str) -> bool:
    """Whether a text gets other ids, checked against what B9 says."""
    words = tok.splitter.split(text)
    pairs = {(left, right) for left, right, _ in more.model.merges[len(tok.model.merges) :].tolist()}
    old, new = [tok.encode_batch(words).to_lists(), more.encode_batch(words).to_lists()]
    for before, after in zip(old, new, strict=True):
        assert (before != after) == any(pair in pairs for pair in pairwise(before))
    return old != new


def test_a_text_keeps_its_ids_unless_a_new_pair_is_in_it() -> None:
    rng = random.Random(SEED)
    tok = subwords.train(["low lower lowest new newer newest wide wider"] * 9, vocab_size=275)
    more = subwords.adapt.extend(tok, ["slow slower slowest widest lowly"] * 9, count=8)
    texts = [" ".join(rng.choices(["low", "slow", "newer", "wides", "lowly", "x"], k=3)) for _ in range(200)]
    kinds = [changed(tok, more, text) for text in texts]
    assert 0 < sum(kinds) < len(kinds)


def test_tokens_span_words_with_a_coarser_rule() -> None:
    text = "by the way of the way in the end of the day " * 30
    tok = subwords.train([text], vocab_size=290)
    for most in (None, 2):
        more = subwords.adapt.extend(tok, [text], count=12, splitter=r"[.!?]+", max_words=most)
        spans = [token.count(b" ") for token in [*more.model.vocab][tok.vocab_size :]]
        assert max(spans) > 1
        assert most is None or max(spans) == most
        assert more.splitter == subwords.splitter(r"[.!?]+")
        assert more.decode(more.encode(text)) == text
        assert len(more.encode(text)) < len(tok.encode(text))


def test_counts_are_those_of_the_tokenizer() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=260, special_tokens=["<s>"])
    good = subwords.count(["slow slower"], special_tokens=["<s>"])
    assert subwords.adapt.extend(tok, good, count=2).vocab_size == 262
    with pytest.raises(InputError, match="special token '<s>' was not removed"):
        subwords.adapt.extend(tok, subwords.count(["slow"]), count=2)
    with pytest.raises(InputError, match="expected counts made with splitter"):
        subwords.adapt.extend(tok, subwords.count(["slow"], splitter="bert", special_tokens=["<s>"]), count=2)
    with pytest.raises(InputError, match="`reading` applies to text"):
        subwords.adapt.extend(tok, good, count=2, reading=subwords.Reading(separator="x"))


def test_clear_errors() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=260)
    with pytest.raises(InputError, match="count"):
        subwords.adapt.extend(tok, ["a"], count=0)
    with pytest.raises(TrainingError, match="nothing to add"):
        subwords.adapt.extend(tok, ["a b c"], count=3, splitter="whitespace")
    with pytest.warns(SubwordsWarning, match="fewer tokens than asked for: 1 instead of 9"):
        assert subwords.adapt.extend(tok, ["ab"], count=9).vocab_size == 261
    chars = subwords.train(["low lower lowest"] * 9, vocab_size=14, byte_level=False)
    with pytest.raises(InputError, match="whole_characters needs a byte-level model"):
        subwords.adapt.extend(chars, ["slow"], count=3, whole_characters=True)


def test_unknown_symbols_split_a_word() -> None:
    words = counts_of({b"abxab": 5, b"xx": 3})
    model = BPE(Vocab([b"a", b"b"]), np.zeros((0, 3), np.int64), byte_level=False)
    tokens, merges, _ = extending.extend_bpe(model, words, extending.Extension(count=5))
    assert (list(tokens), merges.tolist()) == ([b"ab"], [[0, 1, 2]])


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MANY_SYMBOLS", 0)  # pairs are found by threads
    rng = random.Random(SEED)
    words = {bytes(rng.choices(b"abcdef", k=rng.randrange(1, 12))): rng.randrange(1, 9) for _ in range(50_000)}
    counts: WordCounts = counts_of(words)
    model = train_model("bpe", counts, settings_of("bpe", vocab_size=400))
    found = [extending.extend_bpe(model, counts, extending.Extension(count=200), threads=threads) for threads in (1, 3)]
    assert found[0][0] == found[1][0]
    assert (found[0][1] == found[1][1]).all()


def test_inconsistent_counts_are_refused() -> None:
    good, data = subwords.count(["ab ab"]), np.frombuffer(b"abab", np.uint8)
    empty_word = WordCounts(data, np.array([0, 4, 4]), np.ones(2, np.uint64), good.provenance)
    no_count = WordCounts(data, np.array([0, 2, 4]), np.zeros(2, np.uint64), good.provenance)
    tok = subwords.train(["ab ab"], vocab_size=257)
    for bad in (empty_word, no_count):
        for call in (lambda: subwords.train(bad, vocab_size=260), lambda: subwords.adapt.extend(tok, bad, count=1)):
            with pytest.raises(FormatError, match=r"expected (ascending|counts)"):
                call()


# --- text of some scripts only

MIXED = ["သုတေသန research papers, သုတေသနကို 12 Forschung", "## ကိုယ် သည် naïve သုတေသန"] * 9
OTHERS = ["research papers, Forschung 12 ##", "Tiếng Việt và naïve", "ภาษาไทย", "abc  \n", "😀 東京"]


@pytest.mark.parametrize("options", [{}, {"splitter": None}, {"byte_level": False, "splitter": None}])
def test_text_of_other_scripts_keeps_its_ids(options: dict[str, Any]) -> None:
    in_bytes = options.get("byte_level", True)
    size = 290 if in_bytes else 75
    tok = subwords.train([*OTHERS * 3, " ".join("".join(MIXED))], vocab_size=size, **options)
    more = subwords.adapt.extend(tok, MIXED, count=9, scripts=["Mymr"], whole_characters=in_bytes)
    for text in OTHERS:
        assert more.encode(text) == tok.encode(text)
    assert more.count_tokens(MIXED[0]) < tok.count_tokens(MIXED[0])
    new = [more.token_bytes(index).decode("utf-8", "ignore") for index in range(tok.vocab_size, more.vocab_size)]
    assert all(regex.fullmatch(r" ?[\p{Myanmar}\p{Mn}]*", token) for token in new)
    used = {index for text in MIXED for index in more.encode(text)}
    assert used & {*range(tok.vocab_size, more.vocab_size)}


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram"])
def test_words_of_other_scripts_teach_no_pieces(algorithm: str) -> None:
    normalizer = {"wordpiece": "bert-cased", "unigram": "sentencepiece"}[algorithm]
    tok = subwords.train([*OTHERS, *MIXED], algorithm=algorithm, vocab_size=90, normalizer=normalizer)  # type: ignore[call-overload]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = subwords.adapt.extend(tok, [*OTHERS, *MIXED], count=3, scripts=["Latin"])
    new = [more.token_bytes(index).decode().strip(" \u2581") for index in range(tok.vocab_size, more.vocab_size)]
    assert new and all(regex.fullmatch(r"[\p{Latin}\p{Mn}]+", token) for token in new)
    assert more.encode("ภาษาไทย") == tok.encode("ภาษาไทย")


def test_scripts_that_do_not_fit() -> None:
    tok = subwords.train(["low lower"] * 9, vocab_size=258)
    for scripts, error, message in (
        (["Mymr"], TrainingError, "nothing to add: this corpus has no text of Mymr"),
        (["Klingon"], InputError, "expected scripts of Unicode"),
        ([], InputError, "expected scripts to name a script; it is empty"),
        ("Latin", InputError, "expected scripts to be a list of str"),
    ):
        with pytest.raises(error, match=message):
            subwords.adapt.extend(tok, ["low lowest"], count=1, scripts=scripts)  # type: ignore[arg-type]
