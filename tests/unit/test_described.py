"""The vocabulary of a tokenizer under the names that users of other libraries know, and tokens added to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from small_data import file_of
from subwords import AddedToken, InputError, Tokenizer

FILES = ("gpt2/tokenizer.json", "bert/bert-base-uncased-tokenizer.json", "t5/tokenizer.json", "phi-3/tokenizer.json")
NEW = ("<|user|>", "<b>", "two words", "naïve", "the")


def pair_of(data: Path, name: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    path = file_of(data, name)
    return subwords.load(path), tokenizers.Tokenizer.from_file(str(path))


@pytest.mark.parametrize("name", FILES)
def test_the_vocabulary_is_hf_s(name: str, data: Path) -> None:
    ours, theirs = pair_of(data, name)
    vocab = theirs.get_vocab()
    assert ours.get_vocab() == vocab
    assert len(ours) == ours.vocab_size == max(vocab.values()) + 1
    for token, index in [*vocab.items()][::97]:
        assert ours.token_to_id(token) == theirs.token_to_id(token) == index
        assert ours.id_to_token(index) == theirs.id_to_token(index) == ours.spec.spelling_of(index) == token
        assert token in ours
        assert ours.token_to_id(ours.model.vocab[index]) is not None
    assert ours.token_to_id("no such token") is ours.id_to_token(len(ours)) is ours.id_to_token(-1) is None
    assert "no such token" not in ours
    assert 7 not in ours


@pytest.mark.parametrize("wrong", [None, 1.5, "7", True])
def test_what_is_no_token_and_no_id(wrong: Any) -> None:
    tok = subwords.train(["ab ab"], vocab_size=257)
    if not isinstance(wrong, str):
        with pytest.raises(InputError, match="expected a token as str or bytes"):
            tok.token_to_id(wrong)
    for function in (tok.id_to_token, tok.token_bytes):
        with pytest.raises(InputError, match="expected an id as an int"):
            function(wrong)
    with pytest.raises(InputError, match="expected an id from 0 to 256, not 257"):
        tok.token_bytes(257)


# ------------------------------------------------------------------ more tokens


@pytest.mark.filterwarnings("ignore:decoding changes the spaces")
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_tokens_are_added_as_by_hf(name: str, special: bool, data: Path) -> None:
    ours, theirs = pair_of(data, name)
    (theirs.add_special_tokens if special else theirs.add_tokens)([*NEW])
    more = ours.with_tokens(NEW, special=special, normalized=not special)
    assert [more.token_to_id(token) for token in NEW] == [theirs.token_to_id(token) for token in NEW]
    assert {token: i for token, i in more.get_vocab().items() if i < len(ours)}.items() >= {
        token: i for token, i in ours.get_vocab().items() if token not in NEW
    }.items()
    for text in ("so <|user|>the <b>two words</b> naïve", "<b>", "thenaïve the"):
        assert more.encode(text, special="allow") == theirs.encode(text, add_special_tokens=False).ids, text
        assert more.encode(text, template=True, special="allow") == theirs.encode(text).ids, text


def test_other_ids_and_the_text_stay(tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=270, special_tokens=["<s>"])
    more = tok.with_tokens(["<|a|>"]).with_tokens(["<|b|>", "<|a|>"])
    assert more.special_tokens == {"<s>": 0, "<|a|>": len(tok), "<|b|>": len(tok) + 1}
    assert more.encode("low <|a|> lowest") == tok.encode("low <|a|> lowest")
    assert tok.with_tokens([]) == tok
    more.save(tmp_path / "a.json")
    assert subwords.load(tmp_path / "a.json").encode("<|b|>low", special="allow") == more.encode(
        "<|b|>low", special="allow"
    )


def test_the_spelling_of_a_byte_is_no_new_token() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    assert tok.token_to_id("é") == tok.token_to_id(b"\xe9")  # as in HF, where "é" would be added with this id
    with pytest.raises(InputError, match=r"'é' is how a tokenizer\.json spells b'\\xe9', id 165"):
        tok.with_tokens(["é"])
    with pytest.raises(InputError, match="special tokens of more than one symbol: text needs the token 'a'"):
        tok.with_tokens(["a"])
    assert tok.with_tokens(["a"], special=False).tokenize("aab") == ["a", "a", "b"]
    assert tok.with_tokens(["éa"]).encode("éa", special="allow") == [258]


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("special", [True, False])
def test_new_tokens_stand_beside_the_model_in_files(algorithm: str, special: bool, tmp_path: Path) -> None:
    sizes = {"bpe": 264, "wordpiece": 24, "unigram": 24}
    tok = subwords.train(["hug hugs hugging bun pun"] * 9, algorithm=algorithm, vocab_size=sizes[algorithm])  # type: ignore[call-overload]
    tok.save(tmp_path / "a.json")
    more = subwords.load(tmp_path / "a.json").with_tokens(["bughug"], special=special, single_word=True)
    again = tok.with_tokens(["bughug"], special=special, single_word=True)
    for each in (more, again):
        each.save(tmp_path / "b.json")
        for text in ("bughugs", "a bughug", "bughug"):
            ids = each.encode(text, special="allow")
            assert subwords.load(tmp_path / "b.json").encode(text, special="allow") == ids
            assert (
                tokenizers.Tokenizer.from_file(str(tmp_path / "b.json")).encode(text, add_special_tokens=False).ids
                == ids
            )


def test_flags_of_a_token_that_exists_are_replaced() -> None:
    tok = subwords.train(["low low"] * 9, vocab_size=260, special_tokens=["<s>"])
    more = tok.with_tokens(["<s>"], special=False, lstrip=True)
    assert more.spec.added_tokens == (AddedToken("<s>", 0, special=False, lstrip=True),)


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram"])
def test_every_family_takes_tokens(algorithm: str) -> None:
    tok = subwords.train(["hug hugs hugging bun pun"] * 9, algorithm=algorithm, vocab_size=24)  # type: ignore[call-overload]
    more = tok.with_tokens(["<|a|>"])
    assert more.encode("hugs<|a|>", special="allow") == [*tok.encode("hugs"), len(tok)]
    assert more.encode("hugs ☃ pun") == tok.encode("hugs ☃ pun")
    assert more.decode([len(tok)]) == "<|a|>"


@pytest.mark.parametrize("tokens", ["<s>", [""], ["a", "a"], [7], None, {"<s>"}, ["\ud800"]])
def test_wrong_tokens_are_refused(tokens: Any) -> None:
    with pytest.raises(InputError):
        subwords.train(["ab ab"], vocab_size=257).with_tokens(tokens)


# ------------------------------------------------------------------ many texts back


def test_a_batch_is_decoded_in_order() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=262, special_tokens=["<s>"])
    batch = tok.encode_batch(["low", "", "lower é"])
    assert tok.decode_batch(batch) == tok.decode_batch(batch.to_lists()) == ["low", "", "lower é"]
    assert tok.decode_batch([[0, 108]], skip_special_tokens=True) == [tok.decode([108])]
    with pytest.raises(InputError, match="errors"):
        tok.decode_batch([[0]], errors="nope")
    for wrong in (None, 7, {"a": [1]}):
        with pytest.raises(InputError):
            tok.decode_batch(wrong)  # type: ignore[arg-type]
