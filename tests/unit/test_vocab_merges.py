"""vocab.json with merges.txt: read as HF reads them, found by either name, refused if they do not fit together."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given

import subwords
from inside import formats_hf_vocab_merges as vocab_merges
from small_data import file_of
from strategies import texts
from subwords import FormatError, InputError, SubwordsWarning, Tokenizer


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    for name in ("vocab.json", "vocab.bpe"):
        path = file_of(data, f"gpt2/{name}")
    return path.parent


@pytest.fixture(scope="module")
def pair(folder: Path) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    theirs = tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "vocab.bpe"))
    return subwords.load(folder / "vocab.bpe"), theirs


@given(texts())
def test_ids_are_hf_s(pair: tuple[Tokenizer, tokenizers.Tokenizer], text: str) -> None:
    ours, theirs = pair
    assert ours.encode(text) == theirs.encode(text).ids
    assert ours.decode(ours.encode(text)) == text


def test_either_file_or_the_folder_will_do(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "vocab.json", tmp_path / "vocab.json")
    shutil.copy(folder / "vocab.bpe", tmp_path / "merges.txt")
    tok = subwords.load(tmp_path)
    assert tok == subwords.load(tmp_path / "vocab.json") == subwords.load(tmp_path / "merges.txt")
    assert tok == subwords.load(folder / "vocab.json")
    with_end = subwords.load(tmp_path, special_ids={"<|end|>": len(tok)})
    assert with_end.encode("a<|end|>", special="allow") == [*tok.encode("a"), len(tok)]
    assert subwords.load(tmp_path, splitter="qwen2").splitter == subwords.splitter("qwen2")


def test_a_file_alone_names_the_other(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "vocab.json", tmp_path / "vocab.json")
    with pytest.raises(FormatError, match=r"vocab\.json: expected merges\.txt or vocab\.bpe in the same folder"):
        subwords.load(tmp_path)
    (tmp_path / "vocab.json").rename(tmp_path / "other.json")
    shutil.copy(folder / "vocab.bpe", tmp_path / "merges.txt")
    with pytest.raises(FormatError, match=r"merges\.txt: expected vocab\.json or encoder\.json in the same folder"):
        subwords.load(tmp_path / "merges.txt")


def test_lines_of_merges() -> None:
    assert vocab_merges.read_merges(b"#version: 0.2\na b\r\nab c\n\n", "m") == ["a b", "ab c"]
    with pytest.raises(FormatError, match=r"m: expected UTF-8; byte 1 "):
        vocab_merges.read_merges(b"a\xff", "m")


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ({"x": -1}, "", r"vocab\.json: \[\"x\"\]|vocab\.json: .*x.*expected an integer"),
        ({"x": 5}, "", r"vocab\.json: .*expected an unused id"),
        ({}, "a b c", r"merges\.txt: merges\[0\]: expected two tokens"),
        ({}, "a", r"merges\.txt: merges\[0\]: expected two tokens"),
        ({}, "a q\nz z", r"merges\.txt: merges\[0\]: expected two tokens whose concatenation is a token"),
        ({"日本</w>": 256}, "", r"vocab\.json: expected tokens spelled in byte letters, .* not \"日本</w>\""),
        ({"a": None}, "", r"vocab\.json: "),
        ({"日本": 256}, "", r"vocab\.json: expected tokens spelled in byte letters, .* not \"日本\""),
    ],
)
def test_damaged_files_are_named(vocab: dict[str, int | None], merges: str, message: str, tmp_path: Path) -> None:
    from inside import tokens_to_text

    whole = {text: i for i, text in enumerate(tokens_to_text([bytes([byte]) for byte in range(256)]))}
    (tmp_path / "vocab.json").write_text(json.dumps(whole | vocab), "utf-8")
    (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", "utf-8")
    with pytest.raises(FormatError, match=message):
        subwords.load(tmp_path)


def test_wrong_special_tokens(folder: Path) -> None:
    tok = subwords.load(folder / "vocab.json")
    (taken, i), new = [*tok.get_vocab().items()][300], len(tok)
    for special_tokens, refused in (
        ({taken: new}, rf"vocab\.json: expected its id {i}, not {new} for "),
        ({"<e>": i}, rf"vocab\.json: expected a free id for the special token \"<e>\", not {i}, the id of b"),
        ({"<e>": 10**9}, r"vocab\.json: expected special_tokens without large gaps, not 1000000000"),
        ({"<e>": 10**30}, r"vocab\.json: expected special_tokens without large gaps"),
    ):
        with pytest.raises(FormatError, match=refused):
            subwords.load(folder / "vocab.json", special_ids=special_tokens)
    with pytest.raises(InputError, match="special_ids of more than one byte: text needs the token '!'"):
        subwords.load(folder / "vocab.json", special_ids={"!": 0})
    with pytest.raises(InputError, match="special_ids as a dict"):
        subwords.load(folder / "vocab.json", special_ids=["!"])  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{}, {"   ": 3}])
def test_a_byte_without_a_token_is_dropped_as_in_hf(more: dict[str, int], tmp_path: Path) -> None:
    """A token that no text yields, such as one of plain spaces, is no reason to refuse the file."""
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2, **more}), "utf-8")
    (tmp_path / "merges.txt").write_text("a b\n", "utf-8")
    tok = subwords.load(tmp_path)
    theirs = tokenizers.ByteLevelBPETokenizer.from_file(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    for text in ("abab", "abc ab", "é", "b ac", "a   b"):
        assert tok.encode(text) == theirs.encode(text).ids
    assert tok.get_vocab() == theirs.get_vocab()
    strict = tok.with_(model=tok.model.with_(unknown="error"))
    with pytest.raises(InputError, match=r"byte 0x63, from 'c' at character 2 \(byte 2\), is not in the vocabulary"):
        strict.encode("abc ab")


def test_marks_that_gpt_1_s_normalizer_removes_are_named(tmp_path: Path) -> None:
    word = "\N{DEVANAGARI LETTER KA}\N{DEVANAGARI VOWEL SIGN U}"
    made = tokenizers.CharBPETokenizer(bert_normalizer=False, lowercase=False)
    made.train_from_iterator([word] * 9, vocab_size=20, show_progress=False)
    made.save_model(str(tmp_path))
    with pytest.warns(SubwordsWarning, match="read as GPT-1's, whose normalizer removes marks"):
        tok = subwords.load(tmp_path / "vocab.json")
    assert tok.encode(word) != made.encode(word).ids == tok.with_(normalizer="bert-cased").encode(word)


@pytest.mark.parametrize("name", ["", "mine"])
def test_files_of_save_model(name: str, tmp_path: Path) -> None:
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(["hello world how are you"] * 20, vocab_size=280, show_progress=False)
    for written in made.save_model(str(tmp_path), name or None):
        assert subwords.load(written).encode("hello you") == made.encode("hello you").ids
    if name:
        (tmp_path / "mine-merges.txt").unlink()
        with pytest.raises(FormatError, match=r"expected mine-merges\.txt or mine-vocab\.bpe in the same folder"):
            subwords.load(tmp_path / "mine-vocab.json")


def test_unigram_json_of_save_model(tmp_path: Path) -> None:
    made = tokenizers.SentencePieceUnigramTokenizer()
    made.train_from_iterator(["hello world how are you"] * 20, vocab_size=40, unk_token="<unk>", show_progress=False)
    (written,) = made.save_model(str(tmp_path))
    tok = subwords.load(written)
    for text in ("hello  world", " you", "ﬁne \u00e9", "how\u200bare"):
        assert tok.encode(text) == made.encode(text).ids
        assert tok.decode(tok.encode(text)) == made.decode(made.encode(text).ids, skip_special_tokens=False)


def test_a_key_twice_is_a_warning_each_time_and_the_last_counts(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "a": 2}', "utf-8")
    (tmp_path / "merges.txt").write_text("", "utf-8")
    for _ in range(2):
        with pytest.warns(SubwordsWarning, match=r'vocab\.json: top level: "a" is there twice; the last one counts'):
            assert subwords.load(tmp_path).encode("ab") == [2, 1]


def test_rank_files_that_gzip_packed(small_data: Path, tmp_path: Path) -> None:
    data = file_of(small_data, "tiktoken/r50k_base.tiktoken").read_bytes()
    (tmp_path / "r.tiktoken").write_bytes(data)
    (tmp_path / "r.tiktoken.gz").write_bytes(gzip.compress(data))
    options: dict[str, Any] = {"splitter": "gpt2", "special_ids": {}}
    assert subwords.load(tmp_path / "r.tiktoken.gz", **options) == subwords.load(tmp_path / "r.tiktoken", **options)
    (tmp_path / "r.tiktoken.gz").write_bytes(gzip.compress(data)[:-20] + b"x" * 40)
    with pytest.raises(FormatError, match="gzip"):
        subwords.load(tmp_path / "r.tiktoken.gz", **options)
