"""Tokenizer: what it refuses, what it shows, and that nobody changes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import subwords
from building import read_json as read
from subwords import InputError, TokenBatch, Tokenizer

TEXTS = ["hug hugs hugging"] * 9
MAKERS: dict[str, Callable[[], Tokenizer]] = {
    "bpe": lambda: subwords.train(TEXTS, vocab_size=264, special_tokens=["<s>"]),
    "characters": lambda: subwords.train(TEXTS, vocab_size=12, byte_level=False, special_tokens=["<s>"]),
    "wordpiece": lambda: subwords.train(TEXTS, algorithm="wordpiece", vocab_size=16),
    "unigram": lambda: subwords.train(TEXTS, algorithm="unigram", vocab_size=14),
}


@pytest.fixture(scope="module", params=MAKERS)
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    return MAKERS[request.param]()


def test_what_has_no_order_or_is_no_list_is_refused(tok: Tokenizer) -> None:
    for value in ({"hug"}, {"hug": 1}):
        with pytest.raises(InputError, match="ordered iterable of texts"):
            tok.encode_batch(value)
    for value in ({3}, {3: 4}, bytearray(b"ab"), memoryview(b"ab")):
        with pytest.raises(InputError, match="expected a list or an array of ids"):
            tok.decode(value)


def test_errors_of_decode_are_checked_before_there_are_any(tok: Tokenizer) -> None:
    with pytest.raises(InputError, match="expected errors to be one of 'replace', 'strict'"):
        tok.decode([3], errors="xmlcharrefreplace")
    assert tok.decode([3], errors="strict") == tok.decode([3])


def test_errors_apply_to_bytes_of_the_vocabulary_only() -> None:
    tok = subwords.train(TEXTS, algorithm="unigram", vocab_size=280, byte_fallback=True)
    assert tok.decode(tok.encode("é"), errors="replace") == "é"
    with pytest.raises(InputError, match="errors='replace', not 'strict': this decoder handles bytes itself"):
        tok.decode(tok.encode("é"), errors="strict")


# ------------------------------------------------------------------ immutable


@pytest.mark.parametrize(
    "name", ["model", "splitter", "normalizer", "template", "decoder", "added_tokens", "spec", "vocab", "any"]
)
def test_nothing_can_be_set_or_deleted(tok: Tokenizer, name: str) -> None:
    with pytest.raises(AttributeError, match=f"Tokenizer is immutable: cannot set '{name}'"):
        setattr(tok, name, None)
    with pytest.raises(AttributeError, match=f"Tokenizer is immutable: cannot delete '{name}'"):
        delattr(tok, name)


# ------------------------------------------------------------------ batches


def test_a_slice_of_a_batch_is_a_batch() -> None:
    tok = MAKERS["bpe"]()
    texts = ["hug", "", "hugs", "hugging hug"]
    batch, lists = tok.encode_batch(texts), [tok.encode(text) for text in texts]
    bounds = (None, -9, -3, -1, 0, 1, 2, 4, 9)
    for part in (slice(a, b, c) for a in bounds for b in bounds for c in (None, 1, 2, -1, -2)):
        found = batch[part]
        assert isinstance(found, TokenBatch)
        assert found.to_lists() == lists[part]
        assert found.offsets.dtype == np.int64
    assert batch[np.int64(2)].tolist() == lists[2]
    with pytest.raises(IndexError):
        batch[4]
    for wrong in (None, "a", 1.5, [0], (0, 1)):
        with pytest.raises(InputError, match="expected a text number or a slice"):
            batch[wrong]  # type: ignore[index]


def test_added_tokens_are_found_in_batches_on_threads() -> None:
    tok = MAKERS["bpe"]()
    texts = ["hug<s>hugs", "<s>", "", "hugging", b"\xff<s>"] * 50
    expected = [tok.encode(text, special="allow") for text in texts]
    for threads in (1, 2, None):
        assert tok.encode_batch(texts, special="allow", threads=threads).to_lists() == expected
    with pytest.raises(InputError, match="text 1: special token '<s>' at character 3"):
        tok.encode_batch(["hug", "hug<s>"], special="error")


# ------------------------------------------------------------------ tokens


def test_unknown_pieces_show_the_text_they_stand_for() -> None:
    tok = MAKERS["unigram"]()
    assert tok.tokenize("hug xyz") == list(tok("hug xyz").tokens) == ["▁hug", "▁", "xyz"]
    assert tok.encode("xyz")[-1] == 0


def test_added_tokens_show_the_text_they_take() -> None:
    body = '"model": {"type": "BPE", "vocab": {"a": 0, "Ġ": 1}, "merges": []}'
    before = '"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}'
    added = '"added_tokens": [{"id": 2, "content": "  "}, {"id": 3, "content": "｜", "lstrip": true}]'
    tok = read(f"{{{body}, {before}, {added}}}".encode(), "a.json")
    found = tok("a   a ｜")
    assert list(found.file_tokens) == ["a", "  ", "Ġ", "a", " ｜"]
    assert found.spans.tolist() == [[0, 1], [1, 3], [3, 4], [4, 5], [5, 7]]


def test_decoding_a_normalized_token_gives_it_as_normalized() -> None:
    model = '{"type": "BPE", "vocab": {"a": 0, "F": 1}, "merges": []}'
    added = '[{"id": 2, "content": "Foo", "normalized": true}]'
    data = f'{{"normalizer": {{"type": "Lowercase"}}, "added_tokens": {added}, "model": {model}}}'
    tok = read(data.encode(), "a.json")
    assert tok.encode("aFOOa") == [0, 2, 0]
    assert tok.decode([0, 2, 0]) == "a foo a"
