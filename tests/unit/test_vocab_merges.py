"""vocab.json with merges.txt: read as HF reads them, found by either name, refused if they do not fit together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given

import subwords
from inside import read_merges
from small_data import file_of
from strategies import texts
from subwords import FormatError, InputError, Tokenizer


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
    assert read_merges(b"#version: 0.2\na b\r\nab c\n\n", "m") == ["a b", "ab c"]
    with pytest.raises(FormatError, match=r"m: expected UTF-8; byte 1 "):
        read_merges(b"a\xff", "m")


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


def test_bytes_without_a_token_and_wrong_special_tokens(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1}', "utf-8")
    (tmp_path / "merges.txt").write_text("", "utf-8")
    with pytest.raises(FormatError, match=r"vocab\.json: expected byte-level BPE, with a token for each of 256 bytes"):
        subwords.load(tmp_path)
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
