"""Reading and writing a tokenizer.json with a WordPiece model, against HF tokenizers."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from building import read_json, write_json
from small_data import file_of, is_small
from subwords import AddedToken, FormatError, InputError

VOCAB = {"[UNK]": 0, "a": 1, "##b": 2, "é": 4, "[CLS]": 3}
OFF = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def model(**changes: Any) -> dict[str, Any]:
    fields = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": VOCAB}
    return {"type": "WordPiece", **fields, **changes}


def read(value: dict[str, Any], added: list[dict[str, Any]] | None = None) -> Any:
    """The model of a file."""
    return read_json(
        json.dumps({"version": "1.0", "model": value, "added_tokens": added or []}).encode(), "a.json"
    ).model


def peer(value: dict[str, Any]) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(json.dumps({"version": "1.0", "model": value}))


def test_model_has_the_fields_of_the_file() -> None:
    got = read(model(max_input_chars_per_word=7, continuing_subword_prefix="", unk_token="a"))
    assert (got.unk_id, got.prefix, got.max_chars, got.special_ids) == (1, "", 7, frozenset())
    assert list(got.vocab) == [b"[UNK]", b"a", b"##b", b"[CLS]", "é".encode()]


def test_holes_are_ids_without_a_token() -> None:
    assert list(read(model(vocab={"[UNK]": 1, "a": 3})).vocab) == [b"", b"[UNK]", b"", b"a"]


def test_added_tokens_have_the_models_id_or_the_files() -> None:
    added = [{"id": 9, "content": "[CLS]", **OFF}, {"id": 6, "content": "<x>", **OFF, "special": False}]
    got = read(model(), added)
    assert got.special_ids == {3, 6}
    assert list(got.vocab)[3:] == [b"[CLS]", "é".encode(), b"", b"<x>"]


def test_longest_word_may_be_as_long_as_hf_takes_it() -> None:
    assert read(model(max_input_chars_per_word=0)).max_chars == 0
    assert read(model(max_input_chars_per_word=2**64 - 1)).max_chars == 2**63 - 1
    for wrong in (-1, 2**64, 1.0, "100", True, None):
        with pytest.raises(FormatError, match=r"^a\.json: model\.max_input_chars_per_word: expected an integer"):
            read(model(max_input_chars_per_word=wrong))
        if wrong is not True:
            with pytest.raises(Exception, match=r"expected usize"):
                peer(model(max_input_chars_per_word=wrong))


@pytest.mark.parametrize("key", ["unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"])
def test_fields_that_hf_needs_are_needed(key: str) -> None:
    value = model()
    del value[key]
    with pytest.raises(FormatError, match=rf"^a\.json: model\.{key}: expected an? .*, not null$"):
        read(value)
    with pytest.raises(Exception, match=f"missing field `{key}`"):
        peer(value)


@pytest.mark.parametrize("changes", [{"unk_token": "x"}, {"vocab": {"this": 0, "##s": 1}}, {"vocab": {}}])
def test_without_the_unk_token_an_unknown_word_is_an_error(changes: dict[str, Any], tmp_path: Path) -> None:
    value = model(**changes)
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"version": "1.0", "model": value}))
    tok, theirs = subwords.load(file), peer(value)
    for text in ("", "this", "thiss", "zz"):
        try:
            expected = theirs.encode(text).ids
        except Exception as error:
            assert "Missing" in str(error)
            with pytest.raises(InputError, match=r"is not in the vocabulary and the model has no unk token"):
                tok.encode(text)
        else:
            assert tok.encode(text) == expected
    tok.save(tmp_path / "again.json")
    assert subwords.load(tmp_path / "again.json") == tok


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unk_token": None}, "unk_token: expected a string, not null"),
        ({"unk_token": 0}, "unk_token: expected a string, not 0"),
        ({"continuing_subword_prefix": None}, "continuing_subword_prefix: expected a string"),
        ({"continuing_subword_prefix": "\ud800"}, "continuing_subword_prefix: expected a string without lone"),
        ({"vocab": []}, "vocab: expected an object, not an array of 0"),
        ({"vocab": ["[UNK]"]}, "vocab: expected an object"),
        ({"vocab": {"[UNK]": 0, "a": 0}}, r'vocab\["a"\]: expected an unused id, not 0, the id of "\[UNK\]"'),
        ({"vocab": {"[UNK]": -1}}, r'vocab\["\[UNK\]"\]: expected an integer from 0'),
        ({"vocab": {"[UNK]": "0"}}, r'vocab\["\[UNK\]"\]: expected an integer from 0'),
        ({"vocab": {"[UNK]": 0, "a": 2**31}}, r'vocab\["a"\]: expected an integer from 0'),
        (
            {"vocab": {"[UNK]": 0, "a": 2 * 10**6}},
            "vocab: expected ids without large gaps, not an id of 2000000 among 2",
        ),
        ({"vocab": {"[UNK]": 0, "\ud800": 1}}, "vocab: expected tokens without lone surrogates"),
    ],
)
def test_damaged_model_is_named_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=rf"^a\.json: model\.{message}"):
        read(model(**changes))


def test_of_a_token_that_comes_twice_the_last_counts() -> None:
    data = json.dumps({"version": "1.0", "model": model(vocab={"[UNK]": 0, "x": 1})})
    tok = read_json(data.replace('"x": 1', '"a": 1, "a": 2').encode(), "a.json")
    assert list(tok.model.vocab) == [b"[UNK]", b"", b"a"]


def test_any_damage_is_a_format_error() -> None:
    values = [None, True, -1, 2**70, 1.5, "", "a", "\ud800", [], [[]], {}, {"a": {}}]
    for key in ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"):
        for value in values:
            with suppress(FormatError):
                read(model(**{key: value}))


@pytest.mark.parametrize(
    ("changes", "absent", "kind"),
    [
        ({}, (), "WordPiece"),
        ({"merges": []}, (), "WordPiece"),
        ({}, ("type",), "WordPiece"),
        ({"merges": []}, ("type",), "BPE"),
        ({"merges": None}, ("type",), "WordPiece"),
        ({}, ("type", "max_input_chars_per_word"), "WordLevel"),
        ({}, ("type", "continuing_subword_prefix"), "WordLevel"),
        ({"vocab": [["[UNK]", 0.0]], "unk_id": 0}, ("type", "unk_token", "max_input_chars_per_word"), "Unigram"),
    ],
)
def test_model_without_type_is_what_hf_takes_it_for(changes: Any, absent: tuple[str, ...], kind: str) -> None:
    value = {key: field for key, field in model(**changes).items() if key not in absent}
    assert type(read(value)).__name__ == kind
    assert type(peer(value).model).__name__ == kind


@pytest.mark.parametrize("value", [1, [], {}])
def test_type_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(FormatError, match=r"^a\.json: model\.type: expected a string"):
        read({"type": value})


def test_model_is_written_as_hf_writes_it() -> None:
    value = model(max_input_chars_per_word=7, continuing_subword_prefix="▁", unk_token="a")
    theirs = peer(value).to_str(pretty=True)
    ours = write_json(read_json(json.dumps({"version": "1.0", "model": value}).encode(), "a.json")).decode()
    assert ours[ours.index('  "model"') :] == theirs[theirs.index('  "model"') :]


def test_model_of_bert_is_read_and_written_back(data: Path) -> None:
    content = file_of(data, "bert/bert-base-uncased-tokenizer.json").read_bytes()
    ref = peer(json.loads(content)["model"])
    special = {ref.token_to_id(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
    assert is_small(data) or special == {0, 100, 101, 102, 103}
    tok = read_json(content, "bert")
    got = tok.model
    assert len(got.vocab) == ref.get_vocab_size() >= (800 if is_small(data) else 30522)
    assert (got.unk_id, got.prefix, got.max_chars) == (ref.token_to_id("[UNK]"), "##", 100)
    assert got.special_ids == special
    assert AddedToken("[MASK]", ref.token_to_id("[MASK]")) in tok.added_tokens
    assert json.loads(write_json(tok))["model"] == {**json.loads(content)["model"], "type": "WordPiece"}
