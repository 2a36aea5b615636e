"""WordLevel: encoding and training equal the textbook's (L1, L2), and HF's."""

from __future__ import annotations

import json
import random
import warnings

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

import subwords
from building import read_json, write_json
from engines import splitter
from inside import encoder_of
from strategies import counts_of, settings_of, small_words, texts, train_model, word_counts
from subwords.machine import Vocab, WordLevel
from subwords.reference import wordlevel as reference

SPACES = splitter("whitespace-split")
UNK = ["<unk>"]


@given(st.lists(small_words().map(str.encode), unique=True), st.lists(small_words().map(str.encode)), st.booleans())
def test_words_are_tokens_or_unknown(tokens: list[bytes], words: list[bytes], has_unk: bool) -> None:
    vocab = [*dict.fromkeys([*tokens, *([b"<unk>"] if has_unk else [])])]
    encoder = encoder_of(WordLevel(Vocab(vocab), vocab.index(b"<unk>") if has_unk else None), SPACES)
    text = b" ".join(words)
    try:
        ref = reference.encode(words, vocab, unk="<unk>")
    except ValueError:
        with pytest.raises(subwords.InputError, match="is not in the vocabulary and the model has no unk token"):
            encoder.encode(text)
        return
    assert encoder.encode(text).tolist() == ref
    assert encoder.encode(text).tolist() == ref, "from the table"
    assert encoder.encode_batch([text, *words], 1).to_lists() == [ref, *([index] for index in ref)]


@pytest.mark.parametrize("length", [1, 15, 16, 57, 5_000, 2_000_000])
def test_words_of_any_length(length: int) -> None:
    encoder = encoder_of(WordLevel(Vocab([b"<unk>", b"a" * length, b"b"]), 0), SPACES)
    text = b"b " + b"a" * length + b" b " + b"a" * (length + 1) + b" b"
    assert encoder.encode(text).tolist() == [2, 1, 2, 0, 2]


def test_special_tokens_are_yielded_by_no_text() -> None:
    tok = subwords.train(["<unk> a"], algorithm="wordlevel", vocab_size=2, splitter="whitespace-split")
    assert tok.encode("<unk> a") == [0, 1]
    model = WordLevel(Vocab([b"<unk>", b"<s>"]), 0, frozenset({1}))
    assert encoder_of(model, SPACES).encode(b"<s>").tolist() == [0]


@given(word_counts(), st.integers(1, 12), st.integers(0, 4))
def test_training(words: dict[bytes, int], size: int, least: int) -> None:
    settings = settings_of("wordlevel", vocab_size=size, min_frequency=least)
    if not words:
        with pytest.raises(subwords.TrainingError, match="no words"):
            train_model("wordlevel", counts_of(words), settings)
        return
    model = train_model("wordlevel", counts_of(words), settings)
    assert [*model.vocab] == reference.train(words, size, special_tokens=UNK, min_frequency=least)
    backwards = train_model("wordlevel", counts_of(dict(reversed(words.items()))), settings)
    assert backwards == model


def test_words_that_are_not_utf8_are_left_out() -> None:
    model = train_model("wordlevel", counts_of({b"\xff": 9, b"a": 1}), settings_of("wordlevel", vocab_size=5))
    assert [*model.vocab] == [b"<unk>", b"a"]


@pytest.mark.parametrize("seed", range(10))
def test_everything_is_hf_s(seed: int) -> None:
    rng = random.Random(seed)
    documents = ["".join(rng.choices("aab c,é", k=rng.randint(1, 200))) for _ in range(5)]
    size, least = rng.randint(1, 60), rng.choice([0, 1, 2, 3])
    theirs = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.Whitespace()
    options = {"vocab_size": size, "min_frequency": least}
    trainer = trainers.WordLevelTrainer(special_tokens=UNK, show_progress=False, **options)
    theirs.train_from_iterator(documents, trainer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", subwords.SubwordsWarning)
        tok = subwords.train(documents, algorithm="wordlevel", **options)
    assert tok.get_vocab() == theirs.get_vocab()
    assert json.loads(write_json(tok)) == json.loads(theirs.to_str())
    again = read_json(write_json(tok), "a.json")
    assert again == tok
    for _ in range(20):
        text = "".join(rng.choices("abc ,é☃", k=rng.randint(0, 60)))
        ref, got = theirs.encode(text), tok(text)
        assert (list(got.ids), list(got.tokens)) == (ref.ids, ref.tokens)
        assert [tuple(span) for span in got.spans.tolist()] == ref.offsets
        assert tok.decode(ref.ids) == theirs.decode(ref.ids, skip_special_tokens=False)


@given(texts())
def test_a_missing_unk_token_is_an_error_where_it_is_needed(text: str) -> None:
    value = {
        "version": "1.0",
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"vocab": {"a": 0}, "unk_token": "?"},
    }
    data = json.dumps(value).encode()
    theirs, tok = tokenizers.Tokenizer.from_buffer(data), read_json(data, "a.json")
    again = read_json(write_json(tok), "b.json")
    try:
        ref = theirs.encode(text).ids
    except Exception:
        for each in (tok, again):
            with pytest.raises(subwords.InputError, match="is not in the vocabulary"):
                each.encode(text)
        return
    assert tok.encode(text) == again.encode(text) == ref


def test_options_and_limits() -> None:
    with pytest.raises(subwords.TrainingError, match="vocab_size 1 is too small for 2 special tokens"):
        subwords.train(["a"], algorithm="wordlevel", vocab_size=1, special_tokens=["<unk>", "<s>"])
    with pytest.raises(subwords.InputError, match="expected unk_token '<unk>' to be among special_tokens"):
        subwords.train(["a"], algorithm="wordlevel", vocab_size=3, special_tokens=["<s>"])
    with pytest.raises(subwords.InputError, match="`tie_break` is for bpe and wordpiece"):
        subwords.train(["a"], algorithm="wordlevel", vocab_size=3, tie_break="ids")  # type: ignore[call-overload]
    with pytest.warns(subwords.SubwordsWarning, match="2 instead of 9; no word is left"):
        subwords.train(["a"], algorithm="wordlevel", vocab_size=9)
