"""The error for text that a model cannot encode names the place in the text that the caller gave, and the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import Special, Text

BPE = {"type": "BPE", "unk_token": "<unk>", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
WORDLEVEL = {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"a": 0, "b": 1, "ab": 2}}
UNIGRAM = {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["b", -2.0], ["ab", -1.5]]}
SPACED = {"pre_tokenizer": {"type": "WhitespaceSplit"}}


def loaded(folder: Path, model: dict[str, Any], **parts: Any) -> subwords.Tokenizer:
    """The tokenizer of a tokenizer.json."""
    empty = dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"])
    whole = {"version": "1.0", "added_tokens": [], **empty, "model": model, **parts}
    (folder / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    return subwords.load(folder / "tokenizer.json")


def said(call: Callable[[], object]) -> str:
    with pytest.raises(subwords.InputError) as caught:
        call()
    return str(caught.value)


def every_way(tok: subwords.Tokenizer) -> list[Callable[[str], object]]:
    return [tok.encode, tok.encode_to_numpy, tok.count_tokens, tok.tokenize, tok]


@pytest.mark.parametrize("model", [BPE, WORDLEVEL, UNIGRAM], ids=["bpe", "wordlevel", "unigram"])
def test_the_place_is_one_in_the_given_text(model: dict[str, Any], tmp_path: Path) -> None:
    tok = loaded(tmp_path, model, **SPACED)
    for call in every_way(tok):
        assert "'é' at character 6 (byte 6)" in said(lambda call=call: call("a  ab é b q"))  # type: ignore[misc]
        message = said(lambda call=call: call("é a"))  # type: ignore[misc]
        assert "'é' at character 0 (byte 0)" in message
        assert "is not in the vocabulary and the model has no unk token" in message


def test_a_normalized_character_is_named_with_its_source(tmp_path: Path) -> None:
    tok = loaded(tmp_path, BPE, normalizer={"type": "Lowercase"}, **SPACED)
    assert said(lambda: tok.encode("aB  É")).startswith("'é', from 'É' at character 4 (byte 4), is not")
    assert said(lambda: tok.encode("BÉ Z")).startswith("'é', from 'É' at character 1 (byte 1), is not")


def test_places_in_bytes_and_between_tokens(tmp_path: Path) -> None:
    token = {"id": 3, "content": "<é>", "special": True, "single_word": False, "lstrip": False, "rstrip": False}
    tok = loaded(tmp_path, BPE, added_tokens=[{**token, "normalized": False}], **SPACED)
    assert said(lambda: tok.encode(b"ab \xc3\xa9")).startswith("'é' at byte 3 is not")
    assert said(lambda: tok.encode("a<é> b z", special="allow")).startswith("'z' at character 7 (byte 8) is not")
    assert said(lambda: tok("a<é> b z", special="allow")).startswith("'z' at character 7 (byte 8) is not")
    parts = [Text("ab"), Special("<é>"), Text("a z")]
    assert said(lambda: tok.encode(parts)).startswith("part 2: 'z' at character 2 (byte 2) is not")


def test_a_batch_names_the_text(tmp_path: Path) -> None:
    tok = loaded(tmp_path, BPE)
    texts = ["abab", "b", "aéz", "z"]
    for call in (tok.encode_batch, tok):
        assert said(lambda call=call: call(texts)).startswith("text 2: 'é' at character 1 (byte 1) is not")  # type: ignore[misc]
    many = [*["abab"] * 5000, "abz"]
    assert said(lambda: tok.encode_batch(many, threads=2)).startswith("text 5000: 'z' at character 2 (byte 2) is not")


def test_an_arrow_array_names_the_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    tok = loaded(tmp_path, BPE)
    message = said(lambda: tok.encode_batch(pyarrow.array(["ab", "b", "aéz"])))
    assert message.startswith("text 2: 'é' at ")
    assert "byte 1" in message


def test_files_name_the_document(tmp_path: Path) -> None:
    tok = loaded(tmp_path, BPE, **SPACED)
    texts = ["ab", "b a", "ab é"]
    message = said(lambda: tok.encode_files(texts, tmp_path / "ids.npy"))
    assert message.startswith("document 2: 'é' at character 3 (byte 3) is not")
    assert not (tmp_path / "ids.npy").exists()


@pytest.mark.parametrize("normalizer", [None, {"type": "Lowercase"}], ids=["plain", "lowercase"])
def test_a_long_text_has_the_place_of_its_first_unknown_character(normalizer: Any, tmp_path: Path) -> None:
    tok = loaded(tmp_path, BPE, normalizer=normalizer, **SPACED)
    text = "é".join(["ab " * 1_100_000, " q" + " ab" * 1000])
    for threads in (1, 2):
        message = said(lambda threads=threads: tok.encode_to_numpy(text, threads=threads))  # type: ignore[misc]
        assert message.startswith("'é' at character 3300000 (byte 3300000) is not")
    path = tmp_path / "long.txt"
    path.write_text(text, "utf-8")
    assert "document 0: 'é' at byte 3300000 is not" in said(lambda: tok.encode_files(path, tmp_path / "ids.npy"))


def test_sampling_names_the_place(tmp_path: Path) -> None:
    tok = loaded(tmp_path, UNIGRAM, normalizer={"type": "Lowercase"})
    for call in (lambda: tok.nbest("aBÉ"), lambda: tok.sample("aBÉ", seed=1)):
        assert said(call).startswith("'é', from 'É' at character 2 (byte 2), is not")


@pytest.mark.parametrize("name", ["continuing_subword_prefix", "end_of_word_suffix"])
def test_a_symbol_is_named_with_its_prefix_or_suffix(name: str, tmp_path: Path) -> None:
    vocab = dict.fromkeys(["a", "b", "##b", "a</w>", "b</w>"])
    model = {**BPE, "vocab": {token: i for i, token in enumerate(vocab)}, "merges": []}
    given, symbol = {"continuing_subword_prefix": ("##", "'##q'"), "end_of_word_suffix": ("</w>", "'q</w>'")}[name]
    tok = loaded(tmp_path, {**model, name: given}, **SPACED)
    for call in every_way(tok):
        assert symbol in said(lambda call=call: call("a aq"))  # type: ignore[misc]


def test_models_without_the_letter_a_are_evaluated(tmp_path: Path) -> None:
    for model in (BPE, UNIGRAM, WORDLEVEL):
        letters: Any = [["b", -1.0], ["c", -2.0]] if model is UNIGRAM else {"b": 0, "c": 1}
        other = {**model, "vocab": letters, **({"merges": []} if model is BPE else {})}
        tok = loaded(tmp_path, other, **SPACED)
        assert subwords.study.evaluate(tok, ["b c", "c"]).tokens == 3
        with pytest.raises(subwords.InputError):
            subwords.study.evaluate(tok, ["a"])
