"""merge: the tokens of two tokenizers, each reached, the ids of the first unchanged (C3)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import ids_of_words
from inside import splitter_NAMED as NAMED
from strategies import counts_of, settings_of, train_model, word_counts
from subwords import InputError, TokenizerSpec
from subwords.machine import BPE
from subwords.reference.bpe import encode_word

ONE = "low lower lowest new newer newest wide wider widest"
TWO = "slow slower slowest prism prisms prismatic light lights lighter"
LETTERS = "abé文"


def pairs_of(model: Any) -> list[tuple[bytes, bytes]]:
    return [(model.vocab[left], model.vocab[right]) for left, right, _ in model.merges.tolist()]


@given(word_counts(LETTERS), word_counts(LETTERS), st.integers(1, 25), st.integers(1, 25), st.booleans())
def test_each_new_token_is_reached(
    first: dict[bytes, int], second: dict[bytes, int], size: int, other: int, ranked: bool
) -> None:
    models = [
        train_model("bpe", counts_of(c), settings_of("bpe", vocab_size=256 + n))
        for c, n in ((first, size), (second, other))
    ]
    if ranked:
        models = [BPE.from_ranks([*model.vocab]) for model in models]
    toks = [subwords.Tokenizer(TokenizerSpec(model=model, splitter=NAMED["gpt2"])) for model in models]
    if {*models[1].vocab} <= {*models[0].vocab}:
        with pytest.raises(InputError, match="nothing to merge"):
            subwords.adapt.merge(*toks)
        return
    try:
        found = subwords.adapt.merge(*toks)
    except InputError as error:  # none of the new tokens is made of two
        assert "nothing to merge" in str(error)
        return
    model, old = found.tokenizer.model, [*models[0].vocab]
    assert isinstance(model, BPE)
    assert [*model.vocab][: len(old)] == old
    assert {*model.vocab} | {*found.left_out} == {*old} | {*models[1].vocab}
    assert found.unreachable == ()
    merges = pairs_of(model)
    fresh = [model.vocab[i] for i in found.added]
    if not ranked:
        assert [encode_word(token, merges) for token in fresh] == [[token] for token in fresh]
        for token in found.left_out:  # C3: more than two are left of it, whatever comes before
            assert len(encode_word(token, merges)) > 2
    new = {pair for pair in merges if b"".join(pair) in fresh}
    for word in {*first, *second}:  # a text keeps its ids unless the sides of a new merge are neighbours
        before, after = (ids_of_words(one, [word]).to_lists()[0] for one in (models[0], model))
        apart = not any((old[a], old[b]) in new for a, b in pairwise(before))
        if apart and not (ranked and word in fresh):
            assert before == after


def test_ids_of_the_first_and_special_tokens_of_both() -> None:
    one = subwords.train([ONE] * 9, vocab_size=275, special_tokens=["<s>"])
    two = subwords.train([TWO] * 9, vocab_size=285, special_tokens=["<s>", "<|end|>"])
    found = subwords.adapt.merge(one, two)
    tok = found.tokenizer
    assert [tok.model.vocab[i] for i in range(275)] == [one.model.vocab[i] for i in range(275)]
    assert tok.special_tokens == {"<s>": 0, "<|end|>": tok.vocab_size - 1}
    assert tok.encode("low<|end|>", special="allow")[-1] == tok.vocab_size - 1
    for text in (ONE, TWO, "lowprism <s>"):
        assert tok.decode(tok.encode(text)) == text
    assert len(tok.encode(TWO)) < len(one.encode(TWO))
    assert subwords.study.audit(tok, rules=["unreachable-token", "dead-merge"]).findings == ()
    found.id_map.check(one, tok)
    assert [*found.id_map.changed] == [*found.added]
    assert len(subwords.adapt.id_map(two, tok)) == tok.vocab_size


def test_wordpiece() -> None:
    one, two = (subwords.train([text] * 9, algorithm="wordpiece", vocab_size=60) for text in (ONE, TWO))
    found = subwords.adapt.merge(one, two)
    tok = found.tokenizer
    assert {*tok.model.vocab} == {*one.model.vocab} | {*two.model.vocab}
    assert found.unreachable == ()
    assert one.model.unk_id in one.encode(TWO)
    assert one.model.unk_id not in tok.encode(TWO)


def test_unrelated_tokenizers() -> None:
    tok = subwords.train([ONE] * 9, vocab_size=280)
    for other, message in (
        (subwords.train([TWO] * 9, vocab_size=280, splitter="gpt2"), "unrelated tokenizers: expected one splitter"),
        (subwords.train([TWO] * 9, vocab_size=280, normalizer="lowercase"), "expected one normalizer, not none and"),
        (subwords.train([TWO] * 9, vocab_size=40, byte_level=False), "of one are bytes, those of the other characters"),
        (subwords.train([TWO] * 9, vocab_size=40, algorithm="wordpiece"), "pieces of words"),
        (tok, "nothing to merge"),
        (b"gpt2", "to be a Tokenizer, a path or a name, not bytes"),
    ):
        with pytest.raises(InputError, match=message):
            subwords.adapt.merge(tok, other)  # type: ignore[arg-type]
    pieces = subwords.train([TWO] * 9, vocab_size=40, algorithm="unigram")
    with pytest.raises(InputError, match="merge needs a BPE or WordPiece model; this is Unigram"):
        subwords.adapt.merge(pieces, pieces)
